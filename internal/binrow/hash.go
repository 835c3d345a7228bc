package binrow

import (
	"encoding/binary"
	"math/bits"
)

// Murmur3 of 32 bits with the seed and the tail handling of the reference: it mixes whole 4-byte words, and
// bytes that are left over one by one, sign-extended.
const (
	seed = 42
	c1   = 0xcc9e2d51
	c2   = 0x1b873593
)

// Hash is the hash of a row's bytes (without arity) that buckets are computed from, and that hash index
// files hold.
func Hash(b []byte) int32 {
	n := len(b)
	h := mixWords(seed, b)
	for _, x := range b[n&^3:] {
		h = mix(h, uint32(int32(int8(x))))
	}
	return finish(h, n)
}

func mixWords(h uint32, b []byte) uint32 {
	for len(b) >= 8 {
		h = mix64(h, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(b) >= 4 {
		h = mix(h, binary.LittleEndian.Uint32(b))
	}
	return h
}

func mix(h, k uint32) uint32 {
	k *= c1
	k = bits.RotateLeft32(k, 15)
	k *= c2
	h ^= k
	h = bits.RotateLeft32(h, 13)
	return h*5 + 0xe6546b64
}

func mix64(h uint32, w uint64) uint32 { return mix(mix(h, uint32(w)), uint32(w>>32)) }

func finish(h uint32, n int) int32 {
	h ^= uint32(n)
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return int32(h)
}

// Bucket is the bucket of a hash by `bucket-function.type` = default: |hash mod n|. n must be positive.
func Bucket(hash int32, n int) int {
	r := int(hash) % n
	if r < 0 {
		return -r
	}
	return r
}
