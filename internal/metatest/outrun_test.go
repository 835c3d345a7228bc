package metatest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
)

// overtaking is a file system on which others are faster: they act right before a manifest or a list of
// them is opened, as long as there is one left to act.
type overtaking struct {
	fileio.FS
	mu   sync.Mutex
	acts []func()
}

func (o *overtaking) Open(ctx context.Context, path string) (fileio.File, error) {
	if strings.Contains(path, "/manifest/") {
		o.mu.Lock()
		var act func()
		if len(o.acts) > 0 {
			act, o.acts = o.acts[0], o.acts[1:]
		}
		o.mu.Unlock()
		if act != nil {
			act()
		}
	}
	return o.FS.Open(ctx, path)
}

func (o *overtaking) set(acts ...func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acts = acts
}

// TestOvertaken lets the newest snapshot be replaced and expire while somebody begins to read, to write,
// to compact or to commit upon it: all go on with the newer one.
func TestOvertaken(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		for _, what := range []string{"scan", "write", "compact", "commit"} {
			for skip := range 3 { // opens that pass before the others act
				t.Run(fmt.Sprintf("keyed=%v/%s/%d", keyed, what, skip), func(t *testing.T) {
					overtaken(t, keyed, what, skip)
				})
			}
		}
	}
}

func overtaken(t *testing.T, keyed bool, what string, skip int) {
	ctx := t.Context()
	mem := fileio.NewMem(fileio.MemOptions{})
	fs := &overtaking{FS: mem}
	quick, unmount := mount(mem)
	defer unmount()
	slow, unmountSlow := mount(fs)
	defer unmountSlow()
	l := &life{t: t, keyed: keyed}
	if err := l.create(quick); err != nil {
		t.Fatal(err)
	}
	n := 1
	var one sync.Mutex
	other := func() { // writes, and leaves one snapshot
		one.Lock()
		defer one.Unlock()
		if err := l.write(n, crashCols); err != nil {
			t.Error(err)
		}
		n++
		if _, err := l.tab.ExpireSnapshots(ctx, tarn.ExpireOptions{RetainMax: 1, TimeRetained: -1}); err != nil {
			t.Error(err)
		}
	}
	other()
	mine := &life{t: t, keyed: keyed}
	if err := mine.open(slow); err != nil {
		t.Fatal(err)
	}
	acts := make([]func(), skip, skip+2)
	acts = append(acts, other, other)
	var err error
	switch what {
	case "scan":
		fs.set(acts...)
		var got []string
		if got, err = scan(t, mine.tab, tarn.ScanOptions{}); err == nil {
			if d := cmp.Diff(l.rows(), got); d != "" && skip == 0 {
				t.Errorf("rows (-want +got):\n%s", d)
			}
		}
	case "compact":
		fs.set(acts...)
		_, err = mine.tab.Compact(ctx, tarn.CompactOptions{Full: true})
	case "write", "commit":
		w, werr := mine.tab.NewWriter(ctx, &tarn.WriterOptions{Workers: 1})
		if werr != nil {
			t.Fatal(werr)
		}
		defer w.Close()
		if what == "write" {
			fs.set(acts...)
		}
		if err = w.Write(ctx, mine.rowsOf(100, crashCols)); err != nil {
			break
		}
		if what == "commit" {
			if err := w.Compact(ctx, false); err != nil { // waits until the buckets are open
				t.Fatal(err)
			}
			other() // so that the base is read anew
			fs.set(acts...)
		}
		_, err = w.Commit(ctx)
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	fs.set()
	l.clean(what)
	if what == "write" || what == "commit" {
		got := strings.Join(l.rows(), "\n")
		if !strings.Contains(got, "v100-") {
			t.Errorf("%s: the rows are not there:\n%s", what, got)
		}
	}
}
