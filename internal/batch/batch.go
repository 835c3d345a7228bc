// Package batch holds what rows travel in: Arrow record batches with row kinds, readers of them,
// and the gathering of rows by reference.
//
// Columns have the Arrow types of types.WideArrowType.
//
// Memory: all arrays come from Go's allocator and are collected by the garbage collector. Nobody
// has to call Retain or Release, and nobody may call Release on a batch that was not made by
// themselves. Arrays are immutable: whoever holds a batch may keep it as long as they like, and
// nobody changes buffers that were handed over.
package batch

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/types"
)

// Batch is some rows, column by column. Kinds is nil if all rows are +I, else of the length of the
// batch.
type Batch struct {
	arrow.RecordBatch
	Kinds []types.RowKind
}

// Reader gives batches one after the other.
//
// Next returns io.EOF after the last batch; a batch has at least one row. A Reader is used by one
// goroutine. Close frees what is held, may be called at any time and more than once.
type Reader interface {
	Next(ctx context.Context) (Batch, error)
	Close() error
}

// Ref points to a row of a numbered window of batches.
type Ref struct {
	Src int32 // index into the window
	Row int32
}
