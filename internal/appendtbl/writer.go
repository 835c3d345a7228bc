package appendtbl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
)

func isTooLarge(err error) bool { return errors.Is(err, batch.ErrTooLarge) }

// WriterOptions say which bucket to write and where it stands.
type WriterOptions struct {
	Location datafile.Location
	// Files are all files of the bucket in the snapshot that is written upon. They may be left out if
	// the writer compacts nothing and the table has no buckets.
	Files []*manifest.DataFile
	// FirstSequence is the least sequence number to give. Numbers go on from the highest of Files; a
	// caller that closed a writer whose files are not committed yet passes its NextSequence.
	FirstSequence int64
	// Submit gets compactions to run them elsewhere. Nil: they run at once, in the calling goroutine.
	Submit func(*Task)
}

// Writer writes rows to one bucket. It is used by one goroutine. After an error it is of no use but
// to be closed: what it did not prepare is lost.
type Writer struct {
	t     *Table
	o     WriterOptions
	files []*manifest.DataFile // of the bucket, those that are compacted included
	next  int64
	buf   pending // buf.w is nil while no file is open
	task  *Task
	stale error // see Stale
	err   error
	done  bool

	delta manifest.Delta
}

// NewWriter makes a writer of a bucket. It reads no files.
func (t *Table) NewWriter(o WriterOptions) *Writer {
	w := &Writer{t: t, o: o, files: append([]*manifest.DataFile(nil), o.Files...), next: o.FirstSequence}
	for _, f := range o.Files {
		w.next = max(w.next, f.MaxSequence+1)
	}
	w.o.Files = nil
	return w
}

// NextSequence is the sequence number that the next row gets.
func (w *Writer) NextSequence() int64 { return w.next }

// Memory is the bytes that the writer holds in memory.
func (w *Writer) Memory() int64 {
	if w.buf.w == nil {
		return 0
	}
	return w.buf.bytes + w.buf.w.Buffered()
}

// Write adds the rows sel of a batch (nil: all; ascending otherwise), in their order. The batch may
// be kept; it is immutable. Rows of kind -D and -U are refused, unless they are ignored. The ctx of the call
// that begins a file is that of the file, until Prepare.
func (w *Writer) Write(ctx context.Context, b batch.Batch, sel []int32) error {
	if w.err != nil {
		return w.err
	}
	if int(b.NumCols()) != len(w.t.c.Fields) {
		return fmt.Errorf("appendtbl: write to bucket %d: batch has %d columns, the table has %d", w.o.Location.Bucket, b.NumCols(), len(w.t.c.Fields))
	}
	sel, err := w.additions(b, sel)
	if err != nil {
		return err
	}
	n := int64(len(sel))
	if sel == nil {
		n = b.NumRows()
	}
	if n == 0 {
		return nil
	}
	if w.buf.w == nil {
		w.buf.w = w.t.c.Store.NewWriter(ctx, w.o.Location,
			datafile.WriterOptions{Source: manifest.SourceAppend, FirstSequence: w.next})
	}
	if int64(len(sel)) == b.NumRows() {
		sel = nil
	}
	if err := w.buf.add(b.RecordBatch, sel); err != nil {
		return w.fail(err)
	}
	w.next += n
	return nil
}

// additions gives the rows of sel that are no deletes.
func (w *Writer) additions(b batch.Batch, sel []int32) ([]int32, error) {
	if b.Kinds == nil {
		return sel, nil
	}
	if sel == nil {
		sel = make([]int32, b.NumRows())
		for i := range sel {
			sel[i] = int32(i)
		}
	}
	keep := make([]int32, 0, len(sel))
	for _, row := range sel {
		if !b.Kinds[row].IsRetract() {
			keep = append(keep, row)
		} else if !w.t.c.IgnoreDelete {
			return nil, fmt.Errorf("appendtbl: write to bucket %d: row %d is of kind %s, a table without a primary key takes +I and +U only (the option ignore-delete leaves others out)",
				w.o.Location.Bucket, row, b.Kinds[row])
		}
	}
	return keep, nil
}

func (w *Writer) fail(err error) error {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("appendtbl: write to bucket %d: %w", w.o.Location.Bucket, err)
		return w.err
	}
	return err
}

// FlushMemory gives memory back: the open file ends.
func (w *Writer) FlushMemory(context.Context) error { return w.flush() }

func (w *Writer) flush() error {
	if w.err != nil || w.buf.w == nil {
		return w.err
	}
	if err := w.buf.flush(); err != nil {
		return w.fail(err)
	}
	made, err := w.buf.w.Close()
	if err != nil {
		return w.fail(err)
	}
	w.buf.w = nil
	w.files = append(w.files, made...)
	w.delta.Added = append(w.delta.Added, made...)
	return nil
}

