package bucket

import (
	"errors"
	"fmt"
	"slices"
)

// Limits say how many keys and buckets a partition gets; see the options dynamic-bucket.*.
type Limits struct {
	Rows    int64 // keys of a bucket before a new one is begun
	Initial int   // buckets that are begun side by side
	Max     int   // of buckets; -1: none
}

// mostBuckets is how many buckets the reference takes where there is no limit.
const mostBuckets = 1<<15 - 1

// ErrFull says that a partition has as many buckets as there may be.
var ErrFull = errors.New("all buckets of the partition are full")

// partition knows the bucket of each key of a partition.
type partition struct {
	l       Limits
	index   *hashes
	classes []class
	has     map[int]bool // buckets that there are
	files   map[int]string
	changed map[int]bool // buckets with hashes that no file has
	used    bool         // since the last Prepare
	idle    int          // number of prepares without use
}

// class is the buckets that a part of the keys may go to: bucket mod the number of classes is its number.
type class struct {
	all  []int // ascending
	room []int // those that are not full
	next int   // the lowest that may be begun
	rows map[int]int64
}

// loaded is the index of a bucket.
type loaded struct {
	bucket int
	file   string // "" if there is none
	hashes []int32
	anew   bool // not as in the file
}

func newPartition(l Limits, buckets []loaded) *partition {
	if l.Initial < 1 {
		l.Initial = 1
	}
	if l.Max > 0 {
		l.Initial = min(l.Initial, l.Max)
	}
	p := &partition{l: l, has: map[int]bool{}, files: map[int]string{}, changed: map[int]bool{}}
	for i := range l.Initial {
		p.classes = append(p.classes, class{next: i, rows: map[int]int64{}})
	}
	slices.SortFunc(buckets, func(a, b loaded) int { return a.bucket - b.bucket })
	n := 0
	for i := range buckets {
		n += len(buckets[i].hashes)
	}
	packed := make([]uint64, 0, n)
	for i := range buckets {
		b := &buckets[i]
		for _, h := range b.hashes {
			packed = append(packed, pack(h, b.bucket))
		}
		c := &p.classes[b.bucket%l.Initial]
		p.has[b.bucket] = true
		c.all = append(c.all, b.bucket)
		if c.rows[b.bucket] = int64(len(b.hashes)); c.rows[b.bucket] < l.Rows {
			c.room = append(c.room, b.bucket)
		}
		if b.file != "" {
			p.files[b.bucket] = b.file
		}
		if b.anew {
			p.changed[b.bucket] = true
		}
	}
	p.index = newHashes(packed)
	return p
}

// assign gives the bucket of the key with a hash: the one that it has, or one with room, or a new one.
func (p *partition) assign(hash int32) (int, error) {
	if b, ok := p.index.get(hash); ok {
		return b, nil
	}
	c := &p.classes[classOf(hash, len(p.classes))]
	b, err := c.pick(hash, &p.l, p.has)
	if err != nil {
		return 0, err
	}
	p.index.put(hash, b)
	p.changed[b] = true
	return b, nil
}

func classOf(hash int32, n int) int {
	if n == 1 {
		return 0
	}
	return max(int(hash)%n, -(int(hash) % n))
}

func (c *class) pick(hash int32, l *Limits, has map[int]bool) (int, error) {
	for len(c.room) > 0 {
		b := c.room[0]
		if c.rows[b] < l.Rows {
			c.rows[b]++
			return b, nil
		}
		c.room = c.room[1:]
	}
	most := mostBuckets
	if l.Max > 0 {
		most = l.Max
	}
	for ; c.next < most; c.next += l.Initial {
		if b := c.next; !has[b] {
			has[b] = true
			c.all, c.room = append(c.all, b), append(c.room, b)
			c.rows[b] = 1
			return b, nil
		}
	}
	if l.Max <= 0 {
		return 0, fmt.Errorf("%w: %d with dynamic-bucket.target-row-num = %d keys each; raise this option, or give the table more partitions", ErrFull, len(has), l.Rows)
	}
	// Keys beyond are spread.
	return c.all[int(uint32(hash)/uint32(l.Initial))%len(c.all)], nil
}

// names are the index files that the partition has.
func (p *partition) names() []string {
	out := make([]string, 0, len(p.files))
	for _, f := range p.files {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// ofChanged gives the hashes of the buckets whose index has changed.
func (p *partition) ofChanged() map[int][]int32 {
	of := make([][]int32, 0, len(p.has)) // by bucket, nil for one that has not changed
	for b := range p.changed {
		of = append(of, make([][]int32, max(0, b+1-len(of)))...)
		of[b] = make([]int32, 0, p.classes[b%len(p.classes)].rows[b])
	}
	p.index.each(func(hash int32, b int) {
		if b < len(of) && of[b] != nil {
			of[b] = append(of[b], hash)
		}
	})
	out := map[int][]int32{}
	for b := range p.changed {
		out[b] = of[b]
	}
	return out
}

// memory is the bytes held.
func (p *partition) memory() int64 { return p.index.memory() + 1<<10 + 256*int64(len(p.has)) }
