package kv

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// Encoder turns values of some columns into Keys. It is immutable and safe for concurrent use.
//
// Numbers order by value, FLOAT and DOUBLE by the total order -inf < … < -0.0 < 0.0 < … < inf < NaN
// (all NaNs are equal), strings and binaries by their bytes. A sequence encoder orders NULL before
// everything, in either direction; a key encoder refuses NULL.
type Encoder struct {
	ts       []types.Type
	widths   []int // bytes, 0 for variable length
	width    int   // of all, 0 for variable length
	word     bool
	nullable bool
	desc     bool
}

// NewKeyEncoder makes the encoder of a primary key.
func NewKeyEncoder(ts []types.Type) (*Encoder, error) {
	return newEncoder(ts, false, false)
}

// NewSequenceEncoder makes the encoder of user-defined sequence fields: the version with the
// greatest key is the newest.
func NewSequenceEncoder(ts []types.Type, descending bool) (*Encoder, error) {
	return newEncoder(ts, true, descending)
}

func newEncoder(ts []types.Type, nullable, desc bool) (*Encoder, error) {
	e := &Encoder{ts: ts, widths: make([]int, len(ts)), nullable: nullable, desc: desc}
	fixed := true
	for i, t := range ts {
		w, err := widthOf(t)
		if err != nil {
			return nil, err
		}
		e.widths[i] = w
		fixed = fixed && w > 0
		e.width += w
		if nullable {
			e.width++
		}
	}
	if !fixed {
		e.width = 0
	}
	e.word = fixed && e.width <= 8 && !nullable
	return e, nil
}

// EncodeKeys encodes the columns of a primary key.
func EncodeKeys(cols []arrow.Array, ts []types.Type) (Keys, error) {
	e, err := NewKeyEncoder(ts)
	if err != nil {
		return Keys{}, err
	}
	return e.Encode(cols)
}

func widthOf(t types.Type) (int, error) {
	switch t.Kind {
	case types.Boolean, types.TinyInt:
		return 1, nil
	case types.SmallInt:
		return 2, nil
	case types.Int, types.Date, types.Time, types.Float:
		return 4, nil
	case types.BigInt, types.Double:
		return 8, nil
	case types.Decimal:
		if t.Precision <= 18 {
			return 8, nil
		}
		return 16, nil
	case types.Timestamp, types.TimestampLTZ:
		if t.Precision <= 6 {
			return 8, nil
		}
		return 12, nil
	case types.Char, types.Varchar, types.Binary, types.Varbinary:
		return 0, nil
	}
	return 0, fmt.Errorf("kv: columns of type %v cannot be part of a key or a sequence", t)
}

// Encode encodes columns of equal length.
func (e *Encoder) Encode(cols []arrow.Array) (Keys, error) {
	if len(cols) != len(e.ts) {
		return Keys{}, fmt.Errorf("kv: %d columns for a key of %d", len(cols), len(e.ts))
	}
	n := 0
	if len(cols) > 0 {
		n = cols[0].Len()
	}
	for i, c := range cols {
		if !e.nullable && c.NullN() > 0 {
			for row := range n {
				if c.IsNull(row) {
					return Keys{}, &NullKeyError{Column: i, Row: row}
				}
			}
		}
	}
	switch {
	case e.word:
		return e.encodeWords(cols, n)
	case e.width > 0:
		return e.encodeFixed(cols, n)
	}
	return e.encodeBytes(cols, n)
}

// NullKeyError is the error of a NULL in a primary key.
type NullKeyError struct {
	Column int // number within the key
	Row    int
}

func (e *NullKeyError) Error() string {
	return fmt.Sprintf("kv: NULL in column %d of the primary key, row %d", e.Column, e.Row)
}

func (e *Encoder) encodeWords(cols []arrow.Array, n int) (Keys, error) {
	words := make([]uint64, n)
	tmp := words
	for c := range cols {
		if c > 0 {
			tmp = make([]uint64, n)
		}
		if err := column(cols[c], e.ts[c], tmp); err != nil {
			return Keys{}, err
		}
		if c > 0 {
			sh := uint(8 * e.widths[c])
			for i, w := range tmp {
				words[i] = words[i]<<sh | w
			}
		}
	}
	return Keys{words: words, n: n}, nil
}

