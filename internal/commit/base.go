package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// base is the snapshot that a commit builds on, with what is known of it.
type base struct {
	snap  *snapshot.Snapshot // nil: the table has none
	raw   []byte             // its file
	metas []manifest.Meta    // its manifests, base and delta
	live  *live              // nil: not known
	v     manifest.Version   // what the table is written at
}

func (b *base) id() int64 {
	if b.snap == nil {
		return 0
	}
	return b.snap.ID
}

const (
	// maxFollow is up to how many new snapshots are followed one by one, before all is read anew.
	maxFollow = 64
	// maxLive is up to how many files a table may have for all of them to be kept in memory.
	maxLive = 300_000
	// maxMarks is how many identities of snapshots are kept.
	maxMarks = 100_000
)

// refresh brings the base to the newest snapshot of the table.
func (c *Committer) refresh(ctx context.Context) error {
	if known := c.b.id(); known > 0 {
		raw, err := fileio.ReadFile(ctx, c.c.FS, c.c.Snapshots.Path(known))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("commit: %w", err)
		}
		// After a rollback a number may be used again for another snapshot.
		if err == nil && bytes.Equal(raw, c.b.raw) {
			latest, err := c.newer(ctx, known)
			if err != nil || latest == known {
				return err
			}
			if latest-known <= maxFollow {
				err = c.follow(ctx, latest)
				if err == nil {
					return nil
				}
				// What was followed so far may be half applied. If a snapshot expired meanwhile or
				// does not fit, reading all anew helps.
				c.b = base{}
				if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errFollow) {
					return err
				}
			}
		}
	}
	latest, err := c.c.Snapshots.LatestID(ctx)
	if err != nil {
		return err
	}
	if latest == 0 {
		c.b = base{v: c.c.Version}
		if c.b.v == 0 {
			c.b.v = manifest.Latest
		}
		clear(c.marks)
		return nil
	}
	for n := 0; ; n++ {
		err = c.reload(ctx, latest)
		if err == nil || n == 10 || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// Did it expire while it was read?
		now, lerr := c.c.Snapshots.LatestID(ctx)
		if lerr != nil || now == latest {
			return err
		}
		latest = now
	}
}

// newer gives the newest snapshot, starting from one that is there.
func (c *Committer) newer(ctx context.Context, known int64) (int64, error) {
	for range 4 {
		there, err := c.c.Snapshots.Exists(ctx, known+1)
		if err != nil || !there {
			return known, err
		}
		known++
	}
	return c.c.Snapshots.LatestFrom(ctx, known)
}

// readSnapshot reads a snapshot and its bytes.
func (c *Committer) readSnapshot(ctx context.Context, id int64) (*snapshot.Snapshot, []byte, error) {
	raw, err := fileio.ReadFile(ctx, c.c.FS, c.c.Snapshots.Path(id))
	if err != nil {
		return nil, nil, fmt.Errorf("commit: %w", err)
	}
	s, err := snapshot.Decode(raw)
	if err != nil {
		// Half written by somebody, perhaps: the Store reads again.
		if s, err = c.c.Snapshots.Get(ctx, id); err != nil {
			return nil, nil, err
		}
		raw = nil
	}
	c.note(s)
	return s, raw, nil
}

func (c *Committer) note(s *snapshot.Snapshot) {
	if len(c.marks) > maxMarks {
		clear(c.marks)
	}
	c.marks[s.ID] = mark{s.CommitUser, s.CommitIdentifier, s.CommitKind}
}

// follow goes on from the base to a newer snapshot, one after the other.
func (c *Committer) follow(ctx context.Context, latest int64) error {
	b := c.b
	for id := b.id() + 1; id <= latest; id++ {
		s, raw, err := c.readSnapshot(ctx, id)
		if err != nil {
			return err
		}
		b.snap, b.raw, b.v = s, raw, max(b.v, s.Written)
		if b.live == nil {
			continue
		}
		metas, err := c.c.Manifests.ReadList(ctx, s.Delta())
		if err != nil {
			return err
		}
		entries, err := c.c.Manifests.ReadAll(ctx, metas, nil)
		if err != nil {
			return err
		}
		if err := b.live.apply(entries); err != nil {
			return fmt.Errorf("%w: %w", errFollow, err)
		}
	}
	var err error
	if b.metas, err = c.metasOf(ctx, b.snap); err != nil {
		return err
	}
	c.b = b
	return nil
}

