package lsm

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/types"
)

const (
	// A batch of which the bucket has at least so many rows, and at least the fourth part, is kept as
	// it is; of others the rows are copied together.
	keepRows   = 8192
	keepFactor = 4
	fewFactor  = 64 // of a batch of which the bucket has at most this part, the rows are copied at once

	gatherRows    = 32768 // so many rows are copied together
	gatherBatches = 256
	gatherBytes   = 32 << 20

	// rowOverhead is the memory a row takes beside its columns: sequence number, kind, reference, and
	// keys while sorting.
	rowOverhead = 9 + 8 + 40
)

// sortBuffer holds rows in the order in which they came, in the columns of job.in.
type sortBuffer struct {
	job   *job
	cols  []int // for each column of job.in its column in the table, -1: number, -2: kind
	recs  []arrow.RecordBatch
	rows  []batch.Ref
	bytes int64

	pending     []arrow.RecordBatch
	pendingRows []batch.Ref
	pendingSize int64 // what pending batches keep from being freed
}

const (
	numberCol = -1
	kindCol   = -2
)

func (t *Table) newBuffer() (*sortBuffer, error) {
	b, err := t.bufferOf(want{out: datafile.KeyValueFields(t.keys, t.c.Fields, t.c.Thin), kinds: true})
	if err != nil {
		return nil, err
	}
	b.job.versions = t.c.Changelog == InputChangelog
	return b, nil
}

func (t *Table) bufferOf(w want) (*sortBuffer, error) {
	j, err := t.newJob(w)
	if err != nil {
		return nil, err
	}
	b := &sortBuffer{job: j}
	for _, f := range j.in {
		switch f.Name {
		case datafile.SequenceName:
			b.cols = append(b.cols, numberCol)
		case datafile.KindName:
			b.cols = append(b.cols, kindCol)
		default:
			b.cols = append(b.cols, slices.IndexFunc(t.c.Fields, func(x types.Field) bool { return x.Name == f.Name }))
		}
	}
	return b, nil
}

func (b *sortBuffer) len() int { return len(b.rows) + len(b.pendingRows) }

// add takes the rows sel of a batch (nil: all), numbered from first on.
func (b *sortBuffer) add(in batch.Batch, sel []int32, first int64) error {
	n, total := len(sel), int(in.NumRows())
	if sel == nil {
		n = total
	}
	if n == 0 {
		return nil
	}
	size := batch.SizeOf(in.RecordBatch) * int64(n) / int64(total)
	b.bytes += size + int64(n)*rowOverhead
	if n*fewFactor <= total { // the batch is for many buckets: none of them keeps it, nor columns of its length
		var err error
		if in, err = few(in, sel); err != nil {
			return err
		}
		sel = nil
	}
	rec := b.wrap(in, sel, first)
	held := batch.Retained(in.RecordBatch)
	if n >= keepRows && n*keepFactor >= total && held <= 2*keepFactor*size {
		if err := b.settle(true); err != nil {
			return err
		}
		b.rows = appendRows(b.rows, len(b.recs), sel, n)
		b.recs = append(b.recs, rec)
		return nil
	}
	b.pendingRows = appendRows(b.pendingRows, len(b.pending), sel, n)
	b.pending = append(b.pending, rec)
	b.pendingSize += held
	if len(b.pendingRows) >= gatherRows || len(b.pending) >= gatherBatches || b.pendingSize >= gatherBytes {
		return b.settle(true)
	}
	return nil
}

// few copies some rows of a batch.
func few(in batch.Batch, sel []int32) (batch.Batch, error) {
	all := make([]int, in.NumCols())
	for i := range all {
		all[i] = i
	}
	rec, err := batch.GatherBatch(in.Schema(), []arrow.RecordBatch{in.RecordBatch}, all, batch.Select(appendRows(nil, 0, sel, len(sel))))
	if err != nil {
		return batch.Batch{}, err
	}
	out := batch.Batch{RecordBatch: rec}
	if in.Kinds != nil {
		out.Kinds = make([]types.RowKind, len(sel))
		for i, row := range sel {
			out.Kinds[i] = in.Kinds[row]
		}
	}
	return out, nil
}

func appendRows(rows []batch.Ref, src int, sel []int32, n int) []batch.Ref {
	rows = slices.Grow(rows, n)
	if sel == nil {
		for i := range n {
			rows = append(rows, batch.Ref{Src: int32(src), Row: int32(i)})
		}
		return rows
	}
	for _, i := range sel {
		rows = append(rows, batch.Ref{Src: int32(src), Row: i})
	}
	return rows
}

