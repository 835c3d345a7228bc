package tarn_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
)

// Options that are declared do what docs/options.md says of them.

func systemRows(t testing.TB, c *tarn.Catalog, name, columns string) []string {
	t.Helper()
	tab, err := c.Table(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return get(t, tab, columns, "", 0)
}

func TestOptionsPerLevel(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k! INT,v INT,w INT", "", opts{
		"metadata.stats-mode.per.level": "0:none,5:full", "metadata.stats-mode": "counts", "fields.w.stats-mode": "full",
		"file.compression.per.level": "0:lz4", "file.suffix.include.compression": "true", "metadata.stats-dense-store": "false",
	})
	put(t, tab, []string{"[1,5,7]"}, []string{"[1,6,8]"})
	for _, r := range systemRows(t, c, "d.t$files", "level,min_value_stats,file_path") {
		if !strings.Contains(r, "lz4") || !strings.HasPrefix(r, "[0,") || strings.Contains(r, "v=5") || !strings.Contains(r, "w=7") && !strings.Contains(r, "w=8") {
			t.Errorf("file of level 0: %s", r)
		}
	}
	compact(t, tab)
	files := systemRows(t, c, "d.t$files", "level,min_value_stats,file_path")
	if len(files) != 1 || !strings.HasPrefix(files[0], "[5,") || !strings.Contains(files[0], "v=6") || !strings.Contains(files[0], "zst") {
		t.Errorf("files of level 5: %v", files)
	}
	if _, err := tab.With(t.Context(), opts{"metadata.stats-mode.per.level": "0:some"}); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("unknown mode: %v", err)
	}
}

