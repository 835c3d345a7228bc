// Package plan turns a snapshot and a filter into splits: the pieces of work of a read.
package plan

import (
	"cmp"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
)

// Split is some files of one bucket that are read together by one reader. It is plain data.
type Split struct {
	SnapshotID   int64
	Partition    []byte // BinaryRow with arity
	Bucket       int
	TotalBuckets int
	Files        []*manifest.DataFile
	// Raw splits need no merging: every row of every file is a row of the table.
	Raw bool
	// Kinds is set if the rows are changes, of the kinds that the files have: no two of them are merged, none is dropped.
	Kinds bool
	// Gone is set if the rows are those that a snapshot took away: all are deletes.
	Gone bool
	// Deletes is set if a merge gives keys that are deleted, too, as rows with kinds.
	Deletes bool
	// Diff is set if the rows are those in which a state of the bucket, Files, differs from an earlier one, Before.
	Diff   bool
	Before []*manifest.DataFile
	// Vectors says of each of Files where its deletion vector is, nil for one that has none; it is nil if none has.
	Vectors []*index.Place
	// VectorsBefore is Vectors of Before.
	VectorsBefore []*index.Place
	// FirstFile is the number of the first of Files among those of the plan, where rows are asked where they lie.
	FirstFile int
}

// liveRows is the number of rows of a file that are sure not to be deleted. Releases before 1.0 did not count those that are.
func liveRows(f *manifest.DataFile, v *index.Place) int64 {
	switch {
	case v == nil:
		return f.Rows
	case v.Cardinality < 0:
		return 0
	}
	return f.Rows - v.Cardinality
}

// Rows is the number of rows in the split's files, before merging; rows that deletion vectors delete count.
func (s *Split) Rows() int64 {
	var n int64
	for _, f := range s.Files {
		n += f.Rows
	}
	return n
}

// mark gives the split the deletion vectors of its files.
func (s *Split) mark(places index.Places) { s.Vectors = s.vectorsOf(s.Files, places) }

func (s *Split) vectorsOf(files []*manifest.DataFile, places index.Places) []*index.Place {
	var out []*index.Place
	for i, f := range files {
		v := places.Of(s.Partition, s.Bucket, f.Name)
		if v == nil {
			continue
		}
		if out == nil {
			out = make([]*index.Place, len(files))
		}
		out[i] = v
	}
	return out
}

// limit keeps the files that give the first n rows, and tells how many rows are sure to come.
func (s *Split) limit(n int64) int64 {
	var rows int64
	for i, f := range s.Files {
		var v *index.Place
		if s.Vectors != nil {
			v = s.Vectors[i]
		}
		if rows += liveRows(f, v); rows >= n {
			s.Files = s.Files[:i+1]
			s.Vectors = s.Vectors[:min(i+1, len(s.Vectors))]
			break
		}
	}
	return rows
}

// Size is the size of the split's files in bytes.
func (s *Split) Size() int64 {
	var n int64
	for _, f := range s.Files {
		n += f.Size
	}
	return n
}

// Packing says how large splits get: `source.split.target-size`, `source.split.open-file-cost`.
type Packing struct{ TargetSize, OpenCost int64 }

// pack puts items into bins in their order: a bin is closed when the next item would make it larger
// than the target.
func pack[T any](items []T, weight func(T) int64, target int64) [][]T {
	var out [][]T
	var cur []T
	var size int64
	for _, it := range items {
		w := weight(it)
		if cur != nil && size+w > target {
			out, cur, size = append(out, cur), nil, 0
		}
		cur, size = append(cur, it), size+w
	}
	if cur != nil {
		out = append(out, cur)
	}
	return out
}

// appendSplits packs the files of a bucket of an append table, in the order of their rows.
func appendSplits(files []*manifest.DataFile, p Packing) [][]*manifest.DataFile {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *manifest.DataFile) int { return cmp.Compare(a.MinSequence, b.MinSequence) })
	return pack(files, p.weight, p.TargetSize)
}

func (p Packing) weight(f *manifest.DataFile) int64 { return max(f.Size, p.OpenCost) }

// group is some files of a bucket and whether they can be read without merging.
type group struct {
	files []*manifest.DataFile
	raw   bool
}

// mergeSplits cuts the files of a bucket of a primary-key table. Files with keys in common stay
// together. A group needs no merging if its files are of one level above 0 and hold no deletes, or
// if it is one file without deletes.
//
// With deletion vectors no version of a row is left above level 0 but the newest: files of several levels need none either.
func mergeSplits(files []*manifest.DataFile, order *datafile.KeyOrder, p Packing, vectors bool) ([]group, error) {
	raw := true
	for _, f := range files {
		raw = raw && f.Level != 0 && (vectors || f.Level == files[0].Level) && withoutDeletes(f)
	}
	var out []group
	if raw {
		for _, g := range pack(files, p.weight, p.TargetSize) {
			out = append(out, group{g, true})
		}
		return out, nil
	}
	sections, err := order.Sections(files)
	if err != nil {
		return nil, err
	}
	weight := func(section []*manifest.DataFile) int64 {
		var n int64
		for _, f := range section {
			n += f.Size
		}
		return max(n, p.OpenCost)
	}
	for _, bin := range pack(sections, weight, p.TargetSize) {
		g := group{files: slices.Concat(bin...)}
		g.raw = len(g.files) == 1 && withoutDeletes(g.files[0])
		out = append(out, g)
	}
	return out, nil
}

// withoutDeletes: versions before 0.8 did not count deletes and files of level 0 may hold them; they
// are dropped only where levels are merged to the top, so a count that is missing is no promise.
func withoutDeletes(f *manifest.DataFile) bool { return f.DeleteRows == 0 }
