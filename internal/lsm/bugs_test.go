package lsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/types"
)

func diffRows(want, got []row) string { return cmp.Diff(want, got, cmp.AllowUnexported(row{})) }

// B022: sequence.field with descending order holds in the write buffer as in reads and compactions.
func TestDescendingSequence(t *testing.T) {
	versions := []row{{k: 1, v: "x", s: num(2)}, {k: 1, v: "y", s: num(7)}, {k: 1, v: "z", s: num(4)}}
	want := []row{{k: 1, v: "x", s: num(2)}}
	for _, commits := range [][][]row{{versions}, {versions[:1], versions[1:2], versions[2:]}} {
		x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) {
			c.Sequence, c.Descending, c.WriteOnly = []string{"s"}, true, true
		})
		for _, rows := range commits {
			x.writeCommit(t, rows...)
		}
		if d := diffRows(want, x.read(t, ReadOptions{})); d != "" {
			t.Errorf("%d commits: %s", len(commits), d)
		}
		x.compact(t)
		if d := diffRows(want, x.read(t, ReadOptions{})); d != "" {
			t.Errorf("%d commits, compacted: %s", len(commits), d)
		}
	}
}

// B021: a NULL sequence is older than any other.
func TestNullSequenceIsOldest(t *testing.T) {
	for _, desc := range []bool{false, true} {
		x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.Sequence, c.Descending = []string{"s"}, desc })
		x.writeCommit(t, row{k: 1, v: "B", s: num(5)}, row{k: 1, v: "A"})
		if d := diffRows([]row{{k: 1, v: "B", s: num(5)}}, x.read(t, ReadOptions{})); d != "" {
			t.Error(d)
		}
	}
}

// B033: files of level 0 with the same sequence numbers are all kept and compacted.
func TestFilesWithEqualSequences(t *testing.T) {
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.WriteOnly = true })
	a, b := x.writer(t, WriterOptions{}), x.writer(t, WriterOptions{})
	var want []row
	for i := range int64(10) {
		x.write(t, a, row{k: i, v: "a"})
		x.write(t, b, row{k: 10 + i, v: "b"})
	}
	for i := range int64(20) {
		want = append(want, row{k: i, v: []string{"a", "b"}[i/10]})
	}
	for _, w := range []*Writer{a, b} {
		x.commit(t, x.prepare(t, w, true))
	}
	if a, b := x.live[0], x.live[1]; a.MaxSequence != b.MaxSequence || a.MinSequence != b.MinSequence {
		t.Fatal("files differ in sequence numbers")
	}
	w := x.writer(t, WriterOptions{})
	if err := w.Compact(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	d := x.prepare(t, w, true)
	if len(d.CompactBefore) != 2 {
		t.Errorf("%d files are compacted, want 2", len(d.CompactBefore))
	}
	x.commit(t, d)
	if d := diffRows(want, x.read(t, ReadOptions{})); d != "" {
		t.Error(d)
	}
}

// Two writers give the same sequence numbers. Of a key the version with the larger one stays, whichever file is newer.
func TestSequencesOfTwoWriters(t *testing.T) {
	for _, swapped := range []bool{false, true} {
		x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.WriteOnly = true })
		var long []row
		for k := range int64(16) {
			long = append(long, row{k: k, v: "long"})
		}
		var short []row
		for _, k := range []int64{8, 9, 10, 11, 5, 3} { // of key 3 only the number is larger than that of long
			short = append(short, row{k: k, v: "short"})
		}
		a, b := x.writer(t, WriterOptions{}), x.writer(t, WriterOptions{})
		x.write(t, a, long...)
		x.write(t, b, short...)
		if swapped {
			a, b = b, a
		}
		x.commit(t, x.prepare(t, a, true))
		x.commit(t, x.prepare(t, b, true))
		want := slices.Clone(long)
		want[3].v = "short"
		for _, state := range []string{"merged", "compacted"} {
			if d := diffRows(want, x.read(t, ReadOptions{})); d != "" {
				t.Errorf("%s, committed in the other order %v:\n%s", state, swapped, d)
			}
			x.compact(t)
		}
	}
}

