package write

import (
	"context"
	"fmt"

	"github.com/tarnlake/tarn/internal/batch"
)

// Local holds rows back and merges them. It is used by the goroutine of the Writer.
type Local interface {
	// Add takes a batch; full says that it is time to Flush.
	Add(b batch.Batch) (full bool, err error)
	// Flush gives all rows that there are.
	Flush(ctx context.Context, give func(batch.Batch) error) error
}

// flushLocal distributes the rows that were held back. After an error nobody knows which were.
func (w *Writer) flushLocal(ctx context.Context) error {
	if w.c.Local == nil || w.closed || w.err() != nil {
		return nil // the caller tells
	}
	err := w.c.Local.Flush(ctx, func(b batch.Batch) error { return w.distribute(ctx, b) })
	if err != nil {
		w.fail(err)
	}
	return err
}

// distribute gives rows to the workers of their buckets.
func (w *Writer) distribute(ctx context.Context, b batch.Batch) error {
	b, parts, err := w.router.route(ctx, b)
	if err != nil {
		return err
	}
	for _, p := range parts {
		select {
		case w.workerOf(p.loc).in <- message{loc: p.loc, b: b, sel: p.sel}:
		case <-ctx.Done():
			err := fmt.Errorf("write: %w", context.Cause(ctx))
			w.fail(err) // a part of the batch may be written: nothing of it may be committed
			return err
		}
	}
	return nil
}