// trigger begins a compaction if one is due and none runs.
func (w *Writer) trigger(ctx context.Context, all bool) error {
	if w.task != nil || w.stale != nil || w.t.c.WriteOnly && !all {
		return nil
	}
	groups := w.t.pick(w.files, all)
	if len(groups) == 0 {
		return nil
	}
	w.task = w.t.NewTask(w.o.Location, groups)
	if w.o.Submit != nil {
		w.o.Submit(w.task)
		return nil
	}
	w.task.Run(ctx)
	return w.sync(ctx, true)
}

// sync takes over the result of a compaction that has ended; with wait, it waits for that.
func (w *Writer) sync(ctx context.Context, wait bool) error {
	if w.task == nil || !wait && !w.task.finished() {
		return nil
	}
	if err := w.task.wait(ctx); err != nil {
		return err // the writer is as before: the caller may wait again
	}
	k := w.task
	w.task = nil
	if errors.Is(k.err, fs.ErrNotExist) {
		w.stale = k.err // nothing is lost: the rows are in the files of whoever compacted before
		return nil
	}
	if k.err != nil {
		return w.fail(k.err)
	}
	return w.fail(w.take(ctx, k.delta()))
}

// take puts a compaction among what has to be committed. Files that an earlier compaction made and
// this one joined are never committed; they are deleted.
func (w *Writer) take(ctx context.Context, d manifest.Delta) error {
	gone := map[string]bool{}
	var dead []*manifest.DataFile
	for _, f := range d.CompactBefore {
		gone[f.Name] = true
		if i := index(w.delta.CompactAfter, f); i >= 0 {
			w.delta.CompactAfter = append(w.delta.CompactAfter[:i:i], w.delta.CompactAfter[i+1:]...)
			dead = append(dead, f)
		} else {
			w.delta.CompactBefore = append(w.delta.CompactBefore, f)
		}
	}
	var live []*manifest.DataFile
	for _, f := range w.files {
		if !gone[f.Name] {
			live = append(live, f)
		}
	}
	w.files = append(live, d.CompactAfter...)
	w.delta.Applied = append(w.delta.Applied, d.Applied...)
	w.delta.CompactAfter = append(w.delta.CompactAfter, d.CompactAfter...)
	if len(dead) == 0 {
		return nil
	}
	ctx, cancel := fileio.Outlast(ctx)
	defer cancel()
	return w.t.c.Store.Delete(ctx, w.o.Location, dead...)
}

func index(files []*manifest.DataFile, f *manifest.DataFile) int {
	for i, x := range files {
		if x.Name == f.Name {
			return i
		}
	}
	return -1
}

// Compact ends the open file and begins a compaction: of all small files if full, also on a
// write-only table; else of what is due. Prepare with wait waits for its end.
func (w *Writer) Compact(ctx context.Context, full bool) error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.sync(ctx, true); err != nil {
		return err
	}
	return w.trigger(ctx, full)
}

// Prepare ends the open file and gives what has to be committed since the last Prepare. With wait, a
// compaction that runs is waited for; without, its result comes with a later Prepare. The files of
// the Delta belong to the caller from here on.
func (w *Writer) Prepare(ctx context.Context, wait bool) (manifest.Delta, error) {
	if err := w.flush(); err != nil {
		return manifest.Delta{}, err
	}
	wait = wait || w.t.c.ForceCompact
	if err := w.sync(ctx, wait); err != nil {
		return manifest.Delta{}, err
	}
	if err := w.trigger(ctx, false); err != nil {
		return manifest.Delta{}, err
	}
	if err := w.sync(ctx, wait); err != nil {
		return manifest.Delta{}, err
	}
	d := w.delta
	d.Partition, d.Bucket = w.o.Location.Partition, w.o.Location.Bucket
	w.delta = manifest.Delta{}
	return d, nil
}

// Busy reports whether a compaction runs, or waits to run, whose result Prepare has not given.
func (w *Writer) Busy() bool { return w.task != nil }

// Stale tells which file of the bucket was to be compacted and is gone, nil if all is well: another process
// compacted it and the snapshots that had it have expired. What is written stays right, and nothing is
// compacted until the bucket is opened again from the newest snapshot.
func (w *Writer) Stale() error { return w.stale }

// Close drops what is buffered, ends a running compaction and deletes all files that were not
// prepared, unless ctx ends. It may be called more than once.
func (w *Writer) Close(ctx context.Context) error {
	if w.done {
		return nil
	}
	w.done = true
	var errs []error
	if w.task != nil {
		errs = append(errs, w.task.abandon(ctx))
		w.task = nil
	}
	if w.buf.w != nil {
		errs = append(errs, w.buf.w.Abort(ctx))
		w.buf = pending{}
	}
	if dead := append(append([]*manifest.DataFile(nil), w.delta.Added...), w.delta.CompactAfter...); len(dead) > 0 {
		errs = append(errs, w.t.c.Store.Delete(ctx, w.o.Location, dead...))
	}
	w.delta = manifest.Delta{}
	if w.err == nil {
		w.err = errors.New("appendtbl: writer is closed")
	}
	return errors.Join(errs...)
}
