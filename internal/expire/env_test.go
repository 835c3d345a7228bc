package expire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/snapshot"
)

const root = "w/db.db/t"

// env is a table whose data files hold their own names.
type env struct {
	t     *testing.T
	fs    fileio.FS
	table Table
	c     *commit.Committer
	now   time.Time
	n     int64
	// live are the files of the newest snapshot, by name.
	live map[string]*manifest.DataFile
}

func newEnv(t *testing.T, fsys fileio.FS) *env {
	t.Helper()
	e := &env{t: t, fs: fsys, now: time.UnixMilli(1_700_000_000_000), live: map[string]*manifest.DataFile{}}
	e.table = Table{
		FS: fsys, Snapshots: snapshot.NewStore(fsys, root, ""), Paths: paths.NewTable(root, paths.Config{}),
		Manifests: manifest.NewStore(manifest.Config{FS: fsys, Dir: root + "/manifest"}),
	}
	e.c = commit.New(root, commit.Config{
		FS: fsys, Snapshots: e.table.Snapshots, Manifests: e.table.Manifests, MergeMinCount: 3,
		SchemaID: func(context.Context) (int64, error) { return 0, nil },
		Clock:    func() time.Time { return e.now },
		Pause:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	return e
}

var noPartition = binary.BigEndian.AppendUint64(make([]byte, 4), 0)

func (e *env) write(p string) {
	e.t.Helper()
	w, err := e.fs.Create(e.t.Context(), p)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := w.Write([]byte(p)); err != nil {
		e.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) file(name string, extra ...string) *manifest.DataFile {
	for _, f := range append([]string{name}, extra...) {
		e.write(root + "/bucket-0/" + f)
	}
	return &manifest.DataFile{
		Name: name, Rows: 1, MinKey: noPartition, MaxKey: noPartition, ExtraFiles: extra, FirstRowID: -1, DeleteRows: 0,
		KeyStats: manifest.Stats{NullCounts: []int64{}}, ValueStats: manifest.Stats{NullCounts: []int64{}}, Source: manifest.SourceAppend,
	}
}

func (e *env) commit(d manifest.Delta) {
	e.t.Helper()
	d.Partition, d.TotalBuckets = noPartition, 1
	e.n++
	e.now = e.now.Add(time.Second)
	if _, err := e.c.Commit(e.t.Context(), commit.ID{User: "u", Number: e.n}, []manifest.Delta{d}, commit.Options{Base: e.n - 1}); err != nil {
		e.t.Fatal(err)
	}
}

// add commits a new file, with a changelog.
func (e *env) add(name string) {
	e.t.Helper()
	f := e.file(name, name+".index")
	e.live[name] = f
	log := e.file("changelog-" + name)
	e.commit(manifest.Delta{Added: []*manifest.DataFile{f}, Changelog: []*manifest.DataFile{log}})
}

// compact replaces all files by one, with a hash index; up only moves them to another level.
func (e *env) compact(name string, up bool) {
	e.t.Helper()
	d := manifest.Delta{}
	after := map[string]*manifest.DataFile{}
	names := make([]string, 0, len(e.live))
	for n := range e.live {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		d.CompactBefore = append(d.CompactBefore, e.live[n])
		if up {
			f := *e.live[n]
			f.Level++
			after[n] = &f
			d.CompactAfter = append(d.CompactAfter, &f)
		}
	}
	if !up {
		f := e.file(name)
		f.Level, f.Source = 5, manifest.SourceCompact
		after[name] = f
		d.CompactAfter = []*manifest.DataFile{f}
		e.write(root + "/index/index-" + name)
		d.CompactIndex = []manifest.IndexEntry{{Type: "HASH", Name: "index-" + name}}
	}
	e.live = after
	e.commit(d)
}

// used are all files that snapshots and tags need.
func (e *env) used() []string {
	e.t.Helper()
	ctx := e.t.Context()
	used := map[string]bool{}
	ids, err := e.table.Snapshots.All(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	var all []*snapshot.Snapshot
	for _, id := range ids {
		s, err := e.table.Snapshots.Get(ctx, id)
		if err != nil {
			e.t.Fatal(err)
		}
		all = append(all, s)
	}
	tags, err := e.table.Snapshots.Tags(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	snapshots := len(all)
	for _, tag := range tags {
		all = append(all, tag.Snapshot)
	}
	m := manifest.NewStore(manifest.Config{FS: e.fs, Dir: root + "/manifest"})
	for i, s := range all {
		e.need(m, s, i < snapshots, used)
	}
	var out []string
	for f := range used {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

func (e *env) need(m *manifest.Store, s *snapshot.Snapshot, changelog bool, used map[string]bool) {
	e.t.Helper()
	ctx := e.t.Context()
	read := func(lists ...manifest.List) []manifest.Entry {
		var all []manifest.Entry
		for _, l := range lists {
			if l.Name == "" {
				continue
			}
			used[root+"/manifest/"+l.Name] = true
			metas, err := m.ReadList(ctx, l)
			if err != nil {
				e.t.Fatal(err)
			}
			for _, f := range metas {
				used[root+"/manifest/"+f.Name] = true
			}
			entries, err := m.ReadAll(ctx, metas, nil)
			if err != nil {
				e.t.Fatal(err)
			}
			all = append(all, entries...)
		}
		return all
	}
	files, err := manifest.MustLive(read(s.Base(), s.Delta()))
	if err != nil {
		e.t.Fatal(err)
	}
	if changelog {
		files = append(files, read(s.Changelog())...)
	}
	for _, f := range files {
		for _, n := range append([]string{f.File.Name}, f.File.ExtraFiles...) {
			used[root+"/bucket-0/"+n] = true
		}
	}
	if s.IndexManifest != "" {
		used[root+"/manifest/"+s.IndexManifest] = true
		entries, err := m.ReadIndex(ctx, s.IndexManifest)
		if err != nil {
			e.t.Fatal(err)
		}
		for _, x := range entries {
			used[root+"/index/"+x.Name] = true
		}
	}
}

// onDisk are all files but snapshots, tags, hints and consumers.
func (e *env) onDisk() []string {
	e.t.Helper()
	var out []string
	for _, dir := range []string{"bucket-0", "manifest", "index"} {
		err := fileio.Walk(e.t.Context(), e.fs, root+"/"+dir, func(i fileio.Info) error {
			out = append(out, i.Path)
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.t.Fatal(err)
		}
	}
	slices.Sort(out)
	return out
}

// exact checks that there are exactly the files that are needed.
func (e *env) exact(when string) {
	e.t.Helper()
	if d := cmp.Diff(e.used(), e.onDisk()); d != "" {
		e.t.Fatalf("%s: files (-needed +there):\n%s", when, d)
	}
}

// complete checks that there are at least the files that are needed.
func (e *env) complete(when string) {
	e.t.Helper()
	have := e.onDisk()
	for _, f := range e.used() {
		if _, ok := slices.BinarySearch(have, f); !ok {
			e.t.Fatalf("%s: %s is gone", when, f)
		}
	}
}

func (e *env) expire(o Options) Result {
	e.t.Helper()
	r, err := Snapshots(e.t.Context(), e.table, o, e.now)
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

func (e *env) tag(name string, id int64) {
	e.t.Helper()
	s, err := e.table.Snapshots.At(e.t.Context(), id)
	if err != nil {
		e.t.Fatal(err)
	}
	if err := e.table.Snapshots.CreateTag(e.t.Context(), name, s, 0, e.now, 0); err != nil {
		e.t.Fatal(err)
	}
}

// history makes n snapshots: files, upgrades and compactions.
func (e *env) history(n int) {
	e.t.Helper()
	for range n {
		i := int(e.n) + 1
		switch {
		case i%5 == 4:
			e.compact(fmt.Sprintf("c%03d", i), true)
		case i%5 == 0:
			e.compact(fmt.Sprintf("c%03d", i), false)
		default:
			e.add(fmt.Sprintf("f%03d", i))
		}
	}
}

func (e *env) ids() string {
	e.t.Helper()
	ids, err := e.table.Snapshots.List(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.Trim(fmt.Sprint(ids), "[]")
}

func base(p string) string { return path.Base(p) }
