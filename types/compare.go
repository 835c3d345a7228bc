package types

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// Compare orders two values of an atomic type: negative, 0 or positive for a before, equal to or
// after b. NULL is first; floating point numbers are in a total order, -Inf < … < -0.0 < 0.0 < … <
// Inf < NaN, all NaN equal; strings and bytes are ordered as unsigned bytes. Values that are not of
// the Go type of t (see Datum) count as its zero value; nested types have no order and are all equal.
func Compare(t Type, a, b Datum) int {
	if a == nil || b == nil {
		switch {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return -1
		}
		return 1
	}
	switch t.Kind {
	case Boolean:
		x, _ := a.(bool)
		y, _ := b.(bool)
		switch {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	case TinyInt, SmallInt, Int, BigInt, Date, Time:
		return compareAs(a, b, cmp.Compare[int64])
	case Float:
		return compareAs(a, b, CompareFloat32)
	case Double:
		return compareAs(a, b, CompareFloat64)
	case Decimal:
		return compareAs(a, b, decimal128.Num.Cmp)
	case Char, Varchar:
		return compareAs(a, b, strings.Compare)
	case Binary, Varbinary:
		return compareAs(a, b, bytes.Compare)
	case Timestamp, TimestampLTZ:
		return compareAs(a, b, Instant.Compare)
	}
	return 0
}

func compareAs[T any](a, b Datum, f func(T, T) int) int {
	x, _ := a.(T)
	y, _ := b.(T)
	return f(x, y)
}

// Compare orders points in time.
func (i Instant) Compare(o Instant) int {
	if c := cmp.Compare(i.Millis, o.Millis); c != 0 {
		return c
	}
	return cmp.Compare(i.Nanos, o.Nanos)
}

// CompareFloat64 is the total order of DOUBLE; see Compare.
func CompareFloat64(a, b float64) int { return cmp.Compare(floatRank(a), floatRank(b)) }

// CompareFloat32 is the total order of FLOAT; see Compare.
func CompareFloat32(a, b float32) int { return CompareFloat64(float64(a), float64(b)) }

// floatRank maps floating point numbers to integers in the same order.
func floatRank(f float64) int64 {
	if f != f {
		return math.MaxInt64
	}
	n := int64(math.Float64bits(f))
	if n < 0 {
		return n ^ math.MaxInt64 // the more negative, the smaller
	}
	return n
}
