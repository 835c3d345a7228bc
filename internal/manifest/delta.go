package manifest

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

	// Paths of all new files, to be made durable before they are committed.
	Paths []string
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
