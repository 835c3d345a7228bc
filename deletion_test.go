package tarn_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

func below(n int64) predicate.Predicate {
	return &predicate.Leaf{Op: predicate.Lt, Column: "n", Values: []types.Datum{n}}
}

// marked makes a table without a key, with deletion vectors, in two files of 10 rows: 0 to 9, 10 to 19.
func marked(t *testing.T, options map[string]string) (*tarn.Table, func(from, to int64)) {
	t.Helper()
	options["deletion-vectors.enabled"] = "true"
	tab, err := open(t).CreateTable(t.Context(), "d.t", tarn.TableDef{Fields: fields("n", "BIGINT"), Options: options})
	if err != nil {
		t.Fatal(err)
	}
	write := func(from, to int64) {
		t.Helper()
		var lines []string
		for n := from; n < to; n++ {
			lines = append(lines, fmt.Sprintf(`{"n":%d}`, n))
		}
		w, err := tab.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Write(t.Context(), rows(t, tab, lines...)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 10)
	write(10, 20)
	return tab, write
}

// begun is a deletion that has added the rows that match, and not been committed.
func begun(t *testing.T, tab *tarn.Table, filter predicate.Predicate) *tarn.Deletion {
	t.Helper()
	d, err := tab.NewDeletion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Plan(t.Context(), tarn.ScanOptions{Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range p.Batches(t.Context()) {
		if err == nil {
			err = d.Add(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// Deletions that rest on what is not there any more have a conflict, and lose nobody's deletes; they leave no files.
func TestDeletionsConflict(t *testing.T) {
	for _, options := range []map[string]string{
		{},
		{"deletion-vectors.bitmap64": "true", "deletion-vector.index-file.target-size": "1 b"},
		{"bucket": "1", "bucket-key": "n"},
	} {
		tab, write := marked(t, options)
		del := func(filter predicate.Predicate, want int64) {
			t.Helper()
			if n, _, err := tab.DeleteWhere(t.Context(), filter); err != nil || n != want {
				t.Fatalf("%d rows deleted of %d: %v", n, want, err)
			}
		}
		conflict := func(d *tarn.Deletion) {
			t.Helper()
			if _, err := d.Commit(t.Context()); !errors.Is(err, tarn.ErrConflict) {
				t.Errorf("%v: a deletion upon files that others have changed: %v", options, err)
			}
		}
		count := func(want int) {
			t.Helper()
			if n := len(read(t, tab, tarn.ScanOptions{})); n != want {
				t.Errorf("%v: %d rows, want %d", options, n, want)
			}
		}
		d := begun(t, tab, below(2))
		del(below(3), 3)
		conflict(d)
		count(17)
		d = begun(t, tab, below(4))
		if d.Rows() != 1 {
			t.Errorf("%v: %d rows to delete, not 1", options, d.Rows())
		}
		write(20, 30) // is no conflict
		if _, err := d.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		count(26)
		del(below(12), 8)
		count(18)
		d = begun(t, tab, below(14))
		if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
		conflict(d)
		count(18)
		del(below(13), 1)
		count(17)
		// A compaction that does not know of deletes is lost against them.
		write(30, 40)
		w, err := tab.NewWriter(t.Context(), &tarn.WriterOptions{WaitCompaction: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), rows(t, tab, `{"n":40}`)); err != nil {
			t.Fatal(err)
		}
		if err := w.Compact(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		p, err := w.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		del(below(15), 2)
		res, err := tab.Commit(t.Context(), tarn.CommitID{User: w.User(), Number: 1}, p)
		if err != nil || !res.LostCompaction {
			t.Errorf("%v: a compaction of files that rows were deleted from meanwhile: %+v, %v", options, res, err)
		}
		if err := errors.Join(w.Done(res), w.Close()); err != nil {
			t.Fatal(err)
		}
		count(26)
		if _, err := tab.Truncate(t.Context()); err != nil {
			t.Fatal(err)
		}
		count(0)
		if r, err := tab.Check(t.Context()); err != nil || len(r.Problems) > 0 {
			t.Errorf("%v: %v, %v", options, r.Problems, err)
		}
		if o, err := tab.Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(o) > 0 {
			t.Errorf("%v: orphans %v, %v", options, o, err)
		}
	}
}

// B083: deletion vectors are switched on where no key has two versions, and off where none deletes anything.
func TestDeletionVectorsAreSwitchedSafely(t *testing.T) {
	tab, err := open(t).CreateTable(t.Context(), "d.t", tarn.TableDef{
		Fields: fields("k", "INT NOT NULL", "v", "INT"), PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1", "changelog-producer": "lookup"},
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(lines ...string) {
		t.Helper()
		w, err := tab.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Write(t.Context(), rows(t, tab, lines...)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	alter := func(key, value string) error {
		t.Helper()
		if err := tab.Alter(t.Context(), tarn.SetOption{Key: key, Value: value}); err != nil {
			return err
		}
		var err error
		if tab, err = tab.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		return nil
	}
	compact := func() {
		t.Helper()
		if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want string) {
		t.Helper()
		if got := fmt.Sprint(read(t, tab, tarn.ScanOptions{})); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	put(`{"k":1,"v":2}`, `{"k":2,"v":2}`, `{"k":3,"v":3}`)
	compact()
	put(`{"k":1,"v":3}`)
	if err := alter("deletion-vectors.modifiable", "true"); err != nil {
		t.Fatal(err)
	}
	if err := alter("deletion-vectors.enabled", "true"); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("switched on over levels that are not merged: %v", err)
	}
	compact()
	if err := alter("deletion-vectors.enabled", "true"); err != nil {
		t.Fatal(err)
	}
	put(`{"k":1,"v":7}`)
	want(`[{"k":1,"v":7} {"k":2,"v":2} {"k":3,"v":3}]`)
	if err := alter("deletion-vectors.enabled", "false"); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("switched off while a row is deleted by a vector: %v", err)
	}
	compact()
	if err := alter("deletion-vectors.enabled", "false"); err != nil {
		t.Error(err)
	}
	want(`[{"k":1,"v":7} {"k":2,"v":2} {"k":3,"v":3}]`)
}
