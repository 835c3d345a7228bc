package write

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/rescue"
)

// pool runs tasks, some at the same time. Its goroutines end when there is nothing to do.
type pool struct {
	ctx context.Context // of the Writer's life: tasks are work of its own
	max int

	mu      sync.Mutex
	queue   []Task
	running int
	wg      sync.WaitGroup
}

func (p *pool) submit(t Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, t)
	if p.running < p.max {
		p.running++
		p.wg.Go(p.run)
	}
}

func (p *pool) run() {
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.running--
			p.mu.Unlock()
			return
		}
		t := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		// A Task tells its own errors, and guards itself; whatever gets past that does not end the process.
		_ = rescue.Do("write: compaction", func() error { t.Run(p.ctx); return nil })
	}
}

func (p *pool) wait() { p.wg.Wait() }

// sortDeltas puts deltas into an order that does not depend on which worker was faster.
func sortDeltas(d []manifest.Delta) {
	slices.SortFunc(d, func(a, b manifest.Delta) int {
		return cmp.Or(bytes.Compare(a.Partition, b.Partition), cmp.Compare(a.Bucket, b.Bucket))
	})
}