// B034: numbers go on although the files of the writer before are not committed.
func TestSequenceGoesOnBeforeCommit(t *testing.T) {
	x := newFixture(t, t.TempDir(), nil)
	w := x.writer(t, WriterOptions{})
	x.write(t, w, row{k: 1, v: "v1"})
	first := x.prepare(t, w, true)
	next := w.NextSequence()
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w = x.writer(t, WriterOptions{FirstSequence: next})
	x.write(t, w, row{k: 1, v: "v2"})
	second := x.prepare(t, w, true)
	x.commit(t, second)
	x.commit(t, first)
	if d := diffRows([]row{{k: 1, v: "v2"}}, x.read(t, ReadOptions{})); d != "" {
		t.Error(d)
	}
}

// B035: versions with equal sequence numbers: merging and compacting agree, whatever the order in
// which files are listed.
func TestEqualSequencesAreDeterministic(t *testing.T) {
	for _, swap := range []bool{false, true} {
		x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.WriteOnly = true })
		a, b := x.writer(t, WriterOptions{}), x.writer(t, WriterOptions{})
		x.write(t, a, row{k: 1, v: "8"})
		x.write(t, b, row{k: 1, v: "9"})
		da, db := x.prepare(t, a, true), x.prepare(t, b, true)
		if swap {
			da, db = db, da
		}
		x.commit(t, da)
		x.commit(t, db)
		merged := x.read(t, ReadOptions{})
		if d := diffRows([]row{{k: 1, v: "9"}}, merged); d != "" {
			t.Error(d)
		}
		x.compact(t)
		if d := diffRows(merged, x.read(t, ReadOptions{})); d != "" {
			t.Error(d)
		}
	}
}

// B031: deletes that are in files from before are ignored once the option is set.
func TestIgnoreDeleteOfOldFiles(t *testing.T) {
	x := newFixture(t, t.TempDir(), nil)
	x.writeCommit(t, row{k: 1, v: "A"})
	x.writeCommit(t, row{k: 1, kind: types.Delete})
	if got := x.read(t, ReadOptions{}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	var err error
	c := x.c
	c.Engine, _ = mergefn.New("deduplicate", mergefn.Config{IgnoreDelete: true})
	if x.table, err = NewTable(c); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if d := diffRows([]row{{k: 1, v: "A"}}, x.read(t, ReadOptions{})); d != "" {
			t.Error(d)
		}
		x.compact(t)
	}
}

// B079: the optimization interval outlives writers.
func TestOptimizationIntervalAcrossWriters(t *testing.T) {
	now := int64(1000)
	fulls := 0
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) {
		c.Levels = LevelOptions{Trigger: 100, NumLevels: 3, Interval: 3600000}
		c.ClockMillis = func() int64 { return now }
		c.Events.Compaction = func(Compaction) { fulls++ }
	})
	for i := range int64(20) {
		x.writeCommit(t, row{k: i % 3, v: fmt.Sprint(i)})
		now += 1000
	}
	if fulls != 1 {
		t.Errorf("%d full compactions within the interval, want 1", fulls)
	}
}

// B131: files of a level that overlap are refused, in what is restored and in what comes out.
func TestOverlapIsRefused(t *testing.T) {
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.WriteOnly = true })
	x.writeCommit(t, row{k: 1}, row{k: 5})
	x.writeCommit(t, row{k: 5}, row{k: 9})
	for _, f := range x.live {
		f.Level = 2
	}
	_, err := x.table.NewWriter(WriterOptions{Files: x.live})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), x.live[0].Name) || !strings.Contains(err.Error(), x.live[1].Name) {
		t.Errorf("got %v", err)
	}
	l, err := x.table.newLevels(3, x.live[:1])
	if err != nil {
		t.Fatal(err)
	}
	if err := l.update(nil, x.live[1:]); !errors.Is(err, ErrCorrupt) || len(l.files()) != 1 {
		t.Errorf("got %v, %d files", err, len(l.files()))
	}
}

