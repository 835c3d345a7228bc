package lsm

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// job is a merge of some runs: what is read of them and what comes out.
type job struct {
	t      *Table
	in     []types.Field // columns of the batches that are merged
	layout kv.Layout
	kind   int            // column of kinds in `in`, -1 if not read
	byName map[string]int // value columns in `in`

	inSchema  *arrow.Schema
	outSchema *arrow.Schema
	outCols   []int // for each output column its column in `in`; a _KEY_ column is its value column
	drop      bool  // leave out deletes
	versions  bool  // versions are not merged before all of them are known
	kinds     bool  // give the kinds of rows beside the batch
	log       bool  // only the changelog is wanted
}

// want says what a job has to give.
type want struct {
	out    []types.Field // may have _KEY_ columns, sequence number and kind
	number bool          // versions need their sequence numbers to be ordered
	kinds  bool          // some row may be a delete
	drop   bool
	give   bool // give kinds beside the batch
	alone  bool // nothing is merged: neither keys nor versions are compared
	tell   bool // of changes
	place  bool // rows have their places with them
	log    bool // give no rows: the changelog is all that is wanted
}

func (t *Table) newJob(w want) (*job, error) {
	j := &job{t: t, kind: -1, byName: map[string]int{}, drop: w.drop && w.kinds, kinds: w.give, log: w.log}
	add := func(f types.Field) int {
		if i := slices.IndexFunc(j.in, func(x types.Field) bool { return x.Name == f.Name }); i >= 0 {
			return i
		}
		j.in = append(j.in, f)
		if !schema.IsSystem(f.Name) {
			j.byName[f.Name] = len(j.in) - 1
		}
		return len(j.in) - 1
	}
	var values []string
	for _, f := range w.out {
		src := f
		if len(f.Name) > len(datafile.KeyPrefix) && f.Name[:len(datafile.KeyPrefix)] == datafile.KeyPrefix {
			var ok bool
			if src, ok = t.field(f.Name[len(datafile.KeyPrefix):]); !ok {
				return nil, fmt.Errorf("lsm: no column for %s", f.Name)
			}
		} else if !schema.IsSystem(f.Name) {
			values = append(values, f.Name)
		}
		j.outCols = append(j.outCols, add(src))
	}
	j.outSchema = types.WideArrowSchema(w.out)
	j.layout.Encoder = t.encoder
	j.layout.Order = kv.Order{Number: -1, Encoder: t.sequence}
	if !w.alone {
		for _, f := range t.keys {
			j.layout.Keys = append(j.layout.Keys, add(f))
		}
		for _, name := range t.c.Sequence {
			f, _ := t.field(name)
			j.layout.Order.Sequence = append(j.layout.Order.Sequence, add(f))
		}
	}
	for _, name := range t.c.Engine.Needs(values) {
		if f, ok := t.field(name); ok {
			add(f)
		}
	}
	if w.number && !w.alone {
		j.layout.Order.Number = add(datafile.SequenceField())
	}
	if w.kinds && (w.drop || w.give || w.tell || t.c.Engine.NeedsKinds()) {
		j.kind = add(datafile.KindField())
	}
	if w.place {
		j.in = append(j.in, placeField())
	}
	j.inSchema = types.WideArrowSchema(j.in)
	return j, nil
}

// raw is a job that gives its input columns, all versions of them that may still matter.
func (j *job) raw() *job {
	r := *j
	r.drop, r.kinds, r.log = false, false, false
	r.outSchema = j.inSchema
	r.outCols = make([]int, len(j.in))
	for i := range r.outCols {
		r.outCols[i] = i
	}
	return &r
}

// keep gives the versions of a raw job, merged as far as the engine allows.
func (j *job) keep(g *kv.Groups) ([]batch.Batch, error) {
	if j.t.c.Engine.PreMerge() && !j.versions {
		return j.merge(g, nil)
	}
	return j.gather(&mergefn.Input{Groups: g}, &mergefn.Output{Rows: g.Refs}, 0, len(g.Refs))
}

// merge lets the engine decide and gathers the result. It is more than one batch only if rows are so
// large that they do not fit into one. The past, if there is one, says which versions count, and is told what changes.
func (j *job) merge(g *kv.Groups, p *past) ([]batch.Batch, error) {
	var was *before
	if p != nil {
		var err error
		if g, was, err = p.split(j, g); err != nil || len(g.Ends) == 0 {
			return nil, err
		}
	}
	in, out, err := j.decide(g, p != nil && p.lookup == LookupFold && p.level < manifest.MaxLevel)
	if err != nil {
		return nil, err
	}
	if p != nil && p.w != nil {
		if err := p.tell(j, in, out, was); err != nil {
			return nil, err
		}
	}
	if j.log {
		return nil, nil
	}
	if j.drop && in.Kinds != nil {
		if err := dropDeletes(in, out); err != nil {
			return nil, err
		}
	}
	return j.gather(in, out, 0, len(out.Rows))
}

// decide lets the engine decide what becomes of the versions. They are whole if nothing older is elsewhere.
func (j *job) decide(g *kv.Groups, whole bool) (*mergefn.Input, *mergefn.Output, error) {
	in := &mergefn.Input{Groups: g, Columns: j.byName, Whole: whole}
	if j.kind >= 0 {
		var err error
		if in.Kinds, err = kindsOf(g.Window, j.kind); err != nil {
			return nil, nil, err
		}
	}
	out, err := j.t.c.Engine.Merge(in)
	return in, out, err
}

