package schema

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/cast"
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
	if err := c.Type.Validate(); err != nil {
		return fmt.Errorf("column %s: %w", dotted(c.Path), err)
	}
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
		if f.Type.AsNullable().EqualShape(to.AsNullable()) {
			done := f.Type.NotNull != to.NotNull
			f.Type.NotNull = to.NotNull
			return done, nil
		}
		if err := e.checkCast(c.Path, f.Type, to); err != nil {
			return false, err
		}
		f.Type = to
		return true, nil
	})
}

// checkCast refuses types that old values cannot be cast to, as the reference could not read them either.
func (e *edit) checkCast(path []string, from, to types.Type) error {
	explicit := !e.optionIs("disable-explicit-type-casting", "true")
	switch {
	case cast.CanChange(from, to, explicit):
		return nil
	case to.IsNested():
		return fmt.Errorf("column %s cannot be changed from %s to %s as a whole: change its parts (%s.…) one by one", dotted(path), from, to, dotted(path))
	case cast.CanChange(from, to, true):
		return fmt.Errorf("column %s cannot be changed from %s to %s: values could be lost, which the option disable-explicit-type-casting forbids", dotted(path), from, to)
	}
	return fmt.Errorf("column %s cannot be changed from %s to %s: there is no such cast", dotted(path), from, to)
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
		if _, err := DefaultOf(types.Field{Name: dotted(c.Path), Type: f.Type, Default: c.Default}); err != nil {
			return false, err
		}
		done := (f.Default == nil) != (c.Default == nil) || f.Default != nil && *f.Default != *c.Default
		f.Default = c.Default
		return done, nil
	})
}

func (c UpdateComment) apply(e *edit) error {
	e.done = e.done || e.s.Comment != c.Comment
	e.s.Comment = c.Comment
	return nil
}
