package cdc

import (
	"fmt"

	"github.com/tarnlake/tarn/types"
)

// step says what a source column of a type does to a lake column.
type step int

const (
	keep  step = iota // values fit as they are, or are converted
	widen             // the lake column gets the new type first
	clash             // values would be lost
)

var integers = map[types.Kind]int{types.TinyInt: 1, types.SmallInt: 2, types.Int: 3, types.BigInt: 4}

// meet compares the type of a lake column with the one that the source has now. Types only get wider:
// a source column that became narrower still fits.
func meet(lake, source types.Type) (types.Type, step) {
	source.NotNull = lake.NotNull
	if source.Kind == types.Invalid || lake.EqualShape(source) {
		return lake, keep
	}
	a, b := lake.Kind, source.Kind
	ai, aInt := integers[a]
	bi, bInt := integers[b]
	switch {
	case aInt && bInt:
		if bi > ai {
			return source, widen
		}
		return lake, keep
	case a == types.Float && b == types.Double:
		return source, widen
	case a == types.Double && (b == types.Float || bInt):
		return lake, keep
	case a == types.Decimal && b == types.Decimal:
		return meetDecimals(lake, source)
	case a == types.Decimal && bInt:
		digits := map[types.Kind]int{types.TinyInt: 3, types.SmallInt: 5, types.Int: 10, types.BigInt: 19}[b]
		if lake.Precision-lake.Scale >= digits {
			return lake, keep
		}
		return widerDecimal(lake, digits, lake.Scale)
	case text(a) && text(b):
		if source.Length > lake.Length || a == types.Char && b == types.Varchar {
			w := types.VarcharType(max(lake.Length, source.Length))
			w.NotNull = lake.NotNull
			return w, widen
		}
		return lake, keep
	case text(a) && lake.Length == types.MaxLength:
		return lake, keep // anything can be written as text
	case bytesKind(a) && bytesKind(b):
		if source.Length > lake.Length {
			w := types.VarbinaryType(source.Length)
			w.NotNull = lake.NotNull
			return w, widen
		}
		return lake, keep
	case a == b && (a == types.Timestamp || a == types.TimestampLTZ || a == types.Time):
		if source.Precision > lake.Precision {
			return source, widen
		}
		return lake, keep
	case a == types.Timestamp && b == types.TimestampLTZ, a == types.TimestampLTZ && b == types.Timestamp, a == types.Timestamp && b == types.Date:
		return lake, keep
	}
	return lake, clash
}

func text(k types.Kind) bool      { return k == types.Char || k == types.Varchar }
func bytesKind(k types.Kind) bool { return k == types.Binary || k == types.Varbinary }

func meetDecimals(lake, source types.Type) (types.Type, step) {
	whole, scale := max(lake.Precision-lake.Scale, source.Precision-source.Scale), max(lake.Scale, source.Scale)
	if whole <= lake.Precision-lake.Scale && scale <= lake.Scale {
		return lake, keep
	}
	return widerDecimal(lake, whole, scale)
}

func widerDecimal(lake types.Type, whole, scale int) (types.Type, step) {
	if whole+scale > 38 {
		return lake, clash
	}
	w := types.DecimalType(whole+scale, scale)
	w.NotNull = lake.NotNull
	return w, widen
}

// clashError is the error of a column whose values would be lost.
func clashError(table, column string, lake, source types.Type) error {
	return &misfitError{fmt.Errorf("%s: column %s is %s in the lake and %s in the source now, whose values may not fit; widen the lake's column, or leave the column out by schema-changes: ignore", table, column, lake, source)}
}
