package types

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// FormatDatum writes a value as a cast to STRING does in the reference: 1.0E10, 2024-02-29,
// 2024-02-29 12:34:56.789, 12:34:56.789; bytes as hexadecimal digits. NULL is "null".
func FormatDatum(t Type, d Datum) string {
	switch v := d.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		switch t.Kind {
		case Date:
			return FormatDate(v)
		case Time:
			return formatClock(v*1e6, t.Precision)
		}
		return strconv.FormatInt(v, 10)
	case float32:
		return formatFloat(float64(v), 32)
	case float64:
		return formatFloat(v, 64)
	case decimal128.Num:
		return v.ToString(int32(t.Scale))
	case string:
		return v
	case []byte:
		return hex.EncodeToString(v)
	case Instant:
		days := FloorDiv(v.Millis, 86400000)
		return FormatDate(days) + " " + formatClock((v.Millis-days*86400000)*1e6+int64(v.Nanos), t.Precision)
	}
	return fmt.Sprint(d)
}

// FormatDate writes days since 1970 as 2024-02-29; years outside of 0..9999 have a sign.
func FormatDate(days int64) string {
	y, m, d := time.Unix(days*86400, 0).UTC().Date()
	sign := ""
	switch {
	case y > 9999:
		sign = "+"
	case y < 0:
		sign, y = "-", -y
	}
	return fmt.Sprintf("%s%04d-%02d-%02d", sign, y, int(m), d)
}

// formatClock writes nanoseconds of the day with at least precision digits of the second's fraction,
// as far as the others are zero.
func formatClock(ns int64, precision int) string {
	s := ns / 1e9
	out := fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
	frac := fmt.Sprintf("%09d", ns%1e9)
	for len(frac) > precision && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	if frac != "" {
		out += "." + frac
	}
	return out
}

