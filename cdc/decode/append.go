package decode

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/types"
)

// AppendTo puts a value into the builder of a column of type t, of types.ArrowType or types.WideArrowType. from tells how the value is written; t
// may be wider than the type there, or another one: values are converted where that loses nothing but
// digits behind the precision or scale of t (the fraction of a second is cut, decimals are rounded half up, as
// the format's own tools do). nil is NULL. If there is an error, an *Error of WrongValue, nothing was put in.
//
// Dates and times of MySQL that are none (0000-00-00) become NULL. Values that are not of a decoder are looked at by
// Shape.Check first.
func AppendTo(b array.Builder, t types.Type, raw []byte, from *Column) error {
	if raw == nil {
		b.AppendNull()
		return nil
	}
	if from == nil {
		return &Error{Reason: WrongShape, Offset: -1, What: "nothing tells how the value is written: the Column is nil"}
	}
	switch b := b.(type) {
	case *array.Int64Builder:
		return appendInt(raw, from, t, 64, func(v int64) { b.Append(v) })
	case *array.StringBuilder:
		v, err := textOf(raw, from, t)
		if err != nil {
			return err
		}
		b.BinaryBuilder.Append(v)
	case *array.Int32Builder:
		return appendInt(raw, from, t, 32, func(v int64) { b.Append(int32(v)) })
	case *array.Int16Builder:
		return appendInt(raw, from, t, 16, func(v int64) { b.Append(int16(v)) })
	case *array.Int8Builder:
		return appendInt(raw, from, t, 8, func(v int64) { b.Append(int8(v)) })
	case *array.BooleanBuilder:
		v, ok := boolOf(raw, from)
		if !ok {
			return wrong(raw, from, t, "")
		}
		b.Append(v)
	case *array.Float64Builder:
		v, err := floatOf(raw, from, t, 64)
		if err != nil {
			return err
		}
		b.Append(v)
	case *array.Float32Builder:
		v, err := floatOf(raw, from, t, 32)
		if err != nil {
			return err
		}
		b.Append(float32(v))
	case *array.Decimal128Builder:
		if types.IsNanos(t) {
			v, null, err := instantOf(raw, from, t)
			switch {
			case err != nil:
				return err
			case null:
				b.AppendNull()
			default:
				b.Append(v.Truncate(t.Precision).Nanoseconds())
			}
			return nil
		}
		v, err := decimalOf(raw, from, t)
		if err != nil {
			return err
		}
		b.Append(v)
	case *array.BinaryBuilder:
		v, err := bytesOf(raw, from, t)
		if err != nil {
			return err
		}
		b.Append(v)
	case *array.Date32Builder:
		v, null, err := dateOf(raw, from, t)
		switch {
		case err != nil:
			return err
		case null:
			b.AppendNull()
		default:
			b.Append(arrow.Date32(v))
		}
	case *array.Time32Builder:
		v, err := timeOf(raw, from, t)
		if err != nil {
			return err
		}
		b.Append(arrow.Time32(v))
	case *array.TimestampBuilder:
		return appendTimestamp(b, raw, from, t)
	case *array.ListBuilder:
		return appendList(b, raw, from, t)
	default:
		return wrong(raw, from, t, "values of this type cannot be made from a message; use STRING")
	}
	return nil
}

// wrong is the error of a value that is not of the type of its column.
func wrong(raw []byte, from *Column, t types.Type, do string) *Error {
	const show = 60
	v := string(raw[:min(len(raw), show)])
	if len(raw) > show {
		v += "…"
	}
	return &Error{Reason: WrongValue, Offset: -1, What: "column " + from.Name + ": " + v + " is no value of type " + t.AsNullable().String(), Do: do}
}

// str looks at bytes as a string; it must not be kept.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// plainText gives the text of a value: of a JSON string what it says, else the value as written.
func plainText(raw []byte, from *Column) []byte {
	if from.Encoding != Text && len(raw) >= 2 && raw[0] == '"' {
		return unquote(raw)
	}
	return raw
}

func appendInt(raw []byte, from *Column, t types.Type, bits uint, put func(int64)) error {
	v, ok := intOf(raw, from)
	if !ok {
		return wrong(raw, from, t, "")
	}
	if v < 0 && strings.Contains(from.SourceType, "unsigned") {
		return wrong(raw, from, t, "it was unsigned and over the limit of the number it was sent as; Debezium sends all digits by bigint.unsigned.handling.mode=precise")
	}
	if v<<(64-bits)>>(64-bits) != v {
		return wrong(raw, from, t, "it is too large; a wider type holds it")
	}
	put(v)
	return nil
}

