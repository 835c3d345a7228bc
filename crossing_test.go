package tarn_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

func crossingTable(t *testing.T, o opts) *tarn.Table {
	t.Helper()
	def := tarn.TableDef{
		Fields:      fields("p", "STRING", "k", "INT NOT NULL", "v", "INT"),
		PrimaryKeys: []string{"k"}, PartitionKeys: []string{"p"}, Options: map[string]string{"dynamic-bucket.target-row-num": "3"},
	}
	for k, v := range o {
		def.Options[k] = v
	}
	tab, err := open(t).CreateTable(t.Context(), "d.t", def)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func crossingRow(p string, k, v int) string {
	if p == "" {
		return fmt.Sprintf(`{"p":null,"k":%d,"v":%d}`, k, v)
	}
	return fmt.Sprintf(`{"p":%q,"k":%d,"v":%d}`, p, k, v)
}

// TestCrossing: where the primary key lacks the partition columns a key is in one partition at a time, in the same batch, the same
// commit, the next one, and for another writer.
func TestCrossing(t *testing.T) {
	ctx := t.Context()
	for engine, want := range map[string][]string{
		"deduplicate":    {crossingRow("a", 1, 6), crossingRow("b", 2, 5), crossingRow("", 3, 3)},
		"partial-update": {crossingRow("a", 1, 6), crossingRow("b", 2, 5), crossingRow("b", 3, 3)},
		"first-row":      {crossingRow("a", 1, 1), crossingRow("b", 2, 1), crossingRow("b", 3, 2)},
	} {
		tab := crossingTable(t, opts{"merge-engine": engine})
		w, err := tab.NewWriter(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for _, lines := range [][]string{
			{crossingRow("a", 1, 1), crossingRow("b", 2, 1)},
			{crossingRow("b", 3, 2), crossingRow("a", 2, 2), crossingRow("a", 2, 3), crossingRow("", 3, 3)},
			{crossingRow("b", 2, 4), crossingRow("b", 1, 4), crossingRow("a", 1, 5)},
		} {
			if err := w.Write(ctx, rows(t, tab, lines...)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Commit(ctx); err != nil {
				t.Fatal(err)
			}
		}
		// Another writer finds the keys in the table, and the first one learns of that.
		other, err := tab.NewWriter(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if err := other.Write(ctx, rows(t, tab, crossingRow("c", 1, 5), crossingRow("c", 2, 5))); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, rows(t, tab, crossingRow("a", 1, 6), crossingRow("b", 2, 5))); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		for range 2 {
			if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
				t.Errorf("%s: rows\n%q, want\n%q", engine, got, want)
			}
			if r, err := tab.Check(ctx); err != nil || len(r.Problems) > 0 {
				t.Errorf("%s: check: %v, %v", engine, r, err)
			}
			if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCrossingWriters: of two writers that do not know of each other's rows the second has a conflict, whatever keys they wrote,
// and in one commit, too; those that go on from what another has prepared have none, nor has who is passed by a compaction.
func TestCrossingWriters(t *testing.T) {
	ctx := t.Context()
	tab := crossingTable(t, opts{"snapshot.ignore-empty-commit": "false"})
	begin := func(o *tarn.WriterOptions, lines ...string) *tarn.Writer {
		t.Helper()
		w, err := tab.NewWriter(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		if err := w.Write(ctx, rows(t, tab, lines...)); err != nil {
			t.Fatal(err)
		}
		return w
	}
	prepare := func(w *tarn.Writer) *tarn.Prepared {
		t.Helper()
		p, err := w.Prepare(ctx)
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if p, err = tarn.UnmarshalPrepared(data); err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := begin(nil, crossingRow("a", 1, 1)), begin(nil, crossingRow("b", 1, 2))
	if _, err := a.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(ctx); !errors.Is(err, tarn.ErrConflict) {
		t.Fatalf("two writers: %v", err)
	}
	c := begin(nil, crossingRow("c", 1, 3))
	if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx); err != nil {
		t.Errorf("after a compaction: %v", err)
	}
	d, e := prepare(begin(nil, crossingRow("d", 1, 4))), prepare(begin(nil, crossingRow("e", 1, 5)))
	if _, err := tab.Commit(ctx, tarn.CommitID{User: "both", Number: 1}, d, e); !errors.Is(err, tarn.ErrConflict) {
		t.Errorf("two writers in one commit: %v", err)
	}
	e = prepare(begin(&tarn.WriterOptions{After: []*tarn.Prepared{d}}, crossingRow("e", 1, 5), crossingRow("e", 2, 5)))
	f := prepare(begin(&tarn.WriterOptions{After: []*tarn.Prepared{d, e}}, crossingRow("f", 2, 6)))
	if _, err := tab.Commit(ctx, tarn.CommitID{User: "both", Number: 2}, d, e); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Commit(ctx, tarn.CommitID{User: "both", Number: 3}, f); err != nil {
		t.Fatal(err)
	}
	want := []string{crossingRow("e", 1, 5), crossingRow("f", 2, 6)}
	if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	rest := func(yield func(tarn.Batch, error) bool) {
		yield(rows(t, tab, crossingRow("e", 2, 7), crossingRow("f", 2, 8)), nil)
	}
	g := begin(nil, crossingRow("e", 2, 9))
	if _, err := tab.Overwrite(ctx, tarn.OverwriteOptions{Static: true}, rest); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Commit(ctx); !errors.Is(err, tarn.ErrConflict) {
		t.Errorf("after an overwrite: %v", err)
	}
	want = []string{crossingRow("f", 2, 8)}
	if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
		t.Errorf("rows after an overwrite %q, want %q", got, want)
	}
}

// TestCrossingDeletes: a delete takes its key away wherever it is, and rows that were taken away do not come back.
func TestCrossingDeletes(t *testing.T) {
	ctx := t.Context()
	for engine, o := range map[string]opts{
		"deduplicate":    nil,
		"partial-update": {"partial-update.remove-record-on-delete": "true"},
		"aggregation":    {"aggregation.remove-record-on-delete": "true"},
	} {
		all := opts{"merge-engine": engine}
		for k, v := range o {
			all[k] = v
		}
		tab := crossingTable(t, all)
		for _, lines := range [][]string{
			{crossingRow("a", 1, 1), crossingRow("b", 2, 1), crossingRow("b", 3, 1), crossingRow("c", 4, 1)},
			{`{"_kind":"-D","p":"b","k":1,"v":1}`, `{"_kind":"-D","p":"b","k":2,"v":1}`, `{"_kind":"-D","p":"a","k":7,"v":1}`},
			{crossingRow("b", 5, 1), `{"_kind":"-D","p":"c","k":5,"v":1}`, crossingRow("a", 2, 2)},
		} {
			write(t, tab, lines)
		}
		want := []string{crossingRow("a", 2, 2), crossingRow("b", 3, 1), crossingRow("c", 4, 1)}
		if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
			t.Errorf("%s: rows\n%q, want\n%q", engine, got, want)
		}
	}
	tab := crossingTable(t, opts{"ignore-delete": "true"})
	if _, err := tab.NewWriter(ctx, nil); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("ignore-delete, where moving is deleting: %v", err)
	}
}

// TestCrossingTTL: keys that do not come for some time are forgotten, by a writer that is open and by one that reads files, and may be
// in two partitions then; those that come stay known.
func TestCrossingTTL(t *testing.T) {
	ctx := t.Context()
	start := time.Now()
	var later atomic.Int64 // seconds; expiry beside the writer looks at the clock
	c, err := tarn.Open(ctx, t.TempDir(), &tarn.OpenOptions{NoSync: true, Clock: func() time.Time { return start.Add(time.Duration(later.Load()) * time.Second) }})
	if err == nil {
		err = c.CreateDatabase(ctx, "d", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} {
		tab := declare(t, c, fmt.Sprint("d.t", again), "p STRING,k INT,v INT", "k", opts{"bucket": "-1", "cross-partition-upsert.index-ttl": "100 s"}, "p")
		w, err := tab.NewWriter(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		put := func(wait int, lines ...string) {
			t.Helper()
			later.Add(int64(wait))
			if again {
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if w, err = tab.NewWriter(ctx, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Write(ctx, rows(t, tab, lines...)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Commit(ctx); err != nil {
				t.Fatal(err)
			}
		}
		put(0, crossingRow("a", 1, 1), crossingRow("a", 2, 1))
		put(60, crossingRow("a", 1, 2))
		put(60, crossingRow("b", 1, 3), crossingRow("b", 2, 3)) // 2 is forgotten, by who reads files 1 is known and 2 is, in the same bucket
		want := []string{crossingRow("b", 1, 3), crossingRow("b", 2, 3)}
		if !again {
			want = []string{crossingRow("a", 2, 1), crossingRow("b", 1, 3), crossingRow("b", 2, 3)}
		}
		slices.Sort(want)
		if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
			t.Errorf("rows\n%q, want\n%q", got, want)
		}
		put(200, crossingRow("c", 1, 4)) // all is forgotten
		if want = append(want, crossingRow("c", 1, 4)); !slices.Equal(read(t, tab, tarn.ScanOptions{}), want) {
			t.Errorf("rows\n%q, want\n%q", read(t, tab, tarn.ScanOptions{}), want)
		}
		put(0, crossingRow("d", 1, 5)) // whoever finds the key in two places takes one of them
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCrossingRescale: a table whose keys move is distributed anew, and a writer that was open before has a conflict if it has written, else
// it looks for the keys again.
func TestCrossingRescale(t *testing.T) {
	ctx := t.Context()
	tab := crossingTable(t, nil)
	var lines []string
	for k := range 10 {
		lines = append(lines, crossingRow([]string{"a", "b"}[k%2], k, 1))
	}
	write(t, tab, lines, []string{crossingRow("b", 0, 2)})
	wantBuckets(t, tab, "p=b", 2)
	wide, err := tab.With(ctx, map[string]string{"dynamic-bucket.target-row-num": "100"})
	if err != nil {
		t.Fatal(err)
	}
	var open [2]*tarn.Writer
	for i := range open {
		if open[i], err = wide.NewWriter(ctx, nil); err != nil {
			t.Fatal(err)
		}
		defer open[i].Close()
		if err := open[i].Write(ctx, rows(t, tab, crossingRow("a", 1+i, 3))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open[0].Commit(ctx); err != nil {
		t.Fatal(err)
	}
	rescale(t, wide, tarn.RescaleOptions{})
	wantBuckets(t, tab, "p=a", 1)
	wantBuckets(t, tab, "p=b", 1)
	if _, err := open[1].Commit(ctx); !errors.Is(err, tarn.ErrConflict) {
		t.Errorf("rows written before a rescale: %v", err)
	}
	if err := open[0].Write(ctx, rows(t, tab, crossingRow("b", 1, 4), crossingRow("c", 0, 4))); err != nil {
		t.Fatal(err)
	}
	if _, err := open[0].Commit(ctx); err != nil {
		t.Fatal(err)
	}
	want := append([]string{crossingRow("b", 1, 4), crossingRow("c", 0, 4)}, lines[2:]...)
	slices.Sort(want)
	if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
		t.Errorf("rows\n%q, want\n%q", got, want)
	}
}

// TestCrossingOverwrite: rows replace partitions whose keys go with them; a key of another partition, which stays, would be in two, and
// nothing is done.
func TestCrossingOverwrite(t *testing.T) {
	ctx := t.Context()
	a := "a"
	one := tarn.OverwriteOptions{Partition: map[string]*string{"p": &a}}
	for name, o := range map[string]tarn.OverwriteOptions{"written": {}, "named": one, "static": {Partition: one.Partition, Static: true}} {
		tab := crossingTable(t, nil)
		over := func(lines ...string) error {
			_, err := tab.Overwrite(ctx, o, func(yield func(tarn.Batch, error) bool) { yield(rows(t, tab, lines...), nil) })
			return err
		}
		write(t, tab, []string{crossingRow("a", 1, 1), crossingRow("a", 2, 1), crossingRow("b", 3, 1), crossingRow("b", 4, 1)}, []string{crossingRow("b", 2, 2)})
		if err := over(crossingRow("a", 1, 3), crossingRow("a", 3, 3)); !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "key k=3 is in partition p=b") {
			t.Errorf("%s: a key of a partition that stays: %v", name, err)
		}
		if err := over(crossingRow("a", 1, 3), crossingRow("a", 5, 3), crossingRow("a", 5, 4)); err != nil {
			t.Fatal(err)
		}
		want := []string{crossingRow("a", 1, 3), crossingRow("a", 5, 4), crossingRow("b", 2, 2), crossingRow("b", 3, 1), crossingRow("b", 4, 1)}
		if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
			t.Errorf("%s: rows\n%q, want\n%q", name, got, want)
		}
		if name == "written" { // both are replaced: keys change places, and one of the rows moves
			if err := over(crossingRow("a", 2, 5), crossingRow("b", 1, 5), crossingRow("b", 6, 5), crossingRow("a", 6, 6)); err != nil {
				t.Fatal(err)
			}
			want = []string{crossingRow("a", 2, 5), crossingRow("a", 6, 6), crossingRow("b", 1, 5)}
		} else {
			if err := over(crossingRow("b", 3, 5)); !errors.Is(err, tarn.ErrInvalid) {
				t.Errorf("%s: a row of another partition: %v", name, err)
			}
		}
		write(t, tab, []string{crossingRow("c", 1, 6)})
		want = slices.DeleteFunc(want, func(s string) bool { return strings.Contains(s, `"k":1,`) })
		want = append(want, crossingRow("c", 1, 6))
		slices.Sort(want)
		if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
			t.Errorf("%s: rows\n%q, want\n%q", name, got, want)
		}
		if r, err := tab.Check(ctx); err != nil || len(r.Problems) > 0 {
			t.Errorf("%s: check: %v, %v", name, r, err)
		}
	}
	// Somebody else brings a key to a partition that stays, while the rows that replace are written.
	tab := crossingTable(t, nil)
	write(t, tab, []string{crossingRow("a", 1, 1)})
	_, err := tab.Overwrite(ctx, one, func(yield func(tarn.Batch, error) bool) {
		if yield(rows(t, tab, crossingRow("a", 2, 2)), nil) {
			write(t, tab, []string{crossingRow("b", 2, 3)})
		}
	})
	if !errors.Is(err, tarn.ErrConflict) {
		t.Errorf("a key that came to another partition meanwhile: %v", err)
	}
}

// TestCrossingHistory: whatever rows come, by whichever of the ways to write, a key is in the partition that its last row named, with deletion
// vectors and without.
func TestCrossingHistory(t *testing.T) {
	ctx := t.Context()
	for _, o := range []opts{nil, {"deletion-vectors.enabled": "true"}, {"changelog-producer": "lookup"}} {
		tab := crossingTable(t, o)
		rnd := rand.New(rand.NewPCG(uint64(tarntest.Seed(t)), 1))
		want, number := map[int]string{}, int64(0)
		var w *tarn.Writer
		var before *tarn.Prepared
		for step := range 40 {
			if w == nil || before != nil || rnd.IntN(3) == 0 {
				if w != nil && w.Close() != nil {
					t.Fatal("close")
				}
				var err error
				if w, err = tab.NewWriter(ctx, &tarn.WriterOptions{User: "one", WaitCompaction: true, After: []*tarn.Prepared{before}}); err != nil {
					t.Fatal(err)
				}
			}
			var lines []string
			for range 1 + rnd.IntN(8) {
				k, p := rnd.IntN(12), []string{"a", "b", ""}[rnd.IntN(3)]
				line := crossingRow(p, k, step)
				if want[k] = line; rnd.IntN(4) == 0 {
					line = strings.Replace(line, "{", `{"_kind":"-D",`, 1)
					delete(want, k)
				}
				lines = append(lines, line)
			}
			if err := w.Write(ctx, rows(t, tab, lines...)); err != nil {
				t.Fatalf("%v, step %d: %v", o, step, err)
			}
			p, err := w.Prepare(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if before == nil && rnd.IntN(3) == 0 {
				before = p
				continue
			}
			number++
			r, err := tab.Commit(ctx, tarn.CommitID{User: "one", Number: number}, before, p)
			if err == nil {
				err = w.Done(r)
			}
			if err != nil {
				t.Fatalf("%v, step %d: %v", o, step, err)
			}
			before = nil
			if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, slices.Sorted(maps.Values(want))) {
				t.Fatalf("%v, step %d: rows\n%q, want\n%q", o, step, got, slices.Sorted(maps.Values(want)))
			}
		}
		if before != nil && tab.Abort(ctx, before) != nil || w.Close() != nil {
			t.Fatal("close")
		}
	}
}
