package interop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// lookups are tables whose compactions of level 0 look up older rows. What a delete leaves for later rows of its key depends on
// when it is compacted into the highest level: there are none where that can be seen.
var lookups = []struct {
	options map[string]string
	kinds   []string
}{
	{nil, []string{"+I", "-D", "+U"}},
	{map[string]string{"num-sorted-run.compaction-trigger": "2", "num-levels": "3", "changelog-producer.row-deduplicate": "true"}, []string{"+I", "-D", "+U", "+I"}},
	{map[string]string{"sequence.field": "s"}, []string{"+I", "+U"}},
	{map[string]string{"ignore-delete": "true"}, []string{"+I", "-D"}},
	{map[string]string{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.s.aggregate-function": "max", "fields.v.ignore-retract": "false", "fields.s.ignore-retract": "true"}, []string{"+I", "+U", "-U"}},
	{map[string]string{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "sequence.field": "s", "changelog-producer.row-deduplicate": "true"}, []string{"+I"}},
	{map[string]string{"merge-engine": "partial-update", "ignore-delete": "true"}, []string{"+I", "-D", "+U"}},
	{map[string]string{"merge-engine": "partial-update", "fields.s.sequence-group": "v"}, []string{"+I", "+U"}},
	{map[string]string{"merge-engine": "first-row", "ignore-delete": "true"}, []string{"+I", "-D", "+I"}},
	{map[string]string{"merge-engine": "first-row", "ignore-delete": "true", "changelog-producer": "none"}, []string{"+I"}},
	{map[string]string{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "changelog-producer": "none", "force-lookup": "true"}, []string{"+I"}},
	{map[string]string{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "lookup-compact": "gentle", "lookup-compact.max-interval": "5"}, []string{"+I"}},
}

// TestLookups lets both sides write to tables whose compactions look up older rows, alone and in turn: rows, files and changes
// are the same whoever wrote, and both sides read the same changes.
func TestLookups(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for n, x := range lookups {
		d := definition{key: []string{"k"}, options: map[string]string{"bucket": "1", "changelog-producer": "lookup"}, columns: []column{
			{name: "k", typ: "INT NOT NULL"}, {name: "s", typ: "INT"}, {name: "v", typ: "BIGINT"}, {name: "t", typ: "STRING"},
		}}
		maps.Copy(d.options, x.options)
		var first []string
		for i, order := range [][]side{{java}, {here}, {here, java}} {
			turn := turns(order...)
			tab := l.create(t, turn(), fmt.Sprintf("d.lookup%d_%d", n, i), d)
			var states []string
			for c := range 9 {
				tab.write(t, turn(), lookupRows(c, x.kinds)...)
				states = append(states, tab.same(t, fmt.Sprint("commit ", c), nil)...)
				if c%3 == 1 {
					tab.sameStart(t)
				}
				if c == 4 {
					tab.compact(t, turn())
					states = append(states, tab.same(t, "compacted", nil)...)
				}
			}
			theirs, ours := tab.changes(t, java), tab.changes(t, here)
			if !slices.Equal(theirs, ours) {
				t.Errorf("%v: changes as Java reads them (-), as tarn does (+)\n%s", d.options, differences(theirs, ours))
			}
			if states = append(states, ours...); first == nil {
				first = states
			} else if !slices.Equal(states, first) {
				t.Errorf("%v: rows and changes of Java alone (-), of %v (+)\n%s", d.options, order, differences(first, states))
			}
			tab.sound(t)
		}
	}
}

// lookupRows are the rows of the c-th commit, no key twice.
func lookupRows(c int, kinds []string) []row {
	var out []row
	for k := range 40 {
		i := k*11 + c*7
		if i%5 > 2 {
			continue
		}
		text := fmt.Sprintf(`"t%d"`, i%7)
		if i%3 == 0 {
			text = "null"
		}
		out = append(out, row{kind: kinds[(i/3+c*k)%len(kinds)], object: fmt.Sprintf(`{"k":%d,"s":%d,"v":%d,"t":%s}`, k, i%17, i%13, text)})
	}
	return out
}

// changes are the changes of all snapshots, in their order: of which plan, kind and row.
func (tab table) changes(t testing.TB, by side) []string {
	t.Helper()
	var out []string
	if by == java {
		a := tab.Do(t, tarntest.Command{"op": "streamread", "table": tab.name, "maxIdle": 30, "options": map[string]string{"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}})[0]
		for _, l := range a.Rows {
			out = append(out, string(l))
		}
		return out
	}
	plan := 0
	for p, err := range tab.open(t).Scan(tarn.ScanOptions{}).Follow(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		e, had := jsonrow.NewEncoder(p.Fields()), len(out)
		for b, err := range p.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(b.NumRows()) {
				kind := types.Insert
				if b.Kinds != nil {
					kind = b.Kinds[i]
				}
				out = append(out, fmt.Sprintf(`{"plan":%d,"kind":%q,"row":%s}`, plan, kind, e.Append(nil, b.RecordBatch, i)))
			}
		}
		if len(out) > had { // the reference does not count plans without rows
			plan++
		}
	}
	return out
}

// sameStart looks whether both sides let a stream begin with the same rows: those that the changelog has told of.
func (tab table) sameStart(t testing.TB) {
	t.Helper()
	x := tab.open(t)
	s, err := x.LatestSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs := tab.stream(t, map[string]string{"scan.mode": "from-snapshot-full", "scan.snapshot-id": fmt.Sprint(s.ID)}, 0).lines
	var ours []string
	p, err := x.Scan(tarn.ScanOptions{}).Start(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	e := jsonrow.NewEncoder(p.Fields())
	for b, err := range p.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			ours = append(ours, fmt.Sprintf(`{"plan":0,"kind":"+I","row":%s}`, e.Append(nil, b.RecordBatch, i)))
		}
	}
	for i := range theirs {
		theirs[i] = strings.Replace(theirs[i], `"+U"`, `"+I"`, 1)
	}
	slices.Sort(theirs)
	slices.Sort(ours)
	if !slices.Equal(theirs, ours) {
		t.Errorf("%s: a stream begins with other rows for Java (-) than for tarn (+)\n%s", tab.name, differences(theirs, ours))
	}
}
