package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// TestRollbackAndBranches lets the reference roll back, branch and fast-forward tables that both write: what tarn
// had open goes on from there, and expiry by either side spares what the branch needs.
func TestRollbackAndBranches(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	turn := turns(here, java)
	for kind, d := range upkeepTables() {
		tab := l.create(t, turn(), "d.back_"+kind, d)
		tags := tab.live(t, d, turn)
		open := tab.open(t) // stays open over all that follows
		w, err := open.NewWriter(t.Context(), &tarn.WriterOptions{WaitCompaction: true})
		if err != nil {
			t.Fatal(err)
		}
		write := func(k int) {
			t.Helper()
			object := fmt.Sprintf(`{"k":%d,"p":"a","v":%d}`, k, k)
			if err := w.Write(t.Context(), batchOf(t, tab.fields(t), inserts(object))); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := tab.same(t, "written over", nil); !slices.ContainsFunc(got, func(r string) bool { return strings.Contains(r, fmt.Sprintf(`"k":%d,`, k)) }) {
				t.Errorf("%s: the row of a writer that was open is not there", tab.name)
			}
		}
		write(500)
		before := tab.sameState(t, "before", map[string]string{"scan.tag-name": tags[3]})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		tab.Do(t, tarntest.Command{"op": "rollback", "table": tab.name, "tag": tags[3]})
		if d := differences(before, tab.same(t, "rolled back to a tag", nil)); d != "" {
			t.Errorf("%s: rolled back to a tag: other rows\n%s", tab.name, d)
		}
		// The table that is open, its committer included, has seen snapshots whose numbers are used again.
		if w, err = open.NewWriter(t.Context(), &tarn.WriterOptions{WaitCompaction: true}); err != nil {
			t.Fatal(err)
		}
		write(501)
		tab.write(t, java, inserts(`{"k":502,"p":"b","v":1}`)...)
		write(503)
		s, err := open.LatestSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		tab.Do(t, tarntest.Command{"op": "rollback", "table": tab.name, "snapshot": s.ID - 1})
		tab.write(t, java, inserts(`{"k":504,"p":"c","v":1}`)...)
		if w, err = open.NewWriter(t.Context(), &tarn.WriterOptions{WaitCompaction: true}); err != nil {
			t.Fatal(err)
		}
		write(505)
		tab.sound(t)

		tab.Do(t, tarntest.Command{"op": "branch", "table": tab.name, "name": "side", "tag": tags[2]})
		branch := table{lake: tab.lake, name: tab.name + "$branch_side"}
		branch.same(t, "new branch", tab.sameState(t, "tag of the branch", map[string]string{"scan.tag-name": tags[2]}))
		branch.write(t, here, inserts(`{"k":600,"p":"a","v":1}`)...)
		branch.write(t, java, inserts(`{"k":601,"p":"b","v":1}`)...)
		branch.compact(t, turn())
		rows := branch.same(t, "branch", nil)
		write(506)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range tags {
			tab.deleteTag(t, here, name)
		}
		if _, err := tab.open(t).ExpireSnapshots(t.Context(), tarn.ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: time.Nanosecond}); err != nil {
			t.Fatal(err)
		}
		if o, err := tab.open(t).Orphans(t.Context(), time.Now().Add(time.Hour), false); err != nil {
			t.Fatalf("%v, %v", o, err)
		}
		if d := differences(rows, branch.same(t, "branch, main expired", nil)); d != "" {
			t.Errorf("%s: expiry of the main branch changed the other\n%s", tab.name, d)
		}
		tab.sound(t)
		tab.Do(t, tarntest.Command{"op": "fastForward", "table": tab.name, "name": "side"})
		if d := differences(rows, tab.same(t, "fast-forwarded", nil)); d != "" {
			t.Errorf("%s: fast-forwarded: other rows than of the branch\n%s", tab.name, d)
		}
		tab.write(t, here, inserts(`{"k":700,"p":"a","v":1}`)...)
		tab.write(t, java, inserts(`{"k":701,"p":"b","v":1}`)...)
		tab.compact(t, turn())
		if got := tab.same(t, "written after fast-forward", nil); len(got) != len(rows)+2 {
			t.Errorf("%s: %d rows after two were added to %d", tab.name, len(got), len(rows))
		}
		tab.sound(t)
	}
}

// TestOrphansOfBoth plants files of dead writers and lets each side clean a copy: the same are left.
func TestOrphansOfBoth(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	turn := turns(here, java)
	for kind, d := range upkeepTables() {
		origin := l.create(t, turn(), "d.orphans_"+kind, d)
		tags := origin.live(t, d, turn)
		origin.Do(t, tarntest.Command{"op": "branch", "table": origin.name, "name": "b", "tag": tags[1]})
		// What writers of both sides have prepared and nobody commits.
		origin.Do(t, tarntest.Command{"op": "write", "table": origin.name, "rows": javaRows(inserts(`{"k":900,"p":"a","v":1}`)), "hold": "dead"})
		w, err := origin.open(t).NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), batchOf(t, origin.fields(t), inserts(`{"k":901,"p":"b","v":1}`))); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		clean := origin.onDisk(t)
		root := origin.dir(t)
		var bucket string
		for _, f := range clean {
			if strings.Contains(f, "bucket-") && !strings.HasPrefix(f, "branch") {
				bucket = filepath.Dir(f)
			}
		}
		for _, f := range []string{
			bucket + "/data-6f4f2a0c-0000-4000-8000-000000000000-0.parquet", bucket + "/changelog-6f4f2a0c-0000-4000-8000-000000000000-0.parquet",
			bucket + "/data-6f4f2a0c-0000-4000-8000-000000000000-0.parquet.index", bucket + "/.data-6f4f2a0c.tmp", "manifest/manifest-6f4f2a0c-0000-4000-8000-000000000000-0",
			"manifest/manifest-list-6f4f2a0c-0000-4000-8000-000000000000-0", "manifest/index-manifest-6f4f2a0c-0000-4000-8000-000000000000-0",
			"index/index-6f4f2a0c-0000-4000-8000-000000000000-0", "statistics/stat-6f4f2a0c-0000-4000-8000-000000000000-0",
			"README", "schema/note", bucket + "/note.txt",
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, f)), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, f), []byte("x"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var left [2][]string
		for i, by := range sides {
			tab := origin.copied(t, fmt.Sprintf("d.orphans_%s_%s", kind, by))
			if by == java {
				tab.Do(t, tarntest.Command{"op": "orphan", "table": tab.name})
			} else if _, err := tab.open(t).Orphans(t.Context(), time.Now().Add(time.Hour), false); err != nil {
				t.Fatal(err)
			}
			left[i] = tab.onDisk(t)
			tab.same(t, "orphans cleaned", nil)
			table{lake: tab.lake, name: tab.name + "$branch_b"}.same(t, "orphans cleaned", nil)
			for _, name := range tags {
				tab.sameState(t, "orphans cleaned", map[string]string{"scan.tag-name": name})
			}
			tab.sound(t)
		}
		if d := differences(left[1], left[0]); d != "" {
			t.Errorf("%s: files left by Java (-), by tarn (+)\n%s", kind, d)
		}
	}
}
