package write

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/rescue"
	"github.com/tarnlake/tarn/types"
)

// fake is a bucket whose storage does not answer, or that is broken.
type fake struct {
	write   func(ctx context.Context) error
	prepare func() (manifest.Delta, error)
	closed  int
}

func (f *fake) Write(ctx context.Context, _ batch.Batch, _ []int32) error { return f.write(ctx) }
func (f *fake) Memory() int64                                             { return 0 }
func (f *fake) FlushMemory(context.Context) error                         { return nil }
func (f *fake) Compact(context.Context, bool) error                       { return nil }
func (f *fake) Prepare(context.Context, bool) (manifest.Delta, error)     { return f.prepare() }
func (f *fake) Busy() bool                                                { return false }
func (f *fake) Stale() error                                              { return nil }
func (f *fake) Close(context.Context) error                               { f.closed++; return nil }

func open(t *testing.T, f *fake, tasks ...Task) (*Writer, batch.Batch) {
	t.Helper()
	fields := []types.Field{{Name: "id", Type: types.MustParse("INT")}}
	w, err := New(Config{Table: "d.t", Route: RouteConfig{Fields: fields, Buckets: -1}, Open: func(_ context.Context, _ datafile.Location, submit func(Task)) (Bucket, error) {
		for _, k := range tasks {
			submit(k)
		}
		return f, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.ArrowSchema(fields))
	b.Field(0).AppendNull()
	return w, batch.Batch{RecordBatch: b.NewRecordBatch()}
}

// A worker whose storage does not answer holds up nobody who gives up, nor the end of the Writer.
func TestStalledWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{write: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		w, b := open(t, f)
		if err := w.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { _, err := w.Prepare(ctx, true); done <- err }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("prepare: %v", err)
		}
		if err := w.Write(t.Context(), b); err == nil {
			t.Error("a writer that was given up takes rows")
		}
		if err := w.Close(); err != nil || f.closed != 1 {
			t.Errorf("close: %v, %d", err, f.closed)
		}
	})
}

type panics struct{ done chan struct{} }

func (p panics) Run(context.Context) { defer close(p.done); panic("broken task") }

// Nothing that panics in a goroutine of the Writer ends the process.
func TestPanicsOfWorkers(t *testing.T) {
	task := panics{make(chan struct{})}
	f := &fake{write: func(context.Context) error { panic("broken write") }, prepare: func() (manifest.Delta, error) { panic("broken prepare") }}
	w, b := open(t, f, task)
	if err := w.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	var r *rescue.Error
	if _, err := w.Prepare(t.Context(), false); !errors.As(err, &r) || !strings.Contains(err.Error(), "broken write") || strings.Contains(err.Error(), "goroutine") || len(r.Stack) == 0 {
		t.Errorf("%v", err)
	}
	<-task.done
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	w, _ = open(t, f)
	if err := w.Touch(t.Context(), datafile.Location{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Prepare(t.Context(), false); err == nil || !strings.Contains(err.Error(), "broken prepare") {
		t.Errorf("%v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
