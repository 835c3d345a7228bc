package interop

import (
	"fmt"
	"strings"
	"testing"
)

// TestOrderOfElements: lists that are folded as sets have the same order whoever has folded them, whatever the elements and however
// many: in the writer, by the reader, by a compaction, with elements that are taken back.
func TestOrderOfElements(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	elements := []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(18,6)", "DECIMAL(38,10)", "DECIMAL(19,0)",
		"CHAR(20)", "STRING", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(9)",
	}
	d := definition{key: []string{"k"}, columns: []column{{name: "k", typ: "INT NOT NULL"}}, options: map[string]string{"bucket": "1", "write-only": "true", "merge-engine": "aggregation"}}
	add := func(name, typ string, options ...string) {
		d.columns = append(d.columns, column{name: name, typ: typ})
		for _, o := range options {
			k, v, _ := strings.Cut(o, "=")
			d.options["fields."+name+"."+k] = v
		}
	}
	for i, e := range elements {
		add(fmt.Sprintf("c%d", i), "ARRAY<"+e+">", "aggregate-function=collect", "distinct=true")
		add(fmt.Sprintf("n%d", i), "ARRAY<ROW<x "+e+",y INT>>", "aggregate-function=nested_update", "nested-key=x")
	}
	for i, e := range elements {
		add(fmt.Sprintf("m%d", i), "MAP<"+e+" NOT NULL,INT>", "aggregate-function=merge_map")
	}
	add("times", "MAP<STRING NOT NULL,ROW<v INT,at STRING>>", "aggregate-function=merge_map_with_keytime", "ignore-retract=true")
	add("many", "ARRAY<STRING>", "aggregate-function=collect", "distinct=true")
	add("rows", "ARRAY<ROW<x INT,y STRING,z BIGINT>>", "aggregate-function=nested_update", "nested-key=y,x")
	add("parts", "ARRAY<ROW<x BIGINT,y STRING>>", "aggregate-function=nested_partial_update", "nested-key=x", "ignore-retract=true")
	for n, order := range [][]side{{java}, {here}, {here, java}} {
		turn := turns(order...)
		tab := l.create(t, turn(), fmt.Sprintf("d.order%d", n), d)
		fields := tab.fields(t)
		for c := range 6 {
			var rows []row
			for k := range 8 {
				i := k*5 + c*11
				given := map[string]string{"k": fmt.Sprint(k)}
				var many, nested, parts, times []string
				for e := range (k*7 + c*3) % 23 {
					x := i*31 + e*e*17%101
					many = append(many, fmt.Sprintf(`"e%d"`, x))
					nested = append(nested, fmt.Sprintf(`{"x":%d,"y":"y%d","z":%d}`, x%40, x%3, c))
					times = append(times, fmt.Sprintf(`["k%d",{"v":%d,"at":"t%d"}]`, e*7, c, (c*e)%5))
					parts = append(parts, fmt.Sprintf(`{"x":%d,"y":%s}`, x*99991, []string{"null", `"a"`}[e%2]))
				}
				given["times"] = "[" + strings.Join(times, ",") + "]"
				given["many"], given["rows"], given["parts"] = "["+strings.Join(many, ",")+"]", "["+strings.Join(nested, ",")+"]", "["+strings.Join(parts, ",")+"]"
				for at, f := range fields {
					// A list that is folded with NULL only stays as it is before 2.0, with all rows of a key.
					if strings.HasPrefix(f.Name, "n") && value(f.Type, i+at) == "null" {
						given[f.Name] = "[]"
					}
				}
				r := row{object: rowOf(fields, i, given)}
				if c == 4 && k%3 == 1 {
					r.kind = "-U"
				}
				rows = append(rows, r)
			}
			tab.write(t, turn(), rows...)
			tab.same(t, fmt.Sprintf("%v %d", order, c), nil)
			if c%3 == 2 {
				tab.compact(t, turn())
				tab.same(t, fmt.Sprintf("%v %d compacted", order, c), nil)
			}
		}
	}
}
