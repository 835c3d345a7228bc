package agg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// The format of rbm64 is that in which Java's Roaring64Bitmap writes itself: a radix tree over the upper 48 bits of the
// numbers, whose leaves name a container, and the containers with the lower 16 bits as in the portable format.

// longs is a set of 64-bit numbers: for their upper 32 bits the lower.
type longs map[uint32]*roaring.Bitmap

func (l longs) bitmap(high uint32) *roaring.Bitmap {
	b := l[high]
	if b == nil {
		b = roaring.New()
		l[high] = b
	}
	return b
}

// Kinds of nodes and of containers.
const (
	artNode4 = iota
	artNode16
	artNode48
	artNode256
	artLeaf
)

const (
	artRuns = iota
	artBits
	artList
)

// artBodies are the lengths of the bodies of nodes with children.
var artBodies = [...]int{artNode4: 4, artNode16: 16, artNode48: 256, artNode256: 32}

var errCut = errors.New("it is cut off")

// artReader reads a bitmap. After the first error it gives zeros.
type artReader struct {
	b   []byte
	err error
}

func (r *artReader) take(n int) []byte {
	if n > len(r.b) || r.err != nil {
		if r.err == nil {
			r.err = errCut
		}
		return make([]byte, min(n, 1<<13))
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *artReader) u8() int    { return int(r.take(1)[0]) }
func (r *artReader) u16() int   { return int(binary.LittleEndian.Uint16(r.take(2))) }
func (r *artReader) u32() int64 { return int64(binary.LittleEndian.Uint32(r.take(4))) }

// add adds the numbers of a bitmap.
func (l longs) add(v []byte, _ bool) error {
	r := &artReader{b: v}
	if r.u8() == 0 {
		return r.end()
	}
	r.take(8) // how many leaves there are
	leaves := map[uint64]uint64{}
	r.node(leaves, 0)
	lists := r.u32()
	for i := uint64(0); i < uint64(lists) && r.err == nil; i++ {
		r.u8() // whether it is trimmed: never
		n := r.u32()
		for j := uint64(0); j < uint64(n) && r.err == nil; j++ {
			if r.u8() == 0 {
				continue
			}
			key, ok := leaves[i<<32|j]
			if !ok {
				r.fail("container %d of list %d has no key", j, i)
				break
			}
			delete(leaves, i<<32|j)
			r.container(l.bitmap(uint32(key>>16)), uint32(key&0xffff)<<16)
		}
	}
	if r.take(16); r.err == nil && len(leaves) > 0 {
		r.fail("%d keys have no container", len(leaves))
	}
	return r.end()
}

func (r *artReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *artReader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes are left over", len(r.b))
	}
	return r.err
}

// node reads a node with all below it, of which it gives the keys of leaves by container.
func (r *artReader) node(leaves map[uint64]uint64, depth int) {
	kind, count := r.u8(), r.u16()
	r.take(r.u8()) // the prefix: leaves have whole keys
	switch {
	case r.err != nil:
	case kind == artLeaf:
		k := r.take(6)
		key := uint64(binary.BigEndian.Uint32(k))<<16 | uint64(binary.BigEndian.Uint16(k[4:]))
		at := binary.LittleEndian.Uint64(r.take(8))
		if _, ok := leaves[at]; ok {
			r.fail("container %d has two keys", at)
		}
		leaves[at] = key
	case kind > artLeaf || depth > 5:
		r.fail("a node of kind %d at depth %d", kind, depth)
	default:
		r.take(artBodies[kind])
		for range count {
			if r.err != nil {
				return
			}
			r.node(leaves, depth+1)
		}
	}
}

// container adds the numbers of a container to those that are over base.
func (r *artReader) container(b *roaring.Bitmap, base uint32) {
	kind, n := r.u8(), r.u32()
	switch {
	case r.err != nil:
	case kind == artRuns:
		for range r.u16() {
			from, more := uint64(r.u16()), uint64(r.u16())
			if from+more > math.MaxUint16 {
				r.fail("a run from %d has %d numbers", from, more+1)
			}
			if r.err != nil {
				return
			}
			b.AddRange(uint64(base)+from, uint64(base)+from+more+1)
		}
	case kind == artBits:
		words := r.take(1 << 13)
		var all []uint32
		for i := 0; r.err == nil && i < 1<<13; i += 8 {
			for w := binary.LittleEndian.Uint64(words[i:]); w != 0; w &= w - 1 {
				all = append(all, base+uint32(i)*8+uint32(bits.TrailingZeros64(w)))
			}
		}
		b.AddMany(all)
	case kind == artList && n <= 1<<16:
		words := r.take(int(n) * 2)
		if r.err != nil {
			return
		}
		all := make([]uint32, n)
		for i := range all {
			all[i] = base + uint32(binary.LittleEndian.Uint16(words[2*i:]))
		}
		b.AddMany(all)
	default:
		r.fail("a container of kind %d with %d numbers", kind, n)
	}
}

