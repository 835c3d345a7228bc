package sql

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// virtualColumns are those that the engine's reader of Parquet adds when a query names them.
var virtualColumns = []string{"filename", "file_row_number", "file_index"}

// readableBare says whether a call of the engine's reader gives a table's columns as they are. A SELECT around it keeps the
// engine from evaluating conditions on expressions while it reads.
func readableBare(src *source, script string) bool {
	lower := strings.ToLower(script)
	if slices.ContainsFunc(virtualColumns, func(name string) bool { return strings.Contains(lower, name) }) {
		return false
	}
	return !slices.ContainsFunc(src.fields, func(f types.Field) bool {
		return castInRaw(f.Type) || slices.Contains(virtualColumns, strings.ToLower(f.Name))
	})
}

// castInRaw says whether a column may come out of files as another type than scans have.
func castInRaw(t types.Type) bool {
	switch t.Kind {
	case types.Time, types.Array, types.Map, types.Multiset, types.Row:
		return true
	}
	return false
}

// rawColumns are the columns as the engine's own reader has to give them: with the types of scans.
func rawColumns(fields []types.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = parse.Quote(f.Name)
		if castInRaw(f.Type) { // a cast would hide the others from pruning
			out[i] = "CAST(" + out[i] + " AS " + duckType(f.Type) + ") AS " + out[i]
		}
	}
	return out
}

// rawSchema are the columns for the parameter schema of read_parquet: others of the files, such as the sequence number,
// stay hidden.
func rawSchema(fields []types.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		name := parse.QuoteString(f.Name)
		out[i] = name + ": {'name': " + name + ", 'type': " + parse.QuoteString(duckType(f.Type)) + ", 'default_value': NULL}"
	}
	return out
}
