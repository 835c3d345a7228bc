package tarn

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"github.com/tarnlake/tarn/internal/bucket"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/read"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// This file has what writers of tables do whose primary key lacks partition columns: a key is in one partition at a time, and
// moves when a row of it comes to another one.

// moves is what becomes of rows whose key is in another partition, by merge engine.
var moves = map[string]bucket.Move{"deduplicate": bucket.MoveRow, "partial-update": bucket.KeepPlace, "aggregation": bucket.KeepPlace, "first-row": bucket.DropRow}

// crossing makes what finds the places of rows.
func (w *Writer) crossing() (*bucket.Crossing, error) {
	t := w.t
	o := t.opts
	move, ok := moves[options.MergeEngine.Get(o)]
	switch {
	case !ok:
		return nil, unsupported("merge-engine = %s with a primary key that lacks partition columns", options.MergeEngine.Get(o))
	case move == bucket.MoveRow && options.IgnoreDelete.Get(o):
		return nil, invalid("table %s: ignore-delete with a primary key that lacks partition columns: a key that comes to another partition would stay in the old one, too; set it to false, or make the partition columns part of the key", t.id)
	}
	c := bucket.CrossingConfig{
		Table: t.id.String(), Fields: t.schema.Fields, Keys: t.schema.PrimaryKeys, Partitions: t.schema.PartitionKeys, Move: move,
		Limits: bucket.Limits{Rows: options.DynamicTargetRows.Get(o), Initial: max(options.DynamicInitial.Get(o), options.DynamicAssigners.Get(o)), Max: options.DynamicMax.Get(o)},
		Memory: options.LookupCacheMemory.Get(o), TTL: options.CrossTTL.Get(o), Clock: t.env.now,
		Writer: uuid.NewString(), Load: w.keys,
	}
	for _, p := range w.o.After {
		for _, d := range p.parts() {
			if d.Keys != nil {
				c.After = append(append(c.After, d.Keys.Writer), d.Keys.After...)
			}
		}
	}
	if w.o.fresh {
		if err := w.replaces(&c); err != nil {
			return nil, err
		}
	}
	return bucket.NewCrossing(c)
}

// replaces says which keys are of importance to rows that replace others.
func (w *Writer) replaces(c *bucket.CrossingConfig) error {
	ow := w.o.among
	if ow == nil || !ow.Dynamic && ow.Match == nil {
		c.Load = nil
		return nil
	}
	c.TTL, c.Replace = 0, bucket.ReplaceWritten
	if ow.Dynamic {
		if c.Move == bucket.DropRow {
			return unsupported("an overwrite of the partitions that rows come to, with merge-engine = first-row and a primary key that lacks partition columns; name the partitions and set dynamic-partition-overwrite to false (Static)")
		}
		return nil
	}
	c.Replace = bucket.ReplaceOthers
	c.Load = func(ctx context.Context, have func(arrow.RecordBatch, []byte, int) error) (int64, error) {
		return w.keysOf(ctx, plan.Request{Partition: func(p []byte) bool { ok, err := ow.Match(p); return !ok || err != nil }}, have)
	}
	return nil
}

// keys reads all keys that the table has.
func (w *Writer) keys(ctx context.Context, have func(arrow.RecordBatch, []byte, int) error) (int64, error) {
	return w.keysOf(ctx, plan.Request{}, have)
}

func (w *Writer) keysOf(ctx context.Context, ask plan.Request, have func(arrow.RecordBatch, []byte, int) error) (int64, error) {
	t := w.t
	snap, splits, err := w.keySplits(ctx, ask)
	if err != nil || snap == nil && len(splits) == 0 {
		return 0, err
	}
	id := int64(0)
	if snap != nil {
		id = snap.ID
	}
	req := read.Request{Fields: t.schema.FieldsNamed(t.schema.PrimaryKeys), Parallel: min(options.CrossBootstrap.Get(t.opts), runtime.GOMAXPROCS(0))}
	for p, err := range t.reader.Pieces(ctx, splits, req) {
		if err != nil && t.outrun(ctx, snap, err) {
			return 0, bucket.ErrAgain
		}
		if err != nil {
			return 0, t.wrap(err)
		}
		if err := have(p.RecordBatch, p.Split.Partition, p.Split.Bucket); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// keySplits plans the reading of all keys of the newest snapshot, as what is prepared and not yet committed changes it.
func (w *Writer) keySplits(ctx context.Context, ask plan.Request) (*snapshot.Snapshot, []plan.Split, error) {
	t := w.t
	snap, err := t.latest(ctx)
	if err != nil || snap == nil && len(w.o.After) == 0 {
		return nil, nil, err
	}
	var splits []plan.Split
	if snap != nil {
		if splits, err = t.planner.Splits(ctx, snap, ask); err == nil {
			err = t.checkSplits(ctx, splits)
		}
		if err != nil && t.outrun(ctx, snap, err) {
			return nil, nil, bucket.ErrAgain
		}
		if err != nil {
			return nil, nil, t.wrap(explain(err))
		}
	}
	if ttl := options.CrossTTL.Get(t.opts); ttl > 0 && !w.o.fresh {
		since := t.env.wallMillis() - ttl.Milliseconds()
		splits = slices.DeleteFunc(splits, func(s plan.Split) bool {
			return !slices.ContainsFunc(s.Files, func(f *manifest.DataFile) bool { return f.CreationMillis >= since })
		})
	}
	type bucketOf struct {
		partition string
		bucket    int
	}
	changed := map[bucketOf]bool{}
	for _, p := range w.o.After {
		for _, d := range p.parts() {
			changed[bucketOf{string(d.Partition), d.Bucket}] = true
		}
	}
	if len(changed) == 0 {
		return snap, splits, nil
	}
	// Buckets that change are merged as a whole.
	files := map[bucketOf][]*manifest.DataFile{}
	splits = slices.DeleteFunc(splits, func(s plan.Split) bool {
		k := bucketOf{string(s.Partition), s.Bucket}
		if changed[k] {
			files[k] = append(files[k], s.Files...)
		}
		return changed[k]
	})
	for k := range changed {
		loc := datafile.Location{Partition: []byte(k.partition), Bucket: k.bucket}
		s := plan.Split{Partition: loc.Partition, Bucket: loc.Bucket, TotalBuckets: dynamicBuckets, Files: w.afterwards(loc, files[k])}
		vectors, err := w.vectorsUpon(ctx, loc)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range s.Files {
			s.Vectors = append(s.Vectors, vectors.Place(f.Name))
		}
		splits = append(splits, s)
	}
	return snap, splits, nil
}

// renew has the index of keys loaded again if others have written rows since it was: between two commits, where nothing rests on it.
func (w *Writer) renew(ctx context.Context) error {
	if w.cross == nil || w.o.fresh || w.renewed || !w.w.Settled() {
		return nil
	}
	at, loaded, used := w.cross.Snapshot()
	if !loaded || used {
		return nil
	}
	c, err := w.t.committerOf()
	if err != nil {
		return err
	}
	latest, foreign, err := c.Foreign(ctx, w.o.User, at)
	if err != nil {
		return w.t.wrap(err)
	}
	w.renewed = true
	if !foreign {
		w.cross.Advance(latest)
		return nil
	}
	// What the buckets know of the newest versions is of the same time.
	if err := w.w.Reset(); err != nil {
		return w.t.wrap(err)
	}
	if err := w.cross.Forget(); err != nil {
		return fmt.Errorf("table %s: %w", w.t.id, err)
	}
	return nil
}
