package tarn_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// B123: filters on system tables, for numbers that are not there and conditions of every kind.
func TestFiltersOnSystemTables(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k! INT,v INT,p! INT", "", opts{"write-only": "true"}, "p")
	put(t, tab, []string{"[1,1,1]"}, []string{"[1,2,1]", "[2,2,2]"}, []string{"-D[2,2,2]"})
	tab = alter(t, tab, add("w", "INT"))
	if err := tab.CreateTag(t.Context(), "old", 1); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ table, columns, where, want string }{
		{"snapshots", "snapshot_id", "snapshot_id IN (1, 99)", "[1]"},
		{"snapshots", "snapshot_id", "snapshot_id = 99", ""},
		{"snapshots", "snapshot_id", "snapshot_id <> 2 OR snapshot_id = 77", "[1] [3]"},
		{"snapshots", "snapshot_id", "snapshot_id > 1 AND commit_kind = 'APPEND'", "[2] [3]"},
		{"schemas", "schema_id", "schema_id IN (1, 7)", "[1]"},
		{"schemas", "schema_id", "schema_id = 7 OR schema_id < 1", "[0]"},
		{"tags", "tag_name", "tag_name LIKE 'o%'", `["old"]`},
		{"tags", "tag_name", "tag_name LIKE 'x%' OR tag_name IS NULL", ""},
		{"branches", "branch_name", "branch_name LIKE 'a%'", ""},
		{"options", "key", "key = 'write-only'", `["write-only"]`},
		{"partitions", "partition", "record_count > 0", `["p=1"] ["p=2"]`},
		{"buckets", "bucket", "bucket = 0", "[0] [0]"},
		{"files", "level", "level = 0 AND record_count = 1", "[0] [0] [0] [0]"},
		{"manifests", "num_deleted_files", "num_deleted_files = 5", ""},
	} {
		s, err := c.Table(t.Context(), "d.t$"+x.table)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(get(t, s, x.columns, x.where, 0), " ")
		if got != x.want {
			t.Errorf("%s where %s: %s, want %s", x.table, x.where, got, x.want)
		}
	}
	compact(t, tab)
	s, err := c.Table(t.Context(), "d.t$partitions")
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, s, "record_count", "", 0); !slices.Equal(got, []string{"[1]"}) {
		t.Errorf("partitions after compaction have %v rows, want one of one row", got)
	}
	same(t, tab, "k,v,p", "", "[1,2,1]")
}

// B127: everything may be done to a table without a snapshot, and to one without rows.
func TestEmptyTables(t *testing.T) {
	for _, x := range []struct {
		columns string
		o       opts
	}{
		{"k! INT,p! INT", nil}, {"k INT,p INT", nil}, {"k INT,p INT", opts{"bucket": "2", "bucket-key": "k"}},
	} {
		c := open(t)
		tab := declare(t, c, "d.t", x.columns, "", x.o, "p")
		everything := func(what string) {
			t.Helper()
			same(t, tab, "", "")
			same(t, tab, "k", "k = 1 AND p IN ()")
			compact(t, tab)
			if _, err := tab.ExpireSnapshots(t.Context(), tarn.ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: time.Nanosecond}); err != nil {
				t.Errorf("%s: expire: %v", what, err)
			}
			if r, err := tab.Check(t.Context()); err != nil || len(r.Problems) > 0 {
				t.Errorf("%s: check: %+v, %v", what, r, err)
			}
			if o, err := tab.Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(o) > 0 {
				t.Errorf("%s: orphans %v, %v", what, o, err)
			}
			for _, s := range []string{"files", "partitions", "buckets", "manifests", "snapshots", "schemas", "tags", "consumers", "branches", "options"} {
				y, err := c.Table(t.Context(), "d.t$"+s)
				if err != nil {
					t.Fatal(err)
				}
				get(t, y, "", "", 0)
			}
		}
		everything("new")
		if ids, err := tab.Snapshots(t.Context()); err != nil || len(ids) != 0 {
			t.Errorf("snapshots %v, %v", ids, err)
		}
		if r, err := tab.Truncate(t.Context()); err != nil || r.SnapshotID != 1 {
			t.Errorf("truncate: %+v, %v; want an overwrite, as the reference makes", r, err)
		}
		everything("truncated")
		put(t, tab, []string{"[1,1]"})
		if _, err := tab.Truncate(t.Context()); err != nil {
			t.Fatal(err)
		}
		everything("emptied")
		if !tab.HasPrimaryKey() {
			continue
		}
		put(t, tab, []string{"-D[1,1]"})
		same(t, tab, "", "")
		compact(t, tab)
		everything("deleted")
	}
}

