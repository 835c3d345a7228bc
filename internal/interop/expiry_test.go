package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// TestRecordExpiry lets both sides compact tables with rows that have expired, of all types that tell the age of a row: the same
// rows go, whoever compacted, as they are written and when the option comes to a table that was compacted before.
func TestRecordExpiry(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for n, x := range []struct{ typ, old, young string }{
		{"INT", "1000000000", "2147483647"},
		{"BIGINT", "1000000000", "4102444800"},
		{"BIGINT", "1000000000000", "4102444800000"},
		{"TIMESTAMP(0)", `"2001-01-01T00:00:00.000000000"`, `"2100-01-01T00:00:00.000000000"`},
		{"TIMESTAMP(6)", `"1969-12-31T23:59:59.999999000"`, `"2100-01-01T00:00:00.000000000"`},
		{"TIMESTAMP(9)", `"0001-01-01T00:00:00.000000001"`, `"9999-01-01T00:00:00.000000000"`},
		{"TIMESTAMP_LTZ(3)", `"2001-01-01T00:00:00.000000000Z"`, `"2100-01-01T00:00:00.000000000Z"`},
	} {
		if !tarntest.Size().Product && n%3 != 0 {
			continue
		}
		expire := []change{setOption("record-level.expire-time", "1 d"), setOption("record-level.time-field", "at")}
		for _, late := range []bool{false, true} {
			var first []string
			for i, order := range [][]side{{java}, {here}, {here, java}, {java, here}} {
				turn := turns(order...)
				d := definition{
					key: []string{"k"}, columns: []column{{name: "k", typ: "INT NOT NULL"}, {name: "at", typ: x.typ}, {name: "v", typ: "INT"}},
					options: map[string]string{"bucket": "1", "write-only": "true"},
				}
				tab := l.create(t, turn(), fmt.Sprintf("d.expiry%d_%v_%d", n, late, i), d)
				if !late {
					tab.alter(t, turn(), expire...)
				}
				var states []string
				for c := range 3 {
					var rows []row
					for k := range 12 {
						r := row{object: fmt.Sprintf(`{"k":%d,"at":%s,"v":%d}`, k, []string{x.old, x.young, "null", x.young}[(k/2+c)%4], c)}
						if (k+c)%6 == 5 {
							r.kind = "-D"
						}
						if (k+c)%5 != 4 {
							rows = append(rows, r)
						}
					}
					tab.write(t, turn(), rows...)
					tab.same(t, "written", nil)
					if c > 0 {
						tab.compact(t, turn())
						states = append(states, tab.same(t, "compacted", nil)...)
					}
				}
				if late {
					tab.alter(t, turn(), expire...)
					tab.same(t, "before it is compacted", nil)
					tab.compact(t, turn())
					states = append(states, tab.same(t, "compacted once more", nil)...)
				}
				tab.sound(t)
				if first == nil {
					first = states
				} else if !slices.Equal(states, first) {
					t.Errorf("%s, late %v, compacted by %v: Java alone (-), these (+)\n%s", x.typ, late, order, differences(slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(states))))
				}
				if s := states[len(states)-1]; len(states) == 0 || strings.Contains(s, x.old) {
					t.Errorf("%s: %s has expired and is there", x.typ, s)
				}
			}
		}
	}
}

func setOption(key, value string) change {
	return change{tarntest.Command{"change": "setOption", "key": key, "value": value}, tarn.SetOption{Key: key, Value: value}}
}
