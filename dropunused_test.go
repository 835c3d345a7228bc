package tarn_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
)

// A table whose filling failed is removed, but not if it is another one by then.
func TestDropUnused(t *testing.T) {
	now := time.UnixMilli(1e12)
	c, err := tarn.Open(t.Context(), t.TempDir(), &tarn.OpenOptions{NoSync: true, Clock: func() time.Time { now = now.Add(time.Second); return now }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDatabase(t.Context(), "d", nil); err != nil {
		t.Fatal(err)
	}
	create := func() *tarn.Table {
		t.Helper()
		tab, err := c.CreateTable(t.Context(), "d.t", tarn.TableDef{Fields: fields("a", "INT")})
		if err != nil {
			t.Fatal(err)
		}
		return tab
	}
	tab := create()
	if err := c.DropUnused(t.Context(), tab); err != nil {
		t.Fatal(err)
	}
	if err := c.DropUnused(t.Context(), tab); err != nil {
		t.Errorf("a table that is gone already: %v", err)
	}
	for what, change := range map[string]func(tab *tarn.Table) error{
		"changed": func(tab *tarn.Table) error { return tab.Alter(t.Context(), tarn.SetOption{Key: "x", Value: "y"}) },
		"made anew": func(tab *tarn.Table) error {
			err := c.DropTable(t.Context(), "d.t")
			create()
			return err
		},
		"written to": func(tab *tarn.Table) error { write(t, tab, []string{`{"a":1}`}); return nil },
	} {
		tab := create()
		if err := change(tab); err != nil {
			t.Fatal(err)
		}
		if err := c.DropUnused(t.Context(), tab); err == nil || !strings.Contains(err.Error(), "table d.t stays") {
			t.Errorf("a table that was %s: error %v", what, err)
		}
		if _, err := c.Table(t.Context(), "d.t"); err != nil {
			t.Errorf("a table that was %s: %v", what, err)
		}
		if err := c.DropTable(t.Context(), "d.t"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Table(t.Context(), "d.t"); !errors.Is(err, tarn.ErrNotExist) {
		t.Errorf("after all, error %v", err)
	}
}
