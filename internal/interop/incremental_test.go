package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// kinded reads a table, or one of the views of its rows, by one of the sides: rows with their kinds, an update of a batch read being
// an insert; false if that side does not read it.
func (l lake) kinded(t testing.TB, by side, name string, options map[string]string) ([]string, bool) {
	t.Helper()
	x, err := l.cat.Table(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := x.Fields()
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	if by == java {
		a := l.TryDo(t, tarntest.Command{"op": "read", "table": name, "options": options})[0]
		if !a.OK {
			return []string{a.Error}, false
		}
		for _, line := range a.Rows {
			var r struct {
				Kind string
				Row  json.RawMessage
			}
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			out = append(out, r.Kind+canonical(t, fields, [][]byte{r.Row})[0])
		}
		slices.Sort(out)
		return out, true
	}
	if x, err = x.With(t.Context(), options); err != nil {
		return []string{err.Error()}, false
	}
	e := jsonrow.NewEncoder(fields)
	for b, err := range x.Scan(tarn.ScanOptions{WideTimestamps: true}).Batches(t.Context()) {
		if err != nil {
			return []string{err.Error()}, false
		}
		for i := range int(b.NumRows()) {
			kind := types.Insert
			if b.Kinds != nil {
				kind = b.Kinds[i]
			}
			out = append(out, kind.String()+canonical(t, fields, [][]byte{e.Append(nil, b.RecordBatch, i)})[0])
		}
	}
	slices.Sort(out)
	return out, true
}

// TestIncrementalReads compares batch reads of what changed between two states, by each mode, as both sides give them.
func TestIncrementalReads(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	tables := upkeepTables()
	tables["input"] = tables["keys"].with("changelog-producer", "input")
	for kind, d := range tables {
		turn := turns(java, here)
		tab := l.create(t, turn(), "d.incremental_"+kind, d.with("write-only", "true"))
		for c := range 4 {
			tab.write(t, turn(), d.numbered(c*3, c*3+9)...)
			if c == 1 {
				if x, err := tab.open(t).With(t.Context(), map[string]string{"write-only": "false"}); err != nil {
					t.Fatal(err)
				} else if _, err := x.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
		tab.Do(t, tarntest.Command{"op": "tag", "table": tab.name, "name": "a", "snapshot": 1}, tarntest.Command{"op": "tag", "table": tab.name, "name": "b", "snapshot": 4})
		for _, between := range []string{"0,1", "1,2", "1,5", "2,3", "3,5", "4,4", "a,b", "b,a", "a,4", "1,99", "x"} {
			for _, mode := range []string{"", "delta", "changelog", "diff"} {
				for _, view := range []string{"", "$audit_log", "$binlog"} {
					o := map[string]string{"incremental-between": between}
					if mode != "" {
						o["incremental-between-scan-mode"] = mode
					}
					j, jok := l.kinded(t, java, tab.name+view, o)
					h, hok := l.kinded(t, here, tab.name+view, o)
					what := fmt.Sprintf("%s%s between %s, mode %q", kind, view, between, mode)
					if mode == "diff" && (jok || hok) || between == "a,b" { // the reference gives rows that were only rewritten as well
						if view != "" || d.key == nil {
							continue
						}
						j = tab.difference(t, between)
						for i := range h {
							h[i] = strings.Replace(h[i], "+U", "+I", 1)
						}
						slices.Sort(h)
					}
					if jok != hok {
						t.Errorf("%s: Java %v, tarn %v\n%v\n%v", what, jok, hok, j, h)
					} else if jok && !slices.Equal(j, h) {
						t.Errorf("%s: Java (-), tarn (+)\n%s", what, cmp.Diff(j, h))
					}
				}
			}
		}
	}
}

// difference are the rows that the reference reads of the later of two states and not of the earlier.
func (tab table) difference(t testing.TB, between string) []string {
	t.Helper()
	from, to, _ := strings.Cut(between, ",")
	before := tab.seen(t, java, map[string]string{"scan.version": from})
	out := []string{}
	for _, r := range tab.seen(t, java, map[string]string{"scan.version": to}) {
		if !slices.Contains(before, r) {
			out = append(out, "+I"+r)
		}
	}
	slices.Sort(out)
	return out
}
