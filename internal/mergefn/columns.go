package mergefn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/mergefn/agg"
	"github.com/tarnlake/tarn/types"
)

// column is a value column whose versions an aggregate function folds.
type column struct {
	name     string
	function string // its name, for errors
	fn       agg.Func
}

// newColumn makes the column of a field. option is the table option that names the function, for errors; "" for a default of
// the engine.
func (c *Config) newColumn(f types.Field, function, option string) (column, error) {
	fn, err := agg.New(function, agg.Config{Field: f, Option: func(name string) (string, bool) {
		v, ok := c.Options["fields."+f.Name+"."+name]
		return v, ok
	}})
	if err != nil {
		if option != "" {
			return column{}, fmt.Errorf("option %s: column %q: %w", option, f.Name, err)
		}
		return column{}, fmt.Errorf("column %q: %w", f.Name, err)
	}
	return column{f.Name, strings.ToLower(strings.TrimSpace(function)), fn}, nil
}

// isSet reads an option that is true or false.
func (c *Config) isSet(option string) bool {
	return strings.EqualFold(strings.TrimSpace(c.Options[option]), "true")
}

// folded says which versions are folded into each row of a result.
type folded struct {
	refs []batch.Ref
	ends []int32
	ops  []agg.Op // nil: all are Add
	// rows are the rows of the result. Those that are not folded are as they are in the window; the others point to group
	// Row of a window Src that is one more than the last. Nil: row i is group i.
	rows []batch.Ref
}

// fold folds a column into the rows of a result: out gets a Part or a Computed.
func (c *column) fold(in *Input, f *folded, out *Output) error {
	at, ok := in.Columns[c.name]
	if !ok {
		return nil
	}
	if !c.fn.Retracts() && slices.Contains(f.ops, agg.Retract) {
		return fmt.Errorf("column %q: aggregate function %s cannot take back a value, but a row of kind -U or -D came for a key that has others: set fields.%s.ignore-retract=true (such rows leave the column alone), or ignore-delete=true for the table", c.name, c.function, c.name)
	}
	arrs := make([]arrow.Array, len(in.Window))
	for i, rec := range in.Window {
		arrs[i] = rec.Column(at)
	}
	r, err := c.fn.Fold(&agg.Input{Column: arrs, Refs: f.refs, Ends: f.ends, Ops: f.ops})
	if err != nil {
		return fmt.Errorf("column %q: aggregate function %s: %w", c.name, c.function, err)
	}
	switch {
	case r.Values != nil:
		out.Computed = append(out.Computed, Computed{Column: c.name, Values: r.Values, Rows: f.rows})
	case f.rows == nil:
		out.Parts = append(out.Parts, Part{Columns: []string{c.name}, Rows: r.Rows})
	default:
		rows := make([]batch.Ref, len(f.rows))
		for i, ref := range f.rows {
			if int(ref.Src) == len(in.Window) {
				ref = r.Rows[ref.Row]
			}
			rows[i] = ref
		}
		out.Parts = append(out.Parts, Part{Columns: []string{c.name}, Rows: rows})
	}
	return nil
}
