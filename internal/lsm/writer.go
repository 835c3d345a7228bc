package lsm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// WriterOptions say which bucket to write and where it stands.
type WriterOptions struct {
	Location datafile.Location
	// Files are all files of the bucket in the snapshot that is written upon.
	Files []*manifest.DataFile
	// FirstSequence is the least sequence number to give. Numbers go on from the highest of Files; a
	// caller that closed a writer whose files are not committed yet passes its NextSequence (BUGS B034).
	FirstSequence int64
	// NoChangelog leaves out the changelog: what is written replaces the bucket.
	NoChangelog bool
	// Vectors are the deletion vectors of the bucket in that snapshot, which compactions keep; nil where there are none. The Writer
	// takes it over.
	Vectors *index.Bucket
	// Submit gets compactions to run them elsewhere. Nil: they run at once, in the calling goroutine.
	Submit func(*Task)
}

// Writer writes rows to one bucket. It is used by one goroutine. After an error it is of no use but
// to be closed: what it did not prepare is lost.
type Writer struct {
	t      *Table
	o      WriterOptions
	levels *levels
	buf    *sortBuffer
	next   int64 // sequence number
	temp   []*kv.Temp
	task   *Task
	err    error
	stale  error // see Stale
	left   int   // so many times level 0 was left as it is, see LevelOptions.Gentle
	asked  bool  // a compaction is asked for
	marks  marks

	delta manifest.Delta // since the last Prepare
}

// NewWriter makes a writer of a bucket. It reads no files.
func (t *Table) NewWriter(o WriterOptions) (*Writer, error) {
	w := &Writer{t: t, o: o, next: o.FirstSequence}
	for _, f := range o.Files {
		if f.MaxSequence == math.MaxInt64 { // what is written next would be the oldest
			return nil, fmt.Errorf("bucket %d: file %s has used up all sequence numbers: its manifest is damaged", o.Location.Bucket, f.Name)
		}
		w.next = max(w.next, f.MaxSequence+1)
	}
	var err error
	if w.levels, err = t.newLevels(t.c.Levels.NumLevels, o.Files); err != nil {
		return nil, fmt.Errorf("bucket %d: %w", o.Location.Bucket, err)
	}
	if w.buf, err = t.newBuffer(); err != nil {
		return nil, err
	}
	w.o.Files = nil
	return w, nil
}

// NextSequence is the sequence number that the next row gets.
func (w *Writer) NextSequence() int64 { return w.next }

// Memory is the bytes that the writer holds in memory.
func (w *Writer) Memory() int64 { return w.buf.bytes }

// Write adds the rows sel of a batch (nil: all; ascending otherwise) in the columns of the table. The
// batch is kept, not copied, if many of its rows are taken; it is immutable. Rows of one key that are
// written later are newer.
func (w *Writer) Write(ctx context.Context, b batch.Batch, sel []int32) error {
	if w.err != nil {
		return w.err
	}
	b, sel, err := w.checkKeys(b, sel)
	if err != nil {
		return err
	}
	n := int64(len(sel))
	if sel == nil {
		n = b.NumRows()
	}
	const mostRows = 1 << 30 // rows are counted in 32 bits
	if n == 0 {
		return nil
	}
	if w.buf.len() > 0 && (w.buf.bytes >= w.t.c.WriteBuffer || int64(w.buf.len())+n > mostRows) {
		if err := w.FlushMemory(ctx); err != nil {
			return err
		}
	}
	if err := w.buf.add(b, sel, w.next); err != nil {
		return w.fail(fmt.Errorf("lsm: write to bucket %d: %w", w.o.Location.Bucket, err))
	}
	w.next += n
	if w.buf.bytes >= w.t.c.WriteBuffer {
		return w.FlushMemory(ctx)
	}
	return nil
}

// checkKeys refuses rows without a key; nothing of the batch is written then. If other rows of the
// batch have none, it gives a batch of the rows sel alone.
func (w *Writer) checkKeys(b batch.Batch, sel []int32) (batch.Batch, []int32, error) {
	where := func(format string, args ...any) error {
		return fmt.Errorf("lsm: write to bucket %d: %s", w.o.Location.Bucket, fmt.Sprintf(format, args...))
	}
	if int(b.NumCols()) != len(w.t.c.Fields) {
		return b, sel, where("batch has %d columns, the table has %d", b.NumCols(), len(w.t.c.Fields))
	}
	nulls := false
	for _, k := range w.t.keys {
		i := slices.IndexFunc(w.t.c.Fields, func(f types.Field) bool { return f.Name == k.Name })
		col := b.Column(i)
		if col.NullN() == 0 {
			continue
		}
		nulls = true
		if sel == nil {
			sel = allRows(int(b.NumRows()))
		}
		for _, row := range sel {
			if col.IsNull(int(row)) {
				return b, sel, where("row %d has NULL in primary key column %q", row, k.Name)
			}
		}
	}
	if !nulls {
		return b, sel, nil
	}
	rec, err := batch.Take(b.RecordBatch, sel)
	if err != nil {
		return b, sel, where("%v", err)
	}
	out := batch.Batch{RecordBatch: rec}
	if b.Kinds != nil {
		out.Kinds = pick(b.Kinds, sel)
	}
	return out, nil, nil
}

func allRows(n int) []int32 {
	sel := make([]int32, n)
	for i := range sel {
		sel[i] = int32(i)
	}
	return sel
}

func (w *Writer) fail(err error) error {
	if err != nil {
		w.err = err
	}
	return err
}

