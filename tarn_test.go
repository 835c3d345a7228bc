package tarn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

func open(t testing.TB) *tarn.Catalog {
	t.Helper()
	c, err := tarn.Open(t.Context(), t.TempDir(), &tarn.OpenOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDatabase(t.Context(), "d", nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func fields(spec ...string) []types.Field {
	var out []types.Field
	for i := 0; i < len(spec); i += 2 {
		out = append(out, types.Field{Name: spec[i], Type: types.MustParse(spec[i+1])})
	}
	return out
}

func rows(t testing.TB, tab *tarn.Table, lines ...string) tarn.Batch {
	t.Helper()
	f, err := tab.Fields()
	if err != nil {
		t.Fatal(err)
	}
	d := jsonrow.NewDecoder(f)
	for _, l := range lines {
		if err := d.Decode([]byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	return d.Batch()
}

func read(t testing.TB, tab *tarn.Table, o tarn.ScanOptions) []string {
	t.Helper()
	var out []string
	o.WideTimestamps = true
	p, err := tab.Scan(o).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := jsonrow.NewEncoder(p.Fields())
	for b, err := range p.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			out = append(out, string(e.Append(nil, b.RecordBatch, i)))
		}
	}
	slices.Sort(out)
	return out
}

func write(t testing.TB, tab *tarn.Table, commits ...[]string) {
	t.Helper()
	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, c := range commits {
		if err := w.Write(t.Context(), rows(t, tab, c...)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUpserts(t *testing.T) {
	for _, opts := range []map[string]string{{"bucket": "2"}, {"bucket": "1", "write-only": "true"}, {"bucket": "3", "file.compression": "none", "data-file.thin-mode": "true"}} {
		c := open(t)
		tab, err := c.CreateTable(t.Context(), "d.t", tarn.TableDef{Fields: fields("id", "BIGINT", "v", "STRING", "n", "INT"), PrimaryKeys: []string{"id"}, Options: opts})
		if err != nil {
			t.Fatal(err)
		}
		write(t, tab, []string{`{"id":1,"v":"a","n":1}`, `{"id":2,"v":"b","n":2}`, `{"id":3,"v":"c","n":3}`},
			[]string{`{"id":1,"v":"A","n":10}`, `{"_kind":"-D","id":2,"v":"b","n":2}`},
			[]string{`{"id":4,"v":"d","n":4}`})
		want := []string{`{"id":1,"v":"A","n":10}`, `{"id":3,"v":"c","n":3}`, `{"id":4,"v":"d","n":4}`}
		if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
			t.Errorf("%v: %v", opts, got)
		}
		for i := range 12 {
			write(t, tab, []string{fmt.Sprintf(`{"id":%d,"v":"x","n":%d}`, 100+i, i)})
		}
		if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, tab, tarn.ScanOptions{Filter: &predicate.Leaf{Op: predicate.Lt, Column: "id", Values: []types.Datum{int64(100)}}}); !slices.Equal(got, want) {
			t.Errorf("%v after compaction: %v", opts, got)
		}
		if got := read(t, tab, tarn.ScanOptions{Columns: []string{"n"}, Filter: &predicate.Leaf{Op: predicate.Eq, Column: "v", Values: []types.Datum{"A"}}}); !slices.Equal(got, []string{`{"n":10}`}) {
			t.Errorf("%v filter: %v", opts, got)
		}
		r, err := tab.Check(t.Context())
		if err != nil || len(r.Problems) > 0 {
			t.Errorf("check: %+v, %v", r, err)
		}
	}
}
