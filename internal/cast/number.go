package cast

import (
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64
}

type number interface{ integer | ~float32 | ~float64 }

func convert[F, T number](vals []F) []T {
	out := make([]T, len(vals))
	for i, v := range vals {
		out[i] = T(v)
	}
	return out
}

// integers is a BOOLEAN, integer, DATE or TIME array as 64-bit numbers.
func integers(a arrow.Array) column[int64] {
	m := maskOf(a)
	switch x := a.(type) {
	case *array.Int8:
		return column[int64]{convert[int8, int64](x.Int8Values()), m}
	case *array.Int16:
		return column[int64]{convert[int16, int64](x.Int16Values()), m}
	case *array.Int32:
		return column[int64]{convert[int32, int64](x.Int32Values()), m}
	case *array.Int64:
		return column[int64]{x.Int64Values(), m}
	case *array.Date32:
		return column[int64]{convert[arrow.Date32, int64](x.Date32Values()), m}
	case *array.Time32:
		return column[int64]{convert[arrow.Time32, int64](x.Time32Values()), m}
	case *array.Boolean:
		out := make([]int64, x.Len())
		for i := range out {
			if x.Value(i) {
				out[i] = 1
			}
		}
		return column[int64]{out, m}
	}
	return column[int64]{make([]int64, a.Len()), m}
}

// fromInts converts numbers; what a narrower type cannot hold loses its high bits.
func fromInts(c column[int64], to types.Type) (arrow.Array, error) {
	dt := types.WideArrowType(to)
	switch to.Kind {
	case types.Boolean:
		return booleans(len(c.vals), c.mask, func(i int) bool { return c.vals[i] != 0 }), nil
	case types.TinyInt:
		return fixed(dt, convert[int64, int8](c.vals), c.mask), nil
	case types.SmallInt:
		return fixed(dt, convert[int64, int16](c.vals), c.mask), nil
	case types.Int:
		return fixed(dt, convert[int64, int32](c.vals), c.mask), nil
	case types.BigInt:
		return fixed(dt, c.vals, c.mask), nil
	case types.Float:
		return fixed(dt, convert[int64, float32](c.vals), c.mask), nil
	case types.Double:
		return fixed(dt, convert[int64, float64](c.vals), c.mask), nil
	case types.Decimal:
		out := make([]decimal128.Num, len(c.vals))
		for i, v := range c.vals {
			out[i] = decimal128.FromI64(v)
		}
		rescale(out, &c.mask, 0, to)
		return fixed(dt, out, c.mask), nil
	case types.Timestamp, types.TimestampLTZ: // seconds since 1970
		return instants(c, func(v int64) types.Instant { return types.Instant{Millis: v * 1000} }, to)
	}
	return nil, fmt.Errorf("a number cannot be cast to %s", to)
}

// floats is a FLOAT or DOUBLE array as DOUBLEs.
func floats(a arrow.Array) column[float64] {
	m := maskOf(a)
	switch x := a.(type) {
	case *array.Float32:
		return column[float64]{convert[float32, float64](x.Float32Values()), m}
	case *array.Float64:
		return column[float64]{x.Float64Values(), m}
	}
	return column[float64]{make([]float64, a.Len()), m}
}

// fromFloats converts numbers. Integers take what is before the point; what is outside of 32 or 64 bits
// becomes the nearest number there is, and then loses its high bits in narrower types, as in Java.
func fromFloats(c column[float64], to types.Type) (arrow.Array, error) {
	dt := types.WideArrowType(to)
	switch to.Kind {
	case types.TinyInt:
		return fixed(dt, convert[int32, int8](clamp32(c.vals)), c.mask), nil
	case types.SmallInt:
		return fixed(dt, convert[int32, int16](clamp32(c.vals)), c.mask), nil
	case types.Int:
		return fixed(dt, clamp32(c.vals), c.mask), nil
	case types.BigInt:
		out := make([]int64, len(c.vals))
		for i, v := range c.vals {
			out[i] = clamp(v, math.MinInt64, math.MaxInt64)
		}
		return fixed(dt, out, c.mask), nil
	case types.Float:
		return fixed(dt, convert[float64, float32](c.vals), c.mask), nil
	case types.Double:
		return fixed(dt, c.vals, c.mask), nil
	case types.Decimal:
		// By the text of the DOUBLE, not by its exact binary value.
		out := make([]decimal128.Num, len(c.vals))
		var buf [32]byte
		for i, v := range c.vals {
			if !c.mask.valid(i) {
				continue
			}
			d, fits, err := types.ParseDecimal(string(types.AppendJavaFloat(buf[:0], v, 64)), to.Precision, to.Scale)
			if err != nil || !fits { // NaN and infinities have no digits
				c.mask.clear(i, len(c.vals))
			}
			out[i] = d
		}
		return fixed(dt, out, c.mask), nil
	}
	return nil, fmt.Errorf("a floating-point number cannot be cast to %s", to)
}

