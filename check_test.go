package tarn_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
	"github.com/tarnlake/tarn/types"
)

// checkedTable has three snapshots, the last of a full compaction, two buckets, a tag, a consumer and a branch.
func checkedTable(t *testing.T) *tarn.Table {
	t.Helper()
	ctx := t.Context()
	f := []types.Field{{Name: "id", Type: types.MustParse("INT")}, {Name: "v", Type: types.MustParse("STRING")}}
	tab, err := open(t).CreateTable(ctx, "d.t", tarn.TableDef{Fields: f, PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		var lines []string
		for k := range 20 {
			lines = append(lines, fmt.Sprintf(`{"id":%d,"v":"%d"}`, k, i))
		}
		write(t, tab, lines)
	}
	if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	if err := tab.CreateTag(ctx, "x", 1); err != nil {
		t.Fatal(err)
	}
	if err := tab.PutConsumer(ctx, "c", 2); err != nil {
		t.Fatal(err)
	}
	// A branch as Paimon makes one: the schema, and a snapshot.
	for _, name := range []string{"schema/schema-0", "snapshot/snapshot-1", "snapshot/LATEST"} {
		data, err := os.ReadFile(tab.Path() + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "EST") {
			data = []byte("1")
		}
		putFile(t, tab.Path()+"/branch/branch-b/"+name, string(data))
	}
	return tab
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// edit changes the entries of the newest snapshot's delta, or the lines of its list, or both.
func edit(t *testing.T, tab *tarn.Table, entries func(e []manifest.Entry) []manifest.Entry, metas func(m []manifest.Meta)) {
	t.Helper()
	s, err := tab.LatestSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := tab.Path() + "/manifest/" + s.DeltaManifestList
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.DecodeList(data)
	if err != nil || len(m) != 1 {
		t.Fatal(m, err)
	}
	if entries != nil {
		name := tab.Path() + "/manifest/" + m[0].Name
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := manifest.Decode(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range e {
			f := *e[i].File
			e[i].File = &f
		}
		e = entries(e)
		if data, err = manifest.Encode(e, manifest.Encoding{Version: manifest.Latest}); err != nil {
			t.Fatal(err)
		}
		putFile(t, name, string(data))
		m[0].Size, m[0].Added, m[0].Deleted = int64(len(data)), 0, 0
		for i := range e {
			if e[i].Kind == manifest.Add {
				m[0].Added++
			} else {
				m[0].Deleted++
			}
		}
	}
	if metas != nil {
		metas(m)
	}
	if data, err = manifest.EncodeList(m, manifest.Encoding{Version: manifest.Latest}); err != nil {
		t.Fatal(err)
	}
	putFile(t, list, string(data))
	// The snapshot says how large its list is.
	path := fmt.Sprintf("%s/snapshot/snapshot-%d", tab.Path(), s.ID)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, path, strings.Replace(string(text), fmt.Sprintf(`"deltaManifestListSize" : %d`, *s.DeltaManifestListSize), fmt.Sprintf(`"deltaManifestListSize" : %d`, len(data)), 1))
}

// added calls f for the files that the entries add.
func added(f func(i int, e *manifest.Entry)) func(e []manifest.Entry) []manifest.Entry {
	return func(e []manifest.Entry) []manifest.Entry {
		n := 0
		for i := range e {
			if e[i].Kind == manifest.Add {
				f(n, &e[i])
				n++
			}
		}
		return e
	}
}

// Everything that can be wrong with a table is found, and said to be damage or not.
func TestCheckFinds(t *testing.T) {
	if r, err := checkedTable(t).Check(t.Context()); err != nil || len(r.Problems) > 0 || r.Snapshots != 4 {
		t.Fatalf("a table that nothing is wrong with: %+v, %v", r, err)
	}
	replace := func(name, old, now string) func(*testing.T, *tarn.Table) {
		return func(t *testing.T, tab *tarn.Table) {
			t.Helper()
			data, err := os.ReadFile(tab.Path() + "/" + name)
			if err != nil || !strings.Contains(string(data), old) {
				t.Fatalf("%s: %v: %s", name, err, data)
			}
			putFile(t, tab.Path()+"/"+name, strings.Replace(string(data), old, now, 1))
		}
	}
	write := func(name, text string) func(*testing.T, *tarn.Table) {
		return func(t *testing.T, tab *tarn.Table) { putFile(t, tab.Path()+"/"+name, text) }
	}
	remove := func(name string) func(*testing.T, *tarn.Table) {
		return func(t *testing.T, tab *tarn.Table) {
			if err := os.RemoveAll(tab.Path() + "/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries := func(f func([]manifest.Entry) []manifest.Entry) func(*testing.T, *tarn.Table) {
		return func(t *testing.T, tab *tarn.Table) { edit(t, tab, f, nil) }
	}
	metas := func(f func([]manifest.Meta)) func(*testing.T, *tarn.Table) {
		return func(t *testing.T, tab *tarn.Table) { edit(t, tab, nil, f) }
	}
	for _, c := range []struct {
		name   string
		spoil  func(*testing.T, *tarn.Table)
		damage bool
		path   string
		what   string
	}{
		{"LATEST beyond", write("snapshot/LATEST", "9"), true, "snapshot/LATEST", "snapshot 9, which is not there"},
		{"LATEST no number", write("snapshot/LATEST", "x"), false, "snapshot/LATEST", "no number"},
		{"EARLIEST missing", write("snapshot/EARLIEST", "7"), false, "snapshot/EARLIEST", "snapshot 7, which is not there"},
		{"snapshot's schema", replace("snapshot/snapshot-3", `"schemaId" : 0`, `"schemaId" : 5`), true, "snapshot/snapshot-3", "needs schema 5, which is not there"},
		{"snapshot's number", replace("snapshot/snapshot-2", `"id" : 2`, `"id" : 1`), true, "snapshot/snapshot-2", "says that it is snapshot 1"},
		{"total rows", replace("snapshot/snapshot-3", `"totalRecordCount" : 20`, `"totalRecordCount" : 21`), false, "snapshot/snapshot-3", "totalRecordCount is 21"},
		{"delta rows", replace("snapshot/snapshot-2", `"deltaRecordCount" : 20`, `"deltaRecordCount" : 2`), false, "snapshot/snapshot-2", "deltaRecordCount is 2"},
		{"list's size", replace("snapshot/snapshot-2", `"deltaManifestListSize" : 1`, `"deltaManifestListSize" : 2`), true, "manifest/manifest-list-", "the snapshot says 2"},
		{"half a tag", write("tag/tag-x", `{"version" : 3,`), true, "tag/tag-x", "incomplete"},
		{"tag's schema", replace("tag/tag-x", `"schemaId" : 0`, `"schemaId" : 8`), true, "tag/tag-x", "needs schema 8"},
		{"consumer", write("consumer/consumer-c", `{}`), true, "consumer/consumer-c", "nextSnapshot"},
		{"consumer far ahead", write("consumer/consumer-c", `{"nextSnapshot" : 50}`), false, "consumer/consumer-c", "goes on at snapshot 50, the newest is 3"},
		{"consumer behind", func(t *testing.T, tab *tarn.Table) {
			remove("snapshot/snapshot-1")(t, tab)
			remove("snapshot/snapshot-2")(t, tab)
		}, false, "consumer/consumer-c", "goes on at snapshot 2, which has expired: the oldest is 3"},
		{"branch without schema", remove("branch/branch-b/schema"), true, "branch/branch-b", "no schema"},
		{"branch's hint", write("branch/branch-b/snapshot/LATEST", "4"), true, "branch/branch-b/snapshot/LATEST", "snapshot 4, which"},
		{"branch's snapshot", write("branch/branch-b/snapshot/snapshot-1", "{"), true, "branch/branch-b/snapshot/snapshot-1", "incomplete"},
		{"file twice", entries(func(e []manifest.Entry) []manifest.Entry { return append(e, e[len(e)-1]) }), true, "snapshot/snapshot-3", "added twice"},
		{"file at two levels", entries(func(e []manifest.Entry) []manifest.Entry {
			x := e[len(e)-1]
			f := *x.File
			f.Level, x.File = 3, &f
			return append(e, x)
		}), true, "snapshot/snapshot-3", "is there twice, at level 5 and at level 3"},
		{"file's rows", entries(added(func(_ int, e *manifest.Entry) { e.File.Rows++ })), true, "bucket-", "rows, the manifest says"},
		{"file's size", entries(added(func(_ int, e *manifest.Entry) { e.File.Size++ })), true, "bucket-", "bytes, the manifest says"},
		{"file's schema", entries(added(func(_ int, e *manifest.Entry) { e.File.SchemaID = 7 })), true, "snapshot/snapshot-3", "needs schema 7"},
		{"file's numbers", entries(added(func(_ int, e *manifest.Entry) { e.File.MinSequence = e.File.MaxSequence + 1 })), true, "bucket-", "out of order"},
		{"deletes", entries(added(func(_ int, e *manifest.Entry) { e.File.DeleteRows = e.File.Rows + 1 })), true, "bucket-", "deletes among them"},
		{"bucket beyond", entries(added(func(_ int, e *manifest.Entry) { e.TotalBuckets = 1; e.Bucket = 1 })), true, "snapshot/snapshot-3", "in bucket 1 of 1"},
		{"other buckets", entries(added(func(i int, e *manifest.Entry) { e.TotalBuckets += i })), true, "snapshot/snapshot-3", "was written with 3 buckets"},
		{"keys of another bucket", entries(func(e []manifest.Entry) []manifest.Entry {
			var keys [][2][]byte
			added(func(_ int, e *manifest.Entry) { keys = append(keys, [2][]byte{e.File.MinKey, e.File.MaxKey}) })(e)
			return added(func(i int, e *manifest.Entry) { e.File.MinKey, e.File.MaxKey = keys[1-i][0], keys[1-i][1] })(e)
		}), true, "snapshot/snapshot-3", "its keys belong to bucket"},
		{"overlap", entries(func(e []manifest.Entry) []manifest.Entry {
			var out []manifest.Entry // the files of level 0 become level 5 as they are
			for _, x := range e {
				if x.Kind == manifest.Delete {
					f := *x.File
					f.Level = 5
					up := x
					up.Kind, up.File = manifest.Add, &f
					out = append(out, x, up)
				}
			}
			return out
		}), true, "snapshot/snapshot-3", "level 5 have keys in common"},
		{"list's counts", metas(func(m []manifest.Meta) { m[0].Added++ }), false, "manifest/manifest-", "its list says"},
		{"manifest's size", metas(func(m []manifest.Meta) { m[0].Size++ }), true, "manifest/manifest-", "its list says"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab := checkedTable(t)
			c.spoil(t, tab)
			r, err := tab.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, p := range r.Problems {
				found = found || strings.HasPrefix(p.Path, tab.Path()+"/"+c.path) && strings.Contains(p.What, c.what) && p.Advice != "" && p.Damage == c.damage
			}
			if !found || r.Damaged() != c.damage {
				t.Errorf("%+v", r.Problems)
			}
		})
	}
}

// Tables of Paimon have nothing wrong with them, of whatever release and kind.
func TestCheckGolden(t *testing.T) {
	for _, c := range golden.Cases(t, tarntest.Root(t)) {
		if strings.HasPrefix(c.ID, "bad/") || c.ID == "tables/files/external" {
			continue
		}
		cat, err := tarn.Open(t.Context(), c.Unpack(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		dbs, err := cat.Databases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, db := range dbs {
			names, err := cat.Tables(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				tab, err := cat.Table(t.Context(), db+"."+name)
				if err != nil {
					continue // not supported: TestGolden has it
				}
				r, err := tab.Check(t.Context())
				if err != nil {
					t.Errorf("%s: %s: %v", c.ID, tab.Name(), err)
					continue
				}
				for _, p := range r.Problems {
					if name == "wronghints" && strings.HasSuffix(p.Path, "/EARLIEST") && !p.Damage {
						continue // it says so
					}
					t.Errorf("%s: %s: %+v", c.ID, tab.Name(), p)
				}
			}
		}
	}
}
