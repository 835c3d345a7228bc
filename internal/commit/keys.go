package commit

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// noteKeys takes in what a delta of a table whose keys move between partitions was written upon.
func (ch *changes) noteKeys(d *manifest.Delta) {
	if d.Keys == nil || !d.HasAppend() || slices.ContainsFunc(ch.keys, func(k *manifest.KeyIndex) bool { return k.Writer == d.Keys.Writer && k.Snapshot == d.Keys.Snapshot }) {
		return
	}
	ch.keys = append(ch.keys, d.Keys)
}

// checkKeys finds out whether others have written rows since the writers found out where all keys are: a key could get into a
// second partition, and none would ever take it away.
func (c *Committer) checkKeys(ctx context.Context, user string, keys []*manifest.KeyIndex) (*conflict, error) {
	for i, k := range keys {
		for _, o := range keys[:i] {
			if o.Writer != k.Writer && !slices.Contains(k.After, o.Writer) && !slices.Contains(o.After, k.Writer) {
				return conflictf("two writers that do not know of each other have written rows whose keys may move between partitions: write with one of them, or let one go on from what the other has prepared"), nil
			}
		}
		cf, err := c.foreign(ctx, user, k.Snapshot)
		if cf != nil || err != nil {
			return cf, err
		}
	}
	return nil, nil
}

// foreign looks for a snapshot after one in which somebody else has written rows.
func (c *Committer) foreign(ctx context.Context, user string, after int64) (*conflict, error) {
	for id := after + 1; id <= c.b.id(); id++ {
		if m, ok := c.marks[id]; ok && m.kind != snapshot.Overwrite && (m.kind != snapshot.Append || m.user == user) {
			continue
		}
		s, _, err := c.readSnapshot(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			return conflictf("snapshot %d, which could tell whether others have moved keys between partitions, has expired", id), nil
		}
		if err != nil {
			return nil, err
		}
		switch {
		case s.CommitKind == snapshot.Overwrite:
			return conflictf("rows were removed or replaced in snapshot %d, and keys may be in other partitions now", id), nil
		case s.CommitKind != snapshot.Append || s.CommitUser == user:
		case s.DeltaRecordCount != nil && *s.DeltaRecordCount == 0: // snapshot.ignore-empty-commit = false
		default:
			return conflictf("another writer (%s, snapshot %d) has written rows, and the keys of a table whose primary key lacks partition columns may be in other partitions now: such a table takes one writer at a time", s.CommitUser, id), nil
		}
	}
	return nil, nil
}

// Foreign reports whether somebody else than user has written rows after a snapshot, or nobody can tell. latest is the newest
// snapshot that it has looked at.
func (c *Committer) Foreign(ctx context.Context, user string, after int64) (latest int64, foreign bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(ctx); err != nil {
		return 0, false, err
	}
	cf, err := c.foreign(ctx, user, after)
	return c.b.id(), cf != nil || c.b.id() < after, err
}
