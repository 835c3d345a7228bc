package tarn

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
)

// TakeRows gives some rows of a record batch, by number from 0: in the order of rows, which may name one
// more than once. The error wraps ErrInvalid if there is no such row.
func TakeRows(rec arrow.RecordBatch, rows []int32) (arrow.RecordBatch, error) {
	if rec == nil {
		return nil, invalid("take rows: there is no record batch (nil)")
	}
	for _, r := range rows {
		if int64(r) >= rec.NumRows() || r < 0 {
			return nil, invalid("take rows: there is no row %d in a batch of %d", r, rec.NumRows())
		}
	}
	return batch.Take(rec, rows)
}
