package predicate

import (
	"fmt"
	"math"
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
		d, err := types.ParseDatum(t, s)
		if err != nil {
			return nil, err
		}
		return d, nil
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
	return types.ParseDatum(t, s)
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
