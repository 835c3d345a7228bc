package write

import (
	"context"
	"sync"
	"time"
)

// Background runs one kind of work beside the writers, one at a time: a start while it runs is
// remembered, and makes it run once more.
type Background struct {
	mu      sync.Mutex
	running bool
	again   bool
	closed  bool
	wg      sync.WaitGroup
	cancel  context.CancelFunc
}

// Start lets work run, now or after the one that runs.
func (b *Background) Start(work func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return
	case b.running:
		b.again = true
		return
	}
	b.running = true
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	b.wg.Go(func() {
		defer cancel()
		for {
			work(ctx)
			b.mu.Lock()
			if !b.again || b.closed {
				b.running = false
				b.mu.Unlock()
				return
			}
			b.again = false
			b.mu.Unlock()
		}
	})
}

// grace is how long Close lets work go on.
const grace = time.Minute

// Close waits for the work that runs, and breaks it off if it takes too long. Nothing is started afterwards.
func (b *Background) Close() {
	b.mu.Lock()
	b.closed = true
	if b.running {
		t := time.AfterFunc(grace, b.cancel)
		defer t.Stop()
	}
	b.mu.Unlock()
	b.wg.Wait()
}
