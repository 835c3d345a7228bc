package interop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// dvDelete deletes rows of a table without a key.
func (tab table) dvDelete(t testing.TB, by side, k int) {
	t.Helper()
	if by == java {
		tab.Do(t, tarntest.Command{"op": "dvDelete", "table": tab.name, "where": tarntest.Command{"op": "=", "field": "k", "value": k}})
		return
	}
	if _, _, err := tab.open(t).DeleteWhere(t.Context(), &predicate.Leaf{Op: predicate.Eq, Column: "k", Values: []types.Datum{int32(k)}}); err != nil {
		t.Fatal(err)
	}
}

// TestDeletionVectorsInTurn: both sides write, delete and compact the same table without a key, in an order by chance, with
// vectors of both versions; each reads what the other has left, and nothing stays that belongs to nobody.
func TestDeletionVectorsInTurn(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for kind, options := range map[string]map[string]string{
		"v1":     {"deletion-vectors.bitmap64": "false"},
		"v2":     {"deletion-vectors.bitmap64": "true"},
		"small":  {"deletion-vector.index-file.target-size": "1 b"},
		"beside": {"index-file-in-data-file-dir": "true"},
		"queue":  {"bucket": "2", "bucket-key": "k"},
	} {
		d := definition{columns: []column{{name: "k", typ: "INT"}, {name: "p", typ: "STRING"}, {name: "v", typ: "INT"}}, partitions: []string{"p"}, options: options}
		options["deletion-vectors.enabled"] = "true"
		tab := l.create(t, side(kind == "v1"), "d.turn_"+kind, d)
		r := rand.New(rand.NewPCG(tarntest.Seed(t), 7))
		next := 0
		rows := map[int]string{}
		for step := range 24 {
			by := side(r.IntN(2) == 0)
			what := fmt.Sprintf("%s, step %d by %s: ", kind, step, by)
			switch n := r.IntN(10); {
			case step == 0 || n < 4:
				var more []row
				for range 1 + r.IntN(20) {
					object := fmt.Sprintf(`{"k":%d,"p":"p%d","v":%d}`, next, next%2, step)
					rows[next] = object
					more = append(more, row{object: object})
					next++
				}
				what += "write"
				tab.write(t, by, more...)
			case n < 9:
				k := r.IntN(next)
				delete(rows, k)
				what += fmt.Sprintf("delete %d", k)
				tab.dvDelete(t, by, k)
			default:
				what += "compact"
				tab.compact(t, by)
			}
			var want []string
			for _, object := range rows {
				want = append(want, object)
			}
			slices.Sort(want)
			tab.same(t, what, canonicalText(t, tab, want))
		}
		tab.sound(t)
		tab.expire(t, here, 1)
		tab.sound(t)
		if o, err := tab.open(t).Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(o) > 0 {
			t.Errorf("%s: orphans %v, %v", kind, o, err)
		}
		if left := strings.Count(strings.Join(tab.onDisk(t), "\n"), "index-"); left > 40 {
			t.Errorf("%s: %d index files are left", kind, left)
		}
	}
}

func canonicalText(t testing.TB, tab table, objects []string) []string {
	t.Helper()
	raw := make([][]byte, len(objects))
	for i, o := range objects {
		raw[i] = []byte(o)
	}
	return canonical(t, tab.fields(t), raw)
}

// TestMergeOnWriteInTurn: both sides write and compact the same table with a key and deletion vectors, by all engines that may
// have them: each reads what the other has left without a merge.
func TestMergeOnWriteInTurn(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for kind, options := range map[string]map[string]string{
		"dedup":    {"deletion-vectors.bitmap64": "true"},
		"sequence": {"sequence.field": "s"},
		"lookup":   {"changelog-producer": "lookup"},
		"partial":  {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
		"sum":      {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.s.aggregate-function": "max", "fields.s.ignore-retract": "true"},
		"beside":   {"index-file-in-data-file-dir": "true", "bucket": "-1"},
	} {
		d := definition{
			columns: []column{{name: "k", typ: "INT NOT NULL"}, {name: "p", typ: "STRING NOT NULL"}, {name: "v", typ: "INT"}, {name: "s", typ: "INT"}},
			key:     []string{"p", "k"}, partitions: []string{"p"}, options: options,
		}
		options["deletion-vectors.enabled"] = "true"
		if options["bucket"] == "" {
			options["bucket"] = "1"
		}
		tab := l.create(t, side(kind == "dedup"), "d.mow_"+kind, d)
		r := rand.New(rand.NewPCG(tarntest.Seed(t), 8))
		rows := map[string]string{}
		for step := range 24 {
			by := side(r.IntN(2) == 0)
			what := fmt.Sprintf("%s, step %d by %s: ", kind, step, by)
			if step > 0 && r.IntN(8) == 0 {
				what += "compact"
				tab.compact(t, by)
			} else {
				what += "write"
				var more []row
				for range 1 + r.IntN(12) {
					k := r.IntN(30)
					key := fmt.Sprintf(`"k":%d,"p":"p%d"`, k, k%2)
					object := fmt.Sprintf(`{%s,"v":%d,"s":%d}`, key, r.IntN(100), r.IntN(10))
					x := row{object: object}
					if rows[key] = object; kind != "sum" && r.IntN(4) == 0 {
						x.kind = "-D"
						delete(rows, key)
					}
					more = append(more, x)
				}
				tab.write(t, by, more...)
			}
			var want []string
			if kind == "dedup" || kind == "lookup" || kind == "beside" {
				want = []string{}
				for _, object := range rows {
					want = append(want, object)
				}
				want = canonicalText(t, tab, want)
			}
			tab.same(t, what, want)
			p, err := tab.open(t).Scan(tarn.ScanOptions{}).Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			splits, err := p.Splits(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range splits {
				if !s.Raw {
					t.Errorf("%s: files to be merged: %v", what, s.Files)
				}
			}
			if t.Failed() {
				return
			}
		}
		tab.sound(t)
		tab.expire(t, here, 1)
		tab.sound(t)
		if o, err := tab.open(t).Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(o) > 0 {
			t.Errorf("%s: orphans %v, %v", kind, o, err)
		}
	}
}
