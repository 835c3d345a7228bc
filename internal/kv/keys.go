package kv

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// Keys is a vector of encoded keys whose order is the order of the keys: a column of 64-bit words
// where all of a key fits into one, else bytes that compare as bytes.Compare, of fixed stride or
// with offsets. It is immutable.
type Keys struct {
	words  []uint64
	data   []byte
	stride int
	off    []uint32
	n      int
}

// Key is one encoded key.
type Key struct {
	Word  uint64
	Bytes []byte // nil if the key is a word
}

// Compare orders keys of the same encoding.
func (k Key) Compare(o Key) int {
	if k.Bytes != nil || o.Bytes != nil {
		return bytes.Compare(k.Bytes, o.Bytes)
	}
	return cmp.Compare(k.Word, o.Word)
}

// Len is the number of keys.
func (k *Keys) Len() int { return k.n }

// Words gives the keys as words, nil if they are not.
func (k *Keys) Words() []uint64 { return k.words }

// bytes is key i of a vector that is not of words.
func (k *Keys) bytes(i int) []byte {
	if k.stride > 0 {
		return k.data[i*k.stride : (i+1)*k.stride : (i+1)*k.stride]
	}
	return k.data[k.off[i]:k.off[i+1]:k.off[i+1]]
}

// At is key i. Its bytes belong to the vector.
func (k *Keys) At(i int) Key {
	if k.words != nil {
		return Key{Word: k.words[i]}
	}
	return Key{Bytes: k.bytes(i)}
}

// after is the number of the first key from `from` on that is larger than key.
func (k *Keys) after(from int, key Key) int {
	lo, hi := from, k.n
	// Most often the batch ends at or before the key.
	if hi > lo && k.At(hi-1).Compare(key) <= 0 {
		return hi
	}
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if k.At(mid).Compare(key) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// ascending is the number of the first key that is smaller than the one before, -1 if none is.
func (k *Keys) ascending() int {
	if k.words != nil {
		for i := 1; i < len(k.words); i++ {
			if k.words[i] < k.words[i-1] {
				return i
			}
		}
		return -1
	}
	for i := 1; i < k.n; i++ {
		if bytes.Compare(k.bytes(i), k.bytes(i-1)) < 0 {
			return i
		}
	}
	return -1
}

// prefix reads the first 8 bytes of b as a word that orders as they do.
func prefix(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var w [8]byte
	copy(w[:], b)
	return binary.BigEndian.Uint64(w[:])
}

// common is the number of leading bytes that a and b have in common, at most limit.
func common(a, b []byte, limit int) int {
	limit = min(limit, len(a), len(b))
	i := 0
	for i+8 <= limit && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < limit && a[i] == b[i] {
		i++
	}
	return i
}
