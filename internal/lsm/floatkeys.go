package lsm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// Floating point keys have one order here, -0.0 before 0.0 and NaN last. The reference takes NaN for equal to
// every number and the zeros for equal to each other when it merges, so its files may hold keys in another
// order, the same key twice, and as their range the first and last key of that order. Such files are sorted
// before they are merged; sorted files cost one more look at their keys.

// floatKeys reports whether a column of the key is a floating point number.
func (t *Table) floatKeys() bool {
	return slices.ContainsFunc(t.keyTypes, func(x types.Type) bool { return x.Kind == types.Float || x.Kind == types.Double })
}

// openSorted opens a file whose rows may not be in key order.
func (s *source) openSorted(ctx context.Context, f *manifest.DataFile, j *job, o datafile.ReadOptions) (batch.Reader, error) {
	sorted, err := s.isSorted(ctx, f, j)
	if err != nil {
		return nil, err
	}
	r, err := s.openFile(ctx, f, o)
	if err != nil || sorted {
		return r, err
	}
	out, err := sortRun(ctx, r, j)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("lsm: sort %s: %w", f.Name, err)
	}
	return out, nil
}

// keysOf encodes the keys of a batch; cols are its key columns.
func (j *job) keysOf(rec arrow.RecordBatch, cols []int) (kv.Keys, error) {
	arrs := make([]arrow.Array, len(cols))
	for i, c := range cols {
		arrs[i] = rec.Column(c)
	}
	return j.layout.Encoder.Encode(arrs)
}

// isSorted looks at the keys of a file.
func (s *source) isSorted(ctx context.Context, f *manifest.DataFile, j *job) (ok bool, err error) {
	o := datafile.ReadOptions{LowMemory: true}
	var cols []int
	for i, c := range j.layout.Keys {
		o.Fields, cols = append(o.Fields, j.in[c]), append(cols, i)
	}
	r, err := s.t.c.Store.Open(ctx, s.loc, f, o)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var last kv.Key
	seen := false
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		keys, err := j.keysOf(b.RecordBatch, cols)
		if err != nil {
			return false, err
		}
		for i := range keys.Len() {
			k := keys.At(i)
			if seen && k.Compare(last) < 0 {
				return false, nil
			}
			last, seen = k, true
		}
	}
}

// sortRun reads all of a run and puts it in key order; rows of one key stay in their order.
func sortRun(ctx context.Context, r batch.Reader, j *job) (batch.Reader, error) {
	out := &heldRows{}
	var keys []kv.Keys
	var rows []batch.Ref
	var recs []arrow.RecordBatch
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		k, err := j.keysOf(b.RecordBatch, j.layout.Keys)
		if err != nil {
			return nil, err
		}
		rows = appendRows(rows, len(recs), nil, int(b.NumRows()))
		recs, keys = append(recs, b.RecordBatch), append(keys, k)
	}
	all := make([]int, len(j.in))
	for i := range all {
		all[i] = i
	}
	order := kv.SortRows(keys, rows).Order
	for piece := range slices.Chunk(order, keepRows) {
		refs := make([]batch.Ref, len(piece))
		for i, row := range piece {
			refs[i] = rows[row]
		}
		rec, err := batch.GatherBatch(j.inSchema, recs, all, batch.Select(refs))
		if err != nil {
			return nil, err
		}
		out.recs = append(out.recs, rec)
	}
	return out, nil
}

// heldRows is a run in memory.
type heldRows struct{ recs []arrow.RecordBatch }

func (h *heldRows) Close() error { return nil }

func (h *heldRows) Next(context.Context) (batch.Batch, error) {
	if len(h.recs) == 0 {
		return batch.Batch{}, io.EOF
	}
	rec := h.recs[0]
	h.recs = h.recs[1:]
	return batch.Batch{RecordBatch: rec}, nil
}