// B129: after a huge row the buffer is small again.
func TestHugeRowsDoNotStay(t *testing.T) {
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.WriteBuffer, c.WriteOnly = 1<<20, true })
	w := x.writer(t, WriterOptions{})
	x.write(t, w, row{k: 1, v: strings.Repeat("x", 8<<20)})
	if m := w.Memory(); m != 0 {
		t.Errorf("%d bytes are held after a row larger than the buffer", m)
	}
	x.write(t, w, row{k: 2, v: "small"})
	if m := w.Memory(); m > 1000 {
		t.Errorf("a small row takes %d bytes", m)
	}
}

func TestUpgradeWithoutRewriting(t *testing.T) {
	for _, c := range []struct {
		name     string
		rows     []row
		target   int64
		upgraded bool
	}{
		{"one file", []row{{k: 1}, {k: 2}}, 1000, true},
		{"with a delete, to the highest level", []row{{k: 1}, {k: 2, kind: types.Delete}}, 1000, false},
	} {
		var events []Compaction
		x := newFixture(t, t.TempDir(), func(cf *Config, _ *mergefn.Config) {
			cf.TargetFileSize = c.target
			cf.Events.Compaction = func(e Compaction) { events = append(events, e) }
		})
		x.writeCommit(t, c.rows...)
		name := x.live[0].Name
		x.compact(t)
		if got := x.live[0].Name == name; got != c.upgraded {
			t.Errorf("%s: same file: %v, want %v", c.name, got, c.upgraded)
		}
		if x.live[0].Level != 5 || len(events) != 1 || events[0].Upgraded > 0 != c.upgraded {
			t.Errorf("%s: level %d, events %+v", c.name, x.live[0].Level, events)
		}
		if _, ok := x.store.files[name]; !ok {
			t.Errorf("%s: the file of the older snapshot is gone", c.name)
		}
	}
	// Large files that overlap no other move up, small ones are rewritten together.
	x := newFixture(t, t.TempDir(), func(cf *Config, _ *mergefn.Config) { cf.WriteOnly = true })
	x.writeCommit(t, row{k: 1})
	x.writeCommit(t, row{k: 2})
	var large []row
	for k := range int64(8) {
		large = append(large, row{k: 10 + k})
	}
	x.writeCommit(t, large...)
	name := x.live[2].Name
	x.compact(t)
	if len(x.live) != 2 || !slices.ContainsFunc(x.live, func(f *manifest.DataFile) bool { return f.Name == name && f.Level == 5 }) {
		t.Errorf("files after compaction: %v", x.live)
	}
}

// A full compaction of what is compacted does nothing, and some small runs over a large one leave it alone.
func TestCompactedFilesStay(t *testing.T) {
	for _, levels := range []int{2, 3, 6} {
		var events []Compaction
		x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) {
			c.Levels.NumLevels, c.Levels.Trigger = levels, 4
			c.Events.Compaction = func(e Compaction) { events = append(events, e) }
		})
		var large []row
		for k := range int64(1000) {
			large = append(large, row{k: k})
		}
		x.writeCommit(t, large...)
		x.compact(t)
		if len(x.live) != 1 || x.live[0].Level != levels-1 {
			t.Fatalf("%d levels: compacted to %v", levels, x.live)
		}
		name := x.live[0].Name
		events = nil
		x.compact(t)
		if len(events) != 0 || x.live[0].Name != name {
			t.Errorf("%d levels: compacted again: %+v", levels, events)
		}
		for k := range int64(4) {
			x.writeCommit(t, row{k: k})
		}
		if stays := slices.ContainsFunc(x.live, func(f *manifest.DataFile) bool { return f.Name == name }); !stays && levels > 2 {
			t.Errorf("%d levels: four rows rewrite a thousand: %+v", levels, events)
		}
		if len(events) == 0 {
			t.Errorf("%d levels: four small runs are not compacted", levels)
		}
	}
}

