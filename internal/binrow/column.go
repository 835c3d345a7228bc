package binrow

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// column is an Arrow array bound to the field of a row. Exactly one of the slices is set, by the
// type of the array; none of them means that values are taken one by one as Datums.
type column struct {
	typ   *types.Type
	arr   arrow.Array
	nulls bool // whether there are any

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
	c := column{typ: t, arr: arr, nulls: arr.NullN() > 0}
	switch a := arr.(type) {
	case *array.Int8:
		c.i8 = a.Int8Values()
	case *array.Int16:
		c.i16 = a.Int16Values()
	case *array.Int32:
		c.i32 = a.Int32Values()
	case *array.Int64:
		c.i64 = a.Int64Values()
	case *array.Float32:
		c.f32 = a.Float32Values()
	case *array.Float64:
		c.f64 = a.Float64Values()
	case *array.Decimal128:
		c.dec = a.Values()
	case *array.Date32:
		c.date = a.Date32Values()
	case *array.Time32:
		// Seconds cannot come from types.ArrowType; they take the slow way.
		if a.DataType().(*arrow.Time32Type).Unit == arrow.Millisecond {
			c.t32 = a.Time32Values()
		}
	case *array.Timestamp:
		c.ts, c.unit = a.TimestampValues(), a.DataType().(*arrow.TimestampType).Unit
	case *array.String:
		c.str = a
	case *array.Binary:
		c.bin = a
	}
	return c
}

// word is the value of a field that always fits into its word. The second result is false if the
// column is not of this kind. NULLs are not looked at.
func (c *column) word(row int) (uint64, bool) {
	switch {
	case c.i64 != nil:
		return uint64(c.i64[row]), true
	case c.i32 != nil:
		return uint64(uint32(c.i32[row])), true
	case c.date != nil:
		return uint64(uint32(c.date[row])), true
	case c.t32 != nil:
		return uint64(uint32(c.t32[row])), true
	case c.i16 != nil:
		return uint64(uint16(c.i16[row])), true
	case c.i8 != nil:
		return uint64(uint8(c.i8[row])), true
	case c.f64 != nil:
		return math.Float64bits(c.f64[row]), true
	case c.f32 != nil:
		return uint64(math.Float32bits(c.f32[row])), true
	case c.dec != nil && !wideDecimal(c.typ):
		return c.dec[row].LowBits(), true
	case c.ts != nil && !wideTimestamp(c.typ):
		return uint64(types.InstantOf(int64(c.ts[row]), c.unit).Millis), true
	}
	return 0, false
}

// put writes the value of a row as field i.
func (c *column) put(w *rowWriter, i, row int) {
	if c.nulls && c.arr.IsNull(row) {
		w.null(i, c.typ)
		return
	}
	if v, ok := c.word(row); ok {
		w.word(i, v)
		return
	}
	switch {
	case c.str != nil:
		appendBytes(w, i, c.str.Value(row))
	case c.bin != nil:
		appendBytes(w, i, c.bin.Value(row))
	case c.dec != nil:
		w.decimal(i, c.dec[row])
	case c.ts != nil:
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
