package lsm

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tarnlake/tarn/internal/mergefn"
)

// A temporary file has no name while it is in use, so that a process that is killed leaves nothing behind.
func TestSpillLeavesNothingBehind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("files that are open keep their names here")
		return
	}
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.Spill.Dir = t.TempDir() })
	r, err := x.table.newTempRun()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.f.WriteString("rows"); err != nil {
		t.Fatal(err)
	}
	if names, err := filepath.Glob(filepath.Dir(r.path) + "/*"); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	if err := r.remove(); err != nil {
		t.Error(err)
	}
	if _, err := r.f.WriteString("more"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is still open: %v", err)
	}
	if err := r.remove(); err != nil {
		t.Errorf("removed again: %v", err)
	}
}
