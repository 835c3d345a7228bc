package interop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// aggregated is a column with an aggregate function.
type aggregated struct {
	typ, function string
	options       map[string]string // fields.<column>.…
	values        []string          // that rows have in turn
	retracts      bool              // the function can take values back
	set           bool              // an array whose order says nothing
}

// aggregates are columns for each aggregate function of the format. Sketches have a test of their own.
func aggregates() []aggregated {
	numbers := []string{"2", "-1", "null", "3", "1"}
	decimals := []string{`"2.50"`, `"-1.00"`, "null", `"0.30"`, `"7.01"`}
	out := []aggregated{}
	for _, typ := range []string{"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"} {
		out = append(out,
			aggregated{typ: typ, function: "sum", values: numbers, retracts: true},
			aggregated{typ: typ, function: "product", values: []string{"1", "-1", "null", "2", "1", "1"}, retracts: true},
			aggregated{typ: typ, function: "max", values: numbers},
		)
	}
	texts := []string{`"a"`, `"b,c"`, "null", `""`, `"c"`}
	list, sets := []string{"[1,2]", "[2,null,3]", "null", "[]", "[1]"}, map[string]string{"distinct": "true"}
	keyed := map[string]string{"nested-key": "a"}
	nested := "ARRAY<ROW<a INT,b STRING>>"
	rows := []string{`[{"a":1,"b":"x"},{"a":2,"b":null}]`, `[{"a":2,"b":"y"}]`, "null", `[{"a":1,"b":"x"}]`, `[]`, `[{"a":3,"b":"z"},{"a":1,"b":null}]`}
	return append(out,
		aggregated{typ: "DECIMAL(12,2)", function: "sum", values: decimals, retracts: true},
		aggregated{typ: "DECIMAL(38,2)", function: "sum", values: decimals, retracts: true},
		aggregated{typ: "DECIMAL(38,4)", function: "product", values: []string{`"2.0000"`, `"-1.0000"`, "null", `"0.5000"`}, retracts: true},
		aggregated{typ: "DECIMAL(38,2)", function: "min", values: decimals},
		aggregated{typ: "STRING", function: "max", values: []string{`"a"`, `"é"`, "null", `""`, `"b"`}},
		aggregated{typ: "CHAR(3)", function: "min", values: []string{`"abc"`, `"b  "`, "null", `"aa "`}},
		aggregated{typ: "DATE", function: "max", values: []string{`"2024-02-29"`, "null", `"1969-12-31"`}},
		aggregated{typ: "TIME(3)", function: "min", values: []string{`"12:34:56.789"`, "null", `"00:00:00.001"`}},
		aggregated{typ: "TIMESTAMP(9)", function: "max", values: []string{`"1969-12-31T23:59:59.999999999"`, "null", `"1970-01-01T00:00:00.000000001"`}},
		aggregated{typ: "TIMESTAMP_LTZ(3)", function: "min", values: []string{`"1969-12-31T23:59:59.999000000Z"`, "null", `"1970-01-01T00:00:00.001000000Z"`}},
		aggregated{typ: "BOOLEAN", function: "bool_and", values: []string{"true", "null", "true", "false"}},
		aggregated{typ: "BOOLEAN", function: "bool_or", values: []string{"false", "null", "false", "true"}},
		aggregated{typ: "STRING", function: "first_value", values: texts},
		aggregated{typ: "ROW<x INT,y STRING>", function: "first_non_null_value", values: []string{`{"x":1,"y":null}`, "null", `{"x":null,"y":"é"}`}},
		aggregated{typ: "MAP<STRING,INT>", function: "last_value", values: []string{`[["a",1]]`, "null", `[["b",null]]`}, retracts: true},
		aggregated{typ: "VARBINARY(4)", function: "last_non_null_value", values: []string{`"00ff"`, "null", `""`}, retracts: true},
		aggregated{typ: "STRING", function: "listagg", values: texts},
		aggregated{typ: "STRING", function: "listagg", options: map[string]string{"list-agg-delimiter": ";"}, values: texts},
		aggregated{typ: "STRING", function: "listagg", options: sets, values: texts},
		aggregated{typ: "ARRAY<INT>", function: "collect", values: list, retracts: true},
		aggregated{typ: "ARRAY<INT>", function: "collect", options: sets, values: list, retracts: true, set: true},
		aggregated{typ: nested, function: "collect", values: rows}, // Java cannot compare rows that it takes back
		aggregated{typ: "ARRAY<MAP<STRING,INT>>", function: "collect", options: sets, values: []string{`[[["a",1]],[["b",2]]]`, `[[["a",1]]]`, "null", `[[["a",2]]]`}, retracts: true, set: true},
		aggregated{typ: "MAP<STRING,INT>", function: "merge_map", values: []string{`[["a",1],["b",2]]`, `[["b",null]]`, "null", `[["c",3],["a",4]]`, "[]"}, retracts: true},
		aggregated{typ: "MAP<INT,ROW<v STRING,ts STRING>>", function: "merge_map_with_keytime", values: []string{
			`[[1,{"v":"a","ts":"2"}],[2,{"v":"b","ts":"1"}]]`, `[[1,{"v":"c","ts":"1"}]]`, "null", `[[2,{"v":"d","ts":"3"}]]`, `[[1,null]]`,
		}},
		aggregated{typ: nested, function: "nested_update", values: rows, retracts: true},
		aggregated{typ: nested, function: "nested_update", options: map[string]string{"count-limit": "4"}, values: rows, retracts: true},
		aggregated{typ: nested, function: "nested_update", options: keyed, values: rows, retracts: true, set: true},
		aggregated{typ: nested, function: "nested_partial_update", options: keyed, values: rows, set: true},
		aggregated{typ: "VARBINARY(65536)", function: "rbm32", values: []string{bitmap32(1, 2), "null", bitmap32(70000), bitmap32()}},
	)
}

