package cdc

import (
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

// step says what a source column of a type does to a lake column.
type step int

const (
	keep  step = iota // values fit as they are, or are converted
	widen             // the lake column gets the new type first
	clash             // values would be lost
)

// integers are the whole numbers with their digits, from the narrowest on.
var integers = map[types.Kind]int{types.TinyInt: 3, types.SmallInt: 5, types.Int: 10, types.BigInt: 19}

// meet compares the type of a lake column with the one that the source has now. Types only get wider:
// a source column that became narrower still fits. In which order the types of several shards come makes no difference.
func meet(lake, source types.Type) (types.Type, step) {
	source.NotNull = lake.NotNull
	if source.Kind == types.Invalid || lake.EqualShape(source) {
		return lake, keep
	}
	wide, ok := join(lake, source)
	wide.NotNull = lake.NotNull
	switch {
	case !ok:
		return lake, clash
	case lake.EqualShape(wide):
		return lake, keep
	}
	return wide, widen
}

// join is the type that holds the values of a lake's column and those of the source.
func join(lake, source types.Type) (types.Type, bool) {
	a, b := lake.Kind, source.Kind
	digits, aInt := integers[a]
	more, bInt := integers[b]
	switch {
	case a == types.Boolean && bInt: // TINYINT(1) that became TINYINT
		return source, true
	case aInt && b == types.Boolean: // of a shard that still is one
		return lake, true
	case aInt && bInt:
		return pickType(more > digits, source, lake), true
	case aInt && b == types.Decimal:
		return joinDecimals(digits, 0, source)
	case a == types.Decimal && bInt:
		return joinDecimals(more, 0, lake)
	case a == types.Decimal && b == types.Decimal:
		return joinDecimals(source.Precision-source.Scale, source.Scale, lake)
	case aInt && b == types.Double, a == types.Float && b == types.Double:
		return source, a != types.BigInt
	case a == types.Double && (bInt || b == types.Float): // whole numbers that are not kept as they are, are bad rows
		return lake, true
	case aInt && b == types.Float, a == types.Float && bInt:
		return pickType(max(digits, more) > 5, types.DoubleType, types.FloatType), max(digits, more) <= 10
	case text(a) && lake.Length == types.MaxLength:
		return lake, true // anything can be written as text
	case text(a) && text(b):
		if a == types.Char && b == types.Char && source.Length <= lake.Length || a == types.Varchar && source.Length <= lake.Length {
			return lake, true
		}
		return types.VarcharType(max(lake.Length, source.Length)), true
	case bytesKind(a) && bytesKind(b):
		if source.Length <= lake.Length {
			return lake, true
		}
		return types.VarbinaryType(source.Length), true
	case a == b && (a == types.Timestamp || a == types.TimestampLTZ || a == types.Time):
		return pickType(source.Precision > lake.Precision, source, lake), true
	case a == types.Date && b == types.Timestamp:
		return source, true
	case a == types.Timestamp && b == types.TimestampLTZ, a == types.TimestampLTZ && b == types.Timestamp:
		lake.Precision = max(lake.Precision, source.Precision)
		return lake, true
	case a == types.Timestamp && b == types.Date:
		return lake, true
	}
	return lake, false
}

func pickType(first bool, a, b types.Type) types.Type {
	if first {
		return a
	}
	return b
}

func text(k types.Kind) bool      { return k == types.Char || k == types.Varchar }
func bytesKind(k types.Kind) bool { return k == types.Binary || k == types.Varbinary }

// joinDecimals is the decimal type with as many digits in front of and behind the point as either needs.
func joinDecimals(whole, scale int, d types.Type) (types.Type, bool) {
	whole, scale = max(whole, d.Precision-d.Scale), max(scale, d.Scale)
	if whole+scale > 38 {
		return d, false
	}
	return types.DecimalType(whole+scale, scale), true
}

// loses tells whether values of a source's type may lose something in a lake's column that stays as it is, without an
// error of their own.
func loses(lake, source types.Type) bool {
	if _, what := meet(lake, source); what != keep {
		return true
	}
	return lake.Kind == types.Double && source.Kind == types.BigInt
}

// exactly checks that a value is in the lake's column what it is in a column of the source's type.
func exactly(raw []byte, c *decode.Column, lake, source types.Type) error {
	wide, _ := meet(lake, source)
	switch {
	case !wide.EqualShape(lake):
	case lake.Kind == types.Decimal && (source.Kind == types.Float || source.Kind == types.Double):
		wide = types.DecimalType(38, 38-lake.Precision+lake.Scale)
	default:
		wide = source
	}
	var v [2]types.Datum
	for i, t := range []types.Type{lake, wide} {
		b := array.NewBuilder(memory.DefaultAllocator, types.WideArrowType(t))
		if err := decode.AppendTo(b, t, raw, c); err != nil {
			return err
		}
		v[i] = types.DatumAt(b.NewArray(), 0, t)
	}
	if !equalValues(v[0], v[1], lake, wide) {
		return &decode.Error{Reason: decode.WrongValue, Offset: -1, What: fmt.Sprintf("column %s: %s is no value of type %s, which loses a part of it", c.Name, raw, lake)}
	}
	return nil
}

// equalValues compares a value of a type with the same one of a wider type.
func equalValues(a, b types.Datum, at, bt types.Type) bool {
	switch a := a.(type) {
	case bool:
		n, ok := b.(int64)
		return !ok || n == 0 && !a || n == 1 && a
	case float32:
		f, ok := b.(float64)
		return !ok || float64(a) == f || a != a
	case float64:
		n, ok := b.(int64)
		return !ok || a < 1<<63 && int64(a) == n
	case int64:
		i, ok := b.(types.Instant)
		return !ok || at.Kind != types.Date || types.Instant{Millis: a * 24 * 60 * 60 * 1000} == i
	case types.Instant:
		i, ok := b.(types.Instant)
		return !ok || a == i
	case decimal128.Num:
		n, ok := b.(decimal128.Num)
		if !ok || bt.Scale < at.Scale {
			return true
		}
		return a.BigInt().Mul(a.BigInt(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(bt.Scale-at.Scale)), nil)).Cmp(n.BigInt()) == 0
	}
	return true
}

// clashError is the error of a column whose values would be lost.
func clashError(table, column string, lake, source types.Type) error {
	return &misfitError{fmt.Errorf("%s: column %s is %s in the lake and %s in the source now, whose values may not fit; widen the lake's column, or leave the column out by schema-changes: ignore", table, column, lake, source)}
}
