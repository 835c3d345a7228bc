package tarn_test

import (
	"fmt"
	"os"
	"path/filepath"
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

// breakManifests makes commits fail until it is mended.
func breakManifests(t *testing.T, tab *tarn.Table) (mend func()) {
	t.Helper()
	dir := tab.Path() + "/manifest"
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+"-away", dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A commit that surely was not done is repeated even if all snapshots since have expired: there is nothing to look up.
func TestCommitAgainAfterExpiry(t *testing.T) {
	ctx := t.Context()
	tab := keyed(t, "INT")
	write(t, tab, []string{`{"id":1}`})
	w, err := tab.NewWriter(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(ctx, rows(t, tab, `{"id":2}`)); err != nil {
		t.Fatal(err)
	}
	mend := breakManifests(t, tab)
	if _, err := w.Commit(ctx); err == nil {
		t.Fatal("committed without a manifest")
	}
	mend()
	for i := range 4 {
		write(t, tab, []string{fmt.Sprintf(`{"id":%d}`, 10+i)})
	}
	if _, err := tab.ExpireSnapshots(ctx, tarn.ExpireOptions{RetainMin: 1, RetainMax: 1}); err != nil {
		t.Fatal(err)
	}
	if r, err := w.Commit(ctx); err != nil || r.SnapshotID != 6 || r.Repeated {
		t.Errorf("%+v, %v", r, err)
	}
	if got := read(t, tab, tarn.ScanOptions{}); len(got) != 6 {
		t.Error(got)
	}
}

// Commits that fail leave no files behind: on a full disk each try would take what was freed for it.
func TestFailedCommitLeavesNothing(t *testing.T) {
	ctx := t.Context()
	for _, keys := range [][]string{{"id"}, nil} {
		tab, err := open(t).CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("id", "INT"), PrimaryKeys: keys, Options: map[string]string{"bucket": "1", "bucket-key": "id"}})
		if err != nil {
			t.Fatal(err)
		}
		write(t, tab, []string{`{"id":1}`})
		list := func() int {
			names, err := filepath.Glob(tab.Path() + "/bucket-0/*")
			if err != nil {
				t.Fatal(err)
			}
			return len(names)
		}
		before := list()
		mend := breakManifests(t, tab)
		w, err := tab.NewWriter(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if err := w.Write(ctx, rows(t, tab, fmt.Sprintf(`{"id":%d}`, 2+i))); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Commit(ctx); err == nil {
				t.Fatal("committed without a manifest")
			}
		}
		if list() == before {
			t.Fatal("nothing was written")
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if n := list(); n != before {
			t.Errorf("key %v: %d files, %d before", keys, n, before)
		}
		b := rows(t, tab, `{"id":9}`)
		if _, err := tab.Overwrite(ctx, tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) { yield(b, nil) }); err == nil {
			t.Fatal("overwrote without a manifest")
		}
		if n := list(); n != before {
			t.Errorf("key %v: %d files after an overwrite, %d before", keys, n, before)
		}
		mend()
		if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, []string{`{"id":1}`}) {
			t.Error(got)
		}
	}
}

// TestAfterCommitted: a writer that goes on from what another has prepared knows of its files once, after they were committed, too: in
// buckets that it comes to later.
func TestAfterCommitted(t *testing.T) {
	ctx := t.Context()
	tab := declare(t, open(t), "d.t", "p STRING,k INT,v INT", "p,k", opts{"bucket": "1", "full-compaction.delta-commits": "1"}, "p")
	prepare := func(after *tarn.Prepared, line string) (*tarn.Writer, *tarn.Prepared) {
		t.Helper()
		w, err := tab.NewWriter(ctx, &tarn.WriterOptions{After: []*tarn.Prepared{after}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		if err := w.Write(ctx, rows(t, tab, line)); err != nil {
			t.Fatal(err)
		}
		p, err := w.Prepare(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return w, p
	}
	_, first := prepare(nil, `{"p":"b","k":1,"v":1}`)
	w, second := prepare(first, `{"p":"a","k":1,"v":1}`)
	r, err := tab.Commit(ctx, tarn.CommitID{User: "u", Number: 1}, first, second)
	if err == nil {
		err = w.Done(r)
	}
	if err == nil {
		err = w.Write(ctx, rows(t, tab, `{"p":"b","k":1,"v":2}`))
	}
	if err == nil {
		_, err = w.Commit(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	same(t, tab, "p,k,v", "", `["a",1,1]`, `["b",1,2]`)
}
