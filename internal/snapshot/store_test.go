package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
)

func newStore(t *testing.T) *Store {
	t.Helper()
	return NewStore(fileio.NewLocal(fileio.LocalOptions{}), t.TempDir(), "")
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }

func sample(id int64) *Snapshot {
	return &Snapshot{
		Version: 3, ID: id, BaseManifestList: "b", DeltaManifestList: "d", CommitUser: "u", CommitIdentifier: id,
		CommitKind: Append, TimeMillis: 1000 * id, TotalRecordCount: ptr(int64(1)), DeltaRecordCount: ptr(int64(1)),
	}
}

func fill(t *testing.T, s *Store, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		put(t, s.Path(id), string(Encode(sample(id), 0)))
	}
}

// badCase unpacks a broken table.
func badCase(t *testing.T, name string) *Store {
	t.Helper()
	dir := t.TempDir()
	eachFile(t, "testdata/golden/bad-"+name+".tar.gz", func(name string, data []byte) {
		put(t, filepath.Join(dir, name), string(data))
	})
	return NewStore(fileio.NewLocal(fileio.LocalOptions{}), dir+"/warehouse/bad.db/t", "")
}

// TestBroken runs the broken tables of the golden set whose snapshots are touched. Java fails in the
// first four too; for a LATEST that names a missing snapshot it fails where a listing does better.
func TestBroken(t *testing.T) {
	for _, c := range []struct {
		name, err string
		latest    int64
	}{
		{name: "cut-snapshot", err: "snapshot-3: incomplete JSON"},
		{name: "empty-snapshot", err: "snapshot-3: incomplete JSON"},
		{name: "unknown-commit-kind", err: "unknown kind of commit"},
		{name: "missing-snapshot", latest: 2},
		{name: "future-snapshot", latest: 3},
		{name: "future-snapshot-field", latest: 3},
		{name: "garbage-hint", latest: 3},
		{name: "missing-middle-snapshot", latest: 3},
	} {
		s := badCase(t, c.name)
		snap, err := s.Latest(t.Context())
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want one with %q", c.name, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case snap.ID != c.latest:
			t.Errorf("%s: latest is %d, want %d", c.name, snap.ID, c.latest)
		}
		if first, err := s.Get(t.Context(), 1); err != nil || first.ID != 1 {
			t.Errorf("%s: snapshot 1: %v", c.name, err)
		}
	}
	s := badCase(t, "missing-middle-snapshot")
	_, err := s.At(t.Context(), 2)
	var r *RangeError
	if !errors.As(err, &r) || r.Earliest != 1 || r.Latest != 3 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("snapshot in a hole: %v", err)
	}
	if k, err := badCase(t, "unknown-commit-kind").Get(t.Context(), 3); !errors.Is(err, ErrKind) {
		t.Errorf("unknown kind: %v, %v", k, err)
	}
}

// TestNamelessLists: every snapshot has both lists; an empty name would leave out rows silently.
func TestNamelessLists(t *testing.T) {
	whole := string(Encode(&Snapshot{Version: 3, ID: 1, BaseManifestList: "manifest-list-a-0", DeltaManifestList: "manifest-list-a-1", CommitUser: "u", CommitKind: Append}, 0))
	if _, err := Decode([]byte(whole)); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"baseManifestList": "manifest-list-a-0", "deltaManifestList": "manifest-list-a-1"} {
		text := strings.Replace(whole, `"`+file+`"`, `""`, 1)
		if _, err := Decode([]byte(text)); text == whole || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is empty: %v", name, err)
		}
	}
}

