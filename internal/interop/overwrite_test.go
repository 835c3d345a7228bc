package interop

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestOverwrite lets both sides overwrite the same rows in the same way: with and without a partition,
// one that is named in part, with the option and without, by rows and by none.
func TestOverwrite(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	text := func(s string) *string { return &s }
	d := definition{
		columns:    []column{{name: "k", typ: "INT NOT NULL"}, {name: "a", typ: "INT"}, {name: "b", typ: "STRING"}},
		partitions: []string{"a", "b"},
	}
	first := inserts(`{"k":1,"a":1,"b":"x"}`, `{"k":2,"a":1,"b":"y"}`, `{"k":3,"a":2,"b":"x"}`, `{"k":4,"a":null,"b":"x"}`, `{"k":5,"a":1,"b":null}`)
	second := inserts(`{"k":6,"a":1,"b":"x"}`, `{"k":7,"a":1,"b":"x"}`)
	n := 0
	for _, key := range []bool{false, true} {
		for _, partition := range []map[string]*string{nil, {"a": text("1")}, {"a": text("1"), "b": text("x")}, {"b": text("x")}} {
			for _, static := range []bool{false, true} {
				for _, rows := range [][]row{second, nil} {
					var results [][]string
					var names []string
					for _, by := range sides {
						n++
						d := d
						d.options = map[string]string{}
						if key {
							// Columns of a key are not NULL.
							d.key, d.options["bucket"] = []string{"a", "b", "k"}, "1"
						}
						tab := l.create(t, !by, fmt.Sprintf("d.o%d", n), d)
						if key {
							tab.write(t, by, first[:3]...)
						} else {
							tab.write(t, by, first...)
						}
						tab.overwrite(t, by, partition, static, rows...)
						spec, err := json.Marshal(partition)
						if err != nil {
							t.Fatal(err)
						}
						what := fmt.Sprintf("partition %s, static %v, %d rows, by %s", spec, static, len(rows), by)
						results = append(results, tab.same(t, what, nil))
						names = append(names, what)
						tab.sound(t)
					}
					if d := differences(results[1], results[0]); d != "" {
						t.Errorf("%s (+) differs from %s (-)\n%s", names[0], names[1], d)
					}
				}
			}
		}
	}
}
