package tarn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"github.com/tarnlake/tarn/internal/appendtbl"
	"github.com/tarnlake/tarn/internal/bucket"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/write"
	"github.com/tarnlake/tarn/types"
)

// WriterOptions of NewWriter. The zero value has the defaults.
type WriterOptions struct {
	// User is the commit user; "" makes one of its own.
	User string
	// Memory bounds the bytes that are held before they go to files; 0 is the option write-buffer-size.
	Memory int64
	// Workers is how many goroutines write; 0 is as many as there are processors.
	Workers int
	// WaitCompaction makes commits wait for compactions that are due.
	WaitCompaction bool
	// After is what earlier writers have prepared and nobody has committed yet. It has to be committed
	// before, or together with, what this Writer writes: rows of this one are newer.
	After []*Prepared

	fresh bool // upon nothing: the table's files are about to be replaced
	// among is what of the table is replaced, if rows may come that are not of it.
	among *commit.Overwrite
}

// Writer writes rows to a table. It is used by one goroutine, and has to be closed.
type Writer struct {
	t       *Table
	o       WriterOptions
	conform *write.Conformer
	w       *write.Writer
	number  int64
	upkeep  *write.Background
	lost    error       // why a compaction was given up, if one was
	pending []*Prepared // what Commit could not commit so far
	unsure  bool        // whether the first of it was committed all the same
	failed  error       // after a conflict
	// prepared counts calls of Prepare, for full-compaction.delta-commits.
	prepared int

	cross   *bucket.Crossing // nil but for tables whose keys move between partitions
	renewed bool             // since the last commit
}

// NewWriter starts to write to the table as its schema was when the table was opened.
func (t *Table) NewWriter(ctx context.Context, o *WriterOptions) (*Writer, error) {
	if err := t.checkTarget(); err != nil {
		return nil, err
	}
	w := &Writer{t: t, upkeep: &write.Background{}, number: 1}
	if o != nil {
		w.o = *o
	}
	if w.o.User == "" {
		w.o.User = "tarn-" + uuid.NewString()
		if p := options.CommitUserPrefix.Get(t.opts); p != "" {
			w.o.User = p + "_" + uuid.NewString()
		}
	}
	if w.o.Memory <= 0 {
		w.o.Memory = options.WriteBuffer.Get(t.opts)
	}
	var err error
	for _, err := range []error{t.checkWhole(), t.checkWrite()} {
		if err != nil {
			return nil, fmt.Errorf("write table %s: %w", t.id, err)
		}
	}
	if t, err = t.learned(ctx); err != nil {
		return nil, err
	}
	w.t = t
	if w.conform, err = write.NewConformer(t.id.String(), t.schema.Fields, options.RowKindField.Get(t.opts)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if deletes, before := options.IgnoreDelete.Get(t.opts), options.IgnoreUpdateBefore.Get(t.opts); t.HasPrimaryKey() && (deletes || before) {
		w.conform.Ignore = func(k types.RowKind) bool { return deletes && k.IsRetract() || before && k == types.UpdateBefore }
	}
	w.conform.InsertOnly = t.insertOnly()
	open, err := w.opener()
	if err != nil {
		return nil, err
	}
	c := write.Config{
		Table: t.id.String(), Open: open, Memory: w.o.Memory, Workers: w.o.Workers,
		Path: func(loc datafile.Location, f *manifest.DataFile) (string, error) {
			_, p, err := t.files.Path(context.Background(), loc, f)
			return p, err
		},
		Abort: t.abort,
	}
	if c.Route, err = w.routing(); err != nil {
		return nil, fmt.Errorf("write table %s: %w", t.id, err)
	}
	if c.Local, err = t.localMerge(); err != nil {
		return nil, err
	}
	if w.w, err = write.New(c); err != nil {
		return nil, t.wrap(err)
	}
	return w, nil
}

// checkTarget refuses what is no table as it is now.
func (t *Table) checkTarget() error {
	if t.id.System != "" {
		return invalid("%s is a system table and cannot be written", t.id)
	}
	if t.timeTravel() {
		return invalid("table %s is opened at a state of the past and cannot be written", t.id)
	}
	return nil
}

// opener makes the writers of buckets.
func (w *Writer) opener() (func(context.Context, datafile.Location, func(write.Task)) (write.Bucket, error), error) {
	t := w.t
	if !t.HasPrimaryKey() {
		plain := t.plainTable()
		return func(ctx context.Context, loc datafile.Location, submit func(write.Task)) (write.Bucket, error) {
			o := appendtbl.WriterOptions{Location: loc, Submit: func(k *appendtbl.Task) { submit(k) }}
			if !w.o.fresh {
				var err error
				if o.Files, err = w.upon(ctx, loc); err != nil {
					return nil, err
				}
			}
			return plain.NewWriter(o), nil
		}, nil
	}
	tree, err := t.mergeTree()
	if err != nil {
		return nil, err
	}
	aside := t.files.Aside(w.o.User, rand.Int32())
	return func(ctx context.Context, loc datafile.Location, submit func(write.Task)) (write.Bucket, error) {
		if loc.Bucket == postponeBuckets {
			return bucket.NewAside(aside, loc.Partition), nil
		}
		o := lsm.WriterOptions{Location: loc, Submit: func(k *lsm.Task) { submit(k) }, NoChangelog: w.o.fresh}
		var err error
		if !w.o.fresh {
			if o.Files, err = w.upon(ctx, loc); err != nil {
				return nil, err
			}
		}
		if o.Vectors, err = w.vectorsUpon(ctx, loc); err != nil {
			return nil, err
		}
		b, err := tree.NewWriter(o)
		if err != nil {
			return nil, t.wrap(err)
		}
		return b, nil
	}, nil
}

// bucketFiles are the files of a bucket in the newest snapshot.
func (t *Table) bucketFiles(ctx context.Context, loc datafile.Location) ([]*manifest.DataFile, error) {
	req := plan.Request{
		Partition: func(p []byte) bool { return string(p) == string(loc.Partition) },
		Bucket:    func(b int) bool { return b == loc.Bucket },
	}
	entries, err := t.entriesOfBuckets(ctx, req)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 { // those of the other buckets tell
		req.Bucket = nil
		_, err := t.entriesOfBuckets(ctx, req)
		return nil, err
	}
	out := make([]*manifest.DataFile, len(entries))
	for i := range entries {
		out[i] = entries[i].File
	}
	return out, nil
}

// entriesOfBuckets gives files of a partition to write upon, whose rows are distributed as the table does it now.
func (t *Table) entriesOfBuckets(ctx context.Context, req plan.Request) ([]manifest.Entry, error) {
	_, entries, err := t.newestEntries(ctx, req)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if n, was := t.buckets(), entries[i].TotalBuckets; n > 0 && was > 0 && was != n {
			return nil, invalid("table %s has %d buckets now, but this partition was written with %d: rescale the partition (Table.Rescale, CALL sys.rescale) or overwrite it to distribute its rows anew", t.id, n, was)
		}
	}
	return entries, nil
}

