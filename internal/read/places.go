package read

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/types"
)

// placeName is the column that tells where a row lies.
const placeName = "tarn place"

// placeBits are the bits of a place that number the row in its file; those above are the number of the file.
const placeBits = 40

// PlaceField is a column of a Request that tells where each row lies, in splits that need no merging.
func PlaceField() types.Field {
	return types.Field{ID: -1, Name: placeName, Type: types.Type{Kind: types.BigInt, NotNull: true}}
}

// Place takes a value of PlaceField apart: the number of the file, as Split.FirstFile counts, and that of the row in it.
func Place(v int64) (file int, row int64) { return int(v >> placeBits), v & (1<<placeBits - 1) }

// placed puts the places of rows into the batches of a file, and leaves out the rows that are deleted: the file is read with
// them, as they count.
type placed struct {
	format.Reader
	first  int64 // place of the first row of the file
	at     int   // which column the places are
	gone   format.Rows
	schema *arrow.Schema
}

func (p *placed) Next(ctx context.Context) (batch.Batch, error) {
	b, err := p.Reader.Next(ctx)
	if err != nil {
		return b, err
	}
	n, from := b.NumRows(), p.Position()
	places := make([]int64, n)
	for i := range places {
		places[i] = p.first + from + int64(i)
	}
	builder := array.NewInt64Builder(memory.DefaultAllocator)
	builder.AppendValues(places, nil)
	b.RecordBatch = array.NewRecordBatch(p.schema, slices.Insert(slices.Clone(b.Columns()), p.at, builder.NewArray()), n)
	if p.gone == nil {
		return b, nil
	}
	gone := p.gone.Runs(nil, from, from+n)
	if len(gone) == 0 {
		return b, nil
	}
	sel := make([]int32, 0, n)
	next := from
	for _, g := range append(gone, format.Run{From: from + n, To: from + n}) {
		for ; next < g.From; next++ {
			sel = append(sel, int32(next-from))
		}
		next = g.To
	}
	return take(b, sel)
}
