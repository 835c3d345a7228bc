// Package write takes batches of rows, finds their partitions and buckets, and keeps a writer for each
// bucket. It is one of the rooms that start goroutines: some workers, each owning its buckets, and a
// bounded pool for compactions.
package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/rescue"
)

// Bucket writes one bucket. It is used by one goroutine.
type Bucket interface {
	// Write takes the rows sel of a batch, nil for all.
	Write(ctx context.Context, b batch.Batch, sel []int32) error
	// Memory is the bytes held.
	Memory() int64
	// FlushMemory gives memory back.
	FlushMemory(ctx context.Context) error
	// Compact begins a compaction, of all files if full.
	Compact(ctx context.Context, full bool) error
	// Prepare gives what is to be committed since the last call. With wait, compactions that run are
	// waited for.
	Prepare(ctx context.Context, wait bool) (manifest.Delta, error)
	// Busy reports whether a compaction runs whose result no Prepare has given.
	Busy() bool
	// Stale tells why the bucket has to be opened again before it is compacted: a file of it is gone.
	Stale() error
	// Close deletes what was not prepared, unless ctx ends.
	Close(ctx context.Context) error
}

// Task is work of a bucket that may run elsewhere.
type Task interface{ Run(ctx context.Context) }

// Config describes a table to a Writer.
type Config struct {
	Table string // for messages
	Route RouteConfig
	// Open makes the writer of a bucket upon what the newest snapshot has of it.
	Open func(ctx context.Context, loc datafile.Location, submit func(Task)) (Bucket, error)
	// Local, if not nil, merges rows before they are distributed.
	Local Local
	// Path gives the path of a new data file, to be synced.
	Path func(loc datafile.Location, f *manifest.DataFile) (string, error)
	// Abort deletes the files of what was prepared for a call that had given up by then.
	Abort func(ctx context.Context, d []manifest.Delta) error
	// Memory is the bytes that all buckets may hold together, 0 for 256 MB.
	Memory int64
	// Workers is how many goroutines write, 0 for as many as there are processors.
	Workers int
	// Compactors is how many compactions run at the same time, 0 for as many as there are processors.
	Compactors int
}

// Writer writes to a table. It is used by one goroutine.
type Writer struct {
	c       Config
	router  *router
	workers []*worker
	owner   map[string]int // bucket → worker
	pool    *pool
	cancel  context.CancelFunc
	failed  atomic.Pointer[error]
	wg      sync.WaitGroup
	closed  bool
	open    int // prepared, not yet told to be committed
	given   []*given
}

// given is what the buckets have prepared for a call of Prepare that failed. Workers may still add to it.
type given struct {
	mu     sync.Mutex
	deltas []manifest.Delta
}

func (g *given) add(d manifest.Delta) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deltas = append(g.deltas, d)
}

// worker owns some buckets.
type worker struct {
	w       *Writer
	in      chan message
	buckets map[string]*owned
	order   []*owned // by first appearance
	memory  int64    // allowed
}

type owned struct {
	loc   datafile.Location
	b     Bucket
	used  bool // since the last Prepare
	count int  // of prepares without rows
}

type message struct {
	loc   datafile.Location
	b     batch.Batch
	sel   []int32
	do    func(ctx context.Context, k *worker) error // instead of rows
	reply chan error
}

