// Package manifest reads and writes manifests, manifest lists and index manifests: Avro files that
// say which data files a snapshot has. Specification: concepts/spec/manifest.
package manifest

// Kind of an entry: whether it adds or removes a file.
type Kind int8

const (
	Add    Kind = 0
	Delete Kind = 1
)

// FileSource says what made a data file.
type FileSource int8

const (
	SourceUnknown FileSource = -1 // not recorded (before 0.9)
	SourceAppend  FileSource = 0
	SourceCompact FileSource = 1
)

// Stats are the statistics of some columns of a file, as in the manifest: BinaryRows with their
// arity in front, and null counts (nil: none; -1: NULL in the file).
type Stats struct {
	Min, Max   []byte
	NullCounts []int64
}

// MaxLevel is the highest level that a file may be on: levels take memory of their bucket, used or not.
const MaxLevel = 1<<16 - 1

// DataFile is the metadata of a data file (`_FILE`). Members that a table's version does not know
// have the value that stands for "absent". It is immutable.
type DataFile struct {
	Name              string
	Size              int64
	Rows              int64
	MinKey, MaxKey    []byte // BinaryRow with arity of the trimmed primary key; empty row for append tables
	KeyStats          Stats
	ValueStats        Stats
	MinSequence       int64
	MaxSequence       int64
	SchemaID          int64
	Level             int
	ExtraFiles        []string
	CreationMillis    int64 // wall clock of the writer, as if in UTC
	DeleteRows        int64 // rows of kind -D and -U; -1 absent (before 0.8)
	EmbeddedIndex     []byte
	Source            FileSource
	ValueStatsCols    []string // nil absent: ValueStats has all columns
	HasValueStatsCols bool
	ExternalPath      string // "" absent
	FirstRowID        int64  // -1 absent
	WriteCols         []string
	HasWriteCols      bool
	// Unknown holds fields that this version does not know, encoded, to be kept on rewrite.
	Unknown []byte
}

// Entry is a line of a manifest.
type Entry struct {
	Kind         Kind
	Partition    []byte // BinaryRow with arity
	Bucket       int
	TotalBuckets int
	File         *DataFile
}

// List names a manifest list as a snapshot does.
type List struct {
	Name string // "" none
	Size *int64 // in bytes; nil not told (before 1.1)
}

// Meta describes a manifest in a manifest list.
type Meta struct {
	Name           string
	Size           int64
	Added, Deleted int64
	PartitionStats Stats
	SchemaID       int64
	// Ranges over the entries, present from 1.4 on.
	HasRanges            bool
	MinBucket, MaxBucket int
	MinLevel, MaxLevel   int
	HasRowIDs            bool
	MinRowID, MaxRowID   int64
	Unknown              []byte // as in DataFile
}

// IndexEntry is a line of an index manifest.
type IndexEntry struct {
	Kind      Kind
	Partition []byte
	Bucket    int
	Type      string // HASH, DELETION_VECTORS, …
	Name      string
	Size      int64
	Rows      int64
	Vectors   []VectorRange // DELETION_VECTORS: where the vector of each data file is
	External  string
	Global    []byte // _GLOBAL_INDEX, encoded, kept on rewrite
	Unknown   []byte // as in DataFile
}

// VectorRange is the place of a data file's deletion vector within an index file.
type VectorRange struct {
	File        string
	Offset      int64 // of the length field
	Length      int64 // of magic and bitmap
	Cardinality int64 // -1 absent
}
