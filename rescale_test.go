package tarn_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
)

// bucketsOf gives the buckets with files of each partition.
func bucketsOf(t *testing.T, tab *tarn.Table) map[string][]int {
	t.Helper()
	p, err := tab.Scan(tarn.ScanOptions{}).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	splits, err := p.Splits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]int{}
	for _, s := range splits {
		if b := out[s.Partition]; !slices.Contains(b, s.Bucket) {
			out[s.Partition] = append(b, s.Bucket)
		}
	}
	return out
}

func wantBuckets(t *testing.T, tab *tarn.Table, partition string, want int) {
	t.Helper()
	if got := bucketsOf(t, tab)[partition]; len(got) != want {
		t.Errorf("partition %q has files in buckets %v, want %d of them", partition, got, want)
	}
	r, err := tab.Check(t.Context())
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("%v, %v", r.Problems, err)
	}
}

func rescale(t *testing.T, tab *tarn.Table, o tarn.RescaleOptions) int64 {
	t.Helper()
	r, err := tab.Rescale(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r.SnapshotID
}

func tryWrite(t *testing.T, tab *tarn.Table, line string) error {
	t.Helper()
	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(t.Context(), rows(t, tab, objects(t, tab, []string{line})...)); err != nil {
		return err
	}
	_, err = w.Commit(t.Context())
	return err
}

// After its number of buckets has changed a table is read as ever, and written to where it was rescaled, partition by partition.
func TestRescale(t *testing.T) {
	for _, key := range []string{"p,k", ""} {
		o := opts{"bucket": "1"}
		if key == "" {
			o["bucket-key"] = "k"
		}
		tab := declare(t, open(t), "d.t", "p STRING,k INT,v INT", key, o, "p")
		var want []string
		for i := range 40 {
			for _, p := range []string{"a", "b", "c"} {
				put := fmt.Sprintf(`[%q,%d,%d]`, p, i, i)
				want = append(want, put)
			}
		}
		put(t, tab, want)
		tab = alter(t, tab, tarn.SetOption{Key: "bucket", Value: "4"})
		same(t, tab, "p,k,v", "", want...)
		if err := tryWrite(t, tab, `["a",1,1]`); !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "sys.rescale") || !strings.Contains(err.Error(), "4 buckets") {
			t.Errorf("a write to a partition of one bucket: %v", err)
		}
		put(t, tab, []string{`["d",1,1]`}) // a new one has the new number
		want = append(want, `["d",1,1]`)

		before, err := tab.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a, b := "a", "b"
		id := rescale(t, tab, tarn.RescaleOptions{Partitions: []map[string]*string{{"p": &a}, {"p": &b}}})
		if id == 0 || rescale(t, tab, tarn.RescaleOptions{Partitions: []map[string]*string{{"p": &a}}}) != 0 {
			t.Errorf("snapshot %d; what has its buckets already is left alone", id)
		}
		same(t, tab, "p,k,v", "", want...)
		same(t, tab, "v", "p = 'a' AND k = 7", "[7]")
		wantBuckets(t, tab, "p=a", 4)
		wantBuckets(t, tab, "p=c", 1)
		put(t, tab, []string{`["a",100,1]`, `["b",100,1]`})
		want = append(want, `["a",100,1]`, `["b",100,1]`)
		if err := tryWrite(t, tab, `["c",1,1]`); !errors.Is(err, tarn.ErrInvalid) {
			t.Errorf("a write to a partition that was not rescaled: %v", err)
		}
		rescale(t, before, tarn.RescaleOptions{})
		wantBuckets(t, tab, "p=c", 4)
		put(t, tab, []string{`["c",100,1]`})
		same(t, tab, "p,k,v", "", append(want, `["c",100,1]`)...)

		// Another number than that of the table.
		c := "c"
		rescale(t, tab, tarn.RescaleOptions{Buckets: 2, Partitions: []map[string]*string{{"p": &c}}})
		wantBuckets(t, tab, "p=c", 2)
		if err := tryWrite(t, tab, `["c",1,1]`); !errors.Is(err, tarn.ErrInvalid) {
			t.Errorf("a write to a partition of two buckets: %v", err)
		}
		same(t, tab, "p,k,v", "", append(want, `["c",100,1]`)...)
		if x := alter(t, tab, tarn.SetOption{Key: "bucket", Value: "2"}); tryWrite(t, x, `["c",101,1]`) != nil {
			t.Error("after the option has the number, too, the partition is not written")
		}
	}
}

