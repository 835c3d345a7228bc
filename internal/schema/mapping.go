package schema

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// Mapping turns the rows of a file into those of another schema of the same table. Columns are
// matched by their ids, whatever they are called. It is immutable.
type Mapping struct {
	data   []types.Field // to be read from the file
	read   []types.Field // wanted
	from   []int         // index in data by index in read, -1: the file has none
	schema *arrow.Schema
	direct bool           // what is read is what is wanted
	byName map[string]int // index in read by name of the wanted column
}

// NewMapping makes the mapping from a file's columns to the wanted ones. A column whose old values
// cannot be those of the new type is an error.
func NewMapping(data, read []types.Field) (*Mapping, error) {
	m := &Mapping{read: read, from: make([]int, len(read)), byName: map[string]int{}, direct: true}
	for i, r := range read {
		m.byName[r.Name] = i
		m.from[i] = -1
		k := slices.IndexFunc(data, func(d types.Field) bool { return d.ID == r.ID })
		if k < 0 {
			m.direct = false
			continue
		}
		d := data[k]
		if !d.Type.AsNullable().EqualShape(r.Type.AsNullable()) && !d.Type.Equal(r.Type) {
			d.Type = project(d.Type, r.Type)
		}
		if !cast.CanCast(d.Type, r.Type, true) {
			return nil, fmt.Errorf("column %s of the file is %s, which cannot be read as %s", d.Name, d.Type, r.Type)
		}
		m.from[i] = len(m.data)
		m.data = append(m.data, d)
		// A column that was renamed, or may be NULL by now, is the same in memory only.
		m.direct = m.direct && m.from[i] == i && d.Name == r.Name && d.Type.Equal(r.Type)
	}
	m.schema = types.WideArrowSchema(read)
	return m, nil
}

// project restricts a nested type of a file to the fields that are wanted.
func project(have, want types.Type) types.Type {
	switch {
	case have.Kind == types.Row && want.Kind == types.Row:
		var out []types.Field
		for _, h := range have.Fields {
			if k := slices.IndexFunc(want.Fields, func(w types.Field) bool { return w.ID == h.ID }); k >= 0 {
				h.Type = project(h.Type, want.Fields[k].Type)
				out = append(out, h)
			}
		}
		if len(out) == 0 { // something has to tell which rows are NULL
			out = have.Fields[:1]
		}
		have.Fields = out
	case have.Kind == types.Array && want.Kind == types.Array, have.Kind == types.Map && want.Kind == types.Map:
		e := project(*have.Elem, *want.Elem)
		have.Elem = &e
	}
	return have
}

// Fields are the columns to read from the file, as the file has them.
func (m *Mapping) Fields() []types.Field { return m.data }

// Apply turns a batch of Fields into one of the wanted columns. Nothing is copied where types are the
// same in memory; columns that the file does not have are NULL.
func (m *Mapping) Apply(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	if int(rec.NumCols()) != len(m.data) {
		return nil, fmt.Errorf("the file gave %d columns, %d were asked for", rec.NumCols(), len(m.data))
	}
	if m.direct {
		return rec, nil
	}
	cols := make([]arrow.Array, len(m.read))
	for i, r := range m.read {
		k := m.from[i]
		if k < 0 {
			cols[i] = array.MakeArrayOfNull(memory.DefaultAllocator, m.schema.Field(i).Type, int(rec.NumRows()))
			continue
		}
		var err error
		if cols[i], err = cast.Cast(rec.Column(k), m.data[k].Type, r.Type); err != nil {
			return nil, fmt.Errorf("column %s: %w", r.Name, err)
		}
	}
	return array.NewRecordBatch(m.schema, cols, rec.NumRows()), nil
}

// Devolve turns a filter on the wanted columns into one on the file's: with its names, types and values.
// Parts that cannot be told of the file are left out, so that the result matches at least what the
// filter matches; nil if nothing is left. Columns that are not wanted are such parts.
func (m *Mapping) Devolve(p predicate.Predicate) predicate.Predicate {
	if p == nil {
		return nil
	}
	return predicate.Rewrite(p, m.devolve)
}

func (m *Mapping) devolve(l *predicate.Leaf) predicate.Predicate {
	i, ok := m.byName[l.Column]
	if !ok || m.from[i] < 0 {
		return nil // all NULL there: the filter on rows knows what that means
	}
	d, r := m.data[m.from[i]], m.read[i]
	out := *l
	out.Column, out.Type = d.Name, d.Type
	if l.Op == predicate.IsNull || l.Op == predicate.IsNotNull {
		if cast.KeepsNulls(d.Type, r.Type) {
			return &out
		}
		return nil
	}
	if cast.Identical(d.Type, r.Type) && cast.Identical(r.Type, d.Type) || text(d.Type) && text(r.Type) && cast.Identical(d.Type, r.Type) {
		return &out
	}
	if !cast.KeepsOrder(d.Type, r.Type) {
		return nil
	}
	out.Values = make([]types.Datum, len(l.Values))
	for k, v := range l.Values {
		if out.Values[k], ok = backward(v, d.Type, r.Type); !ok {
			return nil
		}
	}
	return &out
}

func text(t types.Type) bool { return t.Kind == types.Char || t.Kind == types.Varchar }

// backward finds the value of a file's type that becomes v; false if there is none.
func backward(v types.Datum, file, wanted types.Type) (types.Datum, bool) {
	if v == nil {
		return nil, true
	}
	old, err := cast.Value(v, wanted, file)
	if err != nil || old == nil {
		return nil, false
	}
	again, err := cast.Value(old, file, wanted)
	return old, err == nil && types.Compare(wanted, again, v) == 0
}
