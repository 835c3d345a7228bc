package types

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// FormatDatum gives the text of a value of an atomic type, as a cast to STRING does: true; 1.0E10 (see [AppendJavaFloat]);
// 1.50; 2024-02-29; 12:34:56.789; 2024-02-29 12:34:56.789. Bytes are hexadecimal digits, to be read by
// people: a cast takes them as UTF-8. NULL is "null".
func FormatDatum(t Type, d Datum) string {
	if d == nil {
		return "null"
	}
	if s, ok := d.(string); ok {
		return s
	}
	return string(appendDatumText(nil, t, d))
}

func appendDatumText(b []byte, t Type, d Datum) []byte {
	switch v := d.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		switch t.Kind {
		case Date:
			return AppendDate(b, v)
		case Time:
			return AppendTime(b, v, t.Precision)
		}
		return strconv.AppendInt(b, v, 10)
	case float32:
		return AppendJavaFloat(b, float64(v), 32)
	case float64:
		return AppendJavaFloat(b, v, 64)
	case decimal128.Num:
		return AppendDecimal(b, v, t.Scale)
	case []byte:
		return hex.AppendEncode(b, v)
	case Instant:
		return AppendTimestamp(b, v, t.Precision)
	}
	return b
}

// AppendDecimal appends a DECIMAL with all digits of its scale: 1.50.
func AppendDecimal(b []byte, v decimal128.Num, scale int) []byte {
	var buf [48]byte
	s := buf[:0]
	if hi, lo := v.HighBits(), v.LowBits(); hi == int64(lo)>>63 {
		s = strconv.AppendInt(s, int64(lo), 10)
	} else {
		s = v.BigInt().Append(s, 10)
	}
	if s[0] == '-' {
		b = append(b, '-')
		s = s[1:]
	}
	if scale <= 0 {
		return append(b, s...)
	}
	if len(s) <= scale {
		b = append(b, "0."...)
		for n := len(s); n < scale; n++ {
			b = append(b, '0')
		}
		return append(b, s...)
	}
	b = append(b, s[:len(s)-scale]...)
	return append(append(b, '.'), s[len(s)-scale:]...)
}

// AppendFloat appends a FLOAT (bits 32) or DOUBLE (64) as Java prints it, with the fewest digits
// that tell it apart: 1.0, 0.001, 1.0E7, 1.0E-4, NaN, Infinity, -0.0.
func AppendFloat(b []byte, f float64, bits int) []byte {
	switch {
	case f != f:
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	if abs := math.Abs(f); abs == 0 || (abs >= 1e-3 && abs < 1e7) {
		n := len(b)
		b = strconv.AppendFloat(b, f, 'f', -1, bits)
		for _, c := range b[n:] {
			if c == '.' {
				return b
			}
		}
		return append(b, ".0"...)
	}
	var buf [32]byte
	s := strconv.AppendFloat(buf[:0], f, 'e', -1, bits) // -1.5e+10, 1e-05
	if two := strconv.AppendFloat(nil, f, 'e', 1, bits); !slices.Contains(s, '.') {
		// Java gives two digits, those next to the number: 4.9E-324 though 5E-324 would do.
		if v, err := strconv.ParseFloat(string(two), bits); err == nil && v == f {
			s = two
		}
	}
	if s[0] == '-' {
		b, s = append(b, '-'), s[1:]
	}
	digits, exp, _ := bytes.Cut(s, []byte{'e'})
	n, _ := strconv.Atoi(string(exp)) // always a number
	return appendExponent(b, append(digits[:1], digits[min(2, len(digits)):]...), n)
}

// appendExponent appends a number by its digits, the first of which stands before the point: 1.5E10.
func appendExponent(b, digits []byte, exp int) []byte {
	b = append(b, digits[0], '.')
	if len(digits) == 1 {
		b = append(b, '0')
	}
	b = append(append(b, digits[1:]...), 'E')
	return strconv.AppendInt(b, int64(exp), 10)
}
