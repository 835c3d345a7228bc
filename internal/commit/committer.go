// Package commit makes snapshots: it joins what writers have prepared with the newest snapshot of a
// table, checks that the two go together, and creates the next snapshot by one atomic call. Everything
// before that call is invisible, everything after it may be repeated.
package commit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

// Swapper makes a snapshot the next one of a table, if there is none of its number yet: else the error
// is fs.ErrExist and nothing has changed. Any other error leaves open whether it was done.
type Swapper interface {
	Swap(ctx context.Context, s *snapshot.Snapshot, path string, data []byte) error
}

// createSwapper is the Swapper of file systems.
type createSwapper struct{ fs fileio.FS }

func (w createSwapper) Swap(ctx context.Context, _ *snapshot.Snapshot, path string, data []byte) error {
	return w.fs.PutIfAbsent(ctx, path, data)
}

// Config describes the table and how to commit to it. Zero values mean the defaults of the table options
// named.
type Config struct {
	FS        fileio.FS
	Snapshots *snapshot.Store
	// Manifests should have a cache: a commit reads what the ones before it wrote.
	Manifests *manifest.Store
	// SchemaID gives the newest schema of the table.
	SchemaID func(ctx context.Context) (int64, error)
	// Keys are the types of the trimmed primary key, nil for append tables.
	Keys []types.Type
	// Swapper is nil for tables on file systems.
	Swapper Swapper
	// Version raises the table to at least this version of the format; zero leaves it at what its newest
	// snapshot and manifests say, and starts new tables at the newest.
	Version manifest.Version

	TargetSize         int64 // manifest.target-file-size, 8 MB
	MergeMinCount      int   // manifest.merge-min-count, 30
	FullCompactionSize int64 // manifest.full-compaction-threshold-size, 16 MB
	DropDeleteStats    bool  // manifest.delete-file-drop-stats
	DiscardDuplicates  bool  // commit.discard-duplicate-files
	RowTracking        bool  // row-tracking.enabled
	SnapshotOrdering   bool  // sequence.snapshot-ordering
	// UpgradeLevel is the level to which files of an overwrite may be raised at once (num-levels - 1,
	// if `overwrite-upgrade`); zero switches it off.
	UpgradeLevel int

	// StrictFrom is commit.strict-mode.last-safe-snapshot: no foreign compaction or overwrite after
	// that snapshot may be met, nor, by an overwrite, a foreign append. Nil switches it off.
	StrictFrom *int64

	MaxRetries   int           // commit.max-retries; zero: 10 after errors, 1000 after lost races
	Timeout      time.Duration // commit.timeout; zero: none
	MinRetryWait time.Duration // commit.min-retry-wait, 10 ms
	MaxRetryWait time.Duration // commit.max-retry-wait, 10 s

	// Sync makes all files durable before the snapshot refers to them.
	Sync bool

	Clock func() time.Time // nil: time.Now
	// Pause waits; nil: a timer.
	Pause func(ctx context.Context, d time.Duration) error
	// Hint is called when a hint file could not be written, which is no reason to fail. It may be nil.
	Hint func(err error)
}

// Committer commits to one branch of a table. It is safe for concurrent use; commits are made one
// after the other. It remembers the newest snapshot that it saw, so a Committer is worth keeping.
type Committer struct {
	c     Config
	table string

	mu     sync.Mutex
	b      base
	strict *int64
	// marks are whose the snapshots are that were seen, to recognize a commit that was done before.
	marks map[int64]mark
}

// mark is the identity of a snapshot.
type mark struct {
	user   string
	number int64
	kind   snapshot.CommitKind
}

// ID is the identity of a commit: the same one commits the same once.
type ID struct {
	User   string
	Number int64
	// Watermark, Properties and LogOffsets go into the snapshot where its version knows them.
	Watermark  *int64
	Properties map[string]string
	LogOffsets map[string]int64
}

