package appendtbl

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
)

const (
	sortFan     = 64 // temporary runs that are merged at once
	sortedRows  = 8192
	sortRow     = 64       // bytes that a row takes beside its columns while it is sorted
	leastSorted = 64 << 10 // bytes of a batch of a temporary run
)

// sorter sorts more rows than fit into memory. It has to be closed.
type sorter struct {
	o      *Order
	schema *arrow.Schema // of the rows that come out
	layout kv.Layout
	recs   []arrow.RecordBatch // extended
	bytes  int64
	rows   int64 // so far
	temp   []*kv.Temp
}

// add takes the rows of a batch.
func (s *sorter) add(ctx context.Context, rec arrow.RecordBatch) (err error) {
	if rec.NumRows() == 0 {
		return nil
	}
	if s.schema == nil {
		s.schema = rec.Schema()
		if s.layout, err = s.o.layout(int(rec.NumCols())); err != nil {
			return err
		}
	}
	size := max(batch.Retained(rec), batch.SizeOf(rec)) + rec.NumRows()*int64(sortRow+16*len(s.o.cols))
	if s.bytes > 0 && s.bytes+size > s.o.memory {
		if err := s.spill(ctx); err != nil {
			return err
		}
	}
	if rec, err = s.o.extend(rec, s.rows); err != nil {
		return err
	}
	s.recs, s.bytes, s.rows = append(s.recs, rec), s.bytes+size, s.rows+rec.NumRows()
	return nil
}

// sorted gives what is in memory, some rows at a time.
func (s *sorter) sorted() (func() (arrow.RecordBatch, error), error) {
	var keys []kv.Keys
	var rows []batch.Ref
	for i, rec := range s.recs {
		cols := make([]arrow.Array, len(s.layout.Keys))
		for j, c := range s.layout.Keys {
			cols[j] = rec.Column(c)
		}
		k, err := s.layout.Encoder.Encode(cols)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
		for r := range int32(rec.NumRows()) {
			rows = append(rows, batch.Ref{Src: int32(i), Row: r})
		}
	}
	order := kv.SortRows(keys, rows).Order
	per := sortedRows
	if n := int64(len(rows)); n > 0 {
		per = int(max(1, min(sortedRows, s.o.memory/4/(s.bytes/n+1))))
	}
	window, at := s.recs, 0
	return func() (arrow.RecordBatch, error) {
		if at == len(order) {
			return nil, io.EOF
		}
		n := min(per, len(order)-at)
		refs := make([]batch.Ref, n)
		for i, row := range order[at : at+n] {
			refs[i] = rows[row]
		}
		at += n
		return gather(window[0].Schema(), window, refs)
	}, nil
}

func gather(schema *arrow.Schema, window []arrow.RecordBatch, refs []batch.Ref) (arrow.RecordBatch, error) {
	cols := make([]int, schema.NumFields())
	for i := range cols {
		cols[i] = i
	}
	return batch.GatherBatch(schema, window, cols, batch.Select(refs))
}

// spill puts what is in memory into a temporary run.
func (s *sorter) spill(ctx context.Context) error {
	if len(s.recs) == 0 {
		return nil
	}
	next, err := s.sorted()
	if err != nil {
		return err
	}
	if err := s.write(s.recs[0].Schema(), next); err != nil {
		return err
	}
	s.recs, s.bytes = nil, 0
	if len(s.temp) < sortFan {
		return nil
	}
	// One out of all: there are seldom so many.
	m := kv.NewMerger(kv.TempRuns(s.temp), s.layout, sortedRows)
	old := s.temp
	s.temp = nil
	err = s.write(s.o.extended(s.schema), func() (arrow.RecordBatch, error) {
		g, err := m.Next(ctx)
		if err != nil {
			return nil, err
		}
		return gather(s.o.extended(s.schema), g.Window, g.Refs)
	})
	err = errors.Join(err, m.Close())
	for _, x := range old {
		err = errors.Join(err, x.Remove())
	}
	return err
}

func (s *sorter) write(schema *arrow.Schema, next func() (arrow.RecordBatch, error)) error {
	x, err := kv.NewTemp("")
	if err != nil {
		return err
	}
	if err := x.Fill(schema, "lz4", max(leastSorted, min(kv.TempBytes, s.o.memory/(2*sortFan))), next); err != nil {
		return errors.Join(err, x.Remove())
	}
	s.temp = append(s.temp, x)
	return nil
}

// each gives all rows in their order.
func (s *sorter) each(ctx context.Context, do func(arrow.RecordBatch) error) error {
	if len(s.temp) == 0 {
		if len(s.recs) == 0 {
			return nil
		}
		next, err := s.sorted()
		for err == nil {
			var rec arrow.RecordBatch
			if rec, err = next(); err == nil {
				err = do(s.plain(rec))
			}
		}
		if err == io.EOF {
			return nil
		}
		return err
	}
	if err := s.spill(ctx); err != nil {
		return err
	}
	target := sortedRows
	for _, x := range s.temp {
		target = int(min(int64(target), max(s.o.memory/4/max(x.Row, 1), 1)))
	}
	m := kv.NewMerger(kv.TempRuns(s.temp), s.layout, target)
	for {
		g, err := m.Next(ctx)
		if err == io.EOF {
			return m.Close()
		}
		var rec arrow.RecordBatch
		if err == nil {
			rec, err = gather(s.schema, g.Window, g.Refs)
		}
		if err == nil {
			err = do(rec)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("sort: %w", err), m.Close())
		}
	}
}

// plain takes the columns away that rows have for sorting only.
func (s *sorter) plain(rec arrow.RecordBatch) arrow.RecordBatch {
	return array.NewRecordBatch(s.schema, rec.Columns()[:s.schema.NumFields()], rec.NumRows())
}

// close gives temporary files back.
func (s *sorter) close() error {
	var err error
	for _, x := range s.temp {
		err = errors.Join(err, x.Remove())
	}
	s.temp, s.recs = nil, nil
	return err
}