// An overwrite changes the number of buckets as well; deletes and versions that are gone do not come back; a stale writer has a conflict.
func TestRescaleByOverwrite(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k INT,v INT", "k", opts{"bucket": "1", "write-only": "true"})
	put(t, tab, []string{"[1,1]", "[2,2]", "[3,3]"}, []string{"[1,10]"})
	stale, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stale.Close()
	if err := stale.Write(t.Context(), rows(t, tab, `{"k":9,"v":9}`)); err != nil {
		t.Fatal(err)
	}
	tab = alter(t, tab, tarn.SetOption{Key: "bucket", Value: "3"})
	if err := tryWrite(t, tab, "[4,4]"); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("%v", err)
	}
	old, err := tab.LatestSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{}, tab.Scan(tarn.ScanOptions{}).Batches(t.Context())); err != nil {
		t.Fatal(err)
	}
	same(t, tab, "k,v", "", "[1,10]", "[2,2]", "[3,3]")
	if _, err := stale.Commit(t.Context()); !errors.Is(err, tarn.ErrConflict) {
		t.Errorf("a writer of one bucket: %v", err)
	}
	put(t, tab, []string{"[4,4]"})
	now, err := tab.LatestSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	diff, err := tab.With(t.Context(), map[string]string{"incremental-between": fmt.Sprintf("%d,%d", old.ID, now.ID), "incremental-between-scan-mode": "diff"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := diff.Scan(tarn.ScanOptions{}).Plan(t.Context()); !errors.Is(err, tarn.ErrUnsupported) || !strings.Contains(err.Error(), "it was 1 and is 3") {
		t.Errorf("states of other buckets are compared: %v", err)
	}
}

// What others commit while rows are distributed anew is not lost: the rescale has a conflict and leaves no files.
func TestRescaleConflict(t *testing.T) {
	for _, other := range []string{"append", "compact", "elsewhere"} {
		var between atomic.Pointer[func()] // what writes rows and commits them looks at the clock
		c, err := tarn.Open(t.Context(), t.TempDir(), &tarn.OpenOptions{NoSync: true, Clock: func() time.Time {
			if f := between.Swap(nil); f != nil {
				(*f)()
			}
			return time.Now()
		}})
		if err == nil {
			err = c.CreateDatabase(t.Context(), "d", nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		tab := declare(t, c, "d.t", "p INT,k INT", "p,k", opts{"bucket": "1", "write-only": "true"}, "p")
		put(t, tab, []string{"[1,1]", "[1,2]", "[2,1]"}, []string{"[1,3]"})
		early := tab
		tab = alter(t, tab, tarn.SetOption{Key: "bucket", Value: "2"})
		one := "1"
		meanwhile := func() {
			switch other {
			case "append":
				put(t, early, []string{"[1,4]"})
			case "compact":
				if _, err := early.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
					t.Error(err)
				}
			default:
				put(t, early, []string{"[2,2]"})
			}
		}
		between.Store(&meanwhile)
		_, err = tab.Rescale(t.Context(), tarn.RescaleOptions{Partitions: []map[string]*string{{"p": &one}}})
		want := map[string][]string{"append": {"[1,1]", "[1,2]", "[1,3]", "[1,4]", "[2,1]"}, "compact": {"[1,1]", "[1,2]", "[1,3]", "[2,1]"}, "elsewhere": {"[1,1]", "[1,2]", "[1,3]", "[2,1]", "[2,2]"}}[other]
		same(t, tab, "p,k", "", want...)
		if other == "elsewhere" {
			if err != nil {
				t.Errorf("another partition was written: %v", err)
			}
			continue
		}
		if !errors.Is(err, tarn.ErrConflict) {
			t.Errorf("%s: %v", other, err)
		}
		rescale(t, tab, tarn.RescaleOptions{})
		same(t, tab, "p,k", "", want...)
		wantBuckets(t, tab, "p=1", 2)
	}
}

func TestRescaleRefused(t *testing.T) {
	c := open(t)
	plain := declare(t, c, "d.plain", "k INT", "", nil)
	dynamic := declare(t, c, "d.dyn", "k INT", "k", opts{"bucket": "-1", "dynamic-bucket.target-row-num": "2"})
	fixed := declare(t, c, "d.fix", "k INT", "k", opts{"bucket": "1"})
	text := "1"
	for _, x := range []struct {
		tab  *tarn.Table
		o    tarn.RescaleOptions
		says string
	}{
		{plain, tarn.RescaleOptions{}, "has no buckets"},
		{plain, tarn.RescaleOptions{Buckets: 2}, "has no buckets"},
		{dynamic, tarn.RescaleOptions{Buckets: 2}, "dynamic buckets"},
		{fixed, tarn.RescaleOptions{Buckets: -3}, "-3"},
		{fixed, tarn.RescaleOptions{Partitions: []map[string]*string{{"k": &text}}}, "no partition column"},
		{fixed, tarn.RescaleOptions{Partitions: []map[string]*string{{}}}, "without values"},
	} {
		if _, err := x.tab.Rescale(t.Context(), x.o); !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s, %+v: %v", x.tab.Name(), x.o, err)
		}
	}
	if id := rescale(t, fixed, tarn.RescaleOptions{Buckets: 2}); id != 0 {
		t.Errorf("a table without rows: snapshot %d", id)
	}

	put(t, dynamic, []string{"[1]", "[2]", "[3]", "[4]", "[5]", "[6]"})
	wantBuckets(t, dynamic, "", 3)
	put(t, dynamic, []string{"-D[1]", "-D[3]", "-D[5]", "-D[6]"})
	rescale(t, dynamic, tarn.RescaleOptions{})
	wantBuckets(t, dynamic, "", 1)
	put(t, dynamic, []string{"[2]", "[7]"})
	same(t, dynamic, "k", "", "[2]", "[4]", "[7]")
}

// A stream goes on over a rescale: it is not told of rows that only went to other buckets, and of what is written behind it as ever,
// with every producer of changelogs.
func TestRescaleFollowed(t *testing.T) {
	for _, producer := range []string{"none", "input", "full-compaction", "lookup"} {
		o := opts{"bucket": "1", "changelog-producer": producer}
		if producer == "full-compaction" {
			o["full-compaction.delta-commits"] = "1"
		}
		tab := declare(t, open(t), "d.t", "k INT,v INT", "k", o)
		put(t, tab, []string{"[1,1]", "[2,2]", "[3,3]"}, []string{"[1,10]"})
		before, err := tab.LatestSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tab = alter(t, tab, tarn.SetOption{Key: "bucket", Value: "3"})
		rescale(t, tab, tarn.RescaleOptions{})
		if got := followed(t, tab, tarn.ScanOptions{}, before.ID); len(got) > 0 {
			t.Errorf("%s: a rescale is told of: %q", producer, got)
		}
		put(t, tab, []string{"[2,20]", "[4,4]"})
		if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range followed(t, tab, tarn.ScanOptions{}, before.ID) {
			got = append(got, line[strings.IndexAny(line, "+-"):])
		}
		slices.Sort(got)
		want := []string{`+I{"k":4,"v":4}`, `+U{"k":2,"v":20}`, `-U{"k":2,"v":2}`}
		if producer == "none" || producer == "input" {
			want = []string{`+I{"k":2,"v":20}`, `+I{"k":4,"v":4}`}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: changes after a rescale %q, want %q", producer, got, want)
		}
		same(t, tab, "k,v", "", "[1,10]", "[2,20]", "[3,3]", "[4,4]")
	}
}
