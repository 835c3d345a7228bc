package read

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/rescue"
)

// Batches reads splits, several at a time if wanted, and gives their batches. Leaving the loop ends
// all reading before the iterator returns.
func (r *Reader) Batches(ctx context.Context, splits []plan.Split, req Request) iter.Seq2[batch.Batch, error] {
	return func(yield func(batch.Batch, error) bool) {
		if req.Parallel > 1 && len(splits) > 1 {
			r.parallel(ctx, splits, req, yield)
			return
		}
		left := req.Limit
		for i := range splits {
			one := req
			one.Limit = left
			n, more, err := r.each(ctx, &splits[i], one, yield)
			if err != nil {
				yield(batch.Batch{}, err)
				return
			}
			if left -= n; !more || req.Limit > 0 && left <= 0 {
				return
			}
		}
	}
}

// each reads one split to its end; more is false if the consumer has had enough.
func (r *Reader) each(ctx context.Context, s *plan.Split, req Request, yield func(batch.Batch, error) bool) (n int64, more bool, err error) {
	what := fmt.Sprintf("read bucket %d", s.Bucket)
	var in batch.Reader
	if err := rescue.Do(what, func() (err error) { in, err = r.Split(ctx, s, req); return err }); err != nil {
		return 0, false, err
	}
	defer func() {
		if e := rescue.Do(what, in.Close); err == nil {
			err = e
		}
	}()
	for {
		var b batch.Batch
		err := rescue.Do(what, func() (err error) { b, err = in.Next(ctx); return err })
		if err == io.EOF {
			return n, true, nil
		}
		if err != nil {
			return n, false, err
		}
		n += b.NumRows()
		if !yield(b, nil) {
			return n, false, nil
		}
	}
}

// result is what a reading goroutine hands over.
type result struct {
	b   batch.Batch
	err error
}

// parallel reads with some goroutines, each taking the next split that nobody has. With Ordered each
// split has a channel of its own and they are drained in turn; without, all share one.
func (r *Reader) parallel(ctx context.Context, splits []plan.Split, req Request, yield func(batch.Batch, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	workers := min(req.Parallel, len(splits))
	outs := make([]chan result, 1)
	if req.Ordered {
		outs = make([]chan result, len(splits))
	}
	const ahead = 4 // batches per channel
	for i := range outs {
		outs[i] = make(chan result, ahead)
	}
	next := make(chan int)
	wg.Go(func() {
		defer close(next)
		for i := range splits {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	})
	var readers sync.WaitGroup
	for range workers {
		work := func() {
			for i := range next {
				out := outs[0]
				if req.Ordered {
					out = outs[i]
				}
				_, _, err := r.each(ctx, &splits[i], req, func(b batch.Batch, _ error) bool {
					select {
					case out <- result{b: b}:
						return true
					case <-ctx.Done():
						return false
					}
				})
				if err != nil {
					select {
					case out <- result{err: err}:
					case <-ctx.Done():
					}
				}
				if req.Ordered {
					close(out)
				}
			}
		}
		readers.Go(work)
	}
	if !req.Ordered {
		wg.Go(func() { readers.Wait(); close(outs[0]) })
	} else {
		wg.Go(readers.Wait)
	}
	left := req.Limit
	for _, out := range outs {
		for {
			var res result
			var ok bool
			select {
			case res, ok = <-out:
			case <-ctx.Done():
				// The caller's context: report it rather than end as if all was read.
				yield(batch.Batch{}, context.Cause(ctx))
				return
			}
			if !ok {
				break
			}
			if res.err != nil {
				yield(batch.Batch{}, res.err)
				return
			}
			if req.Limit > 0 {
				if res.b.NumRows() > left {
					res.b.RecordBatch = res.b.NewSlice(0, left)
					if res.b.Kinds != nil {
						res.b.Kinds = res.b.Kinds[:left]
					}
				}
				left -= res.b.NumRows()
			}
			if !yield(res.b, nil) || req.Limit > 0 && left <= 0 {
				return
			}
		}
	}
}