// wrap brings a batch of the table's columns into the columns of the job.
func (b *sortBuffer) wrap(in batch.Batch, sel []int32, first int64) arrow.RecordBatch {
	n := int(in.NumRows())
	cols := make([]arrow.Array, len(b.cols))
	for i, c := range b.cols {
		switch c {
		case numberCol:
			seq := make([]int64, n)
			if sel == nil {
				for k := range seq {
					seq[k] = first + int64(k)
				}
			}
			for k, row := range sel {
				seq[row] = first + int64(k)
			}
			cols[i] = numberArray(seq)
		case kindCol:
			cols[i] = rowKindArray(in.Kinds, n)
		default:
			cols[i] = in.Column(c)
		}
	}
	return array.NewRecordBatch(b.job.inSchema, cols, int64(n))
}

// settle moves pending rows among the others, copied into one batch if there are many batches.
func (b *sortBuffer) settle(copying bool) error {
	if len(b.pending) == 0 {
		return nil
	}
	src := int32(len(b.recs))
	if copying {
		all := make([]int, len(b.cols))
		for i := range all {
			all[i] = i
		}
		rec, err := batch.GatherBatch(b.job.inSchema, b.pending, all, batch.Select(b.pendingRows))
		switch {
		case err == nil:
			b.recs = append(b.recs, rec)
			b.rows = appendRows(b.rows, int(src), nil, len(b.pendingRows))
		case isTooLarge(err):
			copying = false
		default:
			return err
		}
	}
	if !copying {
		for _, r := range b.pendingRows {
			b.rows = append(b.rows, batch.Ref{Src: src + r.Src, Row: r.Row})
		}
		b.recs = append(b.recs, b.pending...)
	}
	b.pending, b.pendingRows, b.pendingSize = nil, nil, 0
	return nil
}

// reset forgets all rows. It keeps no memory: one large batch must not make all later buffers large
// (BUGS B129).
func (b *sortBuffer) reset() {
	*b = sortBuffer{job: b.job, cols: b.cols}
}

// sorted gives the rows by key.
func (b *sortBuffer) sorted() (grouped, error) {
	if err := b.settle(len(b.pending) > 8); err != nil {
		return nil, err
	}
	keys := make([]kv.Keys, len(b.recs))
	for i, rec := range b.recs {
		cols := make([]arrow.Array, len(b.job.layout.Keys))
		for k, c := range b.job.layout.Keys {
			cols[k] = rec.Column(c)
		}
		var err error
		if keys[i], err = b.job.layout.Encoder.Encode(cols); err != nil {
			return nil, fmt.Errorf("lsm: sort buffer: %w", err)
		}
	}
	ver, err := b.job.layout.Order.Versions(b.recs)
	if err != nil {
		return nil, fmt.Errorf("lsm: sort buffer: %w", err)
	}
	s := kv.SortRows(keys, b.rows)
	piece := pieceRows(len(b.cols), b.bytes/int64(max(len(b.rows), 1)))
	return &sortedRows{window: b.recs, rows: b.rows, sorted: s, ver: ver, piece: piece}, nil
}

// sortedRows gives groups of a sorted buffer.
type sortedRows struct {
	window []arrow.RecordBatch
	rows   []batch.Ref
	sorted kv.Sorted
	ver    *kv.Versions
	piece  int // keys at once
	at     int // of groups
}

func (s *sortedRows) Close() error { return nil }

func (s *sortedRows) Next(context.Context) (*kv.Groups, error) {
	if s.at >= len(s.sorted.Ends) {
		return nil, io.EOF
	}
	to := min(s.at+s.piece, len(s.sorted.Ends))
	from := int32(0)
	if s.at > 0 {
		from = s.sorted.Ends[s.at-1]
	}
	order := s.sorted.Order[from:s.sorted.Ends[to-1]]
	g := &kv.Groups{Window: s.window, Refs: make([]batch.Ref, len(order)), Ends: make([]int32, to-s.at)}
	for i, row := range order {
		g.Refs[i] = s.rows[row]
	}
	for i, end := range s.sorted.Ends[s.at:to] {
		g.Ends[i] = end - from
	}
	s.ver.Arrange(g)
	s.at = to
	return g, nil
}
