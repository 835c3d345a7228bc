package kv

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
)

// pair is a row with its key, or eight bytes of it.
type pair struct {
	k   uint64
	ref batch.Ref
}

const (
	fewPairs = 32 // sorted by insertion
	digit    = 13 // bits of a pass of the radix sort: its counters fit the first-level cache
)

// radix sorts pairs. Its memory is used again from call to call.
type radix struct {
	tmp []pair
	cnt [1 << digit]uint32
}

// sort sorts by k, stably. The result is in a or in memory of r, which the next call uses.
func (r *radix) sort(a []pair) []pair {
	if len(a) <= fewPairs {
		insertion(a, len(a)*len(a))
		return a
	}
	lo, hi, sorted := a[0].k, a[0].k, true
	prev := lo
	for i := range a {
		k := a[i].k
		lo, hi = min(lo, k), max(hi, k)
		sorted = sorted && k >= prev
		prev = k
	}
	if sorted {
		return a
	}
	return r.sortBetween(a, lo, hi)
}

// sortBetween is sort for keys from lo to hi.
func (r *radix) sortBetween(a []pair, lo, hi uint64) []pair {
	if cap(r.tmp) < len(a) {
		r.tmp = make([]pair, len(a)+len(a)/4)
	}
	tmp := r.tmp[:len(a)]
	width := bits.Len64(hi - lo)
	if width > 2*digit && len(a) <= 1<<(digit+1) {
		// Keys far apart: one pass on the leading bits leaves little to do, unless they are skewed.
		lead := min(width, bits.Len(uint(len(a))), digit)
		r.pass(a, tmp, lo, uint(width-lead), lead)
		a, tmp = tmp, a
		if insertion(a, 8*len(a)) {
			r.tmp = tmp[:cap(tmp)]
			return a
		}
	}
	passes := max((width+digit-1)/digit, 1)
	per := (width + passes - 1) / passes
	for sh := 0; sh < width; sh += per {
		r.pass(a, tmp, lo, uint(sh), per)
		a, tmp = tmp, a
	}
	r.tmp = tmp[:cap(tmp)]
	return a
}

// pass sorts a into out by `width` bits of k-lo from bit sh on.
func (r *radix) pass(a, out []pair, lo uint64, sh uint, width int) {
	cnt := r.cnt[:1<<width]
	clear(cnt)
	mask := uint64(len(cnt) - 1)
	sh &= 63
	for i := range a {
		cnt[(a[i].k-lo)>>sh&mask]++
	}
	sum := uint32(0)
	for i, c := range cnt {
		cnt[i] = sum
		sum += c
	}
	for _, x := range a {
		p := &cnt[(x.k-lo)>>sh&mask]
		out[*p] = x
		*p++
	}
}

// insertion sorts stably what is nearly sorted. It gives up after `moves` moves; what it leaves is a
// permutation with equal keys in their order.
func insertion(a []pair, moves int) bool {
	for i := 1; i < len(a); i++ {
		x := a[i]
		j := i
		for j > 0 && a[j-1].k > x.k {
			a[j] = a[j-1]
			j--
		}
		a[j] = x
		if moves -= i - j; moves < 0 {
			return false
		}
	}
	return true
}

// byteSorter sorts rows by keys of bytes: by eight bytes at a time where keys differ first, then by
// comparing those that are left.
type byteSorter struct {
	key func(batch.Ref) []byte
	r   *radix
}

// sort sorts rows whose keys have the first `depth` bytes in common, stably, in place.
func (s *byteSorter) sort(a []pair, depth int) {
	if len(a) < 2 {
		return
	}
	first := s.key(a[0].ref)
	lcp, same := len(first), true
	for i := range a {
		k := s.key(a[i].ref)
		lcp = depth + common(first[depth:], k[depth:], lcp-depth)
		same = same && lcp == len(first) && len(k) == len(first)
	}
	if same {
		return
	}
	if len(a) <= fewPairs {
		s.compare(a, lcp)
		return
	}
	for i := range a {
		a[i].k = prefix(s.key(a[i].ref)[lcp:])
	}
	if sorted := s.r.sort(a); &sorted[0] != &a[0] {
		// Back to where the caller has it: a becomes the spare memory again.
		copy(a, sorted)
		s.r.tmp = sorted[:cap(sorted)]
	}
	for i := 0; i < len(a); {
		j := i + 1
		for j < len(a) && a[j].k == a[i].k {
			j++
		}
		s.sort(a[i:j], lcp)
		i = j
	}
}

func (s *byteSorter) compare(a []pair, depth int) {
	for i := 1; i < len(a); i++ {
		x := a[i]
		k := s.key(x.ref)[depth:]
		j := i
		for j > 0 && bytes.Compare(s.key(a[j-1].ref)[depth:], k) > 0 {
			a[j] = a[j-1]
			j--
		}
		a[j] = x
	}
}

// Sorted is the rows of a buffer in key order.
type Sorted struct {
	Order []int32 // numbers of rows, ordered by key, rows of equal keys in their order
	Ends  []int32 // the rows of key i are Order[Ends[i-1]:Ends[i]]
}

// SortRows sorts rows by their keys, stably. A row is given as a reference to its key: vector and
// number in it. All vectors are of one encoder.
func SortRows(keys []Keys, rows []batch.Ref) Sorted {
	n := len(rows)
	a := make([]pair, n)
	out := Sorted{Order: make([]int32, n), Ends: make([]int32, 0, n)}
	if n == 0 {
		return out
	}
	if words := wordVectors(keys); words != nil {
		for i, r := range rows {
			a[i] = pair{words[r.Src][r.Row], batch.Ref{Row: int32(i)}}
		}
		a = new(radix).sort(a)
		for i := range a {
			out.Order[i] = a[i].ref.Row
			if i > 0 && a[i].k != a[i-1].k {
				out.Ends = append(out.Ends, int32(i))
			}
		}
		out.Ends = append(out.Ends, int32(n))
		return out
	}
	for i := range a {
		a[i].ref.Row = int32(i)
	}
	key := func(r batch.Ref) []byte { return keys[rows[r.Row].Src].bytes(int(rows[r.Row].Row)) }
	s := byteSorter{key, new(radix)}
	s.sort(a, 0)
	for i := range a {
		out.Order[i] = a[i].ref.Row
		if i > 0 && !bytes.Equal(key(a[i].ref), key(a[i-1].ref)) {
			out.Ends = append(out.Ends, int32(i))
		}
	}
	out.Ends = append(out.Ends, int32(n))
	return out
}

// wordVectors gives the words of all vectors, nil if they are bytes.
func wordVectors(keys []Keys) [][]uint64 {
	out := make([][]uint64, len(keys))
	for i := range keys {
		if keys[i].words == nil && keys[i].n > 0 {
			return nil
		}
		out[i] = keys[i].words
	}
	return out
}

// sortVersions orders the versions of a key by cmp, stably.
func sortVersions(refs []batch.Ref, cmp func(a, b batch.Ref) int) {
	if len(refs) > fewPairs {
		slices.SortStableFunc(refs, cmp)
		return
	}
	for i := 1; i < len(refs); i++ {
		x := refs[i]
		j := i
		for j > 0 && cmp(refs[j-1], x) > 0 {
			refs[j] = refs[j-1]
			j--
		}
		refs[j] = x
	}
}
