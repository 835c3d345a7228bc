package sql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/types"
)

// engine is the query engine: DuckDB, or in builds without it nothing.
type engine interface {
	// exec runs a statement to its end.
	exec(ctx context.Context, sql string) error
	// query runs a statement and streams its rows. One query runs at a time. The error is a *foreignColumns if the statement
	// has to be cast first, and did not run.
	query(ctx context.Context, sql string) (rows, error)
	// addScan makes what tarn_scan(id) reads.
	addScan(s *scanSource) (id uint64)
	dropScan(id uint64)
	// shadow gives the text of the i-th of some tables that have these columns and no rows, for explaining queries over it.
	shadow(i int, fields []types.Field) (text string, err error)
	close() error
}

// rows is the result of a query. The batches are of the engine's Arrow types and owned by the caller.
type rows interface {
	schema() *arrow.Schema
	kind() resultKind
	next(ctx context.Context) (arrow.RecordBatch, error) // io.EOF at the end
	close() error
}

// resultKind says what a statement of the engine gives.
type resultKind uint8

const (
	queryRows   resultKind = iota
	changedRows            // one row: how many rows there were
	nothing
)

// scanSource is a table as the engine's table function sees it.
type scanSource struct {
	fields []types.Field
	parts  int
	rows   int64 // -1 unknown
	// open starts a part with these columns (indexes into fields, none: only the count matters).
	open func(ctx context.Context, part int, columns []int) (Reader, error)
	ctx  context.Context
	// exact refuses values of which the engine does not hold all digits.
	exact bool
}

// engineOptions are the limits of the engine.
type engineOptions struct {
	threads int    // 0: all
	memory  string // "2GB"; "": DuckDB's default
	tempDir string // for spilling; "": none
}

// foreignColumns are the columns of a statement some of which have types that the format does not have.
type foreignColumns struct {
	names, types []string // what they have to be cast to, "" as they are
}

func (e *foreignColumns) Error() string {
	return "columns of the result have types that the table format does not have"
}