func TestForceRewriteAllFiles(t *testing.T) {
	for _, key := range []string{"k! INT", "k INT"} {
		for _, force := range []string{"false", "true"} {
			tab := declare(t, open(t), "d.t", key+",v INT", "", opts{"compaction.force-rewrite-all-files": force})
			put(t, tab, []string{"[1,1]", "[2,2]"})
			compact(t, tab) // up to the highest level
			before, err := tab.FileNames(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			compact(t, tab)
			after, err := tab.FileNames(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if maps.Equal(before, after) == (force == "true") {
				t.Errorf("%s, %s: files %v became %v", key, force, before, after)
			}
			same(t, tab, "", "", "[1,1]", "[2,2]")
		}
	}
}

func TestFullCompactionDeltaCommits(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k! INT,v INT", "", opts{"full-compaction.delta-commits": "2"})
	write(t, tab, objects(t, tab, []string{"[1,1]"}), objects(t, tab, []string{"[1,2]"}), objects(t, tab, []string{"[1,3]"}))
	got := systemRows(t, c, "d.t$files", "level,record_count")
	if want := []string{"[0,1]", "[5,1]"}; !slices.Equal(got, want) {
		t.Errorf("levels and rows %v, want those of two commits merged, and the third: %v", got, want)
	}
	same(t, tab, "", "", "[1,3]")
}

func TestCommitUserPrefix(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k INT", "", opts{"commit.user-prefix": "loader"})
	put(t, tab, []string{"[1]"})
	s, err := tab.LatestSnapshot(t.Context())
	if err != nil || !strings.HasPrefix(s.CommitUser, "loader_") || len(s.CommitUser) != len("loader_")+36 {
		t.Errorf("commit user %q, %v", s.CommitUser, err)
	}
}

func TestEmptyCommits(t *testing.T) {
	for option, want := range map[string]int{"": 0, "snapshot.ignore-empty-commit=false": 1, "commit.force-create-snapshot=true": 1} {
		o := opts{}
		if k, v, ok := strings.Cut(option, "="); ok {
			o[k] = v
		}
		for _, key := range []string{"k! INT", "k INT"} {
			tab := declare(t, open(t), "d.t", key, "", maps.Clone(o))
			w, err := tab.NewWriter(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			ids, err := tab.Snapshots(t.Context())
			if err != nil || len(ids) != want {
				t.Errorf("%s: %d snapshots of an empty commit, want %d (%v)", option, len(ids), want, err)
			}
			same(t, tab, "", "")
		}
	}
}

func TestReadBatchSize(t *testing.T) {
	for _, key := range []string{"k! INT", "k INT"} {
		tab := declare(t, open(t), "d.t", key, "", opts{"read.batch-size": "3", "write-only": "true"})
		put(t, tab, []string{"[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]"}, []string{"[3]", "[8]"})
		for b, err := range tab.Scan(tarn.ScanOptions{}).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if b.NumRows() > 3 {
				t.Errorf("%s: a batch of %d rows", key, b.NumRows())
			}
		}
	}
}

// Consumers hold snapshots unless they are dead, or read changelogs only and these live longer.
func TestConsumerOptions(t *testing.T) {
	for option, want := range map[string]int{"": 4, "consumer.expiration-time=1 h": 1, "consumer.expiration-time=100 d": 4, "consumer.changelog-only=true": 4, "consumer.changelog-only=true,changelog.num-retained.max=9": 1} {
		o := opts{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "write-only": "true"}
		for kv := range strings.SplitSeq(option, ",") {
			if k, v, ok := strings.Cut(kv, "="); ok {
				o[k] = v
			}
		}
		tab := declare(t, open(t), "d.t", "k INT", "", o)
		put(t, tab, []string{"[1]"}, []string{"[2]"}, []string{"[3]"}, []string{"[4]"}, []string{"[5]"})
		if err := tab.PutConsumer(t.Context(), "c", 2); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(filepath.Join(tab.Path(), "consumer", "consumer-c"), old, old); err != nil {
			t.Fatal(err)
		}
		if _, err := tab.ExpireSnapshots(t.Context(), tarn.ExpireOptions{}); err != nil {
			t.Fatal(err)
		}
		ids, err := tab.Snapshots(t.Context())
		if err != nil || len(ids) != want {
			t.Errorf("%s: snapshots %v are left, want %d (%v)", option, ids, want, err)
		}
	}
}

// Changelogs that are to live longer than snapshots are set aside when these expire, and go in their own time. What is
// not said of them is as for snapshots.
func TestChangelogsOutliveSnapshots(t *testing.T) {
	for option, want := range map[string]int{"": 0, "changelog.num-retained.max=9": 3, "changelog.num-retained.max=3": 2, "changelog.time-retained=9 h": 1} {
		o := opts{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "write-only": "true"}
		if k, v, ok := strings.Cut(option, "="); ok {
			o[k] = v
		}
		tab := declare(t, open(t), "d.t", "k! INT", "", o)
		put(t, tab, []string{"[1]"}, []string{"[2]"}, []string{"[3]"}, []string{"[4]"})
		if _, err := tab.ExpireSnapshots(t.Context(), tarn.ExpireOptions{}); err != nil {
			t.Fatal(err)
		}
		kept, err := filepath.Glob(filepath.Join(tab.Path(), "changelog", "changelog-*"))
		if err != nil || len(kept) != want {
			t.Errorf("%s: changelogs %v are kept, want %d (%v)", option, kept, want, err)
		}
		same(t, tab, "", "", "[1]", "[2]", "[3]", "[4]")
	}
}

// With bucket-append-ordered files of a bucket are joined with their neighbours only.
func TestBucketAppendOrdered(t *testing.T) {
	for ordered, want := range map[string]int{"true": 3, "false": 2} {
		tab := declare(t, open(t), "d.t", "k INT,s STRING", "", opts{"bucket": "1", "bucket-key": "k", "bucket-append-ordered": ordered, "write-only": "true", "target-file-size": "2 kb", "file.compression": "none"})
		big := objects(t, tab, []string{fmt.Sprintf(`[2,"%s"]`, strings.Repeat("x", 3000))})
		put(t, tab, []string{`[1,"a"]`})
		write(t, tab, big)
		put(t, tab, []string{`[3,"c"]`})
		compact(t, tab)
		files, err := tab.FileNames(t.Context())
		if err != nil || len(files) != want {
			t.Errorf("ordered %s: %d files after compaction, want %d (%v)", ordered, len(files), want, err)
		}
		same(t, tab, "k", "", "[1]", "[2]", "[3]")
	}
}

// What an option asks for and tarn has not is refused by its name.
func TestRefusedOptions(t *testing.T) {
	c := open(t)
	for i, x := range []opts{
		{"type": "format-table"},
		{"type": "object-table"},
	} {
		name := slices.Sorted(maps.Keys(x))[0]
		o := maps.Clone(x)
		if _, ok := o["bucket"]; !ok {
			o["bucket"] = "1"
		}
		tab, err := c.CreateTable(t.Context(), fmt.Sprint("d.t", i), tarn.TableDef{Fields: fields("k", "INT NOT NULL", "v", "INT"), PrimaryKeys: []string{"k"}, Options: o})
		if err == nil {
			_, err = tab.NewWriter(t.Context(), nil)
		}
		if !errors.Is(err, tarn.ErrUnsupported) || !strings.Contains(err.Error(), strings.Fields(name)[0]) {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// B097: tables of releases before 0.9 get manifests that these releases read.
func TestManifestsOfOldTables(t *testing.T) {
	written := 0
	for _, c := range golden.Cases(t, tarntest.Root(t)) {
		if !strings.HasPrefix(c.ID, "tables/versions/v0.") {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			cat, err := tarn.Open(t.Context(), c.Unpack(t), &tarn.OpenOptions{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, name := range tablesOf(t, cat) {
				tab, err := cat.Table(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				if tab, err = tab.With(t.Context(), opts{"file.format": "parquet"}); err != nil {
					t.Fatal(err)
				}
				before, err := tab.LatestSnapshot(t.Context())
				if err != nil || before == nil {
					continue
				}
				f, err := tab.Fields()
				if err != nil {
					t.Fatal(err)
				}
				w, err := tab.NewWriter(t.Context(), nil)
				if errors.Is(err, tarn.ErrUnsupported) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				row := "{"
				for i, x := range f {
					if x.Type.NotNull || slices.Contains(tab.PrimaryKeys(), x.Name) {
						v := "1"
						if s := x.Type.String(); strings.Contains(s, "CHAR") || strings.Contains(s, "STRING") {
							v = `"1"`
						}
						row += fmt.Sprintf("%s%q:%s", map[bool]string{true: ",", false: ""}[i > 0 && row != "{"], x.Name, v)
					}
				}
				err = w.Write(t.Context(), rows(t, tab, row+"}"))
				if err == nil {
					_, err = w.Commit(t.Context())
				}
				if err = errors.Join(err, w.Close()); errors.Is(err, tarn.ErrUnsupported) {
					continue // compactions have to look up rows in files of another format
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				s, err := tab.LatestSnapshot(t.Context())
				if err != nil || s.ID == before.ID {
					t.Fatalf("%s: no snapshot, %v", name, err)
				}
				old := codecOf(t, filepath.Join(tab.Path(), "manifest", before.DeltaManifestList))
				if got := codecOf(t, filepath.Join(tab.Path(), "manifest", s.DeltaManifestList)); got != old {
					t.Errorf("%s: manifest list is compressed by %s, those of the release by %s", name, got, old)
				}
				n++
			}
			written += n
		})
	}
	if written < 10 {
		t.Errorf("only %d old tables were written", written)
	}
}

func tablesOf(t *testing.T, c *tarn.Catalog) []string {
	t.Helper()
	dbs, err := c.Databases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, db := range dbs {
		names, err := c.Tables(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			out = append(out, db+"."+n)
		}
	}
	return out
}

// codecOf reads the codec from the head of an Avro file.
func codecOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := bytes.Cut(data, []byte("avro.codec"))
	if !ok {
		return "null"
	}
	return string(rest[1 : 1+rest[0]/2])
}

// A value that no file can be written by is refused through every door before anything is written.
func TestOptionsOfNoFile(t *testing.T) {
	ctx := t.Context()
	c := open(t)
	def := func(o opts) tarn.TableDef {
		return tarn.TableDef{Fields: fields("k", "INT NOT NULL", "v", "INT"), PrimaryKeys: []string{"k"}, Options: o}
	}
	tab, err := c.CreateTable(ctx, "d.t", def(opts{"bucket": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	refuses := func(door, key string, err error) {
		t.Helper()
		if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s with %s: %v", door, key, err)
		}
	}
	for key, value := range map[string]string{
		"data-file.path-directory": "../../../x", "data-file.prefix": "../x", "file.compression": "rar", "file.compression.per.level": "zstd",
		"file.format": "csv", "metadata.stats-mode": "some", "fields.v.stats-mode": "some", "metadata.stats-mode.per.level": "0:some",
		"manifest.compression": "rar", "num-levels": "2147483647", "tarn.write-version": "new", "commit.user-prefix": "a\xff",
	} {
		_, err := c.CreateTable(ctx, "d.u", def(opts{"bucket": "1", key: value}))
		refuses("create", key, err)
		refuses("job", key, tarn.CheckOption(key, value))
		refuses("alter", key, tab.Alter(ctx, tarn.SetOption{Key: key, Value: value}))
		_, err = tab.With(ctx, opts{key: value})
		refuses("read or write", key, err)
	}
	for _, key := range []string{"path", "type"} {
		_, err := c.CreateTable(ctx, "d.u", def(opts{"bucket": "1", key: "object-table"}))
		if !errors.Is(err, tarn.ErrInvalid) && !errors.Is(err, tarn.ErrUnsupported) || !strings.Contains(err.Error(), "option "+key) {
			t.Errorf("create with %s: %v", key, err)
		}
	}
	_, err = tab.With(ctx, opts{"bucket": "2"})
	refuses("read or write", "bucket", err)
	if names := tablesOf(t, c); !slices.Equal(names, []string{"d.t"}) {
		t.Errorf("tables that were refused are there: %v", names)
	}
	// What is named as known can be written, to the limits of numbers.
	values := map[string][]string{
		"file.compression": options.ParquetCompressions, "manifest.compression": options.ManifestCompressions,
		"num-levels": {"2", "65536"}, "num-sorted-run.compaction-trigger": {"1", "2147483647"}, "local-sort.max-num-file-handles": {"2", "2147483647"},
		"data-file.path-directory": {"a/b"}, "commit.strict-mode.last-safe-snapshot": {"-1"}, "compaction.max-size-amplification-percent": {"0"},
	}
	n := 0
	for key, vs := range values {
		for _, v := range vs {
			n++
			tab, err := c.CreateTable(ctx, fmt.Sprint("d.g", n), def(opts{"bucket": "1", key: v}))
			if err != nil {
				t.Fatal(err)
			}
			put(t, tab, []string{"[1,1]"}, []string{"[1,2]"})
			compact(t, tab)
			same(t, tab, "k,v", "", "[1,2]")
		}
	}
}

// A table of a format that cannot be written says so before any row is taken.
func TestFormatsOfLaterAreNotWritten(t *testing.T) {
	for _, o := range []opts{{"file.format": "orc"}, {"file.format.per.level": "0:orc"}} {
		tab := declare(t, open(t), "d.t", "k! INT,v INT", "", o)
		key := slices.Collect(maps.Keys(o))[0]
		if _, err := tab.NewWriter(t.Context(), nil); !errors.Is(err, tarn.ErrUnsupported) || !strings.Contains(err.Error(), key+"="+strings.TrimPrefix(o[key], "0:")) {
			t.Errorf("%v: %v", o, err)
		}
	}
}
