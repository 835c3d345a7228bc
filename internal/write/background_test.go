package write

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Work that ends is waited for, work that hangs is broken off.
func TestBackgroundClose(t *testing.T) {
	for name, c := range map[string]struct {
		work func(ctx context.Context)
		want time.Duration
	}{
		"ends":  {func(context.Context) { <-time.After(3 * time.Second) }, 3 * time.Second},
		"hangs": {func(ctx context.Context) { <-ctx.Done() }, grace},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &Background{}
			ends := 0
			for range 2 { // the second one is not begun
				b.Start(func(ctx context.Context) { c.work(ctx); ends++ })
			}
			start := time.Now()
			b.Close()
			b.Close()
			b.Start(func(context.Context) { ends++ })
			if took := time.Since(start); took != c.want || ends != 1 {
				t.Errorf("work that %s: closed after %s, want %s; %d runs", name, took, c.want, ends)
			}
		})
	}
}

// What is started while work runs runs once more after it, however often it was started; later starts run too.
func TestBackgroundRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Background{}
		var runs atomic.Int32
		work := func(context.Context) { <-time.After(time.Second); runs.Add(1) }
		for i, want := range []int32{2, 4} {
			for range 3 {
				b.Start(work)
			}
			<-time.After(time.Minute)
			if got := runs.Load(); got != want {
				t.Errorf("round %d: %d runs, want %d", i, got, want)
			}
		}
		b.Close()
	})
}
