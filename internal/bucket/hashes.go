package bucket

import "encoding/binary"

// hashes tells the bucket of each hash: a hash table with open addressing, six bytes for a hash and its bucket. The places of the
// hashes are in the order of mixed, so that a larger table is filled from end to end.
type hashes struct {
	words []byte // and eight bytes more
	size  uint64 // places that a hash leads to; a few more are behind them
	n     int
	met   uint64 // of touch
}

const (
	wordSize  = 6
	endPlaces = 64
	leastSize = 64
)

// pack makes a word: the hash, and its bucket counted from 1. A free place is 0.
func pack(hash int32, bucket int) uint64 { return uint64(uint32(hash))<<16 | uint64(uint16(bucket+1)) }

func bucketOf(w uint64) int { return int(uint16(w)) - 1 }

// newHashes takes hashes and buckets packed by pack; of a hash in two buckets the lower one counts.
func newHashes(packed []uint64) *hashes {
	h := &hashes{}
	h.grow(uint64(len(packed)) * 4 / 3)
	for _, w := range packed {
		h.set(w)
	}
	return h
}

// home is the place where the search for a hash begins.
func (h *hashes) home(hash uint32) int { return int(uint64(hash*0x9e3779b1) * h.size >> 32) }

func (h *hashes) at(i int) uint64 {
	return binary.LittleEndian.Uint64(h.words[wordSize*i:]) << 16 >> 16
}

// get is the bucket of a hash.
func (h *hashes) get(hash int32) (int, bool) {
	k := uint32(hash)
	for i := h.home(k); ; i++ {
		w := h.at(i)
		switch {
		case uint32(w>>16) == k && uint16(w) != 0:
			return bucketOf(w), true
		case w == 0:
			return 0, false
		}
	}
}

// put adds a hash that is not there.
func (h *hashes) put(hash int32, bucket int) { h.set(pack(hash, bucket)) }

// set adds a word. There is room for it: the last place of all is always free.
func (h *hashes) set(w uint64) {
	if uint64(h.n)*5 >= h.size*4 {
		h.grow(h.size * 13 / 10)
	}
	last := len(h.words)/wordSize - 3
	for {
		for i := h.home(uint32(w >> 16)); i < last; i++ {
			have := h.at(i)
			switch {
			case have == 0:
				h.n++
			case have>>16 == w>>16:
				w = min(w, have)
			default:
				continue
			}
			binary.LittleEndian.PutUint32(h.words[wordSize*i:], uint32(w))
			binary.LittleEndian.PutUint16(h.words[wordSize*i+4:], uint16(w>>32))
			return
		}
		h.grow(h.size * 13 / 10) // the places at the end are used up
	}
}

// grow makes a larger table.
func (h *hashes) grow(size uint64) {
	old := *h
	h.size, h.n = max(size, leastSize), 0
	h.words = make([]byte, wordSize*(h.size+endPlaces)+8)
	for i := range max(len(old.words)/wordSize-1, 0) {
		if w := old.at(i); w != 0 {
			h.set(w)
		}
	}
}

// manyHashes is more than the caches of a processor have room for.
const manyHashes = 1 << 15

// touch brings what get will look at for the hashes sel, nil for all, into the caches: one after the other they would wait for memory each by
// itself, here the processor waits for many at a time.
func (h *hashes) touch(hashes, sel []int32) {
	if h.n < manyHashes {
		return
	}
	met := uint64(0)
	if sel == nil {
		for _, x := range hashes {
			met += h.at(h.home(uint32(x)))
		}
	}
	for _, i := range sel {
		met += h.at(h.home(uint32(hashes[i])))
	}
	h.met = met
}

// each calls f for all hashes.
func (h *hashes) each(f func(hash int32, bucket int)) {
	for i := range len(h.words)/wordSize - 1 {
		if w := h.at(i); w != 0 {
			f(int32(w>>16), bucketOf(w))
		}
	}
}

func (h *hashes) len() int { return h.n }

// memory is the bytes held.
func (h *hashes) memory() int64 { return int64(cap(h.words)) }
