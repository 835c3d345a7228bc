package jsonrow

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// The types of a variant's values, by the lowest two bits of the first byte, and those of its simple
// values, by the other six (Parquet's specification of VARIANT).
const (
	variantSimple = iota
	variantShort
	variantObject
	variantArray
)

const (
	variantNull = iota
	variantTrue
	variantFalse
	variantInt8
	variantInt16
	variantInt32
	variantInt64
	variantDouble
	variantDecimal4
	variantDecimal8
	variantDecimal16
	variantDate
	variantTimestamp
	variantTimestampNTZ
	variantFloat
	variantBinary
	variantString
	variantTime
	variantTimestampNanos
	variantTimestampNTZNanos
	variantUUID
)

var errVariant = errors.New("bytes are no variant")

// appendVariantJSON writes the value of a variant as JSON. Bytes that are none are an error.
func appendVariantJSON(dst, value, metadata []byte) ([]byte, error) {
	v := variant{meta: metadata, left: len(value) + 1}
	return v.append(dst, value, 0)
}

// variant reads values of one metadata.
type variant struct {
	meta []byte
	left int // values that may still be read: offsets can name the same bytes again and again
}

func (v *variant) append(dst, b []byte, depth int) ([]byte, error) {
	v.left--
	if len(b) == 0 || depth > maxDepth || v.left < 0 {
		return dst, errVariant
	}
	head, rest := b[0]>>2, b[1:]
	switch b[0] & 3 {
	case variantShort:
		if len(rest) < int(head) {
			return dst, errVariant
		}
		return appendText(dst, rest[:head])
	case variantObject:
		return v.object(dst, head, rest, depth)
	case variantArray:
		return v.array(dst, head, rest, depth)
	}
	return simpleVariant(dst, head, rest)
}

func appendText(dst, s []byte) ([]byte, error) {
	if !utf8.Valid(s) {
		return dst, errVariant
	}
	return types.AppendJSONString(dst, string(s)), nil
}

// unsigned reads number i of n-byte numbers.
func unsigned(b []byte, i, n int) (int, bool) {
	if i < 0 || (i+1)*n > len(b) {
		return 0, false
	}
	x := 0
	for k := range n {
		x |= int(b[i*n+k]) << (8 * k)
	}
	return x, true
}

// count reads the number of elements of an object or array.
func count(b []byte, large bool) (n int, rest []byte, ok bool) {
	size := 1
	if large {
		size = 4
	}
	if n, ok = unsigned(b, 0, size); !ok || n > len(b) {
		return 0, nil, false
	}
	return n, b[size:], true
}

