package tarn_test

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
)

// Files that a long-lived writer would compact next are compacted by another process and expire. The
// writer loses its compaction and nothing else, and compacts again from there.
func TestCompactionOfFilesThatAreGone(t *testing.T) {
	ctx := t.Context()
	for _, keys := range [][]string{{"id"}, nil} {
		o := map[string]string{"num-sorted-run.compaction-trigger": "4", "compaction.min.file-num": "4", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
		if keys != nil {
			o["bucket"] = "1"
		}
		c := open(t)
		tab, err := c.CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("id", "INT"), PrimaryKeys: keys, Options: o})
		if err != nil {
			t.Fatal(err)
		}
		w, err := tab.NewWriter(ctx, &tarn.WriterOptions{WaitCompaction: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		n, lost := 0, 0
		next := func() {
			t.Helper()
			if err := w.Write(ctx, rows(t, tab, fmt.Sprintf(`{"id":%d}`, n))); err != nil {
				t.Fatal(err)
			}
			r, err := w.Commit(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if r.LostCompaction {
				lost++
			}
			n++
		}
		next()
		next()
		// Another process.
		other, err := c.Table(ctx, "d.t")
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			write(t, other, []string{fmt.Sprintf(`{"id":%d}`, n)})
			n++
		}
		if _, err := other.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := other.ExpireSnapshots(ctx, tarn.ExpireOptions{RetainMin: 1, RetainMax: 1}); err != nil {
			t.Fatal(err)
		}
		for range 12 {
			next()
		}
		if lost != 1 {
			t.Errorf("%v: %d compactions were lost, want 1", keys, lost)
		}
		if got := read(t, other, tarn.ScanOptions{}); len(got) != n || len(slices.Compact(got)) != n {
			t.Errorf("%v: %d rows of %d", keys, len(got), n)
		}
		p, err := other.Scan(tarn.ScanOptions{}).Plan(ctx)
		if err != nil {
			t.Fatal(err)
		}
		splits, err := p.Splits(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if files := len(splits[0].Files); files > 6 {
			t.Errorf("%v: %d files: the writer does not compact any more", keys, files)
		}
		if err := w.Close(); err != nil { // and the expiry beside it
			t.Fatal(err)
		}
		if r, err := other.Check(ctx); err != nil || len(r.Problems) > 0 {
			t.Errorf("%v: %+v, %v", keys, r, err)
		}
	}
}

// A data file that is missing from the newest snapshot is no other process's doing: it is told by name.
func TestCompactionOfALostFile(t *testing.T) {
	ctx := t.Context()
	for _, keys := range [][]string{{"id"}, nil} {
		o := map[string]string{"write-only": "true"}
		if keys != nil {
			o["bucket"] = "1"
		}
		tab, err := open(t).CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("id", "INT"), PrimaryKeys: keys, Options: o})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			write(t, tab, []string{fmt.Sprintf(`{"id":%d}`, i)})
		}
		files, err := filepath.Glob(tab.Path() + "/bucket-0/*.parquet")
		if err != nil || len(files) != 8 {
			t.Fatal(files, err)
		}
		if err := os.Remove(files[3]); err != nil {
			t.Fatal(err)
		}
		_, err = tab.Compact(ctx, tarn.CompactOptions{Full: true})
		if !errors.Is(err, iofs.ErrNotExist) || errors.Is(err, tarn.ErrConflict) || !strings.Contains(err.Error(), filepath.Base(files[3])) {
			t.Errorf("%v: %v", keys, err)
		}
	}
}

// A table can be examined while its snapshots expire: what is on its way out is no damage. A file that a
// snapshot which stays needs is.
func TestCheckWhileSnapshotsExpire(t *testing.T) {
	ctx := t.Context()
	tab := keyed(t, "STRING")
	for i := range 5 {
		write(t, tab, []string{fmt.Sprintf(`{"id":%d}`, i)})
	}
	// As an expiry leaves it that was stopped, or has not come further yet: 1 to 3 are hidden, 1 has lost its lists.
	s, err := tab.SnapshotAt(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tab.Path()+"/snapshot/EARLIEST", []byte("4"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tab.Path() + "/manifest/" + s.DeltaManifestList); err != nil {
		t.Fatal(err)
	}
	if r, err := tab.Check(ctx); err != nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if s, err = tab.SnapshotAt(ctx, 5); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tab.Path() + "/manifest/" + s.DeltaManifestList); err != nil {
		t.Fatal(err)
	}
	if r, err := tab.Check(ctx); err != nil || !r.Damaged() {
		t.Errorf("%+v, %v", r, err)
	}
}
