package tarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tarnlake/tarn/internal/appendtbl"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
)

const (
	// compactTries is how often Compact loses in a row against commits of others before it gives up.
	compactTries = 10
	// compactGroup bounds the buckets that are open, and lost together, at a time.
	compactGroup = 64
)

// CompactOptions say what to compact.
type CompactOptions struct {
	Full bool // merge all files of each bucket into the highest level
	// Partition restricts to partitions with these values (text; nil: NULL); nil is all.
	Partition map[string]*string
	// Partitions are more of them: what is in any one is compacted.
	Partitions []map[string]*string
	// IdleTime leaves out partitions that got a file less than this ago; 0: none.
	IdleTime time.Duration
	// OrderBy names columns by whose values the rows of each partition are sorted, so that filters on them leave out files and
	// pages. All files are merged. It is for tables without a key and without buckets (bucket = -1).
	OrderBy []string
	// Order is how: "order" (or "") by the first column, then the second; "zorder" and "hilbert" by all of them alike.
	Order string
}

// Compact merges files, commits, and waits for it: the buckets that cost readers most first, in several commits if there
// are many. The result has the number of the last one, beside an error too, 0 if there was none. Where the table is write-only, it does
// what its writers leave out. A compaction that loses against another process is made again upon what that one has left;
// the error wraps ErrConflict if that happens again and again. Rows that were put aside (bucket = -2) get their buckets first, in a
// commit of their own: from then on they are part of the table. CompactTables does the same for many tables.
func (t *Table) Compact(ctx context.Context, o CompactOptions) (CommitResult, error) {
	c, err := t.compaction(ctx, o)
	if err != nil {
		return CommitResult{}, err
	}
	if err := c.look(ctx); err != nil {
		return CommitResult{}, err
	}
	for c.worst() > 0 {
		if err := c.step(ctx); err != nil {
			return c.result, err
		}
	}
	return c.result, c.nowhere
}

// compaction is one call of Compact: look tells what is to be done, step does some of it.
type compaction struct {
	t    *Table
	full bool
	idle time.Duration
	req  plan.Request

	snap        *snapshot.Snapshot // that todo is of, nil: the table is empty
	todo        []dueBucket        // those first that cost readers most
	done        map[string]bool    // buckets that were compacted: what others write meanwhile is for the next call
	aside       []manifest.Entry   // files of rows that have no bucket yet
	distributed bool               // those there were
	result      CommitResult
	lost        int // how often in a row others were faster

	nowhere error     // tells of a file in a bucket that there cannot be
	again   time.Time // when the next of the partitions that are not idle will be, zero: there is none
}

// compaction begins a call of Compact.
func (t *Table) compaction(ctx context.Context, o CompactOptions) (*compaction, error) {
	if err := t.checkTarget(); err != nil {
		return nil, err
	}
	if o.IdleTime < 0 {
		return nil, invalid("compact table %s: an idle time of %s is none", t.id, o.IdleTime)
	}
	c := &compaction{t: t, full: o.Full, idle: o.IdleTime, done: map[string]bool{}}
	specs := o.Partitions
	if len(o.Partition) > 0 {
		specs = append(slices.Clone(specs), o.Partition)
	}
	var err error
	if c.req.Partition, err = t.inAnyOf(specs); err != nil {
		return nil, invalid("compact table %s: %v", t.id, err)
	}
	if options.WriteOnly.Get(t.opts) { // the table's writers leave the work to this
		if c.t, err = t.With(ctx, map[string]string{options.WriteOnly.Key(): "false"}); err != nil {
			return nil, err
		}
	}
	if options.FullCompactionDelta.Get(t.opts) == 1 && t.HasPrimaryKey() {
		c.full = true // as each commit of a writer does
	}
	if len(o.OrderBy) > 0 || o.Order != "" {
		if c.t, err = c.t.ordered(ctx, o); err != nil {
			return nil, err
		}
		c.full = true
	}
	return c, nil
}

