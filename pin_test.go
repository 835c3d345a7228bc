package tarn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tarnlake/tarn"
)

// What is pinned reads one snapshot whatever is committed later, with the columns that belong to it, and the newest after that
// snapshot has expired.
func TestPin(t *testing.T) {
	ctx := t.Context()
	c := open(t)
	tab, err := c.CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("id", "INT"), PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	pin := func(opts map[string]string) *tarn.Table {
		t.Helper()
		now, err := c.Table(ctx, "d.t")
		if err == nil {
			now, err = now.With(ctx, opts)
		}
		if err == nil {
			now, err = now.Pin(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	want := func(tab *tarn.Table, rows ...string) {
		t.Helper()
		got := read(t, tab, tarn.ScanOptions{})
		slices.Sort(got)
		if !slices.Equal(got, rows) {
			t.Errorf("got %v, want %v", got, rows)
		}
	}
	empty := pin(nil)
	write(t, tab, []string{`{"id":1}`})
	one := pin(nil)
	write(t, tab, []string{`{"id":2}`})
	if err := tab.Alter(ctx, tarn.AddColumn{Path: []string{"v"}, Type: fields("v", "INT")[0].Type}); err != nil {
		t.Fatal(err)
	}
	past := pin(map[string]string{"scan.snapshot-id": "2"})
	two := pin(nil)
	if tab, err = c.Table(ctx, "d.t"); err != nil {
		t.Fatal(err)
	}
	write(t, tab, []string{`{"id":3,"v":3}`})
	want(empty)
	want(one, `{"id":1}`)
	want(past, `{"id":1}`, `{"id":2}`)
	want(two, `{"id":1,"v":null}`, `{"id":2,"v":null}`)
	if got, err := past.Fields(); err != nil || len(got) != 1 {
		t.Errorf("columns of the past: %v, %v", got, err)
	}
	for i := range 3 {
		write(t, tab, []string{fmt.Sprintf(`{"id":%d,"v":4}`, 4+i)})
	}
	if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	// Of another catalog, which has nothing in memory.
	c2, err := tarn.Open(ctx, c.Warehouse(), nil)
	if err != nil {
		t.Fatal(err)
	}
	late, err := c2.Table(ctx, "d.t")
	if err == nil {
		late, err = late.Pin(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, tab, []string{`{"id":1,"v":1}`})
	if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.ExpireSnapshots(ctx, tarn.ExpireOptions{RetainMin: 1, RetainMax: 1}); err != nil {
		t.Fatal(err)
	}
	want(late, `{"id":1,"v":1}`, `{"id":2,"v":null}`, `{"id":3,"v":3}`, `{"id":4,"v":4}`, `{"id":5,"v":4}`, `{"id":6,"v":4}`)
	if _, err := pin(nil).With(ctx, map[string]string{"scan.snapshot-id": "1"}); err != nil {
		t.Error(err)
	}
}
