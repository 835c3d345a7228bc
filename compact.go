package tarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/google/uuid"

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
}

// Compact merges files, commits, and waits for it: the buckets that cost readers most first, in several commits if there
// are many. The result has the number of the last one, beside an error too, 0 if there was none. Where the table is write-only, it does
// what its writers leave out. A compaction that loses against another process is made again upon what that one has left;
// the error wraps ErrConflict if that happens again and again. Rows that were put aside (bucket = -2) get their buckets first, in a
// commit of their own: from then on they are part of the table.
func (t *Table) Compact(ctx context.Context, o CompactOptions) (CommitResult, error) {
	if err := t.checkTarget(); err != nil {
		return CommitResult{}, err
	}
	c := compaction{t: t, full: o.Full, done: map[string]bool{}}
	if len(o.Partition) > 0 {
		ow, err := t.partitionsOf(OverwriteOptions{Partition: o.Partition})
		if err != nil {
			return CommitResult{}, invalid("compact table %s: %v", t.id, err)
		}
		c.req.Partition = func(p []byte) bool { ok, err := ow.Match(p); return ok && err == nil }
	}
	if options.WriteOnly.Get(t.opts) { // the table's writers leave the work to this
		var err error
		if c.t, err = t.With(ctx, map[string]string{options.WriteOnly.Key(): "false"}); err != nil {
			return CommitResult{}, err
		}
	}
	if options.FullCompactionDelta.Get(t.opts) == 1 && t.HasPrimaryKey() {
		c.full = true // as each commit of a writer does
	}
	return c.run(ctx)
}

// compaction is one call of Compact.
type compaction struct {
	t           *Table
	full        bool
	req         plan.Request
	done        map[string]bool  // buckets that were compacted: what others write meanwhile is for the next call
	aside       []manifest.Entry // files of rows that have no bucket yet
	distributed bool             // those there were

	nowhere error // tells of a file in a bucket that there cannot be
}

// dueBucket is a bucket with something to compact.
type dueBucket struct {
	loc  datafile.Location
	key  string
	runs int // that a reader merges; of append tables the files that would be joined
}

func (c *compaction) run(ctx context.Context) (CommitResult, error) {
	var all CommitResult
	for lost := 0; ; {
		snap, due, err := c.due(ctx)
		if err != nil {
			return all, err
		}
		if len(c.aside) > 0 && !c.distributed {
			r, err := c.distribute(ctx)
			all.SnapshotID = max(all.SnapshotID, r.SnapshotID)
			if err != nil {
				return all, err
			}
			if c.distributed = !r.LostCompaction; c.distributed {
				continue // there is something else to compact now
			}
		}
		again := len(c.aside) > 0 && !c.distributed
		for group := range slices.Chunk(due, compactGroup) {
			r, err := c.group(ctx, snap, group)
			all.SnapshotID = max(all.SnapshotID, r.SnapshotID)
			if err != nil {
				return all, err
			}
			if again = r.LostCompaction; again {
				break // what is due is another thing now
			}
			lost = 0
			for _, b := range group {
				c.done[b.key] = true
			}
		}
		if !again {
			return all, c.nowhere
		}
		if lost++; lost == compactTries {
			all.LostCompaction = true
			return all, fmt.Errorf("compact table %s: %w: other writers changed what was compacted, %d times in a row; run it again when they compact less", c.t.id, ErrConflict, lost)
		}
	}
}

// due gives the newest snapshot and the buckets of it that have something to compact, those first that cost readers most.
func (c *compaction) due(ctx context.Context) (*snapshot.Snapshot, []dueBucket, error) {
	t := c.t
	snap, entries, err := t.newestEntries(ctx, c.req)
	if err != nil || snap == nil {
		return nil, nil, err
	}
	for _, err := range []error{t.checkRows(snap), t.checkWrite()} {
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