// ordered is the table whose compactions sort the rows.
func (t *Table) ordered(ctx context.Context, o CompactOptions) (*Table, error) {
	switch i := slices.IndexFunc(o.OrderBy, func(c string) bool { return slices.Contains(t.schema.PartitionKeys, c) }); {
	case t.HasPrimaryKey(), t.buckets() != -1:
		return nil, invalid("compact table %s: rows are sorted in tables without a key and without buckets (bucket = -1) only", t.id)
	case i >= 0:
		return nil, invalid("compact table %s: order by %s: it is the same in all rows of a partition", t.id, o.OrderBy[i])
	}
	memory := options.WriteBuffer.Get(t.opts) / int64(runtime.GOMAXPROCS(0)) // so many partitions are sorted at a time
	order, err := appendtbl.NewOrder(cmp.Or(strings.ToLower(o.Order), "order"), t.schema.Fields, o.OrderBy, max(memory, 1<<20))
	if err != nil {
		return nil, invalid("compact table %s: %v", t.id, err)
	}
	n := t.bare()
	n.order = order
	return n, n.use(ctx, t.schema)
}

// dueBucket is a bucket with something to compact.
type dueBucket struct {
	loc  datafile.Location
	key  string
	runs int // that a reader merges; of append tables the files that would be joined
}

// worst is how much the next step helps readers: the runs of the bucket with most, 0 if there is nothing to do. Rows that
// nobody sees yet come before all.
func (c *compaction) worst() int {
	switch {
	case len(c.aside) > 0 && !c.distributed:
		return math.MaxInt
	case len(c.todo) > 0:
		return c.todo[0].runs
	}
	return 0
}

// look finds out what there is to do in the newest snapshot.
func (c *compaction) look(ctx context.Context) (err error) {
	c.snap, c.todo, err = c.due(ctx)
	return err
}

// step compacts the next buckets of todo, or gives buckets to rows without one. Where others were faster it looks anew at what there
// is to do.
func (c *compaction) step(ctx context.Context) (err error) {
	var r CommitResult
	var group []dueBucket
	distribute := len(c.aside) > 0 && !c.distributed
	if distribute {
		r, err = c.distribute(ctx)
	} else {
		group = c.todo[:min(len(c.todo), compactGroup)]
		r, err = c.group(ctx, c.snap, group)
	}
	c.result.SnapshotID = max(c.result.SnapshotID, r.SnapshotID)
	switch {
	case err != nil:
		return err
	case r.LostCompaction:
		if c.lost++; c.lost == compactTries {
			c.result.LostCompaction = true
			return fmt.Errorf("compact table %s: %w: other writers changed what was compacted, %d times in a row; run it again when they compact less", c.t.id, ErrConflict, c.lost)
		}
		return c.look(ctx)
	case distribute:
		c.distributed = true
		return c.look(ctx) // there is something else to compact now
	}
	c.lost = 0
	for _, b := range group {
		c.done[b.key] = true
	}
	c.todo = c.todo[len(group):]
	return nil
}

// due gives the newest snapshot and the buckets of it that have something to compact, those first that cost readers most.
func (c *compaction) due(ctx context.Context) (*snapshot.Snapshot, []dueBucket, error) {
	t := c.t
	snap, entries, err := t.newestEntries(ctx, c.req)
	if err != nil || snap == nil {
		return nil, nil, err
	}
	for _, err := range []error{t.checkWhole(), t.checkWrite()} {
		if err != nil {
			return nil, nil, fmt.Errorf("compact table %s: %w", t.id, err)
		}
	}
	if err := t.checkCompact(); err != nil {
		return nil, nil, err
	}
	ask, err := t.dueness()
	if err != nil {
		return nil, nil, err
	}
	entries = c.idleOnes(entries)
	files := map[string][]*manifest.DataFile{}
	var out []dueBucket
	c.aside = nil
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Bucket == paths.PostponeBucket:
			c.aside = append(c.aside, *e)
			continue
		case e.Bucket < 0:
			c.nowhere = fmt.Errorf("compact table %s: data file %s lies in bucket %d, which there cannot be: tarn check tells more", t.id, e.File.Name, e.Bucket)
			continue
		}
		k := fmt.Sprintf("%x/%d", e.Partition, e.Bucket)
		if c.done[k] {
			continue
		}
		if files[k] == nil {
			out = append(out, dueBucket{loc: datafile.Location{Partition: e.Partition, Bucket: e.Bucket}, key: k})
		}
		files[k] = append(files[k], e.File)
	}
	kept := out[:0]
	for _, b := range out {
		n, err := ask(ctx, files[b.key], c.full)
		if err != nil {
			return nil, nil, t.wrap(err)
		}
		if b.runs = n; n > 0 {
			kept = append(kept, b)
		}
	}
	slices.SortStableFunc(kept, func(a, b dueBucket) int { return cmp.Compare(b.runs, a.runs) })
	return snap, kept, nil
}

