package schema

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/types"
)

// field changes one field in its place.
func (e *edit) field(path []string, change func(f *types.Field) (bool, error)) error {
	return e.at(path, func(fields []types.Field, name string) ([]types.Field, error) {
		i, err := need(fields, path, name)
		if err != nil {
			return nil, err
		}
		done, err := change(&fields[i])
		e.done = e.done || done
		return fields, err
	})
}

func (e *edit) optionIs(key, want string) bool { return e.s.Options[key] == want }

func (c UpdateType) apply(e *edit) error {
	if err := e.refuseKeys(c.Path, "change the type of", true); err != nil {
		return err
	}
	return e.field(c.Path, func(f *types.Field) (bool, error) {
		to := c.Type
		if !c.SetNullability {
			to.NotNull = f.Type.NotNull
		} else if err := e.checkNullability(c.Path, f.Type.NotNull, to.NotNull); err != nil {
			return false, err
		}
		if f.Type.Equal(to) || f.Type.EqualShape(to) && f.Type.NotNull == to.NotNull {
			return false, nil
		}
		explicit := !e.optionIs("disable-explicit-type-casting", "true")
		if !f.Type.AsNullable().EqualShape(to.AsNullable()) && !cast.CanCast(f.Type, to, explicit) {
			return false, fmt.Errorf("column %s cannot be changed from %s to %s: values would be lost", dotted(c.Path), f.Type, to)
		}
		if to.IsNested() {
			id := e.s.HighestFieldID
			to = types.AssignIDs(to, &id)
			e.s.HighestFieldID = id
		}
		f.Type = to
		return true, nil
	})
}

func (e *edit) checkNullability(path []string, was, now bool) error {
	if !was && now && !e.optionIs("alter-column-null-to-not-null.disabled", "false") {
		return fmt.Errorf("column %s cannot be made NOT NULL: rows may have no value for it; set the option alter-column-null-to-not-null.disabled to false if they all have", dotted(path))
	}
	return nil
}

func (c UpdateNullability) apply(e *edit) error {
	if !c.NotNull {
		if len(c.Path) == 1 {
			for _, k := range e.s.PrimaryKeys {
				if k == c.Path[0] {
					return fmt.Errorf("cannot make primary key column %s nullable", k)
				}
			}
		}
	}
	return e.field(c.Path, func(f *types.Field) (bool, error) {
		if err := e.checkNullability(c.Path, f.Type.NotNull, c.NotNull); err != nil {
			return false, err
		}
		done := f.Type.NotNull != c.NotNull
		f.Type.NotNull = c.NotNull
		return done, nil
	})
}

func (c UpdateColumnComment) apply(e *edit) error {
	return e.field(c.Path, func(f *types.Field) (bool, error) {
		done := f.Description != c.Comment
		f.Description = c.Comment
		return done, nil
	})
}

func (c UpdateDefault) apply(e *edit) error {
	return e.field(c.Path, func(f *types.Field) (bool, error) {
		if c.Default != nil {
			if _, err := types.ParseDatum(f.Type, *c.Default); err != nil {
				return false, fmt.Errorf("default of column %s: %w", dotted(c.Path), err)
			}
		}
		done := (f.Default == nil) != (c.Default == nil) || f.Default != nil && *f.Default != *c.Default
		f.Default = c.Default
		return done, nil
	})
}

func (c SetOption) apply(e *edit) error {
	if v, ok := e.s.Options[c.Key]; ok && v == c.Value {
		return nil
	}
	if e.o.HasSnapshots && options.Immutable(c.Key) {
		return fmt.Errorf("option %s cannot be changed any more: files were written by it", c.Key)
	}
	if c.Key == "primary-key" || c.Key == "partition" {
		return fmt.Errorf("option %s cannot be changed", c.Key)
	}
	e.s.Options[c.Key] = c.Value
	e.done = true
	return nil
}

func (c ResetOption) apply(e *edit) error {
	if _, ok := e.s.Options[c.Key]; !ok {
		return nil
	}
	if e.o.HasSnapshots && (options.Immutable(c.Key) || c.Key == "bucket") {
		return fmt.Errorf("option %s cannot be reset any more: files were written by it", c.Key)
	}
	delete(e.s.Options, c.Key)
	e.done = true
	return nil
}

func (c UpdateComment) apply(e *edit) error {
	e.done = e.done || e.s.Comment != c.Comment
	e.s.Comment = c.Comment
	return nil
}
