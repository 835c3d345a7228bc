package tarn_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// The changelog of the producer lookup tells with each commit what it changed: it leads from what the table was before to
// what it is, and the table is the same as one without a changelog, whatever engine, levels, files that are only moved, merges
// of more runs than are merged at once.
func TestChangelogLookup(t *testing.T) {
	rnd, rounds := rand.New(rand.NewPCG(tarntest.Seed(t), 5)), 16
	if testing.Short() {
		rounds = 7
	}
	for _, more := range []opts{
		{},
		{"num-levels": "3", "num-sorted-run.compaction-trigger": "2", "target-file-size": "1 kb"},
		{"num-sorted-run.compaction-trigger": "5", "target-file-size": "1 kb"},
		{"changelog-producer.row-deduplicate": "true"},
		{"sequence.field": "s", "num-sorted-run.compaction-trigger": "5"},
		{"local-sort.max-num-file-handles": "2", "num-sorted-run.compaction-trigger": "20"},
		{"ignore-delete": "true"},
		{"merge-engine": "aggregation", "fields.s.aggregate-function": "sum", "ignore-delete": "true"},
		{"merge-engine": "aggregation", "fields.s.aggregate-function": "sum", "ignore-delete": "true", "local-sort.max-num-file-handles": "2", "num-sorted-run.compaction-trigger": "20"},
		{"merge-engine": "aggregation", "fields.s.aggregate-function": "sum", "fields.v.aggregate-function": "last_value", "num-sorted-run.compaction-trigger": "5", "target-file-size": "1 kb", "ignore-delete": "true"},
		{"merge-engine": "partial-update", "ignore-delete": "true", "target-file-size": "1 kb"},
		{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
		{"merge-engine": "partial-update", "fields.s.sequence-group": "v", "ignore-delete": "true", "num-sorted-run.compaction-trigger": "5"},
		{"merge-engine": "first-row", "ignore-delete": "true"},
		{"merge-engine": "first-row", "ignore-delete": "true", "target-file-size": "1 kb", "num-sorted-run.compaction-trigger": "5"},
	} {
		cat := open(t)
		o := opts{"bucket": "1", "num-sorted-run.compaction-trigger": "3"}
		maps.Copy(o, more)
		plain := declare(t, cat, "d.plain", "k INT, s INT, v STRING", "k", o)
		o["changelog-producer"] = "lookup"
		tab := declare(t, cat, "d.t", "k INT, s INT, v STRING", "k", o)
		state := map[int]string{}
		after, updates := int64(0), 0
		for round := range rounds {
			var in []string
			from := rnd.IntN(300)
			for range 1 + rnd.IntN(60) {
				kind := []string{"+I", "+U", "+I", "-D"}[rnd.IntN(4)]
				if o["sequence.field"] != "" {
					kind = "+I" // what a delete leaves of its sequence depends on when it is compacted
				}
				v := fmt.Sprintf("%q", fmt.Sprint(rnd.IntN(3)))
				if rnd.IntN(3) == 0 {
					v = "null"
				}
				in = append(in, fmt.Sprintf(`{"_kind":%q,"k":%d,"s":%d,"v":%s}`, kind, from+rnd.IntN(40), rnd.IntN(9), v))
			}
			write(t, plain, in)
			write(t, tab, in)
			if round%6 == 5 {
				if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
					t.Fatal(err)
				}
			}
			changes, want := followed(t, tab, tarn.ScanOptions{}, after), read(t, plain, tarn.ScanOptions{})
			replay(t, state, changes)
			for i, c := range changes {
				if !strings.Contains(c, "-U") {
					continue
				}
				updates++
				if next := changes[i+1]; o["changelog-producer.row-deduplicate"] == "true" && c[strings.IndexByte(c, '{'):] == next[strings.IndexByte(next, '{'):] {
					t.Errorf("%v: %s, then %s", more, c, next)
				}
			}
			s, err := tab.LatestSnapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			after = s.ID
			told := slices.Sorted(maps.Values(state))
			slices.Sort(want)
			got := read(t, tab, tarn.ScanOptions{})
			slices.Sort(got)
			// Rows after a delete go on from its values, as long as it is there: when it was compacted matters.
			if !slices.Equal(got, want) && o["partial-update.remove-record-on-delete"] == "" {
				t.Fatalf("%v: round %d: the table has %q, without a changelog %q", more, round, without(got, want), without(want, got))
			}
			if !slices.Equal(told, got) {
				t.Fatalf("%v: round %d: replayed %q, the table has %q", more, round, without(told, got), without(got, told))
			}
		}
		if updates == 0 && o["merge-engine"] != "first-row" {
			t.Errorf("%v: nothing was updated", more)
		}
	}
}

