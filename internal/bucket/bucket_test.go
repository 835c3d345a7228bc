package bucket

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHashes: the table gives what a map gives, in a few bytes for each hash.
func TestHashes(t *testing.T) {
	for _, n := range []int{0, 1, 100, 5000, 100_000} {
		rnd := rand.New(rand.NewPCG(uint64(n), 1))
		want := map[int32]int{}
		var packed []uint64
		for range n {
			h, b := int32(rnd.Uint32()), rnd.IntN(mostBuckets)
			if _, ok := want[h]; !ok {
				want[h] = b
				packed = append(packed, pack(h, b))
			}
		}
		got := newHashes(packed)
		for i := range n + 10 {
			h, b := int32(rnd.Uint32()), rnd.IntN(mostBuckets)
			if i < 3 {
				h = []int32{-1, 0, -1 << 31}[i]
			}
			if _, ok := want[h]; ok {
				continue
			}
			if _, ok := got.get(h); ok {
				t.Fatalf("%d: hash %d is there before it is put", n, h)
			}
			got.put(h, b)
			want[h] = b
		}
		for h, b := range want {
			if x, ok := got.get(h); !ok || x != b {
				t.Fatalf("%d: bucket of %d is %d (%v), want %d", n, h, x, ok, b)
			}
		}
		all := map[int32]int{}
		got.each(func(h int32, b int) { all[h] = b })
		if !maps.Equal(all, want) || got.len() != len(want) {
			t.Errorf("%d: %d hashes, want %d", n, got.len(), len(want))
		}
		if per := float64(got.memory()) / float64(max(1, got.len())); n >= 5000 && per > 10 {
			t.Errorf("%d hashes take %.1f bytes each", got.len(), per)
		}
	}
}

func assigned(t *testing.T, p *partition, hashes ...int32) map[int]int {
	t.Helper()
	out := map[int]int{}
	for _, h := range hashes {
		b, err := p.assign(h)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := p.assign(h); again != b || err != nil {
			t.Fatalf("hash %d went to bucket %d and then to %d (%v)", h, b, again, err)
		}
		out[b]++
	}
	return out
}

func numbers(from, to int32) []int32 {
	var out []int32
	for i := from; i < to; i++ {
		out = append(out, i*7919-100)
	}
	return out
}

// TestAssign: buckets are filled from the lowest one on, up to their size, and where no more may be begun the rest is spread
// (BUGS B098).
func TestAssign(t *testing.T) {
	for name, x := range map[string]struct {
		l    Limits
		have []loaded
		n    int32
		want map[int]int
	}{
		"one after the other":        {Limits{Rows: 5, Max: -1}, nil, 12, map[int]int{0: 5, 1: 5, 2: 2}},
		"up to the limit":            {Limits{Rows: 5, Max: 4}, nil, 20, map[int]int{0: 5, 1: 5, 2: 5, 3: 5}},
		"begun buckets first":        {Limits{Rows: 5, Max: -1}, []loaded{{bucket: 3, hashes: numbers(1000, 1003)}, {bucket: 0, hashes: numbers(2000, 2005)}}, 9, map[int]int{3: 2, 1: 5, 2: 2}},
		"a bucket that is too full":  {Limits{Rows: 2, Max: -1}, []loaded{{bucket: 0, hashes: numbers(1000, 1009)}}, 3, map[int]int{1: 2, 2: 1}},
		"more assigners than may be": {Limits{Rows: 2, Initial: 7, Max: 1}, nil, 5, map[int]int{0: 5}},
	} {
		if got := assigned(t, newPartition(x.l, x.have), numbers(0, x.n)...); !maps.Equal(got, x.want) {
			t.Errorf("%s: keys in buckets %v, want %v", name, got, x.want)
		}
	}
	got := assigned(t, newPartition(Limits{Rows: 5, Max: 4}, nil), numbers(0, 200)...)
	if len(got) != 4 || slices.Min(slices.Collect(maps.Values(got))) < 20 {
		t.Errorf("200 keys in 4 buckets that are full at 5: %v", got)
	}
	got = assigned(t, newPartition(Limits{Rows: 1000, Initial: 3, Max: -1}, nil), numbers(0, 300)...)
	if len(got) != 3 || slices.Min(slices.Collect(maps.Values(got))) < 50 {
		t.Errorf("300 keys in 3 buckets that are begun together: %v", got)
	}
	full := newPartition(Limits{Rows: 1, Max: -1}, nil)
	var err error
	for i := int32(0); err == nil && i <= mostBuckets; i++ {
		_, err = full.assign(i)
	}
	if !errors.Is(err, ErrFull) {
		t.Errorf("more buckets than the format has numbers for: %v", err)
	}
}