func TestCloseKeepsWhatWasPrepared(t *testing.T) {
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.Levels.Trigger = 2 })
	w := x.writer(t, WriterOptions{})
	x.write(t, w, row{k: 1})
	x.write(t, w, row{k: 2})
	d := x.prepare(t, w, true)
	x.commit(t, d)
	x.write(t, w, row{k: 2, v: "lost"})
	if err := w.Compact(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if len(x.store.names()) < 2 {
		t.Fatal("nothing is written that was not prepared")
	}
	for range 2 {
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range x.store.names() {
		if !x.ever[n] {
			t.Errorf("file %s is left", n)
		}
	}
	if got := x.read(t, ReadOptions{}); len(got) != 2 || got[1].v != "" {
		t.Errorf("got %v", got)
	}
	if err := w.Write(t.Context(), rowsBatch([]row{{k: 1}}), nil); err == nil {
		t.Error("a closed writer takes rows")
	}
}

func TestErrorsLeaveNothing(t *testing.T) {
	for fail := 1; ; fail++ {
		x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) {
			c.Levels.Trigger = 2
			c.Engine = nil
		})
		x.store.roll = 2
		x.writeCommit(t, row{k: 1}, row{k: 2}, row{k: 3})
		before := x.store.names()
		x.store.failAt = fail
		w := x.writer(t, WriterOptions{})
		err := w.Write(t.Context(), rowsBatch([]row{{k: 1}, {k: 2}, {k: 4}, {k: 5}}), nil)
		if err == nil {
			err = w.Compact(t.Context(), true)
		}
		if err == nil {
			if _, err = w.Prepare(t.Context(), true); err == nil {
				return
			}
		}
		if !errors.Is(err, errDisk) {
			t.Fatalf("write %d fails: got %v", fail, err)
		}
		if _, again := w.Prepare(t.Context(), true); again == nil {
			t.Errorf("write %d fails: the writer prepares all the same", fail)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, x.store.names()); d != "" {
			t.Errorf("write %d fails: %s", fail, d)
		}
	}
}

func TestStallTellsItsReason(t *testing.T) {
	var stalls []Stall
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) {
		c.Levels = LevelOptions{Trigger: 2, StopTrigger: 3}
		c.Events.Stall = func(s Stall) { stalls = append(stalls, s) }
	})
	var tasks []*Task
	w := x.writer(t, WriterOptions{Submit: func(t *Task) { tasks = append(tasks, t) }})
	for i := range int64(6) {
		x.write(t, w, row{k: 1, v: fmt.Sprint(i)})
		x.commit(t, x.prepare(t, w, false))
	}
	if len(stalls) < 2 || stalls[0].Done || !stalls[1].Done || !strings.Contains(stalls[0].Reason, "num-sorted-run.stop-trigger") {
		t.Errorf("stalls: %+v", stalls)
	}
	if n := len(x.live); n > 6 {
		t.Errorf("%d files", n)
	}
	if d := diffRows([]row{{k: 1, v: "5"}}, x.read(t, ReadOptions{})); d != "" {
		t.Error(d)
	}
}

func TestReadOnlyWhatIsNeeded(t *testing.T) {
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.WriteOnly = true })
	x.writeCommit(t, row{k: 1, v: "a"}, row{k: 2, v: "b"})
	x.writeCommit(t, row{k: 2, v: "c"})
	x.writeCommit(t, row{k: 7, v: "d"})
	r, err := x.table.MergeRead(t.Context(), datafile.Location{}, x.live, ReadOptions{Fields: rowFields[:1]})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		b, err := r.Next(t.Context())
		if err != nil {
			break
		}
		for i := range int(b.NumRows()) {
			got = append(got, b.Column(0).ValueStr(i))
		}
	}
	if want := []string{"a", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// Level 0 may hold deletes that nobody counted.
	if want := map[string]bool{"v": true, "k": true, "_VALUE_KIND": true}; cmp.Diff(want, x.store.read) != "" {
		t.Errorf("columns read: %v", x.store.read)
	}
}