// lookup-compact=gentle leaves level 0 for some commits; whoever asks for a compaction, or commits without rows, gets the
// changelog all the same, once. A writer that is closed before leaves it to the next.
func TestChangelogLookupGentle(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k INT, v INT", "k", opts{
		"bucket": "1", "changelog-producer": "lookup", "lookup-compact": "gentle", "num-sorted-run.compaction-trigger": "3", "lookup-compact.max-interval": "4",
	})
	after := int64(0)
	told := func(want ...string) {
		t.Helper()
		got := followed(t, tab, tarn.ScanOptions{}, after)
		for i := range got {
			got[i] = strings.TrimLeft(got[i], "0123456789")
		}
		if !slices.Equal(got, want) {
			t.Fatalf("changes %q, want %q", got, want)
		}
		s, err := tab.LatestSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after = s.ID
	}
	write(t, tab, []string{`{"k":1,"v":1}`})
	told()
	if _, err := tab.Compact(t.Context(), tarn.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	told(`+I{"k":1,"v":1}`)
	write(t, tab, []string{`{"k":1,"v":2}`}, nil, nil)
	told()
	write(t, tab, []string{`{"k":1,"v":3}`}, nil, nil, nil)
	told(`-U{"k":1,"v":1}`, `+U{"k":1,"v":3}`)
	told()
	write(t, tab, []string{`{"k":1,"v":4}`}, []string{`{"k":2,"v":4}`}, []string{`{"k":3,"v":4}`})
	told(`-U{"k":1,"v":3}`, `+U{"k":1,"v":4}`, `+I{"k":2,"v":4}`) // three sorted runs
	if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	told(`+I{"k":3,"v":4}`)
}

// without gives those of a that b lacks.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// Many rows at once are looked up by the range of their keys, few by the keys.
func TestChangelogLookupOfMany(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k INT, v INT", "k", opts{"bucket": "1", "changelog-producer": "lookup", "parquet.page.row.count.limit": "100"})
	state, after := map[int]string{}, int64(0)
	for round, n := range []int{5000, 3000, 300, 1} {
		var in []string
		for k := range n {
			in = append(in, fmt.Sprintf(`{"k":%d,"v":%d}`, k*5000/n+round, round))
		}
		write(t, tab, in)
		replay(t, state, followed(t, tab, tarn.ScanOptions{}, after))
		s, err := tab.LatestSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after = s.ID
		got, want := slices.Sorted(maps.Values(state)), read(t, tab, tarn.ScanOptions{})
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("round %d: replayed %q, the table has %q", round, without(got, want), without(want, got))
		}
	}
}

// Whether a row above level 0 stands for all older ones cannot change while there are such: values would be lost or folded twice.
func TestChangelogProducerChanges(t *testing.T) {
	for _, engine := range []string{"aggregation", "deduplicate"} {
		cat := open(t)
		tab := declare(t, cat, "d.t", "k INT, v INT", "k", opts{"bucket": "1", "merge-engine": engine, "fields.v.aggregate-function": "sum", "compaction.force-up-level-0": "true"})
		refused := func(c tarn.SchemaChange) {
			t.Helper()
			if err := tab.Alter(t.Context(), c); (engine == "aggregation") != errors.Is(err, tarn.ErrInvalid) {
				t.Fatalf("%s: %v", engine, err)
			}
			if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
				t.Fatal(err)
			}
			if err := tab.Alter(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			var err error
			if tab, err = tab.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		several := func() {
			write(t, tab, []string{`{"k":1,"v":1}`, `{"k":2,"v":1}`, `{"k":3,"v":1}`, `{"k":4,"v":1}`, `{"k":5,"v":1}`, `{"k":6,"v":1}`, `{"k":7,"v":1}`})
			if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
				t.Fatal(err)
			}
			write(t, tab, []string{`{"k":1,"v":10}`})
			if _, err := tab.Compact(t.Context(), tarn.CompactOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		several()
		refused(tarn.SetOption{Key: "changelog-producer", Value: "lookup"})
		several()
		refused(tarn.ResetOption{Key: "changelog-producer"})
		want := map[string]string{"aggregation": "[1,22]", "deduplicate": "[1,10]"}[engine]
		same(t, tab, "k,v", "k = 1", want)
	}
}
