package batch

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// SizeOf is the memory that the rows of a batch take, in bytes. For a slice of a larger batch that
// is less than what it keeps from being freed; see Retained.
func SizeOf(rec arrow.RecordBatch) int64 {
	n := int64(0)
	for _, c := range rec.Columns() {
		n += SizeOfArray(c)
	}
	return n
}

// SizeOfArray is SizeOf for one column.
func SizeOfArray(a arrow.Array) int64 {
	n := int64(a.Len())
	size := int64(0)
	if a.NullN() > 0 {
		size = n / 8
	}
	switch t := a.DataType().(type) {
	case *arrow.StringType, *arrow.BinaryType:
		if n > 0 {
			o := bytesOf(a).off
			size += 4*n + int64(o[n]-o[0])
		}
	case *arrow.ListType, *arrow.MapType:
		if n > 0 {
			o := view[int32](buffer(a, 1))[a.Data().Offset():]
			size += 4*n + SizeOfArray(array.NewSlice(a.(array.ListLike).ListValues(), int64(o[0]), int64(o[n])))
		}
	case *arrow.StructType:
		s := a.(*array.Struct)
		for i := range s.NumField() {
			size += SizeOfArray(s.Field(i))
		}
	case arrow.FixedWidthDataType:
		size += n * int64(t.BitWidth()) / 8
	}
	return size
}

// Retained is the memory that a batch keeps from being freed, in bytes: its buffers as a whole.
func Retained(rec arrow.RecordBatch) int64 {
	n := int64(0)
	for _, c := range rec.Columns() {
		n += retained(c.Data())
	}
	return n
}

func retained(d arrow.ArrayData) int64 {
	n := int64(0)
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(cap(b.Buf()))
		}
	}
	for _, c := range d.Children() {
		n += retained(c)
	}
	return n
}

// Pieces cuts a batch so that each piece has about most bytes, as long as it has more than a row.
func Pieces(rec arrow.RecordBatch, most int64) []arrow.RecordBatch {
	n := rec.NumRows()
	parts := min((SizeOf(rec)+most-1)/most, n)
	if parts <= 1 {
		return []arrow.RecordBatch{rec}
	}
	out := make([]arrow.RecordBatch, 0, parts)
	for i := range parts {
		out = append(out, rec.NewSlice(i*n/parts, (i+1)*n/parts))
	}
	return out
}