// bitmap32 is a Roaring bitmap of numbers below 2^16, or above with all the same upper half, in the portable format.
func bitmap32(numbers ...uint32) string {
	if len(numbers) == 0 {
		return `"3a30000000000000"`
	}
	out := []byte{0x3a, 0x30, 0, 0, 1, 0, 0, 0}
	short := func(n int) { out = append(out, byte(n), byte(n>>8)) }
	short(int(numbers[0] >> 16))
	short(len(numbers) - 1)
	out = append(out, 16, 0, 0, 0)
	for _, n := range numbers {
		short(int(n & 0xffff))
	}
	return fmt.Sprintf(`"%x"`, out)
}

// TestAggregates: every aggregate function, in tables of the engine aggregation and in a sequence group of partial updates. Both
// sides write and compact in turn and alone; rows come late, have no sequence, are taken back. The rows are the same whoever wrote
// and compacted.
func TestAggregates(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for _, x := range []struct {
		name    string
		options map[string]string
		group   string // its sequence
		kinds   []string
	}{
		{"added", map[string]string{"merge-engine": "aggregation"}, "", []string{"+I", "+U"}},
		{"taken_back", map[string]string{"merge-engine": "aggregation"}, "", []string{"+I", "+I", "-U", "+U", "+I", "-D", "+I"}},
		{"in_order", map[string]string{"merge-engine": "aggregation", "sequence.field": "g"}, "", []string{"+I", "+I", "+U", "-D", "+I"}},
		{"removed", map[string]string{"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}, "", []string{"+I", "+I", "-D", "+U", "+I"}},
		{"ignored", map[string]string{"merge-engine": "aggregation", "ignore-delete": "true"}, "", []string{"+I", "-D", "-U", "+I"}},
		{"group", map[string]string{"merge-engine": "partial-update"}, "g", []string{"+I", "+U"}},
		{"group_taken", map[string]string{"merge-engine": "partial-update"}, "g", []string{"+I", "+I", "-U", "+U", "+I", "-D", "+I"}},
		{"group_removed", map[string]string{"merge-engine": "partial-update", "partial-update.remove-record-on-sequence-group": "g"}, "g", []string{"+I", "+I", "-D", "+U", "+I"}},
		{"group_of_two", map[string]string{"merge-engine": "partial-update"}, "g,h", []string{"+I", "+I", "-U", "+I"}},
	} {
		d := definition{
			key: []string{"k"}, options: map[string]string{"bucket": "1", "write-only": "true"},
			columns: []column{{name: "k", typ: "INT NOT NULL"}, {name: "g", typ: "INT"}, {name: "h", typ: "STRING"}},
		}
		maps.Copy(d.options, x.options)
		columns := aggregates()
		sets := map[string]bool{}
		var names []string
		for i := range columns {
			c := &columns[i]
			if (x.group != "" || x.name == "removed") && c.function == "first_non_null_value" { // Java loses the value where NULL comes late, or after a delete
				c.values = slices.DeleteFunc(c.values, func(v string) bool { return v == "null" })
			}
			n := fmt.Sprintf("c%d", i)
			names = append(names, n)
			sets[n] = c.set
			d.columns = append(d.columns, column{name: n, typ: c.typ})
			d.options["fields."+n+".aggregate-function"] = c.function
			for k, v := range c.options {
				d.options["fields."+n+"."+k] = v
			}
			if !c.retracts && x.name != "removed" && slices.ContainsFunc(x.kinds, func(k string) bool { return k[0] == '-' }) {
				d.options["fields."+n+".ignore-retract"] = "true"
			}
		}
		if x.group != "" {
			d.options["fields."+x.group+".sequence-group"] = strings.Join(names, ",")
		}
		var first []string
		for i, order := range [][]side{{java}, {here}, {here, java}} {
			turn := turns(order...)
			tab := l.create(t, turn(), fmt.Sprintf("d.aggregates_%s_%d", x.name, i), d)
			tab.sets = sets
			var states []string
			for c := range 6 {
				tab.write(t, turn(), aggregateRows(columns, c, x.kinds)...)
				if c%3 == 2 {
					rows := tab.same(t, "written", nil)
					tab.compact(t, turn())
					tab.same(t, "compacted", rows)
					states = append(states, rows...)
				}
			}
			if first == nil {
				first = states
			} else if !slices.Equal(states, first) {
				t.Errorf("%s: rows of Java alone (-), of %v (+)\n%s", x.name, order, differences(slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(states))))
			}
		}
	}
}

// aggregateRows are the rows of the n-th commit, no key twice.
func aggregateRows(columns []aggregated, n int, kinds []string) []row {
	var out []row
	for k := range 40 {
		at := k*7 + n*3
		if at%6 == 4 {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, `{"k":%d,"g":%s,"h":%s`, k, []string{"3", "1", "null", "2", "2"}[(k+n*n)%5], []string{`"a"`, "null", `"b"`}[(k+n)%3])
		for i, c := range columns {
			fmt.Fprintf(&b, `,"c%d":%s`, i, c.values[(at/2+i*n+k/3)%len(c.values)])
		}
		b.WriteByte('}')
		out = append(out, row{kind: kinds[(at/3+k)%len(kinds)], object: b.String()})
	}
	return out
}
