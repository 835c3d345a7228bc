// Package appendtbl is one bucket of a table without a primary key: rows go to files in the order in
// which they come, small files are joined later.
//
// The package starts no goroutines. A Table is safe for concurrent use, a Writer belongs to one
// goroutine; compactions are handed out as Tasks, which may run anywhere.
package appendtbl

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// Store is what the package needs of data files. It is safe for concurrent use.
type Store interface {
	Open(ctx context.Context, loc datafile.Location, f *manifest.DataFile, o datafile.ReadOptions) (format.Reader, error)
	NewWriter(ctx context.Context, loc datafile.Location, o datafile.WriterOptions) FileWriter
	Delete(ctx context.Context, loc datafile.Location, files ...*manifest.DataFile) error
}

// FileWriter writes files of a bucket; *datafile.Writer is one.
type FileWriter interface {
	Write(rec arrow.RecordBatch) error
	Buffered() int64
	Close() ([]*manifest.DataFile, error)
	Abort(ctx context.Context) error
}

// Files makes a Store of a datafile.Store.
func Files(s *datafile.Store) Store { return files{s} }

type files struct{ *datafile.Store }

func (f files) NewWriter(ctx context.Context, loc datafile.Location, o datafile.WriterOptions) FileWriter {
	return f.Store.NewWriter(ctx, loc, o)
}

// Config describes an append table.
type Config struct {
	Store  Store
	Fields []types.Field
	// Ordered is for tables with buckets: rows of a bucket are read in the order of writing, so only
	// neighbours are joined. Without buckets the order of files means nothing.
	Ordered      bool
	IgnoreDelete bool // ignore-delete: rows of kind -D and -U are left out, not refused
	WriteOnly    bool // write-only: no compaction
	ForceCompact bool // commit.force-compact: Prepare waits for compaction
	Pick         PickOptions
	Order        *Order // compactions of all files sort the rows of a bucket; nil: rows keep their order
	// Gone gives the rows of files of a bucket that are deleted, by name of file, and where that is said; nil where there is no such thing.
	Gone       func(ctx context.Context, loc datafile.Location, files []*manifest.DataFile) (map[string]format.Rows, []manifest.AppliedVector, error)
	Compaction func(Compaction) // is told of compactions; may be nil; safe for concurrent use
}

// Compaction tells of a compaction that ended.
type Compaction struct {
	Location      datafile.Location
	Before, After []*manifest.DataFile
	Err           error
}

// Table is what all buckets of a table have in common. It is immutable and safe for concurrent use.
type Table struct{ c Config }

// NewTable makes a Table.
func NewTable(c Config) *Table {
	c.Pick = c.Pick.withDefaults()
	return &Table{c}
}
