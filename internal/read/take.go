package read

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// take keeps some rows of a batch, given in order.
func take(b batch.Batch, sel []int32) (batch.Batch, error) {
	if int64(len(sel)) == b.NumRows() {
		return b, nil
	}
	rec, err := batch.Take(b.RecordBatch, sel)
	if err != nil {
		return b, err
	}
	out := batch.Batch{RecordBatch: rec}
	if b.Kinds != nil {
		out.Kinds = make([]types.RowKind, len(sel))
		for i, r := range sel {
			out.Kinds[i] = b.Kinds[r]
		}
	}
	return out, nil
}

// Select applies filter, columns and limit of a request to rows in memory, which have the columns of
// all fields named by their Arrow schema.
func Select(b batch.Batch, req Request) (batch.Batch, error) {
	if req.Filter != nil {
		fields := make([]types.Field, b.NumCols())
		for i, f := range b.Schema().Fields() {
			x, err := types.FromArrowField(f)
			if err != nil {
				return b, fmt.Errorf("read: %w", err)
			}
			fields[i] = x
		}
		sel, err := predicate.Eval(req.Filter, b.RecordBatch, fields)
		if err != nil {
			return b, fmt.Errorf("read: filter: %w", err)
		}
		if b, err = take(b, sel); err != nil {
			return b, fmt.Errorf("read: filter: %w", err)
		}
	}
	cols := make([]arrow.Array, len(req.Fields))
	for i, f := range req.Fields {
		k := b.Schema().FieldIndices(f.Name)
		if len(k) != 1 {
			return b, fmt.Errorf("read: there is no column %s", f.Name)
		}
		cols[i] = b.Column(k[0])
	}
	n := b.NumRows()
	b.RecordBatch = array.NewRecordBatch(types.WideArrowSchema(req.Fields), cols, n)
	if req.Limit > 0 && n > req.Limit {
		b.RecordBatch = b.NewSlice(0, req.Limit)
		if b.Kinds != nil {
			b.Kinds = b.Kinds[:req.Limit]
		}
	}
	return b, nil
}

// onlyInserts keeps the rows of kinds +I and +U.
func onlyInserts(b batch.Batch) (batch.Batch, error) {
	sel := make([]int32, 0, len(b.Kinds))
	for i, k := range b.Kinds {
		if !k.IsRetract() {
			sel = append(sel, int32(i))
		}
	}
	b, err := take(b, sel)
	if err != nil {
		return b, fmt.Errorf("read: %w", err)
	}
	return b, nil
}
