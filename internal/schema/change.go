package schema

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// Change is one change of a schema. It is one of AddColumn, DropColumn, RenameColumn, MoveColumn,
// UpdateType, UpdateNullability, UpdateColumnComment, UpdateDefault, SetOption, ResetOption, UpdateComment,
// DropPrimaryKey.
type Change interface {
	apply(e *edit) error
}

// Place is where a column goes. The zero value is the end, or before the first partition column if the
// option add-column-before-partition says so; Last is the end in any case.
type Place struct {
	First  bool
	Last   bool
	After  string // name of a sibling
	Before string
}

// AddColumn adds a column, or a field of a ROW: Path names the rows it lies in and its own name.
type AddColumn struct {
	Path    []string
	Type    types.Type
	Comment string
	Default *string
	Place   Place
}

// DropColumn removes a column or field.
type DropColumn struct{ Path []string }

// RenameColumn gives a column or field another name. Options that name the column follow.
type RenameColumn struct {
	Path []string
	To   string
}

// MoveColumn puts a column elsewhere.
type MoveColumn struct {
	Column string
	Place  Place
}

// UpdateType changes the type of a column or field; its nullability stays as it is unless
// SetNullability.
type UpdateType struct {
	Path           []string
	Type           types.Type
	SetNullability bool
}

// UpdateNullability changes whether a column or field may be NULL.
type UpdateNullability struct {
	Path    []string
	NotNull bool
}

// UpdateColumnComment changes the comment of a column or field.
type UpdateColumnComment struct {
	Path    []string
	Comment string
}

// UpdateDefault changes the default of a column; nil removes it.
type UpdateDefault struct {
	Path    []string
	Default *string
}

// SetOption sets a table option.
type SetOption struct{ Key, Value string }

// ResetOption removes a table option.
type ResetOption struct{ Key string }

// UpdateComment changes the comment of the table.
type UpdateComment struct{ Comment string }

// DropPrimaryKey makes an append table of a table without snapshots.
type DropPrimaryKey struct{}

// edit is a schema being changed.
type edit struct {
	base *Schema // as it was
	s    *Schema
	o    ApplyOptions
	done bool // something was changed
}

// Apply makes the next schema, all changes or none. Without any difference it gives the schema itself.
// What was wrong with the schema before is no error.
func (s *Schema) Apply(changes []Change, o ApplyOptions) (*Schema, error) {
	next := *s
	next.ID++
	next.Fields = slices.Clone(s.Fields)
	next.PrimaryKeys = slices.Clone(s.PrimaryKeys)
	next.Options = maps.Clone(s.Options)
	if o.TimeMillis != 0 && s.TimeMillis != 0 || s.Version > 1 {
		next.TimeMillis = o.TimeMillis
	}
	e := &edit{base: s, s: &next, o: o}
	for i, c := range changes {
		if v := reflect.ValueOf(c); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, fmt.Errorf("change %d of %d is nil", i+1, len(changes))
		}
		if err := c.apply(e); err != nil {
			return nil, err
		}
	}
	if !e.done {
		return s, nil
	}
	if err := errors.Join(newFaults(s, &next)...); err != nil {
		return nil, err
	}
	if o.Check != nil && o.Check(s) == nil {
		if err := o.Check(&next); err != nil {
			return nil, err
		}
	}
	return &next, nil
}

func dotted(path []string) string { return strings.Join(path, ".") }

// at finds the siblings of a path's last name and lets change work on them. Names "element" and
// "value" step into arrays and maps.
func (e *edit) at(path []string, change func(siblings []types.Field, name string) ([]types.Field, error)) error {
	if len(path) == 0 {
		return fmt.Errorf("a change names no column")
	}
	fields, err := descend(e.s.Fields, path, path, change)
	if err != nil {
		return err
	}
	e.s.Fields = fields
	return nil
}

func descend(fields []types.Field, path, rest []string, change func([]types.Field, string) ([]types.Field, error)) ([]types.Field, error) {
	if len(rest) == 1 {
		return change(slices.Clone(fields), rest[0])
	}
	i := indexOf(fields, rest[0])
	if i < 0 {
		return nil, fmt.Errorf("column %s does not exist: there is no %q", dotted(path), rest[0])
	}
	out := slices.Clone(fields)
	t, err := descendType(out[i].Type, path, rest[1:], change)
	if err != nil {
		return nil, err
	}
	out[i].Type = t
	return out, nil
}

func descendType(t types.Type, path, rest []string, change func([]types.Field, string) ([]types.Field, error)) (types.Type, error) {
	switch {
	case t.Kind == types.Row:
		f, err := descend(t.Fields, path, rest, change)
		t.Fields = f
		return t, err
	case t.Kind == types.Array && rest[0] == "element", t.Kind == types.Map && rest[0] == "value":
		if len(rest) == 1 {
			// The element itself is what the change is about: treat it as a field of its own.
			f, err := change([]types.Field{{Name: rest[0], Type: *t.Elem}}, rest[0])
			if err != nil {
				return t, err
			}
			if len(f) != 1 || f[0].Name != rest[0] {
				return t, fmt.Errorf("column %s: only the type of an element can be changed", dotted(path))
			}
			t.Elem = &f[0].Type
			return t, nil
		}
		el, err := descendType(*t.Elem, path, rest[1:], change)
		t.Elem = &el
		return t, err
	}
	return t, fmt.Errorf("column %s does not exist: %s has no fields", dotted(path), t)
}

