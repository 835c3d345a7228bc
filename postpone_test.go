package tarn_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
)

var aside = opts{"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "3"}

// Rows that the reference put aside become part of the table by a compaction, as newer than those in the buckets.
func TestRowsPutAsideByJava(t *testing.T) {
	for _, c := range golden.Cases(t, tarntest.Root(t)) {
		if c.ID != "tables/bucket/postpone" {
			continue
		}
		cat, err := tarn.Open(t.Context(), c.Unpack(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		common := []string{`[0,0,"one"]`, `[1,5,"one"]`, `[0,6,"one"]`, `[1,7,"one"]`, `[0,8,"one"]`, `[1,9,"one"]`, `[1,1,"two"]`}
		for name, want := range map[string][]string{
			"b.postponed": {`[1,3,"one"]`, `[0,4,"one"]`}, "b.mixed": {`[1,3,"after"]`}, "b.compacted": {`[1,3,"one"]`, `[0,4,"one"]`},
		} {
			tab, err := cat.Table(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tab.Compact(t.Context(), tarn.CompactOptions{}); err != nil {
				t.Fatal(err)
			}
			same(t, tab, "", "", slices.Concat(common, want)...)
			again, err := tab.Compact(t.Context(), tarn.CompactOptions{})
			if err != nil || again.SnapshotID != 0 {
				t.Errorf("%s: compacted again: %v, %v", name, again, err)
			}
		}
		return
	}
	t.Fatal("there is no golden table with postponed buckets")
}

// Of rows that one writer puts aside the last one of a key is the newest, over all its files and commits, and so is that of a
// later writer.
func TestOrderOfRowsPutAside(t *testing.T) {
	tab := declare(t, open(t), "d.t", "p! STRING,k! INT,v INT", "", opts{
		"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "3", "target-file-size": "8 kb",
	}, "p")
	const keys, versions = 40, 100
	for writer := range 2 {
		w, err := tab.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for v := range versions {
			var in []string
			for k := range keys {
				in = append(in, fmt.Sprintf(`{"p":"p%d","k":%d,"v":%d}`, k%2, k, writer*versions+v))
			}
			if err := w.Write(t.Context(), rows(t, tab, in...)); err != nil {
				t.Fatal(err)
			}
			if v%40 == 3 {
				if _, err := w.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	same(t, tab, "", "")
	names, err := tab.FileNames(t.Context())
	if err != nil || len(names) < 12 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for n := range names {
		if !strings.Contains(n, "-u-tarn-") || !strings.HasSuffix(n, ".avro") {
			t.Errorf("file %s", n)
		}
	}
	p1 := "p1"
	if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Partition: map[string]*string{"p": &p1}}); err != nil {
		t.Fatal(err)
	}
	var want []string
	for k := 1; k < keys; k += 2 {
		want = append(want, fmt.Sprintf(`["p1",%d,%d]`, k, 2*versions-1))
	}
	same(t, tab, "", "", want...)
	compact(t, tab)
	for k := 0; k < keys; k += 2 {
		want = append(want, fmt.Sprintf(`["p0",%d,%d]`, k, 2*versions-1))
	}
	same(t, tab, "", "", want...)
	sound(t, tab)
}

// Compactions of several processes distribute rows once, and rows that come meanwhile wait for the next one.
func TestRacingDistributions(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT,v INT", "", aside)
	const writers, commits = 2, 6
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writing, compacting sync.WaitGroup
	for n := range writers {
		writing.Go(func() {
			w, err := tab.NewWriter(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			for c := range commits {
				if err := w.Write(t.Context(), rows(t, tab, fmt.Sprintf(`{"k":%d,"v":1}`, n*commits+c), fmt.Sprintf(`{"k":%d,"v":2}`, n*commits+c))); err != nil {
					t.Error(err)
				}
				if _, err := w.Commit(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		compacting.Go(func() {
			for ctx.Err() == nil {
				if _, err := tab.Compact(ctx, tarn.CompactOptions{}); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	stop()
	compacting.Wait()
	compact(t, tab)
	var want []string
	for k := range writers * commits {
		want = append(want, fmt.Sprintf("[%d,2]", k))
	}
	same(t, tab, "", "", want...)
	sound(t, tab)
}

// Streams get rows when they are put aside and not once more when they are distributed; those of a table with a changelog of the input
// get them with their kinds.
func TestChangesOfRowsPutAside(t *testing.T) {
	for _, producer := range []string{"none", "input"} {
		o := opts{"changelog-producer": producer}
		for k, v := range aside {
			o[k] = v
		}
		tab := declare(t, open(t), "d.t", "k! INT,v INT", "", o)
		put(t, tab, []string{"[1,1]", "[2,2]"}, []string{"[1,3]"})
		compact(t, tab)
		put(t, tab, []string{"[2,5]"})
		compact(t, tab)
		got := followed(t, tab, tarn.ScanOptions{}, 0)
		for i := range got {
			got[i] = strings.TrimLeft(got[i], "0123456789")
		}
		slices.Sort(got)
		if want := []string{`+I{"k":1,"v":1}`, `+I{"k":1,"v":3}`, `+I{"k":2,"v":2}`, `+I{"k":2,"v":5}`}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", producer, got, want)
		}
	}
}

// Another number of buckets is for the rows that have some; those that wait get theirs by it when they are distributed.
func TestRescaleBesideRowsPutAside(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "p! INT,k! INT,v INT", "", aside, "p")
	var first, second, want []string
	for k := range 30 {
		first = append(first, fmt.Sprintf("[%d,%d,1]", k%2, k))
		second = append(second, fmt.Sprintf("[%d,%d,2]", k%2, k))
		want = append(want, fmt.Sprintf("[%d,%d,2]", k%2, k))
	}
	put(t, tab, first)
	compact(t, tab)
	put(t, tab, second)
	zero := "0"
	if _, err := tab.Rescale(t.Context(), tarn.RescaleOptions{Buckets: 5, Partitions: []map[string]*string{{"p": &zero}}}); err != nil {
		t.Fatal(err)
	}
	same(t, tab, "", "", first...)
	compact(t, tab)
	same(t, tab, "", "", want...)
	if got := systemRows(t, c, "d.t$buckets", "partition,bucket"); len(got) != 8 {
		t.Errorf("buckets %v, want 5 and 3", got)
	}
	sound(t, tab)
}

func sound(t testing.TB, tab *tarn.Table) {
	t.Helper()
	if r, err := tab.Check(t.Context()); err != nil || len(r.Problems) > 0 {
		t.Errorf("check: %v, %v", r.Problems, err)
	}
}
