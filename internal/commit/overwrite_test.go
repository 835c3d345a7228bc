package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

var parts = []types.Field{
	{ID: 0, Name: "d", Type: types.Type{Kind: types.Varchar, Length: 10}},
	{ID: 1, Name: "h", Type: types.Type{Kind: types.Int}},
}

var partTypes = []types.Type{parts[0].Type, parts[1].Type}

// inPart makes a delta in partition (d, h).
func (e *env) inPart(name string, d types.Datum, h types.Datum, bucket int) manifest.Delta {
	return manifest.Delta{
		Partition: row(e.t, partTypes, d, h), Bucket: bucket, TotalBuckets: 2,
		Added: []*manifest.DataFile{dataFile(e.t, name, 0, 1, 10)},
	}
}

func partEnv(t *testing.T) (*env, *Committer) {
	e := memEnv(t)
	e.c.Manifests = e.manifests(partTypes)
	c := e.committer()
	mustCommit(t, c, id("u", 1), Options{},
		e.inPart("x1", "x", int64(1), 0), e.inPart("x2", "x", int64(2), 0), e.inPart("y1", "y", int64(1), 1),
		e.inPart("n1", nil, int64(1), 0), e.inPart("e1", "", int64(1), 0))
	e.wantFiles(t.Context(), "e1@0 n1@0 x1@0 x2@0 y1@0")
	return e, c
}

func TestOverwrite(t *testing.T) {
	match := func(spec map[string]types.Datum) Overwrite {
		m, err := MatchPartition(parts, spec)
		if err != nil {
			t.Fatal(err)
		}
		return Overwrite{Match: m}
	}
	for _, c := range []struct {
		name  string
		w     Overwrite
		d     func(e *env) []manifest.Delta
		want  string
		err   string
		empty bool
	}{
		{name: "whole", w: Overwrite{}, d: func(e *env) []manifest.Delta { return []manifest.Delta{e.inPart("z", "z", nil, 0)} }, want: "z@0"},
		{name: "truncate", w: Overwrite{}, want: ""},
		{name: "static", w: match(map[string]types.Datum{"d": "x"}), d: func(e *env) []manifest.Delta { return []manifest.Delta{e.inPart("z", "x", int64(9), 0)} }, want: "e1@0 n1@0 y1@0 z@0"},
		{name: "static full", w: match(map[string]types.Datum{"d": "x", "h": int64(2)}), want: "e1@0 n1@0 x1@0 y1@0"},
		{name: "static other column", w: match(map[string]types.Datum{"h": int64(1)}), want: "x2@0"},
		{name: "null is not empty", w: match(map[string]types.Datum{"d": nil}), want: "e1@0 x1@0 x2@0 y1@0"},
		{name: "empty is not null", w: match(map[string]types.Datum{"d": ""}), want: "n1@0 x1@0 x2@0 y1@0"},
		{name: "dynamic", w: Overwrite{Dynamic: true}, d: func(e *env) []manifest.Delta {
			return []manifest.Delta{e.inPart("z", "x", int64(1), 1), e.inPart("w", "new", nil, 0)}
		}, want: "e1@0 n1@0 w@0 x2@0 y1@0 z@0"},
		{name: "dynamic without rows", w: Overwrite{Dynamic: true}, want: "e1@0 n1@0 x1@0 x2@0 y1@0", empty: true},
		{name: "file elsewhere", w: match(map[string]types.Datum{"d": "x"}), d: func(e *env) []manifest.Delta { return []manifest.Delta{e.inPart("z", "y", int64(9), 0)} }, err: "another partition", want: "e1@0 n1@0 x1@0 x2@0 y1@0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, cm := partEnv(t)
			var d []manifest.Delta
			if c.d != nil {
				d = c.d(e)
				d[0].Changelog = []*manifest.DataFile{dataFile(t, "log", 0, 1, 2)}
			}
			r, err := cm.CommitOverwrite(t.Context(), id("o", 1), c.w, d, Options{})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			} else if (r.Append == nil) != c.empty {
				t.Errorf("%+v", r)
			} else if r.Append != nil && (r.Append.CommitKind != snapshot.Overwrite || r.Append.ChangelogManifestList != "") {
				t.Errorf("%+v", r.Append)
			}
			e.wantFiles(t.Context(), c.want)
		})
	}
	if _, err := MatchPartition(parts, map[string]types.Datum{"q": "x"}); err == nil {
		t.Error("an unknown column was taken")
	}
}

