package decode

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

var memoryAllocator = memory.NewGoAllocator()

// encodedText gives the text of values that are not written as texts.
func encodedText(raw []byte, from *Column) ([]byte, bool) {
	p := plainText(raw, from)
	switch from.Encoding {
	case Days:
		n, ok := parseInt(p)
		if !ok || n < -1<<31 || n >= 1<<31 {
			return p, raw[0] == '"'
		}
		return appendDate(nil, n), true
	case Millis, Micros, Nanos:
		i, ok := instantNumber(p, from.Encoding)
		if !ok {
			return p, raw[0] == '"'
		}
		return appendInstant(nil, i, map[Encoding]int{Millis: 3, Micros: 6, Nanos: 9}[from.Encoding]), true
	case TimeMillis, TimeMicros, TimeNanos:
		n, ok := parseInt(p)
		if !ok {
			return p, raw[0] == '"'
		}
		return appendTime(nil, n, from.Encoding), true
	case BitNumber:
		return p, true
	case Base64, Base64Reversed, Latin1, Latin1Padded:
		data, err := bytesOf(raw, from, types.BytesType)
		if err != nil {
			return nil, false
		}
		if from.Encoding == Base64Reversed {
			var digits []byte
			for _, c := range data {
				digits = fmt.Appendf(digits, "%08b", c)
			}
			return digits, true
		}
		if !utf8.Valid(data) {
			return []byte("0x" + hex.EncodeToString(data)), true
		}
		return data, true
	case EncodedDecimal:
		if raw[0] != '"' { // a number, as it is written
			return p, true
		}
		fallthrough
	case ScaledDecimal:
		d, ok := encodedDecimal(raw, from)
		if !ok {
			return nil, false
		}
		return d.text(), true
	case EnumIndex:
		n, ok := parseInt(p)
		switch {
		case !ok:
			return p, true
		case n == 0: // MySQL's word for a value that was none
			return []byte{}, true
		case n > 0 && n <= int64(len(from.Symbols)):
			return []byte(from.Symbols[n-1]), true
		}
		return p, len(from.Symbols) == 0
	case Geometry:
		if v, ok := geometryText(raw, from); ok {
			return v, true
		}
		return nil, false
	case SetMask:
		n, err := strconv.ParseUint(str(p), 10, 64)
		if err != nil {
			signed, ok := parseInt(p) // all 64 words: the highest bit is the sign
			if !ok {
				return p, true
			}
			n = uint64(signed)
		}
		var words []string
		for i := range 64 {
			if n>>i&1 == 0 {
				continue
			}
			if i >= len(from.Symbols) {
				return nil, false
			}
			words = append(words, from.Symbols[i])
		}
		return []byte(strings.Join(words, ",")), true
	default:
		return p, true
	}
}

// bytesOf gives the bytes of a value for a column of bytes.
func bytesOf(raw []byte, from *Column, t types.Type) ([]byte, error) {
	p := plainText(raw, from)
	var v []byte
	switch from.Encoding {
	case Base64, Base64Reversed:
		var err error
		if v, err = base64.StdEncoding.AppendDecode(nil, p); err != nil {
			return nil, wrong(raw, from, t, "it should be base64")
		}
		if from.Encoding == Base64Reversed {
			for i, j := 0, len(v)-1; i < j; i, j = i+1, j-1 {
				v[i], v[j] = v[j], v[i]
			}
			for t.Kind == types.Binary && len(v) > t.Length && v[0] == 0 { // bits come padded to whole words
				v = v[1:]
			}
		}
	case Latin1:
		v = latin1(p)
	case Latin1Padded:
		if v = latin1(p); len(v) < from.Scale {
			v = append(slices.Clip(v), make([]byte, from.Scale-len(v))...)
		}
	case BitNumber:
		n, err := strconv.ParseUint(str(p), 10, 64)
		if err != nil {
			v = latin1(p)
			break
		}
		for shift := 56; shift >= 0; shift -= 8 {
			if c := byte(n >> shift); c != 0 || len(v) > 0 || shift < 8*min(t.Length, 8) {
				v = append(v, c)
			}
		}
	case ScaledDecimal, EncodedDecimal, EnumIndex, SetMask, Geometry:
		var ok bool
		if v, ok = encodedText(raw, from); !ok {
			return nil, wrong(raw, from, t, "")
		}
	default:
		v = p
		if from.base64 && raw[0] == '"' {
			var err error
			if v, err = base64.StdEncoding.AppendDecode(nil, p); err != nil {
				return nil, wrong(raw, from, t, "without the schema part, bytes should be base64 (binary.handling.mode=bytes); STRING holds other texts")
			}
		}
	}
	if t.Length < types.MaxLength && len(v) > t.Length {
		return nil, wrong(raw, from, t, "it is too long; a longer type holds it")
	}
	return v, nil
}

// latin1 gives the bytes that a text of characters up to U+00FF stands for. A text with others is not of
// this kind; it is its UTF-8.
func latin1(p []byte) []byte {
	ascii := true
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRune(p[i:])
		if r > 0xff {
			return p
		}
		ascii = ascii && r < 0x80
		i += n
	}
	if ascii {
		return p
	}
	out := make([]byte, 0, len(p))
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRune(p[i:])
		out = append(out, byte(r))
		i += n
	}
	return out
}

// encodedDecimal reads base64 of an unscaled value.
func encodedDecimal(raw []byte, from *Column) (dec, bool) {
	scale := from.Scale
	p := plainText(raw, from)
	if from.Encoding == ScaledDecimal {
		if raw[0] != '{' {
			return parseDecimal(p)
		}
		s := scanner{data: raw, pos: 1}
		p = nil
		for first := true; ; first = false {
			name, more := s.member(first)
			if !more {
				break
			}
			v, ok := s.value()
			if !ok {
				return dec{}, false
			}
			if is(name, "scale") {
				n, ok := parseInt(v)
				if !ok || n < -1000 || n > 1000 {
					return dec{}, false
				}
				scale = int(n)
			}
			if is(name, "value") && v[0] == '"' {
				p = unquote(v)
			}
		}
		if s.err != nil {
			return dec{}, false
		}
	}
	data, err := base64.StdEncoding.AppendDecode(nil, p)
	if err != nil || len(data) == 0 || len(data) > 64 {
		return dec{}, false
	}
	if len(data) <= 8 {
		v := int64(int8(data[0]))
		for _, c := range data[1:] {
			v = v<<8 | int64(c)
		}
		if v != -1<<63 {
			d := dec{neg: v < 0, small: uint64(v), exp: -scale}
			if d.neg {
				d.small = uint64(-v)
			}
			return d, true
		}
	}
	n := new(big.Int).SetBytes(data)
	if data[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(data))))
	}
	return dec{neg: n.Sign() < 0, big: n.Abs(n), exp: -scale}, true
}
