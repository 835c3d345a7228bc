package tarn

import (
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// engine is the merge engine of the table's rows. Columns of the partition that are in the primary key are no values to it either.
func (t *Table) engine() (mergefn.Engine, error) {
	e, err := engineOf(t.schema.Fields, t.opts, t.schema.PrimaryKeys)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w: %w", t.id, ErrInvalid, err)
	}
	return e, nil
}

func engineOf(fields []types.Field, o options.Options, keys []string) (mergefn.Engine, error) {
	return mergefn.New(options.MergeEngine.Get(o), mergefn.Config{
		Fields: fields, Keys: keys, Sequence: options.SequenceField.Get(o), IgnoreDelete: options.IgnoreDelete.Get(o),
		IgnoreUpdateBefore: options.IgnoreUpdateBefore.Get(o), Options: o.Values(),
	})
}

// checkEngine says what is wrong with the columns and options of a merge engine.
func checkEngine(s *schema.Schema) error {
	if len(s.PrimaryKeys) == 0 {
		return nil
	}
	_, err := engineOf(s.Fields, options.Of(s.Options, s.Version), s.PrimaryKeys)
	return err
}

// insertOnly says why the table takes no -U and -D, "" if it does. What cannot be merged must not be written: it could not be
// read any more.
func (t *Table) insertOnly() string {
	o := t.opts
	switch {
	case options.IgnoreDelete.Get(o):
	case !t.HasPrimaryKey():
		return "a table without a primary key takes +I and +U only (the option ignore-delete leaves others out)"
	case options.MergeEngine.Get(o) == "partial-update" && !options.PartialRemove.Get(o) && len(options.SequenceGroups(o)) == 0:
		return mergefn.PartialDeletes
	}
	return ""
}

// CheckDelete tells whether rows of kind -D remove the rows of their keys. The error wraps ErrUnsupported if they do not, and says
// which option makes them do so.
func (t *Table) CheckDelete() error {
	o := t.opts
	no := func(format string, args ...any) error {
		return unsupported("DELETE from table %s: %s", t.id, fmt.Sprintf(format, args...))
	}
	engine := options.MergeEngine.Get(o)
	switch {
	case !t.HasPrimaryKey():
		return no("it has no primary key")
	case engine == "first-row":
		return no("the merge engine first-row keeps the first row of a key whatever comes later; DROP PARTITION and INSERT OVERWRITE take rows away")
	case options.IgnoreDelete.Get(o):
		return no("it leaves deletes out (%s)", options.IgnoreDelete.Key())
	case engine == "partial-update" && !options.PartialRemove.Get(o) && options.PartialRemoveGroup.Get(o) == "":
		return no("of a table with merge-engine=partial-update a delete removes rows only with %s, or if it has sequence groups with %s", options.PartialRemove.Key(), options.PartialRemoveGroup.Key())
	case engine == "aggregation" && !options.RemoveOnDelete.Get(o):
		return no("of a table with merge-engine=aggregation a delete takes values off; it removes rows with %s", options.RemoveOnDelete.Key())
	}
	return nil
}

// Change says how some columns of rows that are there are changed: by writing rows of kind +U with the key, the columns to be
// changed, those of Keep, and NULL in all others.
type Change struct {
	// Keep are columns that are written with the values that they have.
	Keep []string
	// NotNull are columns to be changed that cannot become NULL: it would change nothing.
	NotNull []string
	// Ordered are the sequences of the groups that the columns are in, if no column of them is changed itself. Where all columns of
	// one are NULL, the row would change nothing.
	Ordered [][]string
}

// ChangeOf says how some columns of a table with a primary key are changed. The error wraps ErrUnsupported if the merge engine
// does not replace their values.
func (t *Table) ChangeOf(columns ...string) (Change, error) {
	no := func(why string) (Change, error) {
		return Change{}, unsupported("UPDATE of table %s: %s", t.id, why)
	}
	switch engine := options.MergeEngine.Get(t.opts); {
	case !t.HasPrimaryKey():
		return no("it has no primary key")
	case engine == "aggregation":
		return no("its merge engine, aggregation, folds what is written into what is there: INSERT what is to be added")
	case engine == "first-row":
		return no("its merge engine, first-row, keeps the first row of a key whatever comes later")
	case engine == "partial-update":
		return t.partialChange(columns)
	}
	var c Change
	for _, f := range t.schema.Fields {
		if !slices.Contains(columns, f.Name) {
			c.Keep = append(c.Keep, f.Name)
		}
	}
	return c, nil
}

// partialChange is ChangeOf with the engine partial-update: what stays NULL leaves the rest of the row as others make it meanwhile.
func (t *Table) partialChange(columns []string) (Change, error) {
	var c Change
	keep := map[string]bool{}
	for _, n := range slices.Concat(t.schema.PrimaryKeys, options.SequenceField.Get(t.opts)) {
		keep[n] = true
	}
	grouped := map[string]bool{}
	for _, g := range options.SequenceGroups(t.opts) {
		all := slices.Concat(g.Sequence, g.Columns)
		changes := func(n string) bool { return slices.Contains(columns, n) }
		for _, n := range all {
			grouped[n] = true
		}
		if !slices.ContainsFunc(all, changes) {
			continue
		}
		if !slices.ContainsFunc(g.Sequence, changes) {
			c.Ordered = append(c.Ordered, g.Sequence)
		}
		for _, n := range all {
			function, _ := mergefn.FunctionOf(t.opts, n)
			switch {
			case slices.Contains(g.Sequence, n), function == "", function == "last_value":
				keep[n] = true
			case changes(n) && function == "last_non_null_value":
				c.NotNull = append(c.NotNull, n)
			case changes(n):
				return c, unsupported("UPDATE of table %s: column %q has the aggregate function %s, which folds what is written into what is there: INSERT what is to be added", t.id, n, function)
			}
		}
	}
	for _, f := range t.schema.Fields {
		switch {
		case slices.Contains(columns, f.Name):
			if !grouped[f.Name] {
				c.NotNull = append(c.NotNull, f.Name)
			}
		case keep[f.Name] || f.Type.NotNull:
			c.Keep = append(c.Keep, f.Name)
		}
	}
	return c, nil
}
