package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/snapshot"
)

func memEnv(t *testing.T) *env {
	t.Helper()
	return newEnv(t, fileio.NewMem(fileio.MemOptions{}))
}

func TestRetention(t *testing.T) {
	for _, c := range []struct {
		name     string
		o        Options
		consumer int64
		want     string
	}{
		{"defaults keep an hour", Options{}, 0, "1 2 3 4 5 6 7 8 9 10 11 12"},
		{"max", Options{RetainMin: 1, RetainMax: 3}, 0, "10 11 12"},
		{"min before time", Options{RetainMin: 4, TimeRetained: -1}, 0, "9 10 11 12"},
		{"time", Options{RetainMin: 1, TimeRetained: 4500 * time.Millisecond}, 0, "8 9 10 11 12"},
		{"time exactly", Options{RetainMin: 1, TimeRetained: 4 * time.Second}, 0, "8 9 10 11 12"},
		{"limit", Options{RetainMin: 1, TimeRetained: -1, Limit: 3}, 0, "4 5 6 7 8 9 10 11 12"},
		{"consumer", Options{RetainMin: 1, TimeRetained: -1}, 6, "6 7 8 9 10 11 12"},
		{"consumer of changelogs", Options{RetainMin: 1, TimeRetained: -1, ConsumersReadChangelogs: true}, 6, "12"},
		{"all but the last", Options{RetainMin: 1, RetainMax: 1}, 0, "12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := memEnv(t)
			e.history(12)
			if c.consumer > 0 {
				if err := e.table.Snapshots.PutConsumer(t.Context(), "c", c.consumer); err != nil {
					t.Fatal(err)
				}
			}
			dry := c.o
			dry.DryRun = true
			would := e.expire(dry)
			r := e.expire(c.o)
			if got := e.ids(); got != c.want {
				t.Errorf("snapshots %s, want %s", got, c.want)
			}
			if d := cmp.Diff(would, r); d != "" {
				t.Errorf("foretold (-), done (+)\n%s", d)
			}
			if n := 12 - len(strings.Fields(c.want)); len(r.Expired) != n || len(r.Warnings) > 0 || len(r.Holes) > 0 {
				t.Errorf("%+v, want %d expired", r, n)
			}
			e.exact("after")
			if r = e.expire(Options{RetainMin: 100, RetainMax: 100}); len(r.Expired) != 0 {
				t.Errorf("again: %+v", r)
			}
		})
	}
	for _, bad := range []Options{{RetainMin: 5, RetainMax: 4}, {RetainMin: -1}} {
		if _, err := Snapshots(t.Context(), memEnv(t).table, bad, time.Time{}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	if r := memEnv(t).expire(Options{}); r.Earliest != 0 {
		t.Errorf("empty table: %+v", r)
	}
}

// A hole does not end the time for which snapshots behind it are kept.
func TestHoleWithinTime(t *testing.T) {
	for _, holes := range [][]int64{{2}, {7}, {9}, {8, 9, 10}, {11}} {
		e := memEnv(t)
		e.history(12)
		if err := e.table.Snapshots.Delete(t.Context(), holes...); err != nil {
			t.Fatal(err)
		}
		e.expire(Options{RetainMin: 1, TimeRetained: 4500 * time.Millisecond})
		var want []string
		for id := int64(8); id <= 12; id++ {
			if !slices.Contains(holes, id) {
				want = append(want, fmt.Sprint(id))
			}
		}
		if got := e.ids(); got != strings.Join(want, " ") {
			t.Errorf("without %v: snapshots %s, want %v", holes, got, want)
		}
	}
}

// TestTags is B047.
func TestTags(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	e.history(30)
	for _, id := range []int64{5, 9, 14, 20} {
		e.tag(fmt.Sprint("t", id), id)
	}
	e.tag("again", 14)
	content := map[string][]string{}
	for _, n := range []string{"t5", "t9", "t14", "t20"} {
		tag, err := e.table.Snapshots.Tag(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		e.need(e.table.Manifests, tag.Snapshot, false, used)
		for f := range used {
			content[n] = append(content[n], f)
		}
	}
	check := func(when string, tags ...string) {
		t.Helper()
		e.exact(when)
		have := e.onDisk()
		for _, n := range tags {
			for _, f := range content[n] {
				if _, ok := slices.BinarySearch(have, f); !ok {
					t.Fatalf("%s: tag %s has lost %s", when, n, base(f))
				}
			}
		}
	}
	check("before", "t5", "t9", "t14", "t20")
	all := Options{RetainMin: 1, TimeRetained: -1}
	all.Limit = 9
	e.expire(all)
	check("to 10", "t5", "t9", "t14", "t20")
	del := func(name string) {
		t.Helper()
		if _, err := DeleteTag(ctx, e.table, name); err != nil {
			t.Fatal(err)
		}
	}
	del("t9")
	check("without t9", "t5", "t14", "t20")
	all.Limit = 15
	e.expire(all)
	check("to 25", "t5", "t14", "t20")
	del("again")
	check("without the second name", "t5", "t14", "t20")
	del("t14")
	check("without t14", "t5", "t20")
	del("t5")
	del("t20")
	check("without tags")
	if _, err := DeleteTag(ctx, e.table, "t20"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("tag that is gone: %v", err)
	}
}

// TestUnreadableTag: nothing is deleted while anything that protects files cannot be read.
func TestUnreadableTag(t *testing.T) {
	for _, what := range []string{"tag/", "manifest-list", "manifest/manifest-"} {
		f := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
		e := newEnv(t, f)
		e.history(12)
		e.tag("t3", 3)
		before := e.onDisk()
		for k := 1; ; k++ {
			n, met := 0, false
			f.Decide(func(c fileio.Call) fileio.Fate {
				if c.Op == "ReadAt" && strings.Contains(c.Path, what) {
					if n++; n == k {
						met = true
						return fileio.FailBefore
					}
				}
				return fileio.Pass
			})
			_, err := Snapshots(t.Context(), e.table, Options{RetainMin: 1, TimeRetained: -1}, e.now)
			f.Decide(nil)
			if !met {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if err == nil {
				t.Fatalf("%s: failed read %d was passed over", what, k)
			}
			if got := e.onDisk(); !slices.Equal(before, got) || !strings.HasPrefix(e.ids(), "1 2 3") {
				t.Fatalf("%s: failed read %d: %d of %d files left, snapshots %s", what, k, len(got), len(before), e.ids())
			}
		}
		e.exact(what)
	}
}

// TestHole is B050.
func TestHole(t *testing.T) {
	e := memEnv(t)
	e.history(20)
	if err := e.table.Snapshots.Delete(t.Context(), 7, 8, 9); err != nil {
		t.Fatal(err)
	}
	r := e.expire(Options{RetainMin: 2, TimeRetained: -1})
	if e.ids() != "19 20" || !slices.Equal(r.Holes, []int64{7, 8, 9}) || len(r.Expired) != 15 {
		t.Errorf("snapshots %s, %+v", e.ids(), r)
	}
	e.complete("after")
}

// TestCrash stops the process at each call: nothing needed is lost, and the next call cleans up the
// rest, but for what only the interrupted call knew.
func TestCrash(t *testing.T) {
	for _, fate := range []fileio.Fate{fileio.StopBefore, fileio.StopAfter, fileio.StopHalf} {
		for k := 1; ; k++ {
			f := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
			e := newEnv(t, f)
			e.history(12)
			e.tag("t3", 3)
			f.Reset()
			f.FailAt(k, fate)
			_, err := Snapshots(t.Context(), e.table, Options{RetainMin: 2, TimeRetained: -1}, e.now)
			if !f.Crashed() {
				if err != nil || k < 10 {
					t.Fatalf("%d calls, %v", k, err)
				}
				break
			}
			f.Reset()
			// Whoever looks now sees only snapshots that are whole.
			visible, err := e.table.Snapshots.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			have := e.onDisk()
			for _, id := range visible {
				s, err := e.table.Snapshots.At(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				used := map[string]bool{}
				e.need(e.table.Manifests, s, true, used)
				for file := range used {
					if _, ok := slices.BinarySearch(have, file); !ok {
						t.Fatalf("%v at call %d: snapshot %d is there without %s", fate, k, id, file)
					}
				}
			}
			e.expire(Options{RetainMin: 2, TimeRetained: -1})
			if e.ids() != "11 12" {
				t.Fatalf("%v at call %d: snapshots %s", fate, k, e.ids())
			}
			e.exact(fmt.Sprintf("%v at call %d", fate, k))
		}
	}
}

// TestHiddenFirst is B046: a reader of the oldest snapshot, at any moment of the expiry, finds its files.
func TestHiddenFirst(t *testing.T) {
	mem := fileio.NewMem(fileio.MemOptions{})
	f := fileio.NewFault(mem)
	e := newEnv(t, f)
	e.history(12)
	reader := newEnv(t, mem) // sees the same files
	calls := 0
	f.Decide(func(c fileio.Call) fileio.Fate {
		if !c.Mutates {
			return fileio.Pass
		}
		calls++
		s, err := reader.table.Snapshots.Earliest(t.Context())
		if err != nil {
			t.Error(err)
			return fileio.Pass
		}
		used := map[string]bool{}
		reader.need(reader.table.Manifests, s, true, used)
		have := reader.onDisk()
		for file := range used {
			if _, ok := slices.BinarySearch(have, file); !ok {
				t.Errorf("before %s %s: earliest snapshot %d has lost %s", c.Op, c.Path, s.ID, file)
			}
		}
		// Who knew the first one is told where to go on.
		if s.ID > 1 {
			var r *snapshot.RangeError
			if _, err := reader.table.Snapshots.At(t.Context(), 1); !errors.As(err, &r) || r.Earliest != s.ID {
				t.Errorf("expired snapshot: %v", err)
			}
		}
		return fileio.Pass
	})
	e.expire(Options{RetainMin: 1, TimeRetained: -1})
	if calls < 10 {
		t.Errorf("only %d calls", calls)
	}
}

// TestRace is B043: readers look for the edge while snapshots are committed and expire.
func TestRace(t *testing.T) {
	e := memEnv(t)
	e.history(3)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if s, err := e.table.Snapshots.Earliest(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("earliest: %v, %v", s, err)
				}
				if s, err := e.table.Snapshots.AtTime(ctx, 1<<60); err != nil && ctx.Err() == nil {
					t.Errorf("at time: %v, %v", s, err)
				}
				if _, err := e.table.Snapshots.At(ctx, 1); err != nil && ctx.Err() == nil {
					var r *snapshot.RangeError
					if !errors.As(err, &r) {
						t.Errorf("first: %v", err)
					}
				}
			}
		})
	}
	for range 60 {
		e.history(1)
		e.expire(Options{RetainMin: 1, RetainMax: 1})
		e.complete("while readers look")
	}
	cancel()
	wg.Wait()
	e.exact("after")
}