// TestHints covers B042 and what FORMAT-NOTES says of hints.
func TestHints(t *testing.T) {
	ctx := t.Context()
	s := newStore(t)
	if id, err := s.LatestID(ctx); id != 0 || err != nil {
		t.Fatalf("empty table: %d, %v", id, err)
	}
	if _, err := s.Latest(ctx); !errors.Is(err, ErrNone) || !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("empty table: %v", err)
	}
	fill(t, s, 3, 4, 5)
	put(t, s.Dir()+"/snapshot-6.tmp", "half")
	put(t, s.Dir()+"/.snapshot-7", "half")
	for _, c := range []struct {
		latest, earliest string
		wantL, wantE     int64
	}{
		{"", "", 5, 3},
		{"5", "3", 5, 3},
		{"4", "3", 5, 3}, // one behind
		{"3", "4", 5, 4}, // EARLIEST was moved, its files wait to be deleted
		{"9", "1", 5, 3}, // to missing snapshots
		{"1", "9", 5, 3},
		{"garbage", "x", 5, 3},
		{"5\n", "3\n", 5, 3},
		{"-1", "0", 5, 3},
	} {
		os.Remove(s.Dir() + "/LATEST")
		os.Remove(s.Dir() + "/EARLIEST")
		if c.latest != "" {
			put(t, s.Dir()+"/LATEST", c.latest)
			put(t, s.Dir()+"/EARLIEST", c.earliest)
		}
		l, err := s.LatestID(ctx)
		if err != nil || l != c.wantL {
			t.Errorf("LATEST %q: %d, %v; want %d", c.latest, l, err, c.wantL)
		}
		if snap, err := s.Latest(ctx); err != nil || snap.ID != c.wantL {
			t.Errorf("LATEST %q: read %+v, %v; want %d", c.latest, snap, err, c.wantL)
		}
		e, err := s.EarliestID(ctx)
		if err != nil || e != c.wantE {
			t.Errorf("EARLIEST %q: %d, %v; want %d", c.earliest, e, err, c.wantE)
		}
	}
}

