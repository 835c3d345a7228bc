package tarn

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

// Errors of commits.
var (
	// ErrConflict: another commit changed what this one rests on. Read again and repeat.
	ErrConflict = commit.ErrConflict
	// ErrUnknownOutcome: nobody can tell whether the commit was done. Commit the same again under the same identity.
	ErrUnknownOutcome = commit.ErrUnknown
	// ErrOverwritten: a writer without a lock replaced the snapshot after it was committed.
	ErrOverwritten = commit.ErrOverwritten
	// ErrBusy: others were faster too many times. Nothing was committed; commit the same again.
	ErrBusy = commit.ErrBusy
	// ErrUndecided: the snapshots that would tell whether this was committed before have expired.
	ErrUndecided = commit.ErrUndecided
)

// CommitResult tells what a commit did.
type CommitResult struct {
	SnapshotID int64 // newest snapshot that it made; 0: there was nothing to commit
	// Repeated: it had been committed before, all or a part of it.
	Repeated bool
	// LostCompaction: a compaction lost against another commit and was dropped; rows are not affected.
	LostCompaction bool
}

// committerOf gives the committer of the table; it remembers what it saw.
func (t *Table) committerOf() (*commit.Committer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.committer != nil {
		return t.committer, nil
	}
	o := t.opts
	c := commit.Config{
		FS: t.env.fs, Snapshots: t.snaps, Manifests: t.manifests, SchemaID: t.schemas.LatestID,
		TargetSize: options.ManifestTargetSize.Get(o), MergeMinCount: options.ManifestMergeCount.Get(o),
		FullCompactionSize: options.ManifestFullSize.Get(o), DropDeleteStats: options.DropDeleteStats.Get(o),
		DiscardDuplicates: options.DiscardDuplicates.Get(o), RowTracking: options.RowTracking.Get(o),
		SnapshotOrdering: t.snapshotOrdering(),
		MaxRetries:       options.CommitMaxRetries.Get(o), Timeout: options.CommitTimeout.Get(o),
		MinRetryWait: options.CommitMinWait.Get(o), MaxRetryWait: options.CommitMaxWait.Get(o),
		Sync: !t.env.opts.NoSync, Clock: t.env.now,
		Hint: func(err error) { t.env.log.Warn("hint file was not written", "table", t.id.String(), "err", err) },
	}
	if t.HasPrimaryKey() {
		for _, f := range t.schema.TrimmedPrimaryKey() {
			c.Keys = append(c.Keys, f.Type)
		}
		if options.OverwriteUpgrade.Get(o) {
			c.UpgradeLevel = t.levels().Count() - 1
		}
	}
	if s := options.StrictFrom.Get(o); s >= 0 {
		c.StrictFrom = &s
	}
	if s := options.TarnWriteVersion.Get(o); s != "" {
		v, err := manifest.ParseVersion(s)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w: option %s: %w", t.id, ErrInvalid, options.TarnWriteVersion.Key(), err)
		}
		c.Version = v
	} else if t.schema.Version < schema.LatestVersion {
		c.Version = t.version() // an old table without rows says nothing else of its release
	}
	t.committer = commit.New(t.id.String(), c)
	return t.committer, nil
}

// Commit commits what writers have prepared, all of it as one. It may be called again with the same
// identity after any error and any crash: what was committed is not committed again. After
// ErrUnknownOutcome, which it has tried to resolve, call it again; after ErrConflict abort it, and do the work again. The error wraps
// ErrInvalid if the user is empty or something was prepared for another table.
func (t *Table) Commit(ctx context.Context, id CommitID, prepared ...*Prepared) (CommitResult, error) {
	return t.commit(ctx, id, false, nil, prepared)
}

// commit commits, and once more if nobody knows the outcome; fresh says that this identity was surely never tried before.
func (t *Table) commit(ctx context.Context, id CommitID, fresh bool, w *commit.Overwrite, prepared []*Prepared) (CommitResult, error) {
	res, unknown := t.commitOnce(ctx, id, fresh, w, prepared)
	if !errors.Is(unknown, ErrUnknownOutcome) {
		return res, unknown
	}
	res, err := t.commitOnce(ctx, id, false, w, prepared)
	if err != nil && surelyNot(res, err) && !errors.Is(err, ErrConflict) {
		return res, unknown // an error from before it has looked at the snapshots says nothing
	}
	return res, err
}

