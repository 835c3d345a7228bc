package interop

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// TestPartialUpdates lets both sides write parts of the rows of the same keys, in turn and alone: without groups, with
// groups of one and of two columns as sequence, with aggregates in them, with deletes of each kind. The rows are the
// same whoever wrote and compacted, before and after.
func TestPartialUpdates(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	groups := map[string]string{"fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c"}
	for n, x := range []struct {
		options map[string]string
		groups  bool
		kinds   []string
	}{
		{nil, false, []string{"+I", "+U"}},
		{map[string]string{"ignore-delete": "true"}, false, []string{"+I", "-D", "-U"}},
		{map[string]string{"partial-update.remove-record-on-delete": "true", "sequence.field": "g"}, false, []string{"+I", "-D", "+U", "-U"}},
		{map[string]string{"sequence.field": "h", "sequence.field.sort-order": "descending"}, true, []string{"+I", "-D", "+U", "-U", "+I"}},
		{nil, true, []string{"+I", "+U", "+I", "-D", "-U"}},
		{map[string]string{"partial-update.remove-record-on-sequence-group": "g,i"}, true, []string{"+I", "-D", "+U", "-U", "+I"}},
		{map[string]string{"fields.default-aggregate-function": "last_non_null_value", "fields.b.aggregate-function": "sum", "fields.c.aggregate-function": "last_value"}, true, []string{"+I", "+I", "-D", "+U", "-U"}},
		{map[string]string{"partial-update.remove-record-on-sequence-group": "h", "fields.b.aggregate-function": "sum"}, true, []string{"+I", "-D", "+U", "+U", "-U"}},
	} {
		d := definition{key: []string{"k"}, options: map[string]string{"bucket": "1", "write-only": "true", "merge-engine": "partial-update"}, columns: []column{
			{name: "k", typ: "INT NOT NULL"},
			{name: "a", typ: "STRING"},
			{name: "g", typ: "INT"},
			{name: "b", typ: "INT"},
			{name: "c", typ: "ARRAY<INT>"},
			{name: "h", typ: "STRING"},
			{name: "d", typ: "DECIMAL(20,3)"},
			{name: "i", typ: "TIMESTAMP(9)"},
		}}
		maps.Copy(d.options, x.options)
		if x.groups {
			maps.Copy(d.options, groups)
		}
		var first []string
		for i, order := range [][]side{{java}, {here}, {here, java}} {
			turn := turns(order...)
			tab := l.create(t, turn(), fmt.Sprintf("d.partial%d_%d", n, i), d)
			var states []string
			for c := range 6 {
				tab.write(t, turn(), parts(c, x.kinds)...)
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
				t.Errorf("%v: rows of Java alone (-), of %v (+)\n%s", d.options, order, differences(slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(states))))
			}
		}
	}
}

// parts are the rows of the c-th commit, no key twice.
func parts(c int, kinds []string) []row {
	pick := func(i int, values ...string) string { return values[i%len(values)] }
	var out []row
	for k := range 60 {
		i := k*11 + c*7
		if i%5 == 3 {
			continue
		}
		out = append(out, row{kind: pick(i/3+c*k, kinds...), object: fmt.Sprintf(`{"k":%d,"a":%s,"g":%s,"b":%s,"c":%s,"h":%s,"d":%s,"i":%s}`, k,
			pick(i+c, "null", fmt.Sprintf(`"a%d"`, c), `""`), pick(i/2, "1", "null", "2", "-1", "2147483647", "2"), pick(i/3+c, fmt.Sprint(c), "null", "100"),
			pick(i/4, "null", fmt.Sprintf("[%d,null]", c), "[]"), pick(i/5, "null", `"a"`, `"b"`, `""`), pick(i/7, `"-0.001"`, "null", fmt.Sprintf(`"%d.000"`, c)),
			pick(i/3, "null", `"1969-12-31T23:59:59.999999999"`, `"1970-01-01T00:00:00.000000000"`))})
	}
	return out
}
