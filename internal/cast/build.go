package cast

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column is values of a fixed width with the validity of the array that they come from.
type column[T any] struct {
	vals []T
	mask mask
}

// mask tells which values are not NULL. Without bits all are.
type mask struct {
	bits  []byte
	nulls int
}

// maskOf copies the validity of an array, from its first bit on.
func maskOf(a arrow.Array) mask {
	n := a.NullN()
	if n == 0 {
		return mask{}
	}
	bits := make([]byte, bitutil.BytesForBits(int64(a.Len())))
	if src := a.NullBitmapBytes(); src != nil {
		bitutil.CopyBitmap(src, a.Data().Offset(), a.Len(), bits, 0)
	}
	return mask{bits, n}
}

func (m *mask) valid(i int) bool { return m.bits == nil || bitutil.BitIsSet(m.bits, i) }

// clear makes value i of n NULL.
func (m *mask) clear(i, n int) {
	if m.bits == nil {
		m.bits = make([]byte, bitutil.BytesForBits(int64(n)))
		bitutil.SetBitsTo(m.bits, 0, int64(n), true)
	}
	bitutil.ClearBit(m.bits, i)
	m.nulls++
}

func (m *mask) buffer() *memory.Buffer {
	if m.bits == nil {
		return nil
	}
	return memory.NewBufferBytes(m.bits)
}

// fixed makes an array of values of a fixed width; it takes the slice over.
func fixed[T any](dt arrow.DataType, vals []T, m mask) arrow.Array {
	var zero T
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(vals))), len(vals)*int(unsafe.Sizeof(zero)))
	return array.MakeFromData(array.NewData(dt, len(vals), []*memory.Buffer{m.buffer(), memory.NewBufferBytes(b)}, nil, m.nulls, 0))
}

// booleans makes an array of the values that is returns true for.
func booleans(n int, m mask, is func(int) bool) arrow.Array {
	bits := make([]byte, bitutil.BytesForBits(int64(n)))
	for i := range n {
		if is(i) {
			bitutil.SetBit(bits, i)
		}
	}
	return array.MakeFromData(array.NewData(arrow.FixedWidthTypes.Boolean, n, []*memory.Buffer{m.buffer(), memory.NewBufferBytes(bits)}, nil, m.nulls, 0))
}

// texts makes an array of STRING or BINARY; put appends the bytes of value i, and is called for those
// that are not NULL. A gigabyte and more in one array is an error: its offsets have 32 bits.
func texts(dt arrow.DataType, n int, m mask, put func(b []byte, i int) []byte) (arrow.Array, error) {
	offsets := make([]int32, n+1)
	data := make([]byte, 0, n*8)
	for i := range n {
		if m.valid(i) {
			data = put(data, i)
		}
		if len(data) > math.MaxInt32 {
			return nil, fmt.Errorf("more than 2 GB of text in one batch of %d rows", n)
		}
		offsets[i+1] = int32(len(data))
	}
	bufs := []*memory.Buffer{m.buffer(), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)), memory.NewBufferBytes(data)}
	return array.MakeFromData(array.NewData(dt, n, bufs, nil, m.nulls, 0)), nil
}

// retype gives an array another Arrow type of the same layout: what differs is names, ids, nullability
// and the like.
func retype(a arrow.Array, dt arrow.DataType) arrow.Array {
	if a.DataType() == dt {
		return a
	}
	return array.MakeFromData(retypeData(a.Data(), dt))
}

func retypeData(d arrow.ArrayData, dt arrow.DataType) arrow.ArrayData {
	var kids []arrow.ArrayData
	if nt, ok := dt.(arrow.NestedType); ok && len(d.Children()) > 0 {
		kids = make([]arrow.ArrayData, len(d.Children()))
		for i, k := range d.Children() {
			kids[i] = retypeData(k, childType(nt, i))
		}
	}
	return array.NewData(dt, d.Len(), d.Buffers(), kids, d.NullN(), d.Offset())
}

func childType(t arrow.NestedType, i int) arrow.DataType {
	if m, ok := t.(*arrow.MapType); ok {
		return m.Elem() // the entries
	}
	return t.Fields()[i].Type
}
