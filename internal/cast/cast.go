// Package cast converts columns from one data type to another, by the rules of the format: which casts
// there are, and what becomes of values that do not fit.
package cast

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/types"
)

func isText(k types.Kind) bool   { return k == types.Char || k == types.Varchar }
func isBytes(k types.Kind) bool  { return k == types.Binary || k == types.Varbinary }
func isInt(k types.Kind) bool    { return k >= types.TinyInt && k <= types.BigInt }
func isFloat(k types.Kind) bool  { return k == types.Float || k == types.Double }
func isNumber(k types.Kind) bool { return isInt(k) || isFloat(k) || k == types.Decimal }
func isInstant(k types.Kind) bool {
	return k == types.Timestamp || k == types.TimestampLTZ
}

// CanCast reports whether values of a type can be cast to another. Implicit casts keep the meaning of
// all values, about; explicit ones may lose something. Nullability does not matter. Nested types can be
// cast if their parts can, fields of ROWs matched by id; see CanChange for what a column's type may
// become.
func CanCast(from, to types.Type, explicit bool) bool {
	a, b := from.Kind, to.Kind
	switch {
	case from.AsNullable().Equal(to.AsNullable()):
		return true
	case from.IsNested() || to.IsNested():
		return canNested(from, to, explicit)
	case a == b:
		return true
	case isText(b):
		return canText(from, to, explicit)
	case isText(a):
		return explicit && b != types.Variant && b != types.Blob
	case isBytes(b):
		return isBytes(a) && (explicit || b == types.Varbinary)
	case b == types.Boolean:
		return explicit && isInt(a)
	case isNumber(b):
		return canNumber(a, b, explicit)
	case b == types.Date, b == types.Time:
		return a == types.Timestamp || explicit && a == types.TimestampLTZ
	case isInstant(b):
		return isInstant(a) || explicit && (a == types.Date || a == types.Time || a == types.Int || a == types.BigInt)
	}
	return false
}

// canText: dates and times only become text of any length, so that none is ever cut off.
func canText(from, to types.Type, explicit bool) bool {
	switch a := from.Kind; {
	case isText(a):
		return explicit || to.Kind == types.Varchar
	case a == types.Date, a == types.Time, isInstant(a):
		return explicit && to.Kind == types.Varchar && to.Length == types.MaxLength
	case isNumber(a), isBytes(a), a == types.Boolean:
		return explicit
	}
	return false
}

func canNumber(a, b types.Kind, explicit bool) bool {
	switch {
	case isNumber(a):
		wider := b == types.Decimal || b == types.Double || // of any digits: values may still be lost
			b == types.Float && (isInt(a) || a == types.Decimal) || isInt(a) && isInt(b) && a < b
		return wider || explicit
	case a == types.Boolean:
		return explicit
	case isInstant(a):
		return explicit && (b == types.Int || b == types.BigInt)
	}
	return false
}

func canNested(from, to types.Type, explicit bool) bool {
	switch {
	case isText(to.Kind):
		return explicit && canPrint(from)
	case from.Kind != to.Kind:
		return false
	case from.Kind == types.Array, from.Kind == types.Multiset:
		return CanCast(*from.Elem, *to.Elem, explicit)
	case from.Kind == types.Map:
		return CanCast(*from.Key, *to.Key, explicit) && CanCast(*from.Elem, *to.Elem, explicit)
	case from.Kind == types.Row:
		for _, t := range to.Fields {
			if k := fieldOf(from, t.ID); k >= 0 && !CanCast(from.Fields[k].Type, t.Type, explicit) {
				return false
			}
		}
		return true
	}
	return false
}

// canPrint reports whether a nested type has a text: all of its parts have.
func canPrint(t types.Type) bool {
	switch t.Kind {
	case types.Array:
		return canPrint(*t.Elem)
	case types.Map:
		return canPrint(*t.Key) && canPrint(*t.Elem)
	case types.Row:
		for _, f := range t.Fields {
			if !canPrint(f.Type) {
				return false
			}
		}
		return true
	}
	return !t.IsNested() && CanCast(t, types.StringType, true)
}

// CanChange reports whether a column of a type may be given another one, so that its old values are
// cast when they are read. Other than with CanCast, nested types as a whole may only become text, since
// their parts are changed one by one, and the precision of a TIME stays.
func CanChange(from, to types.Type, explicit bool) bool {
	switch {
	case from.AsNullable().Equal(to.AsNullable()):
		return true
	case to.IsNested(), from.Kind == types.Time && to.Kind == types.Time:
		return false
	case to.NotNull && isText(to.Kind) && (from.Kind == types.Date || from.Kind == types.Time || isInstant(from.Kind)):
		return false // the reference has a cast of these to nullable STRING only
	}
	return CanCast(from, to, explicit)
}

// Cast converts an array. NULL stays NULL; a number that is too large for a DECIMAL becomes NULL, for an
// integer it loses its high bits, as in the reference; text that cannot be read is an error that shows
// it. Fields of ROWs are matched by id. Where values need no change the result shares their memory.
func Cast(a arrow.Array, from, to types.Type) (arrow.Array, error) {
	if !CanCast(from, to, true) {
		return nil, fmt.Errorf("%s cannot be cast to %s", from, to)
	}
	dt := types.WideArrowType(to)
	if have, want := a.DataType().ID(), types.WideArrowType(from).ID(); have != want {
		return nil, fmt.Errorf("an array of type %s was given as %s", a.DataType(), from)
	}
	switch f, t := from.Kind, to.Kind; {
	case Identical(from, to):
		return retype(a, dt), nil
	case from.IsNested() && to.IsNested():
		return nested(a, from, to)
	case isText(t):
		return toText(a, from, to)
	case isText(f):
		return fromText(a, to)
	case isBytes(t):
		return fitBytes(a, to)
	case isInt(f), f == types.Boolean:
		return fromInts(integers(a), to)
	case f == types.Date, f == types.Time:
		return fromDays(integers(a), f, to)
	case isFloat(f):
		return fromFloats(floats(a), to)
	case f == types.Decimal:
		return fromDecimals(a, from, to)
	case isInstant(f):
		return fromInstants(a, from, to)
	}
	return nil, fmt.Errorf("%s cannot be cast to %s", from, to)
}

// Identical reports whether arrays of the two types hold the same in memory, whatever parts are called
// and whether they may be NULL: the cast costs nothing.
func Identical(a, b types.Type) bool {
	switch {
	case isText(a.Kind) && isText(b.Kind), isBytes(a.Kind) && isBytes(b.Kind):
		return a.Kind == b.Kind && a.Length == b.Length || (b.Kind == types.Varchar || b.Kind == types.Varbinary) && b.Length >= a.Length
	case isInstant(a.Kind) && isInstant(b.Kind):
		return types.TimeUnit(a.Precision) == types.TimeUnit(b.Precision) && a.Precision <= b.Precision
	case a.Kind != b.Kind:
		return false
	}
	switch a.Kind {
	case types.Decimal:
		return a.Scale == b.Scale && a.Precision <= b.Precision
	case types.Array, types.Multiset:
		return Identical(*a.Elem, *b.Elem)
	case types.Map:
		return Identical(*a.Key, *b.Key) && Identical(*a.Elem, *b.Elem)
	case types.Row:
		if len(a.Fields) != len(b.Fields) {
			return false
		}
		for i := range a.Fields {
			if a.Fields[i].ID != b.Fields[i].ID || !Identical(a.Fields[i].Type, b.Fields[i].Type) {
				return false
			}
		}
		return true
	case types.Vector:
		return a.Length == b.Length && Identical(*a.Elem, *b.Elem)
	}
	return true
}
