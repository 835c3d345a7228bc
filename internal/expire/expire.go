// Package expire removes old snapshots and the files that nobody else uses. What a reader could come
// upon is hidden first and deleted later, so that nobody sees a snapshot whose files are gone.
package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// Table is one branch of a table.
type Table struct {
	FS        fileio.FS
	Snapshots *snapshot.Store
	Manifests *manifest.Store
	Paths     *paths.Table
	// External opens the file system of a file outside of the table (`_EXTERNAL_PATH`) and gives the
	// path there. Nil: such files are looked for in FS, without their scheme.
	External func(ctx context.Context, uri string) (fileio.FS, string, error)
}

// Options say what expires. Zero values mean the defaults of the table options named.
type Options struct {
	RetainMin    int           // snapshot.num-retained.min, 10
	RetainMax    int           // snapshot.num-retained.max, no limit
	TimeRetained time.Duration // snapshot.time-retained, 1 h; negative: none
	Limit        int           // snapshot.expire.limit, 50
	// ConsumersReadChangelogs (consumer.changelog-only) lets snapshots expire that consumers need.
	ConsumersReadChangelogs bool
	// ConsumerLife (consumer.expiration-time) drops consumers that have not moved for so long; 0: none.
	ConsumerLife time.Duration
	// CleanFolders (snapshot.clean-empty-directories) removes folders of buckets and partitions that have
	// nothing left in them.
	CleanFolders bool
	// ChangelogMin, ChangelogMax and ChangelogTime are for changelogs that live longer than their snapshots
	// (changelog.num-retained.min and so on); zero: as snapshots.
	ChangelogMin, ChangelogMax int
	ChangelogTime              time.Duration
	// KeepChangelogs is for tables whose changelogs live longer than snapshots: they are moved to the
	// changelog folder. ProducesChangelog says that the table writes changelogs of its own; without
	// it the files of level 0 are the changelog, and stay.
	KeepChangelogs    bool
	ProducesChangelog bool
	// DryRun fills in the Result, and changes nothing.
	DryRun bool
}

// Result tells what was done.
type Result struct {
	Expired    []int64 // snapshots
	Changelogs []int64 // that were kept beyond their snapshots
	Earliest   int64   // the oldest snapshot now, 0: none
	DataFiles  int     // removed, those that belong to others included
	MetaFiles  int     // removed: manifests, lists, index files, statistics
	Holes      []int64 // snapshots that were missing before
	// Warnings tell of files that could not be read, so that what they name stays behind as orphans.
	Warnings []error
}

func (o Options) withDefaults() (Options, error) {
	if o.RetainMin == 0 {
		o.RetainMin = 10
	}
	if o.RetainMax == 0 {
		o.RetainMax = math.MaxInt
	}
	if o.TimeRetained == 0 {
		o.TimeRetained = time.Hour
	}
	if o.Limit == 0 {
		o.Limit = 50
	}
	if o.RetainMin < 1 || o.RetainMax < o.RetainMin || o.Limit < 0 {
		return o, fmt.Errorf("%w: expire: snapshot.num-retained.min %d must be at least 1 and at most snapshot.num-retained.max %d, snapshot.expire.limit %d not negative",
			paths.ErrInvalid, o.RetainMin, o.RetainMax, o.Limit)
	}
	return o, nil
}

// changelogs are the options as far as they are for changelogs.
func (o Options) changelogs() Options {
	if o.ChangelogMin > 0 {
		o.RetainMin = o.ChangelogMin
	}
	if o.ChangelogMax > 0 {
		o.RetainMax = o.ChangelogMax
	}
	if o.ChangelogTime != 0 {
		o.TimeRetained = o.ChangelogTime
	}
	o.ConsumersReadChangelogs = false
	return o
}

// Snapshots removes the snapshots that the options let go, oldest first, and all files that no snapshot
// or tag that stays uses. It may be called again after any error or crash and goes on from there; two
// calls at a time do no harm. If anything that stays cannot be read, nothing is removed.
func Snapshots(ctx context.Context, t Table, o Options, now time.Time) (Result, error) {
	var r Result
	o, err := o.withDefaults()
	if err != nil {
		return r, err
	}
	ids, err := t.Snapshots.All(ctx)
	if err != nil {
		return r, err
	}
	if len(ids) == 0 {
		return r, nil
	}
	r.Earliest = ids[0]
	if o.ConsumerLife > 0 && !o.DryRun {
		if err := t.Snapshots.ExpireConsumers(ctx, now.Add(-o.ConsumerLife)); err != nil {
			return r, err
		}
	}
	end, err := t.end(ctx, o, ids, ids[len(ids)-1], t.Snapshots.Get, now)
	if err != nil {
		return r, err
	}
	// What an earlier call has hidden goes in any case.
	hidden, err := t.Snapshots.EarliestID(ctx)
	if err != nil {
		return r, err
	}
	end = max(end, hidden)
	at, _ := slices.BinarySearch(ids, end)
	if at == 0 || at == len(ids) {
		return r, nil
	}
	end = ids[at]
	p, err := t.plan(ctx, o, ids[:at], end, &r)
	if errors.Is(err, fs.ErrNotExist) {
		// Who expires hides first and deletes then.
		if now, herr := t.Snapshots.EarliestID(ctx); herr == nil && now > end {
			err = errGone
		}
	}
	if errors.Is(err, errGone) {
		return r, nil // another process is expiring the same
	}
	if err != nil {
		return r, err
	}
	return r, t.execute(ctx, o, p, &r)
}