// B058: a time before the first snapshot is an error, and a watermark is looked for where there is one.
func TestTravelToTheEdges(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT", "", opts{"write-only": "true"})
	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i, mark := range []int64{-1, 100, -1, 200, -1} {
		if err := w.Write(t.Context(), rows(t, tab, fmt.Sprintf(`{"k":%d}`, i))); err != nil {
			t.Fatal(err)
		}
		p, err := w.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id := tarn.CommitID{User: w.User(), Number: int64(i + 1)}
		if mark >= 0 {
			id.Watermark = &mark
		}
		r, err := tab.Commit(t.Context(), id, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Done(r); err != nil {
			t.Fatal(err)
		}
	}
	for o, want := range map[string]int{
		"scan.timestamp=1900-01-01 00:00:00": -1, "scan.timestamp-millis=0": -1, "scan.watermark=150": 4, "scan.watermark=100": 2, "scan.watermark=201": -1,
		"scan.watermark=-9223372036854775808": 2, "scan.snapshot-id=3": 3, "scan.snapshot-id=99": -1, "scan.snapshot-id=0": -1, "scan.snapshot-id=-1": -1, "scan.timestamp-millis=-1": -1, "scan.tag-name=none": -1, "scan.version=3": 3, "scan.version=3x": -1,
	} {
		k, v, _ := strings.Cut(o, "=")
		old, err := tab.With(t.Context(), opts{k: v})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for b, e := range old.Scan(tarn.ScanOptions{}).Batches(t.Context()) {
			if err = e; err != nil {
				break
			}
			n += int(b.NumRows())
		}
		if want < 0 && err == nil || want >= 0 && (err != nil || n != want) {
			t.Errorf("%s: %d rows, %v; want %d", o, n, err, want)
		}
	}
}

// B042: hints that are gone, half written, or name what is not there do not mislead; they are written again.
func TestHintsAreOnlyHints(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT", "", opts{"write-only": "true"})
	put(t, tab, []string{"[1]"}, []string{"[2]"})
	dir := filepath.Join(tab.Path(), "snapshot")
	for i, text := range []string{"", "x", "99", "1", "-1", "\x00\x00", "2\n"} {
		for _, hint := range []string{"LATEST", "EARLIEST"} {
			if err := os.WriteFile(filepath.Join(dir, hint), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := get(t, tab, "", "", 0); len(got) != 2+i {
			t.Errorf("hint %q: %v", text, got)
		}
		put(t, tab, []string{fmt.Sprintf("[%d]", 10+i)})
		if got, err := os.ReadFile(filepath.Join(dir, "LATEST")); err != nil || string(got) != fmt.Sprint(3+i) {
			t.Errorf("LATEST is %q after a commit upon hint %q, %v", got, text, err)
		}
	}
	for _, hint := range []string{"LATEST", "EARLIEST"} {
		if err := os.Remove(filepath.Join(dir, hint)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if got := get(t, tab, "", "", 0); len(got) != 9 {
		t.Errorf("without hints: %v", got)
	}
}

// B050: expiry goes over a hole, and what follows is whole.
func TestExpiryOverAHole(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT,v INT", "", opts{"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "2", "write-only": "true"})
	for i := range 20 {
		put(t, tab, []string{fmt.Sprintf("[%d,%d]", i%5, i)})
	}
	for i := 7; i <= 9; i++ {
		if err := os.Remove(filepath.Join(tab.Path(), "snapshot", fmt.Sprint("snapshot-", i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tab.ExpireSnapshots(t.Context(), tarn.ExpireOptions{}); err != nil {
		t.Fatal(err)
	}
	if ids, err := tab.Snapshots(t.Context()); err != nil || !slices.Equal(ids, []int64{19, 20}) {
		t.Errorf("snapshots %v, %v", ids, err)
	}
	same(t, tab, "", "", "[0,15]", "[1,16]", "[2,17]", "[3,18]", "[4,19]")
}

// B070: several writers of the schema add the same columns at once: each is there once, numbers have no gaps.
func TestSchemaRace(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k! INT", "", nil)
	errs := make(chan error)
	for range 4 {
		go func() {
			for i := range 5 {
				if err := tab.Evolve(t.Context(), tarn.AddColumn{Path: []string{fmt.Sprint("c", i)}, Type: types.MustParse("INT")}); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	tab, err := tab.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f, err := tab.Fields()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, x := range f {
		ids[x.ID] = true
	}
	files, err := filepath.Glob(filepath.Join(tab.Path(), "schema", "schema-*"))
	if err != nil || len(files) != 6 || tab.SchemaID() != 5 || len(f) != 6 || len(ids) != 6 {
		t.Errorf("%d schema files, the newest is %d; fields %v (%v)", len(files), tab.SchemaID(), f, err)
	}
}

// A table that was given another number of buckets takes no rows in any of them, also in those that have no files yet, until its partition is
// overwritten: a key would stand in two buckets. Other partitions are written with the new number.
func TestRowsAfterAnotherNumberOfBuckets(t *testing.T) {
	for _, key := range []string{"id,dt", ""} {
		o := opts{"bucket": "1"}
		if key == "" {
			o["bucket-key"] = "id"
		}
		tab := declare(t, open(t), "d.t", "id INT,dt STRING", key, o, "dt")
		put(t, tab, []string{`[1,"a"]`, `[2,"a"]`})
		tab = alter(t, tab, tarn.SetOption{Key: "bucket", Value: "4"})
		for id := range 12 {
			w, err := tab.NewWriter(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err = w.Write(t.Context(), rows(t, tab, fmt.Sprintf(`{"id":%d,"dt":"a"}`, id))); err == nil {
				_, err = w.Commit(t.Context())
			}
			if cerr := w.Close(); cerr != nil && err == nil {
				t.Error(cerr)
			}
			if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "has 4 buckets now, but this partition was written with 1") {
				t.Errorf("key %q, row %d: error %v", key, id, err)
			}
		}
		put(t, tab, []string{`[1,"b"]`, `[2,"b"]`, `[3,"b"]`}, []string{`[4,"b"]`})
		if got := len(get(t, tab, "", "", 0)); got != 6 {
			t.Errorf("key %q: %d rows, want 6", key, got)
		}
	}
}

// A writer that was opened before the number of buckets changed, and the partition was overwritten, does not commit: its rows lie in
// buckets of before.
func TestWriterBehindAnotherNumberOfBuckets(t *testing.T) {
	for _, key := range []string{"id,dt", ""} {
		o := opts{"bucket": "1"}
		if key == "" {
			o["bucket-key"] = "id"
		}
		before := declare(t, open(t), "d.t", "id INT,dt STRING", key, o, "dt")
		put(t, before, []string{`[1,"a"]`, `[2,"a"]`})
		w, err := before.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Write(t.Context(), rows(t, before, `{"id":3,"dt":"a"}`)); err != nil {
			t.Fatal(err)
		}
		after := alter(t, before, tarn.SetOption{Key: "bucket", Value: "4"})
		again := func(yield func(tarn.Batch, error) bool) {
			yield(rows(t, after, `{"id":1,"dt":"a"}`, `{"id":2,"dt":"a"}`, `{"id":3,"dt":"a"}`), nil)
		}
		if _, err := after.Overwrite(t.Context(), tarn.OverwriteOptions{}, again); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context()); !errors.Is(err, tarn.ErrConflict) || !strings.Contains(err.Error(), "has 4 buckets, files were written for 1") {
			t.Errorf("key %q: error %v", key, err)
		}
		if got := len(get(t, after, "", "", 0)); got != 3 {
			t.Errorf("key %q: %d rows, want 3", key, got)
		}
	}
}

// Of writers with other numbers of buckets that begin a partition at once the second does not commit, whichever of the two knew
// the older number, and whatever was committed in between.
func TestWritersBeginAPartitionWithOtherBuckets(t *testing.T) {
	for _, order := range []string{"older first", "newer first"} {
		before := declare(t, open(t), "d.t", "id INT,dt STRING", "id,dt", opts{"bucket": "1"}, "dt")
		put(t, before, []string{`[1,"a"]`})
		after := alter(t, before, tarn.SetOption{Key: "bucket", Value: "4"})
		first, second := before, after
		if order == "newer first" {
			first, second = after, before
		}
		var writers []*tarn.Writer
		for _, tab := range []*tarn.Table{first, second} {
			w, err := tab.NewWriter(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := w.Write(t.Context(), rows(t, tab, `{"id":7,"dt":"new"}`)); err != nil {
				t.Fatal(err)
			}
			writers = append(writers, w)
		}
		if _, err := writers[0].Commit(t.Context()); err != nil {
			t.Fatalf("%s: %v", order, err)
		}
		put(t, after, []string{`[1,"other"]`})
		if _, err := writers[1].Commit(t.Context()); err == nil || !errors.Is(err, tarn.ErrConflict) && !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "overwrite") {
			t.Errorf("%s: %v", order, err)
		}
		if got := len(get(t, after, "", "", 0)); got != 3 {
			t.Errorf("%s: %d rows, want 3", order, got)
		}
	}
}
