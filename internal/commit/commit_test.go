package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

func mustCommit(t *testing.T, c *Committer, i ID, o Options, d ...manifest.Delta) Result {
	t.Helper()
	r, err := c.Commit(t.Context(), i, d, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAppendAndCompact(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	c := e.committer()
	d := e.add("a", 1, 10)
	d.CompactBefore = []*manifest.DataFile{d.Added[0]}
	d.CompactAfter = []*manifest.DataFile{dataFile(t, "a", 5, 1, 10)}
	w := int64(7)
	r := mustCommit(t, c, ID{User: "u", Number: 1, Watermark: &w, Properties: map[string]string{"k": "v"}}, Options{}, d)
	if r.Append.ID != 1 || r.Compact.ID != 2 || r.Append.CommitKind != snapshot.Append || r.Compact.CommitKind != snapshot.Compact || r.Repeated != 0 {
		t.Fatalf("%+v", r)
	}
	e.wantFiles(ctx, "a@5")
	if r.Append.Properties["k"] != "v" || *r.Append.Watermark != 7 {
		t.Errorf("snapshot %+v", r.Append)
	}
	// The same again, by this one and by another that knows nothing (B039).
	for _, again := range []*Committer{c, e.committer()} {
		r = mustCommit(t, again, id("u", 1), Options{}, d)
		if r.Repeated != 2 || r.Append.ID != 1 || r.Compact.ID != 2 {
			t.Errorf("%+v", r)
		}
	}
	// A smaller watermark does not turn time back, and properties are the commit's own.
	w2 := int64(5)
	r = mustCommit(t, c, ID{User: "u", Number: 2, Watermark: &w2}, Options{Base: 2}, e.add("b", 3, 4))
	if *r.Append.Watermark != 7 || r.Append.Properties != nil || r.Append.ID != 3 {
		t.Errorf("%+v", r.Append)
	}
	e.wantFiles(ctx, "a@5 b@0")
	if o := e.orphans(ctx); len(o) > 0 {
		t.Errorf("orphans %v", o)
	}
	if hint, err := fileio.ReadFile(ctx, e.fs, e.c.Snapshots.Dir()+"/LATEST"); err != nil || string(hint) != "3" {
		t.Errorf("hint %q, %v", hint, err)
	}
}

func TestEmptyCommit(t *testing.T) {
	e := memEnv(t)
	c := e.committer()
	if r := mustCommit(t, c, id("u", 1), Options{}); r.Latest() != nil {
		t.Errorf("%+v", r)
	}
	if r := mustCommit(t, c, id("u", 1), Options{AllowEmpty: true}); r.Append == nil || r.Append.ID != 1 {
		t.Errorf("%+v", r)
	}
	if got := e.marksOf(t.Context()); !slices.Equal(got, []string{"u 1 APPEND"}) {
		t.Error(got)
	}
}

// compaction is a delta that replaces files of level 0 by one of a higher level.
func compaction(t *testing.T, before []*manifest.DataFile, after ...*manifest.DataFile) manifest.Delta {
	t.Helper()
	return manifest.Delta{Partition: noPartition, TotalBuckets: 1, CompactBefore: before, CompactAfter: after}
}

func wantConflict(t *testing.T, err error, kind snapshot.CommitKind, reason string) {
	t.Helper()
	var ce *ConflictError
	if !errors.Is(err, ErrConflict) || !errors.As(err, &ce) {
		t.Fatalf("error %v, want a conflict", err)
	}
	if ce.Kind != kind || !strings.Contains(err.Error(), reason) {
		t.Errorf("conflict of %s: %v; want %s with %q", ce.Kind, err, kind, reason)
	}
}

func TestConflicts(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	c := e.committer()
	a, b := e.add("a", 1, 10), e.add("b", 5, 20)
	mustCommit(t, c, id("u", 1), Options{}, a)
	mustCommit(t, c, id("u", 2), Options{}, b)
	mustCommit(t, c, id("u", 3), Options{}, compaction(t, []*manifest.DataFile{a.Added[0], b.Added[0]}, dataFile(t, "ab", 5, 1, 20)))

	other := e.committer()
	// The files are gone.
	_, err := other.Commit(ctx, id("v", 1), []manifest.Delta{compaction(t, a.Added, dataFile(t, "x", 1, 1, 10))}, Options{})
	wantConflict(t, err, snapshot.Compact, "is gone")
	// Keys would overlap in a level.
	n := e.add("n", 15, 30)
	mustCommit(t, other, id("v", 2), Options{}, n)
	_, err = other.Commit(ctx, id("v", 3), []manifest.Delta{compaction(t, n.Added, dataFile(t, "n5", 5, 15, 30))}, Options{})
	wantConflict(t, err, snapshot.Compact, "overlap")
	// In another level they may.
	mustCommit(t, other, id("v", 4), Options{}, compaction(t, n.Added, dataFile(t, "n", 4, 15, 30)))
	// A file is added twice.
	_, err = other.Commit(ctx, id("v", 5), []manifest.Delta{compaction(t, nil, dataFile(t, "n", 4, 15, 30))}, Options{})
	wantConflict(t, err, snapshot.Compact, "there already")
	// The number of buckets changed without an overwrite.
	d := e.add("z", 1, 1)
	d.TotalBuckets = 2
	_, err = other.Commit(ctx, id("v", 6), []manifest.Delta{d}, Options{CheckAppend: true})
	wantConflict(t, err, snapshot.Append, "1 buckets")
	// So it does within a commit.
	d, n = e.add("p", 1, 1), e.add("q", 2, 2)
	d.Partition, n.Partition = row(t, intKey, int64(1)), row(t, intKey, int64(1))
	n.TotalBuckets = 2
	_, err = other.Commit(ctx, id("v", 7), []manifest.Delta{d, n}, Options{CheckAppend: true})
	wantConflict(t, err, snapshot.Append, "for 1 and for 2 buckets")
	// A file is removed twice.
	ab := dataFile(t, "ab", 5, 1, 20)
	_, err = other.Commit(ctx, id("v", 8), []manifest.Delta{compaction(t, []*manifest.DataFile{ab, ab}, dataFile(t, "x", 5, 1, 20))}, Options{})
	wantConflict(t, err, snapshot.Compact, "is gone")

	e.wantFiles(ctx, "ab@5 n@4")
	if o := e.orphans(ctx); len(o) > 0 {
		t.Errorf("conflicts leave %v", o)
	}
	// A lost compaction takes nothing of the append with it.
	d = e.add("w", 1, 2)
	d.CompactBefore, d.CompactAfter = a.Added, []*manifest.DataFile{dataFile(t, "y", 1, 1, 2)}
	r, err := other.Commit(ctx, id("v", 9), []manifest.Delta{d}, Options{})
	wantConflict(t, err, snapshot.Compact, "is gone")
	if r.Append == nil || r.Compact != nil {
		t.Errorf("%+v", r)
	}
	e.wantFiles(ctx, "ab@5 n@4 w@0")
}

func indexEntry(k manifest.Kind, typ, name string, files ...string) manifest.IndexEntry {
	x := manifest.IndexEntry{Kind: k, Type: typ, Name: name, Size: 1, Rows: 1}
	for _, f := range files {
		x.Vectors = append(x.Vectors, manifest.VectorRange{File: f, Offset: 1, Length: 2, Cardinality: 1})
	}
	return x
}

// TestVectors is B007 and B041: index manifests are carried over, and two deletes in the same file do
// not displace each other, with and without buckets.
func TestVectors(t *testing.T) {
	for _, bucket := range []int{0, 3} {
		ctx := t.Context()
		e := memEnv(t)
		e.c.Keys = nil
		c := e.committer()
		f := e.add("f", 1, 10)
		f.Bucket = bucket
		mustCommit(t, c, id("u", 1), Options{}, f)
		vectors := func(x ...manifest.IndexEntry) manifest.Delta {
			return manifest.Delta{Partition: noPartition, Bucket: bucket, TotalBuckets: 1, Index: x}
		}
		j2 := e.committer()
		r := mustCommit(t, c, id("j1", 1), Options{}, vectors(indexEntry(manifest.Add, "DELETION_VECTORS", "i1", "f")))
		if r.Append.CommitKind != snapshot.Overwrite || r.Append.IndexManifest == "" {
			t.Errorf("%+v", r.Append)
		}
		first := r.Append.IndexManifest
		_, err := j2.Commit(ctx, id("j2", 1), []manifest.Delta{vectors(indexEntry(manifest.Add, "DELETION_VECTORS", "i2", "f"))}, Options{})
		wantConflict(t, err, snapshot.Overwrite, "another deletion vector")
		// A compaction that has not seen the vector must not remove the file.
		d := manifest.Delta{Partition: noPartition, Bucket: bucket, TotalBuckets: 1, CompactBefore: f.Added, CompactAfter: []*manifest.DataFile{dataFile(t, "g", 0, 1, 10)}}
		_, err = j2.Commit(ctx, id("j2", 2), []manifest.Delta{d}, Options{})
		wantConflict(t, err, snapshot.Compact, "deletion vector meanwhile")
		// Who has seen it replaces it.
		mustCommit(t, j2, id("j2", 3), Options{}, vectors(
			indexEntry(manifest.Delete, "DELETION_VECTORS", "i1", "f"), indexEntry(manifest.Add, "DELETION_VECTORS", "i3", "f")))
		_, err = c.Commit(ctx, id("j1", 2), []manifest.Delta{vectors(
			indexEntry(manifest.Delete, "DELETION_VECTORS", "i1", "f"), indexEntry(manifest.Add, "DELETION_VECTORS", "i4", "f"))}, Options{})
		wantConflict(t, err, snapshot.Overwrite, "is gone")
		// A plain append carries the index over.
		a := e.add("h", 11, 12)
		a.Bucket = bucket
		r = mustCommit(t, c, id("u", 2), Options{}, a)
		if r.Append.IndexManifest == "" || r.Append.IndexManifest == first {
			t.Errorf("index manifest %q", r.Append.IndexManifest)
		}
		// A vector for a file that is not there.
		_, err = c.Commit(ctx, id("j1", 3), []manifest.Delta{vectors(indexEntry(manifest.Add, "DELETION_VECTORS", "i5", "nofile"))}, Options{})
		wantConflict(t, err, snapshot.Overwrite, "is gone")
		// The compaction that has seen it.
		d.CompactIndex = []manifest.IndexEntry{indexEntry(manifest.Delete, "DELETION_VECTORS", "i3", "f")}
		r = mustCommit(t, c, id("u", 3), Options{}, d)
		entries, err := e.c.Manifests.ReadIndex(ctx, r.Compact.IndexManifest)
		if err != nil || len(entries) != 0 {
			t.Errorf("index entries %v, %v", entries, err)
		}
	}
}

func TestHashIndexReplaces(t *testing.T) {
	e := memEnv(t)
	c := e.committer()
	for i := range 3 {
		d := e.add(fmt.Sprint("f", i), 1, 2)
		d.Index = []manifest.IndexEntry{indexEntry(manifest.Add, "HASH", fmt.Sprint("h", i))}
		r := mustCommit(t, c, id("u", int64(i)), Options{}, d)
		entries, err := e.c.Manifests.ReadIndex(t.Context(), r.Append.IndexManifest)
		if err != nil || len(entries) != 1 || entries[0].Name != fmt.Sprint("h", i) {
			t.Errorf("%v, %v", entries, err)
		}
	}
}

// TestStrictMode is B037.
func TestStrictMode(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	w := e.committer()
	mustCommit(t, w, id("w", 1), Options{}, e.add("a", 1, 2))
	safe := int64(1)
	e.c.StrictFrom = &safe
	r := e.committer()
	mustCommit(t, w, id("w", 2), Options{}, e.add("b", 3, 4))
	_, err := r.CommitOverwrite(ctx, id("r", 1), Overwrite{}, []manifest.Delta{e.add("c", 1, 2)}, Options{})
	wantConflict(t, err, snapshot.Overwrite, "strict mode: snapshot 2 is a foreign APPEND")
	// An append of its own may follow a foreign one, but no foreign compaction.
	app := e.committer()
	mustCommit(t, app, id("p", 1), Options{}, e.add("d", 5, 6))
	mustCommit(t, w, id("w", 3), Options{}, compaction(t, []*manifest.DataFile{dataFile(t, "a", 0, 1, 2)}, dataFile(t, "a", 1, 1, 2)))
	_, err = app.Commit(ctx, id("p", 2), []manifest.Delta{e.add("e", 5, 6)}, Options{})
	wantConflict(t, err, snapshot.Append, "strict mode: snapshot 4 is a foreign COMPACT")
}

// TestDiscardDuplicates is B039 under another user.
func TestDiscardDuplicates(t *testing.T) {
	e := memEnv(t)
	e.c.DiscardDuplicates = true
	mustCommit(t, e.committer(), id("u", 1), Options{}, e.add("a", 1, 2))
	mustCommit(t, e.committer(), id("v", 1), Options{}, e.add("a", 1, 2), e.add("b", 1, 2))
	e.wantFiles(t.Context(), "a@0 b@0")
}

func TestRollback(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	c, other := e.committer(), e.committer()
	for i := range 3 {
		mustCommit(t, c, id("u", int64(i)), Options{}, e.add(fmt.Sprint("f", i), 1, 2))
	}
	// Somebody rolls back to 1 and commits other snapshots with the same numbers.
	if err := e.c.Snapshots.Delete(ctx, 2, 3); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, other, id("v", 1), Options{}, e.add("x", 1, 2))
	mustCommit(t, other, id("v", 2), Options{}, e.add("y", 1, 2))
	mustCommit(t, c, id("u", 2), Options{Base: 1}, e.add("f2", 1, 2))
	e.wantFiles(ctx, "f0@0 f2@0 x@0 y@0")
}

func TestUndecided(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	c := e.committer()
	for i := range 4 {
		mustCommit(t, c, id("u", int64(i)), Options{}, e.add(fmt.Sprint("f", i), 1, 2))
	}
	if err := e.c.Snapshots.Delete(ctx, 2); err != nil {
		t.Fatal(err)
	}
	// Snapshot 2, which held the commit, is gone, but its file is live.
	r := mustCommit(t, e.committer(), id("u", 1), Options{Base: 1}, e.add("f1", 1, 2))
	if r.Repeated != 1 {
		t.Errorf("%+v", r)
	}
	_, err := e.committer().Commit(ctx, id("u", 9), []manifest.Delta{e.add("new", 1, 2)}, Options{Base: 1})
	if !errors.Is(err, ErrUndecided) {
		t.Errorf("error %v", err)
	}
	e.wantFiles(ctx, "f0@0 f1@0 f2@0 f3@0")
}

// TestExpiredSinceNothing: what was prepared upon an empty table may have been committed in a snapshot that
// has expired, compacted and gone: that is as doubtful as any other hole. Who surely never tried goes on.
func TestExpiredSinceNothing(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	c := e.committer()
	a := e.add("a", 1, 2)
	mustCommit(t, c, id("u", 1), Options{}, a)
	mustCommit(t, c, id("v", 1), Options{}, compaction(t, a.Added, dataFile(t, "b", 5, 1, 2)))
	if err := e.c.Snapshots.Delete(ctx, 1); err != nil {
		t.Fatal(err)
	}
	_, err := e.committer().Commit(ctx, id("u", 1), []manifest.Delta{a}, Options{})
	if !errors.Is(err, ErrUndecided) {
		t.Errorf("error %v", err)
	}
	if _, err := e.committer().Lookup(ctx, "u", 1, snapshot.Append, 0); !errors.Is(err, ErrUndecided) {
		t.Errorf("lookup: %v", err)
	}
	e.wantFiles(ctx, "b@5")
	mustCommit(t, e.committer(), id("w", 1), Options{Fresh: true}, e.add("c", 3, 4))
	e.wantFiles(ctx, "b@5 c@0")
}

func TestLookup(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	c := e.committer()
	for i := range 4 {
		mustCommit(t, c, id("u", int64(i)), Options{}, e.add(fmt.Sprint("f", i), 1, 2))
	}
	c = e.committer()
	for _, x := range []struct {
		user       string
		number     int64
		kind       snapshot.CommitKind
		base, want int64
	}{
		{"u", 2, snapshot.Append, 0, 3},
		{"u", 2, snapshot.Append, -1, 3},
		{"u", 2, snapshot.Append, 2, 3},
		{"u", 2, snapshot.Append, 3, 0},
		{"u", 2, snapshot.Compact, 0, 0},
		{"v", 2, snapshot.Append, 0, 0},
		{"u", 9, snapshot.Append, 0, 0},
	} {
		s, err := c.Lookup(ctx, x.user, x.number, x.kind, x.base)
		if err != nil || (s == nil) != (x.want == 0) || s != nil && s.ID != x.want {
			t.Errorf("%+v: %v, %v", x, s, err)
		}
	}
	if err := e.c.Snapshots.Delete(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := e.committer().Lookup(ctx, "u", 9, snapshot.Append, 1); !errors.Is(err, ErrUndecided) {
		t.Errorf("error %v", err)
	}
	if v, err := c.Version(ctx); v != manifest.Latest || err != nil {
		t.Errorf("version %s, %v", v, err)
	}
}

// TestHintFails: a hint that cannot be written is no reason to fail (B042).
func TestHintFails(t *testing.T) {
	f := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
	f.Decide(func(c fileio.Call) fileio.Fate {
		if strings.HasSuffix(c.Path, "/LATEST") && c.Mutates {
			return fileio.FailBefore
		}
		return fileio.Pass
	})
	e := newEnv(t, f, tablePath)
	var hints []error
	e.c.Hint = func(err error) { hints = append(hints, err) }
	c := e.committer()
	mustCommit(t, c, id("u", 1), Options{}, e.add("a", 1, 2))
	mustCommit(t, e.committer(), id("u", 2), Options{}, e.add("b", 1, 2))
	if len(hints) != 2 {
		t.Errorf("%d failures told", len(hints))
	}
	e.wantFiles(t.Context(), "a@0 b@0")
}

// rude is a Swapper behind which a writer without a lock replaces the snapshot.
type rude struct{ fs fileio.FS }

func (r rude) Swap(ctx context.Context, s *snapshot.Snapshot, path string, data []byte) error {
	if err := r.fs.PutIfAbsent(ctx, path, data); err != nil {
		return err
	}
	other := *s
	other.CommitUser = "java"
	return r.fs.Put(ctx, path, snapshot.Encode(&other, 0))
}

func TestOverwritten(t *testing.T) {
	e := memEnv(t)
	e.c.Swapper = rude{e.fs}
	_, err := e.committer().Commit(t.Context(), id("u", 1), []manifest.Delta{e.add("a", 1, 2)}, Options{})
	if !errors.Is(err, ErrOverwritten) {
		t.Errorf("error %v", err)
	}
	e.wantFiles(t.Context(), "a@0") // its manifests were not removed
}

func TestRefused(t *testing.T) {
	f := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
	e := newEnv(t, f, tablePath)
	e.c.Swapper = denied{}
	_, err := e.committer().Commit(t.Context(), id("u", 1), []manifest.Delta{e.add("a", 1, 2)}, Options{})
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrUnknown) {
		t.Errorf("error %v", err)
	}
	if o := e.orphans(t.Context()); len(o) > 0 {
		t.Errorf("orphans %v", o)
	}
}

type denied struct{}

func (denied) Swap(context.Context, *snapshot.Snapshot, string, []byte) error {
	return fmt.Errorf("put: %w", fs.ErrPermission)
}

// fleeting is a Swapper whose first snapshot is there and gone again, by expiry, before it can be looked at.
type fleeting struct {
	fs    fileio.FS
	lost  bool // the first answer is a time-out, whatever became of the snapshot
	tries int
}

func (f *fleeting) Swap(ctx context.Context, _ *snapshot.Snapshot, path string, data []byte) error {
	f.tries++
	switch {
	case f.lost && f.tries == 1:
		return context.DeadlineExceeded
	case f.lost || f.tries == 1:
		return fmt.Errorf("put: %w", fs.ErrExist)
	}
	return f.fs.PutIfAbsent(ctx, path, data)
}

// A snapshot that is there and gone was another writer's if it was never tried before; else nobody knows.
func TestThereAndGone(t *testing.T) {
	for _, lost := range []bool{false, true} {
		e := memEnv(t)
		f := &fleeting{fs: e.fs, lost: lost}
		e.c.Swapper = f
		_, err := e.committer().Commit(t.Context(), id("u", 1), []manifest.Delta{e.add("a", 1, 2)}, Options{})
		if lost != errors.Is(err, ErrUnknown) || !lost && err != nil || f.tries != 2 {
			t.Errorf("lost %v: %v after %d tries", lost, err, f.tries)
		}
		if !lost {
			e.wantFiles(t.Context(), "a@0")
		}
	}
}

// TestRaces lets 8 writers commit 10 times each to one table.
func TestRaces(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) *env{
		"mem":   func(t *testing.T) *env { return memEnv(t) },
		"local": func(t *testing.T) *env { return newEnv(t, fileio.NewLocal(fileio.LocalOptions{}), t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			e := open(t)
			e.c.MergeMinCount = 5
			e.c.Pause = func(ctx context.Context, d time.Duration) error { return pause(ctx, min(d, 2*time.Millisecond)) }
			var wg sync.WaitGroup
			var want []string
			for w := range 8 {
				c := e.committer()
				for i := range 10 {
					want = append(want, fmt.Sprintf("f-%d-%d@0", w, i))
				}
				wg.Go(func() {
					for i := range 10 {
						d := manifest.Delta{Partition: noPartition, TotalBuckets: 1, Added: []*manifest.DataFile{dataFile(t, fmt.Sprintf("f-%d-%d", w, i), 0, 1, 2)}}
						r, err := c.Commit(ctx, id(fmt.Sprint("w", w), int64(i)), []manifest.Delta{d}, Options{CheckAppend: i%2 == 0})
						if err != nil || r.Append == nil {
							t.Errorf("writer %d: %v", w, err)
						}
					}
				})
			}
			wg.Wait()
			slices.Sort(want)
			if got := e.liveFiles(ctx); !slices.Equal(got, want) {
				t.Errorf("files\n%v\nwant\n%v", got, want)
			}
			marks := e.marksOf(ctx)
			slices.Sort(marks)
			if n := len(slices.Compact(marks)); n != 80 {
				t.Errorf("%d different commits", n)
			}
			if o := e.orphans(ctx); len(o) > 0 {
				t.Errorf("orphans %v", o)
			}
		})
	}
}
