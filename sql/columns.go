package sql

import (
	"cmp"
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
			if v.Text == cmp.Or(t.Options()["partition.default-name"], "__DEFAULT_PARTITION__") { // as the folder is called
				part[k].Value = &parse.Literal{Kind: parse.Null, Span: v.Span}
				continue
			}
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

// columns are those of a table that is altered, as the actions so far leave them. They are found in any case, as in queries.
type columns struct{ all types.Type } // a ROW

// name gives the columns that an action names the names that they have in the table, and says whether the column that it
// is about is there. Names that are not found stay as they are: the schema refuses them.
func (c *columns) name(a *parse.Action) bool {
	if len(a.Path) == 0 {
		return true
	}
	last := len(a.Path) - 1
	path := slices.Clone(a.Path)
	there := c.find(path)
	if a.Place.After != "" {
		after := append(slices.Clone(path[:last]), a.Place.After)
		c.find(after)
		a.Place.After = after[last]
	}
	if a.Kind == parse.AddColumn {
		path[last] = a.Path[last]
	}
	a.Path = path
	c.all = edited(c.all, path, func(siblings []types.Field) []types.Field {
		i := slices.IndexFunc(siblings, func(f types.Field) bool { return f.Name == path[last] })
		switch {
		case a.Kind == parse.AddColumn && i < 0:
			return append(siblings, a.Field)
		case a.Kind == parse.RenameColumn && i >= 0:
			siblings[i].Name = a.To
		case a.Kind == parse.DropColumn && i >= 0:
			return slices.Delete(siblings, i, i+1)
		}
		return siblings
	})
	return there
}

// find gives a path the names that the table has, and says whether it leads to a column.
func (c *columns) find(path []string) bool {
	t := c.all
	for k, name := range path {
		if part := lowerASCII(name); isPart(t, part) {
			path[k], t = part, *t.Elem
			continue
		}
		i := columnIndex(t.Fields, name)
		if i < 0 {
			return false
		}
		path[k], t = t.Fields[i].Name, t.Fields[i].Type
	}
	return true
}

// isPart says whether a name steps into an array or a map.
func isPart(t types.Type, name string) bool {
	return t.Kind == types.Array && name == "element" || t.Kind == types.Map && name == "value"
}

// edited is a type in which the siblings of a path's last name are changed.
func edited(t types.Type, path []string, change func([]types.Field) []types.Field) types.Type {
	if isPart(t, path[0]) && len(path) > 1 {
		elem := edited(*t.Elem, path[1:], change)
		t.Elem = &elem
		return t
	}
	t.Fields = slices.Clone(t.Fields)
	if len(path) == 1 {
		t.Fields = change(t.Fields)
		return t
	}
	if i := slices.IndexFunc(t.Fields, func(f types.Field) bool { return f.Name == path[0] }); i >= 0 {
		t.Fields[i].Type = edited(t.Fields[i].Type, path[1:], change)
	}
	return t
}

// keyColumns gives columns that a CREATE TABLE names the names that they have in it.
func keyColumns(fields []types.Field, names []string) []string {
	out := slices.Clone(names)
	for k, n := range names {
		if i := columnIndex(fields, n); i >= 0 {
			out[k] = fields[i].Name
		}
	}
	return out
}
