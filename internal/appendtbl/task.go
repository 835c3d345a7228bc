package appendtbl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/rescue"
)

// Task is a compaction to be done: groups of files to be joined. It is safe for concurrent use; it
// runs once, whoever calls Run first does the work.
type Task struct {
	t      *Table
	loc    datafile.Location
	groups [][]*manifest.DataFile

	taken  atomic.Bool
	cancel atomic.Bool
	done   chan struct{}
	after  []*manifest.DataFile
	gone   []manifest.AppliedVector // whose rows were left out
	err    error
}

// NewTask makes a task that joins each of the groups, such as Pick gives. It is for those who compact
// without writing; they take its result with Wait.
func (t *Table) NewTask(loc datafile.Location, groups [][]*manifest.DataFile) *Task {
	return &Task{t: t, loc: loc, groups: groups, done: make(chan struct{})}
}

// Location is the bucket that is compacted.
func (k *Task) Location() datafile.Location { return k.loc }

// Run does the work, unless somebody does it or did it already.
func (k *Task) Run(ctx context.Context) {
	if !k.taken.CompareAndSwap(false, true) {
		return
	}
	defer close(k.done)
	for _, g := range k.groups {
		var after []*manifest.DataFile
		err := rescue.Do("join files", func() (err error) {
			after, err = k.join(ctx, g)
			return err
		})
		if err != nil {
			err = fmt.Errorf("appendtbl: compact bucket %d: %w", k.loc.Bucket, err)
			ctx, cancel := fileio.Outlast(ctx)
			k.err = errors.Join(err, k.discard(ctx))
			cancel()
		}
		if f := k.t.c.Compaction; f != nil {
			f(Compaction{Location: k.loc, Before: g, After: after, Err: err})
		}
		if err != nil {
			return
		}
		k.after = append(k.after, after...)
	}
}

// Wait gives the result, as the compaction part of a delta. A task that nobody has begun is done here
// and now. The new files belong to the caller from then on.
func (k *Task) Wait(ctx context.Context) (manifest.Delta, error) {
	if err := k.wait(ctx); err != nil {
		return manifest.Delta{}, err
	}
	if k.err != nil {
		return manifest.Delta{}, k.err
	}
	return k.delta(), nil
}

// wait waits for the end. A task that nobody has begun is done here and now.
func (k *Task) wait(ctx context.Context) error {
	k.Run(ctx)
	select {
	case <-k.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("appendtbl: wait for compaction of bucket %d: %w", k.loc.Bucket, ctx.Err())
	}
}

func (k *Task) delta() manifest.Delta {
	return manifest.Delta{
		Partition: k.loc.Partition, Bucket: k.loc.Bucket,
		CompactBefore: slices.Concat(k.groups...), CompactAfter: k.after, Applied: k.gone,
	}
}

func (k *Task) finished() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// abandon ends a task whose result nobody wants; nothing is left of it.
func (k *Task) abandon(ctx context.Context) error {
	k.cancel.Store(true)
	if k.taken.CompareAndSwap(false, true) {
		close(k.done)
		return nil
	}
	<-k.done
	return k.discard(ctx)
}

func (k *Task) discard(ctx context.Context) error {
	made := k.after
	k.after = nil
	if len(made) == 0 {
		return nil
	}
	return k.t.c.Store.Delete(ctx, k.loc, made...)
}

var errCanceled = errors.New("compaction was canceled")

// join writes the rows of files, in their order, to new files. Sequence numbers stay those of the
// rows as far as the files were neighbours.
func (k *Task) join(ctx context.Context, group []*manifest.DataFile) (after []*manifest.DataFile, err error) {
	c := k.t.c
	first := group[0].MinSequence
	for _, f := range group {
		first = min(first, f.MinSequence)
	}
	var gone map[string]format.Rows
	if c.Gone != nil {
		var applied []manifest.AppliedVector
		if gone, applied, err = c.Gone(ctx, k.loc, group); err != nil {
			return nil, err
		}
		k.gone = append(k.gone, applied...)
	}
	w := c.Store.NewWriter(ctx, k.loc, datafile.WriterOptions{Source: manifest.SourceCompact, FirstSequence: first})
	defer func() {
		if err != nil {
			ctx, cancel := fileio.Outlast(ctx)
			defer cancel()
			err = errors.Join(err, w.Abort(ctx))
		}
	}()
	p := pending{w: w}
	if err := k.rows(ctx, group, gone, func(rec arrow.RecordBatch) error { return p.add(rec, nil) }); err != nil {
		return nil, err
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	return w.Close()
}

// rows gives the rows of files, in their order or sorted.
func (k *Task) rows(ctx context.Context, group []*manifest.DataFile, gone map[string]format.Rows, do func(arrow.RecordBatch) error) (err error) {
	add, end := do, func() error { return nil }
	if k.t.c.Order != nil {
		s := &sorter{o: k.t.c.Order}
		defer func() { err = errors.Join(err, s.close()) }()
		add = func(rec arrow.RecordBatch) error { return s.add(ctx, rec) }
		end = func() error {
			return s.each(ctx, func(rec arrow.RecordBatch) error {
				if k.cancel.Load() {
					return errCanceled
				}
				return do(rec)
			})
		}
	}
	for _, f := range group {
		if err := k.copyFile(ctx, f, gone[f.Name], add); err != nil {
			return err
		}
	}
	return end()
}

func (k *Task) copyFile(ctx context.Context, f *manifest.DataFile, gone format.Rows, add func(arrow.RecordBatch) error) (err error) {
	r, err := k.t.c.Store.Open(ctx, k.loc, f, datafile.ReadOptions{Fields: k.t.c.Fields, Gone: gone})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil && k.cancel.Load() {
			err = errCanceled
		}
		if err != nil {
			return err
		}
		if err := add(b.RecordBatch); err != nil {
			return err
		}
	}
}
