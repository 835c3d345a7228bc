package tarn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/predicate"
)

// Batch reads of what changed: as it was written, as the changelog tells it, and by comparing two states.
func TestIncrementalReads(t *testing.T) {
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	c, err := tarn.Open(t.Context(), t.TempDir(), &tarn.OpenOptions{NoSync: true, Clock: func() time.Time { return now }})
	if err == nil {
		err = c.CreateDatabase(t.Context(), "d", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	tab := declare(t, c, "d.t", "k INT,v STRING,x DOUBLE", "k", opts{"bucket": "1", "changelog-producer": "input"})
	for _, lines := range [][]string{
		{`{"k":1,"v":"a","x":0.5}`, `{"k":2,"v":"b","x":null}`, `{"k":3,"v":"c","x":1}`},
		{`{"_kind":"-U","k":1,"v":"a"}`, `{"_kind":"+U","k":1,"v":"A"}`, `{"k":4,"v":"d","x":4}`},
		{`{"_kind":"-D","k":2,"v":"b"}`, `{"_kind":"+U","k":3,"v":"c","x":1}`, `{"_kind":"-D","k":4,"v":"d"}`},
	} {
		write(t, tab, lines)
		now = now.Add(time.Hour)
	}
	if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]int64{"one": 1, "three": 3} {
		if err := tab.CreateTag(t.Context(), name, id); err != nil {
			t.Fatal(err)
		}
	}
	written := []string{`+U{"k":1,"v":"A"}`, `+I{"k":4,"v":"d"}`}
	told := []string{`-U{"k":1,"v":"a"}`, `+U{"k":1,"v":"A"}`, `+I{"k":4,"v":"d"}`}
	later := []string{`-D{"k":2,"v":"b"}`, `+U{"k":3,"v":"c"}`, `-D{"k":4,"v":"d"}`}
	diff := []string{`+I{"k":1,"v":"A"}`}
	for _, x := range []struct {
		table string
		o     map[string]string
		want  []string
	}{
		{"d.t", map[string]string{"incremental-between": "1,2"}, told},
		{"d.t", map[string]string{"incremental-between": "1,4", "incremental-between-scan-mode": "delta"}, slices.Concat(written, later)},
		{"d.t", map[string]string{"incremental-between": "1,4", "incremental-between-scan-mode": "changelog"}, slices.Concat(told, later)},
		{"d.t", map[string]string{"incremental-between": "1,4", "incremental-between-scan-mode": "diff"}, diff},
		{"d.t", map[string]string{"incremental-between": "3,4", "incremental-between-scan-mode": "diff"}, nil},
		{"d.t", map[string]string{"incremental-between": "one,three"}, diff},
		{"d.t", map[string]string{"incremental-between": "one, three", "incremental-between-tag-to-snapshot": "true"}, slices.Concat(told, later)},
		{"d.t", map[string]string{"incremental-between": "2,2"}, nil},
		{"d.t", map[string]string{"incremental-between-timestamp": "2024-01-01 00:30:00,2024-01-01 01:00:00"}, told},
		{"d.t", map[string]string{"incremental-between-timestamp": "2020-01-01 00:00:00,2020-01-02 00:00:00"}, nil},
		{"d.t", map[string]string{"incremental-between-timestamp": "1704067200000,1704074400000", "incremental-between-scan-mode": "diff"}, diff},
		{"d.t", map[string]string{"incremental-between-timestamp": "0,1704067200000", "incremental-between-scan-mode": "diff"}, []string{`+I{"k":1,"v":"a"}`, `+I{"k":2,"v":"b"}`, `+I{"k":3,"v":"c"}`}},
		{"d.t$audit_log", map[string]string{"incremental-between": "one,three"}, []string{`+I{"rowkind":"+U","k":1,"v":"A"}`, `+I{"rowkind":"-D","k":2,"v":"b"}`, `+I{"rowkind":"-D","k":4,"v":"d"}`}},
		{"d.t$binlog", map[string]string{"incremental-between": "1,2"}, []string{`+I{"rowkind":"+U","k":[1,1],"v":["a","A"]}`, `+I{"rowkind":"+I","k":[4],"v":["d"]}`}},
	} {
		o := tarn.ScanOptions{Columns: []string{"k", "v"}}
		if strings.Contains(x.table, "$") {
			o.Columns = append([]string{"rowkind"}, o.Columns...)
		}
		got := viewRows(t, viewed(t, c, x.table, x.o), o)
		if x.o["incremental-between-scan-mode"] == "diff" || x.o["incremental-between"] == "one,three" && x.table == "d.t" {
			for i := range got {
				got[i] = strings.Replace(got[i], "+U", "+I", 1)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s %v: %q, want %q", x.table, x.o, got, x.want)
		}
	}
	some := viewed(t, c, "d.t", map[string]string{"incremental-between": "1,3"})
	if got := viewRows(t, some, tarn.ScanOptions{Columns: []string{"k"}, Filter: predicate.Greater("k", 1), Inserts: true, Limit: 1}); fmt.Sprint(got) != `[+I{"k":4}]` {
		t.Errorf("inserts of some keys: %q", got)
	}
	for text, want := range map[string]error{
		"5": tarn.ErrInvalid, "2,1": tarn.ErrInvalid, "1,three": tarn.ErrInvalid, "none,nowhere": tarn.ErrNotExist, "1,9": tarn.ErrNotExist, "1,2,3": tarn.ErrInvalid, "three,one": tarn.ErrInvalid,
	} {
		x, err := tab.With(t.Context(), map[string]string{"incremental-between": text})
		if err == nil {
			_, err = x.Scan(tarn.ScanOptions{}).Plan(t.Context())
		}
		if !errors.Is(err, want) {
			t.Errorf("incremental-between=%s: %v, want %v", text, err, want)
		}
	}
	if _, err := some.Scan(tarn.ScanOptions{}).Changes(t.Context(), 1); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("changes: %v", err)
	}
}

// A table without a key has rows that were appended between two states, and no difference of states.
func TestIncrementalReadsOfAppendTables(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k INT,p INT", "", nil, "p")
	put(t, tab, []string{"[1,1]"}, []string{"[2,1]", "[2,2]"}, []string{"[3,3]"})
	compact(t, tab)
	x := viewed(t, c, "d.t", map[string]string{"incremental-between": "1,4"})
	if got := viewRows(t, x, tarn.ScanOptions{Filter: predicate.Less("p", 3)}); fmt.Sprint(got) != `[+I{"k":2,"p":1} +I{"k":2,"p":2}]` {
		t.Errorf("%q", got)
	}
	x = viewed(t, c, "d.t", map[string]string{"incremental-between": "1,4", "incremental-between-scan-mode": "diff"})
	if _, err := x.Scan(tarn.ScanOptions{}).Plan(t.Context()); !errors.Is(err, tarn.ErrUnsupported) {
		t.Errorf("difference: %v", err)
	}
}

// The difference of any two states of a table with deletion vectors leads from the one to the other, also where the same files
// have other vectors.
func TestDifferencesBehindVectors(t *testing.T) {
	rnd := rand.New(rand.NewPCG(tarntest.Seed(t), 5))
	c := open(t)
	tab := declare(t, c, "d.t", "k INT, v STRING", "k", opts{"bucket": "2", "deletion-vectors.enabled": "true", "num-sorted-run.compaction-trigger": "4"})
	states := []map[int]string{{}}
	for range 12 {
		var in []string
		for range 1 + rnd.IntN(30) {
			in = append(in, fmt.Sprintf(`{"_kind":%q,"k":%d,"v":"%d"}`, []string{"+I", "+U", "-D"}[rnd.IntN(3)], rnd.IntN(200), rnd.IntN(3)))
		}
		write(t, tab, in)
		s, err := tab.LatestSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for int64(len(states)) <= s.ID {
			state := map[int]string{}
			at := viewed(t, c, "d.t", map[string]string{"scan.snapshot-id": fmt.Sprint(len(states))})
			for _, r := range read(t, at, tarn.ScanOptions{}) {
				replay(t, state, []string{"+I" + r[strings.IndexByte(r, '{'):]})
			}
			states = append(states, state)
		}
	}
	changed := 0
	for from := 1; from < len(states); from++ {
		for to := from + 1; to < len(states); to++ {
			got := maps.Clone(states[from])
			o := map[string]string{"incremental-between": fmt.Sprintf("%d,%d", from, to), "incremental-between-scan-mode": "diff"}
			for _, r := range viewRows(t, viewed(t, c, "d.t$audit_log", o), tarn.ScanOptions{}) {
				kind := r[strings.Index(r, `"rowkind":"`)+len(`"rowkind":"`):][:2]
				object := strings.Replace(r[strings.IndexByte(r, '{'):], `"rowkind":"`+kind+`",`, "", 1)
				if kind != "-D" && object == got[keyOf(t, object)] {
					t.Errorf("%d to %d: %s did not change", from, to, r)
				}
				changed++
				if kind == "-D" {
					delete(got, keyOf(t, object))
				} else {
					got[keyOf(t, object)] = object
				}
			}
			if !maps.Equal(got, states[to]) {
				t.Fatalf("from %d to %d: %v, want %v", from, to, got, states[to])
			}
		}
	}
	if changed == 0 {
		t.Error("nothing changed")
	}
}

func keyOf(t *testing.T, object string) int {
	t.Helper()
	var r struct{ K int }
	if err := json.Unmarshal([]byte(object), &r); err != nil {
		t.Fatal(err)
	}
	return r.K
}
