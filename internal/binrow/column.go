package binrow

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// shape is how the values of a column are read and written.
type shape uint8

const (
	shapeI64 shape = iota
	shapeI32
	shapeDate
	shapeTime
	shapeI16
	shapeI8
	shapeF64
	shapeF32
	shapeDecimal
	shapeTimestamp
	lastWord = shapeTimestamp // up to here values always fit into their word

	shapeString shape = iota - 1
	shapeBytes
	shapeWideDecimal
	shapeWideTimestamp
	shapeNanos
	shapeDatum // values are taken one by one
)

// column is an Arrow array bound to the field of a row. Its shape says which of the slices is set.
type column struct {
	typ   *types.Type
	arr   arrow.Array
	nulls bool // whether there are any
	shape shape

	i8   []int8
	i16  []int16
	i32  []int32
	i64  []int64
	f32  []float32
	f64  []float64
	dec  []decimal128.Num
	date []arrow.Date32
	t32  []arrow.Time32
	ts   []arrow.Timestamp
	unit arrow.TimeUnit
	str  *array.String
	bin  *array.Binary
}

func bind(arr arrow.Array, t *types.Type) column {
	c := column{typ: t, arr: arr, nulls: arr.NullN() > 0, shape: shapeDatum}
	switch a := arr.(type) {
	case *array.Int8:
		c.i8, c.shape = a.Int8Values(), shapeI8
	case *array.Int16:
		c.i16, c.shape = a.Int16Values(), shapeI16
	case *array.Int32:
		c.i32, c.shape = a.Int32Values(), shapeI32
	case *array.Int64:
		c.i64, c.shape = a.Int64Values(), shapeI64
	case *array.Float32:
		c.f32, c.shape = a.Float32Values(), shapeF32
	case *array.Float64:
		c.f64, c.shape = a.Float64Values(), shapeF64
	case *array.Decimal128:
		c.dec, c.shape = a.Values(), shapeDecimal
		switch {
		case types.IsNanos(*t):
			c.shape = shapeNanos
		case wideDecimal(t):
			c.shape = shapeWideDecimal
		}
	case *array.Date32:
		c.date, c.shape = a.Date32Values(), shapeDate
	case *array.Time32:
		// Seconds cannot come from types.ArrowType; they take the slow way.
		if a.DataType().(*arrow.Time32Type).Unit == arrow.Millisecond {
			c.t32, c.shape = a.Time32Values(), shapeTime
		}
	case *array.Timestamp:
		c.ts, c.unit = a.TimestampValues(), a.DataType().(*arrow.TimestampType).Unit
		c.shape = shapeTimestamp
		if wideTimestamp(t) {
			c.shape = shapeWideTimestamp
		}
	case *array.String:
		c.str, c.shape = a, shapeString
	case *array.Binary:
		c.bin, c.shape = a, shapeBytes
	}
	return c
}

// word is the value of a field that always fits into its word, up to lastWord. NULLs are not looked at.
func (c *column) word(row int) uint64 {
	switch c.shape {
	case shapeI64:
		return uint64(c.i64[row])
	case shapeI32:
		return uint64(uint32(c.i32[row]))
	case shapeDate:
		return uint64(uint32(c.date[row]))
	case shapeTime:
		return uint64(uint32(c.t32[row]))
	case shapeI16:
		return uint64(uint16(c.i16[row]))
	case shapeI8:
		return uint64(uint8(c.i8[row]))
	case shapeF64:
		return doubleBits(c.f64[row])
	case shapeF32:
		return floatBits(c.f32[row])
	case shapeDecimal:
		return c.dec[row].LowBits()
	}
	return uint64(types.InstantOf(int64(c.ts[row]), c.unit).Millis)
}

// put writes the value of a row as field i.
func (c *column) put(w *rowWriter, i, row int) {
	if c.nulls && c.arr.IsNull(row) {
		w.null(i, c.typ)
		return
	}
	switch {
	case c.shape <= lastWord:
		w.word(i, c.word(row))
	case c.shape == shapeString:
		appendBytes(w, i, c.str.Value(row))
	case c.shape == shapeBytes:
		appendBytes(w, i, c.bin.Value(row))
	case c.shape == shapeWideDecimal:
		w.decimal(i, c.dec[row])
	case c.shape == shapeNanos:
		at, _ := types.InstantOfNanos(c.dec[row]) // writers let in nothing else
		w.instant(i, at)
	case c.shape == shapeWideTimestamp:
		w.instant(i, types.InstantOf(int64(c.ts[row]), c.unit))
	default:
		v := types.DatumAt(c.arr, row, *c.typ)
		if v == nil || w.datum(i, c.typ, v) != nil { // an array of another type than promised
			w.null(i, c.typ)
		}
	}
}

// hashString is the hash of the row whose only field is a string or binary that is not NULL.
func hashString(s []byte) int32 {
	h := mix64(seed, 0)
	if len(s) <= maxInline {
		return finish(mix64(h, inline(s)), 16)
	}
	n := len(s)
	h = mix64(h, 16<<32|uint64(n))
	for len(s) >= 8 {
		h = mix64(h, binary.LittleEndian.Uint64(s))
		s = s[8:]
	}
	if len(s) > 0 {
		var last [8]byte
		copy(last[:], s)
		h = mix64(h, binary.LittleEndian.Uint64(last[:]))
	}
	return finish(h, 16+(n+7)&^7)
}
