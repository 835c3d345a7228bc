package agg

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
)

// Validity tells which rows of a column of a batch are not NULL. It is a view of the column.
type Validity struct {
	bits []byte // nil: all are valid
	off  int
}

// Full reports whether no row is NULL.
func (v Validity) Full() bool { return v.bits == nil }

// At reports whether a row is not NULL.
func (v Validity) At(row int32) bool {
	return v.bits == nil || bitutil.BitIsSet(v.bits, v.off+int(row))
}

// Validities are those of a column in the batches of a window.
func Validities(col []arrow.Array) []Validity {
	out := make([]Validity, len(col))
	for i, a := range col {
		if a.NullN() > 0 {
			out[i] = Validity{a.NullBitmapBytes(), a.Data().Offset()}
		}
	}
	return out
}

// vector is a column of values of fixed width in the batches of a window.
type vector[T arrow.FixedWidthType] struct {
	values [][]T
	valid  []Validity
}

func vectorOf[T arrow.FixedWidthType](col []arrow.Array) vector[T] {
	v := vector[T]{values: make([][]T, len(col)), valid: Validities(col)}
	for i, a := range col {
		v.values[i] = arrow.GetValues[T](a.Data(), 1)
	}
	return v
}

func (v *vector[T]) isNull(r batch.Ref) bool { return !v.valid[r.Src].At(r.Row) }
func (v *vector[T]) at(r batch.Ref) T        { return v.values[r.Src][r.Row] }

// fixed is a column of values of fixed width that grows.
type fixed[T arrow.FixedWidthType] struct {
	values []T
	valid  []byte
	nulls  int
}

func newFixed[T arrow.FixedWidthType](n int) *fixed[T] {
	return &fixed[T]{values: make([]T, 0, n), valid: make([]byte, bitutil.BytesForBits(int64(n)))}
}

func (f *fixed[T]) append(v T, valid bool) {
	if valid {
		bitutil.SetBit(f.valid, len(f.values))
	} else {
		f.nulls++
	}
	f.values = append(f.values, v)
}

func (f *fixed[T]) array(t arrow.DataType) arrow.Array {
	bufs := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.GetBytes(f.values))}
	if f.nulls > 0 {
		bufs[0] = memory.NewBufferBytes(f.valid)
	}
	return array.MakeFromData(array.NewData(t, len(f.values), bufs, nil, f.nulls, 0))
}

// texts is a column of strings or bytes in the batches of a window. Values are not copied.
type texts struct {
	offs  [][]int32
	bytes [][]byte
	valid []Validity
}

func textsOf(col []arrow.Array) texts {
	t := texts{make([][]int32, len(col)), make([][]byte, len(col)), Validities(col)}
	for i, a := range col {
		d := a.Data()
		t.offs[i] = offsets(d)
		if b := d.Buffers()[2]; b != nil {
			t.bytes[i] = b.Bytes()
		}
	}
	return t
}

func (t *texts) isNull(r batch.Ref) bool { return !t.valid[r.Src].At(r.Row) }

func (t *texts) at(r batch.Ref) []byte {
	o := t.offs[r.Src]
	return t.bytes[r.Src][o[r.Row]:o[r.Row+1]]
}

// offsets are where the values of an array of strings, bytes, lists or maps begin and end.
func offsets(d arrow.ArrayData) []int32 {
	if d.Len() == 0 {
		return nil
	}
	return arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset():][:d.Len()+1]
}