// intOf reads a whole number.
func intOf(raw []byte, from *Column) (int64, bool) {
	p := plainText(raw, from)
	if v, ok := parseInt(p); ok {
		return v, true
	}
	switch from.Encoding {
	case EncodedDecimal, ScaledDecimal:
		v, err := decimalOf(raw, from, types.DecimalType(38, 0))
		if err != nil || v.HighBits() != int64(v.LowBits())>>63 {
			return 0, false
		}
		return int64(v.LowBits()), true
	default:
	}
	switch str(p) {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	// A number with a fraction of zeros, or with an exponent.
	d, ok := parseDecimal(p)
	if !ok || d.exp < 0 && !d.wholeAt() {
		return 0, false
	}
	n, ok := d.scaled(0, 19)
	if !ok || n.HighBits() != int64(n.LowBits())>>63 {
		return 0, false
	}
	return int64(n.LowBits()), true
}

// parseInt reads digits with a sign.
func parseInt(p []byte) (int64, bool) {
	i := 0
	neg := false
	if len(p) > 0 && (p[0] == '-' || p[0] == '+') {
		neg, i = p[0] == '-', 1
	}
	if i == len(p) || len(p)-i > 19 {
		return 0, false
	}
	var v uint64
	for ; i < len(p); i++ {
		c := p[i] - '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	switch {
	case neg && v <= 1<<63:
		return -int64(v), true
	case !neg && v < 1<<63:
		return int64(v), true
	}
	return 0, false
}

// boolOf reads a truth value, in the words that the format's own tools know.
func boolOf(raw []byte, from *Column) (v, ok bool) {
	p := plainText(raw, from)
	switch str(p) {
	case "true", "1", "t", "y", "yes", "TRUE", "True", "T", "Y", "YES":
		return true, true
	case "false", "0", "f", "n", "no", "FALSE", "False", "F", "N", "NO":
		return false, true
	}
	if n, ok := parseInt(p); ok && from.Encoding != BitNumber { // TINYINT(1) may hold other numbers; MySQL takes all but 0 for true
		return n != 0, true
	}
	if from.Encoding == Base64Reversed || from.Encoding == Base64 {
		if data, err := base64.StdEncoding.AppendDecode(nil, p); err == nil && len(data) > 0 {
			return len(bytes.Trim(data, "\x00")) > 0, true
		}
	}
	return false, false
}

// floatOf reads the nearest number. One that is too large is an error, not infinity.
func floatOf(raw []byte, from *Column, t types.Type, bits int) (float64, error) {
	p := plainText(raw, from)
	if from.Encoding == EncodedDecimal && raw[0] == '"' || from.Encoding == ScaledDecimal {
		d, ok := encodedDecimal(raw, from)
		if !ok {
			return 0, wrong(raw, from, t, "")
		}
		p = d.text()
	}
	if len(p) == 0 || len(p) > 1000 {
		return 0, wrong(raw, from, t, "")
	}
	switch p[len(p)-1] {
	case 'y', 'Y', 'N', 'n', 'f', 'F':
		switch str(p) {
		case "NaN", "Infinity", "-Infinity", "+Infinity":
		default:
			return 0, wrong(raw, from, t, "")
		}
	}
	if bytes.ContainsAny(p, "xX_pP") {
		return 0, wrong(raw, from, t, "")
	}
	v, err := strconv.ParseFloat(str(p), bits)
	if err != nil {
		do := ""
		if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange { //nolint:errorlint // as strconv documents
			do = "it is too large"
		}
		return 0, wrong(raw, from, t, do)
	}
	return v, nil
}

// textOf gives the text of a value for a column of characters.
func textOf(raw []byte, from *Column, t types.Type) ([]byte, error) {
	var v []byte
	switch from.Encoding {
	case JSON, Zoned:
		switch raw[0] {
		case '"':
			v = unquote(raw)
		case '{', '[':
			var ok bool
			if v, ok = jsonText(raw, from); !ok {
				return nil, wrong(raw, from, t, "")
			}
		default:
			v = raw
		}
	case Text:
		v = raw
	default:
		var ok bool
		if v, ok = encodedText(raw, from); !ok {
			return nil, wrong(raw, from, t, "")
		}
	}
	if !utf8.Valid(v) {
		return nil, wrong([]byte(strconv.QuoteToASCII(string(v[:min(len(v), 40)]))), from, t, "it is not UTF-8")
	}
	if t.Length < types.MaxLength && len(v) > t.Length && utf8.RuneCount(v) > t.Length {
		return nil, wrong(raw, from, t, "it is too long; a longer type holds it")
	}
	return v, nil
}

// appendList puts in the parts of a JSON array, or of a SET.
func appendList(b *array.ListBuilder, raw []byte, from *Column, t types.Type) error {
	if t.Elem == nil {
		return wrong(raw, from, t, "")
	}
	var parts [][]byte
	elem := Column{Name: from.Name, Zone: from.Zone}
	if from.nested != nil && from.nested.elem != nil {
		elem = *from.nested.elem
		elem.Name = from.Name
	}
	if from.Encoding == SetMask {
		v, ok := encodedText(raw, from)
		if !ok {
			return wrong(raw, from, t, "")
		}
		elem.Encoding = Text
		if len(v) > 0 {
			parts = bytes.Split(v, []byte(","))
		}
	} else {
		s := scanner{data: plainText(raw, from)}
		if s.ws() != '[' {
			return wrong(raw, from, t, "")
		}
		var ok bool
		if parts, ok = listParts(&s); !ok {
			return wrong(raw, from, t, "")
		}
		for i, p := range parts {
			if isNull(p) {
				parts[i] = nil
			}
		}
	}
	// Into a builder of its own first, so that an error leaves b as it was.
	trial := array.NewBuilder(memoryAllocator, b.ValueBuilder().Type())
	for _, p := range parts {
		if err := AppendTo(trial, *t.Elem, p, &elem); err != nil {
			return err
		}
	}
	b.Append(true)
	for _, p := range parts {
		if err := AppendTo(b.ValueBuilder(), *t.Elem, p, &elem); err != nil {
			return err
		}
	}
	return nil
}
