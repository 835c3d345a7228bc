package lsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// Side is the files of a bucket and the rows of them that are deleted, by name of file.
type Side struct {
	Files []*manifest.DataFile
	Gone  map[string]*index.Vector
}

// Diff reads two states of a bucket and gives the rows of the later one that the earlier one has not, or has with other values; with
// KeepDeletes also the rows that went, as -D. Of each state these have to be all files in which keys of them can be. Filters but
// KeyFilter are not heeded, nor is Gone.
func (t *Table) Diff(loc datafile.Location, before, after Side, o ReadOptions) (batch.Reader, error) {
	d := &differ{keep: o.KeepDeletes, schema: types.WideArrowSchema(o.Fields)}
	for _, f := range o.Fields {
		i := slices.IndexFunc(t.c.Fields, func(x types.Field) bool { return x.Name == f.Name })
		if i < 0 {
			return nil, fmt.Errorf("lsm: there is no column %s to compare", f.Name)
		}
		d.out = append(d.out, i)
	}
	layout := kv.Layout{Encoder: t.encoder, Order: kv.RunOrder}
	for i, f := range t.c.Fields {
		if !slices.ContainsFunc(t.keys, func(k types.Field) bool { return k.Name == f.Name }) {
			d.values = append(d.values, i)
		}
	}
	for _, k := range t.keys {
		layout.Keys = append(layout.Keys, slices.IndexFunc(t.c.Fields, func(x types.Field) bool { return x.Name == k.Name }))
	}
	d.side = len(t.c.Fields)
	d.kind = d.side + 1
	schema := types.WideArrowSchema(append(slices.Clone(t.c.Fields), datafile.SequenceField(), datafile.KindField()))
	read := ReadOptions{Fields: t.c.Fields, KeyFilter: o.KeyFilter, BatchRows: o.BatchRows, KeepDeletes: o.KeepDeletes}
	var runs []kv.Run
	for i, state := range []Side{before, after} {
		read := read
		read.Gone = state.Gone
		runs = append(runs, kv.Run{Name: []string{"the earlier state", "the later state"}[i], Open: func(ctx context.Context) (batch.Reader, error) {
			r, err := t.MergeRead(ctx, loc, state.Files, read)
			if err != nil {
				return nil, err
			}
			return &stateReader{Reader: r, side: int64(i), schema: schema}, nil
		}})
	}
	d.in = kv.NewMerger(runs, layout, 0)
	return d, nil
}

// stateReader adds to rows of which state they are, and their kinds.
type stateReader struct {
	batch.Reader
	side   int64
	schema *arrow.Schema
}

func (s *stateReader) Next(ctx context.Context) (batch.Batch, error) {
	b, err := s.Reader.Next(ctx)
	if err != nil {
		return b, err
	}
	n := int(b.NumRows())
	cols := append(slices.Clone(b.Columns()), numberArray(slices.Repeat([]int64{s.side}, n)), rowKindArray(b.Kinds, n))
	return batch.Batch{RecordBatch: array.NewRecordBatch(s.schema, cols, int64(n))}, nil
}

// differ compares the rows of two states key by key.
type differ struct {
	in         *kv.Merger
	keep       bool
	out        []int // columns that are given
	values     []int // columns that are compared
	side, kind int   // columns
	schema     *arrow.Schema
}

func (d *differ) Close() error { return d.in.Close() }

func (d *differ) Next(ctx context.Context) (batch.Batch, error) {
	for {
		g, err := d.in.Next(ctx)
		if err != nil {
			return batch.Batch{}, err
		}
		refs, kinds, err := d.compare(g)
		if err != nil {
			return batch.Batch{}, err
		}
		if len(refs) == 0 {
			continue
		}
		rec, err := batch.GatherBatch(d.schema, g.Window, d.out, batch.Select(refs))
		if err != nil {
			return batch.Batch{}, fmt.Errorf("lsm: compare states: %w", err)
		}
		return batch.Batch{RecordBatch: rec, Kinds: kinds}, nil
	}
}

func (d *differ) compare(g *kv.Groups) (refs []batch.Ref, kinds []types.RowKind, err error) {
	row := func(r batch.Ref) (later bool, kind types.RowKind) {
		rec := g.Window[r.Src]
		return rec.Column(d.side).(*array.Int64).Value(int(r.Row)) == 1, types.RowKind(rec.Column(d.kind).(*array.Int8).Value(int(r.Row)))
	}
	for i := range g.Ends {
		versions := g.Group(i)
		last := versions[len(versions)-1]
		later, kind := row(last)
		switch {
		case len(versions) > 2:
			return nil, nil, errors.New("lsm: compare states: a key has several rows in one of them")
		case len(versions) == 2:
			_, was := row(versions[0])
			if was.IsRetract() == kind.IsRetract() && d.equal(g.Window, versions[0], last) {
				continue
			}
		case !later && kind.IsRetract():
			continue
		case !later:
			kind = types.Delete
		}
		if kind.IsRetract() && !d.keep {
			continue
		}
		refs, kinds = append(refs, last), append(kinds, kind)
	}
	return refs, kinds, nil
}

// equal reports whether two rows have the same values.
func (d *differ) equal(window []arrow.RecordBatch, a, b batch.Ref) bool {
	for _, c := range d.values {
		if !sameValue(window[a.Src].Column(c), int(a.Row), window[b.Src].Column(c), int(b.Row)) {
			return false
		}
	}
	return true
}

// sameValue compares values of two arrays of one type. Floating point numbers are compared as the format
// orders them: NaN is NaN, -0.0 is not 0.0. The pairs of a map have no order.
func sameValue(a arrow.Array, i int, b arrow.Array, j int) bool {
	if a.IsNull(i) || b.IsNull(j) {
		return a.IsNull(i) == b.IsNull(j)
	}
	switch x := a.(type) {
	case *array.Int32:
		return x.Value(i) == b.(*array.Int32).Value(j)
	case *array.Int64:
		return x.Value(i) == b.(*array.Int64).Value(j)
	case *array.String:
		return x.Value(i) == b.(*array.String).Value(j)
	case *array.Timestamp:
		return x.Value(i) == b.(*array.Timestamp).Value(j)
	}
	return bytes.Equal(batch.AppendComparable(nil, a, i), batch.AppendComparable(nil, b, j))
}
