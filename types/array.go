package types

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// DatumAt takes one value of an atomic type out of an array of ArrowType(t) or WideArrowType(t), of any other Arrow
// type for which FromArrow gives t, or of a dictionary of such values. Strings and bytes are copied. It is nil for
// NULL, for arrays of other types, and where there is no value i.
func DatumAt(arr arrow.Array, i int, t Type) Datum {
	if arr == nil || i < 0 || i >= arr.Len() || arr.IsNull(i) {
		return nil
	}
	switch a := arr.(type) {
	case *array.Dictionary:
		return DatumAt(a.Dictionary(), a.GetValueIndex(i), t)
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Float32:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Decimal128:
		if isInstant(t) {
			if v, ok := InstantOfNanos(a.Value(i)); ok {
				return v
			}
			return nil
		}
		return a.Value(i)
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.LargeString:
		return strings.Clone(a.Value(i))
	case *array.Binary:
		return bytes.Clone(a.Value(i))
	case *array.LargeBinary:
		return bytes.Clone(a.Value(i))
	case *array.FixedSizeBinary:
		return bytes.Clone(a.Value(i))
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Time32:
		if a.DataType().(*arrow.Time32Type).Unit == arrow.Second {
			return int64(a.Value(i)) * 1000
		}
		return int64(a.Value(i))
	case *array.Timestamp:
		return InstantOf(int64(a.Value(i)), a.DataType().(*arrow.TimestampType).Unit)
	}
	return anyDatum(arr, i)
}

// AppendDatum appends one value of an atomic type to a builder of ArrowType(t) or WideArrowType(t). It is an error if
// the value is not of the Go type of t (see Datum), does not fit into the array's type, or if the
// builder is of another type; the builder is of no use then.
func AppendDatum(b array.Builder, t Type, d Datum) error {
	if d == nil {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return appendAs(t, d, func(v bool) bool { b.Append(v); return true })
	case *array.Int8Builder:
		return appendAs(t, d, func(v int64) bool { b.Append(int8(v)); return int64(int8(v)) == v })
	case *array.Int16Builder:
		return appendAs(t, d, func(v int64) bool { b.Append(int16(v)); return int64(int16(v)) == v })
	case *array.Int32Builder:
		return appendAs(t, d, func(v int64) bool { b.Append(int32(v)); return int64(int32(v)) == v })
	case *array.Int64Builder:
		return appendAs(t, d, func(v int64) bool { b.Append(v); return true })
	case *array.Float32Builder:
		return appendAs(t, d, func(v float32) bool { b.Append(v); return true })
	case *array.Float64Builder:
		return appendAs(t, d, func(v float64) bool { b.Append(v); return true })
	case *array.Decimal128Builder:
		if isInstant(t) {
			return appendAs(t, d, func(v Instant) bool { b.Append(v.Nanoseconds()); return true })
		}
		return appendAs(t, d, func(v decimal128.Num) bool { b.Append(v); return v.FitsInPrecision(int32(t.Precision)) })
	case *array.StringBuilder:
		return appendAs(t, d, func(v string) bool { b.Append(v); return true })
	case *array.BinaryBuilder:
		return appendAs(t, d, func(v []byte) bool { b.Append(v); return true })
	case *array.Date32Builder:
		return appendAs(t, d, func(v int64) bool { b.Append(arrow.Date32(v)); return int64(int32(v)) == v })
	case *array.Time32Builder:
		return appendAs(t, d, func(v int64) bool { b.Append(arrow.Time32(v)); return int64(int32(v)) == v })
	case *array.TimestampBuilder:
		unit := b.Type().(*arrow.TimestampType).Unit
		return appendAs(t, d, func(v Instant) bool {
			n, ok := v.In(unit)
			b.Append(arrow.Timestamp(n))
			return ok
		})
	}
	return fmt.Errorf("types: append a value of type %s: the array is of type %s", t, b.Type())
}

func appendAs[T any](t Type, d Datum, put func(T) bool) error {
	v, ok := d.(T)
	if !ok {
		return fmt.Errorf("types: append a value of type %s: it is a %T", t, d)
	}
	if !put(v) {
		return fmt.Errorf("types: append a value of type %s: %v does not fit", t, d)
	}
	return nil
}
