package lsm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
)

// trigger begins a compaction if one is due and none runs.
func (w *Writer) trigger(ctx context.Context, all bool) error {
	if w.task != nil || w.stale != nil || w.t.c.WriteOnly && !all {
		return nil
	}
	s := w.levels.state()
	if !all && w.waits(s) {
		return nil
	}
	unit, files, apart, err := w.t.choose(ctx, s, all)
	if err != nil || len(files) == 0 {
		return err
	}
	if err := w.loadMarks(ctx); err != nil || w.stale != nil {
		return w.fail(err)
	}
	c := &compactor{
		t: w.t, loc: w.o.Location, level: unit.Level,
		highest: unit.Level == s.Levels-1, all: all && w.t.c.RewriteAll, apart: apart,
		// Where nothing is older than the result, a delete has nothing left to delete.
		drop: unit.Level != 0 && unit.Level >= w.levels.top(),
	}
	if unit.Level > 0 && w.t.c.Lookup != NoLookup {
		c.lookup, c.older = w.t.c.Lookup, slices.Concat(w.levels.high[unit.Level:]...)
	}
	if w.o.Vectors != nil && c.lookup != NoLookup {
		c.markWith(w.marks.gone)
	}
	switch w.producer() {
	case FullCompactionChangelog:
		c.log = c.highest
	case LookupChangelog:
		c.log = c.lookup != NoLookup && slices.ContainsFunc(files, func(f *manifest.DataFile) bool { return f.Level == 0 })
	}
	task := newTask(w.o.Location, func(ctx context.Context, t *Task) (*compaction, error) {
		c.stop = t.stop
		return c.do(ctx, files)
	})
	w.task = task
	if w.o.Submit != nil {
		w.o.Submit(task)
		return nil
	}
	task.Run(ctx)
	return w.sync(ctx, true)
}

// waits reports whether level 0 is left for now, as nothing else asks for a compaction.
func (w *Writer) waits(s State) bool {
	o := w.t.c.Levels
	if o.Gentle == 0 || w.asked || len(w.levels.zero) == 0 {
		return false
	}
	o.ForceUp = false
	if _, ok := NewUniversal(o).Pick(s); ok || w.left+1 >= o.Gentle {
		w.left = 0
		return false
	}
	w.left++
	return true
}

// do runs the compaction; after an error nothing of it is left.
func (c *compactor) do(ctx context.Context, files []*manifest.DataFile) (*compaction, error) {
	out, err := c.run(ctx, files)
	if err != nil {
		ctx, cancel := fileio.Outlast(ctx)
		err = errors.Join(fmt.Errorf("lsm: compact bucket %d to level %d: %w", c.loc.Bucket, c.level, err), c.out.discard(ctx, c.t.c.Store, c.loc))
		cancel()
		out = nil
	}
	if f := c.t.c.Events.Compaction; f != nil {
		e := Compaction{Location: c.loc, Level: c.level, Before: files, Err: err}
		if out != nil {
			e.Before, e.After, e.Upgraded = out.before, out.after, out.upgraded
		}
		f(e)
	}
	return out, err
}

// sync takes over the result of a compaction that has ended; with wait, it waits for that.
func (w *Writer) sync(ctx context.Context, wait bool) error {
	if w.task == nil || !wait && !w.task.finished() {
		return nil
	}
	if err := w.task.wait(ctx); err != nil {
		return err // the writer is as before: the caller may wait again
	}
	t := w.task
	w.task = nil
	if errors.Is(t.err, fs.ErrNotExist) {
		w.stale = t.err // nothing is lost: the rows are in the files of whoever compacted before
		return nil
	}
	if t.err != nil {
		return w.fail(t.err)
	}
	if err := w.levels.update(t.result.before, t.result.after); err != nil {
		err = fmt.Errorf("bucket %d: result of a compaction is refused: %w", w.o.Location.Bucket, err)
		return w.fail(errors.Join(err, t.result.discard(ctx, w.t.c.Store, w.o.Location)))
	}
	return w.fail(w.take(ctx, t.result))
}