func kindsOf(window []arrow.RecordBatch, col int) ([][]int8, error) {
	out := make([][]int8, len(window))
	for i, rec := range window {
		a, ok := rec.Column(col).(*array.Int8)
		if !ok {
			return nil, fmt.Errorf("lsm: row kinds are of type %s", rec.Column(col).DataType())
		}
		out[i] = a.Int8Values()
	}
	return out, nil
}

// dropDeletes leaves out rows of the kinds -D and -U.
func dropDeletes(in *mergefn.Input, out *mergefn.Output) error {
	retract := func(i int) bool {
		if out.Kinds != nil {
			return types.RowKind(out.Kinds[i]).IsRetract()
		}
		return in.Kind(out.Rows[i]).IsRetract()
	}
	first := 0
	for first < len(out.Rows) && !retract(first) {
		first++
	}
	if first == len(out.Rows) {
		return nil
	}
	keep := make([]int32, first, len(out.Rows))
	for i := range keep {
		keep[i] = int32(i)
	}
	for i := first; i < len(out.Rows); i++ {
		if !retract(i) {
			keep = append(keep, int32(i))
		}
	}
	out.Rows = pick(out.Rows, keep)
	if out.Kinds != nil {
		out.Kinds = pick(out.Kinds, keep)
	}
	for i := range out.Parts {
		out.Parts[i].Rows = pick(out.Parts[i].Rows, keep)
	}
	for i, c := range out.Computed {
		if c.Rows != nil {
			out.Computed[i].Rows = pick(c.Rows, keep)
			continue
		}
		refs := make([]batch.Ref, len(keep))
		for k, x := range keep {
			refs[k].Row = x
		}
		a, err := batch.GatherArrays([]arrow.Array{c.Values}, batch.Select(refs))
		if err != nil {
			return err
		}
		out.Computed[i].Values = a
	}
	return nil
}

func pick[T any](v []T, keep []int32) []T {
	out := make([]T, len(keep))
	for i, k := range keep {
		out[i] = v[k]
	}
	return out
}

// gather makes batches of the rows from..to-1 of a result.
func (j *job) gather(in *mergefn.Input, out *mergefn.Output, from, to int) ([]batch.Batch, error) {
	if from == to {
		return nil, nil
	}
	b, err := j.gatherOne(in, out, from, to)
	if err == nil {
		return []batch.Batch{b}, nil
	}
	if !isTooLarge(err) || to-from == 1 {
		return nil, err
	}
	mid := (from + to) / 2
	first, err := j.gather(in, out, from, mid)
	if err != nil {
		return nil, err
	}
	second, err := j.gather(in, out, mid, to)
	return append(first, second...), err
}

func (j *job) gatherOne(in *mergefn.Input, out *mergefn.Output, from, to int) (batch.Batch, error) {
	sel := batch.Select(out.Rows[from:to])
	parts := make([]*batch.Selection, len(out.Parts))
	for i, p := range out.Parts {
		parts[i] = batch.Select(p.Rows[from:to])
	}
	cols := make([]arrow.Array, len(j.outCols))
	for i, c := range j.outCols {
		if k := slices.Index(j.outCols[:i], c); k >= 0 {
			cols[i] = cols[k]
			continue
		}
		if out.Kinds != nil && j.in[c].Name == datafile.KindName {
			cols[i] = kindArray(out.Kinds[from:to])
			continue
		}
		name := j.in[c].Name
		if k := slices.IndexFunc(out.Computed, func(x mergefn.Computed) bool { return x.Column == name }); k >= 0 {
			var err error
			if cols[i], err = computed(in.Window, c, &out.Computed[k], from, to); err != nil {
				return batch.Batch{}, err
			}
			continue
		}
		s := sel
		if k := slices.IndexFunc(out.Parts, func(p mergefn.Part) bool { return slices.Contains(p.Columns, name) }); k >= 0 {
			s = parts[k]
		}
		var err error
		if cols[i], err = batch.GatherColumn(in.Window, c, s); err != nil {
			return batch.Batch{}, err
		}
	}
	b := batch.Batch{RecordBatch: array.NewRecordBatch(j.outSchema, cols, int64(to-from))}
	if j.kinds && in.Kinds != nil {
		b.Kinds = make([]types.RowKind, to-from)
		for i := range b.Kinds {
			if out.Kinds != nil {
				b.Kinds[i] = types.RowKind(out.Kinds[from+i])
			} else {
				b.Kinds[i] = in.Kind(out.Rows[from+i])
			}
		}
	}
	return b, nil
}

// computed gives rows of a column that the engine made, or some of it.
func computed(window []arrow.RecordBatch, col int, c *mergefn.Computed, from, to int) (arrow.Array, error) {
	if c.Rows == nil {
		return array.NewSlice(c.Values, int64(from), int64(to)), nil
	}
	arrs := make([]arrow.Array, len(window), len(window)+1)
	for i, rec := range window {
		arrs[i] = rec.Column(col)
	}
	return batch.GatherArrays(append(arrs, c.Values), batch.Select(c.Rows[from:to]))
}
