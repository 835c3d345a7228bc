package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
)

// history is a short life of a table with everything a commit can do.
func history(e *env) []func(c *Committer) error {
	ctx := e.t.Context()
	commit := func(n int64, d ...manifest.Delta) func(*Committer) error {
		return func(c *Committer) error {
			_, err := c.Commit(ctx, id("u", n), d, Options{})
			return err
		}
	}
	a, b := e.add("a", 1, 10), e.add("b", 5, 20)
	both := e.add("c", 30, 40)
	both.CompactBefore = []*manifest.DataFile{a.Added[0], b.Added[0]}
	both.CompactAfter = []*manifest.DataFile{dataFile(e.t, "ab", 5, 1, 20)}
	both.Changelog = []*manifest.DataFile{dataFile(e.t, "log", 0, 1, 2)}
	both.Index = []manifest.IndexEntry{indexEntry(manifest.Add, "HASH", "h")}
	return []func(*Committer) error{
		commit(1, a), commit(2, b), commit(3, both),
		func(c *Committer) error {
			_, err := c.CommitOverwrite(ctx, id("u", 4), Overwrite{}, []manifest.Delta{e.add("o", 1, 5)}, Options{})
			return err
		},
		commit(5, e.add("p", 7, 8)),
	}
}

// after are the files after each step of the history.
var after = []string{"", "a@0", "a@0 b@0", "ab@5 c@0", "o@0", "o@0 p@0"}

var wantMarks = []string{"u 1 APPEND", "u 2 APPEND", "u 3 APPEND", "u 3 COMPACT", "u 4 OVERWRITE", "u 5 APPEND"}

// TestCrash stops the process at each call that changes something: before, after and half-way. What
// was acknowledged is there after a power failure, and the rest of the history gives the same table.
func TestCrash(t *testing.T) {
	for _, fate := range []fileio.Fate{fileio.StopBefore, fileio.StopAfter, fileio.StopHalf} {
		for k := 1; ; k++ {
			mem := fileio.NewMem(fileio.MemOptions{})
			f := fileio.NewFault(mem)
			e := newEnv(t, f, tablePath)
			e.c.Sync, e.c.MergeMinCount = true, 2
			f.FailAt(k, fate)
			c, acked := e.committer(), 0
			for _, step := range history(e) {
				if err := step(c); err != nil {
					break
				}
				acked++
			}
			if !f.Crashed() {
				if k < 20 {
					t.Fatalf("the history has only %d calls", k)
				}
				break
			}
			e2 := newEnv(t, mem.CrashClone(), tablePath)
			e2.c.MergeMinCount = 2
			ctx := t.Context()
			got := strings.Join(e2.liveFiles(ctx), " ")
			allowed := []string{after[acked], after[min(acked+1, 5)]}
			if acked == 2 {
				allowed = append(allowed, "a@0 b@0 c@0") // between the two snapshots of step 3
			}
			if !slices.Contains(allowed, got) {
				t.Fatalf("%v at call %d, %d steps acknowledged: files are %q", fate, k, acked, got)
			}
			// The job starts again at the step that it knows nothing of.
			c = e2.committer()
			for _, step := range history(e2)[acked:] {
				if err := step(c); err != nil {
					t.Fatalf("%v at call %d: after the restart: %v", fate, k, err)
				}
			}
			e2.wantFiles(ctx, after[5])
			if m := e2.marksOf(ctx); !slices.Equal(m, wantMarks) {
				t.Fatalf("%v at call %d: commits are %v", fate, k, m)
			}
		}
	}
}

// TestFault makes single calls fail while the process lives: the caller repeats the step (B038).
func TestFault(t *testing.T) {
	for _, fate := range []fileio.Fate{fileio.FailBefore, fileio.FailAfter, fileio.FailHalf} {
		for k := 1; ; k++ {
			f := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
			e := newEnv(t, f, tablePath)
			e.c.Sync, e.c.MergeMinCount = true, 2
			met := false
			f.Decide(func(c fileio.Call) fileio.Fate {
				if c.Mutates && c.N == k {
					met = true
					return fate
				}
				return fileio.Pass
			})
			c := e.committer()
			for i, step := range history(e) {
				err := step(c)
				for n := 0; err != nil; n++ {
					if n > 3 || errors.Is(err, ErrConflict) {
						t.Fatalf("%v at call %d, step %d: %v", fate, k, i+1, err)
					}
					err = step(c)
				}
			}
			ctx := t.Context()
			e.wantFiles(ctx, after[5])
			if m := e.marksOf(ctx); !slices.Equal(m, wantMarks) {
				t.Fatalf("%v at call %d: commits are %v", fate, k, m)
			}
			ids, err := e.c.Snapshots.List(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids { // no file of any snapshot was removed
				s, err := e.c.Snapshots.Get(ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				e.filesOf(ctx, s)
			}
			if !met {
				break
			}
		}
	}
}

// TestUnknownOutcome times out on every snapshot file after it was written, also in races.
func TestUnknownOutcome(t *testing.T) {
	f := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
	f.Decide(func(c fileio.Call) fileio.Fate {
		if c.Op == "PutIfAbsent" && c.N%2 == 0 {
			return fileio.FailAfter
		}
		return fileio.Pass
	})
	e := newEnv(t, f, tablePath)
	done := make(chan error)
	for w := range 4 {
		c := e.committer()
		go func() {
			for i := range 10 {
				d := e.add(fmt.Sprintf("f-%d-%d", w, i), 1, 2)
				if _, err := c.Commit(context.WithoutCancel(t.Context()), id(fmt.Sprint("w", w), int64(i)), []manifest.Delta{d}, Options{}); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := len(e.liveFiles(t.Context())); n != 40 {
		t.Errorf("%d files, want 40", n)
	}
	if n := len(e.marksOf(t.Context())); n != 40 {
		t.Errorf("%d snapshots, want 40", n)
	}
}

// TestNoAnswer: a snapshot that can neither be written nor looked up leaves all files where they are.
func TestNoAnswer(t *testing.T) {
	mem := fileio.NewMem(fileio.MemOptions{})
	f := fileio.NewFault(mem)
	e := newEnv(t, f, tablePath)
	c := e.committer()
	mustCommit(t, c, id("u", 1), Options{}, e.add("a", 1, 2))
	dead := false
	f.Decide(func(c fileio.Call) fileio.Fate {
		if c.Op == "PutIfAbsent" {
			dead = true
			return fileio.FailAfter
		}
		if dead {
			return fileio.FailBefore
		}
		return fileio.Pass
	})
	_, err := c.Commit(t.Context(), id("u", 2), []manifest.Delta{e.add("b", 1, 2)}, Options{})
	if !errors.Is(err, ErrUnknown) {
		t.Fatalf("error %v", err)
	}
	f.Reset()
	e.wantFiles(t.Context(), "a@0 b@0")
	r := mustCommit(t, c, id("u", 2), Options{}, e.add("b", 1, 2))
	if r.Repeated != 1 {
		t.Errorf("%+v", r)
	}
}
