package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// virtualColumns are those that the engine's reader of Parquet adds when a query names them.
var virtualColumns = []string{"filename", "file_row_number", "file_index"}

// readParquet is a call of the engine's reader.
func readParquet(files []string, params ...string) string {
	if slices.ContainsFunc(files, func(f string) bool { return strings.Contains(f, "=") }) {
		params = append(params, "hive_partitioning = false") // names of folders would be taken for columns
	}
	return "read_parquet(" + strings.Join(append([]string{"[" + quoteAll(files) + "]"}, params...), ", ") + ")"
}

// bareRead is a call of the engine's reader that gives a table's columns without a SELECT around, which would keep the engine from
// evaluating conditions on expressions while it reads. The columns are described by a variable of the engine's: as part of each
// query the description would take longer to bind than all the rest of a short one.
func (s *Session) bareRead(ctx context.Context, files []string, fields []types.Field, rows int64) (string, error) {
	schema := strings.Join(rawSchema(fields), ", ")
	name := s.schemas[schema]
	if name == "" {
		if len(s.schemas) >= maxSchemas {
			for _, n := range s.schemas {
				if err := s.engine.exec(ctx, "RESET VARIABLE "+n); err != nil {
					return "", err
				}
			}
			clear(s.schemas)
		}
		name = fmt.Sprint("__tarn_schema_", len(s.schemas))
		if err := s.engine.exec(ctx, "SET VARIABLE "+name+" = MAP {"+schema+"}"); err != nil {
			return "", err
		}
		s.schemas[schema] = name
	}
	// The engine would otherwise guess the number of rows, and join in another order.
	return readParquet(files, "schema = getvariable('"+name+"')", fmt.Sprint("explicit_cardinality = ", rows)), nil
}

// maxSchemas is how many descriptions of columns the engine keeps.
const maxSchemas = 64

// readableBare says whether a call of the engine's reader gives a table's columns as they are.
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
