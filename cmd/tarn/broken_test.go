package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/manifest"
)

// brokenTable is a table of three snapshots and two schemas, to be broken by hand.
type brokenTable struct {
	t   *testing.T
	dir string
}

func (b brokenTable) read(name string) []byte {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

func (b brokenTable) put(name string, data []byte) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b brokenTable) replace(name, from, to string) {
	b.t.Helper()
	data := string(b.read(name))
	if !strings.Contains(data, from) {
		b.t.Fatalf("%s has no %s: %s", name, from, data)
	}
	b.put(name, []byte(strings.Replace(data, from, to, 1)))
}

// set changes a member of a JSON file.
func (b brokenTable) set(name, member string, to any) {
	b.t.Helper()
	m := map[string]json.RawMessage{}
	err := json.Unmarshal(b.read(name), &m)
	if err == nil {
		m[member], err = json.Marshal(to)
	}
	data, merr := json.Marshal(m)
	if err != nil || merr != nil {
		b.t.Fatal(err, merr)
	}
	b.put(name, data)
}

// cut leaves only the header of an Avro file, which ends with what each block ends with.
func (b brokenTable) cut(name string) {
	b.t.Helper()
	data := b.read(name)
	marker := data[len(data)-16:]
	b.put(name, data[:bytes.Index(data, marker)+len(marker)])
}

func (b brokenTable) append(name, more string) {
	b.t.Helper()
	b.put(name, append(b.read(name), more...))
}

