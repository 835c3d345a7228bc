package parquet

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileio"
)

// rowSpan are rows [from, to) of a row group.
type rowSpan struct{ from, to int64 }

// block is a run of rows whose filter columns have been read, and of which some match. The other
// columns stand at row done of it.
type block struct {
	from int64 // in the row group
	rows int
	runs []rowSpan // within the block, to be given out
	done int64
	arrs []arrow.Array // of the filter's columns
}

// gap is how many rows that do not match are read along rather than ending a batch.
const gap = 512

// few is how many matches in a block make it likely that there are no more in the same pages.
const few = 4

// all are the leaves of the columns wanted and of the filter.
func (r *reader) all() []*leafReader {
	if r.filter == nil {
		return r.leaves
	}
	return slices.Concat(r.filter.leaves, r.leaves)
}

// dropShared leaves out the leaves of columns that the filter reads anyway.
func (r *reader) dropShared() {
	if r.filter == nil {
		return
	}
	for i, k := range r.filter.shared {
		if k >= 0 {
			own := r.cols[i].leaf
			r.leaves = slices.DeleteFunc(r.leaves, func(l *leafReader) bool { return l == own })
		}
	}
}

func (r *reader) next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if rec, err := r.nextRun(); rec != nil || err != nil {
			return rec, err
		}
		if r.group >= len(r.meta.rowGroups) {
			return nil, io.EOF
		}
		g := &r.meta.rowGroups[r.group]
		if !r.open {
			if err := r.openGroup(ctx); err != nil {
				return nil, err
			}
		}
		if len(r.ranges) == 0 {
			r.first += g.numRows
			r.group++
			r.row, r.open = 0, false
			continue
		}
		span := &r.ranges[0]
		if skip := span.from - r.row; skip > 0 {
			for _, l := range r.all() {
				l.skip(skip)
			}
			r.row = span.from
		}
		if r.probing {
			r.fit(g)
		}
		n := int(min(r.most, span.to-span.from))
		span.from += int64(n)
		if span.from == span.to {
			r.ranges = r.ranges[1:]
		}
		rec, err := r.readBlock(n)
		if rec != nil || err != nil {
			return rec, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// readBlock reads the next n rows. It gives nil if none of them matches, or if there are runs of
// them to be given out.
func (r *reader) readBlock(n int) (arrow.RecordBatch, error) {
	at := r.row
	r.row += int64(n)
	gone := r.goneOf(at, n)
	if r.filter == nil && len(gone) == 0 {
		r.pos = r.first + at
		return r.columns(n, nil)
	}
	var arrs []arrow.Array
	var sel []int32
	if r.filter == nil {
		sel = others(gone, n)
	} else {
		var err error
		if arrs, sel, err = r.filter.match(n); err != nil {
			return nil, fmt.Errorf("row group %d: %w", r.group, err)
		}
		sel = without(sel, gone)
	}
	switch {
	case len(sel) == 0:
		for _, l := range r.leaves {
			l.skip(int64(n))
		}
		return nil, nil
	case len(sel) == n:
		r.pos = r.first + at
		r.filter.lend()
		return r.columns(n, arrs)
	}
	// Where nothing or hardly anything else will be wanted of the pages at hand, they are unpacked up to the last match.
	until := int64(0)
	if len(r.ranges) == 0 || !r.whole && len(sel) <= few {
		until = at + int64(sel[len(sel)-1]) + 1
	}
	for _, l := range r.leaves {
		l.until = until
	}
	if r.sparse {
		r.pos = r.first + at + int64(sel[0])
		return r.selected(n, arrs, sel)
	}
	r.filter.lend()
	joined := int64(gap)
	if len(gone) > 0 {
		joined = 1 // rows between may be some that are gone
	}
	r.block = block{from: at, rows: n, runs: runsOf(sel, joined), arrs: arrs}
	return nil, nil
}

// runsOf joins rows to runs, over gaps shorter than gap.
func runsOf(sel []int32, gap int64) []rowSpan {
	var out []rowSpan
	for _, x := range sel {
		if k := len(out); k > 0 && int64(x)-out[k-1].to < gap {
			out[k-1].to = int64(x) + 1
			continue
		}
		out = append(out, rowSpan{int64(x), int64(x) + 1})
	}
	return out
}

// nextRun gives the next run of the block at hand.
func (r *reader) nextRun() (arrow.RecordBatch, error) {
	b := &r.block
	if b.rows == 0 {
		return nil, nil
	}
	if len(b.runs) == 0 {
		for _, l := range r.leaves {
			l.skip(int64(b.rows) - b.done)
		}
		*b = block{}
		return nil, nil
	}
	run := b.runs[0]
	b.runs = b.runs[1:]
	for _, l := range r.leaves {
		l.skip(run.from - b.done)
	}
	b.done = run.to
	r.pos = r.first + b.from + run.from
	arrs := make([]arrow.Array, len(b.arrs))
	for i, a := range b.arrs {
		arrs[i] = array.NewSlice(a, run.from, run.to)
	}
	return r.columns(int(run.to-run.from), arrs)
}

// columns reads n rows of the columns wanted; those that the filter has read are given.
func (r *reader) columns(n int, shared []arrow.Array) (arrow.RecordBatch, error) {
	for _, l := range r.leaves {
		l.begin(n)
		if err := l.read(n); err != nil {
			return nil, err
		}
	}
	return r.record(n, shared)
}

// record makes a batch of the n rows that the columns have read.
func (r *reader) record(n int, shared []arrow.Array) (arrow.RecordBatch, error) {
	arrs := make([]arrow.Array, len(r.cols))
	for i, c := range r.cols {
		if k := r.filter.sharedAt(i); k >= 0 {
			arrs[i] = shared[k]
			continue
		}
		a, err := c.array(n)
		if err != nil {
			return nil, fmt.Errorf("row group %d: %w", r.group, err)
		}
		arrs[i] = a
	}
	return array.NewRecordBatch(r.schema, arrs, int64(n)), nil
}

// dense is how many rows there may be to one run that matches for it to pay to read them all and to copy those that match.
const dense = 8

// selected reads those of the next n rows that match.
func (r *reader) selected(n int, shared []arrow.Array, sel []int32) (arrow.RecordBatch, error) {
	if len(r.cols) == 0 && r.filter == nil {
		return r.record(len(sel), nil)
	}
	runs := runsOf(sel, 1)
	alone := len(runs) == 1 // such rows are taken without a copy
	if len(runs)*dense > n && !alone {
		rec, err := r.columns(n, shared)
		if err != nil {
			return nil, err
		}
		for _, c := range r.cols {
			if c.kind == colLeaf {
				c.leaf.lent = false
			}
		}
		return batch.Take(rec, sel)
	}
	if alone {
		r.filter.lend()
	}
	rows := batch.SelectRows(sel)
	for i, a := range shared {
		var err error
		if shared[i], err = batch.GatherArrays([]arrow.Array{a}, rows); err != nil {
			return nil, err
		}
	}
	for _, l := range r.leaves {
		l.begin(len(sel))
		at := int64(0)
		for _, run := range runs {
			l.skip(run.from - at)
			if err := l.read(int(run.to - run.from)); err != nil {
				return nil, err
			}
			at = run.to
		}
		l.skip(int64(n) - at)
	}
	return r.record(len(sel), shared)
}

// openGroup starts the columns of a row group, if some of its rows can match. The beginnings of all
// columns are read together.
func (r *reader) openGroup(ctx context.Context) error {
	g := &r.meta.rowGroups[r.group]
	r.open = true
	r.ranges = nil
	if g.numRows == 0 {
		return nil
	}
	r.ranges = []rowSpan{{0, g.numRows}}
	if r.filter != nil {
		if err := r.prune(ctx, g); err != nil {
			return fmt.Errorf("row group %d: %w", r.group, err)
		}
	}
	r.leaveOut()
	if len(r.ranges) == 0 {
		return nil
	}
	r.whole = r.ranges[0].to-r.ranges[0].from >= g.numRows/2
	leaves := r.all()
	ranges := make([]fileio.Range, 0, len(leaves))
	for _, l := range leaves {
		l.pages.low = r.low || !r.whole
		if err := l.open(r.group, g.numRows, &g.columns[l.n.leaf]); err != nil {
			return err
		}
		if !r.whole {
			if err := r.locate(ctx, l, &g.columns[l.n.leaf]); err != nil {
				return err
			}
		}
		w := &l.pages.win
		ranges = append(ranges, fileio.Range{Offset: l.pages.start, Length: min(int64(w.size), w.end-l.pages.start)})
	}
	r.fit(g)
	if len(ranges) == 0 || !r.whole {
		return nil
	}
	bufs, err := r.file.ReadRanges(ctx, ranges)
	if err != nil {
		return fmt.Errorf("row group %d: %w", r.group, err)
	}
	for i, l := range leaves {
		l.pages.win.give(bufs[i], ranges[i].Offset)
	}
	return nil
}
