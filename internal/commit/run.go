package commit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// attempt is what was written in order to make a snapshot.
type attempt struct {
	// of the changes, which a later attempt can use again
	ready     bool
	deltas    []manifest.Meta
	deltaList list
	changes   list // changelog
	own       []string
	// of the base they were joined with
	perBase []string
}

type list struct {
	name string
	size int64
}

// lost forgets what belonged to the base of an attempt that others were faster than.
func (a *attempt) lost() []string {
	names := a.perBase
	a.perBase = nil
	return names
}

// discard removes files that nothing refers to. What remains is found by the cleaning of orphans.
func (c *Committer) discard(ctx context.Context, names ...string) {
	ctx, cancel := fileio.Outlast(ctx)
	defer cancel()
	_ = c.c.Manifests.Delete(ctx, names...)
}

// run makes one snapshot, with as many attempts as it takes.
func (c *Committer) run(ctx context.Context, id ID, o Options, sy *syncer, r *Result,
	plan func(*base) (changes, error), kind snapshot.CommitKind,
) (*snapshot.Snapshot, error) {
	start := c.c.Clock()
	a := &attempt{}
	for n := 0; ; n++ {
		s, err := c.once(ctx, id, o, sy, r, plan, kind, a)
		if err == nil {
			return s, nil
		}
		if errors.Is(err, ErrUnknown) || errors.Is(err, ErrOverwritten) {
			return nil, err // nothing may be removed
		}
		if c.outrun(ctx, err) {
			err = errLost // what the attempt built on has expired
		}
		if !errors.Is(err, errLost) {
			c.discard(ctx, append(a.lost(), a.own...)...)
			return nil, err
		}
		c.discard(ctx, a.lost()...)
		limit := c.c.MaxRetries
		if limit <= 0 {
			limit = 1000
		}
		late := c.c.Timeout > 0 && c.c.Clock().Sub(start) > c.c.Timeout
		if n >= limit || late {
			c.discard(ctx, a.own...)
			return nil, fmt.Errorf("commit: %s: %w: %d attempts in %s, all lost to other writers", c.table, ErrBusy, n+1, c.c.Clock().Sub(start).Round(time.Millisecond))
		}
		// The first races are repeated at once: the winner is done.
		if n >= 2 {
			if err := c.wait(ctx, min(n-2, 5)); err != nil {
				c.discard(ctx, a.own...)
				return nil, fmt.Errorf("commit: %s: %w", c.table, err)
			}
		}
	}
}

// outrun reports whether an error comes from a base that expired while it was read: there is a newer one.
func (c *Committer) outrun(ctx context.Context, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrConflict) {
		return false
	}
	latest, lerr := c.c.Snapshots.LatestID(ctx)
	return lerr == nil && latest > c.b.id()
}

// errLost says that another writer has made the snapshot of that number.
var errLost = errors.New("another writer was faster")

// once makes one attempt.
func (c *Committer) once(ctx context.Context, id ID, o Options, sy *syncer, r *Result,
	plan func(*base) (changes, error), kind snapshot.CommitKind, a *attempt,
) (*snapshot.Snapshot, error) {
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	done, err := c.done(ctx, mark{id.User, id.Number, kind}, o.Base)
	switch {
	case errors.Is(err, errHole) && o.Fresh:
		done, err = nil, nil
	case errors.Is(err, errHole):
		done, err = c.decide(ctx, plan, o.Base)
	}
	if err != nil {
		return nil, err
	}
	if done != nil {
		r.Repeated++
		c.discard(ctx, append(a.lost(), a.own...)...)
		return done, nil
	}
	if err := c.checkStrict(ctx, id.User, kind); err != nil {
		return nil, err
	}
	ch, err := plan(&c.b)
	if err != nil {
		return nil, err
	}
	if ch.check = ch.check || c.behind(&ch); !ch.check && o.Rescaled != nil && c.b.snap != nil {
		if ch.check, err = o.Rescaled(ctx); err != nil {
			return nil, err
		}
	}
	if ch.conflict == nil {
		if ch.conflict, err = c.checkKeys(ctx, id.User, ch.keys); err != nil {
			return nil, err
		}
	}
	index, err := c.check(ctx, &ch)
	if err != nil {
		return nil, err
	}
	r.Attempts++
	next, metas, err := c.write(ctx, id, &ch, index, a)
	if err != nil {
		return nil, err
	}
	data := snapshot.Encode(next, next.Written)
	if c.c.Sync {
		if err := c.syncAll(ctx, sy, a); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("commit: %s: %w", c.table, err)
	}
	// From here on whoever gives up learns what became of it.
	ctx, cancel := fileio.Outlast(ctx)
	defer cancel()
	// The number is free again when others have used it and expired since: what is made there is beside the table.
	if passed, err := c.c.Snapshots.Passed(ctx, next.ID); err != nil || passed {
		return nil, cmp.Or(err, errLost)
	}
	if err := c.put(ctx, next, data); err != nil {
		return nil, err
	}
	if passed, err := c.c.Snapshots.Passed(ctx, next.ID); err == nil && passed {
		return next, c.beside(ctx, next, data, plan)
	}
	c.advance(next, data, metas, &ch)
	if err := c.c.Snapshots.HintLatest(ctx, next.ID); err != nil && c.c.Hint != nil {
		c.c.Hint(err)
	}
	return next, nil
}

