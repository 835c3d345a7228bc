package tarn_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// upkeepTable makes a table of one INT column, with a key or without.
func upkeepTable(t *testing.T, o *tarn.OpenOptions, keyed bool, opts map[string]string) *tarn.Table {
	t.Helper()
	cat, err := tarn.Open(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateDatabase(t.Context(), "d", nil); err != nil {
		t.Fatal(err)
	}
	def := tarn.TableDef{Fields: []types.Field{{Name: "k", Type: types.MustParse("INT NOT NULL")}}, Options: opts}
	if keyed {
		def.PrimaryKeys = []string{"k"}
	}
	tab, err := cat.CreateTable(t.Context(), "d.t", def)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func upkeepWrite(t *testing.T, tab *tarn.Table, k int) {
	t.Helper()
	w, err := tab.NewWriter(t.Context(), &tarn.WriterOptions{WaitCompaction: true})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.Append(int32(k))
	fields, err := tab.Fields()
	if err != nil {
		t.Fatal(err)
	}
	col := b.NewArray()
	rec := array.NewRecordBatch(types.ArrowSchema(fields), []arrow.Array{col}, 1)
	if err := w.Write(t.Context(), tarn.Batch{RecordBatch: rec}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// Files are stamped with the wall clock of the zone, as the reference does; snapshots with the time.
func TestFileTimesAreOfTheWallClock(t *testing.T) {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.FixedZone("east", 5*3600+1800))
	for _, keyed := range []bool{false, true} {
		opts := map[string]string{"num-sorted-run.compaction-trigger": "2", "compaction.min.file-num": "2"}
		if keyed {
			opts["bucket"] = "1"
		}
		tab := upkeepTable(t, &tarn.OpenOptions{Clock: func() time.Time { return now }}, keyed, opts)
		for k := range 3 {
			upkeepWrite(t, tab, k)
		}
		s, err := tab.LatestSnapshot(t.Context())
		if err != nil || s.TimeMillis != now.UnixMilli() {
			t.Errorf("keyed %v: snapshot of %v, %v; want %d", keyed, s, err, now.UnixMilli())
		}
		files, err := tarn.OpenTable(t.Context(), tab.Path()+"$files", nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for b, err := range files.Scan(tarn.ScanOptions{Columns: []string{"creation_time"}}).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(b.NumRows()) {
				n++
				if got := b.Column(0).ValueStr(i); got != "2024-05-06T07:08:09" {
					t.Errorf("keyed %v: a file of %s", keyed, got)
				}
			}
		}
		if n == 0 {
			t.Errorf("keyed %v: no files", keyed)
		}
	}
}

// Compactions of tables of both kinds are told.
func TestCompactionsAreTold(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		var mu sync.Mutex
		var got []string
		ev := &tarn.Events{Compacted: func(e tarn.CompactEvent) {
			mu.Lock()
			defer mu.Unlock()
			if e.InBytes <= 0 || e.OutBytes <= 0 {
				t.Errorf("event %+v has no bytes", e)
			}
			got = append(got, fmt.Sprintf("%s %d -> %d, %d rows", e.Table, e.InFiles, e.OutFiles, e.RewrittenRows))
		}}
		opts := map[string]string{"write-only": "true"}
		if keyed {
			opts["bucket"] = "1"
		}
		tab := upkeepTable(t, &tarn.OpenOptions{Events: ev}, keyed, opts)
		for k := range 3 {
			upkeepWrite(t, tab, k)
		}
		compacting, err := tab.With(t.Context(), map[string]string{"write-only": "false"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compacting.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"d.t 3 -> 1, 3 rows"}; !slices.Equal(got, want) {
			t.Errorf("keyed %v: told %q, want %q", keyed, got, want)
		}
	}
}

// Tables whose writers do not compact are compacted by those who ask for it, not only as a whole.
func TestCompactWriteOnly(t *testing.T) {
	for _, keyed := range []bool{true, false} {
		for _, full := range []bool{true, false} {
			files := 0 // that were merged
			ev := &tarn.Events{Compacted: func(e tarn.CompactEvent) { files += e.InFiles }}
			opts := map[string]string{"write-only": "true"}
			if keyed {
				opts["bucket"] = "1"
			}
			tab := upkeepTable(t, &tarn.OpenOptions{Events: ev}, keyed, opts)
			for k := range 6 {
				upkeepWrite(t, tab, k)
			}
			r, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: full})
			if err != nil || r.SnapshotID != 7 || files != 6 {
				t.Errorf("keyed %v, full %v: %d files were merged, snapshot %d, %v", keyed, full, files, r.SnapshotID, err)
			}
			if rows := read(t, tab, tarn.ScanOptions{}); len(rows) != 6 {
				t.Errorf("keyed %v, full %v: %d rows are left", keyed, full, len(rows))
			}
		}
	}
}

// With source.split.open-file-cost small files count for more, so fewer of them are joined into one.
func TestOpenCostCutsJoins(t *testing.T) {
	for cost, want := range map[string]int{"1 b": 4, "1 mb": 2} {
		most := 0 // files joined at once
		ev := &tarn.Events{Compacted: func(e tarn.CompactEvent) { most = max(most, e.InFiles) }}
		tab := upkeepTable(t, &tarn.OpenOptions{Events: ev}, false, map[string]string{"write-only": "true", "target-file-size": "1 mb", "source.split.open-file-cost": cost})
		for k := range 4 {
			upkeepWrite(t, tab, k)
		}
		compacting, err := tab.With(t.Context(), map[string]string{"write-only": "false"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compacting.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
		if most != want {
			t.Errorf("open cost %s: %d files were joined, want %d", cost, most, want)
		}
	}
}

// Who asks for at most so many snapshots gets that, whatever the table keeps at least.
func TestExpireToOne(t *testing.T) {
	tab := upkeepTable(t, nil, false, map[string]string{"write-only": "true"})
	for k := range 4 {
		upkeepWrite(t, tab, k)
	}
	for _, c := range []struct {
		o    tarn.ExpireOptions
		want []int64
	}{
		{tarn.ExpireOptions{}, []int64{1, 2, 3, 4}},
		{tarn.ExpireOptions{RetainMax: 3}, []int64{2, 3, 4}},
		{tarn.ExpireOptions{RetainMax: 1}, []int64{4}},
	} {
		if _, err := tab.ExpireSnapshots(t.Context(), c.o); err != nil {
			t.Fatalf("%+v: %v", c.o, err)
		}
		if got, err := tab.Snapshots(context.Background()); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: snapshots %v, %v; want %v", c.o, got, err, c.want)
		}
	}
	if _, err := tab.ExpireSnapshots(t.Context(), tarn.ExpireOptions{RetainMin: 5, RetainMax: 2}); err == nil {
		t.Error("at least 5 and at most 2 was taken")
	}
}

// With snapshot.clean-empty-directories expiry removes folders of partitions that have no files any more.
func TestEmptyFoldersGo(t *testing.T) {
	for clean, want := range map[string][]string{"false": {"p=1", "p=2"}, "true": {"p=2"}} {
		c := open(t)
		tab := declare(t, c, "d.t", "p! INT,k! INT", "", opts{"bucket": "1", "snapshot.clean-empty-directories": clean}, "p")
		put(t, tab, []string{"[1,1]"}, []string{"[2,1]"})
		one := "1"
		if _, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{Static: true, Partition: map[string]*string{"p": &one}}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := tab.ExpireSnapshots(t.Context(), tarn.ExpireOptions{RetainMax: 1}); err != nil {
			t.Fatal(err)
		}
		got, err := filepath.Glob(tab.Path() + "/p=*")
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i] = filepath.Base(got[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("clean %s: folders %q, want %q", clean, got, want)
		}
		put(t, tab, []string{"[1,2]"})
		same(t, tab, "", "", "[1,2]", "[2,1]")
	}
}

// B045: expiry keeps what the last of all consumers needs, also after it was set back; one that is gone, or far ahead,
// holds nothing back. What expired before a consumer was set back is told by check.
func TestExpiryKeepsWhatConsumersNeed(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT,v INT", "", opts{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "write-only": "true"})
	for i := range 12 {
		put(t, tab, []string{fmt.Sprintf("[%d,%d]", i%3, i)})
	}
	for _, step := range []struct {
		consumer string
		next     int64 // 0: it is deleted
		first    int64 // snapshot that is left
	}{
		{"far", 40, 0}, {"a", 6, 0}, {"b", 4, 4}, {"b", 8, 6}, {"c", 7, 6}, {"a", 9, 7}, {"c", 12, 8}, {"b", 0, 9}, {"b", 5, 9}, {"b", 0, 9}, {"a", 0, 12},
	} {
		var err error
		if step.next > 0 {
			err = tab.PutConsumer(t.Context(), step.consumer, step.next)
		} else {
			err = tab.DeleteConsumer(t.Context(), step.consumer)
		}
		if err != nil {
			t.Fatal(err)
		}
		if step.first == 0 {
			continue
		}
		if _, err := tab.ExpireSnapshots(t.Context(), tarn.ExpireOptions{}); err != nil {
			t.Fatal(err)
		}
		ids, err := tab.Snapshots(t.Context())
		if err != nil || ids[0] != step.first {
			t.Errorf("%s at %d: snapshots %v are left, want %d and later (%v)", step.consumer, step.next, ids, step.first, err)
		}
		old, err := tab.With(t.Context(), opts{"scan.snapshot-id": fmt.Sprint(ids[0])})
		if err != nil {
			t.Fatal(err)
		}
		n := int(ids[0])
		same(t, old, "k,v", "", fmt.Sprintf("[%d,%d]", (n-1)%3, n-1), fmt.Sprintf("[%d,%d]", (n-2)%3, n-2), fmt.Sprintf("[%d,%d]", (n-3)%3, n-3))
		r, err := tab.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(fmt.Sprint(r.Problems), "goes on at snapshot 5, which has expired"); told != (step.next == 5) {
			t.Errorf("%s at %d: check tells %v", step.consumer, step.next, r.Problems)
		}
	}
}

// B053: orphans are found where the table's options put its files, and nothing else is taken for one: files beside the
// data, of another folder, with other names, prefixes and suffixes. Folders stay.
func TestOrphansOfEveryLayout(t *testing.T) {
	for _, o := range []opts{
		{"data-file.path-directory": "data"},
		{"data-file.path-directory": "a/b", "partition.legacy-name": "false"},
		{"data-file.prefix": "x-", "file.suffix.include.compression": "true"},
		{"changelog-file.prefix": "log-", "index-file-in-data-file-dir": "true"},
	} {
		for _, columns := range []string{"k! INT,p! DATE,v INT", "k INT,p DATE,v INT"} {
			tab := declare(t, open(t), "d.t", columns, "", o, "p")
			put(t, tab, []string{`[1,"2024-01-01",1]`}, []string{`[1,"2024-01-01",2]`, `[2,"1969-12-31",3]`})
			compact(t, tab)
			if err := tab.CreateTag(t.Context(), "t", 1); err != nil {
				t.Fatal(err)
			}
			if _, err := tab.ExpireSnapshots(t.Context(), tarn.ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: time.Nanosecond}); err != nil {
				t.Fatal(err)
			}
			files, err := tab.FileNames(t.Context())
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			var lost []string
			err = filepath.WalkDir(tab.Path(), func(p string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() && strings.Contains(p, "/bucket-0/") && len(lost) == 0 {
					lost = []string{filepath.Join(filepath.Dir(p), "data-lost-0.parquet"), filepath.Join(filepath.Dir(filepath.Dir(p)), "bucket-9", "lost.index"), filepath.Join(tab.Path(), "manifest", "manifest-lost-0")}
				}
				return err
			})
			if err != nil || lost == nil {
				t.Fatal(lost, err)
			}
			for _, f := range append(lost, filepath.Join(tab.Path(), "notes", "bucket-0", "kept"), filepath.Join(tab.Path(), "schema", "schema-0.bak")) {
				putFile(t, f, "x")
			}
			left, err := tab.Orphans(t.Context(), time.Now().Add(time.Hour), false)
			slices.Sort(left)
			if d := cmp.Diff(slices.Sorted(slices.Values(lost)), left); d != "" || err != nil {
				t.Errorf("%v, %s: orphans (-want +got), %v:\n%s", o, columns, err, d)
			}
			for _, f := range lost {
				if _, err := os.Stat(filepath.Dir(f)); err != nil {
					t.Errorf("%v: a folder went: %v", o, err)
				}
			}
			same(t, tab, "k,v", "v > 1", "[1,2]", "[2,3]")
			if r, err := tab.Check(t.Context()); err != nil || len(r.Problems) > 0 {
				t.Errorf("%v: %+v, %v", o, r, err)
			}
		}
	}
}
