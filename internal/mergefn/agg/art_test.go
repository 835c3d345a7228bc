package agg

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// numbers are those of the bitmaps of testdata, which the reference wrote.
func numbers(name string) []uint64 {
	every := func(n int) (out []uint64) {
		for i := range n {
			out = append(out, uint64(i*(256/n))<<24|uint64(i))
		}
		return out
	}
	switch name {
	case "wide":
		return []uint64{1, 2, 1 << 40, 1<<64 - 1, 1 << 63}
	case "node16":
		return every(5)
	case "node48":
		return every(48)
	case "node256":
		return every(256)
	case "run", "bits":
		out := []uint64{}
		for i := range uint64(10_000) {
			out = append(out, 7<<33+i)
		}
		if name == "bits" {
			for i := range uint64(30_000) {
				out = append(out[:i], 5<<45+2*i)
			}
		}
		return out
	}
	return nil
}

func longsOf(v []uint64) longs {
	l := longs{}
	for _, n := range v {
		l.bitmap(uint32(n >> 32)).Add(uint32(n))
	}
	return l
}

func equalLongs(a, b longs) bool {
	return maps.EqualFunc(a, b, func(x, y *roaring.Bitmap) bool { return x.Equals(y) })
}

func TestLongs(t *testing.T) {
	for _, name := range []string{"empty", "wide", "node16", "node48", "node256", "run", "bits"} {
		v, err := os.ReadFile("testdata/rbm64-" + name + ".bin")
		if err != nil {
			t.Fatal(err)
		}
		want := longsOf(numbers(name))
		got := longs{}
		if err := got.add(v, false); err != nil || !equalLongs(got, want) {
			t.Errorf("%s: %v, read by us it is not what it is", name, err)
		}
		ours, err := got.bytes()
		if err != nil {
			t.Fatal(err)
		}
		again := longs{}
		if err := again.add(ours, false); err != nil || !equalLongs(again, want) {
			t.Errorf("%s: %v, written by us it is not what it was", name, err)
		}
		for n := range min(len(v), 3000) {
			if err := (longs{}).add(v[:n], false); err == nil {
				t.Errorf("%s: the first %d bytes are read", name, n)
			}
		}
		if err := (longs{}).add(append(slices.Clone(v), 0), false); err == nil {
			t.Errorf("%s: with a byte too many it is read", name)
		}
	}
}

func TestLongBitmaps(t *testing.T) {
	text := func(v ...uint64) string {
		b, err := longsOf(v).bytes()
		if err != nil {
			t.Fatal(err)
		}
		return `"` + base64.StdEncoding.EncodeToString(b) + `"`
	}
	got, err := fold(t, "rbm64", "BYTES", nil, "+"+text(1, 1<<40)+" +null +"+text()+" +"+text(2, 1<<40+1<<20)+"|+null")
	if err != nil {
		t.Fatal(err)
	}
	var values [][]byte
	if err := json.Unmarshal([]byte(got), &values); err != nil {
		t.Fatal(err)
	}
	l := longs{}
	if err := l.add(values[0], false); err != nil || !equalLongs(l, longsOf([]uint64{1, 2, 1 << 40, 1<<40 + 1<<20})) || values[1] != nil {
		t.Errorf("%v %v", l, err)
	}
	if _, err := fold(t, "rbm64", "BYTES", nil, "+"+text(1)+` +"AQ=="`); err == nil || !strings.Contains(err.Error(), "a value of 1 bytes is no Roaring bitmap") {
		t.Error(err)
	}
}

// FuzzLongs reads bytes that nobody wrote.
func FuzzLongs(f *testing.F) {
	for _, name := range []string{"wide", "node48", "run"} {
		v, err := os.ReadFile("testdata/rbm64-" + name + ".bin")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		l := longs{}
		if l.add(v, false) != nil {
			return
		}
		b, err := l.bytes()
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(l, func(_ uint32, b *roaring.Bitmap) bool { return b.IsEmpty() })
		again := longs{}
		if err := again.add(b, false); err != nil || !equalLongs(l, again) {
			t.Errorf("%v: %v became %v", err, l, again)
		}
	})
}
