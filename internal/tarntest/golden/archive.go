// Package golden gives tests the golden tables: tables written by releases of Apache Paimon, with what
// Paimon itself reads from them. testdata/golden/README.md tells what is recorded, and how values are
// written. It imports nothing of this module, so that every package may use it in its tests.
package golden

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Archive is the archive's path below the root of the module.
const Archive = "testdata/golden/golden.tar.zst"

// entry is a file or an empty folder of a case.
type entry struct {
	name string // below the case's folder
	dir  bool
	data []byte
}

// archive is the unpacked archive by case ("tables/types/all-parquet"); the process holds it once.
var archive = struct {
	sync.Once
	cases map[string][]entry
	err   error
}{}

func load(root string) (map[string][]entry, error) {
	archive.Do(func() { archive.cases, archive.err = unpack(filepath.Join(root, Archive)) })
	return archive.cases, archive.err
}

func unpack(file string) (map[string][]entry, error) {
	packed, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	plain, err := z.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r := bytes.NewReader(plain)
	cases := map[string][]entry{}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return cases, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		name := path.Clean(h.Name)
		depth := 3 // tables/group/case
		if strings.HasPrefix(name, "bad/") {
			depth = 2
		}
		parts := strings.SplitN(name, "/", depth+1)
		if len(parts) <= depth {
			continue
		}
		e := entry{name: parts[depth], dir: h.Typeflag == tar.TypeDir}
		if !e.dir {
			// The data lies in the plain archive where the reader stands: no copy is needed.
			at := int64(len(plain)) - int64(r.Len())
			e.data = plain[at : at+h.Size : at+h.Size]
		}
		id := strings.Join(parts[:depth], "/")
		cases[id] = append(cases[id], e)
	}
}

// Unpack puts the case into a new temporary folder, which the test may change, and gives the folder of
// its warehouse.
func (c *Case) Unpack(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	write(t, c.files, "", dir)
	return filepath.Join(dir, "warehouse")
}

// UnpackFolder puts a folder of the case ("warehouse/external") where it is told to.
func (c *Case) UnpackFolder(t testing.TB, folder, to string) {
	t.Helper()
	write(t, c.files, folder+"/", to)
}

func write(t testing.TB, files []entry, prefix, to string) {
	t.Helper()
	made := map[string]bool{}
	for _, e := range files {
		name, ok := strings.CutPrefix(e.name, prefix)
		if !ok {
			continue
		}
		file := filepath.Join(to, filepath.FromSlash(name))
		dir := file
		if !e.dir {
			dir = filepath.Dir(file)
		}
		if !made[dir] {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			made[dir] = true
		}
		if e.dir {
			continue
		}
		if err := os.WriteFile(file, e.data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// EachFile calls f with every file of the warehouses of all cases: the case, the path below the case's
// folder, and the content, which is shared and must not be changed.
func EachFile(t testing.TB, root string, f func(id, name string, data []byte)) {
	t.Helper()
	for _, c := range Cases(t, root) {
		for _, e := range c.files {
			if !e.dir && strings.HasPrefix(e.name, "warehouse/") {
				f(c.ID, e.name, e.data)
			}
		}
	}
}
