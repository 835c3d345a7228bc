package sql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// checkPartition completes the names of PARTITION (…), which have to be partition columns.
func checkPartition(t *tarn.Table, fields []types.Field, part []parse.PartitionValue) error {
	seen := map[string]bool{}
	for k := range part {
		i := columnIndex(fields, part[k].Column)
		if i < 0 || !slices.Contains(t.PartitionKeys(), fields[i].Name) {
			keys := "table " + t.Name() + " is not partitioned"
			if p := t.PartitionKeys(); len(p) > 0 {
				keys = "partition columns of " + t.Name() + " are " + strings.Join(p, ", ")
			}
			return &Error{Msg: fmt.Sprintf("PARTITION names %q, which is no partition column", part[k].Column), Hint: keys, Err: tarn.ErrInvalid}
		}
		part[k].Column = fields[i].Name
		if seen[fields[i].Name] {
			return fmt.Errorf("%w: PARTITION names column %q twice", tarn.ErrInvalid, fields[i].Name)
		}
		seen[fields[i].Name] = true
		if v := part[k].Value; v != nil && v.Kind != parse.Null {
			if _, err := types.ParseDatum(fields[i].Type, v.Text); err != nil {
				return &Error{Msg: fmt.Sprintf("PARTITION (%s = %s): %v", part[k].Column, parse.QuoteString(v.Text), err), Err: tarn.ErrInvalid}
			}
		}
	}
	return nil
}

// columnIndex finds a column by its name, or by one that differs in case only, as the engine does; -1 if there is none.
func columnIndex(fields []types.Field, name string) int {
	if i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(fields, func(f types.Field) bool { return lowerASCII(f.Name) == lowerASCII(name) })
}

func noColumn(script string, c parse.Ident, fields []types.Field) error {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	e := &parse.Error{Msg: fmt.Sprintf("there is no column %q", c.Name), Hint: "there are " + strings.Join(names, ", "), Text: script, Pos: c.Start}
	if n := parse.Nearest(c.Name, names); n != "" {
		e.Hint = "did you mean " + n + "?"
	}
	return e
}
