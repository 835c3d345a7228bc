package lsm

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// Where a row lies, file and position, goes with it through a merge as a column of its own, so that it is known of older rows
// that were looked up.

// placeName is the column, the last one of the batches that are merged.
const placeName = "\x00place"

// placeBits are the bits of a position; those above are the number of the file.
const placeBits = 40

// Found is told of rows at higher levels that a row of level 0 takes the place of: once each, in key order.
type Found func(f *manifest.DataFile, position int64)

// placed puts the places of its rows to the batches of a file. Batches are runs of rows: nothing was left out within.
type placed struct {
	format.Reader
	from int64 // the place of the first row of the file; -1: nobody asks for places in it
	gone *index.Vector
}

func (p *placed) Next(ctx context.Context) (batch.Batch, error) {
	b, err := p.Reader.Next(ctx)
	if err != nil {
		return b, err
	}
	n := int(b.NumRows())
	places := make([]int64, n)
	for i := range places {
		if places[i] = -1; p.from >= 0 {
			places[i] = p.from + p.Position() + int64(i)
		}
	}
	in := b.Schema().Fields()
	cols := make([]arrow.Array, 0, len(in)+1)
	cols = append(append(cols, b.Columns()...), numberArray(places))
	f := arrow.Field{Name: placeName, Type: arrow.PrimitiveTypes.Int64}
	b.RecordBatch = array.NewRecordBatch(arrow.NewSchema(append(in[:len(in):len(in)], f), nil), cols, int64(n))
	if gone := p.gone.Runs(nil, p.Position(), p.Position()+int64(n)); len(gone) > 0 {
		b.RecordBatch, err = batch.Take(b.RecordBatch, others(gone, p.Position(), n))
	}
	return b, err
}

// others gives the rows of a batch that are not among those that are gone.
func others(gone []format.Run, from int64, n int) []int32 {
	out := make([]int32, 0, n)
	next := from
	for _, g := range append(gone, format.Run{From: from + int64(n)}) {
		for ; next < g.From; next++ {
			out = append(out, int32(next-from))
		}
		next = g.To
	}
	return out
}

func placeField() types.Field {
	return types.Field{Name: placeName, Type: types.Type{Kind: types.BigInt}}
}

// place puts places to the rows of a file that is looked up in.
func (s *source) place(r format.Reader, f *manifest.DataFile) batch.Reader {
	p := &placed{Reader: r, from: -1, gone: s.gone[f.Name]}
	if f.Level > s.level {
		p.from = int64(len(s.places)) << placeBits
		s.places = append(s.places, f)
	}
	return p
}

// tellFound tells where a row lies.
func (p *past) tellFound(j *job, window []arrow.RecordBatch, r batch.Ref) error {
	col := len(j.in) - 1
	a, ok := window[r.Src].Column(col).(*array.Int64)
	if !ok || j.in[col].Name != placeName || a.Value(int(r.Row)) < 0 {
		return fmt.Errorf("lsm: the place of a row that was looked up is not known")
	}
	x := a.Value(int(r.Row))
	p.found(p.in.places[x>>placeBits], x&(1<<placeBits-1))
	return nil
}
