package kv

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/tarnlake/tarn/internal/paths"
)

// A temporary file has no name while it is in use, so that a process that is killed leaves nothing behind.
func TestTempLeavesNothingBehind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("files that are open keep their names here")
		return
	}
	r, err := NewTemp(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.f.WriteString("rows"); err != nil {
		t.Fatal(err)
	}
	if names, err := filepath.Glob(filepath.Dir(r.path) + "/*"); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	if err := r.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := r.f.WriteString("more"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is still open: %v", err)
	}
	if err := r.Remove(); err != nil {
		t.Errorf("removed again: %v", err)
	}
}

// A folder for temporary files that is not there, or full, is told with what to do, and is no damage of the table.
func TestTempFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, err := NewTemp(dir)
	if !errors.Is(err, paths.ErrInvalid) || !strings.Contains(err.Error(), "there is no folder "+dir) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Error(err)
	}
	if err := spillError("/tmp", syscall.ENOSPC); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Error(err)
	}
}
