package tarn_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/tarnlake/tarn"
)

// opened opens the table of a folder in a catalog of its own, as another process has it.
func opened(t *testing.T, path string, o *tarn.OpenOptions) *tarn.Table {
	t.Helper()
	tab, err := tarn.OpenTable(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// A compaction that another process was faster with is made again upon what that one has left, whether the files are
// there still or have expired.
func TestCompactAgainAfterLoss(t *testing.T) {
	for _, keyed := range []bool{true, false} {
		for _, expire := range []bool{true, false} {
			for _, times := range []int{1, 3, 10} {
				opts := map[string]string{"write-only": "true", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
				if keyed {
					opts["bucket"] = "1"
				}
				rival := upkeepTable(t, nil, keyed, opts)
				n := 0
				add := func() {
					upkeepWrite(t, rival, n)
					n++
				}
				add()
				add()
				left := times
				tab := opened(t, rival.Path(), &tarn.OpenOptions{Events: &tarn.Events{Compacted: func(tarn.CompactEvent) {
					if left == 0 {
						return
					}
					left--
					if _, err := rival.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
						t.Error(err)
					}
					add()
					if expire {
						if _, err := rival.ExpireSnapshots(t.Context(), tarn.ExpireOptions{RetainMax: 1}); err != nil {
							t.Error(err)
						}
					}
				}}})
				_, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true})
				if want := times == 10; errors.Is(err, tarn.ErrConflict) != want || !want && err != nil {
					t.Errorf("keyed %v, expire %v: lost %d times: %v", keyed, expire, times, err)
				}
				names, ferr := rival.FileNames(t.Context())
				if ferr != nil || err == nil && len(names) != 1 {
					t.Errorf("keyed %v, expire %v: %d files are left, %v", keyed, expire, len(names), ferr)
				}
				if got := read(t, rival, tarn.ScanOptions{}); len(got) != n {
					t.Errorf("keyed %v, expire %v: %d rows of %d", keyed, expire, len(got), n)
				}
				if r, err := rival.Check(t.Context()); err != nil || r.Damaged() {
					t.Errorf("keyed %v, expire %v: %+v, %v", keyed, expire, r, err)
				}
			}
		}
	}
}

// The buckets with most to merge come first, in commits of a bounded number of buckets, and those with nothing to do
// are left alone.
func TestCompactWorstBucketsFirst(t *testing.T) {
	const parts = 150
	var mu sync.Mutex
	var merged []int
	tab, err := open(t).CreateTable(t.Context(), "d.t", tarn.TableDef{
		Fields: fields("p", "INT", "id", "INT"), PrimaryKeys: []string{"p", "id"}, PartitionKeys: []string{"p"},
		Options: map[string]string{"bucket": "1", "write-only": "true", "snapshot.num-retained.min": "100"},
	})
	if err != nil {
		t.Fatal(err)
	}
	// Partition p is written in 1 + p % 7 commits.
	for round := range 7 {
		var lines []string
		for p := range parts {
			if p%7 >= round {
				lines = append(lines, fmt.Sprintf(`{"p":%d,"id":%d}`, p, round))
			}
		}
		write(t, tab, lines)
	}
	mine := opened(t, tab.Path(), &tarn.OpenOptions{Events: &tarn.Events{Compacted: func(e tarn.CompactEvent) {
		mu.Lock()
		merged = append(merged, e.InFiles)
		mu.Unlock()
	}}})
	r, err := mine.Compact(t.Context(), tarn.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Due are those with the 5 runs of num-sorted-run.compaction-trigger: a remainder of 4, 5 or 6.
	due := 0
	for p := range parts {
		if p%7 >= 4 {
			due++
		}
	}
	if len(merged) != due || r.SnapshotID != 8 {
		t.Errorf("%d buckets were merged, want %d, snapshot %d", len(merged), due, r.SnapshotID)
	}
	merged = nil
	if r, err := mine.Compact(t.Context(), tarn.CompactOptions{}); err != nil || r.SnapshotID != 0 || len(merged) > 0 {
		t.Errorf("once more: %+v, %v, %d merged", r, err, len(merged))
	}
	// All the others have 1 to 4 files of level 0.
	r, err = mine.Compact(t.Context(), tarn.CompactOptions{Full: true})
	if err != nil || r.SnapshotID != 10 || len(merged) != parts-due {
		t.Errorf("full: %+v, %v, %d merged", r, err, len(merged))
	}
	// Within a commit several are merged at a time, in any order.
	if slices.Max(merged[64:]) > 2 || slices.Max(merged[:64]) != 4 {
		t.Errorf("merged in the order %v", merged)
	}
	if got := read(t, tab, tarn.ScanOptions{}); len(got) != parts*4-6 {
		t.Errorf("%d rows", len(got))
	}
}
