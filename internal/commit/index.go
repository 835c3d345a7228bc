package commit

import (
	"slices"

	"github.com/tarnlake/tarn/internal/manifest"
)

// The types of index files that need care. All others are kept by name.
const (
	hashIndex       = "HASH"
	deletionVectors = "DELETION_VECTORS"
)

// indexKey is a bucket's index of a type, where there is one for each bucket.
type indexKey struct {
	partition string
	bucket    int
	typ       string
}

func indexKeyOf(e *manifest.IndexEntry) indexKey {
	return indexKey{string(e.Partition), e.Bucket, e.Type}
}

// combineIndex gives the index entries after the changes, in the order of the old ones, or why they
// do not go together. A hash index replaces the one of its bucket. Deletion vectors must not: whoever
// writes new ones says which file they replace, so that vectors of two writers cannot displace each
// other, in tables with buckets as well as in those without. has reports whether a data file is there
// after the changes; it may be nil if no deletion vectors are added.
func combineIndex(before, delta []manifest.IndexEntry, has func(k bucketKey, file string) bool) ([]manifest.IndexEntry, *conflict) {
	out := slices.Clone(before)
	at := func(match func(e *manifest.IndexEntry) bool) int {
		return slices.IndexFunc(out, func(e manifest.IndexEntry) bool { return match(&e) })
	}
	delta = withoutPassing(delta)
	for i := range delta {
		d := &delta[i]
		if d.Kind != manifest.Delete {
			continue
		}
		j := at(func(e *manifest.IndexEntry) bool { return e.Name == d.Name && indexKeyOf(e) == indexKeyOf(d) })
		switch {
		case j >= 0:
			out = slices.Delete(out, j, j+1)
		case d.Type != hashIndex:
			return nil, conflictf("index file %s, which is to be replaced, is gone: another commit has replaced it", d.Name)
		}
	}
	for i := range delta {
		d := &delta[i]
		if d.Kind != manifest.Add {
			continue
		}
		if at(func(e *manifest.IndexEntry) bool { return e.Name == d.Name }) >= 0 {
			return nil, conflictf("index file %s is there already", d.Name)
		}
		switch d.Type {
		case hashIndex:
			if j := at(func(e *manifest.IndexEntry) bool { return indexKeyOf(e) == indexKeyOf(d) }); j >= 0 {
				out[j] = *d
				continue
			}
		case deletionVectors:
			if cf := checkVectors(out, d, has); cf != nil {
				return nil, cf
			}
		}
		out = append(out, *d)
	}
	return out, nil
}

// withoutPassing leaves out index files that some of what is committed together has added, and a later part replaced.
func withoutPassing(delta []manifest.IndexEntry) []manifest.IndexEntry {
	added, passing := map[string]bool{}, map[string]bool{}
	for i := range delta {
		if e := &delta[i]; e.Kind == manifest.Add {
			added[e.Name] = true
		} else if added[e.Name] {
			passing[e.Name] = true
		}
	}
	if len(passing) == 0 {
		return delta
	}
	return slices.DeleteFunc(slices.Clone(delta), func(e manifest.IndexEntry) bool { return passing[e.Name] })
}

// checkVectors: a data file has at most one deletion vector, and only while it is there.
func checkVectors(have []manifest.IndexEntry, d *manifest.IndexEntry, has func(bucketKey, string) bool) *conflict {
	for i := range have {
		e := &have[i]
		if e.Type != deletionVectors || string(e.Partition) != string(d.Partition) || e.Bucket != d.Bucket {
			continue
		}
		for _, v := range d.Vectors {
			if slices.ContainsFunc(e.Vectors, func(w manifest.VectorRange) bool { return w.File == v.File }) {
				return conflictf("data file %s has got another deletion vector meanwhile", v.File)
			}
		}
	}
	for _, v := range d.Vectors {
		if has != nil && !has(bucketKey{string(d.Partition), d.Bucket}, v.File) {
			return conflictf("data file %s, whose rows are to be deleted, is gone", v.File)
		}
	}
	return nil
}

// applied is a deletion vector of a file that is removed, by whoever has left its rows out of what replaces the file.
type applied struct {
	bucketKey
	manifest.AppliedVector
}

// dropApplied takes deletion vectors out of the entries, of which the index files stay as they are while others in them are
// needed. One that is not there any more is a conflict: the rows left out may be others now.
func dropApplied(entries []manifest.IndexEntry, drop []applied) ([]manifest.IndexEntry, *conflict) {
	for _, d := range drop {
		i := slices.IndexFunc(entries, func(e manifest.IndexEntry) bool {
			return e.Name == d.Index && e.Type == deletionVectors && e.Bucket == d.bucket && string(e.Partition) == d.partition
		})
		k := -1
		if i >= 0 {
			k = slices.IndexFunc(entries[i].Vectors, func(v manifest.VectorRange) bool { return v.File == d.File && v.Offset == d.Offset })
		}
		if k < 0 {
			return nil, conflictf("the deletion vector of data file %s, whose rows were left out, has been replaced meanwhile", d.File)
		}
		e := &entries[i]
		e.Vectors = slices.Delete(slices.Clone(e.Vectors), k, k+1)
		if e.Rows = int64(len(e.Vectors)); e.Rows == 0 {
			entries = slices.Delete(entries, i, i+1)
		}
	}
	return entries, nil
}

// checkOrphanVectors: a file must not be removed by a commit that has not seen its deletion vector;
// the rows it deletes would come back.
func checkOrphanVectors(after []manifest.IndexEntry, files []manifest.Entry, has func(bucketKey, string) bool) *conflict {
	removed := map[bucketKey]map[string]bool{}
	for i := range files {
		e := &files[i]
		k := bucketKey{string(e.Partition), e.Bucket}
		if e.Kind == manifest.Delete && !has(k, e.File.Name) {
			if removed[k] == nil {
				removed[k] = map[string]bool{}
			}
			removed[k][e.File.Name] = true
		}
	}
	for i := range after {
		e := &after[i]
		gone := removed[bucketKey{string(e.Partition), e.Bucket}]
		for _, v := range e.Vectors {
			if gone[v.File] {
				return conflictf("data file %s, which is to be removed, has got a deletion vector meanwhile", v.File)
			}
		}
	}
	return nil
}