// beside is for a new snapshot whose number belongs to those that have expired. Either it has expired already, and its files are
// live, or others had used the number: then the snapshot goes again. Its files stay: whoever expires may have read of them.
func (c *Committer) beside(ctx context.Context, s *snapshot.Snapshot, data []byte, plan func(*base) (changes, error)) error {
	err := c.refresh(ctx)
	if err == nil {
		if _, err = c.decide(ctx, plan, s.ID-1); err == nil {
			return nil
		}
	}
	if have, rerr := fileio.ReadFile(ctx, c.c.FS, c.c.Snapshots.Path(s.ID)); rerr == nil && bytes.Equal(have, data) {
		err = errors.Join(err, c.c.Snapshots.Delete(ctx, s.ID))
	}
	return fmt.Errorf("commit: %s: %w: snapshot %d: %w", c.table, ErrUnknown, s.ID, err)
}

func (c *Committer) syncAll(ctx context.Context, sy *syncer, a *attempt) error {
	names := append(append([]string{}, a.own...), a.perBase...)
	for i, n := range names {
		names[i] = c.c.Manifests.Path(n)
	}
	return sy.sync(ctx, c.c.FS, names)
}

// decide is for a commit that may have been done in a snapshot that has expired: if one of its files is
// live, it was done. That none is says nothing: they may have been compacted.
func (c *Committer) decide(ctx context.Context, plan func(*base) (changes, error), after int64) (*snapshot.Snapshot, error) {
	ch, err := plan(&c.b)
	if err != nil {
		return nil, err
	}
	l, err := c.files(ctx, nil)
	if err != nil {
		return nil, err
	}
	for i := range ch.files {
		if e := &ch.files[i]; e.Kind == manifest.Add && l.has(manifest.IdentityOf(e)) {
			return c.b.snap, nil
		}
	}
	return nil, fmt.Errorf("commit: %s: %w: snapshots after %d, up to %d, have expired", c.table, ErrUndecided, after, c.b.id())
}

// behind reports whether files were written with an older schema than the base has. Partitions may have been distributed anew, to
// another number of buckets, since their writer was opened.
func (c *Committer) behind(ch *changes) bool {
	for i := range ch.files {
		if e := &ch.files[i]; e.Kind == manifest.Add && c.b.snap != nil && e.File.SchemaID < c.b.snap.SchemaID {
			return true
		}
	}
	return false
}

// check looks for conflicts and gives the index entries after the changes, nil if they stay.
func (c *Committer) check(ctx context.Context, ch *changes) ([]manifest.IndexEntry, error) {
	conflicted := func(cf *conflict) error {
		e := &ConflictError{Table: c.table, Kind: ch.kind, Snapshot: c.b.id(), Reason: cf.reason, Err: cf.err}
		if c.b.snap != nil {
			e.By = c.b.snap.CommitUser
		}
		return e
	}
	if ch.conflict != nil {
		return nil, conflicted(ch.conflict)
	}
	discard := c.c.DiscardDuplicates && ch.kind == snapshot.Append
	// What is added needs no look at the files that are there; deletion vectors are of some of them.
	vectors := slices.ContainsFunc(ch.index, func(e manifest.IndexEntry) bool { return e.Type != hashIndex })
	files := ch.check || discard || c.b.live != nil || vectors
	if !files && len(ch.index) == 0 && len(ch.hashed) == 0 {
		return nil, nil
	}
	l, buckets := newLive(), map[bucketKey]*touched{}
	if files {
		want := map[string]bool{}
		for i := range ch.files {
			want[string(ch.files[i].Partition)] = true
		}
		for i := range ch.index {
			want[string(ch.index[i].Partition)] = true
		}
		var err error
		if l, err = c.files(ctx, want); err != nil {
			return nil, err
		}
		if discard {
			kept := make([]manifest.Entry, 0, len(ch.files))
			for _, e := range ch.files {
				if e.Kind != manifest.Add || !l.has(manifest.IdentityOf(&e)) {
					kept = append(kept, e)
				}
			}
			ch.files = kept
		}
		var cf *conflict
		if buckets, cf, err = c.checkFiles(l, ch); err != nil {
			return nil, fmt.Errorf("commit: %s: %w", c.table, err)
		}
		if cf != nil {
			return nil, conflicted(cf)
		}
	}
	var before []manifest.IndexEntry
	if c.b.snap != nil && c.b.snap.IndexManifest != "" {
		var err error
		if before, err = c.c.Manifests.ReadIndex(ctx, c.b.snap.IndexManifest); err != nil {
			return nil, err
		}
	}
	if cf := checkHashed(before, ch.hashed); cf != nil {
		return nil, conflicted(cf)
	}
	has := func(k bucketKey, file string) bool { return hasName(l, buckets, k, file) }
	after, cf := combineIndex(before, ch.index, has)
	if cf == nil && len(ch.applied) > 0 {
		ch.trimmed = true
		after, cf = dropApplied(after, ch.applied)
	}
	if cf == nil && files {
		cf = checkOrphanVectors(after, ch.files, has)
	}
	if cf != nil {
		return nil, conflicted(cf)
	}
	return after, nil
}

