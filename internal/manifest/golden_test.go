package manifest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/avro"
)

// goldenRoots are the golden tables of the project and the few that this package keeps itself, so that
// it can be tested alone.
func goldenRoots() []string {
	roots := []string{"testdata/golden", "../../testdata/golden"}
	if dir := os.Getenv("TARN_GOLDEN"); dir != "" {
		roots = append(roots, dir)
	}
	return roots
}

// eachGolden calls f for every metadata file of all golden archives.
func eachGolden(t *testing.T, f func(archive, name string, data []byte)) {
	t.Helper()
	n := 0
	for _, root := range goldenRoots() {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !strings.HasSuffix(path, ".tar.gz") {
				return err
			}
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			defer file.Close()
			z, err := gzip.NewReader(file)
			if err != nil {
				return err
			}
			for r := tar.NewReader(z); ; {
				h, err := r.Next()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				if dir, name := filepath.Split(h.Name); h.Typeflag == tar.TypeReg && strings.HasSuffix(dir, "/manifest/") {
					data, err := io.ReadAll(r)
					if err != nil {
						return err
					}
					n++
					f(path, name, data)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		t.Fatal("no golden tables found")
	}
}

// payload is the decompressed content of all blocks.
func payload(t *testing.T, data []byte) []byte {
	t.Helper()
	c, err := openFile(data)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	if err := eachBlock(c, func(b []byte, _ int64) error {
		out = append(out, b...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestGolden decodes all metadata files that real releases wrote, writes them again at the same
// version, and compares: what Java wrote is equal byte by byte, but for compression.
func TestGolden(t *testing.T) {
	files := 0
	eachGolden(t, func(archive, name string, data []byte) {
		if strings.Contains(archive, "/bad/") {
			return
		}
		c, err := openFile(data)
		if errors.Is(err, errors.ErrUnsupported) && strings.Contains(archive, "manifests") {
			return // tables with manifest.format orc and parquet
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", archive, name, err)
		}
		o := Encoding{Version: writtenBy(c.Type())}
		var again []byte
		var diff string
		switch {
		case strings.HasPrefix(name, "manifest-list-"):
			v, err := DecodeList(data)
			if err != nil {
				t.Fatalf("%s: %s: %v", archive, name, err)
			}
			if again, err = EncodeList(v, o); err != nil {
				t.Fatalf("%s: %s: %v", archive, name, err)
			}
			w, err := DecodeList(again)
			if err != nil {
				t.Fatalf("%s: %s: again: %v", archive, name, err)
			}
			diff = cmp.Diff(v, w)
		case strings.HasPrefix(name, "index-manifest-"):
			v, err := DecodeIndex(data)
			if err != nil {
				t.Fatalf("%s: %s: %v", archive, name, err)
			}
			if again, err = EncodeIndex(v, o); err != nil {
				t.Fatalf("%s: %s: %v", archive, name, err)
			}
			w, err := DecodeIndex(again)
			if err != nil {
				t.Fatalf("%s: %s: again: %v", archive, name, err)
			}
			diff = cmp.Diff(v, w)
		case strings.HasPrefix(name, "manifest-"):
			v, err := Decode(data, nil)
			if err != nil {
				t.Fatalf("%s: %s: %v", archive, name, err)
			}
			if again, err = Encode(v, o); err != nil {
				t.Fatalf("%s: %s: %v", archive, name, err)
			}
			w, err := Decode(again, nil)
			if err != nil {
				t.Fatalf("%s: %s: again: %v", archive, name, err)
			}
			diff = cmp.Diff(v, w)
		default:
			return
		}
		if diff != "" {
			t.Fatalf("%s: %s: content differs after a rewrite (-before +after):\n%s", archive, name, diff)
		}
		files++
		if strings.Contains(archive, "pypaimon") {
			return
		}
		if !bytes.Equal(payload(t, data), payload(t, again)) {
			t.Fatalf("%s: %s: version %s: records are not written as Java does", archive, name, o.Version)
		}
		c2, err := openFile(again)
		if err != nil {
			t.Fatal(err)
		}
		if c2.Codec() != c.Codec() && !strings.Contains(archive, "manifests") {
			t.Errorf("%s: %s: codec %s, Java's is %s", archive, name, c2.Codec(), c.Codec())
		}
		if schema(data) != schema(again) {
			t.Fatalf("%s: %s: version %s: schema\n%s\nJava's is\n%s", archive, name, o.Version, schema(again), schema(data))
		}
	})
	t.Logf("%d files", files)
}

func schema(data []byte) string {
	r := reader{avro.Cursor{B: data, P: 4}}
	for n := r.BlockLen(); n > 0; n-- {
		if k, v := r.Bytes(), r.Bytes(); string(k) == "avro.schema" {
			return string(v)
		}
	}
	return ""
}
