package decode

import (
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// maxDigits bounds the digits of a number that is looked at.
const maxDigits = 1000

// dec is a decimal number: the digits, times ten to the power of exp.
type dec struct {
	neg   bool
	small uint64   // the digits, if big is nil
	big   *big.Int // not negative
	exp   int
}

// parseDecimal reads a decimal number with or without fraction and exponent.
func parseDecimal(p []byte) (dec, bool) {
	var d dec
	i := 0
	if i < len(p) && (p[i] == '-' || p[i] == '+') {
		d.neg = p[i] == '-'
		i++
	}
	start, digits, significant := i, 0, 0
	dot := -1
	for ; i < len(p); i++ {
		c := p[i]
		if c == '.' && dot < 0 {
			dot = i
			continue
		}
		if c -= '0'; c > 9 {
			break
		}
		digits++
		if c != 0 || significant > 0 {
			significant++
		}
		if significant <= 19 {
			d.small = d.small*10 + uint64(c)
		}
	}
	if digits == 0 || significant > maxDigits {
		return dec{}, false
	}
	if dot >= 0 {
		d.exp = -(i - dot - 1)
	}
	if significant > 19 {
		text := make([]byte, 0, digits)
		for _, c := range p[start:i] {
			if c != '.' {
				text = append(text, c)
			}
		}
		d.big, _ = new(big.Int).SetString(string(text), 10)
	}
	if i < len(p) {
		if p[i] != 'e' && p[i] != 'E' {
			return dec{}, false
		}
		e, ok := parseInt(p[i+1:])
		if !ok {
			return dec{}, false
		}
		d.exp += int(max(min(e, 1<<20), -1<<20))
	}
	return d, true
}

// wholeAt tells whether nothing but zeros stands behind the point.
func (d dec) wholeAt() bool {
	n, ok := d.scaled(0, 38)
	if !ok {
		return false
	}
	back := dec{neg: d.neg, big: n.Abs().BigInt()}
	return back.value().Cmp(d.value()) == 0
}

// value gives the number as a fraction; for comparisons only.
func (d dec) value() *big.Rat {
	n := d.big
	if n == nil {
		n = new(big.Int).SetUint64(d.small)
	}
	e := max(min(d.exp, 2*maxDigits), -2*maxDigits)
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(e, -e))), nil)
	if e >= 0 {
		return new(big.Rat).SetInt(new(big.Int).Mul(n, p))
	}
	return new(big.Rat).SetFrac(n, p)
}

var pow10 = func() (t [19]uint64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 10
	}
	return t
}()

// scaled gives the unscaled value for a scale, rounded half up, and whether it has at most precision
// digits.
func (d dec) scaled(scale, precision int) (decimal128.Num, bool) {
	shift := d.exp + scale
	if d.big == nil {
		v, ok := d.small, false
		switch {
		case v == 0:
			return decimal128.Num{}, true
		case shift >= 0 && shift < len(pow10) && v <= (1<<63-1)/pow10[shift]:
			v, ok = v*pow10[shift], true
		case shift < 0 && -shift < len(pow10) && v < 1<<62:
			by := pow10[-shift]
			v, ok = (v+by/2)/by, true
		}
		if ok {
			n := decimal128.FromI64(int64(v))
			if d.neg {
				n = n.Negate()
			}
			return n, n.FitsInPrecision(int32(precision))
		}
	}
	return d.scaledBig(shift, precision)
}

func (d dec) scaledBig(shift, precision int) (decimal128.Num, bool) {
	n := d.big
	if n == nil {
		n = new(big.Int).SetUint64(d.small)
	}
	switch {
	case shift > 40: // not zero, so too large
		return decimal128.Num{}, false
	case shift < -2*maxDigits:
		return decimal128.Num{}, true
	case shift >= 0:
		n = new(big.Int).Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil))
	default:
		by := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-shift)), nil)
		n = new(big.Int).Add(n, new(big.Int).Rsh(by, 1))
		n.Quo(n, by)
	}
	if n.BitLen() > 127 {
		return decimal128.Num{}, false
	}
	v := decimal128.FromBigInt(n)
	if d.neg {
		v = v.Negate()
	}
	return v, v.FitsInPrecision(int32(precision))
}

// text writes the number without exponent.
func (d dec) text() []byte {
	var digits string
	if d.big != nil {
		digits = d.big.String()
	} else {
		digits = strconv.FormatUint(d.small, 10)
	}
	var out []byte
	if d.neg {
		out = append(out, '-')
	}
	exp := max(min(d.exp, maxDigits), -maxDigits)
	if exp >= 0 {
		out = append(out, digits...)
		for range exp {
			if digits != "0" {
				out = append(out, '0')
			}
		}
		return out
	}
	for len(digits) <= -exp {
		digits = "0" + digits
	}
	point := len(digits) + exp
	out = append(out, digits[:point]...)
	out = append(out, '.')
	return append(out, digits[point:]...)
}

// decimalOf reads a decimal number for a column.
func decimalOf(raw []byte, from *Column, t types.Type) (decimal128.Num, error) {
	var d dec
	var ok bool
	if (from.Encoding == EncodedDecimal && raw[0] == '"') || from.Encoding == ScaledDecimal {
		d, ok = encodedDecimal(raw, from)
	} else {
		d, ok = parseDecimal(plainText(raw, from))
	}
	if !ok {
		do := ""
		if from.Encoding == JSON && raw[0] == '"' && from.Type.Kind == types.Invalid {
			do = "if it is base64: have Debezium send decimals as text (decimal.handling.mode=string) or send the schema part"
		}
		return decimal128.Num{}, wrong(raw, from, t, do)
	}
	v, ok := d.scaled(t.Scale, t.Precision)
	if !ok {
		return decimal128.Num{}, wrong(raw, from, t, "it is too large; a wider type holds it")
	}
	return v, nil
}
