package read

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// kinds makes the last column of what it reads, the kinds that a file keeps, into those of the batch.
type kinds struct {
	in     batch.Reader
	schema *arrow.Schema // without that column
}

func newKinds(in batch.Reader, fields []types.Field) *kinds {
	return &kinds{in: in, schema: types.WideArrowSchema(fields)}
}

func (k *kinds) Next(ctx context.Context) (batch.Batch, error) {
	b, err := k.in.Next(ctx)
	if err != nil {
		return b, err
	}
	last := int(b.NumCols()) - 1
	col, ok := b.Column(last).(*array.Int8)
	if !ok {
		return batch.Batch{}, fmt.Errorf("read: the kinds of rows are of type %s", b.Column(last).DataType())
	}
	out := batch.Batch{RecordBatch: array.NewRecordBatch(k.schema, b.Columns()[:last], b.NumRows())}
	for i, v := range col.Int8Values() {
		if v < 0 || v > int8(types.Delete) {
			return batch.Batch{}, fmt.Errorf("read: a row is of kind %d, which there is not: the file is damaged", v)
		}
		if v != 0 && out.Kinds == nil {
			out.Kinds = make([]types.RowKind, col.Len())
		}
		if out.Kinds != nil {
			out.Kinds[i] = types.RowKind(v)
		}
	}
	return out, nil
}

func (k *kinds) Close() error { return k.in.Close() }

// gone makes all rows deletes.
type gone struct {
	batch.Reader
	kinds []types.RowKind
}

func (g *gone) Next(ctx context.Context) (batch.Batch, error) {
	b, err := g.Reader.Next(ctx)
	if err != nil {
		return b, err
	}
	n := int(b.NumRows())
	if n > len(g.kinds) {
		g.kinds = slices.Repeat([]types.RowKind{types.Delete}, n)
	}
	b.Kinds = g.kinds[:n:n]
	return b, nil
}
