package tarn

import (
	"context"
	"iter"

	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// Whoever follows a table reads its rows at a snapshot once (Start) and then what each later snapshot changed
// (Changes, Follow): applied in their order they give the rows of every snapshot that comes.

// Changes plans the changes that a snapshot brought, as rows with kinds: those of its changelog where the table has a
// changelog-producer, else the rows that were written, as they were. There are none of a compaction that tells nothing new,
// nor of an overwrite, unless streaming-read-overwrite (tables with a key) or streaming-read-append-overwrite is set. Changes of one
// key come in their order, -U before its +U. A changelog that outlived its snapshot is as good as the snapshot. The error is
// ErrNotExist, and names the snapshots that there are, if the snapshot has expired or is yet to come.
//
// Rows have the columns that the table has now. A filter is applied to each row: where an update moves a row out of the filter,
// its -U is given alone.
func (s *Scan) Changes(ctx context.Context, id int64) (*Plan, error) {
	t := s.t
	follow, err := t.follow()
	if err != nil {
		return nil, t.wrap(err)
	}
	snap, err := t.snaps.Told(ctx, id)
	if err != nil {
		return nil, t.wrap(absent(err))
	}
	p, err := s.changes(ctx, snap, follow)
	if err != nil {
		return nil, t.expired(ctx, id, err)
	}
	return p, nil
}

func (s *Scan) changes(ctx context.Context, snap *snapshot.Snapshot, follow plan.Follow) (*Plan, error) {
	t := s.t
	p, err := s.asked(t)
	if err != nil {
		return nil, err
	}
	p.SnapshotID, p.followed = snap.ID, true
	p.req.Ordered = true // what an overwrite took away comes before what it put there
	if follow.Overwrites && snap.CommitKind == snapshot.Overwrite && t.HasPrimaryKey() {
		err = t.checkVectors()
	} else {
		err = t.checkWhole()
	}
	if err == nil {
		p.splits, err = t.planner.Changes(ctx, snap, follow, plan.Request{Filter: p.pruning().Filter})
	}
	if err == nil {
		err = t.checkSplits(ctx, p.splits)
	}
	return p, t.wrap(explain(err))
}

// Start plans the rows of a snapshot that the changes of the snapshots after it are changes of. It is what a batch read of the
// snapshot gives, but for rows whose changes are yet to come: with the producers lookup and full-compaction those that no
// compaction has brought into the changelog. In a postponed bucket (bucket = -2) of a table without a producer rows are
// given as they were written, with their kinds.
func (s *Scan) Start(ctx context.Context, id int64) (*Plan, error) {
	t := s.t
	if _, err := t.follow(); err != nil {
		return nil, t.wrap(err)
	}
	snap, err := t.snaps.At(ctx, id)
	if err != nil {
		return nil, t.wrap(absent(err))
	}
	p, err := s.asked(t)
	if err != nil {
		return nil, err
	}
	p.SnapshotID, p.followed = snap.ID, true
	err = p.readRows(ctx, snap, t.toldLevels())
	if err == nil && t.HasPrimaryKey() && t.buckets() == paths.PostponeBucket && options.ChangelogProducer.Get(t.opts) == "none" {
		var waiting []plan.Split
		waiting, err = t.planner.Waiting(ctx, snap, plan.Request{Filter: p.pruning().Filter})
		p.splits = append(p.splits, waiting...)
		err = t.wrap(err)
	}
	if err != nil {
		return nil, t.expired(ctx, id, err)
	}
	return p, nil
}

// Follow plans the changes of the snapshots after one to another, of each that has any. Last 0 is the newest that there is. With
// scan.bounded.watermark it ends before the first snapshot that has a later watermark, and gives nothing if the one it starts after has
// one already.
func (s *Scan) Follow(ctx context.Context, after, last int64) iter.Seq2[*Plan, error] {
	return func(yield func(*Plan, error) bool) {
		if last == 0 {
			var err error
			if last, err = s.t.snaps.LatestID(ctx); err != nil {
				yield(nil, s.t.wrap(err))
				return
			}
		}
		for id := after; id <= last; id++ {
			ends, err := s.t.bounded(ctx, id)
			if err != nil && id > after {
				yield(nil, s.t.wrap(absent(err)))
				return
			}
			if ends {
				return
			}
			if id == after {
				continue
			}
			p, err := s.Changes(ctx, id)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(p.splits) > 0 && !yield(p, nil) {
				return
			}
		}
	}
}

// bounded reports whether a snapshot is behind scan.bounded.watermark.
func (t *Table) bounded(ctx context.Context, id int64) (bool, error) {
	if !options.ScanBound.Set(t.opts) {
		return false, nil
	}
	snap, err := t.snaps.Told(ctx, id)
	if err != nil {
		return false, err
	}
	return snap.Watermark != nil && *snap.Watermark > options.ScanBound.Get(t.opts), nil
}

// streamOptions would change what is told, or when; nothing heeds them yet.
var streamOptions = []string{"consumer-id", "streaming.read.snapshot.delay"}

// follow says what is told of the table's snapshots, and refuses options that would have to change that.
func (t *Table) follow() (plan.Follow, error) {
	f := plan.Follow{Producer: options.ChangelogProducer.Get(t.opts) != "none", Overwrites: options.FollowAppendOverwrite.Get(t.opts)}
	if v := t.view(); t.id.System != "" && (v == nil || v.Plain()) {
		return f, unsupported("changes of the system table $%s", t.id.System)
	}
	for _, k := range streamOptions {
		if v, ok := t.opts.Text(k); ok {
			return f, unsupported("option %s=%s", k, v)
		}
	}
	if t.incremental() {
		return f, invalid("%s is for batch reads: who follows a table names the snapshots", options.IncrementalBetween.Key())
	}
	if t.HasPrimaryKey() {
		f.Overwrites = options.FollowOverwrite.Get(t.opts)
		// The compactions after an overwrite put its rows into the changelog.
		if p := options.ChangelogProducer.Get(t.opts); f.Overwrites && (p == "lookup" || p == "full-compaction") {
			return f, invalid("streaming-read-overwrite with changelog-producer=%s: the changelog has the rows of overwrites already, they would be read twice", p)
		}
	}
	return f, t.checkScan()
}

// toldLevels are the levels whose rows the changelog has told of, nil for all.
func (t *Table) toldLevels() func(int) bool {
	if !t.HasPrimaryKey() {
		return nil
	}
	switch options.ChangelogProducer.Get(t.opts) {
	case "lookup":
		return func(level int) bool { return level > 0 }
	case "full-compaction":
		top := t.levels().Count() - 1
		return func(level int) bool { return level >= top }
	}
	return nil
}

// expired makes the error of a file that is gone into that of the snapshot, if it has expired meanwhile.
func (t *Table) expired(ctx context.Context, id int64, err error) error {
	if t.outrun(ctx, &snapshot.Snapshot{ID: id}, err) {
		if _, gone := t.snaps.Told(ctx, id); gone != nil {
			return t.wrap(absent(gone))
		}
	}
	return err
}
