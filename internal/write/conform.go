package write

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// Conformer turns batches of users into batches of the table: columns by name, in the table's order
// and types, defaults filled in, NOT NULL checked. It is used by one goroutine.
type Conformer struct {
	table   string
	fields  []types.Field
	schema  *arrow.Schema
	deflt   []types.Datum // by column, nil for none
	kindCol int           // rowkind.field, -1 for none
	// Ignore, if not nil, says of which kinds rows are left out.
	Ignore func(types.RowKind) bool
	// InsertOnly, if not "", refuses -U and -D and says why.
	InsertOnly string

	last *arrow.Schema // of the last batch
	from []source      // for last
}

// NewConformer makes a Conformer. rowKind is the option rowkind.field, "" for none.
func NewConformer(table string, fields []types.Field, rowKind string) (*Conformer, error) {
	c := &Conformer{table: table, fields: fields, schema: types.WideArrowSchema(fields), deflt: make([]types.Datum, len(fields)), kindCol: -1}
	for i, f := range fields {
		if f.Default != nil {
			v, err := schema.DefaultOf(f)
			if err != nil {
				return nil, fmt.Errorf("write: %s: %w", table, err)
			}
			c.deflt[i] = v
		}
		if f.Name == rowKind && rowKind != "" {
			c.kindCol = i
		}
	}
	if rowKind != "" && c.kindCol < 0 {
		return nil, fmt.Errorf("write: %s: rowkind.field names column %s, which the table does not have", table, rowKind)
	}
	return c, nil
}

// Conform gives a batch in the table's columns. Nothing is copied where the batch fits as it is.
func (c *Conformer) Conform(b batch.Batch) (out batch.Batch, err error) {
	err = guarded(func() error {
		if out, err = c.conform(b); err != nil {
			err = fmt.Errorf("write: %s: %w", c.table, c.blame(b, err))
		}
		return err
	})
	return out, err
}

// RowError is why the table cannot take a row of a batch.
type RowError struct {
	Row int // in the batch, from 0
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }
func (e *RowError) Unwrap() error { return e.Err }

// blame finds the first row that makes a batch one that cannot be taken.
func (c *Conformer) blame(b batch.Batch, err error) error {
	refused := func(from, to int) error {
		_, err := c.conform(b.Slice(from, to))
		return err
	}
	if b.RecordBatch == nil || b.Kinds != nil && int64(len(b.Kinds)) != b.NumRows() || refused(0, 0) != nil {
		return err // the batch is wrong, not its rows
	}
	good, bad := 0, int(b.NumRows())
	for bad-good > 1 {
		if mid := (good + bad) / 2; refused(good, mid) != nil {
			bad = mid
		} else {
			good = mid
		}
	}
	if why := refused(good, bad); why != nil {
		return &RowError{good, why}
	}
	return err
}

func (c *Conformer) conform(b batch.Batch) (batch.Batch, error) {
	if b.RecordBatch == nil {
		return b, errors.New("batch has no record batch (nil)")
	}
	if b.Kinds != nil && int64(len(b.Kinds)) != b.NumRows() {
		return b, fmt.Errorf("batch has %d rows and %d row kinds", b.NumRows(), len(b.Kinds))
	}
	b.Kinds = slices.Clone(b.Kinds) // the caller may use the slice again
	for _, k := range b.Kinds {
		if k > types.Delete {
			return b, fmt.Errorf("unknown row kind %d", k)
		}
	}
	if b.Schema() != c.last {
		if err := c.match(b.Schema()); err != nil {
			return b, err
		}
	}
	cols := make([]arrow.Array, len(c.fields))
	changed := int(b.NumCols()) != len(c.fields)
	for i := range c.fields {
		a, err := c.column(b, i)
		if err != nil {
			return b, err
		}
		cols[i] = a
		changed = changed || c.from[i].col != i || a != b.Column(i)
	}
	if c.kindCol >= 0 {
		kinds, err := c.kinds(cols[c.kindCol])
		if err != nil {
			return b, err
		}
		b.Kinds = kinds
	}
	if c.InsertOnly != "" {
		refused := func(k types.RowKind) bool { return k.IsRetract() && (c.Ignore == nil || !c.Ignore(k)) }
		if i := slices.IndexFunc(b.Kinds, refused); i >= 0 {
			return b, fmt.Errorf("it is of kind %s, and %s", b.Kinds[i], c.InsertOnly)
		}
	}
	for i, f := range c.fields {
		if !f.Type.NotNull || cols[i].NullN() == 0 {
			continue
		}
		a, err := c.fillNulls(cols[i], f, b.Kinds)
		if err != nil {
			return b, err
		}
		cols[i], changed = a, true
	}
	if changed || b.Schema() != c.schema {
		b.RecordBatch = array.NewRecordBatch(c.schema, cols, b.NumRows())
	}
	return c.without(b)
}

