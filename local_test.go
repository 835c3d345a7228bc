package tarn_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// With local-merge-buffer-size fewer versions of a key reach the buckets, and the table is the same.
func TestLocalMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(tarntest.Seed(t), 1))
	for i, o := range []opts{
		{}, {"sequence.field": "s"}, {"sequence.field": "s", "sequence.field.sort-order": "descending"}, {"ignore-delete": "true"}, {"bucket": "-1"},
	} {
		c := open(t)
		all := opts{"bucket": "3", "changelog-producer": "input"}
		for k, v := range o {
			all[k] = v
		}
		var tabs []*tarn.Table
		for _, size := range []string{"", "1 kb", "64 mb"} {
			if all["local-merge-buffer-size"] = size; size == "" {
				delete(all, "local-merge-buffer-size")
			}
			tabs = append(tabs, declare(t, c, fmt.Sprintf("d.t%d", len(tabs)), "k INT,p INT,s INT,v STRING", "k,p", all, "p"))
		}
		for range 3 {
			var lines []string
			for n := range 300 {
				kind := []string{"+I", "+U", "-D", "+U"}[r.IntN(4)]
				k := r.IntN(12)
				lines = append(lines, fmt.Sprintf(`{"_kind":%q,"k":%d,"p":%d,"s":%d,"v":"%d"}`, kind, k, k%2, n*7%301, n))
			}
			for _, tab := range tabs {
				w, err := tab.NewWriter(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for part := range slices.Chunk(lines, 17) {
					if err := w.Write(t.Context(), rows(t, tab, part...)); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := w.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.Close()
			}
		}
		want := get(t, tabs[0], "", "", 0)
		for _, tab := range tabs[1:] {
			if got := get(t, tab, "", "", 0); !slices.Equal(got, want) || len(got) == 0 {
				t.Errorf("%d, %s: %q\nwant %q", i, tab.Name(), got, want)
			}
		}
		most, some, few := len(followed(t, tabs[0], tarn.ScanOptions{}, 0)), len(followed(t, tabs[1], tarn.ScanOptions{}, 0)), len(followed(t, tabs[2], tarn.ScanOptions{}, 0))
		if few >= some || some >= most || few > 3*12 {
			t.Errorf("%d: changes that were written: %d, with a small buffer %d, with a large one %d", i, most, some, few)
		}
	}
}

// Rows that are held back are forgotten with their writer.
func TestLocalMergeEnds(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k INT,v INT", "k", opts{"bucket": "1", "local-merge-buffer-size": "1 mb"})
	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), rows(t, tab, `{"k":1,"v":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, tab, "k", "")
	put(t, tab, []string{"[1,1]", "[1,2]"})
	same(t, tab, "k,v", "", "[1,2]")
}