func (t *Table) commitOnce(ctx context.Context, id CommitID, fresh bool, w *commit.Overwrite, prepared []*Prepared) (CommitResult, error) {
	start := t.env.now()
	c, err := t.committerOf()
	if err != nil {
		return CommitResult{}, err
	}
	if id.User == "" {
		return CommitResult{}, invalid("commit to table %s: CommitID.User is empty; name who commits", t.id)
	}
	prepared = slices.DeleteFunc(slices.Clone(prepared), func(p *Prepared) bool { return p == nil })
	var deltas []manifest.Delta
	base := int64(-1)
	for i, p := range prepared {
		if p.table != "" && p.table != t.id.String() {
			return CommitResult{}, invalid("commit to table %s: this was prepared for table %s", t.id, p.table)
		}
		deltas = append(deltas, p.deltas...)
		if i == 0 || p.base < base {
			base = p.base
		}
	}
	o := commit.Options{Base: base, Fresh: fresh, AllowEmpty: !options.IgnoreEmptyCommit.Get(t.opts) || options.ForceCreateSnapshot.Get(t.opts)}
	o.CheckAppend = t.buckets() == postponeBuckets // each writer gives new partitions a number of buckets by itself
	if t.buckets() > 0 {
		o.Rescaled = t.hadOtherBuckets
	}
	cid := commit.ID{User: id.User, Number: id.Number, Watermark: id.Watermark, Properties: id.Props}
	var r commit.Result
	if w != nil {
		r, err = c.CommitOverwrite(ctx, cid, *w, deltas, o)
	} else {
		r, err = c.Commit(ctx, cid, deltas, o)
	}
	res := CommitResult{Repeated: r.Repeated > 0}
	if s := r.Latest(); s != nil {
		res.SnapshotID = s.ID
	}
	var conflict *commit.ConflictError
	if errors.As(err, &conflict) && conflict.Kind == snapshot.Compact && w == nil {
		// A compaction that lost is dropped with its files; what was written stays.
		res.LostCompaction = true
		err = t.dropCompaction(ctx, deltas)
	}
	if err != nil {
		return res, t.wrap(err)
	}
	if f := t.env.events.Committed; f != nil && res.SnapshotID > 0 {
		e := CommitEvent{Table: t.id.String(), SnapshotID: res.SnapshotID, Took: t.env.now().Sub(start)}
		for _, p := range prepared {
			e.Rows += p.Rows()
			e.Files += p.Files()
		}
		t.env.tell("Committed", func() { f(e) })
	}
	return res, nil
}

// dropCompaction removes the files that compactions made.
func (t *Table) dropCompaction(ctx context.Context, deltas []manifest.Delta) error {
	var errs []error
	for i := range deltas {
		d := &deltas[i]
		keep := map[string]bool{}
		for _, f := range d.CompactBefore {
			keep[f.Name] = true
		}
		for _, f := range d.Added {
			keep[f.Name] = true
		}
		loc := datafile.Location{Partition: d.Partition, Bucket: d.Bucket}
		for _, f := range append(append([]*manifest.DataFile{}, d.CompactAfter...), d.CompactChangelog...) {
			if !keep[f.Name] {
				errs = append(errs, t.files.Delete(ctx, loc, f))
			}
		}
		lost := manifest.Delta{CompactIndex: d.CompactIndex}
		errs = append(errs, t.deleteIndexes(ctx, loc, lost.NewIndexes()))
	}
	return errors.Join(errs...)
}

