package snapshot

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// eachFile calls f for every file of a golden archive.
func eachFile(t *testing.T, archive string, f func(name string, data []byte)) {
	t.Helper()
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
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		f(h.Name, data)
	}
}

func archives(t *testing.T) []string {
	t.Helper()
	var out []string
	roots := []string{"testdata/golden", "../../testdata/golden"}
	if dir := os.Getenv("TARN_GOLDEN"); dir != "" {
		roots = append(roots, dir)
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".tar.gz") {
				out = append(out, path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestGoldenJSON reads all snapshots, changelogs and tags that real releases wrote and writes them again:
// byte by byte as Java did.
func TestGoldenJSON(t *testing.T) {
	n := 0
	for _, a := range archives(t) {
		if strings.Contains(a, "bad") {
			continue
		}
		eachFile(t, a, func(name string, data []byte) {
			dir, base := filepath.Split(name)
			var again []byte
			switch {
			case strings.HasSuffix(dir, "/snapshot/") && strings.HasPrefix(base, "snapshot-"),
				strings.HasSuffix(dir, "/changelog/") && strings.HasPrefix(base, "changelog-"):
				s, err := Decode(data)
				if err != nil {
					t.Fatalf("%s: %s: %v", a, name, err)
				}
				again = Encode(s, s.Written)
			case strings.HasSuffix(dir, "/tag/") && strings.HasPrefix(base, "tag-"):
				g, err := decodeTag(data)
				if err != nil {
					t.Fatalf("%s: %s: %v", a, name, err)
				}
				again = encodeTag(g, g.Snapshot.Written)
			default:
				return
			}
			n++
			if !strings.Contains(a, "pypaimon") && string(again) != string(data) {
				t.Errorf("%s: %s: written as\n%s\nJava wrote\n%s", a, name, again, data)
			}
		})
	}
	if n < 50 {
		t.Fatalf("only %d golden files found", n)
	}
}
