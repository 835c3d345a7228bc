package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// TestChangelogExpiry is B049: changelogs that live longer than snapshots. Each side expires the snapshots and changelogs
// of the same table, with a tag and a consumer: the same files are left after each step, the changes that are kept can be
// read, and nothing is taken for an orphan.
func TestChangelogExpiry(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	cols := []column{{name: "k", typ: "INT NOT NULL"}, {name: "v", typ: "INT"}}
	for kind, d := range map[string]definition{
		"input":  {columns: cols, key: []string{"k"}, options: map[string]string{"bucket": "1", "changelog-producer": "input", "num-sorted-run.compaction-trigger": "3"}},
		"lookup": {columns: cols, key: []string{"k"}, options: map[string]string{"bucket": "1", "changelog-producer": "lookup"}},
		"keys":   {columns: cols, key: []string{"k"}, options: map[string]string{"bucket": "1", "num-sorted-run.compaction-trigger": "3"}},
		"append": {columns: cols, options: map[string]string{"bucket": "-1"}},
	} {
		d.options["manifest.merge-min-count"] = "3"
		d.options["snapshot.num-retained.min"], d.options["snapshot.num-retained.max"] = "100", "200" // nothing goes by itself
		origin := l.create(t, java, "d.log_"+kind, d)
		for i := range 12 {
			origin.write(t, java, inserts(fmt.Sprintf(`{"k":%d,"v":%d}`, i, i), fmt.Sprintf(`{"k":%d,"v":%d}`, i%3, -i))...)
			switch i {
			case 4:
				origin.Do(t, tarntest.Command{"op": "tag", "table": origin.name, "name": "t"})
			case 8:
				origin.compact(t, java)
			}
		}
		latest, err := origin.open(t).LatestSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := origin.open(t).PutConsumer(t.Context(), "c", 4); err != nil {
			t.Fatal(err)
		}
		now := origin.same(t, "before", nil)
		var copies [2]table
		for i, by := range sides {
			copies[i] = origin.copied(t, fmt.Sprintf("d.log_%s_%s", kind, by))
		}
		expire := func(tab table, by side, snapshots, changelogs int) {
			t.Helper()
			if by == java {
				for _, op := range []string{"expire", "expireChangelog"} {
					tab.Do(t, tarntest.Command{
						"op": op, "table": tab.name, "snapshotRetainMax": snapshots, "snapshotRetainMin": 1,
						"changelogRetainMax": changelogs, "changelogRetainMin": 1, "changelogTimeRetain": "PT1H",
					})
				}
				return
			}
			x, err := tab.open(t).With(t.Context(), map[string]string{
				"changelog.num-retained.min": "1", "changelog.num-retained.max": strconv.Itoa(changelogs), "changelog.time-retained": "1 h",
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := x.ExpireSnapshots(t.Context(), tarn.ExpireOptions{RetainMin: 1, RetainMax: snapshots, TimeRetained: time.Nanosecond}); err != nil {
				t.Fatal(err)
			}
		}
		most := int(latest.ID)
		for _, step := range []struct {
			name                  string
			snapshots, changelogs int
			before                func(tab table)
		}{
			{"snapshots go, changelogs stay", most - 2, most, nil},
			{"up to the consumer", 2, 5, nil},
			{"without the consumer", 2, most - 5, func(tab table) {
				if err := tab.open(t).DeleteConsumer(t.Context(), "c"); err != nil {
					t.Fatal(err)
				}
			}},
			{"one snapshot", 1, 4, nil},
			{"few changelogs", 1, 2, nil},
			{"without the tag", 1, 2, func(tab table) { tab.deleteTag(t, java, "t") }},
		} {
			for i, by := range sides {
				if step.before != nil {
					step.before(copies[i])
				}
				expire(copies[i], by, step.snapshots, step.changelogs)
			}
			var left [2][]string
			for i, tab := range copies {
				// Java writes this hint also where nothing goes.
				left[i] = slices.DeleteFunc(tab.onDisk(t), func(f string) bool { return f == filepath.Join("changelog", "EARLIEST") })
			}
			if d := differences(left[1], left[0]); d != "" {
				t.Errorf("%s, %s: files left by Java (-), by tarn (+)\n%s", kind, step.name, d)
			}
			if t.Failed() {
				return
			}
			for _, tab := range copies {
				tab.same(t, step.name, now)
				tab.sound(t)
				if o, err := tab.open(t).Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(o) > 0 {
					t.Errorf("%s, %s: orphans %v, %v", tab.name, step.name, o, err)
				}
			}
		}
		from := most - 1
		if kind == "input" { // a file of a changelog that is missing is found
			tab := origin.copied(t, "d.log_broken")
			expire(tab, here, 1, most)
			for _, f := range tab.onDisk(t) {
				if strings.HasPrefix(f, filepath.Join("bucket-0", "changelog-")) {
					if err := os.Remove(filepath.Join(tab.dir(t), f)); err != nil {
						t.Fatal(err)
					}
					break
				}
			}
			if r, err := tab.open(t).Check(t.Context()); err != nil || len(r.Problems) != 1 || !r.Damaged() || !strings.Contains(r.Problems[0].Path, "bucket-0/changelog-") {
				t.Errorf("%s: %+v, %v, want a problem with a changelog", tab.name, r, err)
			}
		}
		for _, tab := range copies { // what is left is a stream
			a := tab.Do(t, tarntest.Command{"op": "streamread", "table": tab.name, "options": tarntest.Command{"scan.mode": "from-snapshot", "scan.snapshot-id": strconv.Itoa(from)}})
			if a[0].Count == 0 && len(a[0].Rows) == 0 {
				t.Errorf("%s: no changes from snapshot %d on: %s", tab.name, from, a[0].Raw)
			}
		}
	}
}
