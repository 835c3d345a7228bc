package tarn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
)

// With sequence.snapshot-ordering the row of the later snapshot wins, whatever numbers its writer gave, before and after
// compactions (B035).
func TestSnapshotOrdering(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k INT,v INT", "k", opts{"bucket": "1", "write-only": "true", "sequence.snapshot-ordering": "true", "table-read.sequence-number.enabled": "true"})
	prepare := func(lines ...string) *tarn.Prepared {
		w, err := tab.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for _, l := range lines {
			if err := w.Write(t.Context(), rows(t, tab, l)); err != nil {
				t.Fatal(err)
			}
		}
		p, err := w.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	commit := func(user string, p *tarn.Prepared) {
		if _, err := tab.Commit(t.Context(), tarn.CommitID{User: user, Number: 1}, p); err != nil {
			t.Fatal(err)
		}
	}
	audit := func() []string {
		return viewRows(t, viewed(t, c, "d.t$audit_log", nil), tarn.ScanOptions{Columns: []string{"_SEQUENCE_NUMBER", "k", "v"}})
	}
	// The one that wrote many rows, of high numbers, commits first.
	many := prepare(`{"k":9,"v":0}`, `{"k":9,"v":1}`, `{"k":9,"v":2}`, `{"k":1,"v":8}`, `{"k":2,"v":8}`)
	few := prepare(`{"k":1,"v":9}`)
	commit("a", many)
	commit("b", few)
	want := []string{`+I{"_SEQUENCE_NUMBER":2,"k":1,"v":9}`, `+I{"_SEQUENCE_NUMBER":1,"k":2,"v":8}`, `+I{"_SEQUENCE_NUMBER":1,"k":9,"v":2}`}
	if got := audit(); !slices.Equal(got, want) {
		t.Errorf("written: %q", got)
	}
	compact(t, tab)
	if got := audit(); !slices.Equal(got, want) {
		t.Errorf("compacted: %q", got)
	}
	put(t, tab, []string{"[2,7]"}, []string{"-D[1,0]"})
	compact(t, tab)
	same(t, tab, "k,v", "", "[2,7]", "[9,2]")

	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Compact(t.Context(), true); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("a writer compacts rows that have no snapshot: %v", err)
	}
	both, err := tab.With(t.Context(), map[string]string{"write-only": "false"})
	if err != nil {
		t.Fatal(err)
	}
	x, err := both.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.Write(t.Context(), rows(t, tab, `{"k":1,"v":1}`)); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("rows are written by a writer that compacts: %v", err)
	}
	if err := tab.Alter(t.Context(), tarn.SetOption{Key: "sequence.snapshot-ordering", Value: "false"}); err == nil {
		t.Error("the order of rows that are there can be changed")
	}
}

func TestSnapshotOrderingOptions(t *testing.T) {
	c := open(t)
	for _, x := range []struct {
		key  []string
		o    opts
		want string
	}{
		{[]string{"k"}, nil, "set write-only=true too"},
		{[]string{"k"}, opts{"write-only": "true", "sequence.field": "v"}, "not with sequence.field"},
		{nil, opts{"write-only": "true"}, "only tables with a primary key"},
	} {
		o := opts{"bucket": "1", "bucket-key": "k", "sequence.snapshot-ordering": "true"}
		for k, v := range x.o {
			o[k] = v
		}
		_, err := c.CreateTable(t.Context(), "d.t", tarn.TableDef{Fields: fields("k", "INT NOT NULL", "v", "INT"), PrimaryKeys: x.key, Options: o})
		if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v: %v", x, err)
		}
	}
}
