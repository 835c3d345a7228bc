package tarn

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"time"

	"github.com/tarnlake/tarn/internal/check"
	"github.com/tarnlake/tarn/internal/expire"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/rescue"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// Snapshot is a committed state of a table, as its file describes it; it is immutable. Among its fields are
// ID, SchemaID, CommitIdentifier and TimeMillis (since 1970) int64, CommitUser string, CommitKind,
// Properties map[string]string, and Watermark, TotalRecordCount and DeltaRecordCount *int64, which are nil if
// the file does not tell. SnapshotJSON gives all of them.
type Snapshot = snapshot.Snapshot

// LatestSnapshot reads the newest snapshot, nil if there is none.
func (t *Table) LatestSnapshot(ctx context.Context) (*Snapshot, error) { return t.latest(ctx) }

// SnapshotAt reads a snapshot by its number. The error names the snapshots that there are.
func (t *Table) SnapshotAt(ctx context.Context, id int64) (*Snapshot, error) {
	s, err := t.snaps.At(ctx, id)
	if err != nil {
		return nil, t.wrap(absent(err))
	}
	return s, nil
}

// Snapshots lists the numbers of the snapshots, in order.
func (t *Table) Snapshots(ctx context.Context) ([]int64, error) { return t.snaps.List(ctx) }

// ExpireOptions override the retention options of the table. Zero values leave them, but RetainMax lowers the
// least number of snapshots with it.
type ExpireOptions struct {
	RetainMin, RetainMax int           // snapshots that stay, at least and at most
	TimeRetained         time.Duration // how long a snapshot stays, while RetainMax allows it
	Limit                int           // snapshots that go in one call, at most
	// DryRun tells what would be removed, and removes nothing.
	DryRun bool
}

func (t *Table) expireTable() expire.Table {
	return expire.Table{FS: t.env.fs, Snapshots: t.snaps, Manifests: t.manifests, Paths: t.paths, External: t.external}
}

func (t *Table) expireOptions(o ExpireOptions) expire.Options {
	c := expire.Options{
		RetainMin: options.RetainedMin.Get(t.opts), RetainMax: int(options.RetainedMax.Get(t.opts)),
		TimeRetained: options.RetainedTime.Get(t.opts), Limit: options.ExpireLimit.Get(t.opts),
		ProducesChangelog: options.ChangelogProducer.Get(t.opts) != "none",
		ChangelogMin:      options.ChangelogMin.Get(t.opts),
		ChangelogMax:      options.ChangelogMax.Get(t.opts),
		ChangelogTime:     options.ChangelogTime.Get(t.opts),
		CleanFolders:      options.CleanEmptyDirs.Get(t.opts),
		ConsumerLife:      options.ConsumerExpire.Get(t.opts),
	}
	if o.RetainMin > 0 {
		c.RetainMin = o.RetainMin
	}
	if o.RetainMax > 0 {
		c.RetainMax = o.RetainMax
		if o.RetainMin <= 0 { // whoever asks for few snapshots means it
			c.RetainMin = min(c.RetainMin, o.RetainMax)
		}
	}
	if o.TimeRetained != 0 {
		c.TimeRetained = o.TimeRetained
	}
	if o.Limit > 0 {
		c.Limit = o.Limit
	}
	c.DryRun = o.DryRun
	// Changelogs that are to live longer than snapshots are set aside.
	c.KeepChangelogs = c.ChangelogMin > c.RetainMin || c.ChangelogMax > c.RetainMax || c.ChangelogTime > c.TimeRetained
	c.ConsumersReadChangelogs = c.KeepChangelogs && options.ConsumerChangelogOnly.Get(t.opts)
	return c
}

// ExpireSnapshots removes snapshots that need not be kept, and files that only they need.
func (t *Table) ExpireSnapshots(ctx context.Context, o ExpireOptions) (ExpireEvent, error) {
	c := t.expireOptions(o)
	r, err := expire.Snapshots(ctx, t.expireTable(), c, t.timeNow())
	e := ExpireEvent{Table: t.id.String(), Snapshots: len(r.Expired), Files: r.DataFiles + r.MetaFiles, Err: err}
	if err == nil && c.KeepChangelogs {
		r, err = expire.Changelogs(ctx, t.expireTable(), c, t.timeNow())
		e.Files, e.Err = e.Files+r.DataFiles+r.MetaFiles, err
	}
	if err != nil {
		return e, t.wrap(err)
	}
	return e, nil
}

// expireQuietly is expiry beside writers: it never fails them.
func (t *Table) expireQuietly(ctx context.Context) {
	var e ExpireEvent
	err := rescue.Do("expire snapshots", func() (err error) {
		e, err = t.ExpireSnapshots(ctx, ExpireOptions{})
		return err
	})
	if err != nil {
		t.env.log.Warn("snapshots did not expire", "table", t.id.String(), "err", err)
	}
	if f := t.env.events.Expired; f != nil && (e.Snapshots > 0 || err != nil) {
		e.Table, e.Err = t.id.String(), err
		t.env.tell("Expired", func() { f(e) })
	}
}

