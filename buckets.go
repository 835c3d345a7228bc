package tarn

import (
	"context"
	"slices"

	"github.com/tarnlake/tarn/internal/bucket"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/write"
)

// Values of the option bucket that are no number of buckets.
const (
	dynamicBuckets  = -1 // of tables with a primary key
	postponeBuckets = -2
)

// routing says how the Writer's rows find their buckets.
func (w *Writer) routing() (write.RouteConfig, error) {
	t := w.t
	c := write.RouteConfig{Fields: t.schema.Fields, PartitionKeys: t.schema.PartitionKeys, Buckets: t.buckets(), BucketFunction: options.BucketFunction.Get(t.opts)}
	switch b := t.buckets(); {
	case b > 0:
		c.BucketKeys = t.schema.BucketKeys()
	case !t.HasPrimaryKey():
	case b == dynamicBuckets && t.crossesPartitions():
		var err error
		if w.cross, err = w.crossing(); err != nil {
			return c, err
		}
		c.Mover = w.cross
	case b == dynamicBuckets:
		for _, f := range t.schema.TrimmedPrimaryKey() {
			c.BucketKeys = append(c.BucketKeys, f.Name)
		}
		c.Assigner = w.dynamic()
	case b == postponeBuckets:
		c.Aside = !options.PostponeBatchFixed.Get(t.opts) && t.rescaleTo == 0
		c.BucketKeys = t.schema.BucketKeys()
		c.Totals = bucket.NewTotals(t.id.String(), options.PostponeBuckets.Get(t.opts), w.content).Of
		if n := t.rescaleTo; n > 0 {
			c.Totals = func(context.Context, []byte) (int, error) { return n, nil }
		}
	}
	return c, nil
}

// crossesPartitions reports whether a key may move from one partition to another.
func (t *Table) crossesPartitions() bool {
	return slices.ContainsFunc(t.schema.PartitionKeys, func(k string) bool { return !slices.Contains(t.schema.PrimaryKeys, k) })
}

// dynamic makes the assigner of dynamic buckets.
func (w *Writer) dynamic() *bucket.Dynamic {
	t := w.t
	c := bucket.Config{
		Table: t.id.String(), Store: t.files, Keys: t.schema.TrimmedPrimaryKey(), Content: w.hashed,
		Limits: bucket.Limits{Rows: options.DynamicTargetRows.Get(t.opts), Initial: options.DynamicInitial.Get(t.opts), Max: options.DynamicMax.Get(t.opts)},
		Rebuilt: func(loc datafile.Location, why error) {
			t.env.log.Warn("a hash index was made anew from data files", "table", t.id.String(), "bucket", loc.Bucket, "err", why)
		},
	}
	if c.Limits.Initial == 0 {
		c.Limits.Initial = options.DynamicAssigners.Get(t.opts)
	}
	if w.o.fresh {
		c.Content = nil
	}
	return bucket.NewDynamic(c)
}

// content gives the files of a partition, with those that are prepared and not yet committed.
func (w *Writer) content(ctx context.Context, partition []byte) ([]manifest.Entry, error) {
	_, files, err := w.t.newestEntries(ctx, plan.Request{Partition: func(p []byte) bool { return string(p) == string(partition) }})
	if err != nil {
		return nil, err
	}
	for _, p := range w.o.After {
		for _, d := range p.parts() {
			if string(d.Partition) != string(partition) {
				continue
			}
			for f := range d.NewFiles() {
				files = append(files, manifest.Entry{Bucket: d.Bucket, TotalBuckets: d.TotalBuckets, File: f})
			}
		}
	}
	return files, nil
}

// hashed gives the hash indexes of a partition and its files, as what is prepared and not yet committed changes them.
func (w *Writer) hashed(ctx context.Context, partition []byte) (bucket.Content, error) {
	snap, files, err := w.t.newestEntries(ctx, plan.Request{Partition: func(p []byte) bool { return string(p) == string(partition) }})
	if err != nil {
		return bucket.Content{}, err
	}
	out := bucket.Content{Files: files}
	if out.Indexes, err = w.t.hashIndexes(ctx, snap, partition); err != nil {
		return out, err
	}
	for _, p := range w.o.After {
		for _, d := range p.parts() {
			if string(d.Partition) != string(partition) {
				continue
			}
			for _, f := range d.Added {
				out.Files = append(out.Files, manifest.Entry{Bucket: d.Bucket, File: f})
			}
			for _, e := range d.Index {
				if e.Type != index.Hash || e.Kind != manifest.Add {
					continue
				}
				e.Bucket = d.Bucket
				out.Indexes = append(slices.DeleteFunc(out.Indexes, func(o manifest.IndexEntry) bool { return o.Bucket == e.Bucket }), e)
			}
		}
	}
	return out, nil
}

func (t *Table) hashIndexes(ctx context.Context, snap *snapshot.Snapshot, partition []byte) ([]manifest.IndexEntry, error) {
	if snap == nil || snap.IndexManifest == "" {
		return nil, nil
	}
	all, err := t.manifests.ReadIndex(ctx, snap.IndexManifest)
	if err != nil {
		return nil, t.wrap(err)
	}
	var out []manifest.IndexEntry
	for _, e := range all {
		if e.Type == index.Hash && string(e.Partition) == string(partition) {
			out = append(out, e)
		}
	}
	return out, nil
}
