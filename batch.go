package tarn

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
)

// TakeRows gives some rows of a record batch, by number.
func TakeRows(rec arrow.RecordBatch, rows []int32) (arrow.RecordBatch, error) {
	return batch.Take(rec, rows)
}