// checkStrict is commit.strict-mode.last-safe-snapshot.
func (c *Committer) checkStrict(ctx context.Context, user string, kind snapshot.CommitKind) error {
	if c.strict == nil {
		return nil
	}
	for id := *c.strict + 1; id <= c.b.id(); id++ {
		s, err := c.c.Snapshots.At(ctx, id)
		if err != nil {
			return fmt.Errorf("commit: strict mode: %w", err)
		}
		if s.CommitUser == user {
			continue
		}
		bad := s.CommitKind == snapshot.Compact || s.CommitKind == snapshot.Overwrite
		if s.CommitKind == snapshot.Append && kind == snapshot.Overwrite {
			metas, err := c.c.Manifests.ReadList(ctx, s.Delta())
			if err != nil {
				return err
			}
			entries, err := c.c.Manifests.ReadAll(ctx, metas, nil)
			if err != nil {
				return err
			}
			for i := range entries {
				bad = bad || entries[i].Bucket >= 0
			}
		}
		if bad {
			return &ConflictError{
				Table: c.table, Kind: kind, Snapshot: c.b.id(), By: s.CommitUser,
				Reason: fmt.Sprintf("strict mode: snapshot %d is a foreign %s after the last safe snapshot %d", id, s.CommitKind, *c.strict),
			}
		}
	}
	last := c.b.id()
	c.strict = &last
	return nil
}

// put creates the snapshot file. An outcome that is not known is looked up before anything is tried
// again, and what is tried again is the same.
func (c *Committer) put(ctx context.Context, s *snapshot.Snapshot, data []byte) error {
	path := c.c.Snapshots.Path(s.ID)
	tries := max(c.c.MaxRetries, 1)
	if c.c.MaxRetries <= 0 {
		tries = 10
	}
	for n := 0; ; n++ {
		err := c.c.Swapper.Swap(ctx, s, path, data)
		// The answer is looked for even if the caller has lost patience: to know is worth more.
		look, cancel := context.WithTimeout(context.WithoutCancel(ctx), fileio.Patience)
		have, rerr := fileio.ReadFile(look, c.c.FS, path)
		cancel()
		switch {
		case rerr == nil && bytes.Equal(have, data):
			return nil
		case err == nil && rerr == nil:
			return fmt.Errorf("commit: %s: %w: %s holds another one now", c.table, ErrOverwritten, path)
		case err == nil:
			return nil // gone at once by expiry, or not readable: it was said to be there
		case rerr == nil:
			return errLost
		case errors.Is(err, fs.ErrExist):
			// There, and gone again. If it was never tried before, it was not ours.
			if n == 0 && errors.Is(rerr, fs.ErrNotExist) {
				return errLost
			}
			return fmt.Errorf("commit: %s: %w: snapshot %d: %w", c.table, ErrUnknown, s.ID, rerr)
		case errors.Is(rerr, fs.ErrNotExist) && refused(err):
			return fmt.Errorf("commit: %s: snapshot %d: %w", c.table, s.ID, err)
		}
		if n+1 >= tries || ctx.Err() != nil {
			return fmt.Errorf("commit: %s: %w: snapshot %d: %w", c.table, ErrUnknown, s.ID, err)
		}
		if werr := c.wait(ctx, n); werr != nil {
			return fmt.Errorf("commit: %s: %w: snapshot %d: %w", c.table, ErrUnknown, s.ID, err)
		}
	}
}

// refused reports whether a file system has said for certain that it did not write.
func refused(err error) bool {
	return errors.Is(err, fileio.ErrRefused) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fileio.ErrNoSpace) ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) // of other file systems
}

// advance makes the new snapshot the base of the next commit.
func (c *Committer) advance(s *snapshot.Snapshot, data []byte, metas []manifest.Meta, ch *changes) {
	c.b.snap, c.b.raw, c.b.metas, c.b.v = s, data, metas, s.Written
	if c.b.live != nil && c.b.live.apply(ch.files) != nil {
		c.b.live = nil
	}
	c.note(s)
	if c.strict != nil {
		last := s.ID
		c.strict = &last
	}
}

func mergeOffsets(old, more map[string]int64) map[string]int64 {
	out := maps.Clone(more)
	if out == nil {
		out = map[string]int64{}
	}
	for k, v := range old {
		if _, ok := out[k]; !ok {
			out[k] = v
		}
	}
	return out
}
