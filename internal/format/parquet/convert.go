package parquet

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// newSink makes the sink that gives values of type t from a column of the file, if the column can
// hold such values.
func newSink(n *node, t types.Type, dt arrow.DataType) (sink, error) {
	var s sink
	switch t.Kind {
	case types.Boolean:
		if n.phys == physBool {
			s = newBoolSink(dt)
		}
	case types.TinyInt:
		s = intSink[int8](n, dt, 8)
	case types.SmallInt:
		s = intSink[int16](n, dt, 16)
	case types.Int:
		s = intSink[int32](n, dt, 32)
	case types.BigInt:
		s = intSink[int64](n, dt, 64)
	case types.Float:
		if n.phys == physFloat {
			s = &fixedSink[int32]{dt: dt, load: (*values).int32s}
		}
	case types.Double:
		s = doubleSink(n, dt)
	case types.Decimal:
		s = decimalSink(n, dt, t)
	case types.Char, types.Varchar:
		if n.phys == physBytes && n.logical.kind != logDecimal {
			s = &bytesSink{dt: dt}
		}
	case types.Binary, types.Varbinary:
		switch {
		case n.phys == physBytes:
			s = &bytesSink{dt: dt}
		case n.phys == physFixed:
			s = &bytesSink{dt: dt, width: n.typeLen}
		}
	case types.Date:
		if n.phys == physInt32 && (n.logical.kind == logDate || n.logical.kind == logNone) {
			s = &fixedSink[int32]{dt: dt, load: (*values).int32s}
		}
	case types.Time:
		s = timeSink(n, dt)
	case types.Timestamp, types.TimestampLTZ:
		s = timestampSink(n, dt, t)
	}
	if s == nil {
		return nil, fmt.Errorf("the file has %s, which cannot be read as %s", n.describe(), t)
	}
	return s, nil
}

// ints reads an integer column as int64.
func ints(n *node) func(v *values, dst []int64) error {
	if n.phys == physInt64 {
		return (*values).int64s
	}
	unsigned := n.logical.unsigned
	var buf []int32
	return func(v *values, dst []int64) error {
		if cap(buf) < len(dst) {
			buf = make([]int32, len(dst))
		}
		b := buf[:len(dst)]
		if err := v.int32s(b); err != nil {
			return err
		}
		if unsigned {
			for i, x := range b {
				dst[i] = int64(uint32(x))
			}
			return nil
		}
		for i, x := range b {
			dst[i] = int64(x)
		}
		return nil
	}
}

func isInt(n *node) bool {
	return (n.phys == physInt32 || n.phys == physInt64) && (n.logical.kind == logNone || n.logical.kind == logInt) &&
		(!n.logical.unsigned || n.phys == physInt32 || n.logical.bits < 64)
}

func intSink[T int8 | int16 | int32 | int64](n *node, dt arrow.DataType, width int) sink {
	if !isInt(n) {
		return nil
	}
	switch {
	case width == 64 && n.phys == physInt64:
		return &fixedSink[int64]{dt: dt, load: (*values).int64s}
	case width == 32 && n.phys == physInt32 && !n.logical.unsigned:
		return &fixedSink[int32]{dt: dt, load: (*values).int32s}
	}
	read := ints(n)
	var buf []int64
	return &fixedSink[T]{dt: dt, load: func(v *values, dst []T) error {
		if cap(buf) < len(dst) {
			buf = make([]int64, len(dst))
		}
		b := buf[:len(dst)]
		if err := read(v, b); err != nil {
			return err
		}
		bad := int64(0)
		for i, x := range b {
			dst[i] = T(x)
			bad |= x ^ int64(dst[i])
		}
		if bad == 0 {
			return nil
		}
		for i, x := range b {
			if x != int64(dst[i]) {
				return fmt.Errorf("value %d does not fit into %d bits", x, width)
			}
		}
		return nil
	}}
}

func doubleSink(n *node, dt arrow.DataType) sink {
	switch n.phys {
	case physDouble:
		return &fixedSink[int64]{dt: dt, load: (*values).int64s}
	case physFloat:
		var buf []int32
		return &fixedSink[float64]{dt: dt, load: func(v *values, dst []float64) error {
			if cap(buf) < len(dst) {
				buf = make([]int32, len(dst))
			}
			b := buf[:len(dst)]
			if err := v.int32s(b); err != nil {
				return err
			}
			for i, x := range b {
				dst[i] = float64(math.Float32frombits(uint32(x)))
			}
			return nil
		}}
	}
	return nil
}

