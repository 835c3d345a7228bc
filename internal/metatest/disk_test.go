package metatest

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/fstest"
)

// TestBadDisk fills the disk, or takes away the right to write, after each number of further calls: a
// write fails with an error that has the cause and the path, and nothing of it is seen. With room again
// the same table goes on.
func TestBadDisk(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, iofs.ErrPermission, syscall.EROFS, syscall.EDQUOT} {
		for _, keyed := range []bool{true, false} {
			d := &fstest.Refusing{FS: fileio.NewMem(fileio.MemOptions{})}
			uri, unmount := mount(d)
			l := &life{t: t, keyed: keyed}
			if err := l.create(uri); err != nil {
				t.Fatal(err)
			}
			if err := l.write(1, crashCols); err != nil {
				t.Fatal(err)
			}
			before := l.rows()
			by := 1
			if cause != syscall.ENOSPC || !keyed || testing.Short() {
				by = 10 // what the cause is makes no difference to the calls
			}
			for room := 0; ; room += by {
				d.Refuse(cause, room)
				err := l.write(2, crashCols)
				d.Refuse(nil, 0)
				l.clean(fmt.Sprintf("%v after %d calls", cause, room))
				if err == nil {
					break
				}
				if !errors.Is(err, cause) || !strings.Contains(err.Error(), "/lake/d.db/t/") {
					t.Fatalf("%v after %d calls: the error has no path or not the cause: %v", cause, room, err)
				}
				// The first of two snapshots of a step may be there: its rows are whole then.
				if got := l.rows(); !slices.Equal(got, before) {
					if l.noted != 2 {
						t.Fatalf("%v after %d calls: nothing was committed, and rows changed to %v", cause, room, got)
					}
					break
				}
				l.noted = 0
			}
			if err := l.write(2, crashCols); err != nil {
				t.Fatalf("%v: with room again: %v", cause, err)
			}
			if slices.Equal(l.rows(), before) {
				t.Fatalf("%v: with room again: nothing was written", cause)
			}
			l.clean("with room again")
			unmount()
		}
	}
}

// TestFolderInTheWay writes to a local warehouse where a file stands in place of a folder, as root may
// write to any folder: the error names the path and the table is as it was.
func TestFolderInTheWay(t *testing.T) {
	dir := t.TempDir()
	l := &life{t: t, keyed: true}
	if err := l.create(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.write(1, crashCols); err != nil {
		t.Fatal(err)
	}
	before := l.rows()
	for _, folder := range []string{"p=a/bucket-0", "manifest", "snapshot"} {
		path := dir + "/d.db/t/" + folder
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		l.noted = 0
		err := l.write(2, crashCols)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a file at %s: error %v does not name it", path, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		if got := l.rows(); !slices.Equal(got, before) {
			t.Errorf("a file at %s: rows changed to %v", path, got)
		}
		l.clean("a file at " + path)
	}
	l.noted = 0
	if err := l.write(2, crashCols); err != nil {
		t.Errorf("with all folders back: %v", err)
	}
}

// TestReadOnlyFolder takes the right to write from the folder of a table, where that means anything: root
// may write all the same.
func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("not tested as root, who may write to any folder; TestBadDisk has the same by injection")
		return
	}
	dir := t.TempDir()
	l := &life{t: t, keyed: true}
	if err := l.create(dir); err != nil {
		t.Fatal(err)
	}
	table := dir + "/d.db/t"
	if err := os.Chmod(table, 0o500); err != nil { //nolint:gosec // a folder needs x
		t.Fatal(err)
	}
	defer os.Chmod(table, 0o700) //nolint:errcheck,gosec // so that it can be removed
	err := l.write(1, crashCols)
	if !errors.Is(err, iofs.ErrPermission) || !strings.Contains(err.Error(), table) {
		t.Errorf("the error is %v", err)
	}
	if _, err := l.tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
		t.Errorf("compaction of nothing: %v", err)
	}
}
