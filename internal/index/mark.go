package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tarnlake/tarn/internal/manifest"
)

// Bucket is the deletion vectors of one bucket, as a snapshot has them.
type Bucket struct {
	store     *Store
	partition []byte
	bucket    int
	entries   []manifest.IndexEntry
	places    Places
}

// BucketOf finds the deletion vectors of a bucket among the entries of an index manifest.
func (s *Store) BucketOf(entries []manifest.IndexEntry, partition []byte, bucket int) (*Bucket, error) {
	mine := func(e *manifest.IndexEntry) bool {
		return e.Type == DeletionVectors && e.Bucket == bucket && string(e.Partition) == string(partition)
	}
	b := &Bucket{store: s, partition: partition, bucket: bucket}
	var err error
	if b.places, err = PlacesOf(entries, mine); err != nil {
		return nil, err
	}
	for i := range entries {
		if mine(&entries[i]) {
			b.entries = append(b.entries, entries[i])
		}
	}
	return b, nil
}

// Place says where the deletion vector of a file is, nil if it has none. A nil Bucket has none.
func (b *Bucket) Place(file string) *Place {
	if b == nil {
		return nil
	}
	return b.places.Of(b.partition, b.bucket, file)
}

// Applied reads the vectors of those of the data files that have one: the rows that they delete, by name of file, and where
// that is said.
func (b *Bucket) Applied(ctx context.Context, files []*manifest.DataFile) (map[string]*Vector, []manifest.AppliedVector, error) {
	gone := map[string]*Vector{}
	var applied []manifest.AppliedVector
	for _, f := range files {
		p := b.places.Of(b.partition, b.bucket, f.Name)
		if p == nil {
			continue
		}
		v, err := b.store.Vector(ctx, p, f.Rows)
		if err != nil {
			return nil, nil, err
		}
		gone[f.Name] = v
		applied = append(applied, manifest.AppliedVector{File: f.Name, Index: p.Name, Offset: p.Offset})
	}
	return gone, applied, nil
}

// Mark adds rows to the vectors of data files, drops those of other files, writes what has changed, and gives the index entries
// that say so: deletes of index files that are replaced, and adds. After an error what was written is given still, to be deleted.
//
// Without a target size all vectors of the bucket come into one file; else index files that hold none of these data files stay.
func (b *Bucket) Mark(ctx context.Context, rows map[string]*Vector, dropped map[string]bool) ([]manifest.IndexEntry, error) {
	var out []manifest.IndexEntry
	var vectors []FileVector
	done := map[string]bool{}
	for i := range b.entries {
		e := &b.entries[i]
		if b.store.c.TargetSize > 0 && !slices.ContainsFunc(e.Vectors, func(v manifest.VectorRange) bool { return rows[v.File].Count() > 0 || dropped[v.File] }) {
			continue
		}
		old := *e
		old.Kind = manifest.Delete
		out = append(out, old)
		for _, r := range e.Vectors {
			if dropped[r.File] {
				continue
			}
			v, err := b.store.Vector(ctx, b.places.Of(b.partition, b.bucket, r.File), -1)
			if err != nil {
				return nil, err
			}
			vectors = append(vectors, FileVector{r.File, v.Union(rows[r.File])})
			done[r.File] = true
		}
	}
	for f, v := range rows {
		if !done[f] {
			vectors = append(vectors, FileVector{f, v})
		}
	}
	slices.SortFunc(vectors, func(x, y FileVector) int {
		if x.File < y.File {
			return -1
		}
		return 1
	})
	added, err := b.store.Write(ctx, b.partition, b.bucket, vectors)
	if err != nil {
		return added, fmt.Errorf("index: bucket %d: %w", b.bucket, err)
	}
	return append(out, added...), nil
}

// All reads all vectors of the bucket, by name of data file.
func (b *Bucket) All(ctx context.Context) (map[string]*Vector, error) {
	all := map[string]*Vector{}
	for i := range b.entries {
		for _, r := range b.entries[i].Vectors {
			v, err := b.store.Vector(ctx, b.places.Of(b.partition, b.bucket, r.File), -1)
			if err != nil {
				return nil, err
			}
			all[r.File] = v
		}
	}
	return all, nil
}

// Replace writes all vectors of the bucket anew, and gives the index entries that say so and the paths of what was written. What
// comes after it replaces what it has written. After an error the Bucket is as before.
func (b *Bucket) Replace(ctx context.Context, vectors map[string]*Vector) ([]manifest.IndexEntry, []string, error) {
	list := make([]FileVector, 0, len(vectors))
	for _, f := range slices.Sorted(maps.Keys(vectors)) {
		list = append(list, FileVector{f, vectors[f]})
	}
	added, err := b.store.Write(ctx, b.partition, b.bucket, list)
	var paths []string
	for i := range added {
		if err == nil {
			var p string
			_, p, err = b.store.path(ctx, b.partition, b.bucket, added[i].Name, added[i].External)
			paths = append(paths, p)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("index: bucket %d: %w", b.bucket, err), b.store.Delete(ctx, added...))
	}
	out := make([]manifest.IndexEntry, 0, len(b.entries)+len(added))
	for _, e := range b.entries {
		e.Kind = manifest.Delete
		out = append(out, e)
	}
	b.entries = added
	return append(out, added...), paths, nil
}
