// Package binrow holds the BinaryRow: the row of atomic values as manifests keep it (partitions, keys,
// statistics) and as bucket numbers are computed from. The format is little-endian: a byte of row kind and one
// null bit per field, rounded up to words of 8 bytes; a word per field; the parts that do not fit into a word.
package binrow

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

const (
	headerBits  = 8  // the row kind stands before the null bits
	maxInline   = 7  // longest string or binary that stands in its field's word
	decimalSize = 16 // room of a decimal that does not fit into a word
	compactDec  = 18 // highest precision of a decimal that fits into a word
	compactTime = 3  // highest precision of a timestamp that fits into a word
)

// bitsSize is the number of bytes of row kind and null bits.
func bitsSize(fields int) int { return (fields + 63 + headerBits) / 64 * 8 }

// fixedSize is the number of bytes before the variable part.
func fixedSize(fields int) int { return bitsSize(fields) + 8*fields }

// Encode gives the bytes of a row of the types ts, without its arity. A NULL of a DECIMAL or TIMESTAMP that
// does not fit into a word still has its room in the variable part: hashes and partitions depend on it.
// Nested types can be NULL only; a value of another Go type than types.Datum demands is an error.
func Encode(ts []types.Type, vals []types.Datum) ([]byte, error) {
	return appendRow(make([]byte, 0, fixedSize(len(ts))+16), ts, vals)
}

// EncodeWithArity is Encode with the number of fields in front (4 bytes, big-endian), as manifests
// keep rows.
func EncodeWithArity(ts []types.Type, vals []types.Datum) ([]byte, error) {
	b := make([]byte, 4, 4+fixedSize(len(ts))+16)
	binary.BigEndian.PutUint32(b, uint32(len(ts)))
	return appendRow(b, ts, vals)
}

func appendRow(b []byte, ts []types.Type, vals []types.Datum) ([]byte, error) {
	if len(ts) != len(vals) {
		return nil, fmt.Errorf("binrow: encode: %d values for %d fields", len(vals), len(ts))
	}
	w := rowWriter{buf: b, start: len(b), bits: bitsSize(len(ts))}
	w.buf = append(w.buf, make([]byte, fixedSize(len(ts)))...)
	for i := range ts {
		if vals[i] == nil {
			w.null(i, &ts[i])
			continue
		}
		if err := w.datum(i, &ts[i], vals[i]); err != nil {
			return nil, fmt.Errorf("binrow: encode field %d: %w", i, err)
		}
	}
	return w.buf, nil
}

// rowWriter appends one row to buf. The fixed part, all zero, is there from the start.
type rowWriter struct {
	buf   []byte
	start int // of the row in buf
	bits  int // size of row kind and null bits
}

func (w *rowWriter) word(i int, v uint64) {
	binary.LittleEndian.PutUint64(w.buf[w.start+w.bits+8*i:], v)
}

// ref is the word of a field whose value stands at the end of the row.
func (w *rowWriter) ref(i int, low uint32) {
	w.word(i, uint64(len(w.buf)-w.start)<<32|uint64(low))
}

func (w *rowWriter) null(i int, t *types.Type) {
	w.buf[w.start+(i+headerBits)>>3] |= 1 << ((i + headerBits) & 7)
	switch {
	case wideDecimal(t):
		w.ref(i, 0)
		w.buf = append(w.buf, make([]byte, decimalSize)...)
	case wideTimestamp(t):
		w.ref(i, 0)
		w.buf = append(w.buf, make([]byte, 8)...)
	}
}

func wideDecimal(t *types.Type) bool { return t.Kind == types.Decimal && t.Precision > compactDec }

func wideTimestamp(t *types.Type) bool {
	return (t.Kind == types.Timestamp || t.Kind == types.TimestampLTZ) && t.Precision > compactTime
}

// inline is the word of a string of up to 7 bytes.
func inline[B string | []byte](s B) uint64 {
	v := uint64(0x80|len(s)) << 56
	for i := range len(s) {
		v |= uint64(s[i]) << (8 * i)
	}
	return v
}

