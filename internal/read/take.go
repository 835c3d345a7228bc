package read

import (
	"github.com/tarnlake/tarn/internal/batch"
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
