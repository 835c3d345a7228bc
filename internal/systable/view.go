package systable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// Names of views: system tables whose rows are those of the table, in another form.
const (
	ReadOptimized = "ro"        // the rows of the highest level
	AuditLog      = "audit_log" // rows and their kinds, deletes among them
	Binlog        = "binlog"    // as AuditLog, -U and +U in one row, of arrays
)

// kindColumn is the column of row kinds of a view.
const kindColumn = "rowkind"

// rowKindID is the field id of kindColumn in the format.
const rowKindID = 1<<31 - 1 - 4

// View is a system table whose rows are those of the table in another form.
type View struct {
	name string
	base []types.Field // of the table
	own  []types.Field // columns in front of those
}

// ViewOf gives the view of a name, nil for system tables of another sort. Sequence adds the sequence numbers of rows.
func ViewOf(name string, base []types.Field, sequence bool) *View {
	v := &View{name: strings.ToLower(name), base: base}
	switch v.name {
	case ReadOptimized:
	case AuditLog, Binlog:
		v.own = []types.Field{{ID: rowKindID, Name: kindColumn, Type: types.MustParse("STRING")}}
		if sequence {
			v.own = append(v.own, datafile.SequenceField())
		}
	default:
		return nil
	}
	return v
}

// Fields are the columns of the view.
func (v *View) Fields() []types.Field {
	out := slices.Clone(v.own)
	for _, f := range v.base {
		if v.name == Binlog {
			elem := f.Type
			elem.NotNull = false
			f.Type = types.Type{Kind: types.Array, Elem: &elem}
			f.Default = nil
		}
		out = append(out, f)
	}
	return out
}

// Plain reports whether rows of the view are rows of the table, as they are.
func (v *View) Plain() bool { return len(v.own) == 0 }

// Packs reports whether -U and the +U after it become one row where the view shows changes.
func (v *View) Packs() bool { return v.name == Binlog }

// Below is what a filter of the view says of the table's own columns; nil if nothing.
func (v *View) Below(filter predicate.Predicate) predicate.Predicate {
	if filter == nil || v.Plain() {
		return filter
	}
	if v.Packs() { // a condition on arrays says nothing of one row
		return nil
	}
	return predicate.Only(filter, func(col string) bool { return v.field(col) != nil })
}

func (v *View) field(name string) *types.Field {
	i := slices.IndexFunc(v.base, func(f types.Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &v.base[i]
}

// Needs are the columns to read of the table for some columns of the view.
func (v *View) Needs(names []string) []types.Field {
	var out []types.Field
	for _, n := range names {
		if slices.ContainsFunc(out, func(f types.Field) bool { return f.Name == n }) {
			continue
		}
		if f := v.field(n); f != nil {
			out = append(out, *f)
		} else if n == datafile.SequenceName {
			out = append(out, datafile.SequenceField())
		}
	}
	return out
}

// Shower turns batches with the columns of Needs into those of the view. It is used by one goroutine.
type Shower struct {
	view   *View
	pack   bool
	fields []types.Field
	schema *arrow.Schema
	held   *batch.Batch // a -U whose +U may come with the next batch
}

// Show makes a Shower for some columns of the view, in their order. Pack joins -U with the +U after it, if the view does so.
func (v *View) Show(names []string, pack bool) *Shower {
	s := &Shower{view: v, pack: pack && v.Packs()}
	all := v.Fields()
	for _, n := range names {
		i := slices.IndexFunc(all, func(f types.Field) bool { return f.Name == n })
		s.fields = append(s.fields, all[i])
	}
	s.schema = types.WideArrowSchema(s.fields)
	return s
}

// Fields are the columns of the batches that come out.
func (s *Shower) Fields() []types.Field { return s.fields }

// Add gives the rows of a batch, which may have none yet. All are inserts.
func (s *Shower) Add(b batch.Batch) (batch.Batch, error) {
	window := []batch.Batch{b}
	if s.held != nil {
		window = []batch.Batch{*s.held, b}
		s.held = nil
	}
	return s.show(window, s.pack)
}

// Flush gives the row that has waited for a +U which did not come, if there is one.
func (s *Shower) Flush() (batch.Batch, bool, error) {
	if s.held == nil {
		return batch.Batch{}, false, nil
	}
	window := []batch.Batch{*s.held}
	s.held = nil
	b, err := s.show(window, false)
	return b, true, err
}

// show makes the rows of batches that follow each other. With wait, a -U at their end is held back.
func (s *Shower) show(window []batch.Batch, wait bool) (batch.Batch, error) {
	var refs []batch.Ref
	ends := []int32{0} // of rows, in refs
	var kinds []types.RowKind
	before := false
	for src, b := range window {
		for row := range int(b.NumRows()) {
			kind := types.Insert
			if b.Kinds != nil {
				kind = b.Kinds[row]
			}
			refs = append(refs, batch.Ref{Src: int32(src), Row: int32(row)})
			if s.pack && before && kind == types.UpdateAfter {
				ends[len(ends)-1], kinds[len(kinds)-1] = int32(len(refs)), kind
			} else {
				ends, kinds = append(ends, int32(len(refs))), append(kinds, kind)
			}
			before = kind == types.UpdateBefore
		}
	}
	if wait && before {
		last := window[len(window)-1]
		one := last.Slice(int(last.NumRows())-1, int(last.NumRows()))
		s.held = &one
		refs, ends, kinds = refs[:len(refs)-1], ends[:len(ends)-1], kinds[:len(kinds)-1]
	}
	return s.assemble(window, refs, ends, kinds)
}

func (s *Shower) assemble(window []batch.Batch, refs []batch.Ref, ends []int32, kinds []types.RowKind) (batch.Batch, error) {
	n := len(kinds)
	recs := make([]arrow.RecordBatch, len(window))
	for i, b := range window {
		recs[i] = b.RecordBatch
	}
	all := batch.Select(refs)
	cols := make([]arrow.Array, len(s.fields))
	for i, f := range s.fields {
		if f.Name == kindColumn && s.view.field(f.Name) == nil {
			cols[i] = kindTexts(kinds)
			continue
		}
		k := window[0].Schema().FieldIndices(f.Name)
		if len(k) != 1 {
			return batch.Batch{}, fmt.Errorf("system table $%s: there is no column %s to read", s.view.name, f.Name)
		}
		sel, list := all, s.view.Packs()
		if f.Name == datafile.SequenceName { // of the row before, where there are two
			first := make([]batch.Ref, n)
			for r := range first {
				first[r] = refs[ends[r]]
			}
			sel, list = batch.Select(first), false
		}
		values, err := batch.GatherColumn(recs, k[0], sel)
		if err != nil {
			return batch.Batch{}, fmt.Errorf("system table $%s: column %s: %w", s.view.name, f.Name, err)
		}
		if list {
			values = listOf(s.schema.Field(i).Type, values, ends)
		}
		cols[i] = values
	}
	return batch.Batch{RecordBatch: array.NewRecordBatch(s.schema, cols, int64(n))}, nil
}

// kindTexts writes kinds as +I, -U, +U and -D.
func kindTexts(kinds []types.RowKind) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Reserve(len(kinds))
	for _, k := range kinds {
		b.Append(k.String())
	}
	return b.NewArray()
}

// listOf cuts values into lists: list i is what lies between ends i and i+1.
func listOf(t arrow.DataType, values arrow.Array, ends []int32) arrow.Array {
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(ends))
	return array.NewListData(array.NewData(t, len(ends)-1, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{values.Data()}, 0, 0))
}
