package cast

import "github.com/tarnlake/tarn/types"

// KeepsOrder reports whether the cast keeps all values apart and in their order, so that a comparison
// with a value that has an original is the same before and after.
func KeepsOrder(from, to types.Type) bool {
	a, b := from.Kind, to.Kind
	switch {
	case Identical(from, to):
		return !from.IsNested()
	case isInt(a) && isInt(b):
		return a < b
	case isInt(a) && b == types.Decimal:
		return to.Precision-to.Scale >= intDigits(a)
	case isInt(a) && b == types.Double:
		return a != types.BigInt // 53 bits
	case isInt(a) && b == types.Float:
		return a == types.TinyInt || a == types.SmallInt // 24 bits
	case a == types.Float && b == types.Double:
		return true
	case a == types.Decimal && b == types.Decimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	case isInstant(a) && isInstant(b):
		return to.Precision >= from.Precision
	case a == types.Date && isInstant(b):
		return true
	}
	return false
}

func intDigits(k types.Kind) int {
	switch k {
	case types.TinyInt:
		return 3
	case types.SmallInt:
		return 5
	case types.Int:
		return 10
	}
	return 19
}

// KeepsNulls reports whether a value that is not NULL never becomes NULL.
func KeepsNulls(from, to types.Type) bool {
	return to.Kind != types.Decimal || KeepsOrder(from, to) || from.Kind == types.Boolean && to.Precision > to.Scale
}
