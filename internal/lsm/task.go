package lsm

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/rescue"
)

// Task is a compaction to be done. It is safe for concurrent use; it runs once, whoever calls Run
// first does the work.
type Task struct {
	loc    datafile.Location
	run    func(ctx context.Context, t *Task) (*compaction, error)
	state  atomic.Int32
	cancel atomic.Bool
	done   chan struct{}
	result *compaction
	err    error
}

const (
	taskWaiting = iota
	taskTaken
)

func newTask(loc datafile.Location, run func(context.Context, *Task) (*compaction, error)) *Task {
	return &Task{loc: loc, run: run, done: make(chan struct{})}
}

// Run does the work, unless somebody does it or did it already. Errors go to the writer that made
// the task.
func (t *Task) Run(ctx context.Context) {
	if !t.state.CompareAndSwap(taskWaiting, taskTaken) {
		return
	}
	defer close(t.done)
	t.err = rescue.Do(fmt.Sprintf("lsm: compact bucket %d", t.loc.Bucket), func() (err error) {
		t.result, err = t.run(ctx, t)
		return err
	})
}

// Location is the bucket that is compacted.
func (t *Task) Location() datafile.Location { return t.loc }

var errCanceled = errors.New("compaction was canceled")

// stop is asked by the work between batches.
func (t *Task) stop() error {
	if t.cancel.Load() {
		return errCanceled
	}
	return nil
}

func (t *Task) finished() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// wait waits for the end. A task that nobody has begun is done here and now, so that a writer never
// waits for an executor that waits for it.
func (t *Task) wait(ctx context.Context) error {
	t.Run(ctx)
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("lsm: wait for compaction of bucket %d: %w", t.loc.Bucket, ctx.Err())
	}
}

// abandon ends a task whose result nobody wants and waits until it no longer touches files.
func (t *Task) abandon() {
	t.cancel.Store(true)
	if t.state.CompareAndSwap(taskWaiting, taskTaken) {
		t.err = errCanceled
		close(t.done)
		return
	}
	<-t.done
}
