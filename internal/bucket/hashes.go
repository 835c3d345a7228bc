package bucket

import "slices"

// hashes tells the bucket of each hash: four bytes for a hash and two for its bucket, in the order of the hashes. Those
// that came lately are in a table of their own until there are many.
type hashes struct {
	keys []uint32
	vals []int16
	// dir says where the hashes of each prefix begin, of eight hashes on the average, and at last where they end.
	dir   []uint32
	shift uint

	late late
}

// late is a hash table with open addressing; a bucket below zero is a free place.
type late struct {
	keys []uint32
	vals []int16
	n    int
}

const (
	fewLate    = 1 << 10
	perPrefix  = 8
	freePlace  = -1
	lateFactor = 8 // hashes in order for a late one
)

// newHashes takes hashes and buckets packed by pack, in any order; of a hash in two buckets the lower one counts.
func newHashes(packed []uint64) *hashes {
	slices.Sort(packed)
	packed = slices.CompactFunc(packed, func(a, b uint64) bool { return a>>16 == b>>16 })
	h := &hashes{keys: make([]uint32, len(packed)), vals: make([]int16, len(packed))}
	for i, p := range packed {
		h.keys[i], h.vals[i] = uint32(p>>16), int16(p)
	}
	h.index()
	return h
}

func pack(hash int32, bucket int) uint64 { return uint64(uint32(hash))<<16 | uint64(uint16(bucket)) }

// index makes the directory of prefixes.
func (h *hashes) index() {
	bits := uint(0)
	for len(h.keys)>>bits > perPrefix {
		bits++
	}
	h.shift = 32 - bits
	h.dir = slices.Grow(h.dir[:0], 1<<bits+1)[:1<<bits+1]
	at := 0
	for p := range h.dir {
		for at < len(h.keys) && uint64(h.keys[at])>>h.shift < uint64(p) {
			at++
		}
		h.dir[p] = uint32(at)
	}
}

// get is the bucket of a hash.
func (h *hashes) get(hash int32) (int, bool) {
	k := uint32(hash)
	p := uint64(k) >> h.shift
	for i := h.dir[p]; i < h.dir[p+1]; i++ {
		if h.keys[i] == k {
			return int(h.vals[i]), true
		}
	}
	if h.late.n == 0 {
		return 0, false
	}
	i := h.late.place(k)
	return int(h.late.vals[i]), h.late.vals[i] != freePlace
}

// put adds a hash that is not there.
func (h *hashes) put(hash int32, bucket int) {
	if h.late.n >= max(fewLate, len(h.keys)/lateFactor) {
		h.settle()
	}
	h.late.put(uint32(hash), int16(bucket))
}

// settle brings the late hashes into order.
func (h *hashes) settle() {
	if h.late.n == 0 {
		return
	}
	more := make([]uint64, 0, h.late.n)
	for i, v := range h.late.vals {
		if v != freePlace {
			more = append(more, pack(int32(h.late.keys[i]), int(v)))
		}
	}
	slices.Sort(more)
	h.late = late{}
	n := len(h.keys) + len(more)
	keys, vals := make([]uint32, 0, n), make([]int16, 0, n)
	from := 0
	for _, m := range more {
		k := uint32(m >> 16)
		to := from
		for to < len(h.keys) && h.keys[to] < k {
			to++
		}
		keys, vals = append(append(keys, h.keys[from:to]...), k), append(append(vals, h.vals[from:to]...), int16(m))
		from = to
	}
	h.keys, h.vals = append(keys, h.keys[from:]...), append(vals, h.vals[from:]...)
	h.index()
}

// each calls f for all hashes.
func (h *hashes) each(f func(hash int32, bucket int)) {
	h.settle()
	for i, k := range h.keys {
		f(int32(k), int(h.vals[i]))
	}
}

func (h *hashes) len() int { return len(h.keys) + h.late.n }

// memory is the bytes held.
func (h *hashes) memory() int64 {
	return 6*int64(cap(h.keys)+len(h.late.keys)) + 4*int64(len(h.dir))
}

// place is where a hash is, or else the free place where it goes.
func (l *late) place(k uint32) int {
	mask := len(l.keys) - 1
	i := int(k*0x9e3779b1>>7) & mask
	for l.vals[i] != freePlace && l.keys[i] != k {
		i = (i + 1) & mask
	}
	return i
}

func (l *late) put(k uint32, v int16) {
	if l.n >= len(l.keys)/4*3 {
		old := *l
		size := max(64, 2*len(old.keys))
		*l = late{keys: make([]uint32, size), vals: slices.Repeat([]int16{freePlace}, size), n: old.n}
		for i, b := range old.vals {
			if b != freePlace {
				j := l.place(old.keys[i])
				l.keys[j], l.vals[j] = old.keys[i], b
			}
		}
	}
	i := l.place(k)
	l.keys[i], l.vals[i] = k, v
	l.n++
}
