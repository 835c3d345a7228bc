package tarn

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// hadOtherBuckets reports whether an older schema has another number of buckets.
func (t *Table) hadOtherBuckets(ctx context.Context) (bool, error) {
	for id := t.schema.ID - 1; id >= t.sameBuckets.Load(); id-- {
		s, err := t.schemas.Get(ctx, id)
		if errors.Is(err, iofs.ErrNotExist) {
			return true, nil // nobody knows
		}
		if err != nil {
			return false, fmt.Errorf("table %s: %w", t.id, err)
		}
		if options.Bucket.Get(options.Of(s.Options, s.Version)) != t.buckets() {
			return true, nil
		}
	}
	t.sameBuckets.Store(t.schema.ID)
	return false, nil
}

// RescaleOptions say which rows to distribute anew, and to how many buckets.
type RescaleOptions struct {
	// Buckets is the number of buckets of the partitions afterwards; 0 is what the option bucket of the table says. With another
	// number than that of the option the partitions cannot be written to until the option is changed, too.
	Buckets int
	// Partitions restricts to partitions that have all values of one of these (text; nil: NULL); nil is all.
	Partitions []map[string]*string
}

// Rescale distributes the rows of partitions to another number of buckets, in one commit: the files are read and written anew. Those
// that have the number already are left alone; the snapshot is 0 if there are no others. Where each partition has a number of its own
// (bucket = -2), 0 is postpone.default-bucket-num, the partitions can be written to at once, and rows that wait for their bucket go on waiting.
// A table with dynamic buckets has the rows of all
// partitions that are asked for distributed anew, to as few buckets as it takes. Rows that are deleted go for good. Streams are not told of
// a rescale, nor of changes that no compaction had told them by then (changelog-producer = full-compaction or lookup): compact before it.
//
// The error wraps ErrConflict if others have changed the partitions meanwhile, their compactions included: nothing was done then,
// run it again. Writers that were opened before have a conflict with their next commit to such a partition. It wraps ErrInvalid
// if the table has no buckets, and ErrUnsupported if rows have ids (row-tracking.enabled), which they would lose.
func (t *Table) Rescale(ctx context.Context, o RescaleOptions) (CommitResult, error) {
	to, err := t.rescaled(ctx, o.Buckets)
	if err != nil {
		return CommitResult{}, fmt.Errorf("rescale %w", err)
	}
	var req plan.Request
	if req.Partition, err = t.inAnyOf(o.Partitions); err != nil {
		return CommitResult{}, invalid("rescale table %s: %v", t.id, err)
	}
	snap, entries, err := t.newestEntries(ctx, req)
	if err != nil || snap == nil {
		return CommitResult{}, err
	}
	if err := t.checkWhole(); err != nil {
		return CommitResult{}, fmt.Errorf("rescale table %s: %w", t.id, err)
	}
	n, parts := to.buckets(), map[string]bool{}
	if to.rescaleTo > 0 {
		n = to.rescaleTo
		// Rows that have no bucket yet go on waiting for one.
		entries = slices.DeleteFunc(slices.Clone(entries), func(e manifest.Entry) bool { return e.Bucket == paths.PostponeBucket })
	}
	for i := range entries {
		if n < 0 || entries[i].TotalBuckets != n {
			parts[string(entries[i].Partition)] = true
		}
	}
	if len(parts) == 0 {
		return CommitResult{}, nil
	}
	of := func(p []byte) bool { return parts[string(p)] }
	ow := &commit.Overwrite{Match: func(p []byte) (bool, error) { return of(p), nil }, Onto: map[string]bool{}}
	for i := range entries {
		if of(entries[i].Partition) {
			ow.Onto[entries[i].File.Name] = true
		}
	}
	if snap.IndexManifest != "" {
		indexes, err := t.manifests.ReadIndex(ctx, snap.IndexManifest)
		if err != nil {
			return CommitResult{}, t.wrap(err)
		}
		for i := range indexes {
			if of(indexes[i].Partition) {
				ow.Onto[indexes[i].Name] = true
			}
		}
	}
	rows, err := t.rowsOf(ctx, snap, of)
	if err != nil {
		return CommitResult{}, err
	}
	return to.replace(ctx, ow, rows)
}

// rescaled is the table with that number of buckets.
func (t *Table) rescaled(ctx context.Context, n int) (*Table, error) {
	have := t.buckets()
	switch {
	case t.id.System != "":
		return nil, invalid("table %s: a system table cannot be written", t.id)
	case n < 0:
		return nil, invalid("table %s: %d is no number of buckets; take 1 or more", t.id, n)
	case options.RowTracking.Get(t.opts):
		return nil, fmt.Errorf("table %s: %w", t.id, unsupported("rescale with row-tracking.enabled: rows would lose their ids"))
	case have < 0 && !t.HasPrimaryKey():
		return nil, invalid("table %s has no buckets", t.id)
	case have == postponeBuckets:
		to := t.bare()
		if to.rescaleTo = n; n == 0 {
			to.rescaleTo = options.PostponeBuckets.Get(t.opts)
		}
		return to, to.use(ctx, t.schema)
	case have < 0 && n > 0:
		return nil, invalid("table %s has dynamic buckets: it takes as many as it needs, and no number of them can be given", t.id)
	case n == 0 || n == have:
		return t, nil
	}
	to := t.bare()
	if to.dynamic = maps.Clone(t.dynamic); to.dynamic == nil {
		to.dynamic = map[string]string{}
	}
	to.dynamic[options.Bucket.Key()] = strconv.Itoa(n)
	return to, to.use(ctx, t.schema)
}

// inAnyOf reports of partitions whether they have the values of one of specs; it is nil, for all, if there are none.
func (t *Table) inAnyOf(specs []map[string]*string) (func([]byte) bool, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	var all []func([]byte) (bool, error)
	for _, s := range specs {
		w, err := t.partitionsOf(OverwriteOptions{Partition: s})
		switch {
		case err != nil:
			return nil, err
		case w.Match == nil:
			return nil, fmt.Errorf("a partition without values; leave it out to mean all")
		}
		all = append(all, w.Match)
	}
	return func(p []byte) bool {
		return slices.ContainsFunc(all, func(m func([]byte) (bool, error)) bool { ok, err := m(p); return ok && err == nil })
	}, nil
}

// rowsOf gives all rows that partitions have in a snapshot, those of level 0 too, where reads leave them out for now. Rows of a bucket
// without a key come in their order.
func (t *Table) rowsOf(ctx context.Context, snap *snapshot.Snapshot, partition func([]byte) bool) (iter.Seq2[Batch, error], error) {
	p, err := t.Scan(ScanOptions{WideTimestamps: true, Ordered: !t.HasPrimaryKey()}).asked(t)
	if err != nil {
		return nil, err
	}
	p.SnapshotID, p.followed = snap.ID, true
	if p.splits, err = t.planner.Splits(ctx, snap, plan.Request{Partition: partition}); err == nil {
		err = t.checkSplits(ctx, p.splits)
	}
	if err != nil {
		return nil, t.wrap(explain(err))
	}
	return func(yield func(Batch, error) bool) {
		for b, err := range p.Batches(ctx) {
			b.Kinds = nil // the rows are there
			if !yield(b, err) {
				return
			}
		}
	}, nil
}
