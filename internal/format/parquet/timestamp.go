package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// unitOf is the unit of values of a timestamp type.
func unitOf(precision int) timeUnit {
	switch {
	case precision <= 3:
		return unitMillis
	case precision <= 6:
		return unitMicros
	}
	return unitNanos
}

func (u timeUnit) String() string {
	switch u {
	case unitMillis:
		return "ms"
	case unitMicros:
		return "us"
	}
	return "ns"
}

// timestampSink reads timestamps of any unit. A finer unit is rounded down; a coarser one that does
// not fit is an error.
func timestampSink(n *node, dt arrow.DataType, t types.Type) sink {
	want := unitOf(t.Precision)
	have := n.logical.unit
	if n.logical.kind == logNone {
		have = want // writers that leave out the annotation use the type's own unit
	}
	switch {
	case n.phys == physInt96 && want == unitNanos:
		return &fixedSink[decimal128.Num]{dt: dt, load: int96(func(days, nanos int64) (decimal128.Num, bool) { return types.WideNanos(days, nanosOfDay, nanos), true })}
	case n.phys == physInt96 && want == unitMicros:
		return &fixedSink[int64]{dt: dt, load: int96(func(days, nanos int64) (int64, bool) {
			const most = math.MaxInt64 / (nanosOfDay / 1000)
			return days*(nanosOfDay/1000) + nanos/1000, days < most && days > -most
		})}
	case n.phys == physInt96:
		return &fixedSink[int64]{dt: dt, load: int96(func(days, nanos int64) (int64, bool) { return days*millisOfDay + nanos/1_000_000, true })}
	case n.phys != physInt64 || n.logical.kind != logTimestamp && n.logical.kind != logNone || have < unitMillis || have > unitNanos:
		return nil
	case want == unitNanos:
		return &fixedSink[decimal128.Num]{dt: dt, load: wideTimestamps(map[timeUnit]int64{unitMillis: 1_000_000, unitMicros: 1000, unitNanos: 1}[have])}
	case have == want:
		return &fixedSink[int64]{dt: dt, load: (*values).int64s}
	}
	factor := int64(1000)
	if have-want == 2 {
		factor = 1_000_000
	}
	if have > want {
		return &fixedSink[int64]{dt: dt, load: func(v *values, dst []int64) error {
			if err := v.int64s(dst); err != nil {
				return err
			}
			for i, x := range dst {
				dst[i] = types.FloorDiv(x, factor)
			}
			return nil
		}}
	}
	most := math.MaxInt64 / factor
	return &fixedSink[int64]{dt: dt, load: func(v *values, dst []int64) error {
		if err := v.int64s(dst); err != nil {
			return err
		}
		for i, x := range dst {
			if x > most || x < -most {
				return fmt.Errorf("timestamp %d (%s) is out of the range of %s", x, have, dt)
			}
			dst[i] = x * factor
		}
		return nil
	}}
}

// wideTimestamps reads 64-bit timestamps as nanoseconds.
func wideTimestamps(factor int64) func(v *values, dst []decimal128.Num) error {
	var buf []int64
	return func(v *values, dst []decimal128.Num) error {
		if cap(buf) < len(dst) {
			buf = make([]int64, len(dst))
		}
		b := buf[:len(dst)]
		if err := v.int64s(b); err != nil {
			return err
		}
		for i, x := range b {
			dst[i] = types.WideNanos(x, factor, 0)
		}
		return nil
	}
}

const (
	julianEpoch = 2440588 // Julian day of 1970-01-01
	nanosOfDay  = 24 * int64(time.Hour)
	millisOfDay = 24 * 60 * 60 * 1000
)

// int96 reads the older nanosecond timestamps: nanoseconds of the day and Julian day; of makes the value of days since
// 1970 and nanoseconds of the day, if there is one. Some writers store negative nanoseconds before 1970.
func int96[T any](of func(days, nanos int64) (T, bool)) func(v *values, dst []T) error {
	var buf []byte
	return func(v *values, dst []T) error {
		if cap(buf) < len(dst)*12 {
			buf = make([]byte, len(dst)*12)
		}
		b := buf[:len(dst)*12]
		if err := v.fixed(b); err != nil {
			return err
		}
		for i := range dst {
			nanos := int64(binary.LittleEndian.Uint64(b[i*12:]))
			days := int64(int32(binary.LittleEndian.Uint32(b[i*12+8:]))) - julianEpoch
			if uint64(nanos) >= uint64(nanosOfDay) {
				more := types.FloorDiv(nanos, nanosOfDay)
				days += more
				nanos -= more * nanosOfDay
			}
			x, ok := of(days, nanos)
			if !ok {
				return fmt.Errorf("a timestamp %d days from 1970-01-01 is out of range", days)
			}
			dst[i] = x
		}
		return nil
	}
}