// take puts a compaction among what has to be committed. Files that an earlier compaction made and
// this one used up are never committed; they are deleted.
func (w *Writer) take(ctx context.Context, c *compaction) error {
	after := map[string]bool{}
	for _, f := range c.after {
		after[f.Name] = true
	}
	w.marks.take(c, after)
	before := map[string]bool{}
	for _, f := range w.delta.CompactBefore {
		before[f.Name] = true
	}
	var dead []*manifest.DataFile
	for _, f := range c.before {
		i := indexFile(w.delta.CompactAfter, f)
		if i < 0 {
			w.delta.CompactBefore = append(w.delta.CompactBefore, f)
			continue
		}
		w.delta.CompactAfter = append(w.delta.CompactAfter[:i:i], w.delta.CompactAfter[i+1:]...)
		// A file that was only moved up existed before, and one that is moved up now lives on.
		if !before[f.Name] && !after[f.Name] {
			dead = append(dead, f)
		}
	}
	w.delta.CompactAfter = append(w.delta.CompactAfter, c.after...)
	w.delta.CompactChangelog = append(w.delta.CompactChangelog, c.changelog...)
	if len(dead) == 0 {
		return nil
	}
	ctx, cancel := fileio.Outlast(ctx)
	defer cancel()
	return w.t.c.Store.Delete(ctx, w.o.Location, dead...)
}

func indexFile(files []*manifest.DataFile, f *manifest.DataFile) int {
	for i, x := range files {
		if x.Name == f.Name && x.Level == f.Level {
			return i
		}
	}
	return -1
}

// Compact flushes the buffer and begins a compaction: of all files if full, also on a write-only
// table; else of what is due. Prepare with wait waits for its end.
func (w *Writer) Compact(ctx context.Context, full bool) error {
	w.asked = true
	defer func() { w.asked = false }()
	if err := w.flush(ctx, true); err != nil {
		return err
	}
	if !full {
		return nil
	}
	if err := w.sync(ctx, true); err != nil {
		return err
	}
	return w.trigger(ctx, true)
}

// Prepare flushes the buffer and gives what has to be committed since the last Prepare. With wait, a
// compaction that runs is waited for; without, its result comes with a later Prepare. The files of
// the Delta belong to the caller from here on.
func (w *Writer) Prepare(ctx context.Context, wait bool) (manifest.Delta, error) {
	if err := w.flush(ctx, wait); err != nil {
		return manifest.Delta{}, err
	}
	wait = wait || w.t.c.ForceCompact
	if n := w.levels.runCount(); !wait && w.task != nil && n > w.t.c.Levels.StopTrigger+1 {
		wait = true
		defer w.stall(fmt.Sprintf("bucket %d has %d sorted runs at a commit, more than num-sorted-run.stop-trigger + 1 (%d)",
			w.o.Location.Bucket, n, w.t.c.Levels.StopTrigger+1))()
	}
	if err := w.sync(ctx, wait); err != nil {
		return manifest.Delta{}, err
	}
	if err := w.writeMarks(ctx); err != nil {
		return manifest.Delta{}, w.fail(err)
	}
	d := w.delta
	d.Partition, d.Bucket = w.o.Location.Partition, w.o.Location.Bucket
	w.delta = manifest.Delta{}
	return d, nil
}

// Busy reports whether a later Prepare will give more, though nothing is written: a compaction runs, or waits to run, or level 0
// is to be looked up.
func (w *Writer) Busy() bool {
	return w.task != nil || w.t.c.Lookup != NoLookup && !w.t.c.WriteOnly && w.stale == nil && len(w.levels.zero) > 0
}

// Stale tells which file of the bucket was to be compacted and is gone, nil if all is well: another process
// compacted it and the snapshots that had it have expired. What is written stays right, and nothing is
// compacted until the bucket is opened again from the newest snapshot.
func (w *Writer) Stale() error { return w.stale }

// Close drops what is buffered, ends a running compaction and deletes all files that were not
// prepared, unless ctx ends. It may be called more than once.
func (w *Writer) Close(ctx context.Context) error {
	if w.buf == nil {
		return nil
	}
	var errs []error
	if w.task != nil {
		w.task.abandon()
		if w.task.err == nil {
			errs = append(errs, w.task.result.discard(ctx, w.t.c.Store, w.o.Location))
		}
		w.task = nil
	}
	for _, x := range w.temp {
		errs = append(errs, x.Remove())
	}
	w.temp, w.buf = nil, nil
	before := map[string]bool{}
	for _, f := range w.delta.CompactBefore {
		before[f.Name] = true
	}
	dead := append([]*manifest.DataFile(nil), w.delta.Added...)
	dead = append(append(dead, w.delta.Changelog...), w.delta.CompactChangelog...)
	for _, f := range w.delta.CompactAfter {
		if !before[f.Name] {
			dead = append(dead, f)
		}
	}
	w.delta = manifest.Delta{}
	if len(dead) > 0 {
		errs = append(errs, w.t.c.Store.Delete(ctx, w.o.Location, dead...))
	}
	if w.err == nil {
		w.err = errors.New("lsm: writer is closed")
	}
	return errors.Join(errs...)
}
