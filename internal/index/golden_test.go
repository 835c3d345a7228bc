package index

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
)

// deleted lists the rows of a vector.
func deleted(v *Vector) []int64 {
	rows := []int64{}
	for _, r := range v.Runs(nil, 0, v.End()) {
		for i := r.From; i < r.To; i++ {
			rows = append(rows, i)
		}
	}
	return rows
}

// The vectors of the reference are read as it reads them, and written as it writes them.
func TestGoldenVectors(t *testing.T) {
	n := 0
	for _, c := range golden.Cases(t, tarntest.Root(t)) {
		if !strings.HasPrefix(c.ID, "tables/dv/") {
			continue
		}
		dir := c.Unpack(t)
		want := map[string][]int64{} // by data file, of the newest snapshots
		for _, r := range c.Reads {
			if r.Op != "dumpIndex" {
				continue
			}
			for _, l := range r.Want {
				var x struct {
					DV []struct {
						DataFile string  `json:"dataFile"`
						Deleted  []int64 `json:"deleted"`
					} `json:"dv"`
				}
				if err := json.Unmarshal(l.Raw, &x); err != nil {
					t.Fatal(err)
				}
				for _, v := range x.DV {
					want[v.DataFile] = v.Deleted
				}
			}
		}
		got := map[string][]int64{}
		files, err := filepath.Glob(dir + "/d.db/*/manifest/index-manifest-*")
		if err != nil {
			t.Fatal(err)
		}
		fs := fileio.NewLocal(fileio.LocalOptions{})
		for _, f := range files {
			data, err := fileio.ReadFile(t.Context(), fs, f)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := manifest.DecodeIndex(data)
			if err != nil {
				t.Fatal(err)
			}
			for i := range entries {
				e := &entries[i]
				path := filepath.Join(filepath.Dir(f), "../index", e.Name)
				raw, err := fileio.ReadFile(t.Context(), fs, path)
				if err != nil || len(e.Vectors) == 0 {
					continue // of a snapshot that has expired, or what the reference leaves of a bucket that was compacted
				}
				mem := fileio.NewMem(fileio.MemOptions{})
				s := NewStore(Config{
					FS: mem, Path: func(_ []byte, _ int, name string) (string, error) { return "/" + name, nil },
					NewName: func() string { return "new" }, Bitmap64: bytes.Contains(raw, []byte{0xd1, 0xd3, 0x39, 0x64}),
				})
				if err := mem.Put(t.Context(), "/"+e.Name, raw); err != nil {
					t.Fatal(err)
				}
				places, err := PlacesOf(entries[i:i+1], nil)
				if err != nil {
					t.Fatal(err)
				}
				var vectors []FileVector
				for _, r := range e.Vectors {
					v, err := s.Vector(t.Context(), places.Of(e.Partition, e.Bucket, r.File), -1)
					if err != nil {
						t.Fatal(err)
					}
					if rows, ok := want[r.File]; ok && cmp.Equal(rows, deleted(v)) {
						got[r.File] = rows
					}
					vectors = append(vectors, FileVector{r.File, v})
				}
				wrote, err := s.Write(t.Context(), e.Partition, e.Bucket, vectors)
				if err != nil {
					t.Fatal(err)
				}
				again, err := fileio.ReadFile(t.Context(), mem, "/new")
				if err != nil {
					t.Fatal(err)
				}
				e.Name = "new"
				if d := cmp.Diff([]manifest.IndexEntry{*e}, wrote); d != "" || !bytes.Equal(raw, again) {
					t.Errorf("%s: %s is written otherwise: %x, not %x; entries %s", c.ID, path, again, raw, d)
				}
				n++
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", c.ID, d)
		}
	}
	if n < 20 {
		t.Errorf("only %d index files were compared", n)
	}
}
