package types

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// ParseDatum reads the text of a value of an atomic type as a cast from STRING does, so it reads
// what FormatDatum writes but bytes, which are the text's UTF-8, and also the forms of JSON rows
// (2024-02-29T12:34:56Z). CHAR and VARCHAR are taken as they are; blanks around other values do no
// harm. An error names text and type; values out of the type's range are errors.
func ParseDatum(t Type, text string) (Datum, error) {
	var d Datum
	var err error
	if t.Kind < Char || t.Kind > Varbinary {
		text = strings.TrimSpace(text)
	}
	switch t.Kind {
	case Boolean:
		d, err = boxed(ParseBool(text))
	case TinyInt:
		d, err = boxed(ParseInt(text, 8))
	case SmallInt:
		d, err = boxed(ParseInt(text, 16))
	case Int:
		d, err = boxed(ParseInt(text, 32))
	case BigInt:
		d, err = boxed(ParseInt(text, 64))
	case Float:
		var f float64
		f, err = ParseFloat(text, 32)
		d = float32(f)
	case Double:
		d, err = boxed(ParseFloat(text, 64))
	case Decimal:
		n, ok, e := ParseDecimal(text, t.Precision, t.Scale)
		if d, err = n, e; e == nil && !ok {
			err = fmt.Errorf("types: read %s as %s: more digits than fit", clip(text), t)
		}
	case Char, Varchar:
		return text, nil
	case Binary, Varbinary:
		return []byte(text), nil
	case Date:
		d, err = boxed(ParseDate(text))
	case Time:
		d, err = boxed(ParseTime(text))
	case Timestamp, TimestampLTZ:
		d, err = boxed(ParseTimestamp(text, t.Precision))
	default:
		err = fmt.Errorf("types: a value of type %s cannot be read from text", t)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

func boxed[T any](v T, err error) (Datum, error) { return v, err }

func textError(s, what, why string) error {
	return fmt.Errorf("types: read %s as %s: %s", clip(s), what, why)
}

func clip(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return strconv.Quote(s)
}

// ParseBool reads t, true, y, yes, 1 and f, false, n, no, 0 in any case.
func ParseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "t", "true", "y", "yes", "1":
		return true, nil
	case "f", "false", "n", "no", "0":
		return false, nil
	}
	return false, textError(s, "BOOLEAN", "neither true nor false")
}

// ParseInt reads an integer of some bits. Digits after a decimal point are dropped.
func ParseInt(s string, bits int) (int64, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if !digits(frac) {
		return 0, textError(s, "integer", "not a number")
	}
	if (whole == "" || whole == "-" || whole == "+") && strings.Contains(s, ".") {
		whole += "0" // .5 is 0 in the reference
	}
	if d := strings.TrimLeft(whole, "+-"); len(whole)-len(d) > 1 || d == "" || !digits(d) {
		return 0, textError(s, "integer", "not a number")
	}
	n, err := strconv.ParseInt(whole, 10, bits)
	if err != nil {
		return 0, textError(s, fmt.Sprintf("integer of %d bits", bits), "out of range")
	}
	return n, nil
}

// digits reports whether a text, which may be empty, has nothing but digits.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// NaN is the number that is none, with the bits that Java has for it: other writers hash and compare values by their bits.
func NaN() float64 { return math.Float64frombits(0x7ff8000000000000) }

// ParseFloat reads a FLOAT (bits 32) or DOUBLE (64): decimal, with an exponent, NaN or Infinity.
// Too large numbers become infinite, blanks around it do no harm.
func ParseFloat(s string, bits int) (float64, error) {
	x := strings.TrimSpace(s)
	switch strings.TrimLeft(x, "+-") {
	case "NaN":
		return NaN(), nil
	case "Infinity":
		if x[0] == '-' {
			return math.Inf(-1), nil
		}
		return math.Inf(1), nil
	}
	if n := len(x); n > 1 && strings.IndexByte("dDfF", x[n-1]) >= 0 {
		x = x[:n-1] // Java's literals may end in their type
	}
	if strings.Trim(x, "0123456789+-.eE") != "" {
		return 0, textError(s, "floating point number", "not a number")
	}
	f, err := strconv.ParseFloat(x, bits)
	if err != nil && !math.IsInf(f, 0) {
		return 0, textError(s, "floating point number", "not a number")
	}
	return f, nil
}

// maxExponent bounds the exponent of decimals, so that 1E999999999 costs nothing.
const maxExponent = 5000

// ParseDecimal reads a number as DECIMAL(precision, scale), rounding half up. It reports false if
// the number has more digits than fit, in which case a cast gives NULL.
func ParseDecimal(s string, precision, scale int) (decimal128.Num, bool, error) {
	mantissa, exp := s, int64(0)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(s[i+1:], 10, 32)
		if err != nil {
			return decimal128.Num{}, false, textError(s, "DECIMAL", "not a number")
		}
		mantissa, exp = s[:i], e
	}
	neg := strings.HasPrefix(mantissa, "-")
	if neg || strings.HasPrefix(mantissa, "+") {
		mantissa = mantissa[1:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if whole+frac == "" || !digits(whole) || !digits(frac) {
		return decimal128.Num{}, false, textError(s, "DECIMAL", "not a number")
	}
	all := strings.TrimLeft(whole+frac, "0")
	if all == "" {
		return decimal128.Num{}, true, nil
	}
	shift := exp - int64(len(frac)) + int64(scale) // the value is all·10^shift in units of the scale
	if shift > maxExponent || int64(len(all))+shift > 40 {
		return decimal128.Num{}, false, nil
	}
	if shift < 0 {
		keep := int64(len(all)) + shift
		if keep < 0 {
			return decimal128.Num{}, true, nil
		}
		up := all[keep] >= '5'
		n := new(big.Int)
		n.SetString("0"+all[:keep], 10)
		if up {
			n.Add(n, big.NewInt(1))
		}
		return signed(n, neg, precision)
	}
	n := new(big.Int)
	n.SetString(all+strings.Repeat("0", int(shift)), 10)
	return signed(n, neg, precision)
}

func signed(n *big.Int, neg bool, precision int) (decimal128.Num, bool, error) {
	if n.BitLen() > 127 {
		return decimal128.Num{}, false, nil
	}
	if neg {
		n.Neg(n)
	}
	v := decimal128.FromBigInt(n)
	return v, v.FitsInPrecision(int32(precision)), nil
}
