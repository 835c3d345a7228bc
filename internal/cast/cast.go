// Package cast converts columns from one data type to another, by the rules of the format: which casts
// there are, and what becomes of values that do not fit.
package cast

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

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
// all values, about; explicit ones may lose something.
func CanCast(from, to types.Type, explicit bool) bool {
	if from.AsNullable().Equal(to.AsNullable()) {
		return true
	}
	a, b := from.Kind, to.Kind
	if from.IsNested() || to.IsNested() {
		return canNested(from, to, explicit)
	}
	if a == b {
		return true
	}
	switch {
	case isText(b):
		return isText(a) && b == types.Varchar || explicit && a != types.Variant
	case b == types.Boolean:
		return explicit && (isText(a) || isInt(a))
	case b == types.Binary:
		return explicit && (isText(a) || a == types.Varbinary)
	case b == types.Varbinary:
		return isBytes(a) || explicit && isText(a)
	case b == types.Decimal, b == types.Double:
		return isNumber(a) || explicit && (isText(a) || a == types.Boolean)
	case b == types.Float:
		return isInt(a) || a == types.Decimal || explicit && (isNumber(a) || isText(a) || a == types.Boolean)
	case isInt(b):
		if isInt(a) && a < b {
			return true
		}
		return explicit && (isNumber(a) || isText(a) || a == types.Boolean || isInstant(a) && (b == types.Int || b == types.BigInt))
	case b == types.Date:
		return a == types.Timestamp || explicit && (isInstant(a) || isText(a))
	case b == types.Time:
		return a == types.Timestamp || explicit && (isInstant(a) || isText(a))
	case isInstant(b):
		return isInstant(a) || explicit && (a == types.Date || a == types.Time || isText(a) || isInt(a))
	}
	return false
}

func canNested(from, to types.Type, explicit bool) bool {
	switch {
	case isText(to.Kind):
		return explicit && (from.Kind == types.Array || from.Kind == types.Map || from.Kind == types.Row)
	case from.Kind != to.Kind:
		return false
	case from.Kind == types.Array, from.Kind == types.Multiset:
		return CanCast(*from.Elem, *to.Elem, explicit)
	case from.Kind == types.Map:
		return CanCast(*from.Key, *to.Key, explicit) && CanCast(*from.Elem, *to.Elem, explicit)
	case from.Kind == types.Row:
		for _, t := range to.Fields {
			for _, f := range from.Fields {
				if f.ID == t.ID && !CanCast(f.Type, t.Type, explicit) {
					return false
				}
			}
		}
		return true
	}
	return false
}

// Cast converts an array. NULL stays NULL; a number that is too large for a DECIMAL becomes NULL, for an
// integer it loses its high bits, as in the reference; text that cannot be read is an error that shows
// it. Fields of ROWs are matched by id.
func Cast(a arrow.Array, from, to types.Type) (arrow.Array, error) {
	if !CanCast(from, to, true) {
		return nil, fmt.Errorf("%s cannot be cast to %s", from, to)
	}
	if arrow.TypeEqual(a.DataType(), types.ArrowType(to)) && same(from, to) {
		return a, nil
	}
	if out := wide(a, to); out != nil {
		return out, nil
	}
	switch {
	case from.IsNested() && to.IsNested():
		return nested(a, from, to)
	case from.IsNested():
		return nestedText(a, from, to)
	}
	b := array.NewBuilder(memory.DefaultAllocator, types.ArrowType(to))
	b.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		v, err := Value(types.DatumAt(a, i, from), from, to)
		if err != nil {
			return nil, err
		}
		if v == nil {
			b.AppendNull()
			continue
		}
		if err := types.AppendDatum(b, to, v); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}

// same reports whether values need no change at all.
func same(from, to types.Type) bool {
	switch {
	case isText(from.Kind) && isText(to.Kind):
		return to.Kind == types.Varchar && to.Length >= from.Length || from.Kind == to.Kind && from.Length == to.Length
	case isBytes(from.Kind) && isBytes(to.Kind):
		return to.Kind == types.Varbinary && to.Length >= from.Length || from.Kind == to.Kind && from.Length == to.Length
	case from.IsNested():
		return from.AsNullable().Equal(to.AsNullable())
	}
	return from.AsNullable().EqualShape(to.AsNullable())
}

// wide converts integers to wider ones, and FLOAT to DOUBLE, in one loop; nil if that is not the case.
func wide(a arrow.Array, to types.Type) arrow.Array {
	switch to.Kind {
	case types.BigInt:
		b := array.NewInt64Builder(memory.DefaultAllocator)
		switch x := a.(type) {
		case *array.Int8:
			return widen(b, x, x.Int8Values())
		case *array.Int16:
			return widen(b, x, x.Int16Values())
		case *array.Int32:
			return widen(b, x, x.Int32Values())
		}
	case types.Int:
		b := array.NewInt32Builder(memory.DefaultAllocator)
		switch x := a.(type) {
		case *array.Int8:
			return widen(b, x, x.Int8Values())
		case *array.Int16:
			return widen(b, x, x.Int16Values())
		}
	case types.SmallInt:
		if x, ok := a.(*array.Int8); ok {
			return widen(array.NewInt16Builder(memory.DefaultAllocator), x, x.Int8Values())
		}
	}
	return nil
}

type number interface{ int8 | int16 | int32 | int64 }

func widen[F, T number](b interface {
	AppendValues([]T, []bool)
	NewArray() arrow.Array
}, a arrow.Array, vals []F,
) arrow.Array {
	out := make([]T, len(vals))
	for i, v := range vals {
		out[i] = T(v)
	}
	var valid []bool
	if a.NullN() > 0 {
		valid = make([]bool, len(vals))
		for i := range valid {
			valid[i] = a.IsValid(i)
		}
	}
	b.AppendValues(out, valid)
	return b.NewArray()
}