func TestKeepDeletesGivesKinds(t *testing.T) {
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.WriteOnly = true })
	x.writeCommit(t, row{k: 1, v: "a"}, row{k: 2, v: "b"})
	x.writeCommit(t, row{k: 2, v: "b", kind: types.Delete})
	want := []row{{k: 1, v: "a"}, {k: 2, v: "b", kind: types.Delete}}
	if d := diffRows(want, x.read(t, ReadOptions{KeepDeletes: true})); d != "" {
		t.Error(d)
	}
}

func TestNullKeyIsRefused(t *testing.T) {
	x := newFixture(t, t.TempDir(), nil)
	w := x.writer(t, WriterOptions{})
	b := rowsBatch([]row{{k: 1, kind: types.Delete}, {k: 2}})
	b.RecordBatch = withNullKey(b.RecordBatch, 1)
	err := w.Write(t.Context(), b, nil)
	if err == nil || !strings.Contains(err.Error(), `row 1 has NULL in primary key column "k"`) {
		t.Errorf("got %v", err)
	}
	if err := w.Write(t.Context(), b, []int32{0}); err != nil {
		t.Errorf("the row with NULL is not taken, but: %v", err)
	}
	x.commit(t, x.prepare(t, w, true))
	if d := diffRows([]row{{k: 1, kind: types.Delete}}, x.read(t, ReadOptions{KeepDeletes: true})); d != "" {
		t.Error(d)
	}
}

func TestTaskRunsOnce(t *testing.T) {
	n := 0
	task := newTask(datafile.Location{Bucket: 3}, func(context.Context, *Task) (*compaction, error) {
		n++
		return &compaction{}, nil
	})
	task.Run(t.Context())
	task.Run(t.Context())
	if err := task.wait(t.Context()); err != nil || n != 1 {
		t.Errorf("ran %d times, %v", n, err)
	}
	if task.Location().Bucket != 3 {
		t.Error("wrong bucket")
	}
}

func TestManyRunsAreMergedInPasses(t *testing.T) {
	x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.WriteOnly, c.FanIn = true, 3 })
	var want []row
	for i := range int64(40) {
		x.writeCommit(t, row{k: 0, v: fmt.Sprint("all", i)}, row{k: i + 1, v: "own"}, row{k: 100, v: fmt.Sprint("end", i)})
	}
	want = append(want, row{k: 0, v: "all39"})
	for i := range int64(40) {
		want = append(want, row{k: i + 1, v: "own"})
	}
	want = append(want, row{k: 100, v: "end39"})
	if d := diffRows(want, x.read(t, ReadOptions{})); d != "" {
		t.Error(d)
	}
	if x.store.mostOpen > 3 {
		t.Errorf("%d files open at once, fan-in is 3", x.store.mostOpen)
	}
}

// B130: a key is in a file of level 0 once, also if the buffer was spilled in between.
func TestKeysAreUniqueInFiles(t *testing.T) {
	for _, spill := range []bool{false, true} {
		x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) { c.WriteOnly, c.Spill.Buffer = true, spill })
		w := x.writer(t, WriterOptions{})
		x.write(t, w, row{k: 1, v: "a"}, row{k: 1, v: "b"}, row{k: 2, v: "c"})
		if spill {
			if err := w.FlushMemory(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		x.write(t, w, row{k: 1, v: "d"})
		x.commit(t, x.prepare(t, w, true))
		if len(x.live) != 1 || x.live[0].Rows != 2 || x.live[0].MaxSequence != 3 {
			t.Errorf("spill %v: files %+v", spill, x.live[0])
		}
		if d := diffRows([]row{{k: 1, v: "d"}, {k: 2, v: "c"}}, x.read(t, ReadOptions{})); d != "" {
			t.Error(d)
		}
	}
}
