package metatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
)

// works are what one does with a table; each is given the context that may end.
var works = map[string]func(ctx context.Context, l *life) error{
	"scan": func(ctx context.Context, l *life) error {
		for _, err := range l.tab.Scan(tarn.ScanOptions{Parallel: 4}).Batches(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"write": func(ctx context.Context, l *life) error {
		w, err := l.tab.NewWriter(ctx, &tarn.WriterOptions{WaitCompaction: true})
		if err != nil {
			return err
		}
		err = w.Write(ctx, l.rowsOf(3, crashCols))
		if err == nil {
			_, err = w.Commit(ctx)
		}
		return errors.Join(err, w.Close())
	},
	"overwrite": func(ctx context.Context, l *life) error {
		rows := l.rowsOf(4, crashCols)
		_, err := l.tab.Overwrite(ctx, tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) { yield(rows, nil) })
		return err
	},
	"compact": func(ctx context.Context, l *life) error {
		_, err := l.tab.Compact(ctx, tarn.CompactOptions{Full: true})
		return err
	},
	"expire": func(ctx context.Context, l *life) error {
		_, err := l.tab.ExpireSnapshots(ctx, tarn.ExpireOptions{RetainMax: 1, TimeRetained: -1})
		return err
	},
	"orphans": func(ctx context.Context, l *life) error {
		_, err := l.tab.Orphans(ctx, time.Now().Add(time.Hour), false)
		return err
	},
	"check": func(ctx context.Context, l *life) error {
		_, err := l.tab.Check(ctx)
		return err
	},
}

// fewRows makes a table with some history on a local disk behind a Fault.
func fewRows(t *testing.T, keyed bool) (*life, *fileio.Fault) {
	t.Helper()
	fault := fileio.NewFault(fileio.NewLocal(fileio.LocalOptions{}))
	name := fmt.Sprint("metatest-", mounts.Add(1))
	unmount, err := open.Mount(name, fault, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unmount)
	l := &life{t: t, keyed: keyed}
	if err := l.create("memory://" + name); err != nil {
		t.Fatal(err)
	}
	for step := range 3 {
		if err := l.write(step+1, crashCols); err != nil {
			t.Fatal(err)
		}
	}
	return l, fault
}

// openFiles are the files that this process has open below the folder that holds those of the test.
func openFiles(t *testing.T) []string {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, os.ErrNotExist) {
		return nil // not told by this system
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, filepath.Dir(os.TempDir())) {
			out = append(out, to)
		}
	}
	return out
}

// spills are the temporary files of merges.
func spills(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(os.TempDir() + "/tarn-spill-*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestErrorsLeaveNothingOpen lets calls to the file system fail, or the caller lose patience at them: all ends with that error and
// soon, no goroutine goes on, no file stays open, no temporary file stays, and the table is whole.
func TestErrorsLeaveNothingOpen(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	by := 15
	if testing.Short() {
		by = 40
	}
	running := goleak.IgnoreCurrent()
	for _, keyed := range []bool{false, true} {
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for n := range works {
				if !yield(n) {
					return
				}
			}
		}) {
			for _, how := range []string{"read fails", "write fails", "canceled"} {
				failOften(t, keyed, name, how, by)
			}
		}
	}
	if err := goleak.Find(running); err != nil {
		t.Error(err)
	}
}

func failOften(t *testing.T, keyed bool, name, how string, by int) {
	for k := 1; ; k += by {
		l, fault := fewRows(t, keyed)
		what := fmt.Sprintf("keyed %v, %s, %s at call %d", keyed, name, how, k)
		ctx, cancel := context.WithCancel(t.Context())
		n, after := 0, 0
		fault.Decide(func(c fileio.Call) fileio.Fate {
			switch {
			case ctx.Err() != nil:
				after++
			case how == "read fails" && c.Mutates, how == "write fails" && !c.Mutates:
			default:
				if n++; n == k {
					if how == "canceled" {
						cancel()
						return fileio.Pass
					}
					return fileio.FailBefore
				}
			}
			return fileio.Pass
		})
		err := works[name](ctx, l)
		cancel()
		fault.Decide(nil)
		met := n >= k
		if err != nil && !errors.Is(err, fileio.ErrInjected) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", what, err)
		}
		if how == "canceled" && after > 60 {
			t.Errorf("%s: %d further calls after that", what, after)
		}
		if files := openFiles(t); len(files) > 0 {
			t.Fatalf("%s: open are %v", what, files)
		}
		if files := spills(t); len(files) > 0 {
			t.Fatalf("%s: temporary files %v", what, files)
		}
		l.clean(what)
		if !met {
			return
		}
	}
}