// CheckReport is the result of Check: Snapshots, Manifests and Files int and Rows int64 (before merging) are
// what was looked at, Problems what was found. Each has Damage bool (rows cannot be read; others cost space or
// time only), Path, What and Advice string. Method Damaged() bool tells whether one of them is damage.
type CheckReport = check.Report

// Check examines the table without changing it: that all files are there and fit together. What is wrong with
// the table stands in the report; the error is one of the storage. The table may be written meanwhile.
func (t *Table) Check(ctx context.Context) (*CheckReport, error) {
	// With nothing cached: a file that was read before may be gone.
	fresh := t.bare()
	fresh.env = newEnv(t.env.fs, &t.env.opts)
	if err := fresh.use(ctx, t.schema); err != nil {
		return nil, err
	}
	t = fresh
	r, err := check.Run(ctx, check.Table{
		FS: t.env.fs, Path: t.path, Snapshots: t.snaps, Manifests: t.manifests, Files: t.files, Order: t.planner.Order(),
		Schema: t.schema, Schemas: t.schemas, BucketFunction: options.BucketFunction.Get(t.opts),
	})
	if err != nil {
		return nil, t.wrap(err)
	}
	return r, nil
}

// PutConsumer notes that a reader of this name needs the snapshots from next on: they do not expire.
func (t *Table) PutConsumer(ctx context.Context, name string, next int64) error {
	if err := t.snaps.PutConsumer(ctx, name, next); err != nil {
		return t.wrap(err)
	}
	return nil
}

// Consumers gives the readers that keep snapshots, each with the first one that it needs.
func (t *Table) Consumers(ctx context.Context) (map[string]int64, error) {
	return t.snaps.Consumers(ctx)
}

// DeleteConsumer gives up what PutConsumer asked for.
func (t *Table) DeleteConsumer(ctx context.Context, name string) error {
	if err := t.snaps.DeleteConsumer(ctx, name); err != nil {
		return t.wrap(err)
	}
	return nil
}

// CreateTag gives a snapshot a name under which it does not expire; 0 is the newest one. The error wraps
// ErrExist if there is a tag of this name, ErrNotExist if there is no such snapshot.
func (t *Table) CreateTag(ctx context.Context, name string, id int64) error {
	var s *Snapshot
	var err error
	if id > 0 {
		s, err = t.SnapshotAt(ctx, id)
	} else {
		s, err = t.latest(ctx)
	}
	if err != nil {
		return err
	}
	if s == nil {
		return invalid("table %s has no snapshot to be tagged", t.id)
	}
	written, err := t.learned(ctx)
	if err != nil {
		return err
	}
	err = t.snaps.CreateTag(ctx, name, s, 0, t.timeNow(), written.version())
	switch {
	case errors.Is(err, iofs.ErrExist):
		return fmt.Errorf("table %s: tag %q %w", t.id, name, ErrExist)
	case err != nil:
		return t.wrap(err)
	}
	return nil
}

// DeleteTag removes a tag, and files that only its snapshot needed. The error wraps ErrNotExist if there
// is none.
func (t *Table) DeleteTag(ctx context.Context, name string) error {
	if _, err := t.tagged(ctx, name); err != nil {
		return t.wrap(err)
	}
	_, err := expire.DeleteTag(ctx, t.expireTable(), name)
	if err != nil {
		return t.wrap(err)
	}
	return nil
}

// Orphans finds files that nothing refers to and that are older than some time, and removes them
// unless dryRun. Files that are prepared and will be committed are spared if they are in keep, or in a
// checkpoint of a job of the warehouse.
func (t *Table) Orphans(ctx context.Context, olderThan time.Time, dryRun bool, keep ...*Prepared) ([]string, error) {
	prepared, err := t.preparedByJobs(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, p := range slices.Concat(keep, prepared) {
		for _, d := range p.parts() {
			for _, path := range d.Paths {
				names[path] = true
			}
		}
	}
	o, err := expire.FindOrphans(ctx, t.expireTable(), expire.OrphanOptions{OlderThan: olderThan, DryRun: dryRun, Keep: func(p string) bool { return names[p] }})
	if err != nil {
		return o.Paths, t.wrap(err)
	}
	return o.Paths, nil
}

// SnapshotJSON writes a snapshot as its file has it; nil is null.
func SnapshotJSON(s *Snapshot) []byte {
	if s == nil {
		return []byte("null")
	}
	return snapshot.Encode(s, 0)
}

// FileNames gives the names of the data files of the snapshot that the table's options name.
func (t *Table) FileNames(ctx context.Context) (map[string]bool, error) {
	snap, err := t.snapshotOf(ctx)
	if err != nil || snap == nil {
		return map[string]bool{}, err
	}
	entries, err := t.planner.Entries(ctx, snap, plan.Request{})
	if err != nil {
		return nil, t.wrap(err)
	}
	out := make(map[string]bool, len(entries))
	for i := range entries {
		out[entries[i].File.Name] = true
	}
	return out, nil
}
