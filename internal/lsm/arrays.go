package lsm

import (
	"errors"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

func isTooLarge(err error) bool { return errors.Is(err, batch.ErrTooLarge) }

// kindArray makes a column of kinds; it takes the slice over.
func kindArray(kinds []int8) arrow.Array {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(kinds))), len(kinds))
	return array.NewInt8Data(array.NewData(arrow.PrimitiveTypes.Int8, len(kinds),
		[]*memory.Buffer{nil, memory.NewBufferBytes(b)}, nil, 0, 0))
}

// rowKindArray makes a column of the kinds of a batch, nil for +I.
func rowKindArray(kinds []types.RowKind, n int) arrow.Array {
	b := make([]byte, n)
	for i, k := range kinds {
		b[i] = byte(k)
	}
	return array.NewInt8Data(array.NewData(arrow.PrimitiveTypes.Int8, n, []*memory.Buffer{nil, memory.NewBufferBytes(b)}, nil, 0, 0))
}

// numberArray makes a column of int64; it takes the slice over.
func numberArray(v []int64) arrow.Array {
	return array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, len(v),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(v))}, nil, 0, 0))
}
