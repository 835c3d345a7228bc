package tarn_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/tarnlake/tarn"
)

// A commit that failed is repeated by the next call: rows are neither lost nor there twice.
func TestCommitAgain(t *testing.T) {
	ctx := t.Context()
	for _, more := range []bool{false, true} {
		for _, keys := range [][]string{{"id"}, nil} {
			tab, err := open(t).CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("id", "INT"), PrimaryKeys: keys, Options: map[string]string{"bucket": "1", "bucket-key": "id"}})
			if err != nil {
				t.Fatal(err)
			}
			w, err := tab.NewWriter(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			add := func(id int) {
				t.Helper()
				if err := w.Write(ctx, rows(t, tab, fmt.Sprintf(`{"id":%d}`, id))); err != nil {
					t.Fatal(err)
				}
			}
			add(1)
			if _, err := w.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			add(2)
			// Manifests cannot be written for some time.
			dir := tab.Path() + "/manifest"
			if err := os.Rename(dir, dir+"-away"); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := w.Commit(ctx); err == nil {
					t.Fatal("committed without a manifest")
				}
			}
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(dir+"-away", dir); err != nil {
				t.Fatal(err)
			}
			want := []string{`{"id":1}`, `{"id":2}`}
			if more {
				add(3)
				want = append(want, `{"id":3}`)
			}
			if r, err := w.Commit(ctx); err != nil || r.SnapshotID == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if r, err := w.Commit(ctx); err != nil || r.SnapshotID != 0 {
				t.Fatalf("nothing was left: %+v, %v", r, err)
			}
			if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
				t.Errorf("key %v, more rows %v: %v", keys, more, got)
			}
		}
	}
}
