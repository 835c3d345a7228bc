package tarn

import (
	"context"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
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
