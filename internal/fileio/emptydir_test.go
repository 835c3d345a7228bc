package fileio_test

import (
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
)

func TestRemoveEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		fs   fileio.FS
		root string
	}{
		"local": {fileio.NewLocal(fileio.LocalOptions{}), t.TempDir()},
		"mem":   {fileio.NewMem(fileio.MemOptions{}), "/r"},
		"fault": {fileio.NewFault(fileio.NewMem(fileio.MemOptions{})), "/r"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if err := c.fs.Put(ctx, c.root+"/a/b/f", []byte("x")); err != nil {
				t.Fatal(err)
			}
			remove := func(path string, want bool) {
				t.Helper()
				if got, err := fileio.RemoveEmpty(ctx, c.fs, c.root+path); err != nil || got != want {
					t.Errorf("%s: removed %v, %v; want %v", path, got, err, want)
				}
			}
			remove("/a/b", false)
			remove("/a/b/f", false) // a file
			remove("/none", false)
			if err := c.fs.Delete(ctx, c.root+"/a/b/f"); err != nil {
				t.Fatal(err)
			}
			remove("/a", false)
			remove("/a/b", true)
			remove("/a/b", false)
			remove("/a", true)
			// Who writes there makes the folders anew.
			w, err := c.fs.Create(ctx, c.root+"/a/b/f")
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
