package parquet

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// Limits of dictionaries: the reference ends a dictionary at 1 MB; the number of values keeps
// indexes short.
const (
	maxDictBytes  = 1 << 20
	maxDictValues = 1 << 16
	dictSample    = 2048 // values after which a dictionary has to prove its worth
)

// intDict numbers the distinct values of a column of fixed width.
type intDict struct {
	vals  []int64
	table []uint32 // number + 1, by hash; 0 is empty
	shift uint
}

func (d *intDict) reset() {
	d.vals = d.vals[:0]
	if d.table == nil {
		d.resize(1 << 10)
		return
	}
	clear(d.table)
}

func (d *intDict) resize(n int) {
	d.table = make([]uint32, n)
	d.shift = uint(64 - bits.TrailingZeros(uint(n)))
	for i, v := range d.vals {
		h := uint64(v) * 0x9E3779B97F4A7C15 >> d.shift
		for d.table[h] != 0 {
			h = (h + 1) & uint64(n-1)
		}
		d.table[h] = uint32(i + 1)
	}
}

func (d *intDict) put(v int64) uint32 {
	mask := uint64(len(d.table) - 1)
	h := uint64(v) * 0x9E3779B97F4A7C15 >> d.shift
	for {
		x := d.table[h]
		if x == 0 {
			break
		}
		if d.vals[x-1] == v {
			return x - 1
		}
		h = (h + 1) & mask
	}
	d.vals = append(d.vals, v)
	d.table[h] = uint32(len(d.vals))
	if len(d.vals)*2 > len(d.table) {
		d.resize(len(d.table) * 4)
	}
	return uint32(len(d.vals) - 1)
}

// index gives the numbers of values.
func (d *intDict) index(dst []uint32, v []int64) []uint32 {
	if len(v) == 0 {
		return dst
	}
	last := v[0]
	ix := d.put(last)
	for _, x := range v {
		if x != last {
			last, ix = x, d.put(x)
		}
		dst = append(dst, ix)
	}
	return dst
}

// bytesDict numbers the distinct values of a column of strings or bytes.
type bytesDict struct {
	offs   []int32 // of the values in data, one more than there are values
	data   []byte
	hashes []uint64
	table  []uint32
}

var dictSeed = maphash.MakeSeed()

func (d *bytesDict) reset() {
	d.offs = append(d.offs[:0], 0)
	d.data, d.hashes = d.data[:0], d.hashes[:0]
	if d.table == nil {
		d.table = make([]uint32, 1<<10)
		return
	}
	clear(d.table)
}

func (d *bytesDict) len() int           { return len(d.hashes) }
func (d *bytesDict) at(i uint32) []byte { return d.data[d.offs[i]:d.offs[i+1]] }

// hashBytes mixes the bytes of a short value eight at a time.
func hashBytes(b []byte) uint64 {
	if len(b) > 64 {
		return maphash.Bytes(dictSeed, b)
	}
	h := uint64(len(b)) * 0x9E3779B97F4A7C15
	for len(b) >= 8 {
		hi, lo := bits.Mul64(h^binary.LittleEndian.Uint64(b), 0xD6E8FEB86659FD93)
		h = hi ^ lo
		b = b[8:]
	}
	var t uint64
	for i, x := range b {
		t |= uint64(x) << (8 * i)
	}
	hi, lo := bits.Mul64(h^t, 0xA0761D6478BD642F)
	return hi ^ lo
}

func (d *bytesDict) put(b []byte) uint32 {
	hash := hashBytes(b)
	mask := uint64(len(d.table) - 1)
	h := hash & mask
	for {
		x := d.table[h]
		if x == 0 {
			break
		}
		if d.hashes[x-1] == hash && string(d.at(x-1)) == string(b) {
			return x - 1
		}
		h = (h + 1) & mask
	}
	d.data = append(d.data, b...)
	d.offs = append(d.offs, int32(len(d.data)))
	d.hashes = append(d.hashes, hash)
	d.table[h] = uint32(len(d.hashes))
	if len(d.hashes)*2 > len(d.table) {
		d.resize(len(d.table) * 4)
	}
	return uint32(len(d.hashes) - 1)
}

func (d *bytesDict) resize(n int) {
	d.table = make([]uint32, n)
	for i, hash := range d.hashes {
		h := hash & uint64(n-1)
		for d.table[h] != 0 {
			h = (h + 1) & uint64(n-1)
		}
		d.table[h] = uint32(i + 1)
	}
}