func clamp32(vals []float64) []int32 {
	out := make([]int32, len(vals))
	for i, v := range vals {
		out[i] = int32(clamp(v, math.MinInt32, math.MaxInt32))
	}
	return out
}

func clamp(f float64, lo, hi int64) int64 {
	switch {
	case f != f:
		return 0
	case f >= float64(hi):
		return hi
	case f <= float64(lo):
		return lo
	}
	return int64(f)
}

// fromDecimals converts decimals: other scales round half up, integers take what is before the point.
func fromDecimals(a arrow.Array, from, to types.Type) (arrow.Array, error) {
	vals, m := a.(*array.Decimal128).Values(), maskOf(a)
	dt := types.WideArrowType(to)
	switch to.Kind {
	case types.Decimal:
		out := append([]decimal128.Num(nil), vals...)
		rescale(out, &m, from.Scale, to)
		return fixed(dt, out, m), nil
	case types.Float, types.Double:
		out := make([]float64, len(vals))
		for i, v := range vals {
			if m.valid(i) {
				out[i] = decimalFloat(v, from)
			}
		}
		return fromFloats(column[float64]{out, m}, to)
	}
	out := make([]int64, len(vals))
	for i, v := range vals {
		if m.valid(i) {
			out[i] = int64(reduce(v, from.Scale, false).LowBits())
		}
	}
	return fromInts(column[int64]{out, m}, to)
}

// decimalFloat is the DOUBLE of a decimal: up to 18 digits by one division, as the reference does it,
// else the nearest.
func decimalFloat(v decimal128.Num, t types.Type) float64 {
	if t.Precision <= 18 {
		return float64(int64(v.LowBits())) / math.Pow10(t.Scale)
	}
	var buf [48]byte
	f, _ := strconv.ParseFloat(string(types.AppendDecimal(buf[:0], v, t.Scale)), 64) // 38 digits are in range
	return f
}

// rescale brings decimals to the scale of a type in place, rounding half up. What has too many digits
// then becomes NULL.
func rescale(vals []decimal128.Num, m *mask, scale int, to types.Type) {
	more := int32(to.Scale - scale)
	for i, v := range vals {
		if !m.valid(i) {
			continue
		}
		switch {
		case more > 0 && !fits(v, 38-int(more)): // would leave 128 bits
			m.clear(i, len(vals))
			continue
		case more > 0:
			v = v.Mul(decimal128.GetScaleMultiplier(int(more)))
		case more < 0:
			v = reduce(v, int(-more), true)
		}
		if !fits(v, to.Precision) {
			m.clear(i, len(vals))
		}
		vals[i] = v
	}
}

// reduce drops digits after the point, rounding half up (away from zero) or towards zero.
func reduce(v decimal128.Num, digits int, round bool) decimal128.Num {
	n := int64(v.LowBits())
	if v.HighBits() != n>>63 || digits > 18 {
		return v.ReduceScaleBy(int32(digits), round)
	}
	unit := int64(decimal128.GetScaleMultiplier(digits).LowBits())
	q, r := n/unit, n%unit
	if round && unit > 1 {
		switch {
		case r >= unit/2:
			q++
		case r <= -unit/2:
			q--
		}
	}
	return decimal128.FromI64(q)
}

// fits reports whether a decimal has at most some digits.
func fits(v decimal128.Num, digits int) bool {
	if digits <= 0 {
		return v.Sign() == 0
	}
	most := decimal128.GetMaxValue(int32(digits))
	return v.LessEqual(most) && v.GreaterEqual(most.Negate())
}
