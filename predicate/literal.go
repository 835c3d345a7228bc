package predicate

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// literal makes a value of a type of what a user gave: a types.Datum, or a Go value near to it.
func literal(t types.Type, v any) (types.Datum, error) {
	bad := func() error { return fmt.Errorf("%v (%T) is no value of type %s", v, v, t) }
	if v == nil {
		return nil, nil
	}
	if n, ok := integerOf(v); ok {
		v = n
	}
	if s, ok := v.(string); ok && t.Kind != types.Char && t.Kind != types.Varchar {
		if t.Kind == types.Binary || t.Kind == types.Varbinary {
			return nil, bad()
		}
		return fromText(t, s)
	}
	switch t.Kind {
	case types.Boolean:
		if x, ok := v.(bool); ok {
			return x, nil
		}
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		if x, ok := v.(int64); ok {
			return x, nil
		}
	case types.Date:
		switch x := v.(type) {
		case int64:
			return x, nil
		case time.Time:
			return types.FloorDiv(wall(x).Unix(), 86400), nil
		}
	case types.Time:
		switch x := v.(type) {
		case int64:
			return x, nil
		case time.Duration:
			return x.Milliseconds(), nil
		}
	case types.Float:
		switch x := v.(type) {
		case float32:
			return x, nil
		case float64:
			return float32(x), nil
		case int64:
			return float32(x), nil
		}
	case types.Double:
		switch x := v.(type) {
		case float64:
			return x, nil
		case float32:
			return float64(x), nil
		case int64:
			return float64(x), nil
		}
	case types.Decimal:
		return decimalOf(t, v, bad)
	case types.Char, types.Varchar:
		if x, ok := v.(string); ok {
			return x, nil
		}
	case types.Binary, types.Varbinary:
		if x, ok := v.([]byte); ok {
			return x, nil
		}
	case types.Timestamp, types.TimestampLTZ:
		switch x := v.(type) {
		case types.Instant:
			return x, nil
		case time.Time:
			if t.Kind == types.Timestamp {
				x = wall(x)
			}
			return types.Instant{Millis: x.UnixMilli(), Nanos: int32(x.Nanosecond() % 1_000_000)}, nil
		}
	}
	return nil, bad()
}

func decimalOf(t types.Type, v any, bad func() error) (types.Datum, error) {
	var s string
	switch x := v.(type) {
	case decimal128.Num:
		return x, nil
	case int64:
		s = strconv.FormatInt(x, 10)
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, bad()
		}
		s = strconv.FormatFloat(x, 'f', -1, 64)
	default:
		return nil, bad()
	}
	return fromText(t, s)
}

// fromText reads a constant. Unlike a cast it does not round: x = 2.7 for an INT column would become x = 2.
func fromText(t types.Type, s string) (types.Datum, error) {
	d, err := types.ParseDatum(t, s)
	if err != nil {
		return nil, err
	}
	var back string
	switch t.Kind {
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Decimal:
		back = types.FormatDatum(t, d)
	default:
		return d, nil
	}
	// Both are known to be numbers; the length bounds what exponents cost.
	a, ok := new(big.Rat).SetString(s)
	b, _ := new(big.Rat).SetString(back)
	if !ok || a.Cmp(b) != 0 {
		return nil, fmt.Errorf("%.60q is no value of type %s: it has digits that would be lost", s, t)
	}
	return d, nil
}

func integerOf(v any) (int64, bool) {
	switch x := v.(type) {
	case int:
		return int64(x), true
	case int8:
		return int64(x), true
	case int16:
		return int64(x), true
	case int32:
		return int64(x), true
	case uint8:
		return int64(x), true
	case uint16:
		return int64(x), true
	case uint32:
		return int64(x), true
	}
	return 0, false
}

// wall is the time that the clock shows, as if in UTC.
func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}
