package commit

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/manifest"
)

// live is the files of a snapshot, by bucket. It follows the table from commit to commit, so that a
// check for conflicts costs what the commit touches and not what the table has.
type live struct {
	buckets map[bucketKey]map[manifest.Identity]manifest.Entry
	// totals counts the files of each partition by their number of buckets.
	totals map[string]map[int]int
	files  int
}

type bucketKey struct {
	partition string
	bucket    int
}

func newLive() *live {
	return &live{buckets: map[bucketKey]map[manifest.Identity]manifest.Entry{}, totals: map[string]map[int]int{}}
}

// apply takes in what a snapshot did. Errors say that the table is damaged.
func (l *live) apply(entries []manifest.Entry) error {
	for i := range entries {
		e := &entries[i]
		id := manifest.IdentityOf(e)
		k := bucketKey{id.Partition, e.Bucket}
		b := l.buckets[k]
		old, there := b[id]
		switch {
		case e.Kind == manifest.Add && there:
			return fmt.Errorf("%w: %s", manifest.ErrTwice, id)
		case e.Kind == manifest.Add:
			if b == nil {
				b = map[manifest.Identity]manifest.Entry{}
				l.buckets[k] = b
			}
			b[id] = *e
			l.files++
			l.count(id.Partition, e.TotalBuckets, 1)
		case !there:
			return fmt.Errorf("%w: %s", manifest.ErrNotThere, id)
		default:
			delete(b, id)
			l.files--
			l.count(id.Partition, old.TotalBuckets, -1)
			if len(b) == 0 {
				delete(l.buckets, k)
			}
		}
	}
	return nil
}

func (l *live) count(partition string, total, by int) {
	t := l.totals[partition]
	if t == nil {
		t = map[int]int{}
		l.totals[partition] = t
	}
	if t[total] += by; t[total] == 0 {
		delete(t, total)
	}
	if len(t) == 0 {
		delete(l.totals, partition)
	}
}

// has reports whether a file is there.
func (l *live) has(id manifest.Identity) bool {
	_, ok := l.buckets[bucketKey{id.Partition, id.Bucket}][id]
	return ok
}

// each calls f for all files of the partitions for which want holds (nil: all).
func (l *live) each(want func(partition string) bool, f func(e manifest.Entry)) {
	for k, b := range l.buckets {
		if want != nil && !want(k.partition) {
			continue
		}
		for _, e := range b {
			f(e)
		}
	}
}
