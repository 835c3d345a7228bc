package cast

import (
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// Value converts one value that is not NULL; the result may be NULL.
func Value(v types.Datum, from, to types.Type) (types.Datum, error) {
	switch {
	case isText(to.Kind):
		return toText(v, from, to), nil
	case isText(from.Kind):
		return fromText(v.(string), to)
	case isBytes(to.Kind):
		return fitBytes(v.([]byte), to), nil
	}
	switch x := v.(type) {
	case bool:
		n := int64(0)
		if x {
			n = 1
		}
		return fromInt(n, to)
	case int64:
		switch from.Kind {
		case types.Date:
			return types.Instant{Millis: x * 86400000}, nil
		case types.Time:
			return types.Instant{Millis: x}, nil
		}
		return fromInt(x, to)
	case float32:
		return fromFloat(float64(x), to, 32)
	case float64:
		return fromFloat(x, to, 64)
	case decimal128.Num:
		return fromDecimal(x, from, to)
	case types.Instant:
		return fromInstant(x, to)
	}
	return nil, fmt.Errorf("%s cannot be cast to %s", from, to)
}

func toText(v types.Datum, from, to types.Type) types.Datum {
	var s string
	switch x := v.(type) {
	case string:
		s = x
	case []byte:
		s = string(x)
	default:
		s = types.FormatDatum(from, v)
		if from.Kind == types.Time {
			s = javaTime(x.(int64))
		}
	}
	return fitText(s, to)
}

// javaTime writes a time of day the way the reference's cast does: the fraction without zeros at its
// end, at least one digit.
func javaTime(ms int64) string {
	s := fmt.Sprintf("%02d:%02d:%02d", ms/3600000, ms/60000%60, ms/1000%60)
	frac := fmt.Sprintf("%03d", ms%1000)
	for len(frac) > 1 && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	return s + "." + frac
}

// fitText cuts text to the length of a type, and pads CHAR with blanks.
func fitText(s string, to types.Type) string {
	if len(s) <= to.Length && to.Kind == types.Varchar {
		return s
	}
	for i := range s {
		if to.Length == 0 {
			return s[:i]
		}
		to.Length--
	}
	if to.Kind == types.Char {
		for range to.Length {
			s += " "
		}
	}
	return s
}

func fitBytes(b []byte, to types.Type) []byte {
	if len(b) > to.Length {
		return b[:to.Length]
	}
	if to.Kind == types.Binary && len(b) < to.Length {
		return append(append([]byte{}, b...), make([]byte, to.Length-len(b))...)
	}
	return b
}

func fromText(s string, to types.Type) (types.Datum, error) {
	if isBytes(to.Kind) {
		return fitBytes([]byte(s), to), nil
	}
	v, err := types.ParseDatum(to, s)
	if err != nil && to.Kind == types.Decimal {
		if _, ok := new(big.Rat).SetString(s); ok {
			return nil, nil // too large
		}
	}
	return v, err
}

func fromInt(n int64, to types.Type) (types.Datum, error) {
	switch to.Kind {
	case types.Boolean:
		return n != 0, nil
	case types.TinyInt:
		return int64(int8(n)), nil
	case types.SmallInt:
		return int64(int16(n)), nil
	case types.Int:
		return int64(int32(n)), nil
	case types.BigInt:
		return n, nil
	case types.Float:
		return float32(n), nil
	case types.Double:
		return float64(n), nil
	case types.Decimal:
		return rounded(new(big.Rat).SetInt64(n), to), nil
	case types.Timestamp, types.TimestampLTZ:
		return types.Instant{Millis: n * 1000}, nil
	}
	return nil, fmt.Errorf("a number cannot be cast to %s", to)
}

func rounded(v *big.Rat, to types.Type) types.Datum {
	d, ok := types.RoundDecimal(v, to)
	if !ok {
		return nil
	}
	return d
}

// fromFloat: integers take what is before the point; what is outside of 32 or 64 bits becomes the
// nearest number there is, and then loses its high bits in narrower types, as in Java.
func fromFloat(f float64, to types.Type, bits int) (types.Datum, error) {
	switch to.Kind {
	case types.Float:
		return float32(f), nil
	case types.Double:
		if f == 0 { // the reference adds 0.0
			return 0.0, nil
		}
		return f, nil
	case types.BigInt:
		return clamp(f, math.MinInt64, math.MaxInt64), nil
	case types.Int:
		return clamp(f, math.MinInt32, math.MaxInt32), nil
	case types.SmallInt:
		return int64(int16(clamp(f, math.MinInt32, math.MaxInt32))), nil
	case types.TinyInt:
		return int64(int8(clamp(f, math.MinInt32, math.MaxInt32))), nil
	case types.Decimal:
		// By the shortest text that stands for the number, not by its exact binary value.
		text := types.FormatDatum(types.Type{Kind: types.Double}, f)
		if bits == 32 {
			text = types.FormatDatum(types.Type{Kind: types.Float}, float32(f))
		}
		v, ok := new(big.Rat).SetString(text)
		if !ok {
			return nil, nil // NaN, infinite
		}
		return rounded(v, to), nil
	}
	return nil, fmt.Errorf("a floating-point number cannot be cast to %s", to)
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

func fromDecimal(d decimal128.Num, from, to types.Type) (types.Datum, error) {
	v := new(big.Rat).SetFrac(d.BigInt(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(from.Scale)), nil))
	switch to.Kind {
	case types.Decimal:
		return rounded(v, to), nil
	case types.Float:
		f, _ := v.Float32()
		return f, nil
	case types.Double:
		f, _ := v.Float64()
		return f, nil
	}
	whole := new(big.Int).Quo(v.Num(), v.Denom())
	low := new(big.Int).And(whole, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	return fromInt(int64(low), to)
}

// fromInstant rounds down, before 1970 too (BUGS B063; the reference rounds towards 1970).
func fromInstant(v types.Instant, to types.Type) (types.Datum, error) {
	switch to.Kind {
	case types.Timestamp, types.TimestampLTZ:
		return v.Truncate(to.Precision), nil
	case types.Date:
		return types.FloorDiv(v.Millis, 86400000), nil
	case types.Time:
		return v.Millis - types.FloorDiv(v.Millis, 86400000)*86400000, nil
	}
	return fromInt(types.FloorDiv(v.Millis, 1000), to)
}
