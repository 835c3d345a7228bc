package demo

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/tarnlake/tarn/types"
)

// A second shop of the same seed makes the same changes, which is what a restart relies on.
func TestSameSeedSameChanges(t *testing.T) {
	a, b := New(7, 5000), New(7, 5000)
	n := 0
	for {
		x, ok := a.Next()
		y, ok2 := b.Next()
		if ok != ok2 || !reflect.DeepEqual(x, y) {
			t.Fatalf("change %d: %v and %v", n, x, y)
		}
		if !ok {
			break
		}
		n++
	}
	if n < 5000 {
		t.Fatalf("%d changes, want at least 5000", n)
	}
}

// What the lake has to hold is what a plain replay of the changes gives.
func TestExpectedIsAReplay(t *testing.T) {
	s := New(1, 20000)
	type tab struct {
		key  []string
		rows map[string]map[string]types.Datum
	}
	tabs := map[string]*tab{}
	ddl := map[string]int{}
	names := map[string][]string{}
	for {
		c, ok := s.Next()
		if !ok {
			break
		}
		if c.DDL != nil {
			ddl[c.DDL.Text]++
			if tabs[c.Table] == nil {
				tabs[c.Table] = &tab{key: c.DDL.Table.PrimaryKey, rows: map[string]map[string]types.Datum{}}
			}
			var n []string
			for _, f := range c.DDL.Table.Fields {
				n = append(n, f.Name)
			}
			names[c.Database+"."+c.Table] = n
			continue
		}
		tb := tabs[c.Table]
		cols := names[c.Database+"."+c.Table]
		if len(cols) != len(c.Row) {
			t.Fatalf("%s has %d columns, row %v", c.Table, len(cols), c.Row)
		}
		m := map[string]types.Datum{}
		for i, v := range c.Row {
			m[cols[i]] = v
		}
		var key []types.Datum
		for _, k := range tb.key {
			key = append(key, m[k])
		}
		k := keyText(key)
		if c.Kind == types.Delete {
			if tb.rows[k] == nil {
				t.Fatalf("delete of %s %v that is not there", c.Table, key)
			}
			delete(tb.rows, k)
		} else {
			tb.rows[k] = m
		}
	}
	for _, text := range []string{"ALTER TABLE customers ADD COLUMN phone VARCHAR(32)", "ALTER TABLE products MODIFY COLUMN stock BIGINT", "CREATE TABLE shipments"} {
		if ddl[text] != 1 {
			t.Errorf("%s happened %d times", text, ddl[text])
		}
	}
	if n := ddl["ALTER TABLE orders RENAME COLUMN note TO remark"]; n != 2 {
		t.Errorf("rename in %d shards, want 2", n)
	}
	for _, d := range s.Expected() {
		tb := tabs[d.Name]
		if len(d.Rows) != len(tb.rows) || len(d.Rows) == 0 {
			t.Errorf("%s: %d rows, replay has %d", d.Name, len(d.Rows), len(tb.rows))
		}
		for _, row := range d.Rows {
			m := map[string]types.Datum{}
			for i, v := range row {
				m[d.Columns[i]] = v
			}
			var key []types.Datum
			for _, k := range tb.key {
				key = append(key, m[k])
			}
			want := tb.rows[keyText(key)]
			for c, v := range m {
				if v != want[c] {
					t.Fatalf("%s %v column %s: %v, replay has %v", d.Name, key, c, v, want[c])
				}
			}
		}
	}
}

func keyText(vals []types.Datum) string { return fmt.Sprint(vals) }