func (b brokenTable) remove(name string) {
	b.t.Helper()
	if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

// folder puts a folder in the place of a file.
func (b brokenTable) folder(name string) {
	b.t.Helper()
	b.remove(name)
	if err := os.Mkdir(filepath.Join(b.dir, name), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// link puts a link in the place of a file.
func (b brokenTable) link(name, to string) {
	b.t.Helper()
	b.remove(name)
	if err := os.Symlink(to, filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

type brokenSnapshot struct {
	DeltaManifestList     string
	DeltaManifestListSize int
}

// snapshot is the newest one.
func (b brokenTable) snapshot() (s brokenSnapshot) {
	b.t.Helper()
	if err := json.Unmarshal(b.read("snapshot/snapshot-3"), &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// manifest is the newest one.
func (b brokenTable) manifest() (name string) {
	b.t.Helper()
	b.list(func(m *manifest.Meta) { name = m.Name })
	return name
}

// list rewrites the list of the newest snapshot's changes.
func (b brokenTable) list(change func(m *manifest.Meta)) {
	b.t.Helper()
	snap := b.snapshot()
	metas, err := manifest.DecodeList(b.read("manifest/" + snap.DeltaManifestList))
	if err != nil {
		b.t.Fatal(err)
	}
	metas = slices.Clone(metas)
	change(&metas[0])
	data, err := manifest.EncodeList(metas, manifest.Encoding{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.put("manifest/"+snap.DeltaManifestList, data)
	b.replace("snapshot/snapshot-3", fmt.Sprintf(`"deltaManifestListSize" : %d`, snap.DeltaManifestListSize), fmt.Sprintf(`"deltaManifestListSize" : %d`, len(data)))
}

// entry rewrites what the newest manifest says of a file.
func (b brokenTable) entry(change func(e *manifest.Entry)) {
	b.t.Helper()
	b.list(func(m *manifest.Meta) {
		es, err := manifest.Decode(b.read("manifest/"+m.Name), nil)
		if err != nil {
			b.t.Fatal(err)
		}
		f := *es[0].File
		es[0].File = &f
		change(&es[0])
		data, err := manifest.Encode(es, manifest.Encoding{})
		if err != nil {
			b.t.Fatal(err)
		}
		b.put("manifest/"+m.Name, data)
		m.Size = int64(len(data))
	})
}

func (b brokenTable) dataFile() string {
	all, err := filepath.Glob(filepath.Join(b.dir, "bucket-0", "*"))
	if err != nil || len(all) == 0 {
		b.t.Fatal(all, err)
	}
	return "bucket-0/" + filepath.Base(all[0])
}

// rename gives a field of an Avro file another name of as many letters.
func (b brokenTable) rename(pattern, from string) {
	b.t.Helper()
	all, err := filepath.Glob(filepath.Join(b.dir, pattern))
	if err != nil || len(all) == 0 {
		b.t.Fatal(all, err)
	}
	for _, f := range all {
		name, err := filepath.Rel(b.dir, f)
		if err != nil {
			b.t.Fatal(err)
		}
		b.replace(name, `"`+from+`"`, `"X`+from[1:]+`"`)
	}
}

// files lists all files of the table.
func (b brokenTable) files() string {
	b.t.Helper()
	var all []string
	err := filepath.WalkDir(b.dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// Metadata that lacks what every release writes is refused by all commands, and a write that it stops leaves nothing behind.
func TestMissingMetadataField(t *testing.T) {
	for _, table := range [][]string{
		{"--primary-key", "id", "--option", "bucket=1"},
		{"--option", "bucket=-1", "--option", "manifest.merge-min-count=1"},
	} {
		for _, c := range [][]string{
			{"manifest/manifest-[0-9a-f]*-[0-9]", "_FILE_SIZE"},
			{"manifest/manifest-[0-9a-f]*-[0-9]", "_SCHEMA_ID"},
			{"manifest/manifest-[0-9a-f]*-[0-9]", "_VALUE_STATS"},
			{"manifest/manifest-list-*", "_NUM_ADDED_FILES"},
			{"manifest/manifest-list-*", "_PARTITION_STATS"},
		} {
			t.Run(table[1]+" "+c[1], func(t *testing.T) {
				wh := t.TempDir()
				for _, a := range [][]string{
					{"", "db", "create", "d"},
					append([]string{"", "table", "create", "d.t", "--column", "id INT", "--column", "v STRING"}, table...),
					{`{"id":1,"v":"a"}`, "write", "d.t", "-"},
				} {
					if code, _, errOut := run(a[0], append(a[1:], "-w", wh)...); code != 0 {
						t.Fatal(a, errOut)
					}
				}
				b := brokenTable{t, filepath.Join(wh, "d.db", "t")}
				b.rename(c[0], c[1])
				before := b.files()
				if code, out, said := run("", "read", "-w", wh, "d.t", "--json"); code != 1 || !strings.Contains(said, c[1]) {
					t.Errorf("read: exit code %d: %s%s", code, out, said)
				}
				if code, _, said := run(`{"id":2,"v":"b"}`, "write", "d.t", "-", "-w", wh); code != 1 || !strings.Contains(said, c[1]) {
					t.Errorf("write: exit code %d: %s", code, said)
				}
				if after := b.files(); after != before {
					t.Errorf("files before:\n%s\nafter:\n%s", before, after)
				}
			})
		}
	}
}

// Metadata that is well formed and says what cannot be: no panic, no file outside of the table is touched, no
// row goes missing in silence, and check finds it.
func TestImpossibleMetadata(t *testing.T) {
	entry := func(change func(e *manifest.Entry)) func(brokenTable) {
		return func(b brokenTable) { b.entry(change) }
	}
	cases := map[string]struct {
		do                   func(b brokenTable)
		read, compact, check int
		says                 string // what refuses it, or check
	}{
		"file name leaves":  {entry(func(e *manifest.Entry) { e.File.Name = "../../victim.parquet" }), 1, 1, 6, "no name of a file"},
		"extra file leaves": {entry(func(e *manifest.Entry) { e.File.ExtraFiles = []string{"../../victim.parquet"} }), 1, 1, 6, "no name of a file"},
		"absolute name":     {entry(func(e *manifest.Entry) { e.File.Name = "/etc/passwd" }), 1, 1, 6, "no name of a file"},
		"no name":           {entry(func(e *manifest.Entry) { e.File.Name = "" }), 1, 1, 6, "no name of a file"},
		"manifest leaves":   {func(b brokenTable) { b.list(func(m *manifest.Meta) { m.Name = "../manifest/" + m.Name }) }, 1, 1, 6, "no name of a file"},
		"list leaves":       {func(b brokenTable) { b.replace("snapshot/snapshot-3", "manifest-list-", "../manifest/manifest-list-") }, 1, 1, 6, "no name of a file"},
		"huge level":        {entry(func(e *manifest.Entry) { e.File.Level = math.MaxInt32 }), 0, 1, 6, "level 2147483647"},
		"last sequence":     {entry(func(e *manifest.Entry) { e.File.MaxSequence = math.MaxInt64 }), 0, 1, 6, "sequence number"},
		"bucket -1":         {entry(func(e *manifest.Entry) { e.Bucket = -1 }), 1, 1, 6, "bucket -1"},
		"bucket -2":         {entry(func(e *manifest.Entry) { e.Bucket = -2 }), 1, 1, 6, "bucket -2"},
		"garbage key":       {entry(func(e *manifest.Entry) { e.File.MinKey = []byte("garbage garbage!") }), 1, 1, 6, "smallest key"},
		"keys swapped":      {entry(func(e *manifest.Entry) { e.File.MinKey, e.File.MaxKey = e.File.MaxKey, e.File.MinKey }), 1, 1, 6, "larger than"},
		"negative counts":   {entry(func(e *manifest.Entry) { e.File.Rows = -1 }), 1, 1, 6, "-1 rows"},
		"schema missing":    {entry(func(e *manifest.Entry) { e.File.SchemaID = 99 }), 1, 1, 6, "schema-99"},
		"unknown scheme":    {entry(func(e *manifest.Entry) { e.File.ExternalPath = "nope://x/y" }), 2, 2, 6, `"nope" is not known`},
		"partition of more": {entry(func(e *manifest.Entry) { e.Partition = []byte("garbage garbage!") }), 1, 0, 6, "not partitioned"},
		"reserved column":   {func(b brokenTable) { b.replace("schema/schema-1", `"e"`, `"_SEQUENCE_NUMBER"`) }, 1, 1, 6, "reserved for the format"},
		"list cut off":      {func(b brokenTable) { b.cut("manifest/" + b.snapshot().DeltaManifestList) }, 1, 1, 6, "cut off"},
		"manifest cut off":  {func(b brokenTable) { b.cut("manifest/" + b.manifest()) }, 1, 1, 6, "cut off"},
		"list of no size":   {func(b brokenTable) { b.set("snapshot/snapshot-3", "deltaManifestListSize", -1) }, 1, 1, 6, "-1 bytes"},
		"manifest of 0 B":   {func(b brokenTable) { b.list(func(m *manifest.Meta) { m.Size = 0 }) }, 1, 1, 6, "0 bytes"},
		"more behind list":  {func(b brokenTable) { b.append("manifest/"+b.snapshot().DeltaManifestList, "more") }, 0, 0, 6, "bytes"},
		"more behind lines": {func(b brokenTable) { b.append("manifest/"+b.manifest(), "more") }, 0, 0, 6, "bytes"},
		"sequence swapped":  {entry(func(e *manifest.Entry) { e.File.MinSequence, e.File.MaxSequence = -5, -6 }), 0, 0, 6, "out of order"},
		"key gone":          {func(b brokenTable) { b.set("schema/schema-1", "primaryKeys", []string{}) }, 1, 1, 6, "primary key"},
		"another key":       {func(b brokenTable) { b.set("schema/schema-1", "primaryKeys", []string{"e"}) }, 1, 1, 6, `["e"]`},
		"another old key":   {func(b brokenTable) { b.set("schema/schema-0", "primaryKeys", []string{"v"}) }, 1, 1, 6, `["v"]`},
		"old key gone":      {func(b brokenTable) { b.set("schema/schema-0", "primaryKeys", []string{}) }, 0, 0, 0, ""},
		"another old type":  {func(b brokenTable) { b.replace("schema/schema-0", "STRING", "ARRAY<INT>") }, 1, 1, 6, "ARRAY<INT>"},
		"highest id -1":     {func(b brokenTable) { b.set("schema/schema-1", "highestFieldId", -1) }, 0, 0, 0, ""},
		"data missing":      {func(b brokenTable) { b.remove(b.dataFile()) }, 1, 1, 6, "data-"},
		"data is a folder":  {func(b brokenTable) { b.folder(b.dataFile()) }, 1, 1, 6, "data-"},
		"list is a folder":  {func(b brokenTable) { b.folder("manifest/" + b.snapshot().DeltaManifestList) }, 1, 1, 6, "folder"},
		"snapshot a folder": {func(b brokenTable) { b.remove("snapshot/LATEST"); b.folder("snapshot/snapshot-3") }, 1, 1, 6, "snapshot-3"},
		"snapshot to void":  {func(b brokenTable) { b.link("snapshot/snapshot-3", "nowhere") }, 1, 1, 6, "snapshot-3"},
		"schema a folder":   {func(b brokenTable) { b.folder("schema/schema-1") }, 1, 1, 6, "schema-1"},
		"schema to void":    {func(b brokenTable) { b.link("schema/schema-1", "nowhere") }, 1, 1, 6, "schema-1"},
		"hint to itself":    {func(b brokenTable) { b.link("snapshot/LATEST", "LATEST") }, 0, 0, 0, "cannot be read"},
		"hint is a folder":  {func(b brokenTable) { b.folder("snapshot/LATEST") }, 0, 0, 0, "cannot be read"},
		"no folder there":   {func(b brokenTable) { b.remove("bucket-0"); b.put("bucket-0", nil) }, 1, 1, 6, "bucket-0"},
		"zeros as data":     {func(b brokenTable) { f := b.dataFile(); b.put(f, make([]byte, len(b.read(f)))) }, 1, 1, 6, "PAR1"},
	}
	wh := t.TempDir()
	for _, c := range [][]string{
		{"", "db", "create", "d"},
		{"", "table", "create", "d.t", "--column", "id INT", "--column", "v STRING", "--primary-key", "id", "--option", "bucket=1", "--option", "write-only=true"},
		{`{"id":1,"v":"a"}` + "\n" + `{"id":2,"v":"a"}`, "write", "d.t", "-"},
		{`{"id":2,"v":"b"}` + "\n" + `{"id":3,"v":"b"}`, "write", "d.t", "-"},
		{"", "table", "alter", "d.t", "--add", "e INT"},
		{`{"id":3,"v":"c"}` + "\n" + `{"id":4,"v":"c"}`, "write", "d.t", "-"},
	} {
		if code, _, errOut := run(c[0], append(c[1:], "-w", wh)...); code != 0 {
			t.Fatal(c, errOut)
		}
	}
	_, whole, _ := run("", "read", "-w", wh, "d.t", "--json")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "wh")
			if err := os.CopyFS(to, os.DirFS(wh)); err != nil {
				t.Fatal(err)
			}
			victim := filepath.Join(to, "d.db", "victim.parquet")
			if err := os.WriteFile(victim, []byte("not the table's"), 0o644); err != nil {
				t.Fatal(err)
			}
			c.do(brokenTable{t, filepath.Join(to, "d.db", "t")})
			code, out, said := run("", "read", "-w", to, "d.t", "--json")
			if code != c.read {
				t.Errorf("read: exit code %d, want %d: %s", code, c.read, said)
			}
			if code == 0 && out != whole {
				t.Errorf("read: %s, want %s", out, whole)
			}
			code, out, errOut := run("", "check", "-w", to, "d.t", "--explain")
			if code != c.check {
				t.Errorf("check: exit code %d, want %d: %s%s", code, c.check, out, errOut)
			}
			if said += out + errOut; !strings.Contains(said, c.says) {
				t.Errorf("nobody says %q: %s", c.says, said)
			}
			if code, _, errOut = run("", "compact", "--full", "-w", to, "d.t"); code != c.compact || strings.Contains(errOut, "panic") {
				t.Errorf("compact: exit code %d, want %d: %s", code, c.compact, errOut)
			}
			if _, _, errOut := run("", "snapshot", "expire", "d.t", "--retain-max", "1", "--retain-min", "1", "-w", to); strings.Contains(errOut, "panic") {
				t.Error(errOut)
			}
			if _, err := os.Stat(victim); err != nil {
				t.Errorf("a file outside of the table is gone: %v", err)
			}
		})
	}
}