func appendBytes[B string | []byte](w *rowWriter, i int, s B) {
	if len(s) <= maxInline {
		w.word(i, inline(s))
		return
	}
	w.ref(i, uint32(len(s)))
	w.buf = append(w.buf, s...)
	for n := len(s); n%8 != 0; n++ {
		w.buf = append(w.buf, 0)
	}
}

func (w *rowWriter) decimal(i int, d decimal128.Num) {
	var be [16]byte
	binary.BigEndian.PutUint64(be[:], uint64(d.HighBits()))
	binary.BigEndian.PutUint64(be[8:], d.LowBits())
	// The shortest two's complement that keeps the sign.
	at := 0
	for at < 15 && (be[at] == 0 && be[at+1] < 0x80 || be[at] == 0xff && be[at+1] >= 0x80) {
		at++
	}
	w.ref(i, uint32(16-at))
	n := len(w.buf)
	w.buf = append(w.buf, make([]byte, decimalSize)...)
	copy(w.buf[n:], be[at:])
}

func (w *rowWriter) instant(i int, t types.Instant) {
	w.ref(i, uint32(t.Nanos))
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(t.Millis))
}

func (w *rowWriter) datum(i int, t *types.Type, v types.Datum) error {
	switch t.Kind {
	case types.Boolean:
		if x, ok := v.(bool); ok {
			if x {
				w.word(i, 1)
			}
			return nil
		}
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Date, types.Time:
		if x, ok := v.(int64); ok {
			return w.integer(i, t, x)
		}
	case types.Float:
		if x, ok := v.(float32); ok {
			w.word(i, floatBits(x))
			return nil
		}
	case types.Double:
		if x, ok := v.(float64); ok {
			w.word(i, doubleBits(x))
			return nil
		}
	case types.Decimal:
		if x, ok := v.(decimal128.Num); ok {
			return w.decimalOf(i, t, x)
		}
	case types.Char, types.Varchar:
		if x, ok := v.(string); ok {
			appendBytes(w, i, x)
			return nil
		}
	case types.Binary, types.Varbinary:
		if x, ok := v.([]byte); ok {
			appendBytes(w, i, x)
			return nil
		}
	case types.Timestamp, types.TimestampLTZ:
		if x, ok := v.(types.Instant); ok {
			if wideTimestamp(t) {
				w.instant(i, x)
			} else {
				w.word(i, uint64(x.Millis))
			}
			return nil
		}
	default:
		return fmt.Errorf("type %v has no place in a BinaryRow: only atomic types do", *t)
	}
	return fmt.Errorf("a %T is no value of type %v", v, *t)
}

func (w *rowWriter) integer(i int, t *types.Type, x int64) error {
	size := intSize(t.Kind)
	if s := 64 - 8*size; x<<s>>s != x {
		return fmt.Errorf("%d is out of range of %v", x, *t)
	}
	w.word(i, uint64(x)&(math.MaxUint64>>(64-8*size)))
	return nil
}

// All NaNs are the one of Java: others would be another key with another bucket.
func doubleBits(x float64) uint64 {
	if x != x {
		return 0x7ff8000000000000
	}
	return math.Float64bits(x)
}

func floatBits(x float32) uint64 {
	if x != x {
		return 0x7fc00000
	}
	return uint64(math.Float32bits(x))
}

// intSize is the number of bytes that a type of whole numbers takes of its word.
func intSize(k types.Kind) int {
	switch k {
	case types.TinyInt:
		return 1
	case types.SmallInt:
		return 2
	case types.BigInt:
		return 8
	}
	return 4
}

func (w *rowWriter) decimalOf(i int, t *types.Type, x decimal128.Num) error {
	if wideDecimal(t) {
		w.decimal(i, x)
		return nil
	}
	if x.HighBits() != int64(x.LowBits())>>63 {
		return fmt.Errorf("decimal %s is out of range of %v", x.ToString(int32(t.Scale)), *t)
	}
	w.word(i, x.LowBits())
	return nil
}
