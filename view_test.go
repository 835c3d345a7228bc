package tarn_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
)

// viewed opens a system table.
func viewed(t testing.TB, c *tarn.Catalog, name string, o map[string]string) *tarn.Table {
	t.Helper()
	tab, err := c.Table(t.Context(), name)
	if err == nil {
		tab, err = tab.With(t.Context(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// viewRows reads a table in order.
func viewRows(t testing.TB, tab *tarn.Table, o tarn.ScanOptions) []string {
	t.Helper()
	o.Ordered = true
	p, err := tab.Scan(o).Plan(t.Context())
	return told(t, p, err)
}

// $ro has the rows of the highest level, $audit_log and $binlog what a merge leaves of each key, with its kind.
func TestViewsOfRows(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k INT, v STRING", "k", opts{"bucket": "1", "table-read.sequence-number.enabled": "true"})
	if got := viewRows(t, viewed(t, c, "d.t$audit_log", nil), tarn.ScanOptions{}); len(got) > 0 {
		t.Errorf("of no snapshot: %q", got)
	}
	write(t, tab, []string{`{"k":1,"v":"a"}`, `{"k":2,"v":"b"}`, `{"k":3,"v":null}`})
	if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	write(t, tab, []string{`{"_kind":"+U","k":1,"v":"A"}`, `{"_kind":"-D","k":2,"v":"b"}`})
	where := func(p predicate.Predicate) tarn.ScanOptions { return tarn.ScanOptions{Filter: p} }
	for _, x := range []struct {
		table string
		o     tarn.ScanOptions
		want  []string
	}{
		{"d.t$ro", tarn.ScanOptions{}, []string{`+I{"k":1,"v":"a"}`, `+I{"k":2,"v":"b"}`, `+I{"k":3,"v":null}`}},
		{"d.t$ro", where(predicate.Equal("v", "a")), []string{`+I{"k":1,"v":"a"}`}},
		{"d.t$ro", where(predicate.Equal("v", "A")), nil},
		{"d.t$audit_log", tarn.ScanOptions{}, []string{
			`+I{"rowkind":"+U","_SEQUENCE_NUMBER":3,"k":1,"v":"A"}`, `+I{"rowkind":"-D","_SEQUENCE_NUMBER":4,"k":2,"v":"b"}`, `+I{"rowkind":"+I","_SEQUENCE_NUMBER":2,"k":3,"v":null}`,
		}},
		{"d.t$AUDIT_LOG", tarn.ScanOptions{Columns: []string{"v", "rowkind"}, Limit: 2}, []string{`+I{"v":"A","rowkind":"+U"}`, `+I{"v":"b","rowkind":"-D"}`}},
		{"d.t$audit_log", tarn.ScanOptions{Columns: []string{"rowkind"}, Filter: predicate.Equal("v", "b")}, []string{`+I{"rowkind":"-D"}`}},
		{"d.t$audit_log", tarn.ScanOptions{Columns: []string{"k"}, Filter: predicate.All(predicate.NotEqual("rowkind", "-D"), predicate.Greater("k", 0)), Limit: 1}, []string{`+I{"k":1}`}},
		{"d.t$audit_log", tarn.ScanOptions{Columns: []string{"k"}, Filter: predicate.Any(predicate.Equal("rowkind", "-D"), predicate.Equal("_SEQUENCE_NUMBER", 2))}, []string{`+I{"k":2}`, `+I{"k":3}`}},
		{"d.t$binlog", tarn.ScanOptions{Columns: []string{"rowkind", "k", "v"}}, []string{`+I{"rowkind":"+U","k":[1],"v":["A"]}`, `+I{"rowkind":"-D","k":[2],"v":["b"]}`, `+I{"rowkind":"+I","k":[3],"v":[null]}`}},
	} {
		if got := viewRows(t, viewed(t, c, x.table, nil), x.o); !slices.Equal(got, x.want) {
			t.Errorf("%s %+v: %q, want %q", x.table, x.o, got, x.want)
		}
	}
	old := viewRows(t, viewed(t, c, "d.t$audit_log", map[string]string{"scan.snapshot-id": "1"}), tarn.ScanOptions{Columns: []string{"rowkind", "k"}})
	if want := []string{`+I{"rowkind":"+I","k":1}`, `+I{"rowkind":"+I","k":2}`, `+I{"rowkind":"+I","k":3}`}; !slices.Equal(old, want) {
		t.Errorf("of the first snapshot: %q", old)
	}
	if _, err := viewed(t, c, "d.t$audit_log", nil).NewWriter(t.Context(), nil); err == nil {
		t.Error("$audit_log can be written")
	}
}

// The rows of a table without a key are the same in all views.
func TestViewsOfAppendTables(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k INT, v STRING, p INT", "", nil, "p")
	write(t, tab, []string{`{"k":1,"v":"a","p":1}`}, []string{`{"k":2,"v":"b","p":2}`})
	for _, x := range []struct {
		table string
		want  []string
	}{
		{"d.t$ro", []string{`+I{"k":1,"p":1}`, `+I{"k":2,"p":2}`}},
		{"d.t$audit_log", []string{`+I{"k":1,"p":1}`, `+I{"k":2,"p":2}`}},
		{"d.t$binlog", []string{`+I{"k":[1],"p":[1]}`, `+I{"k":[2],"p":[2]}`}},
	} {
		if got := viewRows(t, viewed(t, c, x.table, nil), tarn.ScanOptions{Columns: []string{"k", "p"}}); !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", x.table, got, x.want)
		}
	}
	p, err := viewed(t, c, "d.t$audit_log", nil).Scan(tarn.ScanOptions{Filter: predicate.Equal("p", 2)}).Plan(t.Context())
	if err != nil || p.Parts() != 1 {
		t.Errorf("partitions that do not match are read: %v, %v", p, err)
	}
	_, err = c.CreateTable(t.Context(), "d.s", tarn.TableDef{Fields: fields("a", "INT"), Options: map[string]string{"table-read.sequence-number.enabled": "true"}})
	if !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("sequence numbers of rows without a key: %v", err)
	}
}

// The changes of a view tell kinds in a column; -U and +U are one row of $binlog.
func TestChangesOfViews(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k INT, v INT", "k", opts{"bucket": "1", "changelog-producer": "input"})
	write(t, tab, []string{`{"k":1,"v":1}`, `{"k":2,"v":1}`},
		[]string{`{"_kind":"-U","k":1,"v":1}`, `{"_kind":"+U","k":1,"v":2}`, `{"_kind":"-D","k":2,"v":1}`, `{"_kind":"-U","k":1,"v":2}`},
		[]string{`{"_kind":"+U","k":1,"v":3}`})
	for table, want := range map[string][]string{
		"d.t$audit_log": {
			`1+I{"rowkind":"+I","k":1,"v":1}`, `1+I{"rowkind":"+I","k":2,"v":1}`,
			`2+I{"rowkind":"-U","k":1,"v":1}`, `2+I{"rowkind":"+U","k":1,"v":2}`, `2+I{"rowkind":"-U","k":1,"v":2}`, `2+I{"rowkind":"-D","k":2,"v":1}`,
			`3+I{"rowkind":"+U","k":1,"v":3}`,
		},
		"d.t$binlog": {
			`1+I{"rowkind":"+I","k":[1],"v":[1]}`, `1+I{"rowkind":"+I","k":[2],"v":[1]}`,
			`2+I{"rowkind":"+U","k":[1,1],"v":[1,2]}`, `2+I{"rowkind":"-U","k":[1],"v":[2]}`, `2+I{"rowkind":"-D","k":[2],"v":[1]}`,
			`3+I{"rowkind":"+U","k":[1],"v":[3]}`,
		},
	} {
		for _, rows := range []int{0, 1, 2} {
			if got := followed(t, viewed(t, c, table, nil), tarn.ScanOptions{BatchRows: rows}, 0); !slices.Equal(got, want) {
				t.Errorf("%s, %d rows in a batch: %q", table, rows, got)
			}
		}
	}
	if got, want := followed(t, viewed(t, c, "d.t$audit_log", nil), tarn.ScanOptions{Columns: []string{"v"}, Filter: predicate.Equal("rowkind", "+U")}, 1), []string{`2+I{"v":2}`, `3+I{"v":3}`}; !slices.Equal(got, want) {
		t.Errorf("updates: %q", got)
	}
	p, err := viewed(t, c, "d.t$audit_log", nil).Scan(tarn.ScanOptions{}).Start(t.Context(), 2)
	if got := told(t, p, err); fmt.Sprint(got) != `[+I{"rowkind":"-U","k":1,"v":2} +I{"rowkind":"-D","k":2,"v":1}]` {
		t.Errorf("start: %q", got)
	}
	for _, view := range []string{"d.t$ro", "d.t$files"} {
		if _, err := viewed(t, c, view, nil).Scan(tarn.ScanOptions{}).Changes(t.Context(), 1); !errors.Is(err, tarn.ErrUnsupported) {
			t.Errorf("changes of %s: %v", view, err)
		}
	}
}