// end is the first of the snapshots or changelogs given that stays.
func (t *Table) end(ctx context.Context, o Options, ids []int64, latest int64, get func(context.Context, int64) (*snapshot.Snapshot, error), now time.Time) (int64, error) {
	// The numbers of snapshots count, as in Java, not how many there are: a hole counts as snapshots.
	first := ids[0]
	if o.RetainMax < math.MaxInt {
		first = max(first, latest-int64(o.RetainMax)+1)
	}
	stop := latest - int64(o.RetainMin) + 1
	if !o.ConsumersReadChangelogs {
		next, err := t.Snapshots.MinNext(ctx)
		if err != nil {
			return 0, fmt.Errorf("expire: nothing is deleted while a consumer cannot be read, as nobody knows what it needs; "+
				"delete its file if the consumer is no longer used, or let it write it anew: %w", err)
		}
		stop = min(stop, next)
	}
	if o.Limit < len(ids) {
		stop = min(stop, ids[o.Limit])
	}
	from, _ := slices.BinarySearch(ids, first)
	for _, id := range ids[from:] {
		if id >= stop {
			break
		}
		s, err := get(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if o.TimeRetained > 0 && now.UnixMilli()-o.TimeRetained.Milliseconds() <= s.TimeMillis {
			return id, nil
		}
	}
	return min(stop, ids[len(ids)-1]), nil
}

// execute hides and deletes. The order matters: a crash at any point leaves what the next call needs to
// find the rest.
func (t *Table) execute(ctx context.Context, o Options, p *plan, r *Result) error {
	if o.DryRun {
		r.Earliest, r.DataFiles = p.end, len(p.data)+len(p.external)
		for i, s := range p.expiring {
			r.MetaFiles += len(p.index[i]) + len(p.manifests[i]) + len(p.lists[i])
			r.Expired = append(r.Expired, s.ID)
		}
		return nil
	}
	if err := t.Snapshots.HintEarliest(ctx, p.end); err != nil {
		return fmt.Errorf("expire: hide snapshots before %d: %w", p.end, err)
	}
	r.Earliest = p.end
	if o.KeepChangelogs {
		for _, s := range p.expiring {
			if err := t.Snapshots.PutChangelog(ctx, s); err != nil {
				return err
			}
		}
	}
	if err := t.removeData(ctx, o, p); err != nil {
		return err
	}
	r.DataFiles = len(p.data) + len(p.external)
	for i, s := range p.expiring {
		if err := t.remove(ctx, p.index[i]); err != nil {
			return err
		}
		if err := t.Manifests.Delete(ctx, p.manifests[i]...); err != nil {
			return fmt.Errorf("expire: %w", err)
		}
		if err := t.Manifests.Delete(ctx, p.lists[i]...); err != nil {
			return fmt.Errorf("expire: %w", err)
		}
		r.MetaFiles += len(p.index[i]) + len(p.manifests[i]) + len(p.lists[i])
		if err := t.Snapshots.Delete(ctx, s.ID); err != nil {
			return fmt.Errorf("expire: %w", err)
		}
		r.Expired = append(r.Expired, s.ID)
	}
	return nil
}

// removeData removes the data files.
func (t *Table) removeData(ctx context.Context, o Options, p *plan) error {
	for _, f := range p.external {
		fsys, path, err := t.External(ctx, f)
		if err != nil {
			return fmt.Errorf("expire: external file %s: %w", f, err)
		}
		if err := fsys.Delete(ctx, path); err != nil {
			return fmt.Errorf("expire: delete: %w", err)
		}
	}
	if err := t.remove(ctx, p.data); err != nil || !o.CleanFolders {
		return err
	}
	return t.cleanFolders(ctx, p.data)
}

// cleanFolders removes the folders of files that are gone, if nothing is left in them, and those above, up to
// the table.
func (t *Table) cleanFolders(ctx context.Context, files []string) error {
	seen := map[string]bool{t.Paths.Root(): true}
	for _, f := range files {
		for dir := paths.Parent(f); !seen[dir] && strings.HasPrefix(dir, t.Paths.Root()+"/"); dir = paths.Parent(dir) {
			removed, err := fileio.RemoveEmpty(ctx, t.FS, dir)
			if err != nil {
				return fmt.Errorf("expire: %w", err)
			}
			if !removed {
				break
			}
		}
		seen[paths.Parent(f)] = true
	}
	return nil
}

func (t *Table) remove(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := t.FS.Delete(ctx, names...); err != nil {
		return fmt.Errorf("expire: delete: %w", err)
	}
	return nil
}