// A consumer that cannot be read keeps everything, as nobody knows what it needs; the error names its file and says
// what to do. It goes with its age where consumers have one.
func TestUnreadableConsumer(t *testing.T) {
	ctx := t.Context()
	for _, text := range []string{"garbage", "", "{\"nextSnapshot\": \"soon\"}"} {
		e := memEnv(t)
		e.history(6)
		path := e.table.Snapshots.ConsumerPath("c")
		if err := e.fs.Put(ctx, path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		o := Options{RetainMin: 1, RetainMax: 1}
		_, err := Snapshots(ctx, e.table, o, e.now)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "delete its file") {
			t.Errorf("%q: %v", text, err)
		}
		if e.ids() != "1 2 3 4 5 6" {
			t.Errorf("%q: snapshots %s are left", text, e.ids())
		}
		e.exact(text)
		o.ConsumerLife = time.Hour
		if _, err := Snapshots(ctx, e.table, o, time.Now().Add(2*time.Hour)); err != nil || e.ids() != "6" {
			t.Errorf("%q: snapshots %s are left, %v", text, e.ids(), err)
		}
	}
}

// TestBranch: what a branch shares with the main one stays.
func TestBranch(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	e.history(6)
	b := e.table.Snapshots.Branch("b")
	// As Java makes one from a tag: with the tagged snapshot.
	data, err := fileio.ReadFile(ctx, e.fs, e.table.Snapshots.Path(3))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.fs.Put(ctx, b.Path(3), data); err != nil {
		t.Fatal(err)
	}
	e.history(4)
	e.expire(Options{RetainMin: 1, RetainMax: 1})
	have := e.onDisk()
	s, err := b.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	e.need(e.table.Manifests, s, false, used)
	for f := range used {
		if _, ok := slices.BinarySearch(have, f); !ok {
			t.Errorf("the branch has lost %s", f)
		}
	}
}
