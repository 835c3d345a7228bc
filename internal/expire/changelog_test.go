package expire

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
)

// logged are the files of the changelogs that were set aside.
func (e *env) logged(produces bool) []string {
	e.t.Helper()
	ctx := e.t.Context()
	ids, err := e.table.Snapshots.Changelogs(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	used := map[string]bool{}
	for _, id := range ids {
		c, err := e.table.Snapshots.Changelog(ctx, id)
		if err != nil {
			e.t.Fatal(err)
		}
		l := c.Changelog()
		if !produces {
			l = c.Delta()
		}
		if l.Name == "" {
			continue
		}
		metas, err := e.table.Manifests.ReadList(ctx, l)
		if err != nil {
			e.t.Fatal(err)
		}
		entries, err := e.table.Manifests.ReadAll(ctx, metas, nil)
		if err != nil {
			e.t.Fatal(err)
		}
		used[root+"/manifest/"+l.Name] = true
		for _, m := range metas {
			used[root+"/manifest/"+m.Name] = true
		}
		for _, x := range entries {
			if x.Kind == manifest.Add && x.File.Source != manifest.SourceCompact {
				for _, n := range append([]string{x.File.Name}, x.File.ExtraFiles...) {
					used[root+"/bucket-0/"+n] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// B049: changelogs that live longer than snapshots are set aside, with all their files, until their own
// time is over; then all goes that nobody else uses. Holes are passed over, and a call that was interrupted
// is made again. What a changelog has is no orphan.
func TestChangelogs(t *testing.T) {
	for _, produces := range []bool{true, false} {
		t.Run(fmt.Sprint("producer ", produces), func(t *testing.T) {
			ctx := t.Context()
			e := memEnv(t)
			o := Options{RetainMin: 1, RetainMax: 1, KeepChangelogs: true, ProducesChangelog: produces, ChangelogMin: 1, ChangelogMax: 100}
			all := func(when string) {
				t.Helper()
				e.complete(when)
				have := e.onDisk()
				for _, f := range e.logged(produces) {
					if _, ok := slices.BinarySearch(have, f); !ok {
						t.Errorf("%s: %s is gone", when, f)
					}
				}
				r, err := FindOrphans(ctx, e.table, OrphanOptions{OlderThan: time.Now().Add(time.Hour), DryRun: true})
				if err != nil || len(r.Paths) > 0 {
					t.Errorf("%s: orphans %v, %v", when, r.Paths, err)
				}
			}
			logs := func(want ...int64) {
				t.Helper()
				ids, err := e.table.Snapshots.Changelogs(ctx)
				if err != nil || !slices.Equal(ids, want) {
					t.Errorf("changelogs %v, %v, want %v", ids, err, want)
				}
			}
			add := e.add
			if !produces {
				add = func(name string) {
					f := e.file(name)
					e.live[name] = f
					e.commit(manifest.Delta{Added: []*manifest.DataFile{f}})
				}
			}
			history := func(n int) {
				for range n {
					switch i := int(e.n) + 1; i % 5 {
					case 4:
						e.compact("", true)
					case 0:
						e.compact(fmt.Sprintf("c%03d", i), false)
					default:
						add(fmt.Sprintf("f%03d", i))
					}
				}
			}
			expireLogs := func() Result {
				t.Helper()
				r, err := Changelogs(ctx, e.table, o, e.now)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			history(13)
			if r := expireLogs(); len(r.Changelogs) > 0 {
				t.Errorf("%v expired, there are none", r.Changelogs)
			}
			e.tag("t6", 6)
			e.expire(o)
			logs(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
			all("set aside")
			if r := expireLogs(); len(r.Changelogs) > 0 { // they are an hour old at most
				t.Errorf("%v expired", r.Changelogs)
			}
			if err := e.table.Snapshots.PutConsumer(ctx, "c", 4); err != nil {
				t.Fatal(err)
			}
			o.ChangelogTime, o.ConsumersReadChangelogs = -1, true // the latter is for snapshots
			expireLogs()
			logs(4, 5, 6, 7, 8, 9, 10, 11, 12)
			all("with a consumer")
			if err := e.table.Snapshots.DeleteConsumer(ctx, "c"); err != nil {
				t.Fatal(err)
			}
			if err := e.table.Snapshots.DeleteChangelog(ctx, 5); err != nil {
				t.Fatal(err)
			}
			o.DryRun, o.ChangelogMin = true, 6
			if r := expireLogs(); len(r.Changelogs) != 3 || r.MetaFiles == 0 {
				t.Errorf("would expire %+v", r)
			}
			logs(4, 6, 7, 8, 9, 10, 11, 12)
			o.DryRun = false
			expireLogs()
			logs(8, 9, 10, 11, 12)
			e.complete("after the hole")
			if data, err := fileio.ReadFile(ctx, e.fs, root+"/changelog/EARLIEST"); err != nil || string(data) != "8" {
				t.Errorf("hint %q, %v", data, err)
			}
			// What only the lost changelog told of is an orphan now.
			if r, err := FindOrphans(ctx, e.table, OrphanOptions{OlderThan: time.Now().Add(time.Hour)}); err != nil || produces && len(r.Paths) > 0 {
				t.Errorf("orphans after the hole: %v, %v", r.Paths, err)
			}
			history(12)
			e.expire(o)
			expireLogs()
			logs(20, 21, 22, 23, 24)
			all("later")
			o.ChangelogMin = 1
			expireLogs()
			logs(24)
			if _, err := DeleteTag(ctx, e.table, "t6"); err != nil {
				t.Fatal(err)
			}
			all("the end")
		})
	}
}