func (e *Encoder) encodeFixed(cols []arrow.Array, n int) (Keys, error) {
	k := Keys{data: make([]byte, n*e.width), stride: e.width, n: n}
	at := 0
	tmp := make([]uint64, n)
	for c, col := range cols {
		if e.nullable {
			for i := range n {
				if col.IsValid(i) {
					k.data[i*e.width+at] = 1
				}
			}
			at++
		}
		w := e.widths[c]
		if w > 8 {
			if err := wideColumn(col, e.ts[c], k.data[at:], e.width); err != nil {
				return Keys{}, err
			}
		} else if err := column(col, e.ts[c], tmp); err != nil {
			return Keys{}, err
		} else {
			for i, v := range tmp {
				var b [8]byte
				binary.BigEndian.PutUint64(b[:], v<<(64-8*w))
				copy(k.data[i*e.width+at:], b[:w])
			}
		}
		if e.desc {
			invertColumn(k.data[at:], e.width, w, n)
		}
		if e.nullable && col.NullN() > 0 {
			for i := range n {
				if col.IsNull(i) {
					clear(k.data[i*e.width+at : i*e.width+at+w])
				}
			}
		}
		at += w
	}
	return k, nil
}

func invertColumn(data []byte, stride, width, n int) {
	for i := range n {
		for j := range width {
			data[i*stride+j] ^= 0xff
		}
	}
}

// column encodes a column of at most 8 bytes a value.
func column(a arrow.Array, t types.Type, out []uint64) error {
	bias := uint64(1) << (8*mustWidth(t) - 1)
	switch a := a.(type) {
	case *array.Int64:
		ints(a.Int64Values(), bias, out)
	case *array.Int32:
		ints(a.Int32Values(), bias, out)
	case *array.Int16:
		ints(a.Int16Values(), bias, out)
	case *array.Int8:
		ints(a.Int8Values(), bias, out)
	case *array.Date32:
		ints(a.Date32Values(), bias, out)
	case *array.Time32:
		ints(a.Time32Values(), bias, out)
	case *array.Timestamp:
		timestamps(a, t, out)
	case *array.Boolean:
		for i := range out {
			if a.Value(i) {
				out[i] = 1
			} else {
				out[i] = 0
			}
		}
	case *array.Float32:
		for i, v := range a.Float32Values() {
			out[i] = uint64(floatBits(v))
		}
	case *array.Float64:
		for i, v := range a.Float64Values() {
			out[i] = doubleBits(v)
		}
	case *array.Decimal128:
		for i, v := range a.Values() {
			out[i] = v.LowBits() ^ bias
		}
	default:
		return fmt.Errorf("kv: array of type %s where %v is expected", a.DataType(), t)
	}
	return nil
}

func mustWidth(t types.Type) int {
	w, _ := widthOf(t)
	return w
}

func ints[T ~int8 | ~int16 | ~int32 | ~int64](in []T, bias uint64, out []uint64) {
	mask := bias<<1 - 1 // of the width; all ones for 8 bytes
	out = out[:len(in)]
	for i, v := range in {
		out[i] = (uint64(int64(v)) ^ bias) & mask
	}
}

func floatBits(v float32) uint32 {
	b := math.Float32bits(v)
	if v != v {
		b = 0x7fc00000
	}
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

func doubleBits(v float64) uint64 {
	b := math.Float64bits(v)
	if v != v {
		b = 0x7ff8000000000000
	}
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// timestamps encodes milliseconds up to precision 3, microseconds up to 6.
func timestamps(a *array.Timestamp, t types.Type, out []uint64) {
	have := unitsPerSecond(a.DataType().(*arrow.TimestampType).Unit)
	want := int64(1000)
	if t.Precision > 3 {
		want = 1000000
	}
	for i, v := range a.TimestampValues() {
		out[i] = uint64(rescale(int64(v), have, want)) ^ 1<<63
	}
}

func unitsPerSecond(u arrow.TimeUnit) int64 {
	switch u {
	case arrow.Second:
		return 1
	case arrow.Millisecond:
		return 1000
	case arrow.Microsecond:
		return 1000000
	}
	return 1000000000
}

func rescale(v, have, want int64) int64 {
	if have == want {
		return v
	}
	if have < want {
		return v * (want / have)
	}
	return floorDiv(v, have/want)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// wideColumn encodes a column of more than 8 bytes a value: decimals of more than 18 digits, and
// timestamps of more than 6.
func wideColumn(a arrow.Array, t types.Type, out []byte, stride int) error {
	switch a := a.(type) {
	case *array.Decimal128:
		if t.Kind != types.Decimal {
			for i, v := range a.Values() {
				x, _ := types.InstantOfNanos(v) // writers let in nothing else
				putInstant(out[i*stride:], x)
			}
			return nil
		}
		for i, v := range a.Values() {
			putDecimal(out[i*stride:], v)
		}
	default:
		return fmt.Errorf("kv: array of type %s where %v is expected", a.DataType(), t)
	}
	return nil
}

func putDecimal(b []byte, v decimal128.Num) {
	binary.BigEndian.PutUint64(b, uint64(v.HighBits())^1<<63)
	binary.BigEndian.PutUint64(b[8:], v.LowBits())
}

func putInstant(b []byte, v types.Instant) {
	binary.BigEndian.PutUint64(b, uint64(v.Millis)^1<<63)
	binary.BigEndian.PutUint32(b[8:], uint32(v.Nanos))
}
