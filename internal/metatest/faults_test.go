package metatest

import (
	"slices"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// This file holds small histories that once went wrong.

// newTable makes a table in memory.
func newTable(t *testing.T, def tarn.TableDef) *tarn.Table {
	t.Helper()
	uri, unmount := mount(newFS())
	t.Cleanup(unmount)
	cat, err := tarn.Open(t.Context(), uri, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateDatabase(t.Context(), "d", nil); err != nil {
		t.Fatal(err)
	}
	tab, err := cat.CreateTable(t.Context(), "d.t", def)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// TestColumnRenamedOnly reads a file whose columns differ from those of the table in a name only.
func TestColumnRenamedOnly(t *testing.T) {
	cols := []column{{0, "a", types.MustParse("INT")}, {1, "b", types.MustParse("STRING NOT NULL")}}
	tab := newTable(t, tarn.TableDef{Fields: fieldsOf(cols)})
	if _, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) {
		yield(batchOf(t, cols, []row{{vals: map[int]string{0: "1", 1: "x"}}}), nil)
	}); err != nil {
		t.Fatal(err)
	}
	if err := tab.Alter(t.Context(), tarn.RenameColumn{Path: []string{"a"}, To: "c"}, tarn.UpdateNullability{Path: []string{"b"}}); err != nil {
		t.Fatal(err)
	}
	tab, err := tab.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := tab.Scan(tarn.ScanOptions{}).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range p.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got, want := textsOf(b, p.Fields()), []string{`c="1" b="x" `}; !slices.Equal(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
		if !b.Schema().Field(1).Nullable {
			t.Error("column b is said to be NOT NULL, it may be NULL by now")
		}
	}
}