// New makes a Writer. It has to be closed.
func New(c Config) (*Writer, error) {
	if c.Memory <= 0 {
		c.Memory = 256 << 20
	}
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Compactors <= 0 {
		c.Compactors = runtime.GOMAXPROCS(0)
	}
	r, err := newRouter(c.Route)
	if err != nil {
		return nil, err
	}
	if r.buckets == nil && r.assigner == nil && r.mover == nil && len(r.partCols) == 0 {
		c.Workers = 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Writer{c: c, router: r, owner: map[string]int{}, cancel: cancel, pool: &pool{ctx: ctx, max: c.Compactors}}
	for range c.Workers {
		const ahead = 2 // batches waiting for a worker
		k := &worker{w: w, in: make(chan message, ahead), buckets: map[string]*owned{}, memory: c.Memory / int64(c.Workers)}
		w.workers = append(w.workers, k)
		w.wg.Go(func() { k.run(ctx) })
	}
	return w, nil
}

func (w *Writer) err() error {
	if p := w.failed.Load(); p != nil {
		return *p
	}
	return nil
}

func (w *Writer) fail(err error) {
	w.failed.CompareAndSwap(nil, &err)
}

func locKey(loc datafile.Location) string {
	return string(loc.Partition) + string([]byte{byte(loc.Bucket), byte(loc.Bucket >> 8), byte(loc.Bucket >> 16), byte(loc.Bucket >> 24)})
}

// workerOf gives buckets to workers in turn, so that few buckets still use all of them.
func (w *Writer) workerOf(loc datafile.Location) *worker {
	k := locKey(loc)
	i, ok := w.owner[k]
	if !ok {
		i = len(w.owner) % len(w.workers)
		w.owner[k] = i
	}
	return w.workers[i]
}

// Write takes rows in the columns of the table. The batch is kept until it is written: arrays are
// immutable. An error of an earlier batch may be reported late; after any error the Writer is of no
// use but to be closed.
func (w *Writer) Write(ctx context.Context, b batch.Batch) error {
	if w.closed {
		return errors.New("write: writer is closed")
	}
	if err := w.err(); err != nil {
		return err
	}
	if b.NumRows() == 0 {
		return nil
	}
	if w.c.Local == nil {
		return w.distribute(ctx, b)
	}
	full, err := w.c.Local.Add(b)
	if err != nil || !full {
		return err
	}
	return w.flushLocal(ctx)
}

// each lets every worker do something, in parallel, and waits.
func (w *Writer) each(ctx context.Context, do func(ctx context.Context, k *worker) error) error {
	if w.closed {
		return errors.New("write: writer is closed")
	}
	givenUp := func() error {
		err := fmt.Errorf("write: %w", context.Cause(ctx))
		w.fail(err) // workers may be in the midst of it
		return err
	}
	replies := make(chan error, len(w.workers))
	for _, k := range w.workers {
		select {
		case k.in <- message{do: do, reply: replies}:
		case <-ctx.Done():
			return givenUp()
		}
	}
	var errs []error
	for range w.workers {
		select {
		case err := <-replies:
			if err != nil {
				errs = append(errs, err)
			}
		case <-ctx.Done():
			return givenUp()
		}
	}
	if err := w.err(); err != nil {
		return err
	}
	if err := errors.Join(errs...); err != nil {
		w.fail(err)
		return err
	}
	return nil
}

// Compact begins compactions of all buckets that are open, of all their files if full.
func (w *Writer) Compact(ctx context.Context, full bool) error {
	if err := w.flushLocal(ctx); err != nil {
		return err
	}
	return w.each(ctx, func(_ context.Context, k *worker) error {
		for _, o := range k.order {
			if err := o.b.Compact(ctx, full); err != nil {
				return err
			}
		}
		return nil
	})
}

// Touch opens buckets without writing to them, for compactions.
func (w *Writer) Touch(ctx context.Context, locs ...datafile.Location) error {
	for _, loc := range locs {
		w.workerOf(loc)
	}
	return w.each(ctx, func(_ context.Context, k *worker) error {
		for _, loc := range locs {
			if w.workers[w.owner[locKey(loc)]] != k {
				continue
			}
			if _, err := k.bucket(ctx, loc); err != nil {
				return err
			}
		}
		return nil
	})
}

// Prepare ends what was written so far and gives it, bucket by bucket, to be committed. With wait,
// compactions that run are waited for. The files belong to the caller from here on.
func (w *Writer) Prepare(ctx context.Context, wait bool) ([]manifest.Delta, error) {
	if err := w.flushLocal(ctx); err != nil {
		return nil, err
	}
	out := &given{}
	err := w.each(ctx, func(_ context.Context, k *worker) error {
		for _, o := range k.order {
			d, err := o.b.Prepare(ctx, wait)
			if err != nil {
				return err
			}
			if o.used {
				o.used, o.count = false, 0
			} else {
				o.count++
			}
			if d.Empty() {
				continue
			}
			err = w.complete(ctx, &d, o.loc)
			out.add(d)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if a := w.c.Route.later(); err == nil && a != nil {
		if out.deltas, err = a.Prepare(ctx, out.deltas); err != nil {
			w.fail(err)
		}
	}
	if err != nil {
		w.given = append(w.given, out)
		return nil, err
	}
	w.open++
	sortDeltas(out.deltas)
	return out.deltas, nil
}

// complete names the place and the new files of a delta.
func (w *Writer) complete(ctx context.Context, d *manifest.Delta, loc datafile.Location) (err error) {
	d.Partition, d.Bucket = loc.Partition, loc.Bucket
	d.TotalBuckets, err = w.c.Route.total(ctx, loc)
	for f := range d.NewFiles() {
		p, perr := w.c.Path(loc, f)
		if err = errors.Join(err, perr); perr == nil {
			d.Paths = append(d.Paths, p)
		}
	}
	return err
}

// Committed tells that what the last Prepare gave is part of the table now. Buckets that have been
// idle for some time are closed: nothing of them is uncommitted, so they can be opened again from the
// newest snapshot (BUGS B034).
func (w *Writer) Committed() error {
	w.open--
	if w.open > 0 {
		return nil
	}
	if a := w.c.Route.later(); a != nil {
		a.Committed()
	}
	const idle = 10 // prepares
	return w.each(context.Background(), func(_ context.Context, k *worker) error {
		return k.drop(func(o *owned) bool { return !o.used && !o.b.Busy() && (o.count >= idle || o.b.Stale() != nil) })
	})
}

// Settled reports whether all that was prepared is told to be committed.
func (w *Writer) Settled() bool { return w.open <= 0 }

// Stale tells why a compaction was lost to another process, nil if none was; see Bucket.
func (w *Writer) Stale() error {
	var mu sync.Mutex
	var stale error
	err := w.each(context.Background(), func(_ context.Context, k *worker) error {
		for _, o := range k.order {
			if err := o.b.Stale(); err != nil {
				mu.Lock()
				stale = err
				mu.Unlock()
			}
		}
		return nil
	})
	return cmp.Or(stale, err)
}

// Reset closes buckets, because what they rest on has changed: they are opened again from the newest
// snapshot. Rows that were not prepared would be lost, so it is an error if there are any.
func (w *Writer) Reset() error {
	w.open = 0
	return w.each(context.Background(), func(_ context.Context, k *worker) error {
		for _, o := range k.order {
			if o.used {
				return fmt.Errorf("write: %s: bucket %d cannot be reset, it has rows that were not prepared", w.c.Table, o.loc.Bucket)
			}
		}
		return k.drop(func(*owned) bool { return true })
	})
}

// Close ends all work and deletes what was not prepared. It may be called more than once.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	w.cancel() // what still runs is of no use any more; a worker that waits for the storage stops waiting
	replies := make(chan error, len(w.workers))
	for _, k := range w.workers {
		k.in <- message{reply: replies, do: func(_ context.Context, k *worker) error {
			return k.drop(func(*owned) bool { return true })
		}}
	}
	var errs []error
	for range w.workers {
		errs = append(errs, <-replies)
	}
	for _, k := range w.workers {
		close(k.in)
	}
	w.wg.Wait()
	w.pool.wait()
	ctx, cancel := context.WithTimeout(context.Background(), fileio.Patience)
	defer cancel()
	for _, g := range w.given {
		if len(g.deltas) > 0 {
			errs = append(errs, w.c.Abort(ctx, g.deltas))
		}
	}
	return errors.Join(errs...)
}

// Memory is the bytes that the buckets hold, as far as the workers have told.
func (k *worker) used() (total int64, largest *owned) {
	var most int64
	for _, o := range k.order {
		n := o.b.Memory()
		total += n
		if n > most {
			most, largest = n, o
		}
	}
	return total, largest
}

func (k *worker) run(ctx context.Context) {
	for m := range k.in {
		if m.do != nil {
			m.reply <- rescue.Do("write", func() error { return m.do(ctx, k) })
			continue
		}
		if k.w.err() != nil {
			continue // drain, so that nobody waits for us
		}
		if err := guarded(func() error { return k.write(ctx, m) }); err != nil {
			k.w.fail(err)
		}
	}
}

// guarded makes an error of a panic: Arrow data of users can be broken in ways that show late, and nobody
// else could recover from it here.
func guarded(do func() error) error {
	return rescue.Do("write: a batch cannot be read (is its Arrow data broken?)", do)
}

func (k *worker) write(ctx context.Context, m message) error {
	o, err := k.bucket(ctx, m.loc)
	if err != nil {
		return err
	}
	o.used = true
	if err := o.b.Write(ctx, m.b, m.sel); err != nil {
		return err
	}
	for {
		total, largest := k.used()
		if total <= k.memory || largest == nil {
			return nil
		}
		before := largest.b.Memory()
		if err := largest.b.FlushMemory(ctx); err != nil {
			return err
		}
		if largest.b.Memory() >= before {
			return nil // it cannot give more
		}
	}
}

func (k *worker) bucket(ctx context.Context, loc datafile.Location) (*owned, error) {
	key := locKey(loc)
	if o := k.buckets[key]; o != nil {
		return o, nil
	}
	b, err := k.w.c.Open(ctx, loc, k.w.pool.submit)
	if err != nil {
		return nil, err
	}
	o := &owned{loc: loc, b: b}
	k.buckets[key] = o
	k.order = append(k.order, o)
	return o, nil
}

// drop closes some buckets. After one whose storage does not answer the files of the others are left.
func (k *worker) drop(which func(*owned) bool) error {
	var errs []error
	all, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	keep := k.order[:0]
	for _, o := range k.order {
		if !which(o) {
			keep = append(keep, o)
			continue
		}
		ctx, cancel := context.WithTimeout(all, fileio.Patience)
		errs = append(errs, o.b.Close(ctx))
		if ctx.Err() != nil {
			giveUp()
		}
		cancel()
		delete(k.buckets, locKey(o.loc))
	}
	clear(k.order[len(keep):])
	k.order = keep
	return errors.Join(errs...)
}
