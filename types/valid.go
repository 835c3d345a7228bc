package types

import "fmt"

// Validate tells what is wrong with a type that was put together by hand: a kind that there is not,
// parts that are missing, a length or precision out of range. What Parse gives is valid.
func (t Type) Validate() error { return t.validate(0) }

func (t Type) validate(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("types: nested deeper than %d levels", maxDepth)
	}
	within := func(what string, n, least, most int) error {
		if n < least || n > most {
			return fmt.Errorf("types: %s of %s is %d, not in %d..%d", what, t.Kind, n, least, most)
		}
		return nil
	}
	part := func(what string, p *Type) error {
		if p == nil {
			return fmt.Errorf("types: %s has no type for its %s", t.Kind, what)
		}
		return p.validate(depth + 1)
	}
	switch t.Kind {
	case Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double, Date, Variant, Blob:
		return nil
	case Decimal:
		if err := within("precision", t.Precision, 1, 38); err != nil {
			return err
		}
		return within("scale", t.Scale, 0, t.Precision)
	case Char, Varchar, Binary, Varbinary:
		return within("length", t.Length, 1, MaxLength)
	case Time, Timestamp, TimestampLTZ:
		return within("precision", t.Precision, 0, 9)
	case Array, Multiset:
		return part("elements", t.Elem)
	case Vector:
		if err := within("length", t.Length, 1, MaxLength); err != nil {
			return err
		}
		return part("elements", t.Elem)
	case Map:
		if err := part("keys", t.Key); err != nil {
			return err
		}
		return part("values", t.Elem)
	case Row:
		for _, f := range t.Fields {
			if err := f.Type.validate(depth + 1); err != nil {
				return fmt.Errorf("%w (field %q)", err, f.Name)
			}
		}
		return nil
	case Invalid:
		return fmt.Errorf("types: the type is not set (the zero Type)")
	}
	return fmt.Errorf("types: there is no type %s", t.Kind)
}
