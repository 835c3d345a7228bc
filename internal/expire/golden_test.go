package expire

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/snapshot"
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

// TestGoldenTables expires every table of the golden set that is there to its newest snapshot: what that
// and the tags need stays, and nothing else does if the table was whole before.
func TestGoldenTables(t *testing.T) {
	roots := []string{"../../testdata/golden/tables"}
	if dir := os.Getenv("TARN_GOLDEN"); dir != "" {
		roots = append(roots, dir+"/tables")
	}
	for _, dir := range roots {
		archives, err := filepath.Glob(dir + "/versions/v*/warehouse.tar.gz")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range archives {
			for _, table := range []string{"clog", "agg"} { // tables without partitions
				e := unpack(t, a, "v.db/"+table)
				if e.ids() == "" {
					continue
				}
				before := e.onDisk()
				used := e.used()
				whole := slices.Equal(before, used)
				r := e.expire(Options{RetainMin: 1, RetainMax: 1})
				if len(r.Expired) == 0 || len(r.Warnings) > 0 {
					t.Errorf("%s %s: %+v", a, table, r)
				}
				if whole {
					e.exact(a + " " + table)
				} else {
					e.complete(a + " " + table)
				}
			}
		}
	}
}