// upon gives the files of a bucket that the Writer writes upon: those of the newest snapshot, as what
// is prepared and not yet committed changes them (BUGS B034).
func (w *Writer) upon(ctx context.Context, loc datafile.Location) ([]*manifest.DataFile, error) {
	files, err := w.t.bucketFiles(ctx, loc)
	if err != nil {
		return nil, err
	}
	return w.afterwards(loc, files), nil
}

// afterwards gives the files of a bucket as what is prepared and not yet committed changes them.
func (w *Writer) afterwards(loc datafile.Location, files []*manifest.DataFile) []*manifest.DataFile {
	for _, p := range w.o.After {
		for _, d := range p.parts() {
			if d.Bucket != loc.Bucket || string(d.Partition) != string(loc.Partition) {
				continue
			}
			for _, b := range append(append([]*manifest.DataFile{}, d.Deleted...), d.CompactBefore...) {
				files = slices.DeleteFunc(files, func(f *manifest.DataFile) bool { return f.Name == b.Name && f.Level == b.Level })
			}
			for _, f := range d.Added {
				// A file that was written and compacted in the same part is gone already.
				if !slices.ContainsFunc(d.CompactBefore, func(b *manifest.DataFile) bool { return b.Name == f.Name && b.Level == f.Level }) {
					files = append(files, f)
				}
			}
			files = append(files, d.CompactAfter...)
		}
	}
	return files
}

// User is the commit user.
func (w *Writer) User() string { return w.o.User }

// Table is the table that is written.
func (w *Writer) Table() *Table { return w.t }

// Write takes rows: columns by name in any order, those left out are NULL or have their default; fields of
// ROWs likewise. Arrow's other forms of the same values are taken (dictionaries, views, large lists, units of
// time), narrower types are widened, digits beyond those of a DECIMAL are rounded and those of a timestamp cut.
// The error wraps ErrInvalid, and names column and row, if a value does not fit, if there is a column too many,
// or NULL where none may be, or if a table without a primary key is given a row to take away.
//
// The batch may be released when Write returns, but not changed: its memory is in use until the next Prepare
// or Commit, and is left to the garbage collector. It is retained and never released: of memory that is not Go's
// (C allocators, arrays imported from C), which only a release gives back, write a copy. Rows are written by other goroutines, so what goes wrong
// with storage may be told by a later call. After an error the Writer is of no use but to be closed.
func (w *Writer) Write(ctx context.Context, b Batch) error {
	if err := w.t.checkOrdering(false); err != nil {
		return err
	}
	b, err := w.conform.Conform(b)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := w.renew(ctx); err != nil {
		return err
	}
	if err := w.w.Write(ctx, b); err != nil {
		return w.t.wrap(err)
	}
	return nil
}

// Compact begins to compact the buckets that are open, all of their files if full. The results come
// with the next commits. The error wraps ErrUnsupported if rows have ids (row-tracking.enabled), which they
// would lose.
func (w *Writer) Compact(ctx context.Context, full bool) error {
	if err := w.t.checkCompact(); err != nil {
		return err
	}
	if err := w.w.Compact(ctx, full); err != nil {
		return w.t.wrap(err)
	}
	return nil
}

