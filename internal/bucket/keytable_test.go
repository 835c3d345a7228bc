package bucket

import (
	"math/rand/v2"
	"os"
	"testing"
)

// TestKeyTable: the table gives what a map gives, whether its pages are in memory or most of them in a file, which goes with it.
func TestKeyTable(t *testing.T) {
	for _, keys := range []int{1, 100, 60_000} {
		dir := t.TempDir()
		rnd := rand.New(rand.NewPCG(uint64(keys), 2))
		x := newKeyTable(0, dir, nil)
		want := map[keyHash]place{}
		var all []keyHash
		for i := range 3 * keys {
			h := keyHash{rnd.Uint64(), rnd.Uint64()}
			if i%3 == 2 {
				h = all[rnd.IntN(len(all))]
			} else {
				all = append(all, h)
			}
			p := place{part: int32(rnd.IntN(1000)), bucket: int16(rnd.IntN(mostBuckets))}
			if have, ok, err := x.get(h); err != nil || have != want[h] || ok != (i%3 == 2) {
				t.Fatalf("place of key %d is %v (%v, %v), want %v", i, have, ok, err, want[h])
			}
			if err := x.put(h, p); err != nil {
				t.Fatal(err)
			}
			want[h] = p
		}
		for h, p := range want {
			if have, ok, err := x.get(h); err != nil || !ok || have != p {
				t.Fatalf("place of a key is %v (%v, %v), want %v", have, ok, err, p)
			}
		}
		if x.n != int64(len(want)) {
			t.Errorf("%d keys, want %d", x.n, len(want))
		}
		if len(x.frames) > leastPages {
			t.Errorf("%d pages in memory, %d may be", len(x.frames), leastPages)
		}
		if (x.spill != nil) != (keys > leastPages*pageSlots) {
			t.Errorf("%d keys: file %v", keys, x.spill)
		}
		if err := x.close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
	}
}

// TestKeyTableOld: keys that are too old are not there, and make room.
func TestKeyTableOld(t *testing.T) {
	now := uint16(0)
	x := newKeyTable(1<<30, "", func(p place) bool { return now-p.tick > 3 })
	rnd := rand.New(rand.NewPCG(1, 3))
	var all []keyHash
	for now < 100 {
		for range 500 {
			h := keyHash{rnd.Uint64(), rnd.Uint64()}
			all = append(all, h)
			if err := x.put(h, place{tick: now}); err != nil {
				t.Fatal(err)
			}
		}
		now++
	}
	for i, h := range all {
		if _, ok, err := x.get(h); err != nil || ok != (int(now)-i/500 <= 3) {
			t.Fatalf("key of time %d is there: %v (%v)", i/500, ok, err)
		}
	}
	if n := len(x.pages); n > 64 {
		t.Errorf("%d pages for 2000 keys that count", n)
	}
}
