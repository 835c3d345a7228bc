package bucket

import (
	"context"
	"fmt"
	"sync"

	"github.com/tarnlake/tarn/internal/manifest"
)

// Totals tells how many buckets each partition has, where that is a matter of the partition and not of the table
// (bucket = -2). What it has told of a partition stays so: rows of one writer are distributed in one way, and a commit
// that comes behind another number is a conflict. It may be used by several goroutines.
type Totals struct {
	table   string
	content func(ctx context.Context, partition []byte) ([]manifest.Entry, error)
	initial int

	mu   sync.Mutex
	told map[string]int
}

// NewTotals takes the files of a partition from content. Partitions without files in buckets get initial buckets.
func NewTotals(table string, initial int, content func(ctx context.Context, partition []byte) ([]manifest.Entry, error)) *Totals {
	return &Totals{table: table, content: content, initial: initial, told: map[string]int{}}
}

// Of gives the number of buckets of a partition, at least 1.
func (t *Totals) Of(ctx context.Context, partition []byte) (int, error) {
	t.mu.Lock()
	n := t.told[string(partition)]
	t.mu.Unlock()
	if n > 0 {
		return n, nil
	}
	n, err := t.find(ctx, partition)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.told[string(partition)]; first > 0 { // of another goroutine
		return first, nil
	}
	t.told[string(partition)] = n
	return n, nil
}

func (t *Totals) find(ctx context.Context, partition []byte) (int, error) {
	files, err := t.content(ctx, partition)
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range files {
		e := &files[i]
		if e.Bucket < 0 || e.TotalBuckets <= 0 { // rows that wait for their buckets
			continue
		}
		if n > 0 && n != e.TotalBuckets {
			return 0, fmt.Errorf("table %s: a partition has files of %d and of %d buckets (%s), so that nobody knows where a key belongs: roll back to an older snapshot", t.table, n, e.TotalBuckets, e.File.Name)
		}
		n = e.TotalBuckets
	}
	if n == 0 {
		n = t.initial
	}
	return n, nil
}