func (c *Committer) metasOf(ctx context.Context, s *snapshot.Snapshot) ([]manifest.Meta, error) {
	before, err := c.c.Manifests.ReadList(ctx, s.Base())
	if err != nil {
		return nil, err
	}
	delta, err := c.c.Manifests.ReadList(ctx, s.Delta())
	if err != nil {
		return nil, err
	}
	return append(append(make([]manifest.Meta, 0, len(before)+len(delta)), before...), delta...), nil
}

// reload makes a snapshot the base, knowing nothing.
func (c *Committer) reload(ctx context.Context, latest int64) error {
	clear(c.marks)
	c.b = base{}
	s, raw, err := c.readSnapshot(ctx, latest)
	if err != nil {
		return err
	}
	metas, err := c.metasOf(ctx, s)
	if err != nil {
		return err
	}
	v := max(s.Written, c.c.Version)
	// Snapshots do not tell 0.4 from 0.7 nor 0.8 from 1.0; manifests do.
	if v < manifest.V11 {
		for _, l := range []manifest.List{s.Delta(), s.Base()} {
			list, err := c.c.Manifests.ReadList(ctx, l)
			if err != nil {
				return err
			}
			if len(list) > 0 {
				w, err := c.c.Manifests.WrittenBy(ctx, list[len(list)-1].Name)
				if err != nil {
					return err
				}
				v = max(v, w)
				break
			}
		}
	}
	c.b = base{snap: s, raw: raw, metas: metas, v: v}
	return nil
}

// files gives the live files, at least of the wanted partitions (nil: all).
func (c *Committer) files(ctx context.Context, want map[string]bool) (*live, error) {
	if c.b.live != nil {
		return c.b.live, nil
	}
	if c.b.snap == nil {
		c.b.live = newLive()
		return c.b.live, nil
	}
	var n int64
	for i := range c.b.metas {
		n += c.b.metas[i].Added - c.b.metas[i].Deleted
	}
	var f *manifest.Filter
	if n > maxLive && want != nil {
		f = &manifest.Filter{Partition: func(p []byte) bool { return want[string(p)] }}
	}
	entries, err := c.c.Manifests.ReadAll(ctx, c.b.metas, f)
	if err != nil {
		return nil, err
	}
	l := newLive()
	if err := l.apply(manifest.Live(entries)); err != nil {
		return nil, fmt.Errorf("commit: %s: snapshot %d is damaged: %w", c.table, c.b.id(), err)
	}
	if n <= maxLive {
		c.b.live = l
	}
	return l, nil
}

// done looks for a commit of an identity after a snapshot, among all if that is negative. The base has
// to be fresh.
func (c *Committer) done(ctx context.Context, m mark, after int64) (*snapshot.Snapshot, error) {
	latest := c.b.id()
	from := after + 1
	if after < 0 {
		first, err := c.c.Snapshots.EarliestID(ctx)
		if err != nil {
			return nil, err
		}
		from = first
	}
	for id := latest; id >= from && id > 0; id-- {
		have, ok := c.marks[id]
		if !ok {
			s, _, err := c.readSnapshot(ctx, id)
			if errors.Is(err, fs.ErrNotExist) {
				if after >= 0 {
					return nil, errHole
				}
				continue
			}
			if err != nil {
				return nil, err
			}
			have = mark{s.CommitUser, s.CommitIdentifier, s.CommitKind}
		}
		if have == m {
			s, err := c.c.Snapshots.Get(ctx, id)
			if errors.Is(err, fs.ErrNotExist) { // expired since it was seen
				s, err = &snapshot.Snapshot{ID: id, CommitUser: m.user, CommitIdentifier: m.number, CommitKind: m.kind}, nil
			}
			return s, err
		}
	}
	return nil, nil
}

// errFollow says that a snapshot does not go on from the one before it.
var errFollow = errors.New("snapshot does not follow the one before")

// errHole says that a snapshot in the range to be searched is missing.
var errHole = errors.New("snapshots are missing")