// TestLateHints: a writer that was held up names in LATEST what others have expired since, and of two that expire at once the slower
// one has not deleted it yet. Nobody takes it for the newest snapshot, and commits after it.
func TestLateHints(t *testing.T) {
	ctx := t.Context()
	s := newStore(t)
	fill(t, s, 7, 8, 12, 13) // 9 to 11 are gone
	put(t, s.Dir()+"/EARLIEST", "12")
	for _, hint := range []string{"7", "8", "6", "9", "12", "13"} {
		put(t, s.Dir()+"/LATEST", hint)
		if id, err := s.LatestID(ctx); err != nil || id != 13 {
			t.Errorf("LATEST %s: newest is %d, %v", hint, id, err)
		}
		if snap, err := s.Latest(ctx); err != nil || snap.ID != 13 {
			t.Errorf("LATEST %s: %+v, %v", hint, snap, err)
		}
	}
	for _, known := range []int64{7, 8, 12, 13} { // what a writer remembers
		if id, err := s.LatestFrom(ctx, known); err != nil || id != 13 {
			t.Errorf("from %d: %d, %v", known, id, err)
		}
	}
	for _, x := range []struct{ before, commit, after string }{
		{"", "8", "8"}, {"7", "8", "8"}, {"13", "8", "13"}, {"13", "13", "13"}, {"99", "13", "13"}, {"x", "13", "13"},
	} {
		put(t, s.Dir()+"/LATEST", x.before)
		id, err := strconv.ParseInt(x.commit, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.HintLatest(ctx, id); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(s.Dir() + "/LATEST"); err != nil || string(got) != x.after {
			t.Errorf("LATEST was %q: after the commit of %s it is %q, %v", x.before, x.commit, got, err)
		}
	}
}

// halfFS shows the first half of each file to its first readers, as others see it that a writer truncates and writes.
type halfFS struct {
	fileio.FS
	half int // reads of each file that see half of it
	seen map[string]int
}

type halfFile struct{ fileio.File }

func (f halfFile) Size() int64 { return f.File.Size() / 2 }

func (h *halfFS) Open(ctx context.Context, path string) (fileio.File, error) {
	f, err := h.FS.Open(ctx, path)
	if err != nil || h.seen[path] >= h.half {
		return f, err
	}
	h.seen[path]++
	return halfFile{f}, nil
}

// TestHalfRead reads hints, a consumer and a snapshot that are half written for the first readers.
func TestHalfRead(t *testing.T) {
	ctx := t.Context()
	s := newStore(t)
	fill(t, s, 1, 2)
	put(t, s.Dir()+"/LATEST", "2")
	put(t, s.Dir()+"/EARLIEST", "1")
	put(t, s.ConsumerPath("c"), "{\n  \"nextSnapshot\" : 2\n}")
	for half := range len(waits) + 1 {
		h := NewStore(&halfFS{FS: s.fs, half: half, seen: map[string]int{}}, s.root, "")
		if snap, err := h.Latest(ctx); err != nil || snap.ID != 2 {
			t.Errorf("%d half reads: latest: %v, %v", half, snap, err)
		}
		if n, err := h.MinNext(ctx); err != nil || n != 2 {
			t.Errorf("%d half reads: consumer: %d, %v", half, n, err)
		}
	}
	h := NewStore(&halfFS{FS: s.fs, half: 100, seen: map[string]int{}}, s.root, "")
	if _, err := h.Latest(ctx); err == nil || !strings.Contains(err.Error(), "snapshot-2: incomplete JSON") {
		t.Errorf("a snapshot that stays half written: %v", err)
	}
}

func TestTravel(t *testing.T) {
	ctx := t.Context()
	s := newStore(t)
	// B058: watermarks none, 100, none, 200, none; snapshot 4 is lost.
	marks := map[int64]*int64{2: ptr(int64(100)), 5: ptr(int64(200))}
	for _, id := range []int64{1, 2, 3, 5, 6} {
		v := sample(id)
		v.Watermark = marks[id]
		put(t, s.Path(id), string(Encode(v, 0)))
	}
	for _, c := range []struct{ millis, want int64 }{{1000, 1}, {1999, 1}, {4999, 3}, {5000, 5}, {1 << 50, 6}} {
		v, err := s.AtTime(ctx, c.millis)
		if err != nil || v.ID != c.want {
			t.Errorf("at %d: %v, %v; want %d", c.millis, v, err, c.want)
		}
	}
	_, err := s.AtTime(ctx, 999)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "the earliest, 1, is of 1970-01-01T00:00:01.000Z") {
		t.Errorf("before the first: %v", err)
	}
	for _, c := range []struct{ millis, want int64 }{{0, 1}, {1000, 1}, {1001, 2}, {3001, 5}, {6001, 7}} {
		if id, err := s.FromTime(ctx, c.millis); err != nil || id != c.want {
			t.Errorf("from %d: %d, %v; want %d", c.millis, id, err, c.want)
		}
	}
	for _, c := range []struct{ mark, want int64 }{{50, 2}, {100, 2}, {101, 5}, {150, 5}, {200, 5}} {
		v, err := s.AtWatermark(ctx, c.mark)
		if err != nil || v.ID != c.want {
			t.Errorf("watermark %d: %v, %v; want %d", c.mark, v, err, c.want)
		}
	}
	if _, err := s.AtWatermark(ctx, 201); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("watermark 201: %v", err)
	}
}

