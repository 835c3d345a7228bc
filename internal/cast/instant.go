package cast

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

const millisPerDay = 86_400_000

// instants makes a TIMESTAMP or TIMESTAMP_LTZ array; digits below the unit are dropped. A point in time that the Arrow type of the
// precision cannot hold is an error: microseconds reach some 290,000 years.
func instants[T any](c column[T], at func(T) types.Instant, to types.Type) (arrow.Array, error) {
	if types.IsNanos(to) {
		out := make([]decimal128.Num, len(c.vals))
		for i, v := range c.vals {
			if c.mask.valid(i) {
				out[i] = at(v).Nanoseconds()
			}
		}
		return fixed(types.WideTimestamp, out, c.mask), nil
	}
	unit := types.TimeUnit(to.Precision)
	out := make([]arrow.Timestamp, len(c.vals))
	for i, v := range c.vals {
		if !c.mask.valid(i) {
			continue
		}
		p := at(v)
		n, ok := p.In(unit)
		if !ok {
			return nil, fmt.Errorf("%s is out of the range of %s", types.AppendTimestamp(nil, p, 0), to)
		}
		out[i] = arrow.Timestamp(n)
	}
	return fixed(types.WideArrowType(to), out, c.mask), nil
}

// fromDays converts DATE and TIME. As in the reference the milliseconds of a TIME stay, whatever the
// precision.
func fromDays(c column[int64], from types.Kind, to types.Type) (arrow.Array, error) {
	scale := int64(1)
	if from == types.Date {
		scale = millisPerDay
	}
	return instants(c, func(v int64) types.Instant { return types.Instant{Millis: v * scale} }, to)
}

// fromInstants rounds down, before 1970 too (the reference up to 1.4 rounds towards 1970 there).
// TIMESTAMP and TIMESTAMP_LTZ are the same point in time: the time zone of a session is UTC.
func fromInstants(a arrow.Array, from, to types.Type) (arrow.Array, error) {
	if x, ok := a.(*array.Decimal128); ok {
		return fromPoints(column[decimal128.Num]{x.Values(), maskOf(a)}, func(v decimal128.Num) types.Instant {
			i, _ := types.InstantOfNanos(v) // writers let in nothing else
			return i
		}, to)
	}
	unit := types.TimeUnit(from.Precision)
	c := column[arrow.Timestamp]{a.(*array.Timestamp).TimestampValues(), maskOf(a)}
	return fromPoints(c, func(v arrow.Timestamp) types.Instant { return types.InstantOf(int64(v), unit) }, to)
}

// fromPoints is fromInstants of values in whatever form; at reads it.
func fromPoints[T any](c column[T], at func(T) types.Instant, to types.Type) (arrow.Array, error) {
	switch to.Kind {
	case types.Timestamp, types.TimestampLTZ:
		return instants(c, func(v T) types.Instant { return at(v).Truncate(to.Precision) }, to)
	case types.Date, types.Time:
		out := make([]int32, len(c.vals))
		for i, v := range c.vals {
			ms := at(v).Millis
			day := types.FloorDiv(ms, millisPerDay)
			if out[i] = int32(day); to.Kind == types.Time {
				out[i] = int32(ms - day*millisPerDay)
			}
		}
		return fixed(types.WideArrowType(to), out, c.mask), nil
	}
	out := make([]int64, len(c.vals))
	for i, v := range c.vals {
		out[i] = types.FloorDiv(at(v).Millis, 1000)
	}
	return fromInts(column[int64]{out, c.mask}, to)
}