// deleteIndexes removes index files of a bucket.
func (t *Table) deleteIndexes(ctx context.Context, loc datafile.Location, entries iter.Seq[*manifest.IndexEntry]) error {
	var errs []error
	for e := range entries {
		fs, path, err := t.files.IndexPath(ctx, loc, e)
		if err == nil {
			err = fs.Delete(ctx, path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Abort removes the files of what was prepared and will not be committed. Only call it if it surely
// was not.
func (t *Table) Abort(ctx context.Context, prepared ...*Prepared) error {
	var errs []error
	for _, p := range prepared {
		errs = append(errs, t.abort(ctx, p.parts()))
	}
	return errors.Join(errs...)
}

func (t *Table) abort(ctx context.Context, deltas []manifest.Delta) error {
	var errs []error
	for _, d := range deltas {
		loc := datafile.Location{Partition: d.Partition, Bucket: d.Bucket}
		for f := range d.NewFiles() {
			errs = append(errs, t.files.Delete(ctx, loc, f))
		}
		errs = append(errs, t.deleteIndexes(ctx, loc, d.NewIndexes()))
	}
	return errors.Join(errs...)
}

// CheckPrepared reports whether what was prepared can still be committed: all its files are there and
// whole. The error wraps ErrNotExist if one is missing, or was cut because the machine stopped before it
// was synced.
func (t *Table) CheckPrepared(ctx context.Context, p *Prepared) error {
	for _, d := range p.parts() {
		loc := datafile.Location{Partition: d.Partition, Bucket: d.Bucket}
		for f := range d.NewFiles() {
			fs, path, err := t.files.Path(ctx, loc, f)
			if err == nil {
				err = t.isWhole(ctx, fs, path, f.Size)
			}
			if err != nil {
				return err
			}
		}
		for e := range d.NewIndexes() {
			fs, path, err := t.files.IndexPath(ctx, loc, e)
			if err == nil {
				err = t.isWhole(ctx, fs, path, e.Size)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Table) isWhole(ctx context.Context, fs fileio.FS, path string, size int64) error {
	info, err := fs.Stat(ctx, path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return fmt.Errorf("table %s: prepared file %s %w", t.id, path, ErrNotExist)
	case err != nil:
		return t.wrap(err)
	case info.Size != size:
		return fmt.Errorf("table %s: prepared file %s %w as it was written: it has %d bytes of %d", t.id, path, ErrNotExist, info.Size, size)
	}
	return nil
}

// OverwriteOptions say what an overwrite replaces. The zero value is the whole table. If the table is
// partitioned and dynamic-partition-overwrite is set, as it is by default, only partitions that rows are
// written to are replaced, whether Partition names some or not.
type OverwriteOptions struct {
	// Partition names values of partition columns, as text; nil values are NULL. Rows have to lie
	// in these partitions.
	Partition map[string]*string
	// Static replaces the whole table, or all of Partition, even where no row is written.
	Static bool
}

// Overwrite replaces what the table has by rows, in one commit.
func (t *Table) Overwrite(ctx context.Context, o OverwriteOptions, rows func(yield func(Batch, error) bool)) (CommitResult, error) {
	ow, err := t.overwrite(o)
	if err != nil {
		return CommitResult{}, err
	}
	return t.replace(ctx, ow, rows)
}

// replace puts rows in the place of others.
func (t *Table) replace(ctx context.Context, ow *commit.Overwrite, rows func(yield func(Batch, error) bool)) (CommitResult, error) {
	o := &WriterOptions{fresh: true}
	if ow.Onto == nil {
		o.among = ow
	}
	w, err := t.NewWriter(ctx, o)
	if err != nil {
		return CommitResult{}, err
	}
	defer w.Close()
	if rows != nil {
		for b, err := range rows {
			if err != nil {
				return CommitResult{}, err
			}
			if err := w.Write(ctx, b); err != nil {
				return CommitResult{}, err
			}
		}
	}
	p, err := w.Prepare(ctx)
	if err != nil {
		return CommitResult{}, err
	}
	if err := t.checkOverwritten(ow, p); err != nil {
		return CommitResult{}, errors.Join(err, t.Abort(ctx, p))
	}
	res, err := t.commit(ctx, CommitID{User: w.User(), Number: w.number}, true, ow, []*Prepared{p})
	if err != nil && surelyNot(res, err) {
		ctx, cancel := fileio.Outlast(ctx)
		defer cancel()
		err = errors.Join(err, t.Abort(ctx, p))
	}
	return res, err
}

// surelyNot reports whether a commit that failed has left nothing in the table.
func surelyNot(r CommitResult, err error) bool {
	return r.SnapshotID == 0 && !errors.Is(err, ErrUnknownOutcome) && !errors.Is(err, ErrOverwritten) && !errors.Is(err, ErrUndecided)
}

// checkOverwritten refuses rows that lie outside of the partitions to be replaced.
func (t *Table) checkOverwritten(w *commit.Overwrite, p *Prepared) error {
	if w.Match == nil {
		return nil
	}
	for i := range p.deltas {
		ok, err := w.Match(p.deltas[i].Partition)
		if err != nil {
			return fmt.Errorf("overwrite %s: %w", t.id, err)
		}
		if !ok {
			dir, err := t.paths.PartitionPath(p.deltas[i].Partition)
			if err != nil {
				return fmt.Errorf("overwrite %s: %w", t.id, err)
			}
			return invalid("overwrite %s: there are rows of partition %s, which is not the one to be replaced", t.id, strings.TrimSuffix(dir, "/"))
		}
	}
	return nil
}

func (t *Table) overwrite(o OverwriteOptions) (*commit.Overwrite, error) {
	w, err := t.partitionsOf(o)
	if err != nil {
		return nil, invalid("overwrite %s: %v", t.id, err)
	}
	return w, nil
}

// partitionsOf finds the partitions that options name.
func (t *Table) partitionsOf(o OverwriteOptions) (*commit.Overwrite, error) {
	part := t.schema.FieldsNamed(t.schema.PartitionKeys)
	w := &commit.Overwrite{Dynamic: len(part) > 0 && !o.Static && options.DynamicOverwrite.Get(t.opts), Postponed: t.buckets() == postponeBuckets}
	if len(o.Partition) > 0 {
		spec := map[string]types.Datum{}
		for k, v := range o.Partition {
			f, ok := t.schema.Field(k)
			if !ok {
				return nil, fmt.Errorf("there is no column %q", k)
			}
			if v == nil || *v == options.PartitionDefault.Get(t.opts) { // the name of its folder
				spec[k] = nil
				continue
			}
			d, err := types.ParseDatum(f.Type, *v)
			if err != nil {
				return nil, fmt.Errorf("partition %s: %w", k, err)
			}
			spec[k] = d
		}
		match, err := commit.MatchPartition(part, spec)
		if err != nil {
			return nil, err
		}
		w.Match = match
	}
	return w, nil
}

// Truncate removes all rows.
func (t *Table) Truncate(ctx context.Context) (CommitResult, error) {
	return t.Overwrite(ctx, OverwriteOptions{Static: true}, nil)
}

// timeNow is the clock of the table.
func (t *Table) timeNow() time.Time { return t.env.now() }

// WasCommitted reports whether a commit of this identity was done, by the snapshots after the base of
// what was prepared. The error wraps ErrUndecided if these have expired.
func (t *Table) WasCommitted(ctx context.Context, id CommitID, p *Prepared) (bool, error) {
	c, err := t.committerOf()
	if err != nil {
		return false, err
	}
	kind := snapshot.Append
	if !hasAppend(p.parts()) {
		kind = snapshot.Compact
	}
	s, err := c.Lookup(ctx, id.User, id.Number, kind, p.Base())
	if err != nil {
		return false, t.wrap(err)
	}
	return s != nil, nil
}

func hasAppend(deltas []manifest.Delta) bool {
	for i := range deltas {
		if deltas[i].HasAppend() {
			return true
		}
	}
	return false
}

// HoldsAny reports whether a file that was prepared is part of the newest snapshot: then it was
// committed. That none is proves nothing, as files are compacted away.
func (t *Table) HoldsAny(ctx context.Context, p *Prepared) (bool, error) {
	names := map[string]bool{}
	for _, d := range p.parts() {
		for _, f := range d.Added {
			names[f.Name] = true
		}
	}
	_, entries, err := t.newestEntries(ctx, plan.Request{})
	if err != nil {
		return false, err
	}
	for i := range entries {
		if names[entries[i].File.Name] {
			return true, nil
		}
	}
	return false, nil
}
