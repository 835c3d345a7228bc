package interop

import (
	"fmt"
	"testing"
)

// TestMergeEnginesEvolve: columns of the merge engines are renamed, widened and added between commits of both sides; functions and groups
// go with their columns, and the rows stay the same whoever compacts.
func TestMergeEnginesEvolve(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	columns := []column{{name: "k", typ: "INT NOT NULL"}, {name: "g", typ: "INT"}, {name: "s", typ: "INT"}, {name: "l", typ: "STRING"}, {name: "x", typ: "INT"}}
	for name, options := range map[string]map[string]string{
		"aggregation": {"merge-engine": "aggregation", "fields.s.aggregate-function": "sum", "fields.l.aggregate-function": "listagg", "fields.x.aggregate-function": "max"},
		"partial":     {"merge-engine": "partial-update", "fields.g.sequence-group": "s,l", "fields.s.aggregate-function": "sum"},
		"first":       {"merge-engine": "first-row"},
	} {
		options["bucket"] = "1"
		for i, order := range [][]side{{java, here}, {here, java}, {here}} {
			turn := turns(order...)
			tab := l.create(t, turn(), fmt.Sprintf("d.evolve_%s_%d", name, i), definition{key: []string{"k"}, columns: columns, options: options})
			sum, late := "s", ""
			write := func(n int) {
				for c := range 2 {
					var rows []row
					for k := range 9 {
						rows = append(rows, row{object: fmt.Sprintf(`{"k":%d,"g":%d,"%s":%d,"l":"%d","x":%d%s}`, k+n, (k+n*2+c)%4, sum, k*c+n, n, 5-n, late)})
					}
					tab.write(t, turn(), rows...)
				}
			}
			write(0)
			tab.alter(t, turn(), renameColumn("s", "sum"), updateType("sum", "BIGINT"))
			sum = "sum"
			tab.same(t, "renamed and widened", nil)
			write(1)
			tab.alter(t, turn(), addColumn("y", "DOUBLE", "first", ""))
			late = `,"y":0.5`
			write(2)
			rows := tab.same(t, "a new column", nil)
			for _, by := range order {
				tab.compact(t, by)
				tab.same(t, "compacted", rows)
			}
			write(3)
			tab.compact(t, turn())
			tab.same(t, "at the end", nil)
			tab.sound(t)
		}
	}
}