// bytes writes the set.
func (l longs) bytes() ([]byte, error) {
	var keys []uint64
	var containers []byte
	for _, high := range slices.Sorted(maps.Keys(l)) {
		b := l[high]
		if b.IsEmpty() {
			continue
		}
		b.RunOptimize()
		v, err := b.ToBytes()
		if err != nil {
			return nil, err
		}
		var lows []uint16
		if lows, containers, err = artContainers(containers, v); err != nil {
			return nil, err
		}
		for _, low := range lows {
			keys = append(keys, uint64(high)<<16|uint64(low))
		}
	}
	if len(keys) == 0 {
		return []byte{0}, nil
	}
	le := binary.LittleEndian
	out := le.AppendUint64([]byte{1}, uint64(len(keys)))
	out = artTree(out, keys, 0, 0)
	out = le.AppendUint32(out, 1)
	out = le.AppendUint32(append(out, 0xfe), uint32(len(keys)))
	out = append(out, containers...)
	out = le.AppendUint64(out, uint64(len(keys)))
	out = le.AppendUint32(out, 0)
	return le.AppendUint32(out, uint32(len(keys)-1)), nil
}

// artTree appends the tree of sorted keys that are the same in the first depth of their six bytes; the first of them is
// in a container.
func artTree(out []byte, keys []uint64, first, depth int) []byte {
	at := func(k uint64, i int) byte { return byte(k >> (40 - 8*i)) }
	if len(keys) == 1 {
		out = append(out, artLeaf, 0, 0, 0)
		out = binary.BigEndian.AppendUint32(out, uint32(keys[0]>>16))
		out = binary.BigEndian.AppendUint16(out, uint16(keys[0]))
		return binary.LittleEndian.AppendUint64(out, uint64(first))
	}
	last := keys[len(keys)-1]
	end := depth
	for at(keys[0], end) == at(last, end) {
		end++
	}
	var children []byte // the byte of each child
	var starts []int
	for i, k := range keys {
		if c := at(k, end); i == 0 || children[len(children)-1] != c {
			children, starts = append(children, c), append(starts, i)
		}
	}
	n := len(children)
	kind := artNode256
	switch {
	case n <= 4:
		kind = artNode4
	case n <= 16:
		kind = artNode16
	case n <= 48:
		kind = artNode48
	}
	out = binary.LittleEndian.AppendUint16(append(out, byte(kind)), uint16(n))
	out = append(out, byte(end-depth))
	for i := depth; i < end; i++ {
		out = append(out, at(keys[0], i))
	}
	body := make([]byte, artBodies[kind])
	if kind == artNode48 {
		for i := range body {
			body[i] = 0xff
		}
	}
	for i, c := range children {
		switch kind {
		case artNode4:
			body[3-i] = c
		case artNode16:
			body[i&8|7-i&7] = c
		case artNode48:
			body[c&^7|7-c&7] = byte(i)
		default:
			body[c>>3] |= 1 << (c & 7)
		}
	}
	out = append(out, body...)
	starts = append(starts, len(keys))
	for i := range n {
		out = artTree(out, keys[starts[i]:starts[i+1]], first+starts[i], end+1)
	}
	return out
}

// artContainers appends the containers of a bitmap in the portable format, and gives their keys.
func artContainers(out, v []byte) ([]uint16, []byte, error) {
	const withoutRuns, withRuns, fewest = 12346, 12347, 4 // with runs there are offsets of so many containers or more
	r := &artReader{b: v}
	cookie := r.u32()
	var runs []byte
	var n int
	if cookie&0xffff == withRuns {
		n = int(cookie>>16) + 1
		runs = r.take((n + 7) / 8)
	} else if cookie == withoutRuns {
		n = int(r.u32())
	} else {
		return nil, nil, fmt.Errorf("a bitmap begins with %d", cookie)
	}
	keys, counts := make([]uint16, n), make([]int, n)
	for i := range n {
		keys[i], counts[i] = uint16(r.u16()), r.u16()+1
	}
	if runs == nil || n >= fewest {
		r.take(4 * n)
	}
	for i, count := range counts {
		kind, size := byte(artList), 2*count
		switch {
		case runs != nil && runs[i/8]>>(i%8)&1 == 1:
			kind = artRuns
			if len(r.b) < 2 {
				return nil, nil, errCut
			}
			size = 2 + 4*int(binary.LittleEndian.Uint16(r.b))
		case count > 4096:
			kind, size = artBits, 1<<13
		}
		out = binary.LittleEndian.AppendUint32(append(out, 1, kind), uint32(count))
		out = append(out, r.take(size)...)
	}
	return keys, out, r.end()
}
