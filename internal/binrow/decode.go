package binrow

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// Decode reads a row of the types ts. The values share nothing with b. Any bytes are safe: those that are
// no such row give an error that names the field.
func Decode(b []byte, ts []types.Type) ([]types.Datum, error) {
	if fixed := fixedSize(len(ts)); len(b) < fixed {
		return nil, fmt.Errorf("binrow: decode: %d bytes are too few for %d fields, which need %d", len(b), len(ts), fixed)
	}
	out := make([]types.Datum, len(ts))
	bits := bitsSize(len(ts))
	for i := range ts {
		if b[(i+headerBits)>>3]&(1<<((i+headerBits)&7)) != 0 {
			continue
		}
		v, err := field(b, binary.LittleEndian.Uint64(b[bits+8*i:]), &ts[i])
		if err != nil {
			return nil, fmt.Errorf("binrow: decode field %d: %w", i, err)
		}
		out[i] = v
	}
	return out, nil
}

// DecodeWithArity reads a row that has its number of fields in front. Another number than that of
// ts is an error.
func DecodeWithArity(b []byte, ts []types.Type) ([]types.Datum, error) {
	n, err := Arity(b)
	if err != nil {
		return nil, err
	}
	if n != len(ts) {
		return nil, fmt.Errorf("binrow: decode: a row of %d fields where %d are expected", n, len(ts))
	}
	return Decode(b[4:], ts)
}

// Arity is the number of fields of a row that has it in front.
func Arity(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, fmt.Errorf("binrow: decode: %d bytes are too few for the number of fields", len(b))
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n)*8 > uint64(len(b)) {
		return 0, fmt.Errorf("binrow: decode: %d bytes cannot hold %d fields", len(b), n)
	}
	return int(n), nil
}

func field(b []byte, w uint64, t *types.Type) (types.Datum, error) {
	switch t.Kind {
	case types.Boolean:
		return byte(w) != 0, nil
	case types.TinyInt:
		return int64(int8(w)), nil
	case types.SmallInt:
		return int64(int16(w)), nil
	case types.Int, types.Date, types.Time:
		return int64(int32(w)), nil
	case types.BigInt:
		return int64(w), nil
	case types.Float:
		return math.Float32frombits(uint32(w)), nil
	case types.Double:
		return math.Float64frombits(w), nil
	case types.Decimal:
		if !wideDecimal(t) {
			return decimal128.FromI64(int64(w)), nil
		}
		return wideDecimalAt(b, w)
	case types.Char, types.Varchar:
		p, err := bytesAt(b, &w)
		return string(p), err
	case types.Binary, types.Varbinary:
		p, err := bytesAt(b, &w)
		return append([]byte{}, p...), err
	case types.Timestamp, types.TimestampLTZ:
		if !wideTimestamp(t) {
			return types.Instant{Millis: int64(w)}, nil
		}
		p, err := part(b, w>>32, 8)
		if err != nil {
			return nil, err
		}
		if uint32(w) > 999_999 {
			return nil, fmt.Errorf("%d nanoseconds within a millisecond", uint32(w))
		}
		return types.Instant{Millis: int64(binary.LittleEndian.Uint64(p)), Nanos: int32(uint32(w))}, nil
	}
	return nil, fmt.Errorf("type %v has no place in a BinaryRow: only atomic types do", *t)
}

// bytesAt is the value of a word of a string or binary. The result may lie in the word itself.
func bytesAt(b []byte, w *uint64) ([]byte, error) {
	if *w>>63 == 0 {
		return part(b, *w>>32, *w&math.MaxUint32)
	}
	n := *w >> 56 & 0x7f
	if n > maxInline {
		return nil, fmt.Errorf("a value of %d bytes within its word", n)
	}
	return binary.LittleEndian.AppendUint64(nil, *w)[:n], nil
}

func wideDecimalAt(b []byte, w uint64) (types.Datum, error) {
	p, err := part(b, w>>32, w&math.MaxUint32)
	if err != nil {
		return nil, err
	}
	if len(p) == 0 || len(p) > decimalSize {
		return nil, fmt.Errorf("a decimal of %d bytes", len(p))
	}
	var be [16]byte
	if p[0] >= 0x80 {
		binary.BigEndian.PutUint64(be[:], math.MaxUint64)
		binary.BigEndian.PutUint64(be[8:], math.MaxUint64)
	}
	copy(be[16-len(p):], p)
	return decimal128.New(int64(binary.BigEndian.Uint64(be[:])), binary.BigEndian.Uint64(be[8:])), nil
}

func part(b []byte, off, n uint64) ([]byte, error) {
	if off > uint64(len(b)) || n > uint64(len(b))-off {
		return nil, fmt.Errorf("%d bytes at offset %d of a row of %d bytes", n, off, len(b))
	}
	return b[off : off+n], nil
}
