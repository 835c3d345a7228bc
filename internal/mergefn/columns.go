package mergefn

import (
	"fmt"
	"strings"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/mergefn/agg"
	"github.com/tarnlake/tarn/internal/options"
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

// folded says which versions are folded into each row of a result.
type folded struct {
	refs     []batch.Ref
	ends     []int32
	ops      []agg.Op // nil: all are Add
	retracts bool     // some are Retract
	// rows are the rows of the result. Those that are not folded are as they are in the window; the others point to group
	// Row of a window Src that is one more than the last. Nil: row i is group i.
	rows []batch.Ref
}

// add adds a version to the row that comes next.
func (f *folded) add(r batch.Ref, op agg.Op) {
	f.refs = append(f.refs, r)
	switch {
	case f.ops != nil:
		f.ops = append(f.ops, op)
	case op != agg.Add:
		f.ops = append(make([]agg.Op, len(f.refs)-1, cap(f.refs)), op)
	}
	f.retracts = f.retracts || op == agg.Retract
}

// baseAfter says how the values of a delete that others are folded into are looked at. To functions that give the first value they are
// one only if the delete had a row to remove.
func baseAfter(rows bool) agg.Op {
	if rows {
		return agg.Add
	}
	return agg.Base
}

// end ends a row.
func (f *folded) end() { f.ends = append(f.ends, int32(len(f.refs))) }

// fold folds a column into the rows of a result: out gets a Part or a Computed.
func (c *column) fold(in *Input, f *folded, out *Output) error {
	at, ok := in.Columns[c.name]
	if !ok {
		return nil
	}
	if f.retracts && !c.fn.Retracts() {
		return fmt.Errorf("column %q: aggregate function %s cannot take back a value, but a row of kind -U or -D came for a key that has others: set %s=true (such rows leave the column alone), or %s=true for the table",
			c.name, c.function, options.IgnoreRetract.Key(c.name), options.IgnoreDelete.Key())
	}
	r, err := c.fn.Fold(&agg.Input{Column: in.column(at), Refs: f.refs, Ends: f.ends, Ops: f.ops})
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