// FlushMemory gives memory back: the buffer goes to a temporary file or to level 0.
func (w *Writer) FlushMemory(ctx context.Context) error {
	if w.err != nil || w.buf.len() == 0 {
		return w.err
	}
	s := w.t.c.Spill
	used := int64(0)
	for _, x := range w.temp {
		used += x.Size
	}
	if !s.Buffer || s.MaxDisk > 0 && used >= s.MaxDisk {
		return w.flush(ctx, false)
	}
	return w.fail(w.spill(ctx))
}

func (w *Writer) spill(ctx context.Context) error {
	rows, err := w.buf.sorted()
	if err != nil {
		return err
	}
	x, err := w.t.mergeTemp(ctx, rows, w.buf.job)
	if err != nil {
		return err
	}
	w.temp = append(w.temp, x)
	if f := w.t.c.Events.Spill; f != nil {
		f(Spill{Location: w.o.Location, Rows: int64(w.buf.len()), Bytes: x.Size})
	}
	w.buf.reset()
	return nil
}

// flush writes what is buffered to level 0 and begins a compaction if one is due.
func (w *Writer) flush(ctx context.Context, wait bool) error {
	if w.err != nil {
		return w.err
	}
	if w.buf.len() > 0 || len(w.temp) > 0 {
		if !wait && !w.t.c.WriteOnly && w.levels.runCount() > w.t.c.Levels.StopTrigger {
			wait = true
			defer w.stall(fmt.Sprintf("bucket %d has %d sorted runs, more than num-sorted-run.stop-trigger (%d)",
				w.o.Location.Bucket, w.levels.runCount(), w.t.c.Levels.StopTrigger))()
		}
		if err := w.writeLevel0(ctx); err != nil {
			return w.fail(fmt.Errorf("lsm: flush bucket %d: %w", w.o.Location.Bucket, err))
		}
	}
	if err := w.sync(ctx, wait); err != nil {
		return err
	}
	return w.trigger(ctx, false)
}

// stall tells that the writer has to wait; what it returns tells the end.
func (w *Writer) stall(reason string) func() {
	f := w.t.c.Events.Stall
	if f == nil {
		return func() {}
	}
	f(Stall{Location: w.o.Location, Reason: reason})
	return func() { f(Stall{Location: w.o.Location, Reason: reason, Done: true}) }
}

func (w *Writer) writeLevel0(ctx context.Context) (err error) {
	in, rowsIn, err := w.buffered(ctx)
	if err != nil {
		return err
	}
	o := datafile.WriterOptions{KeyValue: true, Source: manifest.SourceAppend}
	out := w.t.c.Store.NewWriter(ctx, w.o.Location, o)
	o.Changelog = true
	log := w.t.c.Store.NewWriter(ctx, w.o.Location, o) // makes no file without rows
	defer func() {
		err = errors.Join(err, in.Close())
		if err != nil {
			ctx, cancel := fileio.Outlast(ctx)
			defer cancel()
			err = errors.Join(err, out.Abort(ctx), log.Abort(ctx))
		}
	}()
	for {
		g, err := in.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := w.writeGroups(g, out, log); err != nil {
			return err
		}
	}
	made, err := out.Close()
	if err != nil {
		return err
	}
	logged, err := log.Close()
	if err != nil {
		return err
	}
	if err := w.levels.update(nil, made); err != nil {
		return err
	}
	w.delta.Added = append(w.delta.Added, made...)
	w.delta.Changelog = append(w.delta.Changelog, logged...)
	w.buf.reset()
	if f := w.t.c.Events.Flush; f != nil {
		f(Flush{Location: w.o.Location, RowsIn: rowsIn, Files: made})
	}
	return nil
}

// writeGroups merges the versions of keys and writes the result, and to the changelog all of them if it is made of them.
func (w *Writer) writeGroups(g *kv.Groups, data, log FileWriter) error {
	in, out, err := w.buf.job.decide(g, false)
	if err != nil {
		return err
	}
	merged, err := w.buf.job.gather(in, out, 0, len(out.Rows))
	if err != nil {
		return err
	}
	for _, b := range merged {
		if err := data.Write(b.RecordBatch); err != nil {
			return err
		}
	}
	if w.producer() != InputChangelog {
		return nil
	}
	if merged, err = w.buf.job.unmerged(g, out, merged); err != nil {
		return err
	}
	for _, b := range merged {
		if err := log.Write(b.RecordBatch); err != nil {
			return err
		}
	}
	return nil
}

// buffered gives all rows in memory and in temporary files, which it takes over.
func (w *Writer) buffered(ctx context.Context) (grouped, int64, error) {
	rowsIn := int64(w.buf.len())
	for _, x := range w.temp {
		rowsIn += x.Rows
	}
	rows, err := w.buf.sorted()
	if err != nil || len(w.temp) == 0 {
		return rows, rowsIn, err
	}
	fan, target := fitTemp(w.temp, w.t.c.FanIn, mergeMemory)
	if w.temp, err = w.t.reduce(ctx, w.temp, w.buf.job, fan, target); err != nil {
		return nil, 0, err
	}
	runs := kv.TempRuns(w.temp)
	if w.buf.len() > 0 {
		memory := &rawReader{in: rows, job: w.buf.job.raw()}
		runs = append(runs, kv.Run{Name: "sort buffer", Open: func(context.Context) (batch.Reader, error) { return memory, nil }})
	}
	m := &tempMerge{Merger: kv.NewMerger(runs, w.buf.job.layout, target), temp: w.temp}
	w.temp = nil
	return m, rowsIn, nil
}
