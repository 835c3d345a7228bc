package commit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

const tablePath = "w/db.db/t"

// env is a table without data: its files exist by name only.
type env struct {
	t   testing.TB
	fs  fileio.FS
	dir string
	c   Config
}

var intKey = []types.Type{{Kind: types.Int, NotNull: true}}

func newEnv(t testing.TB, fs fileio.FS, dir string) *env {
	t.Helper()
	e := &env{t: t, fs: fs, dir: dir}
	e.c = Config{
		FS: fs, Snapshots: snapshot.NewStore(fs, dir, ""), Keys: intKey,
		SchemaID: func(context.Context) (int64, error) { return 0, nil },
		Clock:    func() time.Time { return time.UnixMilli(1_700_000_000_000) },
		Pause:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	e.c.Manifests = e.manifests(nil)
	return e
}

func memEnv(t testing.TB) *env {
	t.Helper()
	return newEnv(t, fileio.NewMem(fileio.MemOptions{}), tablePath)
}

func (e *env) manifests(partition []types.Type) *manifest.Store {
	return manifest.NewStore(manifest.Config{
		FS: e.fs, Dir: e.dir + "/manifest", Partition: partition, Cache: manifest.NewCache(64 << 20), Parallel: 1,
	})
}

func (e *env) committer() *Committer { return New(e.dir, e.c) }

func row(t testing.TB, ts []types.Type, vals ...types.Datum) []byte {
	t.Helper()
	b, err := binrow.EncodeWithArity(ts, vals)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var noPartition = binary.BigEndian.AppendUint64(make([]byte, 4), 0)

// dataFile makes a file of rows with keys from lo to hi.
func dataFile(t testing.TB, name string, level int, lo, hi int64) *manifest.DataFile {
	t.Helper()
	return &manifest.DataFile{
		Name: name, Size: 100, Rows: hi - lo + 1, Level: level, MinKey: row(t, intKey, lo), MaxKey: row(t, intKey, hi),
		KeyStats:   manifest.Stats{Min: row(t, intKey, lo), Max: row(t, intKey, hi), NullCounts: []int64{0}},
		ValueStats: manifest.Stats{NullCounts: []int64{}}, DeleteRows: 0, Source: manifest.SourceAppend, FirstRowID: -1,
	}
}

func (e *env) add(name string, lo, hi int64) manifest.Delta {
	return manifest.Delta{Partition: noPartition, TotalBuckets: 1, Added: []*manifest.DataFile{dataFile(e.t, name, 0, lo, hi)}}
}

func id(user string, n int64) ID { return ID{User: user, Number: n} }

// liveFiles reads the files of the newest snapshot with a fresh store: "name@level", ordered.
func (e *env) liveFiles(ctx context.Context) []string {
	e.t.Helper()
	s, err := e.c.Snapshots.Latest(ctx)
	if errors.Is(err, snapshot.ErrNone) {
		return nil
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return e.filesOf(ctx, s)
}

func (e *env) filesOf(ctx context.Context, s *snapshot.Snapshot) []string {
	e.t.Helper()
	m := manifest.NewStore(manifest.Config{FS: e.fs, Dir: e.dir + "/manifest"})
	var all []manifest.Entry
	for _, l := range []manifest.List{s.Base(), s.Delta()} {
		metas, err := m.ReadList(ctx, l)
		if err != nil {
			e.t.Fatal(err)
		}
		entries, err := m.ReadAll(ctx, metas, nil)
		if err != nil {
			e.t.Fatal(err)
		}
		all = append(all, entries...)
	}
	files, err := manifest.MustLive(all)
	if err != nil {
		e.t.Fatalf("snapshot %d: %v", s.ID, err)
	}
	var out []string
	var rows int64
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s@%d", f.File.Name, f.File.Level))
		rows += f.File.Rows
	}
	if s.TotalRecordCount == nil || *s.TotalRecordCount != rows {
		e.t.Errorf("snapshot %d says it has %v rows, its files have %d", s.ID, s.TotalRecordCount, rows)
	}
	slices.Sort(out)
	return out
}

func (e *env) wantFiles(ctx context.Context, want string) {
	e.t.Helper()
	if got := strings.Join(e.liveFiles(ctx), " "); got != want {
		e.t.Errorf("files are %q, want %q", got, want)
	}
}

// orphans lists the files in the manifest folder that no snapshot refers to.
func (e *env) orphans(ctx context.Context) []string {
	e.t.Helper()
	used := map[string]bool{}
	m := manifest.NewStore(manifest.Config{FS: e.fs, Dir: e.dir + "/manifest"})
	ids, err := e.c.Snapshots.List(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, id := range ids {
		s, err := e.c.Snapshots.Get(ctx, id)
		if err != nil {
			e.t.Fatal(err)
		}
		used[s.IndexManifest] = true
		for _, l := range []manifest.List{s.Base(), s.Delta(), s.Changelog()} {
			if l.Name == "" {
				continue
			}
			used[l.Name] = true
			metas, err := m.ReadList(ctx, l)
			if err != nil {
				e.t.Fatal(err)
			}
			for _, f := range metas {
				used[f.Name] = true
			}
		}
	}
	var out []string
	for info, err := range e.fs.List(ctx, e.dir+"/manifest") {
		if err != nil {
			e.t.Fatal(err)
		}
		if !used[info.Name()] {
			out = append(out, info.Name())
		}
	}
	return out
}

// marksOf lists the identities of all snapshots: "user number kind".
func (e *env) marksOf(ctx context.Context) []string {
	e.t.Helper()
	ids, err := e.c.Snapshots.List(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	var out []string
	for _, id := range ids {
		s, err := e.c.Snapshots.Get(ctx, id)
		if err != nil {
			e.t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %d %s", s.CommitUser, s.CommitIdentifier, s.CommitKind))
	}
	return out
}