// Options of one commit.
type Options struct {
	// Base is the newest snapshot at the time when the commit cannot have been done yet, zero if there was
	// none: those after it are looked through for a commit of the same identity, and if one of them has
	// expired, nobody can tell. Negative: it is not known, and all that there are have to do.
	Base int64
	// Fresh says that nobody has tried a commit of this identity before: snapshots that have expired are no
	// reason for doubt.
	Fresh bool
	// AllowEmpty makes a snapshot even if there is nothing to commit.
	AllowEmpty bool
	// CheckAppend checks files to add for conflicts as well, which compactions and commits that remove
	// files always do.
	CheckAppend bool
	// Rescaled, if it is set, tells whether the table has had another number of buckets. Then files to add are checked: a writer
	// that is older may have begun the same partition.
	Rescaled func(ctx context.Context) (bool, error)
}

// Result tells what a commit did. Snapshots that were there before, by an earlier call with the same
// identity, are among them and counted in Repeated.
type Result struct {
	Append  *snapshot.Snapshot // nil: there was nothing of this kind to commit
	Compact *snapshot.Snapshot
	// Repeated is how many of the two were committed before.
	Repeated int
	// Attempts is how many times a snapshot was tried to be made.
	Attempts int
}

// Latest is the newer of the two snapshots, nil if none was made.
func (r *Result) Latest() *snapshot.Snapshot {
	if r.Compact != nil {
		return r.Compact
	}
	return r.Append
}

// New makes a Committer for the table at a path, which is for messages.
func New(table string, c Config) *Committer {
	if c.Swapper == nil {
		c.Swapper = createSwapper{c.FS}
	}
	if c.TargetSize <= 0 {
		c.TargetSize = 8 << 20
	}
	if c.MergeMinCount <= 0 {
		c.MergeMinCount = 30
	}
	if c.FullCompactionSize <= 0 {
		c.FullCompactionSize = 16 << 20
	}
	if c.MinRetryWait <= 0 {
		c.MinRetryWait = 10 * time.Millisecond
	}
	if c.MaxRetryWait <= 0 {
		c.MaxRetryWait = 10 * time.Second
	}
	if c.Clock == nil {
		c.Clock = time.Now //nolint:forbidigo // the default
	}
	if c.Pause == nil {
		c.Pause = pause
	}
	return &Committer{c: c, table: table, strict: c.StrictFrom, marks: map[int64]mark{}}
}

// Version is the version of the format that the table is written at. Writers must not use what it does
// not know, or they raise it.
func (c *Committer) Version(ctx context.Context) (manifest.Version, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.refresh(ctx)
	return c.b.v, err
}

