package batch

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// AppendComparable appends bytes of the value i of a to dst that are the same for equal values of one type, and for no others.
// NULL is equal to NULL, NaN to NaN, -0.0 is not 0.0; the pairs of a map have no order.
func AppendComparable(dst []byte, a arrow.Array, i int) []byte {
	if a.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch a := a.(type) {
	case *array.Boolean:
		if a.Value(i) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case *array.Float32:
		if v := a.Value(i); v == v {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(math.NaN())))
	case *array.Float64:
		if v := a.Value(i); v == v {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(math.NaN()))
	case *array.String:
		v := a.Value(i)
		return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
	case *array.Binary:
		v := a.Value(i)
		return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
	case *array.Struct:
		for f := range a.NumField() {
			dst = AppendComparable(dst, a.Field(f), i)
		}
		return dst
	case *array.Map:
		from, to := a.ValueOffsets(i)
		pairs := make([]string, 0, to-from)
		for k := from; k < to; k++ {
			pairs = append(pairs, string(AppendComparable(nil, a.ListValues(), int(k))))
		}
		slices.Sort(pairs)
		dst = binary.AppendUvarint(dst, uint64(len(pairs)))
		for _, p := range pairs {
			dst = append(dst, p...)
		}
		return dst
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		dst = binary.AppendUvarint(dst, uint64(to-from))
		for k := from; k < to; k++ {
			dst = AppendComparable(dst, a.ListValues(), int(k))
		}
		return dst
	}
	if t, ok := a.DataType().(arrow.FixedWidthDataType); ok {
		n := int(bitutil.BytesForBits(int64(t.BitWidth())))
		return append(dst, a.Data().Buffers()[1].Bytes()[(a.Data().Offset()+i)*n:][:n]...)
	}
	return dst
}