func TestTags(t *testing.T) {
	ctx := t.Context()
	s := newStore(t)
	snap := sample(4)
	snap.Extra = map[string][]byte{"writerVersion": []byte(`"x"`)}
	at := time.Date(2026, 12, 2, 9, 55, 0, 0, time.UTC)
	if err := s.CreateTag(ctx, "v 1", snap, 30*time.Hour+time.Nanosecond, at, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateTag(ctx, "plain", sample(3), 0, at, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateTag(ctx, "plain", snap, 0, at, 0); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second tag of a name: %v", err)
	}
	for _, bad := range []string{"", "../x", "a/b", " "} {
		if err := s.CreateTag(ctx, bad, snap, 0, at, 0); err == nil {
			t.Errorf("tag %q was made", bad)
		}
	}
	tags, err := s.Tags(ctx)
	if err != nil {
		t.Fatal(err)
	}
	snap3 := sample(3)
	snap.Written = manifest.V08
	snap3.Written = manifest.V08
	want := []*Tag{
		{Name: "plain", Snapshot: snap3},
		{Name: "v 1", Snapshot: snap, Created: at, Retained: 30*time.Hour + time.Nanosecond},
	}
	if d := cmp.Diff(want, tags); d != "" {
		t.Error(d)
	}
	if err := s.RenameTag(ctx, "plain", "p2"); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveTag(ctx, "p2"); err != nil {
		t.Fatal(err)
	}
	put(t, s.TagPath("broken"), "{")
	if _, err := s.Tags(ctx); err == nil {
		t.Error("a broken tag was passed over")
	}
}

func TestConsumersAndChangelogs(t *testing.T) {
	ctx := t.Context()
	s := newStore(t).Branch("b")
	if n, err := s.MinNext(ctx); err != nil || n < 1<<62 {
		t.Errorf("no consumers: %d, %v", n, err)
	}
	for name, n := range map[string]int64{"a": 7, "b": 5} {
		if err := s.PutConsumer(ctx, name, n); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.MinNext(ctx); err != nil || n != 5 {
		t.Errorf("least: %d, %v", n, err)
	}
	if err := s.DeleteConsumer(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.MinNext(ctx); err != nil || n != 7 {
		t.Errorf("least: %d, %v", n, err)
	}
	if err := s.PutChangelog(ctx, sample(2)); err != nil {
		t.Fatal(err)
	}
	c, err := s.ChangelogOrSnapshot(ctx, 2)
	if err != nil || c.ID != 2 {
		t.Errorf("changelog: %v, %v", c, err)
	}
	if _, err := s.ChangelogOrSnapshot(ctx, 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no changelog: %v", err)
	}
	branches, err := s.Branches(ctx)
	if err != nil || !cmp.Equal(branches, []string{"b"}) {
		t.Errorf("branches: %v, %v", branches, err)
	}
}

// TestOldVersions checks which members each version gets: readers before 0.8 reject others.
func TestOldVersions(t *testing.T) {
	s := sample(1)
	s.BaseManifestListSize, s.DeltaManifestListSize = ptr(int64(1)), ptr(int64(2))
	s.Properties, s.NextRowID, s.LogOffsets = map[string]string{"a": "\u00e4\"\n\x01"}, ptr(int64(0)), map[string]int64{}
	for _, c := range []struct {
		v       manifest.Version
		members string
	}{
		{manifest.V04, "changelogManifestList logOffsets changelogRecordCount watermark"},
		{manifest.V07, "changelogManifestList logOffsets changelogRecordCount watermark"},
		{manifest.V08, "changelogManifestList logOffsets"},
		{manifest.V10, "changelogManifestList logOffsets"},
		{manifest.V11, "baseManifestListSize deltaManifestListSize changelogManifestList logOffsets"},
		{manifest.V12, "baseManifestListSize deltaManifestListSize changelogManifestList logOffsets properties"},
		{manifest.V13, "baseManifestListSize deltaManifestListSize changelogManifestList logOffsets properties nextRowId"},
		{manifest.V14, "baseManifestListSize deltaManifestListSize properties nextRowId"},
	} {
		text := Encode(s, c.v)
		m, err := members(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, always := range []string{"version", "id", "schemaId", "baseManifestList", "deltaManifestList", "commitUser", "commitIdentifier", "commitKind", "timeMillis", "totalRecordCount", "deltaRecordCount"} {
			if m[always] == nil {
				t.Errorf("%s: no %s", c.v, always)
			}
			delete(m, always)
		}
		for _, w := range strings.Fields(c.members) {
			if m[w] == nil {
				t.Errorf("%s: no %s", c.v, w)
			}
			delete(m, w)
		}
		if len(m) > 0 {
			t.Errorf("%s: members %v", c.v, m)
		}
	}
	back, err := Decode(Encode(s, 0))
	if err != nil || back.Properties["a"] != s.Properties["a"] {
		t.Errorf("property came back as %q, %v", back.Properties, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(sample(1), 0))
	f.Add(encodeTag(&Tag{Snapshot: sample(2), Created: time.Unix(1e9, 5).UTC(), Retained: time.Hour}, 0))
	f.Add([]byte(`{"version":null,"id":1,"tagCreateTime":[1,2],"commitKind":"X"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Decode(data); err == nil {
			again, err := Decode(Encode(s, 0))
			if err != nil {
				t.Fatalf("%v: %s", err, Encode(s, 0))
			}
			_ = again
		}
		if g, err := decodeTag(data); err == nil {
			if _, err := decodeTag(encodeTag(g, 0)); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = decodeConsumer(data)
	})
}