// Prepare ends what was written so far and gives it, to be committed by Table.Commit: the first of two
// phases, for jobs that commit several tables together and for several writers of one table. It is in files
// then, which Close does not remove. Rows written after it belong to the next Prepare.
func (w *Writer) Prepare(ctx context.Context) (*Prepared, error) {
	base, err := w.t.snaps.LatestID(ctx)
	if err != nil {
		return nil, w.t.wrap(err)
	}
	wait := w.o.WaitCompaction
	if n := options.FullCompactionDelta.Get(w.t.opts); n > 0 && w.t.HasPrimaryKey() && !options.WriteOnly.Get(w.t.opts) {
		if w.prepared++; w.prepared%n == 0 {
			if err := w.Compact(ctx, true); err != nil {
				return nil, err
			}
			wait = true
		}
	}
	d, err := w.w.Prepare(ctx, wait)
	if err != nil {
		return nil, w.t.wrap(explain(err))
	}
	return &Prepared{d, base, w.t.id.String()}, nil
}

// Done tells the Writer that what it prepared was committed: call it after Table.Commit, with its
// result.
func (w *Writer) Done(r CommitResult) error {
	var err error
	if r.LostCompaction {
		err = w.w.Reset()
	} else {
		err = w.w.Committed()
	}
	if err != nil {
		return w.t.wrap(err)
	}
	if r.SnapshotID > 0 && w.w.Settled() {
		w.o.After = nil // it is part of the table now; no bucket is being opened
	}
	if w.cross != nil && r.SnapshotID > 0 {
		w.cross.Advance(r.SnapshotID)
		w.renewed = false
	}
	if r.SnapshotID > 0 && !options.WriteOnly.Get(w.t.opts) {
		w.upkeep.Start(w.t.expireQuietly)
	}
	return nil
}

// Commit commits what was written since the last call, all or nothing. It is durable when this
// returns. Without rows nothing happens. Other writers of the table are no conflict; ErrConflict means that the
// rows rest on something that is gone (an overwrite, another number of buckets): open a new Writer and write
// them again.
//
// After any other error call it again: what could not be committed is kept, and committed once. Rows that were
// written since come after it.
func (w *Writer) Commit(ctx context.Context) (CommitResult, error) {
	if w.failed != nil {
		return CommitResult{}, w.failed
	}
	p, err := w.Prepare(ctx)
	if err != nil {
		return CommitResult{}, err
	}
	if len(w.pending) == 0 || !p.Empty() {
		w.pending = append(w.pending, p)
	}
	var all CommitResult
	for len(w.pending) > 0 {
		r, err := w.commit(ctx, w.pending[0])
		if err != nil {
			return r, err
		}
		all.SnapshotID = max(all.SnapshotID, r.SnapshotID)
		all.Repeated = all.Repeated || r.Repeated
		all.LostCompaction = all.LostCompaction || r.LostCompaction
	}
	return all, nil
}

// commit commits the first of what is pending.
func (w *Writer) commit(ctx context.Context, p *Prepared) (CommitResult, error) {
	id := CommitID{User: w.o.User, Number: w.number}
	res, err := w.t.commit(ctx, id, !w.unsure, nil, []*Prepared{p})
	if errors.Is(err, ErrConflict) {
		err = errors.Join(err, w.t.Abort(ctx, w.pending...))
		w.pending, w.failed, w.unsure = nil, err, false // for certain: another commit has its place
	}
	if err != nil {
		w.unsure = w.unsure || !surelyNot(res, err)
		return res, err
	}
	w.unsure = false
	w.number++
	w.pending = w.pending[1:]
	if err := w.w.Stale(); err != nil {
		w.t.env.log.Warn("a compaction was given up: another process compacted the same", "table", w.t.id.String(), "err", err)
		res.LostCompaction, w.lost = true, err
	}
	return res, w.Done(res)
}

// Close ends the Writer. What was not prepared is dropped with its files, and so is what Commit could not commit,
// unless nobody knows whether it was. Close lets an expiry of snapshots end that runs beside the writer, for a minute
// at most, and waits no longer than some seconds for storage that does not answer: files that it leaves are orphans.
func (w *Writer) Close() error {
	err := w.w.Close()
	if w.cross != nil {
		err = errors.Join(err, w.cross.Forget())
	}
	w.upkeep.Close()
	if w.unsure {
		w.pending = w.pending[1:]
	}
	ctx, cancel := context.WithTimeout(context.Background(), fileio.Patience)
	defer cancel()
	err = errors.Join(err, w.t.Abort(ctx, w.pending...))
	w.pending, w.unsure = nil, false
	if err != nil {
		return w.t.wrap(err)
	}
	return nil
}

// WaitCompaction makes the commits from now on wait for compactions that are due, or not: a writer that
// ends waits with its last one, so that nothing of them is lost.
func (w *Writer) WaitCompaction(wait bool) { w.o.WaitCompaction = wait }
