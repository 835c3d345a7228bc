package fileio

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The causes that users meet are named in words, with the path, and can be tested for.
func TestOSErrors(t *testing.T) {
	for _, c := range []struct {
		errno syscall.Errno
		kind  error
		text  string
	}{
		{syscall.ENOSPC, ErrNoSpace, "no space left"},
		{syscall.EDQUOT, ErrNoSpace, "quota"},
		{syscall.EACCES, iofs.ErrPermission, "check owner and mode"},
		{syscall.EROFS, iofs.ErrPermission, "read-only"},
		{syscall.EMFILE, syscall.EMFILE, "ulimit"},
		{syscall.ENAMETOOLONG, syscall.ENAMETOOLONG, "255 bytes"},
		{syscall.ENOTDIR, syscall.ENOTDIR, "a file where a folder has to be"},
	} {
		err := osError("write", "/lake/db.db/t/f", &os.PathError{Op: "open", Path: "/lake/db.db/t/.tarn-tmp-77", Err: c.errno})
		if !errors.Is(err, c.kind) || !errors.Is(err, c.errno) {
			t.Errorf("%v: %v is not %v", c.errno, err, c.kind)
		}
		if s := err.Error(); !strings.Contains(s, c.text) || !strings.Contains(s, "/lake/db.db/t/f") || strings.Contains(s, "tmp-77") {
			t.Errorf("%v: %q", c.errno, s)
		}
	}
}

// A full device: what was begun is gone, the error says so.
func TestNoSpace(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Log("this system has no /dev/full")
		return
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := NewLocal(LocalOptions{})
	path := filepath.Join(t.TempDir(), "f")
	if err := osError("write", path, l.fill(full, []byte("x"))); !errors.Is(err, ErrNoSpace) {
		t.Errorf("error %v", err)
	}
	w, err := l.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	lw := w.(*localWriter)
	lw.f.Close()
	if lw.f, err = os.OpenFile("/dev/full", os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	lw.buf.Reset(lw.f)
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("the half-written file is still there: %v", err)
	}
}

// The ways to claim a name on file systems that have no links.
func TestWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	l := NewLocal(LocalOptions{Sync: true})
	name := filepath.Join(dir, "snapshot-1")
	for i, want := range []error{nil, iofs.ErrExist} {
		if err := l.putExclusive(name, []byte{byte(i)}); !errors.Is(err, want) {
			t.Errorf("exclusive create %d: %v, want %v", i, err, want)
		}
	}
	for i, want := range []error{nil, iofs.ErrExist} {
		if err := l.linkNamed(name+"0", []byte{byte(i)}); !errors.Is(err, want) {
			t.Errorf("hidden file, %d: %v, want %v", i, err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("in the folder: %v, %v", entries, err)
	}
	temp, err := l.writeTemp(name, []byte("other"))
	if err != nil {
		t.Fatal(err)
	}
	if err := exclusiveRename(temp, name); !errors.Is(err, iofs.ErrExist) && !linkUnsupported(err) {
		t.Errorf("rename onto a taken name: %v", err)
	}
	if err := renameNoReplace(temp, name); !errors.Is(err, iofs.ErrExist) {
		t.Errorf("rename onto a taken name: %v", err)
	}
	if data, err := os.ReadFile(name); err != nil || len(data) != 1 || data[0] != 0 {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

func BenchmarkPutIfAbsent(b *testing.B) {
	l := NewLocal(LocalOptions{})
	data := make([]byte, 1000)
	for _, c := range []struct {
		name string
		put  func(string, []byte) error
	}{{"unnamed", l.linkUnnamed}, {"named", l.linkNamed}} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			for i := 0; b.Loop(); i++ {
				if err := c.put(dir+"/snapshot-"+strconv.Itoa(i), data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestNewFoldersAreSyncedOnce(t *testing.T) {
	l := NewLocal(LocalOptions{Sync: true})
	root := t.TempDir()
	path := root + "/a/b/c/f"
	w, err := l.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dirs := l.withNewParents(map[string]bool{root + "/a/b/c": true})
	if len(dirs) != 4 { // c, b, a and root hold an entry that is new
		t.Errorf("folders to sync: %q", dirs)
	}
	if err := l.Sync(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if len(l.newDirs) != 0 {
		t.Errorf("still to sync: %v", l.newDirs)
	}
	if err := l.Sync(t.Context(), root+"/missing"); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("sync of a missing file: %v", err)
	}
}

func TestCoalesce(t *testing.T) {
	spans, err := Coalesce([]Range{{100, 10}, {0, 10}, {15, 5}, {5, 10}, {130, 1}}, 200, 8, 100)
	if err != nil {
		t.Fatal(err)
	}
	want := []Range{{0, 20}, {100, 10}, {130, 1}}
	if len(spans) != len(want) {
		t.Fatalf("spans %v", spans)
	}
	for i, s := range spans {
		if s.Range != want[i] {
			t.Errorf("span %d is %v, want %v", i, s.Range, want[i])
		}
	}
	spans, _ = Coalesce([]Range{{0, 60}, {60, 60}, {120, 200}}, 1000, 8, 100)
	if len(spans) != 3 {
		t.Errorf("spans over the limit were joined: %v", spans)
	}
}
