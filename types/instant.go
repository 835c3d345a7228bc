package types

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

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
