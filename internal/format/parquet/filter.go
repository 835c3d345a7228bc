package parquet

import (
	"encoding/binary"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// filter finds rows that match before the other columns are read.
type filter struct {
	pred   predicate.Predicate
	fields []types.Field
	schema *arrow.Schema
	cols   []*column
	nodes  []*node // of the columns in the file, nil if it does not have them
	leaves []*leafReader
	// shared says for each wanted column which of cols has it, -1 for none.
	shared []int
}

// newFilter plans a filter. It is nil if a column of it cannot be tested in the file's form: filtering is a
// help, and whoever asked for it tests the rows again.
func newFilter(root *node, o format.ReadOptions, wanted []*column) *filter {
	f := &filter{pred: o.Filter, shared: make([]int, len(wanted))}
	for _, name := range predicate.Columns(o.Filter) {
		t, ok := typeOf(o.Filter, name)
		if !ok || t.IsNested() {
			return nil
		}
		f.fields = append(f.fields, types.Field{ID: len(f.fields), Name: name, Type: t.AsNullable()})
	}
	f.schema = types.WideArrowSchema(f.fields)
	p := &planner{}
	for i, fd := range f.fields {
		c, err := p.top(root, fd, f.schema.Field(i).Type)
		if err != nil || c.kind != colLeaf && c.kind != colMissing {
			return nil
		}
		f.cols = append(f.cols, c)
		f.nodes = append(f.nodes, root.child(fd.Name))
	}
	f.leaves = p.leaves
	for i, fd := range o.Fields {
		f.shared[i] = slices.IndexFunc(f.fields, func(x types.Field) bool {
			return x.Name == fd.Name && x.Type.EqualShape(fd.Type.AsNullable()) && wanted[i].kind == colLeaf
		})
	}
	return f
}

func (f *filter) sharedAt(i int) int {
	if f == nil {
		return -1
	}
	return f.shared[i]
}

// typeOf is the type that a predicate gives to a column; ok is false if it gives different ones.
func typeOf(p predicate.Predicate, name string) (t types.Type, ok bool) {
	ok = true
	predicate.Rewrite(p, func(l *predicate.Leaf) predicate.Predicate {
		if l.Column == name {
			if t.Kind != types.Invalid && !t.EqualShape(l.Type.AsNullable()) {
				ok = false
			}
			t = l.Type.AsNullable()
		}
		return l
	})
	return t, ok && t.Kind != types.Invalid
}

// match reads the next n rows of the filter's columns and gives those that match. The arrays are
// valid until the next call, unless they are lent.
func (f *filter) match(n int) ([]arrow.Array, []int32, error) {
	for _, l := range f.leaves {
		l.begin(n)
		if err := l.read(n); err != nil {
			return nil, nil, err
		}
	}
	arrs := make([]arrow.Array, len(f.cols))
	for i, c := range f.cols {
		a, err := c.array(n)
		if err != nil {
			return nil, nil, err
		}
		arrs[i] = a
		if c.leaf != nil {
			c.leaf.lent = false
		}
	}
	sel, err := predicate.Eval(f.pred, array.NewRecordBatch(f.schema, arrs, int64(n)), f.fields)
	return arrs, sel, err
}

// lend gives the memory of the last arrays away.
func (f *filter) lend() {
	if f == nil {
		return
	}
	for _, l := range f.leaves {
		l.lent = true
	}
}

// stats gives the statistics of a filter's column from the bounds that a file holds.
func (f *filter) stats(i int, s *statistics, rows int64) predicate.Stats {
	out := predicate.Stats{NullCount: -1, Rows: rows}
	n := f.nodes[i]
	if n == nil {
		out.NullCount = rows
		return out
	}
	if s.hasNulls && s.nulls >= 0 && s.nulls <= rows {
		out.NullCount = s.nulls
	}
	// The older fields compare bytes, and numbers without sign, in a way that is of no use.
	if s.deprecated && (n.phys == physBytes || n.phys == physFixed || n.logical.unsigned) || n.phys == physInt96 {
		return out
	}
	if s.hasMin && s.hasMax {
		lo, ok1 := f.datum(i, s.min)
		hi, ok2 := f.datum(i, s.max)
		if ok1 && ok2 {
			out.Min, out.Max = lo, hi
		}
	}
	return out
}

// datum reads a bound as a value of the column, by the same conversions as the column's values.
func (f *filter) datum(i int, b []byte) (types.Datum, bool) {
	n, t := f.nodes[i], f.fields[i].Type
	s, err := newSink(n, t, f.schema.Field(i).Type)
	if err != nil {
		return nil, false
	}
	if n.phys == physBytes {
		b = append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	v := &values{phys: n.phys, width: n.typeLen}
	if n.phys != physBytes && len(b) != v.size() {
		return nil, false
	}
	s.reset(1, false)
	if v.reset(encPlain, b, 1) != nil || s.dense(v, 1) != nil {
		return nil, false
	}
	s.valid(1)
	d := types.DatumAt(s.array(), 0, t)
	return d, d != nil
}
