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

// Piece is a batch of a split.
type Piece struct {
	batch.Batch
	Split *plan.Split
}

// Batches reads splits, several at a time if wanted, and gives their batches. Leaving the loop ends
// all reading before the iterator returns.
func (r *Reader) Batches(ctx context.Context, splits []plan.Split, req Request) iter.Seq2[batch.Batch, error] {
	return func(yield func(batch.Batch, error) bool) {
		for p, err := range r.Pieces(ctx, splits, req) {
			if !yield(p.Batch, err) {
				return
			}
		}
	}
}

// Pieces is Batches for those who want to know the split of each batch.
func (r *Reader) Pieces(ctx context.Context, splits []plan.Split, req Request) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		if req.Parallel > 1 && len(splits) > 1 {
			r.parallel(ctx, splits, req, yield)
			return
		}
		left := req.Limit
		for i := range splits {
			one := req
			one.Limit = left
			n, more, err := r.each(ctx, &splits[i], one, func(b batch.Batch) bool { return yield(Piece{b, &splits[i]}, nil) })
			if err != nil {
				yield(Piece{}, err)
				return
			}
			if left -= n; !more || req.Limit > 0 && left <= 0 {
				return
			}
		}
	}
}

// each reads one split to its end; more is false if the consumer has had enough.
func (r *Reader) each(ctx context.Context, s *plan.Split, req Request, yield func(batch.Batch) bool) (n int64, more bool, err error) {
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
		if !yield(b) {
			return n, false, nil
		}
	}
}

// result is what a reading goroutine hands over.
type result struct {
	p   Piece
	err error
}

// parallel reads with some goroutines, each taking the next split that nobody has. With Ordered each
// split has a channel of its own and they are drained in turn; without, all share one.
func (r *Reader) parallel(ctx context.Context, splits []plan.Split, req Request, yield func(Piece, error) bool) {
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
				_, _, err := r.each(ctx, &splits[i], req, func(b batch.Batch) bool {
					select {
					case out <- result{p: Piece{b, &splits[i]}}:
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
				yield(Piece{}, context.Cause(ctx))
				return
			}
			if !ok {
				break
			}
			if res.err != nil {
				yield(Piece{}, res.err)
				return
			}
			if req.Limit > 0 {
				if res.p.NumRows() > left {
					res.p.RecordBatch = res.p.NewSlice(0, left)
					if res.p.Kinds != nil {
						res.p.Kinds = res.p.Kinds[:left]
					}
				}
				left -= res.p.NumRows()
			}
			if !yield(res.p, nil) || req.Limit > 0 && left <= 0 {
				return
			}
		}
	}
}