// formatFloat writes a number as Java does: with a fraction, and an exponent below 0.001 and from ten
// million on.
func formatFloat(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	if abs := math.Abs(v); abs != 0 && (abs < 1e-3 || abs >= 1e7) {
		s := strconv.FormatFloat(v, 'E', -1, bits)
		mant, exp, _ := strings.Cut(s, "E")
		if !strings.Contains(mant, ".") {
			mant += ".0"
		}
		exp = strings.TrimPrefix(exp, "+")
		neg := strings.HasPrefix(exp, "-")
		exp = strings.TrimLeft(strings.TrimPrefix(exp, "-"), "0")
		if neg {
			exp = "-" + exp
		}
		return mant + "E" + exp
	}
	s := strconv.FormatFloat(v, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// ParseDatum reads a value as a cast from STRING does in the reference. The error says what is wrong.
func ParseDatum(t Type, text string) (Datum, error) {
	s := strings.TrimSpace(text)
	bad := func() error { return fmt.Errorf("%.60q is no value of type %s", text, t) }
	switch t.Kind {
	case Boolean:
		switch strings.ToLower(s) {
		case "true", "t", "yes", "y", "1":
			return true, nil
		case "false", "f", "no", "n", "0":
			return false, nil
		}
		return nil, bad()
	case TinyInt, SmallInt, Int, BigInt:
		bits := map[Kind]int{TinyInt: 8, SmallInt: 16, Int: 32, BigInt: 64}[t.Kind]
		v, err := strconv.ParseInt(s, 10, bits)
		if err != nil {
			return nil, bad()
		}
		return v, nil
	case Float:
		v, err := parseFloat(s, 32)
		if err != nil {
			return nil, bad()
		}
		return float32(v), nil
	case Double:
		v, err := parseFloat(s, 64)
		if err != nil {
			return nil, bad()
		}
		return v, nil
	case Decimal:
		v, ok := new(big.Rat).SetString(s)
		if !ok || len(s) > 1000 || strings.ContainsAny(s, "/_xXoObBpP") {
			return nil, bad()
		}
		n, fits := RoundDecimal(v, t)
		if !fits {
			return nil, fmt.Errorf("%.60q is too large for %s", text, t)
		}
		return n, nil
	case Char, Varchar:
		return text, nil
	case Binary, Varbinary:
		return []byte(text), nil
	case Date:
		if d, rest, ok := parseDate(s); ok && (rest == "" || rest[0] == ' ' || rest[0] == 'T') {
			return d, nil
		}
		return nil, bad()
	case Time:
		ns, rest, ok := parseClock(s)
		if !ok || rest != "" {
			return nil, bad()
		}
		return ns / 1e6, nil
	case Timestamp, TimestampLTZ:
		v, err := parseInstant(s)
		if err != nil {
			return nil, bad()
		}
		return v.Truncate(t.Precision), nil
	}
	return nil, fmt.Errorf("values of type %s cannot be read from text", t)
}

func parseFloat(s string, bits int) (float64, error) {
	switch s {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	v, err := strconv.ParseFloat(s, bits)
	var ne *strconv.NumError
	if errors.As(err, &ne) && errors.Is(ne.Err, strconv.ErrRange) {
		return v, nil // infinite, as in Java
	}
	return v, err
}

// RoundDecimal rounds a number to the scale of a DECIMAL, halves away from zero; false if it has more
// digits than the type.
func RoundDecimal(v *big.Rat, t Type) (decimal128.Num, bool) {
	num := new(big.Int).Mul(v.Num(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil))
	den := v.Denom()
	neg := num.Sign() < 0
	num.Abs(num)
	num.Mul(num, big.NewInt(2)).Add(num, den)
	num.Quo(num, new(big.Int).Mul(den, big.NewInt(2)))
	if len(num.String()) > t.Precision && num.Sign() != 0 {
		return decimal128.Num{}, false
	}
	if neg {
		num.Neg(num)
	}
	return decimal128.FromBigInt(num), true
}

// digits reads up to most digits off the front.
func digits(s string, least, most int) (int, string, bool) {
	n, i := 0, 0
	for i < len(s) && i < most && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	return n, s[i:], i >= least
}

func parseDate(s string) (int64, string, bool) {
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	y, s, ok := digits(s, 1, 7)
	if !ok || !strings.HasPrefix(s, "-") {
		return 0, s, false
	}
	m, s, ok := digits(s[1:], 1, 2)
	if !ok || !strings.HasPrefix(s, "-") {
		return 0, s, false
	}
	d, s, ok := digits(s[1:], 1, 2)
	if !ok {
		return 0, s, false
	}
	if neg {
		y = -y
	}
	x := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if x.Year() != y || int(x.Month()) != m || x.Day() != d {
		return 0, s, false
	}
	return FloorDiv(x.Unix(), 86400), s, true
}

func parseClock(s string) (int64, string, bool) {
	h, s, ok := digits(s, 1, 2)
	if !ok || h > 23 || !strings.HasPrefix(s, ":") {
		return 0, s, false
	}
	m, s, ok := digits(s[1:], 1, 2)
	if !ok || m > 59 {
		return 0, s, false
	}
	ns := int64(h*60+m) * 60e9
	if !strings.HasPrefix(s, ":") {
		return ns, s, true
	}
	sec, s, ok := digits(s[1:], 1, 2)
	if !ok || sec > 59 {
		return 0, s, false
	}
	ns += int64(sec) * 1e9
	if strings.HasPrefix(s, ".") {
		rest := s[1:]
		unit := int64(1e8)
		for rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			ns += int64(rest[0]-'0') * unit
			unit /= 10
			rest = rest[1:]
		}
		s = rest
	}
	return ns, s, true
}

func parseInstant(s string) (Instant, error) {
	days, rest, ok := parseDate(s)
	if !ok {
		return Instant{}, errors.New("no date")
	}
	var ns int64
	if rest != "" {
		if rest[0] != ' ' && rest[0] != 'T' {
			return Instant{}, errors.New("no time")
		}
		if ns, rest, ok = parseClock(strings.TrimSpace(rest[1:])); !ok {
			return Instant{}, errors.New("no time")
		}
	}
	if rest != "" && rest != "Z" {
		return Instant{}, errors.New("more text")
	}
	return Instant{Millis: days*86400000 + ns/1e6, Nanos: int32(ns % 1e6)}, nil
}
