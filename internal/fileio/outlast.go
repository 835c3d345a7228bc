package fileio

import (
	"context"
	"time"
)

// Patience is how long work goes on for somebody who has given up, at most.
const Patience = 10 * time.Second

// Outlast gives a context that ends some time after ctx does: for what is better finished than broken off, as
// a commit whose answer is awaited, and for cleaning up. Storage that does not answer holds up nobody for longer.
func Outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if d, ok := ctx.Deadline(); ok {
		out, cancel = context.WithDeadline(context.WithoutCancel(ctx), d.Add(Patience))
	}
	stop := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled {
			t := time.AfterFunc(Patience, cancel)
			context.AfterFunc(out, func() { t.Stop() })
		}
	})
	return out, func() { stop(); cancel() }
}
