package plan

import (
	"context"
	"fmt"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// Follow says what of a snapshot is told to those who follow the table.
type Follow struct {
	// Producer is set for tables that write changelogs: nothing else of a snapshot is a change then.
	Producer bool
	// Overwrites tells of snapshots that replaced rows, which are passed over otherwise: of tables with a key the rows
	// that went and those that came, of others those that came.
	Overwrites bool
}

// Changes plans the changes that a snapshot brought: its changelog, or in tables without a producer the files that it
// appended, row by row as they were written. The rows of a bucket come in their order if the splits are read in
// theirs.
func (p *Planner) Changes(ctx context.Context, snap *snapshot.Snapshot, follow Follow, req Request) ([]Split, error) {
	list := snap.Changelog()
	switch {
	case snap.CommitKind == snapshot.Overwrite && follow.Overwrites:
		if p.c.KeyValue {
			return p.replaced(ctx, snap, req)
		}
		list = snap.Delta()
	case follow.Producer:
	case snap.CommitKind == snapshot.Append:
		list = snap.Delta()
	default:
		return nil, nil
	}
	if list.Name == "" {
		return nil, nil
	}
	t := p.tester(ctx, req)
	entries, err := p.listed(ctx, snap, list, t)
	if err != nil {
		return nil, err
	}
	var out []Split
	for _, b := range groupByBucket(manifest.Live(entries)) {
		if b.bucket < 0 && (b.bucket != paths.PostponeBucket || !p.c.Postponed) {
			return nil, p.badBucket(snap, b)
		}
		if b.bucket < 0 && follow.Producer {
			continue // their changelog is made when they get their buckets
		}
		if p.c.KeyValue {
			out = append(out, p.asWritten(snap, b, t)...)
			continue
		}
		for _, files := range appendSplits(b.files, p.c.Packing) {
			out = append(out, Split{SnapshotID: snap.ID, Partition: b.partition, Bucket: b.bucket, TotalBuckets: b.total, Files: files, Raw: true})
		}
	}
	return out, t.err()
}

// Waiting plans the rows of a snapshot that have no bucket yet (bucket = -2), as they were written.
func (p *Planner) Waiting(ctx context.Context, snap *snapshot.Snapshot, req Request) ([]Split, error) {
	req.Bucket = func(bucket int) bool { return bucket == paths.PostponeBucket }
	entries, err := p.Entries(ctx, snap, req)
	if err != nil {
		return nil, err
	}
	var out []Split
	t := p.tester(ctx, req)
	for _, b := range groupByBucket(entries) {
		out = append(out, p.asWritten(snap, b, t)...)
	}
	return out, t.err()
}

// asWritten makes the split of a bucket's files, row by row; none if no row of them can match.
func (p *Planner) asWritten(snap *snapshot.Snapshot, b *bucketFiles, t *tester) []Split {
	s := Split{SnapshotID: snap.ID, Partition: b.partition, Bucket: b.bucket, TotalBuckets: b.total, Raw: true, Kinds: true}
	for _, f := range b.files {
		if t.value == nil || t.mayMatch(f) {
			s.Files = append(s.Files, f)
		}
	}
	if len(s.Files) == 0 {
		return nil
	}
	return []Split{s}
}

// replaced plans what an overwrite took away from a table with a key and what it put there: of each bucket the rows that went,
// then those that came.
func (p *Planner) replaced(ctx context.Context, snap *snapshot.Snapshot, req Request) ([]Split, error) {
	t := p.tester(ctx, req)
	entries, err := p.listed(ctx, snap, snap.Delta(), t)
	if err != nil {
		return nil, err
	}
	times := map[manifest.Identity]int{} // 1: added, 2: removed, 3: both, so that no row of it changed
	for i := range entries {
		times[manifest.IdentityOf(&entries[i])] |= 1 + int(entries[i].Kind)
	}
	var went, came []manifest.Entry
	for i := range entries {
		e := &entries[i]
		switch times[manifest.IdentityOf(e)] {
		case 1:
			came = append(came, *e)
		case 2:
			went = append(went, *e)
		}
	}
	var out []Split
	for _, side := range []struct {
		entries []manifest.Entry
		gone    bool
	}{{went, true}, {came, false}} {
		for _, b := range groupByBucket(side.entries) {
			if b.bucket < 0 {
				return nil, p.badBucket(snap, b)
			}
			groups, err := p.groups(b.files)
			if err != nil {
				return nil, err
			}
			for _, g := range groups {
				out = append(out, Split{SnapshotID: snap.ID, Partition: b.partition, Bucket: b.bucket, TotalBuckets: b.total, Files: g.files, Raw: g.raw, Gone: side.gone})
			}
		}
	}
	return out, t.err()
}

// listed reads the entries of one list of a snapshot, those of buckets and partitions that are wanted.
func (p *Planner) listed(ctx context.Context, snap *snapshot.Snapshot, list manifest.List, t *tester) ([]manifest.Entry, error) {
	metas, err := p.c.Manifests.ReadList(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("plan: snapshot %d: %w", snap.ID, err)
	}
	if t.partition != nil || t.req.Partition != nil {
		if err := p.checkPartitions(ctx, metas); err != nil {
			return nil, err
		}
	}
	entries, err := p.c.Manifests.ReadAll(ctx, metas, t.filter())
	if err != nil {
		return nil, fmt.Errorf("plan: snapshot %d: %w", snap.ID, err)
	}
	return entries, nil
}

func (p *Planner) badBucket(snap *snapshot.Snapshot, b *bucketFiles) error {
	return fmt.Errorf("plan: snapshot %d: file %s is in bucket %d, which the table cannot have: its manifest is damaged", snap.ID, b.files[0].Name, b.bucket)
}
