package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/tarntest"
)

// TestVersions lets both sides write versions of the same keys, in turn and alone, to tables whose options say which
// version is the newest and what a delete does: one or several columns as sequence, both orders, kinds of rows in
// a column, deletes that are ignored. The rows are the same whoever wrote and compacted, before and after.
func TestVersions(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	n, m := 0, 0
	for _, sequence := range []string{"", "a", "b,t", "t,d,b"} {
		for _, order := range []string{"ascending", "descending"} {
			if sequence == "" && order == "descending" {
				continue
			}
			m++
			for i, more := range []map[string]string{nil, {"ignore-delete": "true"}, {"rowkind.field": "kind"}, {"rowkind.field": "kind", "ignore-delete": "true"}, {"ignore-update-before": "true"}} {
				if !tarntest.Size().Product && i != m%5 {
					continue
				}
				n++
				d := definition{key: []string{"k"}, columns: []column{
					{name: "k", typ: "INT NOT NULL"},
					{name: "v", typ: "INT"},
					{name: "kind", typ: "STRING"},
					{name: "a", typ: "INT"},
					{name: "b", typ: "STRING"},
					{name: "t", typ: "TIMESTAMP(9)"},
					{name: "d", typ: "DECIMAL(20,3)"},
				}, options: map[string]string{"bucket": "1", "write-only": "true"}}
				if sequence != "" {
					d.options["sequence.field"], d.options["sequence.field.sort-order"] = sequence, order
				}
				for k, v := range more {
					d.options[k] = v
				}
				var first []string
				for i, order := range [][]side{{java}, {here}, {here, java}} {
					turn := turns(order...)
					tab := l.create(t, turn(), fmt.Sprintf("d.versions%d_%d", n, i), d)
					var states []string
					for c := range 4 {
						tab.write(t, turn(), versions(c, more["rowkind.field"] != "")...)
						if c == 1 || c == 3 {
							rows := tab.same(t, "written", nil)
							tab.compact(t, turn()) // forgets deletes, so all do it
							tab.same(t, "compacted", rows)
							states = append(states, rows...)
						}
					}
					if first == nil {
						first = states
						continue
					}
					if !slices.Equal(states, first) {
						t.Errorf("sequence %q %s, %v: rows of Java alone (-), of %v (+)\n%s", sequence, d.options["sequence.field.sort-order"], more, order, differences(slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(states))))
					}
				}
			}
		}
	}
}

// versions are the rows of the c-th commit: no key twice, as the reference's write buffer takes the largest of them
// where the smallest is meant.
func versions(c int, kinds bool) []row {
	pick := func(i int, values ...string) string { return values[i%len(values)] }
	var out []row
	for k := range 24 {
		i := k*7 + c*5
		if i%4 == 3 {
			continue
		}
		kind := pick(i/2+c, "+I", "+U", "-D", "+I", "-U")
		r := row{object: fmt.Sprintf(`{"k":%d,"v":%d,"kind":"+I","a":%s,"b":%s,"t":%s,"d":%s}`, k, c,
			pick(i, "null", "1", "-1", "2147483647", "-2147483648", "1", "0"), pick(i/3, `""`, `"é"`, `"z"`, "null", `"a"`, `"aaaaaaaaaaaaaaaaaaaaaaaa"`),
			pick(i/2, `"1969-12-31T23:59:59.999999999"`, `"1970-01-01T00:00:00.000000000"`, "null", `"0001-01-01T00:00:00.000000001"`, `"9999-12-31T23:59:59.999999999"`),
			pick(i/5, `"-0.001"`, "null", `"99999999999999999.999"`, `"0.000"`, `"-99999999999999999.999"`))}
		if kinds {
			r.object = strings.Replace(r.object, `"kind":"+I"`, fmt.Sprintf(`"kind":%q`, kind), 1)
		} else {
			r.kind = kind
		}
		out = append(out, r)
	}
	return out
}
