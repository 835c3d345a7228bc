package tarn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
)

// changes gives what a stream from the first snapshot on tells, without the numbers of snapshots.
func changes(t testing.TB, tab *tarn.Table) []string {
	t.Helper()
	out := followed(t, tab, tarn.ScanOptions{}, 0)
	for i, l := range out {
		l = strings.TrimLeft(l, "0123456789")
		out[i] = l[:2] + valuesOf(t, []byte(l[2:]))
	}
	return out
}

func wantChanges(t testing.TB, tab *tarn.Table, want ...string) {
	t.Helper()
	if got := changes(t, tab); !slices.Equal(got, want) {
		t.Errorf("%s: changes %q, want %q", tab.Name(), got, want)
	}
}

// Producers that tell what became of a key.
var producers = []string{"lookup", "full-compaction"}

// B017: a row that a delete removed is told as deleted, and the row after it as a new one.
func TestChangesOfRemovedPartialUpdates(t *testing.T) {
	for _, producer := range producers {
		tab := declare(t, open(t), "d.t", "k! INT, a STRING, b STRING", "", opts{
			"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true", "changelog-producer": producer, "full-compaction.delta-commits": "1",
		})
		put(t, tab, []string{`[1,null,"pear"]`}, []string{`-D[1,null,null]`}, []string{`[1,null,"fig"]`}, []string{`[1,"Z",null]`})
		wantChanges(t, tab, `+I[1,null,"pear"]`, `-D[1,null,"pear"]`, `+I[1,null,"fig"]`, `-U[1,null,"fig"]`, `+U[1,"Z","fig"]`)
	}
}

// B031: ignore-delete leaves out deletes, not the rows before an update.
func TestChangesWithIgnoreDelete(t *testing.T) {
	for _, producer := range producers {
		tab := declare(t, open(t), "d.t", "k! INT, v STRING", "", opts{"ignore-delete": "true", "changelog-producer": producer, "full-compaction.delta-commits": "1"})
		put(t, tab, []string{`[1,"A"]`}, []string{`[1,"B"]`}, []string{`-D[1,"B"]`})
		if got := changes(t, tab); len(got) < 3 || !slices.Equal(got[:3], []string{`+I[1,"A"]`, `-U[1,"A"]`, `+U[1,"B"]`}) || slices.ContainsFunc(got, func(l string) bool { return l[:2] == "-D" }) {
			t.Errorf("%s: %q", producer, got)
		}
	}
}

// B065: a row that is equal in the total order of floating point numbers is no change, -0.0 and 0.0 differ.
func TestChangesOfFloats(t *testing.T) {
	for _, producer := range producers {
		tab := declare(t, open(t), "d.t", "k! INT, f DOUBLE, m MAP<STRING,FLOAT>", "", opts{
			"changelog-producer": producer, "full-compaction.delta-commits": "1", "changelog-producer.row-deduplicate": "true",
		})
		put(t, tab, []string{`[1,"NaN",[["a",1],["b","NaN"]]]`}, []string{`[1,"NaN",[["b","NaN"],["a",1]]]`}, []string{`[1,-0.0,[["a",1]]]`}, []string{`[1,0.0,[["a",1]]]`}, []string{`[1,0.0,[["a",1]]]`})
		if got := changes(t, tab); len(got) != 5 {
			t.Errorf("%s: %q", producer, got)
		}
	}
}

// B073: an older row that was looked up does not come before one that sequence.field puts below it.
func TestLookedUpRowsKeepTheirOrder(t *testing.T) {
	for _, dedup := range []string{"false", "true"} {
		tab := declare(t, open(t), "d.t", "k! INT, s INT, v STRING", "", opts{
			"merge-engine": "aggregation", "fields.default-aggregate-function": "last_value", "sequence.field": "s", "changelog-producer": "lookup", "changelog-producer.row-deduplicate": dedup,
		})
		put(t, tab, []string{`[1,30,"x"]`})
		compact(t, tab)
		put(t, tab, []string{`[1,20,"y"]`})
		same(t, tab, "", "", `[1,30,"x"]`)
		put(t, tab, []string{`[1,40,"z"]`})
		same(t, tab, "", "", `[1,40,"z"]`)
		want := []string{`+I[1,30,"x"]`, `-U[1,30,"x"]`, `+U[1,30,"x"]`, `-U[1,30,"x"]`, `+U[1,40,"z"]`}
		if dedup == "true" {
			want = slices.Delete(want, 1, 3)
		}
		wantChanges(t, tab, want...)
	}
}