// idleOnes leaves out the files of partitions that got one lately, and notes when the next of these will be idle.
func (c *compaction) idleOnes(entries []manifest.Entry) []manifest.Entry {
	c.again = time.Time{}
	if c.idle == 0 {
		return entries
	}
	newest := map[string]int64{}
	for i := range entries {
		p := string(entries[i].Partition)
		newest[p] = max(newest[p], entries[i].File.CreationMillis)
	}
	now := c.t.env.wallMillis()
	for _, at := range newest {
		left := time.Duration(at-now)*time.Millisecond + c.idle
		if when := c.t.timeNow().Add(left); left > 0 && (c.again.IsZero() || when.Before(c.again)) {
			c.again = when
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e manifest.Entry) bool {
		return time.Duration(now-newest[string(e.Partition)])*time.Millisecond < c.idle
	})
}

// dueness makes what tells of a bucket with these files how much a compaction helps its readers, 0 if there is nothing to do.
func (t *Table) dueness() (func(ctx context.Context, files []*manifest.DataFile, full bool) (int, error), error) {
	if !t.HasPrimaryKey() {
		plain := t.plainTable()
		return func(_ context.Context, files []*manifest.DataFile, full bool) (int, error) {
			return len(plain.Due(files, full)), nil
		}, nil
	}
	tree, err := t.mergeTree()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, files []*manifest.DataFile, full bool) (int, error) {
		runs, due, err := tree.Due(ctx, files, full)
		if err != nil || len(due) == 0 {
			return 0, err
		}
		return runs, nil
	}, nil
}

// group compacts some buckets and commits that. LostCompaction says that not all of it is there.
func (c *compaction) group(ctx context.Context, snap *snapshot.Snapshot, group []dueBucket) (CommitResult, error) {
	w, err := c.t.NewWriter(ctx, &WriterOptions{User: "compact-" + uuid.NewString(), WaitCompaction: true})
	if err != nil {
		return CommitResult{}, err
	}
	defer w.Close()
	locs := make([]datafile.Location, len(group))
	for i, b := range group {
		locs[i] = b.loc
	}
	if err := w.w.Touch(ctx, locs...); err != nil {
		return CommitResult{}, c.t.wrap(err)
	}
	if err := w.Compact(ctx, c.full); err != nil {
		return CommitResult{}, err
	}
	if c.full && len(group) == len(c.todo) {
		w.number = math.MaxInt64 // of batch jobs, by which scan.mode=compacted-full knows that all was compacted
	}
	res, err := w.Commit(ctx)
	if err == nil && res.LostCompaction && w.lost != nil && c.t.misses(ctx, w.lost, snap, w.o.User) {
		return res, fmt.Errorf("table %s: %w: the newest snapshot needs this file", c.t.id, w.lost)
	}
	return res, err
}

// checkCompact refuses tables that are not compacted here.
func (t *Table) checkCompact() error {
	if options.RowTracking.Get(t.opts) {
		return fmt.Errorf("table %s: %w", t.id, unsupported("compaction with row-tracking.enabled: rows would lose their ids"))
	}
	return t.checkOrdering(true)
}

// misses reports whether a file that a compaction of a snapshot did not find is one that the table needs still: the
// newest snapshot names it, or nobody else has committed since.
func (t *Table) misses(ctx context.Context, lost error, snap *snapshot.Snapshot, user string) bool {
	now, entries, err := t.newestEntries(ctx, plan.Request{})
	if err != nil || now == nil {
		return false
	}
	if at := (*iofs.PathError)(nil); errors.As(lost, &at) {
		if slices.ContainsFunc(entries, func(e manifest.Entry) bool { return strings.HasSuffix(at.Path, "/"+e.File.Name) }) {
			return true
		}
	}
	for id := snap.ID + 1; id <= now.ID; id++ {
		if s, err := t.snaps.Get(ctx, id); err != nil || s.CommitUser != user {
			return false
		}
	}
	return true
}