// TestOverwriteRaces: an overwrite is computed again on what others committed meanwhile.
func TestOverwriteRaces(t *testing.T) {
	e, c := partEnv(t)
	f := fileio.NewFault(e.fs)
	fe := newEnv(t, f, tablePath)
	fe.c.Manifests = fe.manifests(partTypes)
	once := false
	f.Decide(func(call fileio.Call) fileio.Fate {
		if call.Op == "PutIfAbsent" && !once {
			once = true
			mustCommit(t, c, id("u", 2), Options{}, e.inPart("late", "x", int64(1), 0))
		}
		return fileio.Pass
	})
	if _, err := fe.committer().CommitOverwrite(t.Context(), id("o", 1), Overwrite{Dynamic: true}, []manifest.Delta{e.inPart("z", "x", int64(1), 0)}, Options{}); err != nil {
		t.Fatal(err)
	}
	e.wantFiles(t.Context(), "e1@0 n1@0 x2@0 y1@0 z@0")
	if o := e.orphans(t.Context()); len(o) > 0 {
		t.Errorf("the lost attempt leaves %v", o)
	}
}

// TestOverwriteTwice is B039 for overwrites: under another identity the same files cannot be added again.
func TestOverwriteTwice(t *testing.T) {
	e, c := partEnv(t)
	d := []manifest.Delta{e.inPart("z", "x", int64(1), 0)}
	for _, again := range []int{0, 1} {
		r, err := c.CommitOverwrite(t.Context(), id("o", 1), Overwrite{Dynamic: true}, d, Options{})
		if err != nil || r.Repeated != again {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	_, err := c.CommitOverwrite(t.Context(), id("p", 1), Overwrite{Dynamic: true}, d, Options{})
	wantConflict(t, err, snapshot.Overwrite, "there already")
}

// TestRescale: the number of buckets changes by an overwrite, and vectors and indexes of what is
// replaced go too.
func TestRescale(t *testing.T) {
	e, c := partEnv(t)
	d := e.inPart("x3", "x", int64(1), 0)
	d.Index = []manifest.IndexEntry{indexEntry(manifest.Add, "HASH", "h1")}
	mustCommit(t, c, id("u", 2), Options{}, d)
	n := e.inPart("z", "x", int64(1), 3)
	n.TotalBuckets = 4
	r, err := c.CommitOverwrite(t.Context(), id("o", 1), Overwrite{Dynamic: true}, []manifest.Delta{n}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := e.c.Manifests.ReadIndex(t.Context(), r.Append.IndexManifest); err != nil || len(x) != 0 {
		t.Errorf("index %v, %v", x, err)
	}
	n2 := e.inPart("z2", "x", int64(1), 3)
	n2.TotalBuckets = 4
	mustCommit(t, c, id("u", 3), Options{CheckAppend: true}, n2)
	_, err = c.Commit(t.Context(), id("u", 4), []manifest.Delta{e.inPart("z3", "x", int64(1), 1)}, Options{CheckAppend: true})
	wantConflict(t, err, snapshot.Append, "4 buckets")
}

// Rows that were made of some files do not replace others that came meanwhile, nor their indexes.
func TestOverwriteOnto(t *testing.T) {
	e, c := partEnv(t)
	indexed := e.inPart("x3", "x", int64(1), 0)
	indexed.Index = []manifest.IndexEntry{indexEntry(manifest.Add, "HASH", "h1")}
	mustCommit(t, c, id("u", 2), Options{}, indexed)
	n := []manifest.Delta{e.inPart("z", "x", int64(1), 0)}
	for i, onto := range []map[string]bool{{"x1": true, "h1": true}, {"x3": true, "h1": true}, {"x1": true, "x3": true}} {
		_, err := c.CommitOverwrite(t.Context(), id("o", int64(i)), Overwrite{Dynamic: true, Onto: onto}, n, Options{})
		wantConflict(t, err, snapshot.Overwrite, "came after")
	}
	all := map[string]bool{"x1": true, "x3": true, "h1": true}
	if _, err := c.CommitOverwrite(t.Context(), id("o", 9), Overwrite{Dynamic: true, Onto: all}, n, Options{}); err != nil {
		t.Fatal(err)
	}
}

func TestUpgrade(t *testing.T) {
	e, _ := partEnv(t)
	e.c.UpgradeLevel = 5
	c := e.committer()
	apart := e.inPart("p", "x", int64(1), 0)
	apart.Added = append(apart.Added, dataFile(t, "q", 0, 11, 20))
	over := e.inPart("r", "x", int64(2), 0)
	over.Added = append(over.Added, dataFile(t, "s", 0, 10, 20))
	if _, err := c.CommitOverwrite(t.Context(), id("o", 1), Overwrite{}, []manifest.Delta{apart, over}, Options{}); err != nil {
		t.Fatal(err)
	}
	e.wantFiles(t.Context(), "p@5 q@5 r@0 s@0")
	if apart.Added[0].Level != 0 {
		t.Error("the caller's file was changed")
	}
}

// Of a table of very many files only the partitions that a commit touches are looked at. All conflicts are found.
func TestConflictsAmongVeryManyFiles(t *testing.T) {
	e, _ := partEnv(t)
	c := e.committer()
	mustCommit(t, c, id("u", 2), Options{}, e.inPart("x3", "x", int64(1), 1))
	compacted := func(name string, lo, hi int64, before ...string) manifest.Delta {
		d := e.inPart("", "x", int64(1), 0)
		d.Added, d.CompactAfter = nil, []*manifest.DataFile{dataFile(t, name, 3, lo, hi)}
		for _, b := range before {
			d.CompactBefore = append(d.CompactBefore, dataFile(t, b, 0, 1, 10))
		}
		return d
	}
	many := func() { // as its manifests say
		c.b.metas[0].Added += maxLive
		c.b.live = nil
	}
	many()
	mustCommit(t, c, id("u", 3), Options{}, compacted("c", 1, 10, "x1"))
	for i, bad := range []struct {
		d      manifest.Delta
		reason string
	}{
		{compacted("d", 20, 30, "x1"), "is gone"},
		{compacted("d", 20, 30, "y1"), "is gone"},
		{compacted("d", 5, 30), "overlap"},
		{compacted("c", 1, 10), "there already"},
	} {
		many()
		_, err := c.Commit(t.Context(), id("v", int64(i)), []manifest.Delta{bad.d}, Options{})
		wantConflict(t, err, snapshot.Compact, bad.reason)
	}
	e.wantFiles(t.Context(), "c@3 e1@0 n1@0 x2@0 x3@0 y1@0")
}

// TestManifestMerge: whatever the options, merging manifests changes no content, keeps their number
// low, and a full merge leaves no deletes.
func TestManifestMerge(t *testing.T) {
	for _, c := range []struct {
		count        int
		target, full int64
	}{{2, 8 << 20, 16 << 20}, {3, 1500, 16 << 20}, {5, 1200, 3000}, {30, 1 << 20, 2500}} {
		ctx := t.Context()
		e := memEnv(t)
		e.c.Manifests = manifest.NewStore(manifest.Config{FS: e.fs, Dir: e.dir + "/manifest", Partition: partTypes, TargetSize: c.target, Cache: manifest.NewCache(1 << 20)})
		e.c.MergeMinCount, e.c.TargetSize, e.c.FullCompactionSize = c.count, c.target, c.full
		cm := e.committer()
		var want []string
		most := 0
		for i := range 40 {
			d := e.inPart(fmt.Sprintf("f%02d", i), fmt.Sprint("d", i%4), int64(0), 0)
			if i%5 == 4 { // replace the one before, of another partition
				d = e.inPart(fmt.Sprintf("f%02d", i-1), fmt.Sprint("d", (i-1)%4), int64(0), 0)
				d.CompactBefore, d.Added = d.Added, nil
				d.CompactAfter = []*manifest.DataFile{dataFile(t, fmt.Sprintf("g%02d", i), i, 1, 10)}
				want[len(want)-1] = fmt.Sprintf("g%02d@%d", i, i)
			} else {
				want = append(want, fmt.Sprintf("f%02d@0", i))
			}
			r := mustCommit(t, cm, id("u", int64(i)), Options{Base: int64(i)}, d)
			metas, err := e.c.Manifests.ReadList(ctx, r.Latest().Base())
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, len(metas))
		}
		ordered := strings.Join(slices.Sorted(slices.Values(want)), " ")
		e.wantFiles(ctx, ordered)
		if c.full > 1<<20 && c.target > 1<<20 && most > c.count+8 {
			t.Errorf("%+v: up to %d manifests", c, most)
		}
		if o := e.orphans(ctx); len(o) > 0 {
			t.Errorf("%+v: orphans %v", c, o)
		}
	}
}

// TestVersions: a table stays at the version it has, until something needs more.
func TestVersions(t *testing.T) {
	for _, v := range []manifest.Version{manifest.V04, manifest.V07, manifest.V08, manifest.V10, manifest.V12, manifest.V14} {
		ctx := t.Context()
		e := memEnv(t)
		e.c.Version = v
		c := e.committer()
		mustCommit(t, c, ID{User: "u", Number: 1, Properties: map[string]string{"a": "b"}, LogOffsets: map[string]int64{"0": 4}}, Options{}, e.add("a", 1, 2))
		e.c.Version = 0
		r := mustCommit(t, e.committer(), id("u", 2), Options{}, e.add("b", 1, 2)) // knows nothing
		s := r.Append
		if old := v < manifest.V08; old != strings.Contains(string(snapshot.Encode(s, s.Written)), `"watermark" : null`) {
			t.Errorf("%s: written at %s", v, s.Written)
		}
		if (s.BaseManifestListSize != nil) != true {
			t.Error("no size in memory")
		}
		first, err := e.c.Snapshots.Get(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		if (first.Properties != nil) != (v >= manifest.V12) || (first.LogOffsets["0"] == 4) != (v < manifest.V14) || (first.NextRowID != nil) != (v >= manifest.V13) {
			t.Errorf("%s: %+v", v, first)
		}
		second, err := e.c.Snapshots.Get(ctx, 2)
		if err != nil {
			t.Fatal(err)
		}
		if (second.LogOffsets["0"] == 4) != (v < manifest.V14) {
			t.Errorf("%s: offsets were not carried over: %v", v, second.LogOffsets)
		}
		metas, err := e.c.Manifests.ReadList(ctx, second.Delta())
		if err != nil {
			t.Fatal(err)
		}
		w, err := e.c.Manifests.WrittenBy(ctx, metas[0].Name)
		if err != nil || (w < manifest.V08) != (v < manifest.V08) || (w < manifest.V13) != (v < manifest.V13) {
			t.Errorf("%s: manifest is of %s, %v", v, w, err)
		}
	}
}

func TestRowTracking(t *testing.T) {
	e := memEnv(t)
	e.c.RowTracking, e.c.Keys = true, nil
	c := e.committer()
	for i := range 2 {
		mustCommit(t, c, id("u", int64(i)), Options{}, e.add(fmt.Sprint("f", i), 1, 10))
	}
	s, err := e.c.Snapshots.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	metas, err := e.c.Manifests.ReadList(t.Context(), s.Delta())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := e.c.Manifests.ReadAll(t.Context(), metas, nil)
	if err != nil || len(entries) != 1 {
		t.Fatal(err)
	}
	if f := entries[0].File; *s.NextRowID != 20 || f.FirstRowID != 10 || f.MinSequence != 2 || f.MaxSequence != 2 {
		t.Errorf("next %d, file %+v", *s.NextRowID, f)
	}
}

func TestCancelled(t *testing.T) {
	e := memEnv(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.committer().Commit(ctx, id("u", 1), []manifest.Delta{e.add("a", 1, 2)}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if o := e.orphans(t.Context()); len(o) > 0 {
		t.Errorf("orphans %v", o)
	}
}

// BenchmarkTinyCommit is the metadata of a commit of one small file, on a local disk without syncing,
// at the start of a table's life and after 1000 commits.
func BenchmarkTinyCommit(b *testing.B) {
	for _, before := range []int{100, 1000} {
		b.Run(fmt.Sprint("after", before), func(b *testing.B) {
			e := newEnv(b, fileio.NewLocal(fileio.LocalOptions{}), b.TempDir())
			c := e.committer()
			n := int64(0)
			one := func() {
				n++
				if _, err := c.Commit(b.Context(), id("u", n), []manifest.Delta{e.add(fmt.Sprint("f", n), 1, 2)}, Options{Base: n - 1}); err != nil {
					b.Fatal(err)
				}
			}
			for range before {
				one()
			}
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				one()
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		})
	}
}
