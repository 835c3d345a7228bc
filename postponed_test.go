package tarn_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tarnlake/tarn"
)

// TestPostponedBuckets: with bucket = -2 each partition has the number of buckets that it was first written with, whatever
// the option says later; writers that begin a partition with another number than somebody else has have a conflict.
func TestPostponedBuckets(t *testing.T) {
	ctx := t.Context()
	tab := dynamicTable(t, true, opts{"bucket": "-2", "postpone.default-bucket-num": "2"})
	wider, err := tab.With(ctx, map[string]string{"postpone.default-bucket-num": "5"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	write := func(tab *tarn.Table, p, from, to, v int) {
		t.Helper()
		w, err := tab.NewWriter(ctx, &tarn.WriterOptions{WaitCompaction: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Write(ctx, partRows(t, tab, p, from, to, v)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		for k := from; k < to; k++ {
			want[fmt.Sprintf(`{"p":%d,"k":%d`, p, k)] = v
		}
	}
	check := func(what string, buckets ...int) {
		t.Helper()
		var all []string
		for k, v := range want {
			all = append(all, fmt.Sprintf(`%s,"v":%d}`, k, v))
		}
		slices.Sort(all)
		if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, all) {
			t.Fatalf("%s: read %v, want %v", what, got, all)
		}
		for p, n := range buckets {
			if dirs, err := filepath.Glob(fmt.Sprintf("%s/p=%d/bucket-*", tab.Path(), p)); err != nil || len(dirs) != n {
				t.Errorf("%s: partition %d has buckets %v (%v), want %d of them", what, p, dirs, err, n)
			}
		}
	}
	write(tab, 0, 0, 40, 1)
	write(wider, 1, 0, 40, 2)
	check("two numbers", 2, 5)
	write(wider, 0, 20, 60, 3)
	write(tab, 1, 20, 60, 4)
	check("both written on", 2, 5)
	if _, err := wider.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	check("compacted", 2, 5)
	if _, err := wider.Overwrite(ctx, tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) { yield(partRows(t, tab, 0, 0, 60, 5), nil) }); err != nil {
		t.Fatal(err)
	}
	for k := range 60 {
		want[fmt.Sprintf(`{"p":0,"k":%d`, k)] = 5
	}
	check("overwritten", 2, 5)
	r, err := tab.Check(ctx)
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}

	w, err := tab.NewWriter(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(ctx, partRows(t, tab, 2, 0, 10, 6)); err != nil {
		t.Fatal(err)
	}
	write(wider, 2, 0, 10, 7)
	if _, err := w.Commit(ctx); !errors.Is(err, tarn.ErrConflict) {
		t.Fatalf("a partition was begun with two numbers of buckets: %v", err)
	}
	check("after the conflict")
}
