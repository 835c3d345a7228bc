// Package format defines what a file format has to do: turn the bytes of a data file into batches
// and back. One sub-package implements each format.
package format

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// Format reads and writes data files of one kind. It is stateless.
type Format interface {
	// Name is the identifier in `file.format` and the extension of files: "parquet".
	Name() string
	// NewReader opens a data file. It reads the footer, no rows.
	NewReader(ctx context.Context, f fileio.File, opts ReadOptions) (Reader, error)
	// NewWriter starts a data file of the given columns.
	NewWriter(w io.Writer, fields []types.Field, opts WriteOptions) (Writer, error)
}

// ReadOptions say what to read.
type ReadOptions struct {
	// Fields are the columns wanted, in the order wanted, with the types that the rows shall have
	// (types.WideArrowSchema). They are found in the file by name, members of ROWs too. A column that
	// the file does not have is all NULL. The file's physical type may be another one that holds
	// the same values (INT96 for a timestamp, FIXED_LEN_BYTE_ARRAY for a decimal, legacy lists); a
	// type that cannot hold them is an error naming the file's and the wanted type.
	Fields []types.Field
	// Filter may be used to leave out rows that cannot match (row groups, pages). It is a help, not
	// a duty: rows that do not match may come. It refers to columns by name and may name columns that are
	// not in Fields. It is nil for none.
	Filter predicate.Predicate
	// Sparse allows to leave out rows that do not match inside of batches too: those batches are no runs
	// of the file, and of their rows only the first one's Position is known.
	Sparse bool
	// Gone are rows that must not come, as if the file did not have them; nil for none. Numbers of rows, as Position
	// gives them, stay those of the file.
	Gone Rows
	// BatchRows is the most rows of a batch, 0 for the default (8192).
	BatchRows int
	// LowMemory asks for reading page by page with small buffers, as merges with many open files
	// need, instead of reading ahead whole column chunks.
	LowMemory bool
}

// Run is some rows of a file that follow each other: [From, To).
type Run struct{ From, To int64 }

// Rows is a set of rows of a file, by their number in it.
type Rows interface {
	// Runs appends the runs of rows in [from, to) that are in the set, in their order.
	Runs(dst []Run, from, to int64) []Run
}

// Reader reads a file. Batches are runs of consecutive rows of the file (but see
// ReadOptions.Sparse); between two batches rows may be left out.
type Reader interface {
	batch.Reader
	// Position is the number in the file (from 0) of the first row of the batch that Next returned last.
	Position() int64
	// NumRows is the number of rows in the file.
	NumRows() int64
}

// WriteOptions are the table options that matter to a writer, by the format's defaults if zero.
type WriteOptions struct {
	Compression      string            // none, snappy, gzip, lz4, zstd; "" is zstd
	CompressionLevel int               // zstd level, 0 is 1
	BlockSize        int64             // bytes of a row group or stripe (file.block-size), 0 is 128 MB
	Options          map[string]string // the table's options, for keys of the format's own ("parquet.…")
	// Stats says for each field which statistics are wanted, nil for all of StatsTruncate16.
	Stats []StatsMode
}

// StatsMode is the kind of column statistics kept in manifests (`metadata.stats-mode`).
type StatsMode struct {
	Kind   StatsKind
	Length int // StatsTruncate: characters kept
}

// StatsKind of a StatsMode.
type StatsKind uint8

const (
	StatsTruncate StatsKind = iota // null count, and bounds cut to Length characters; Length 0 means 16
	StatsFull                      // null count and exact bounds
	StatsCounts                    // null count only
	StatsNone
)

// Writer writes a file.
type Writer interface {
	// Write takes rows of the writer's columns. It may keep the batch: arrays are immutable.
	Write(rec arrow.RecordBatch) error
	// Size is the number of bytes of the file so far, with an estimate for what is not yet written:
	// it decides about rolling over to a new file.
	Size() int64
	// Buffered is the number of bytes of memory held.
	Buffered() int64
	// Close ends the file (not the underlying writer) and gives the statistics of its columns, in
	// their order.
	Close() ([]ColumnStats, error)
}

// ColumnStats describes the values of one column of a file.
type ColumnStats struct {
	NullCount int64       // -1 if unknown
	Min, Max  types.Datum // nil if unknown or if all values are NULL; cut as the mode says
}
