package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// heldUp is a file system and a Swapper that do something between two calls, once.
type heldUp struct {
	fileio.FS
	before, after func() // of the creation of the snapshot
	writing       func() // before a manifest list is written
}

func once(f *func()) {
	if do := *f; do != nil {
		*f = nil
		do()
	}
}

func (h *heldUp) Create(ctx context.Context, path string) (fileio.Writer, error) {
	if strings.Contains(path, "manifest-list") {
		once(&h.writing)
	}
	return h.FS.Create(ctx, path)
}

func (h *heldUp) Swap(ctx context.Context, _ *snapshot.Snapshot, path string, data []byte) error {
	once(&h.before)
	err := h.PutIfAbsent(ctx, path, data)
	once(&h.after)
	return err
}

// TestHeldUp: while a writer is held up, others use the number of its snapshot, and expire it. What it makes then is never beside
// the table: it comes after what the others made, or the writer says that it does not know.
func TestHeldUp(t *testing.T) {
	for name, x := range map[string]struct {
		hold func(h *heldUp, others func())
		err  error
	}{
		"while it writes":    {func(h *heldUp, others func()) { h.writing = others }, nil},
		"at the last moment": {func(h *heldUp, others func()) { h.before = others }, ErrUnknown},
		"when it is done":    {func(h *heldUp, others func()) { h.after = others }, nil},
	} {
		t.Run(name, func(t *testing.T) { testHeldUp(t, x.hold, x.err, false) })
		t.Run(name+", the hint is behind", func(t *testing.T) { testHeldUp(t, x.hold, x.err, true) })
	}
}

// testHeldUp may have the EARLIEST hint set back, as the slower of two that expire does.
func testHeldUp(t *testing.T, hold func(h *heldUp, others func()), wantErr error, back bool) {
	ctx := t.Context()
	h := &heldUp{FS: fileio.NewMem(fileio.MemOptions{})}
	e := newEnv(t, h, tablePath)
	mustCommit(t, e.committer(), id("first", 1), Options{}, e.add("f", 1, 2))
	want := []string{"f@0"}
	others := newEnv(t, h.FS, tablePath)
	hold(h, func() {
		c := others.committer()
		for i := range 6 {
			file := fmt.Sprintf("o%d", i)
			mustCommit(t, c, id("others", int64(i)), Options{}, others.add(file, 1, 2))
			want = append(want, file+"@0")
		}
		newest, err := others.c.Snapshots.LatestID(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := others.c.Snapshots.HintEarliest(ctx, newest-1); err != nil {
			t.Fatal(err)
		}
		for id := int64(1); id < newest-1; id++ {
			if err := others.c.Snapshots.Delete(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		if back {
			if err := h.Put(ctx, others.c.Snapshots.Dir()+"/EARLIEST", []byte("1")); err != nil {
				t.Fatal(err)
			}
		}
	})
	e.c.Swapper = h
	late := e.add("a", 1, 2)
	late.Paths = []string{e.dir + "/bucket-0/a"}
	if err := h.Put(ctx, late.Paths[0], nil); err != nil {
		t.Fatal(err)
	}
	_, err := e.committer().Commit(ctx, id("late", 1), []manifest.Delta{late}, Options{Fresh: true})
	if !errors.Is(err, wantErr) {
		t.Fatalf("error %v, want %v", err, wantErr)
	}
	if wantErr == nil {
		want = append([]string{"a@0"}, want...)
	}
	others.wantFiles(ctx, strings.Join(want, " "))
	first, err := others.c.Snapshots.EarliestID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := others.c.Snapshots.All(ctx); err != nil || all[0] < first {
		t.Errorf("snapshots %v, the oldest is %d (%v)", all, first, err)
	}
	mustCommit(t, e.committer(), id("next", 1), Options{Fresh: true}, e.add("z", 1, 2))
	others.wantFiles(ctx, strings.Join(append(want, "z@0"), " "))
}