// B074: what a compaction that was not waited for has to tell is told once, by whoever compacts next.
func TestChangesThatCameLate(t *testing.T) {
	for _, producer := range producers {
		tab := declare(t, open(t), "d.t", "k! INT, p! INT, v INT", "", opts{"changelog-producer": producer, "lookup-wait": "false", "write-only": "true"}, "p")
		var want []string
		for p := range 5 {
			put(t, tab, []string{fmt.Sprintf("[1,%d,1]", p), fmt.Sprintf("[2,%d,1]", p)})
			want = append(want, fmt.Sprintf("+I[1,%d,1]", p), fmt.Sprintf("+I[2,%d,1]", p))
		}
		wantChanges(t, tab)
		if err := tab.Alter(t.Context(), tarn.SetOption{Key: "write-only", Value: "false"}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			compact(t, tab)
		}
		got := changes(t, tab)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", producer, got)
		}
	}
}

// B075: an overwrite writes no changelog, and none lies about.
func TestOverwritesTellNothing(t *testing.T) {
	for _, producer := range producers {
		for _, upgrade := range []string{"true", "false"} {
			tab := declare(t, open(t), "d.t", "k! INT, v INT", "", opts{"changelog-producer": producer, "full-compaction.delta-commits": "1", "overwrite-upgrade": upgrade})
			put(t, tab, []string{"[1,1]"})
			before := clogs(t, tab)
			again := func(yield func(tarn.Batch, error) bool) { yield(rows(t, tab, `{"k":2,"v":2}`), nil) }
			if _, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{}, again); err != nil {
				t.Fatal(err)
			}
			if after := clogs(t, tab); !slices.Equal(before, after) {
				t.Errorf("%s: changelog files %q, before the overwrite %q", producer, after, before)
			}
			s, err := tab.LatestSnapshot(t.Context())
			if err != nil || s.ChangelogRecordCount != nil && *s.ChangelogRecordCount != 0 {
				t.Errorf("%s: snapshot %+v, %v", producer, s, err)
			}
			wantChanges(t, tab, "+I[1,1]")
			put(t, tab, []string{"[2,3]"})
			got := changes(t, tab)
			if last := got[len(got)-1]; len(got) > 3 || last != "+U[2,3]" {
				t.Errorf("%s, overwrite-upgrade=%s: %q", producer, upgrade, got)
			}
		}
	}
}

// B057: what changed between states with other numbers of buckets is what changed, or it is refused.
func TestDifferenceOfStatesWithOtherBuckets(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT", "", opts{"bucket": "1"})
	put(t, tab, []string{"[1]", "[2]"})
	first, err := tab.LatestSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tab = alter(t, tab, tarn.SetOption{Key: "bucket", Value: "2"})
	if _, err := tab.Rescale(t.Context(), tarn.RescaleOptions{}); err != nil {
		t.Fatal(err)
	}
	put(t, tab, []string{"[3]"})
	last, err := tab.LatestSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, err := tab.With(t.Context(), map[string]string{"incremental-between": fmt.Sprintf("%d,%d", first.ID, last.ID), "incremental-between-scan-mode": "diff"})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := x.Scan(tarn.ScanOptions{}).Plan(t.Context()); err == nil {
		if got := told(t, p, nil); !slices.Equal(got, []string{`+I{"k":3}`}) {
			t.Errorf("difference %q", got)
		}
	} else if !strings.Contains(err.Error(), "bucket") {
		t.Error(err)
	}
}
