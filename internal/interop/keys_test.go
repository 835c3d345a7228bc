package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// keyValues are the values that keys are made of. FLOAT and DOUBLE differ knowingly (docs/differences.md)
// where -0.0 and 0.0, or NaN and Infinity, are in one table.
func keyValues(t types.Type) []string {
	return slices.DeleteFunc(valuesOf(t), func(v string) bool {
		return (t.Kind == types.Float || t.Kind == types.Double) && (v == "-0.0" || v == `"NaN"`)
	})
}

// TestKeys: for keys of every type, alone and together with others, both sides put a row into the same
// bucket, replace each other's rows and delete them.
func TestKeys(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	keys := [][]string{{"INT", "STRING"}, {"STRING", "BIGINT", "DECIMAL(38,10)"}, {"TIMESTAMP(9)", "BOOLEAN", "BYTES"}, {"DATE", "DOUBLE", "TIME(3)", "CHAR(20)"}}
	for _, a := range keyTypes() {
		keys = append(keys, []string{a})
	}
	for n, key := range keys {
		for _, function := range []string{"default", "mod"} {
			if function == "mod" && (len(key) > 1 || key[0] != "INT" && key[0] != "BIGINT") {
				continue
			}
			name := fmt.Sprintf("d.k%d_%s", n, function)
			d := definition{options: map[string]string{"bucket": "5", "bucket-function.type": function}, columns: []column{{name: "v", typ: "INT"}}}
			var most int
			for i, k := range key {
				d.columns = append(d.columns, column{name: fmt.Sprintf("k%d", i), typ: k + " NOT NULL"})
				d.key = append(d.key, fmt.Sprintf("k%d", i))
				most = max(most, len(keyValues(types.MustParse(k))))
			}
			slices.Reverse(d.columns) // the order of the key is not that of the columns
			tab := l.create(t, side(n%2 == 0), name, d)
			seen := map[string]bool{}
			var rows []row
			for i := range most {
				fixed := map[string]string{"v": fmt.Sprint(i)}
				id := ""
				for j, k := range key {
					vals := keyValues(types.MustParse(k))
					fixed[d.key[j]] = vals[(i+j)%len(vals)]
					id += fixed[d.key[j]] + "/"
				}
				if !seen[id] {
					seen[id] = true
					rows = append(rows, row{object: rowOf(tab.fields(t), 0, fixed)})
				}
			}
			if len(rows) == 0 {
				continue
			}
			tab.write(t, here, rows...)
			want := tab.buckets(t, rows)
			if got := tab.bucketsHere(t); !maps.Equal(got, want) {
				t.Errorf("key %v, %s: rows by bucket %v, by Java %v", key, function, got, want)
			}
			change := func(by side, v int) {
				var changed []row
				for i, r := range rows {
					m := members(t, r.object)
					m["v"] = fmt.Sprint(v)
					c := row{object: rowOf(tab.fields(t), 0, m)}
					if i%3 == v%3 {
						c.kind = "-D"
					}
					changed = append(changed, c)
				}
				tab.write(t, by, changed...)
				if got := tab.same(t, fmt.Sprintf("key %v, %s, after changes by %s", key, function, by), nil); len(got) != len(rows)-(len(rows)+2-v%3)/3 {
					t.Errorf("key %v, %s: %d rows of %d are left after a third was deleted by %s", key, function, len(got), len(rows), by)
				}
			}
			change(java, 3)
			change(here, 4)
			tab.compact(t, side(n%2 == 1))
			change(java, 5)
			tab.compact(t, side(n%2 == 0))
			tab.same(t, fmt.Sprintf("key %v, %s, compacted", key, function), nil)
			tab.sound(t)
		}
	}
}

// buckets is how many rows the reference puts into which bucket.
func (tab table) buckets(t testing.TB, rows []row) map[int]int64 {
	t.Helper()
	out := map[int]int64{}
	for _, line := range tab.Do(t, tarntest.Command{"op": "bucketof", "table": tab.name, "rows": javaRows(rows)})[0].Rows {
		var x struct{ Bucket int }
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatal(err)
		}
		out[x.Bucket]++
	}
	return out
}

// bucketsHere is how many rows are in which bucket.
func (tab table) bucketsHere(t testing.TB) map[int]int64 {
	t.Helper()
	p, err := tab.open(t).Scan(tarn.ScanOptions{}).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	splits, err := p.Splits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]int64{}
	for _, s := range splits {
		out[s.Bucket] += s.Rows
	}
	return out
}
