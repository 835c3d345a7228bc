// Package gen makes the rows of the benchmark, the same as bench/paimon-java makes them: its README has
// the formula.
package gen

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

const (
	gamma  = 0x9E3779B97F4A7C15
	baseMs = int64(1704067200000)
)

var (
	statuses  = [8]string{"CREATED", "PAID", "PACKED", "SHIPPED", "IN_TRANSIT", "DELIVERED", "RETURNED", "CANCELLED"}
	cities    = cityNames()
	syllables = syllableTable() // four letters each, little-endian
)

func cityNames() (c [200]string) {
	for i := range c {
		c[i] = fmt.Sprintf("city_%03d", i)
	}
	return c
}

func syllableTable() (s [64]uint32) {
	const cons, vow = "bdfgklmnprstvxzh", "aeio"
	for i := range s {
		s[i] = binary.LittleEndian.Uint32([]byte{cons[i>>2], vow[i&3], cons[(i*7+3)&15], ' '})
	}
	return s
}

func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// h is stream s (0..15) of element i.
func h(i int64, s int) uint64 { return mix(uint64(i*16+int64(s)+1) * gamma) }

// u is uniform in [0, n), n < 2^31.
func u(h uint64, n int64) int64 { return int64(((h >> 33) * uint64(n)) >> 31) }

// Gen makes the keys of operations. It is immutable.
type Gen struct {
	k      int64
	zipf   bool
	levels int64
}

// New makes a Gen for k keys, drawn uniformly or by Zipf.
func New(k int64, zipf bool) *Gen { return &Gen{k, zipf, int64(bits.Len64(uint64(k)))} }

// Key is the key of operation i.
func (g *Gen) Key(i int64) int64 {
	x := h(i, 0)
	if !g.zipf {
		return u(x, g.k)
	}
	l := u(h(i, 10), g.levels)
	rank := int64(1)<<l - 1 + u(x, int64(1)<<l)
	if rank >= g.k {
		rank -= g.k
	}
	return rank * 1000003 % g.k
}

// LookupKey is the j-th key that is looked up.
func (g *Gen) LookupKey(j int64) int64 { return u(h(j, 14), g.k) }

// appendNote appends the note of operation i.
func appendNote(dst []byte, i int64) []byte {
	a, b := h(i, 6), h(i, 7)
	n := 20 + int(u(h(i, 8), 41))
	end := len(dst) + n
	for j := 0; j*4 < n; j++ {
		w := a >> (6 * j)
		if j >= 10 {
			w = b >> (6 * (j - 10))
		}
		dst = binary.LittleEndian.AppendUint32(dst, syllables[w&63])
	}
	return dst[:end]
}

func userID(k int64) int64  { return 1000000 + u(h(k, 11), 500000) }
func city(k int64) string   { return cities[u(h(k, 12), 200)] }
func created(k int64) int64 { return baseMs + int64(h(k, 13)%31536000000) }
func updated(i int64) int64 { return baseMs + 31536000000 + i*10 }
func status(i int64) string { return statuses[h(i, 1)>>61] }
func cents(i int64) int64   { return 1 + u(h(i, 2), 10000000) }
func qty(i int64) int32     { return 1 + int32(u(h(i, 3), 100)) }
func price(i int64) float64 { return float64(u(h(i, 4), 1000000)) / 100.0 }

func fnv(b []byte) uint64 {
	x := uint64(0xcbf29ce484222325)
	for _, c := range b {
		x = (x ^ uint64(c)) * 0x100000001b3
	}
	return x
}

// row is the values that the checksum of a row is made of.
type row struct {
	key, user, cents, created, updated int64
	status, city, note                 []byte
	qty                                int32
	price                              float64
}

// checksum is what the Java kit adds up over the rows.
func (r *row) checksum() uint64 {
	x := uint64(r.key)
	x = mix(x ^ uint64(r.user))
	x = mix(x ^ fnv(r.status))
	x = mix(x ^ uint64(r.cents))
	x = mix(x ^ fnv(r.city))
	x = mix(x ^ fnv(r.note))
	x = mix(x ^ uint64(r.created))
	x = mix(x ^ uint64(r.updated))
	x = mix(x ^ uint64(int64(r.qty)))
	return mix(x ^ math.Float64bits(r.price))
}