func timeSink(n *node, dt arrow.DataType) sink {
	if n.logical.kind != logTime && n.logical.kind != logNone {
		return nil
	}
	if n.phys == physInt32 {
		return &fixedSink[int32]{dt: dt, load: (*values).int32s}
	}
	if n.phys != physInt64 || n.logical.kind != logTime {
		return nil
	}
	div := int64(1000)
	if n.logical.unit == unitNanos {
		div = 1000000
	}
	var buf []int64
	return &fixedSink[int32]{dt: dt, load: func(v *values, dst []int32) error {
		if cap(buf) < len(dst) {
			buf = make([]int64, len(dst))
		}
		b := buf[:len(dst)]
		if err := v.int64s(b); err != nil {
			return err
		}
		for i, x := range b {
			dst[i] = int32(x / div)
		}
		return nil
	}}
}

// decimals are read from all types that writers store them in. The scale has to be the same: a
// difference is a matter of schema evolution, not of the file.
func decimalSink(n *node, dt arrow.DataType, t types.Type) sink {
	if n.logical.kind != logDecimal || n.logical.scale != t.Scale {
		return nil
	}
	var load func(v *values, dst []decimal128.Num) error
	switch n.phys {
	case physInt32, physInt64:
		read := ints(n)
		var buf []int64
		load = func(v *values, dst []decimal128.Num) error {
			if cap(buf) < len(dst) {
				buf = make([]int64, len(dst))
			}
			b := buf[:len(dst)]
			if err := read(v, b); err != nil {
				return err
			}
			for i, x := range b {
				dst[i] = decimal128.New(x>>63, uint64(x))
			}
			return nil
		}
	case physFixed:
		w := n.typeLen
		var buf []byte
		load = func(v *values, dst []decimal128.Num) (err error) {
			if cap(buf) < len(dst)*w {
				buf = make([]byte, len(dst)*w)
			}
			b := buf[:len(dst)*w]
			if err := v.fixed(b); err != nil {
				return err
			}
			for i := range dst {
				if dst[i], err = bigEndian(b[i*w : (i+1)*w]); err != nil {
					return err
				}
			}
			return nil
		}
	case physBytes:
		var offs []int32
		var data []byte
		load = func(v *values, dst []decimal128.Num) (err error) {
			if offs, data, err = v.strings(append(offs[:0], 0), data[:0], len(dst)); err != nil {
				return err
			}
			for i := range dst {
				if dst[i], err = bigEndian(data[offs[i]:offs[i+1]]); err != nil {
					return err
				}
			}
			return nil
		}
	default:
		return nil
	}
	if n.logical.precision > t.Precision {
		load = checkPrecision(load, int32(t.Precision), int32(t.Scale))
	}
	return &fixedSink[decimal128.Num]{dt: dt, load: load}
}

func checkPrecision(load func(*values, []decimal128.Num) error, precision, scale int32) func(*values, []decimal128.Num) error {
	return func(v *values, dst []decimal128.Num) error {
		if err := load(v, dst); err != nil {
			return err
		}
		for _, x := range dst {
			if !x.FitsInPrecision(precision) {
				return fmt.Errorf("value %s does not fit into DECIMAL(%d,%d)", x.ToString(scale), precision, scale)
			}
		}
		return nil
	}
}

// bigEndian reads a two's complement number of up to 16 bytes; more may be there if they only
// repeat the sign.
func bigEndian(b []byte) (decimal128.Num, error) {
	if len(b) == 0 {
		return decimal128.Num{}, nil
	}
	sign := int64(int8(b[0])) >> 63
	for len(b) > 16 {
		if b[0] != byte(sign) {
			return decimal128.Num{}, fmt.Errorf("a decimal of %d bytes is too large", len(b))
		}
		b = b[1:]
	}
	hi, lo := uint64(sign), uint64(sign)
	for _, x := range b {
		hi = hi<<8 | lo>>56
		lo = lo<<8 | uint64(x)
	}
	if int64(hi)>>63 != sign {
		return decimal128.Num{}, fmt.Errorf("a decimal is too large")
	}
	return decimal128.New(int64(hi), lo), nil
}
