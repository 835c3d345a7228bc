package expire

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
)

// unpack puts a golden table into memory, below root.
func unpack(t *testing.T, archive, table string) *env {
	t.Helper()
	mem := fileio.NewMem(fileio.MemOptions{})
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := strings.CutPrefix(h.Name, "warehouse/"+table+"/")
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := mem.Put(t.Context(), root+"/"+rest, data); err != nil {
			t.Fatal(err)
		}
	}
	return over(t, mem)
}

// over is a table that lies below root.
func over(t *testing.T, mem *fileio.Mem) *env {
	e := &env{t: t, fs: mem, now: time.Now()}
	e.table = Table{
		FS: mem, Snapshots: snapshot.NewStore(mem, root, ""), Paths: paths.NewTable(root, paths.Config{}),
		Manifests: manifest.NewStore(manifest.Config{FS: mem, Dir: root + "/manifest"}),
	}
	return e
}

// TestGolden: after Java's own expiry, with lost and wrong hints, with and without tags, the files are
// those that are needed by our reckoning, and ours finds nothing more to remove.
func TestGolden(t *testing.T) {
	for _, table := range []string{"plain", "tagged", "nohints", "wronghints"} {
		e := unpack(t, "testdata/golden/expire.tar.gz", "o.db/"+table)
		e.exact(table)
		if got := e.ids(); got != "8" {
			t.Errorf("%s: snapshots %s", table, got)
		}
		r := e.expire(Options{RetainMin: 1, RetainMax: 1})
		if len(r.Expired) != 0 {
			t.Errorf("%s: %+v", table, r)
		}
		if table == "tagged" {
			if _, err := DeleteTag(t.Context(), e.table, "keep"); err != nil {
				t.Fatal(err)
			}
		}
		e.exact(table + " after ours")
	}
}

// TestGoldenTables expires tables of all releases to their newest snapshot: what that and the tags need stays, and nothing else
// does if the table was whole before.
func TestGoldenTables(t *testing.T) {
	tables := map[string]*fileio.Mem{}
	golden.EachFile(t, tarntest.Root(t), func(id, name string, data []byte) {
		version, ok := strings.CutPrefix(id, "tables/versions/v")
		if !ok {
			return
		}
		for _, table := range []string{"clog", "agg"} { // without partitions
			if rest, ok := strings.CutPrefix(name, "warehouse/v.db/"+table+"/"); ok {
				k := version + " " + table
				if tables[k] == nil {
					tables[k] = fileio.NewMem(fileio.MemOptions{})
				}
				if err := tables[k].Put(t.Context(), root+"/"+rest, data); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	if len(tables) < 10 {
		t.Fatalf("%d tables", len(tables))
	}
	for name, mem := range tables {
		e := over(t, mem)
		whole := slices.Equal(e.onDisk(), e.used())
		r := e.expire(Options{RetainMin: 1, RetainMax: 1})
		if len(r.Expired) == 0 || len(r.Warnings) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
		if whole {
			e.exact(name)
		} else {
			e.complete(name)
		}
	}
}