// Lookup finds the snapshot of a commit among those after base (negative: all that there are), nil if it was
// not done. The error is ErrUndecided if a snapshot that could tell has expired.
func (c *Committer) Lookup(ctx context.Context, user string, number int64, kind snapshot.CommitKind, base int64) (*snapshot.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	s, err := c.done(ctx, mark{user, number, kind}, base)
	if errors.Is(err, errHole) {
		return nil, fmt.Errorf("commit: %s: %w: of the snapshots after %d, up to %d, some have expired", c.table, ErrUndecided, base, c.b.id())
	}
	return s, err
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Commit commits what writers have prepared, as one snapshot for what was written and one for what was
// compacted, if there is any of it. It may be called again with the same identity after any error and
// any crash: what was committed is not committed again. If the second snapshot fails, the Result holds
// the first one.
//
// Errors: ErrConflict (as *ConflictError, which says which of the two snapshots), ErrUnknown,
// ErrOverwritten, ErrUndecided, ErrBusy, and those of the file system. After ErrConflict and ErrBusy the
// files of the deltas are not referred to.
func (c *Committer) Commit(ctx context.Context, id ID, deltas []manifest.Delta, o Options) (Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	app, comp := collect(deltas)
	var r Result
	synced := &syncer{paths: paths(deltas)}
	if o.AllowEmpty || len(app.files)+len(app.changelog)+len(app.index) > 0 {
		app.kind = snapshot.Append
		app.check = o.CheckAppend
		if removes(&app) {
			app.kind, app.check = snapshot.Overwrite, true
		}
		s, err := c.run(ctx, id, o, synced, &r, func(*base) (changes, error) { return app, nil }, app.kind)
		if err != nil {
			return r, err
		}
		r.Append = s
	}
	if len(comp.files)+len(comp.changelog)+len(comp.index) > 0 {
		if err := c.compact(ctx, id, o, synced, &r, comp); err != nil {
			return r, err
		}
	}
	return r, nil
}

// compact makes the snapshot of what was compacted. If there is one already of what was written, whoever loses patience waits
// for the end of what was begun.
func (c *Committer) compact(ctx context.Context, id ID, o Options, synced *syncer, r *Result, comp changes) error {
	comp.kind, comp.check = snapshot.Compact, true
	if r.Append != nil {
		var cancel context.CancelFunc
		ctx, cancel = fileio.Outlast(ctx)
		defer cancel()
	}
	s, err := c.run(ctx, id, o, synced, r, func(*base) (changes, error) { return comp, nil }, comp.kind)
	if err == nil {
		r.Compact = s
	}
	return err
}

// removes reports whether changes take something away, which readers of streams have to know.
func removes(ch *changes) bool {
	for i := range ch.files {
		if ch.files[i].Kind == manifest.Delete {
			return true
		}
	}
	for i := range ch.index {
		if ch.index[i].Type == deletionVectors {
			return true
		}
	}
	return false
}

// collect sorts what the deltas hold by snapshot and kind.
func collect(deltas []manifest.Delta) (app, comp changes) {
	for i := range deltas {
		d := &deltas[i]
		add := func(to *[]manifest.Entry, k manifest.Kind, files []*manifest.DataFile) {
			for _, f := range files {
				*to = append(*to, manifest.Entry{Kind: k, Partition: d.Partition, Bucket: d.Bucket, TotalBuckets: d.TotalBuckets, File: f})
			}
		}
		add(&app.files, manifest.Add, d.Added)
		add(&app.files, manifest.Delete, d.Deleted)
		add(&app.changelog, manifest.Add, d.Changelog)
		add(&comp.files, manifest.Delete, d.CompactBefore)
		add(&comp.files, manifest.Add, d.CompactAfter)
		add(&comp.changelog, manifest.Add, d.CompactChangelog)
		for _, e := range d.Index {
			e.Partition, e.Bucket = d.Partition, d.Bucket
			app.index = append(app.index, e)
		}
		for _, e := range d.CompactIndex {
			e.Partition, e.Bucket = d.Partition, d.Bucket
			comp.index = append(comp.index, e)
		}
		for _, v := range d.Applied {
			comp.applied = append(comp.applied, applied{bucketKey{string(d.Partition), d.Bucket}, v})
		}
		app.noteHashed(d)
		app.noteKeys(d)
	}
	return app, comp
}

func paths(deltas []manifest.Delta) []string {
	var out []string
	for i := range deltas {
		out = append(out, deltas[i].Paths...)
	}
	return out
}

// syncer makes data files durable once for all attempts.
type syncer struct {
	paths []string
	done  bool
}

func (s *syncer) sync(ctx context.Context, fs fileio.FS, more []string) error {
	all := more
	if !s.done {
		all = append(append([]string{}, s.paths...), more...)
	}
	if err := fs.Sync(ctx, all...); err != nil {
		return fmt.Errorf("commit: sync: %w", err)
	}
	s.done = true
	return nil
}

// wait pauses after the n-th failed attempt: twice as long each time, with some chance, so that
// competitors do not meet again.
func (c *Committer) wait(ctx context.Context, n int) error {
	d := c.c.MaxRetryWait
	if n < 20 {
		d = min(d, c.c.MinRetryWait<<n)
	}
	return c.c.Pause(ctx, d/2+time.Duration(rand.Int64N(int64(d)/2+1)))
}
