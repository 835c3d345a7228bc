package interop

import (
	"fmt"
	"strings"
	"testing"
)

// TestDefaults: what stands in for a value that a row lacks is the same on both sides, for defaults that
// a table is made with, and for those given and taken to columns later.
func TestDefaults(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	cols := []column{{name: "k", typ: "INT NOT NULL"}}
	var later []change
	for i, x := range []struct{ typ, def string }{
		{"BOOLEAN", "true"},
		{"TINYINT", "-128"},
		{"INT", "42"},
		{"BIGINT", "-9223372036854775808"},
		{"FLOAT", "1.5"},
		{"DOUBLE", "-0.1"},
		{"DECIMAL(10,2)", "12.5"},
		{"DECIMAL(30,5)", "-1"},
		{"CHAR(5)", "abc"},
		{"VARCHAR(9)", "hé漢"},
		{"STRING", "none of it"},
		{"STRING", "😀 'quoted'"},
		{"DATE", "1969-12-31"},
		{"TIME(3)", "12:34:56.789"},
		{"TIMESTAMP(3)", "1969-12-31 23:59:59.123"},
		{"TIMESTAMP(6)", "2024-02-29 12:34:56"},
		{"BYTES", "abc"},
		{"BINARY(4)", "ab"},
		{"BINARY(1)", "ab"},
		{"VARBINARY(2)", "abc"},
		{"VARCHAR(3)", "漢字かな"},
		{"VARCHAR(3)", "😀😀😀😀"},
		{"CHAR(2)", "abc"},
		{"STRING", "'quoted'"},
		{"CHAR(5)", "'a'"},
		{"INT", "'7'"},
		{"STRING", "''"},
		{"DATE", "'2024-02-29'"},
		{"BOOLEAN", "yes"},
		{"BIGINT", "1.9"},
		{"DECIMAL(4,1)", "1.25"},
	} {
		name := fmt.Sprintf("c%d", i)
		if i%2 == 0 {
			cols = append(cols, column{name, x.typ, x.def})
		} else {
			cols = append(cols, column{name, x.typ, ""})
			later = append(later, updateDefault(name, x.def))
		}
	}
	for _, by := range sides {
		for _, key := range []bool{true, false} {
			d := definition{columns: cols, options: map[string]string{}}
			if key {
				d.key, d.options["bucket"] = []string{"k"}, "1"
			}
			tab := l.create(t, by, fmt.Sprintf("d.default_%s_%t", by, key), d)
			tab.write(t, by, inserts(`{"k":1}`)...)
			tab.write(t, !by, inserts(`{"k":2}`)...)
			tab.alter(t, by, later...)
			tab.write(t, by, inserts(`{"k":3}`)...)
			tab.write(t, !by, inserts(`{"k":4}`)...)
			tab.alter(t, !by, updateDefault("c0", "false"), renameColumn("c2", "x"))
			tab.write(t, by, inserts(`{"k":5}`)...)
			tab.write(t, !by, inserts(`{"k":6}`)...)
			rows := tab.same(t, "defaults", nil)
			for i := 0; i+1 < len(rows); i += 2 {
				a, b := strings.Replace(rows[i], fmt.Sprintf(`"k":%d`, i+1), "", 1), strings.Replace(rows[i+1], fmt.Sprintf(`"k":%d`, i+2), "", 1)
				if a != b {
					t.Errorf("%s: a row of %s has %s, one of %s %s", tab.name, by, a, !by, b)
				}
			}
			if strings.Contains(rows[5], "null") || !strings.Contains(rows[5], `"c0":false`) {
				t.Errorf("%s: %s", tab.name, rows[5])
			}
		}
	}
}