func (v *variant) object(dst []byte, head byte, b []byte, depth int) ([]byte, error) {
	offSize, idSize := int(head&3)+1, int(head>>2&3)+1
	n, b, ok := count(b, head&16 != 0)
	if !ok || len(b) < n*idSize+(n+1)*offSize {
		return dst, errVariant
	}
	ids, offs, data := b[:n*idSize], b[n*idSize:n*idSize+(n+1)*offSize], b[n*idSize+(n+1)*offSize:]
	dst = append(dst, '{')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		id, _ := unsigned(ids, i, idSize)
		at, _ := unsigned(offs, i, offSize)
		key, ok := v.key(id)
		if !ok || at > len(data) {
			return dst, errVariant
		}
		var err error
		if dst, err = appendText(dst, key); err != nil {
			return dst, err
		}
		if dst, err = v.append(append(dst, ':'), data[at:], depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (v *variant) array(dst []byte, head byte, b []byte, depth int) ([]byte, error) {
	offSize := int(head&3) + 1
	n, b, ok := count(b, head&4 != 0)
	if !ok || len(b) < (n+1)*offSize {
		return dst, errVariant
	}
	offs, data := b[:(n+1)*offSize], b[(n+1)*offSize:]
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		at, _ := unsigned(offs, i, offSize)
		if at > len(data) {
			return dst, errVariant
		}
		var err error
		if dst, err = v.append(dst, data[at:], depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// key is a name of the metadata's dictionary.
func (v *variant) key(id int) ([]byte, bool) {
	if len(v.meta) == 0 || v.meta[0]&15 != 1 {
		return nil, false
	}
	size := int(v.meta[0]>>6) + 1
	n, ok := unsigned(v.meta[1:], 0, size)
	if !ok || id >= n || n > len(v.meta) {
		return nil, false
	}
	offs := v.meta[1+size:]
	from, ok := unsigned(offs, id, size)
	to, ok2 := unsigned(offs, id+1, size)
	if !ok || !ok2 || len(offs) < (n+1)*size {
		return nil, false
	}
	text := offs[(n+1)*size:]
	if from > to || to > len(text) {
		return nil, false
	}
	return text[from:to], true
}

// simpleSizes are the bytes of the simple values whose size is fixed.
var simpleSizes = map[byte]int{
	variantInt8: 1, variantInt16: 2, variantInt32: 4, variantInt64: 8, variantDouble: 8, variantDecimal4: 5, variantDecimal8: 9,
	variantDecimal16: 17, variantDate: 4, variantTimestamp: 8, variantTimestampNTZ: 8, variantFloat: 4, variantTime: 8,
	variantTimestampNanos: 8, variantTimestampNTZNanos: 8, variantUUID: 16, variantBinary: 4, variantString: 4,
}

func simpleVariant(dst []byte, kind byte, b []byte) ([]byte, error) {
	if len(b) < simpleSizes[kind] {
		return dst, errVariant
	}
	le := binary.LittleEndian
	switch kind {
	case variantNull:
		return append(dst, "null"...), nil
	case variantTrue:
		return append(dst, "true"...), nil
	case variantFalse:
		return append(dst, "false"...), nil
	case variantInt8:
		return strconv.AppendInt(dst, int64(int8(b[0])), 10), nil
	case variantInt16:
		return strconv.AppendInt(dst, int64(int16(le.Uint16(b))), 10), nil
	case variantInt32:
		return strconv.AppendInt(dst, int64(int32(le.Uint32(b))), 10), nil
	case variantInt64:
		return strconv.AppendInt(dst, int64(le.Uint64(b)), 10), nil
	case variantDouble:
		return variantFloatText(dst, math.Float64frombits(le.Uint64(b)), 64), nil
	case variantFloat:
		return variantFloatText(dst, float64(math.Float32frombits(le.Uint32(b))), 32), nil
	case variantDecimal4:
		return variantDecimal(dst, decimal128.FromI64(int64(int32(le.Uint32(b[1:])))), b[0])
	case variantDecimal8:
		return variantDecimal(dst, decimal128.FromI64(int64(le.Uint64(b[1:]))), b[0])
	case variantDecimal16:
		return variantDecimal(dst, decimal128.New(int64(le.Uint64(b[9:])), le.Uint64(b[1:])), b[0])
	case variantDate:
		dst = types.AppendDate(append(dst, '"'), int64(int32(le.Uint32(b))))
		return append(dst, '"'), nil
	case variantTimestamp, variantTimestampNTZ, variantTimestampNanos, variantTimestampNTZNanos:
		return variantInstant(dst, kind, int64(le.Uint64(b))), nil
	case variantTime:
		dst = types.AppendTime(append(dst, '"'), int64(le.Uint64(b))/1000, 3)
		return append(dst, '"'), nil
	case variantUUID:
		s := hex.EncodeToString(b[:16])
		return append(dst, `"`+s[:8]+"-"+s[8:12]+"-"+s[12:16]+"-"+s[16:20]+"-"+s[20:]+`"`...), nil
	case variantBinary, variantString:
		n := uint64(le.Uint32(b))
		if n > uint64(len(b)-4) {
			return dst, errVariant
		}
		if kind == variantString {
			return appendText(dst, b[4:4+n])
		}
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), b[4:4+n])
		return append(dst, '"'), nil
	}
	return dst, errVariant
}

// variantFloatText prints numbers as Java does.
func variantFloatText(dst []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(types.AppendFloat(append(dst, '"'), v, bits), '"')
	}
	return types.AppendFloat(dst, v, bits)
}

func variantDecimal(dst []byte, v decimal128.Num, scale byte) ([]byte, error) {
	if scale > 38 {
		return dst, errVariant
	}
	return types.AppendDecimal(dst, v, int(scale)), nil
}

func variantInstant(dst []byte, kind byte, v int64) []byte {
	per := int64(1000)
	if kind == variantTimestampNanos || kind == variantTimestampNTZNanos {
		per = 1_000_000
	}
	ms := types.FloorDiv(v, per)
	i := types.Instant{Millis: ms, Nanos: int32((v - ms*per) * (1_000_000 / per))}
	dst = types.AppendTimestamp(append(dst, '"'), i, 0)
	if kind == variantTimestamp || kind == variantTimestampNanos {
		dst = append(dst, "+00:00"...)
	}
	return append(dst, '"')
}
