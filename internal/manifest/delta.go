package manifest

import "iter"

// Delta is what a writer of one bucket has prepared since its last commit: the files to add and to take
// away. It is plain data; files that it names exist already.
type Delta struct {
	Partition    []byte // BinaryRow with arity
	Bucket       int
	TotalBuckets int // of the partition: the table option `bucket` when the files were written

	// What was written, committed as one snapshot.
	Added     []*DataFile
	Deleted   []*DataFile // files that were rewritten to remove or change rows
	Changelog []*DataFile
	Index     []IndexEntry // partition and bucket are those of the Delta

	// What was compacted, committed as a second snapshot.
	CompactBefore    []*DataFile
	CompactAfter     []*DataFile
	CompactChangelog []*DataFile
	CompactIndex     []IndexEntry
	// Applied are the deletion vectors of files of CompactBefore: their rows are not in CompactAfter. They go with the files.
	Applied []AppliedVector `json:",omitempty"`

	// Paths of all new files, to be made durable before they are committed.
	Paths []string

	// Upon is what a table with dynamic buckets was written upon; nil for others, and where partitions are replaced.
	Upon *HashIndexes `json:",omitempty"`
	// Keys is what a table whose keys move between partitions was written upon; nil for others, and where partitions are replaced.
	Keys *KeyIndex `json:",omitempty"`
}

// AppliedVector names a deletion vector, by the index file that it was read from: a later one of the same data file has more rows.
type AppliedVector struct {
	File   string // whose rows it deletes
	Index  string
	Offset int64 // in the index file
}

// KeyIndex is what a writer knew of where all keys are.
type KeyIndex struct {
	Snapshot int64    // all keys up to this one, and what the writer itself and those before it have written
	Writer   string   // its name
	After    []string // names of writers before it
}

// HashIndexes names all hash indexes that a partition has: they tell in which bucket each key is.
type HashIndexes struct {
	Names []string
}

// HasAppend reports whether the first snapshot has anything to say.
func (d *Delta) HasAppend() bool {
	return len(d.Added)+len(d.Deleted)+len(d.Changelog)+len(d.Index) > 0
}

// HasCompact reports the same of the second snapshot.
func (d *Delta) HasCompact() bool {
	return len(d.CompactBefore)+len(d.CompactAfter)+len(d.CompactChangelog)+len(d.CompactIndex) > 0
}

// Empty reports whether there is nothing to commit.
func (d *Delta) Empty() bool { return !d.HasAppend() && !d.HasCompact() }

// NewFiles gives the files that exist for this delta alone, in the order of its lists. Files of the table
// that were only moved to another level are not among them; files that were written and compacted since the
// last commit are, for the first snapshot has them. A file that moved after it was added comes twice.
func (d *Delta) NewFiles() iter.Seq[*DataFile] {
	return func(yield func(*DataFile) bool) {
		old := map[string]bool{}
		for _, f := range d.CompactBefore {
			old[f.Name] = true
		}
		for _, f := range d.Added {
			delete(old, f.Name)
		}
		for _, files := range [][]*DataFile{d.Added, d.Changelog, d.CompactAfter, d.CompactChangelog} {
			for _, f := range files {
				if !old[f.Name] && !yield(f) {
					return
				}
			}
		}
	}
}

// NewIndexes gives the index files that exist for this delta alone; their place is that of the Delta.
func (d *Delta) NewIndexes() iter.Seq[*IndexEntry] {
	return func(yield func(*IndexEntry) bool) {
		for _, entries := range [][]IndexEntry{d.Index, d.CompactIndex} {
			for i := range entries {
				if entries[i].Kind == Add && !yield(&entries[i]) {
					return
				}
			}
		}
	}
}
