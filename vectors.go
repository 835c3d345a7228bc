package tarn

import (
	"context"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// vectors reads and writes the deletion vectors of data files.
func (t *Table) vectors() *index.Store {
	c := index.Config{
		FS: t.env.fs, Path: t.paths.Index, External: t.external, NewName: t.paths.NewIndexName, Bitmap64: options.VectorBitmap64.Get(t.opts),
	}
	if !t.HasPrimaryKey() && t.buckets() < 0 {
		c.TargetSize = options.VectorFileSize.Get(t.opts)
	}
	return index.NewStore(c)
}

// vectorsOf finds the deletion vectors that a bucket has in a snapshot; nil: there is none.
func (t *Table) vectorsOf(ctx context.Context, snap *snapshot.Snapshot, loc datafile.Location) (*index.Bucket, error) {
	var entries []manifest.IndexEntry
	if snap != nil && snap.IndexManifest != "" {
		var err error
		if entries, err = t.manifests.ReadIndex(ctx, snap.IndexManifest); err != nil {
			return nil, t.wrap(err)
		}
	}
	b, err := t.vectors().BucketOf(entries, loc.Partition, loc.Bucket)
	if err != nil {
		return nil, t.wrap(err)
	}
	return b, nil
}

// gone gives compactions the rows of files that are deleted now, nil for tables without deletion vectors.
func (t *Table) gone() func(context.Context, datafile.Location, []*manifest.DataFile) (map[string]format.Rows, []manifest.AppliedVector, error) {
	if !options.DeletionVectors.Get(t.opts) {
		return nil
	}
	return func(ctx context.Context, loc datafile.Location, files []*manifest.DataFile) (map[string]format.Rows, []manifest.AppliedVector, error) {
		snap, err := t.latest(ctx)
		if err != nil {
			return nil, nil, err
		}
		b, err := t.vectorsOf(ctx, snap, loc)
		if err != nil {
			return nil, nil, err
		}
		vectors, applied, err := b.Applied(ctx, files)
		if err != nil {
			return nil, nil, err
		}
		out := map[string]format.Rows{}
		for name, v := range vectors {
			out[name] = v
		}
		return out, applied, nil
	}
}

// vectorsUpon gives the deletion vectors of a bucket that the Writer writes upon, nil for tables without.
func (w *Writer) vectorsUpon(ctx context.Context, loc datafile.Location) (*index.Bucket, error) {
	t := w.t
	if !options.DeletionVectors.Get(t.opts) {
		return nil, nil
	}
	var snap *snapshot.Snapshot
	if !w.o.fresh {
		var err error
		if snap, err = t.latest(ctx); err != nil {
			return nil, err
		}
	}
	var entries []manifest.IndexEntry
	if snap != nil && snap.IndexManifest != "" {
		var err error
		if entries, err = t.manifests.ReadIndex(ctx, snap.IndexManifest); err != nil {
			return nil, t.wrap(err)
		}
	}
	for _, p := range w.o.After {
		for _, d := range p.parts() {
			if d.Bucket != loc.Bucket || string(d.Partition) != string(loc.Partition) {
				continue
			}
			for _, e := range d.CompactIndex {
				entries = slices.DeleteFunc(slices.Clone(entries), func(x manifest.IndexEntry) bool { return x.Name == e.Name })
				if e.Kind == manifest.Add {
					e.Partition, e.Bucket = d.Partition, d.Bucket
					entries = append(entries, e)
				}
			}
		}
	}
	b, err := t.vectors().BucketOf(entries, loc.Partition, loc.Bucket)
	if err != nil {
		return nil, t.wrap(err)
	}
	return b, nil
}

// goneOf reads the deletion vectors of files of a split.
func (t *Table) goneOf(ctx context.Context, files []*manifest.DataFile, vectors []*index.Place) (map[string]*index.Vector, error) {
	var gone map[string]*index.Vector
	for i, p := range vectors {
		if p == nil {
			continue
		}
		v, err := t.vectors().Vector(ctx, p, files[i].Rows)
		if err != nil {
			return nil, err
		}
		if gone == nil {
			gone = map[string]*index.Vector{}
		}
		gone[p.File] = v
	}
	return gone, nil
}

// checkSwitch refuses to switch deletion vectors on while keys have several versions in the files, or off while there are some:
// rows would come twice, or come back (BUGS B083).
func (t *Table) checkSwitch(ctx context.Context, snap *snapshot.Snapshot, changes []SchemaChange) error {
	key := options.DeletionVectors.Key()
	to := map[string]string{}
	for _, c := range changes {
		switch x := c.(type) {
		case SetOption:
			to[x.Key] = x.Value
		case ResetOption:
			to[x.Key] = "false"
		}
	}
	if _, ok := to[key]; !ok || snap == nil {
		return nil
	}
	on := options.DeletionVectors.Get(options.Of(map[string]string{key: to[key]}, t.schema.Version))
	if on == options.DeletionVectors.Get(t.opts) {
		return nil
	}
	if !on {
		var entries []manifest.IndexEntry
		if snap.IndexManifest != "" {
			var err error
			if entries, err = t.manifests.ReadIndex(ctx, snap.IndexManifest); err != nil {
				return t.wrap(err)
			}
		}
		if slices.ContainsFunc(entries, func(e manifest.IndexEntry) bool { return e.Type == index.DeletionVectors }) {
			return invalid("alter table %s: option %s=false: there are deletion vectors, the rows that they delete would come back: rewrite the table first (INSERT OVERWRITE)", t.id, key)
		}
		return nil
	}
	if !t.HasPrimaryKey() {
		return nil
	}
	entries, err := t.planner.Entries(ctx, snap, plan.Request{})
	if err != nil {
		return t.wrap(err)
	}
	levels := map[string]int{}
	for i := range entries {
		e := &entries[i]
		k := fmt.Sprintf("%x/%d", e.Partition, e.Bucket)
		if level, seen := levels[k]; e.File.Level == 0 || seen && level != e.File.Level {
			return invalid("alter table %s: option %s=true: bucket %d has files of several levels, in which keys may come more than once: compact the table fully first", t.id, key, e.Bucket)
		}
		levels[k] = e.File.Level
	}
	return nil
}