// without leaves out rows of kinds that are ignored.
func (c *Conformer) without(b batch.Batch) (batch.Batch, error) {
	if c.Ignore == nil || !slices.ContainsFunc(b.Kinds, c.Ignore) {
		return b, nil
	}
	var sel []int32
	var kinds []types.RowKind
	for i, k := range b.Kinds {
		if !c.Ignore(k) {
			sel, kinds = append(sel, int32(i)), append(kinds, k)
		}
	}
	rec, err := batch.Take(b.RecordBatch, sel)
	return batch.Batch{RecordBatch: rec, Kinds: kinds}, err
}

// match finds the table's columns in a batch.
func (c *Conformer) match(s *arrow.Schema) error {
	from := make([]source, len(c.fields))
	column := make(map[string]int, len(c.fields))
	for i, f := range c.fields {
		from[i].col = -1
		column[f.Name] = i
	}
	for k, g := range s.Fields() {
		i, ok := column[g.Name]
		if !ok {
			return fmt.Errorf("batch has a column %q that the table does not have", g.Name)
		}
		if from[i].col >= 0 {
			return fmt.Errorf("batch has two columns %q", g.Name)
		}
		var err error
		if from[i], err = sourceOf(k, g.Type, c.fields[i].Type); err != nil {
			return fmt.Errorf("column %s: %w", g.Name, err)
		}
	}
	c.last, c.from = s, from
	return nil
}

func (c *Conformer) column(b batch.Batch, i int) (arrow.Array, error) {
	f, from := c.fields[i], c.from[i]
	n := int(b.NumRows())
	if from.col < 0 {
		if c.deflt[i] == nil {
			return array.MakeArrayOfNull(memory.DefaultAllocator, c.schema.Field(i).Type, n), nil
		}
		return c.fill(array.MakeArrayOfNull(memory.DefaultAllocator, c.schema.Field(i).Type, n), f, c.deflt[i])
	}
	a, err := from.adopt(b.Column(from.col), f.Type)
	if err == nil {
		err = holds(a, f.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", f.Name, err)
	}
	if c.deflt[i] != nil && a.NullN() > 0 {
		return c.fill(a, f, c.deflt[i])
	}
	return a, nil
}

// fill puts a value where there is none.
func (c *Conformer) fill(a arrow.Array, f types.Field, v types.Datum) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, a.DataType())
	for i := range a.Len() {
		d := v
		if !a.IsNull(i) {
			d = types.DatumAt(a, i, f.Type)
		}
		if err := types.AppendDatum(b, f.Type, d); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return b.NewArray(), nil
}

// fillNulls refuses NULL in a column that must not have it, but for rows that take something back: of
// these only the key counts, and a file cannot hold the NULL.
func (c *Conformer) fillNulls(a arrow.Array, f types.Field, kinds []types.RowKind) (arrow.Array, error) {
	for i := range a.Len() {
		if a.IsNull(i) && (kinds == nil || !kinds[i].IsRetract()) {
			return nil, fmt.Errorf("column %s is NOT NULL and has no value", f.Name)
		}
	}
	zero, err := zeroOf(f.Type)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", f.Name, err)
	}
	return c.fill(a, f, zero)
}

func zeroOf(t types.Type) (types.Datum, error) {
	switch t.Kind {
	case types.Boolean:
		return false, nil
	case types.Char, types.Varchar:
		return "", nil
	case types.Binary, types.Varbinary:
		return []byte{}, nil
	case types.Date:
		return int64(0), nil
	case types.Timestamp, types.TimestampLTZ:
		return types.Instant{}, nil
	case types.Time:
		return int64(0), nil
	case types.Array, types.Map, types.Multiset, types.Row, types.Variant:
		return nil, fmt.Errorf("a delete needs a value of NOT NULL type %s", t)
	}
	return types.ParseDatum(t, "0")
}

// kinds reads the column that holds the row kind.
func (c *Conformer) kinds(a arrow.Array) ([]types.RowKind, error) {
	s, ok := a.(*array.String)
	if !ok {
		return nil, fmt.Errorf("rowkind.field %s must be a string", c.fields[c.kindCol].Name)
	}
	out := make([]types.RowKind, s.Len())
	for i := range out {
		switch v := s.Value(i); v {
		case "+I":
		case "-U":
			out[i] = types.UpdateBefore
		case "+U":
			out[i] = types.UpdateAfter
		case "-D":
			out[i] = types.Delete
		default:
			return nil, fmt.Errorf("rowkind.field %s is %q, want +I, -U, +U or -D", c.fields[c.kindCol].Name, v)
		}
	}
	return out, nil
}