func indexOf(fields []types.Field, name string) int {
	return slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == name })
}

// need is indexOf with an error.
func need(fields []types.Field, path []string, name string) (int, error) {
	i := indexOf(fields, name)
	if i < 0 {
		return 0, fmt.Errorf("column %s does not exist; there are %s", dotted(path), columnNames(fields))
	}
	return i, nil
}

// insert puts a field among its siblings.
func insert(fields []types.Field, f types.Field, p Place) ([]types.Field, error) {
	switch {
	case p.First:
		return slices.Insert(fields, 0, f), nil
	case p.After != "":
		i, err := need(fields, []string{p.After}, p.After)
		if err != nil {
			return nil, err
		}
		return slices.Insert(fields, i+1, f), nil
	case p.Before != "":
		i, err := need(fields, []string{p.Before}, p.Before)
		if err != nil {
			return nil, err
		}
		return slices.Insert(fields, i, f), nil
	}
	return append(fields, f), nil
}

func (c AddColumn) apply(e *edit) error {
	if err := c.Type.Validate(); err != nil {
		return fmt.Errorf("column %s: %w", dotted(c.Path), err)
	}
	if c.Type.NotNull {
		return fmt.Errorf("column %s: a column that is added cannot be NOT NULL: rows that are there have no value for it", dotted(c.Path))
	}
	id := e.s.HighestFieldID
	err := e.at(c.Path, func(fields []types.Field, name string) ([]types.Field, error) {
		if i := indexOf(fields, name); i >= 0 {
			if e.o.Idempotent && fields[i].Type.EqualShape(c.Type) {
				return fields, nil
			}
			return nil, fmt.Errorf("column %s exists already, of type %s", dotted(c.Path), fields[i].Type)
		}
		id++
		f := types.Field{ID: id, Name: name, Description: c.Comment, Default: c.Default}
		f.Type = types.AssignIDs(c.Type, &id)
		e.done = true
		if len(c.Path) == 1 && c.Place == (Place{}) && e.s.Options["add-column-before-partition"] == "true" && len(e.s.PartitionKeys) > 0 {
			if i := slices.IndexFunc(fields, func(f types.Field) bool { return slices.Contains(e.s.PartitionKeys, f.Name) }); i >= 0 {
				return slices.Insert(fields, i, f), nil
			}
		}
		return insert(fields, f, c.Place)
	})
	e.s.HighestFieldID = id
	return err
}

// refuseKeys refuses changes of columns that files and folders are arranged by.
func (e *edit) refuseKeys(path []string, what string, primary bool) error {
	if len(path) != 1 {
		return nil
	}
	if slices.Contains(e.s.PartitionKeys, path[0]) {
		return fmt.Errorf("cannot %s partition column %s", what, path[0])
	}
	if primary && slices.Contains(e.s.PrimaryKeys, path[0]) {
		return fmt.Errorf("cannot %s primary key column %s", what, path[0])
	}
	return nil
}

func (c DropColumn) apply(e *edit) error {
	if err := e.refuseKeys(c.Path, "drop", true); err != nil {
		return err
	}
	return e.at(c.Path, func(fields []types.Field, name string) ([]types.Field, error) {
		if e.o.Idempotent && indexOf(fields, name) < 0 {
			return fields, nil
		}
		i, err := need(fields, c.Path, name)
		if err != nil {
			return nil, err
		}
		if len(fields) == 1 {
			return nil, fmt.Errorf("cannot drop column %s, the last one", dotted(c.Path))
		}
		e.done = true
		return slices.Delete(fields, i, i+1), nil
	})
}

func (c RenameColumn) apply(e *edit) error {
	if err := e.refuseKeys(c.Path, "rename", false); err != nil {
		return err
	}
	err := e.at(c.Path, func(fields []types.Field, name string) ([]types.Field, error) {
		if e.o.Idempotent && indexOf(fields, name) < 0 && indexOf(fields, c.To) >= 0 {
			return fields, nil
		}
		i, err := need(fields, c.Path, name)
		if err != nil {
			return nil, err
		}
		if indexOf(fields, c.To) >= 0 {
			return nil, fmt.Errorf("column %s cannot be renamed: %q exists already", dotted(c.Path), c.To)
		}
		fields[i].Name = c.To
		e.done = true
		return fields, nil
	})
	if err != nil || len(c.Path) != 1 {
		return err
	}
	for i, k := range e.s.PrimaryKeys {
		if k == c.Path[0] {
			e.s.PrimaryKeys[i] = c.To
		}
	}
	e.s.Options = renameInOptions(e.s.Options, c.Path[0], c.To)
	return nil
}

func (c MoveColumn) apply(e *edit) error {
	i, err := need(e.s.Fields, []string{c.Column}, c.Column)
	if err != nil {
		return err
	}
	if c.Place.After == c.Column || c.Place.Before == c.Column {
		return fmt.Errorf("column %s cannot be moved beside itself", c.Column)
	}
	f := e.s.Fields[i]
	fields, err := insert(slices.Delete(slices.Clone(e.s.Fields), i, i+1), f, c.Place)
	if err != nil {
		return err
	}
	e.done = e.done || !slices.EqualFunc(fields, e.s.Fields, func(a, b types.Field) bool { return a.ID == b.ID })
	e.s.Fields = fields
	return nil
}
