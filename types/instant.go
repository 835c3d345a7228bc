package types

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// IsNanos reports whether a type is TIMESTAMP or TIMESTAMP_LTZ of precision 7 to 9, whose nanoseconds since 1970 need
// more than 64 bits: see WideArrowType.
func IsNanos(t Type) bool { return isInstant(t) && t.Precision > 6 }

// HasNanos reports whether IsNanos is true of a type or a part of it.
func HasNanos(t Type) bool {
	if IsNanos(t) || t.Key != nil && HasNanos(*t.Key) || t.Elem != nil && HasNanos(*t.Elem) {
		return true
	}
	for _, f := range t.Fields {
		if HasNanos(f.Type) {
			return true
		}
	}
	return false
}

func isInstant(t Type) bool { return t.Kind == Timestamp || t.Kind == TimestampLTZ }

const nanosPerMilli = 1_000_000

// Nanoseconds gives the nanoseconds since 1970-01-01T00:00:00: the value of a WideTimestamp.
func (i Instant) Nanoseconds() decimal128.Num {
	return WideNanos(i.Millis, nanosPerMilli, int64(i.Nanos))
}

// WideNanos is n*factor + plus, the value of a WideTimestamp: n units of factor nanoseconds since 1970, and so many
// more. Factor and plus are not negative.
func WideNanos(n, factor, plus int64) decimal128.Num {
	hi, lo := bits.Mul64(uint64(n), uint64(factor))
	if n < 0 {
		hi -= uint64(factor)
	}
	lo, carry := bits.Add64(lo, uint64(plus), 0)
	return decimal128.New(int64(hi+carry), lo)
}

// InstantOfNanos is the point in time of the value of a WideTimestamp, and whether it is one that an Instant can hold.
func InstantOfNanos(v decimal128.Num) (Instant, bool) {
	hi, lo := v.HighBits(), v.LowBits()
	if hi == int64(lo)>>63 {
		return InstantOf(int64(lo), arrow.Nanosecond), true
	}
	// Rounding down of -n-1, which is ^n, is the complement of rounding down of n.
	sign := uint64(hi >> 63)
	h, l := uint64(hi)^sign, lo^sign
	if h >= nanosPerMilli/2 { // the quotient needs more than 63 bits
		return Instant{}, false
	}
	q, r := bits.Div64(h, l, nanosPerMilli)
	if sign != 0 {
		r = nanosPerMilli - 1 - r
	}
	return Instant{Millis: int64(q ^ sign), Nanos: int32(r)}, true
}

// InstantOf is the point in time of an Arrow timestamp value. Rounding is down, also before 1970.
func InstantOf(v int64, unit arrow.TimeUnit) Instant {
	switch unit {
	case arrow.Second:
		return Instant{Millis: v * 1000}
	case arrow.Millisecond:
		return Instant{Millis: v}
	case arrow.Microsecond:
		ms := FloorDiv(v, 1000)
		return Instant{Millis: ms, Nanos: int32(v-ms*1000) * 1000}
	default:
		ms := FloorDiv(v, 1_000_000)
		return Instant{Millis: ms, Nanos: int32(v - ms*1_000_000)}
	}
}

// In gives the Arrow timestamp value in a unit, rounded down, and whether 64 bits hold it:
// nanoseconds reach from 1677 to 2262 only.
func (i Instant) In(unit arrow.TimeUnit) (int64, bool) {
	switch unit {
	case arrow.Second:
		return FloorDiv(i.Millis, 1000), true
	case arrow.Millisecond:
		return i.Millis, true
	case arrow.Microsecond:
		return scaleUp(i.Millis, 1000, int64(i.Nanos)/1000)
	default:
		return scaleUp(i.Millis, 1_000_000, int64(i.Nanos))
	}
}

func scaleUp(v, by, plus int64) (int64, bool) {
	if v < 0 { // from one above, so that the product alone does not leave 64 bits
		v++
		plus -= by
	}
	if v > math.MaxInt64/by || v < math.MinInt64/by {
		return 0, false
	}
	v *= by
	if (plus > 0 && v > math.MaxInt64-plus) || (plus < 0 && v < math.MinInt64-plus) {
		return 0, false
	}
	return v + plus, true
}

// Truncate cuts the fraction of a second to a number of digits, rounding down.
func (i Instant) Truncate(precision int) Instant {
	if precision >= 9 {
		return i
	}
	if precision > 3 {
		step := pow10[9-precision]
		return Instant{Millis: i.Millis, Nanos: i.Nanos - i.Nanos%int32(step)}
	}
	step := pow10[3-max(precision, 0)]
	return Instant{Millis: FloorDiv(i.Millis, step) * step}
}

var pow10 = [...]int64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000}

// FloorDiv divides rounding down; Go's division rounds towards zero.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
