// Package lsm is one bucket of a primary-key table: a merge tree of sorted files. New rows are sorted
// in memory and written to level 0, compaction merges levels, readers merge what overlaps.
//
// The package starts no goroutines. A Table is safe for concurrent use, a Writer and a reader belong
// to one goroutine each; compactions are handed out as Tasks, which may run anywhere.
package lsm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/types"
)

// Store is what the package needs of data files. It is safe for concurrent use.
type Store interface {
	Open(ctx context.Context, loc datafile.Location, f *manifest.DataFile, o datafile.ReadOptions) (format.Reader, error)
	NewWriter(ctx context.Context, loc datafile.Location, o datafile.WriterOptions) FileWriter
	Delete(ctx context.Context, loc datafile.Location, files ...*manifest.DataFile) error
	// Least is the least value of a column in a file, nil if nobody knows.
	Least(ctx context.Context, f *manifest.DataFile, column string) (types.Datum, error)
}

// FileWriter writes files of a bucket; *datafile.Writer is one.
type FileWriter interface {
	Write(rec arrow.RecordBatch) error
	Close() ([]*manifest.DataFile, error)
	Abort(ctx context.Context) error
}

// Files makes a Store of a datafile.Store.
func Files(s *datafile.Store) Store { return files{s} }

type files struct{ *datafile.Store }

func (f files) NewWriter(ctx context.Context, loc datafile.Location, o datafile.WriterOptions) FileWriter {
	return f.Store.NewWriter(ctx, loc, o)
}

// ErrCorrupt is the error of files that contradict each other.
var ErrCorrupt = errors.New("files of the bucket contradict each other")

// Config describes a primary-key table.
type Config struct {
	Store      Store
	Fields     []types.Field // value columns: those of the table
	Keys       []string      // trimmed primary key, in its order
	Engine     mergefn.Engine
	Sequence   []string // sequence.field
	Descending bool     // sequence.field.sort-order
	Thin       bool     // data-file.thin-mode: files have no _KEY_ columns
	Changelog  Producer
	Lookup     Lookup
	// Unchanged leaves out of changelogs that compactions make the rows that keep their values, nil: none.
	Unchanged *Unchanged
	Expiry    *Expiry // nil: rows stay

	Levels         LevelOptions
	TargetFileSize int64 // target-file-size; smaller files (below 70 %) are rewritten rather than moved up
	WriteBuffer    int64 // write-buffer-size: bytes of a bucket's sort buffer; 0 is 256 MB
	Spill          SpillOptions
	RewriteAll     bool // compaction.force-rewrite-all-files: a full compaction moves no file, it rewrites all
	FanIn          int  // runs merged at once, local-sort.max-num-file-handles; 0 is 128
	WriteOnly      bool // write-only: no compaction
	ForceCompact   bool // commit.force-compact: Prepare waits for compaction

	// ClockMillis is the wall clock that files are stamped with; nil: no compaction depends on time.
	ClockMillis func() int64
	Events      Events
}

// Table is what all buckets of a table have in common. It is immutable and safe for concurrent use.
type Table struct {
	c        Config
	keys     []types.Field
	keyTypes []types.Type
	encoder  *kv.Encoder
	sequence *kv.Encoder // nil without sequence fields
}

// NewTable makes a Table.
func NewTable(c Config) (*Table, error) {
	t := &Table{c: c}
	if t.c.WriteBuffer <= 0 {
		t.c.WriteBuffer = 256 << 20
	}
	if t.c.FanIn <= 1 {
		t.c.FanIn = 128
	}
	t.c.Levels = c.Levels.withDefaults()
	if err := t.c.Levels.check(); err != nil {
		return nil, err
	}
	for _, name := range c.Keys {
		f, ok := t.field(name)
		if !ok {
			return nil, fmt.Errorf("lsm: primary key column %q is not a column of the table", name)
		}
		t.keys = append(t.keys, f)
		t.keyTypes = append(t.keyTypes, f.Type)
	}
	var err error
	if t.encoder, err = kv.NewKeyEncoder(t.keyTypes); err != nil {
		return nil, fmt.Errorf("lsm: primary key: %w", err)
	}
	if len(c.Sequence) > 0 {
		ts := make([]types.Type, len(c.Sequence))
		for i, name := range c.Sequence {
			f, ok := t.field(name)
			if !ok {
				return nil, fmt.Errorf("lsm: sequence.field %q is not a column of the table", name)
			}
			ts[i] = f.Type
		}
		if t.sequence, err = kv.NewSequenceEncoder(ts, c.Descending); err != nil {
			return nil, fmt.Errorf("lsm: sequence.field: %w", err)
		}
	}
	return t, t.checkExpiry()
}

func (t *Table) field(name string) (types.Field, bool) {
	i := slices.IndexFunc(t.c.Fields, func(f types.Field) bool { return f.Name == name })
	if i < 0 {
		return types.Field{}, false
	}
	return t.c.Fields[i], true
}

// Events are told what happens. Nil members are not called. They are called by the goroutine that
// does the work, so they have to be quick and, as compactions run elsewhere, safe for concurrent use.
type Events struct {
	Flush      func(Flush)
	Spill      func(Spill)
	Compaction func(Compaction)
	// Stall is called when a writer has to wait, with Done false, and again when it goes on.
	Stall func(Stall)
}

// Flush tells of a sort buffer written to level 0.
type Flush struct {
	Location datafile.Location
	RowsIn   int64
	Files    []*manifest.DataFile
}

// Spill tells of a sort buffer written to a temporary file.
type Spill struct {
	Location datafile.Location
	Rows     int64
	Bytes    int64
}

// Compaction tells of a compaction that ended.
type Compaction struct {
	Location      datafile.Location
	Level         int
	Before, After []*manifest.DataFile
	Upgraded      int // files moved up without rewriting
	Err           error
}

// Stall tells of a writer that waits for a compaction.
type Stall struct {
	Location datafile.Location
	Reason   string
	Done     bool
}
