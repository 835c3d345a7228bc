package jsonrow

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// ParseDecimal reads a decimal number exactly. More digits than the type has, before or after the
// point, are an error; zeros at the end are not counted.
func ParseDecimal(text string, t types.Type) (types.Datum, error) {
	digits, neg := strings.TrimPrefix(text, "+"), false
	if s, ok := strings.CutPrefix(text, "-"); ok {
		digits, neg = s, true
	}
	exp := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		n, err := strconv.Atoi(digits[i+1:])
		if err != nil || n > 1000 || n < -1000 {
			return nil, fmt.Errorf("%.60q is no decimal number", text)
		}
		digits, exp = digits[:i], n
	}
	whole, frac, _ := strings.Cut(digits, ".")
	all := whole + frac
	if all == "" || strings.Trim(all, "0123456789") != "" || len(all) > 2000 {
		return nil, fmt.Errorf("%.60q is no decimal number", text)
	}
	scale := len(frac) - exp
	trimmed := strings.TrimRight(all, "0")
	if trimmed == "" {
		return decimal128.Num{}, nil
	}
	scale -= len(all) - len(trimmed)
	if scale > t.Scale {
		return nil, fmt.Errorf("%.60s has more than %d digits after the point, the scale of %s", text, t.Scale, t)
	}
	if t.Scale-scale+len(trimmed) <= 18 { // 64 bits hold it
		n, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%.60q is no decimal number", text)
		}
		for range t.Scale - scale {
			n *= 10
		}
		if neg {
			n = -n
		}
		if v := decimal128.FromI64(n); v.FitsInPrecision(int32(t.Precision)) {
			return v, nil
		}
		return nil, fmt.Errorf("%.60s is too large for %s", text, t)
	}
	n, ok := new(big.Int).SetString(trimmed, 10)
	if !ok {
		return nil, fmt.Errorf("%.60q is no decimal number", text)
	}
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale-scale)), nil))
	if len(n.String()) > t.Precision {
		return nil, fmt.Errorf("%.60s is too large for %s", text, t)
	}
	if neg {
		n.Neg(n)
	}
	return decimal128.FromBigInt(n), nil
}

// number reads an unsigned number of a fixed number of digits off the front.
func digitsOf(s *string, width int) (int, bool) {
	if len(*s) < width {
		return 0, false
	}
	n := 0
	for _, c := range []byte((*s)[:width]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	*s = (*s)[width:]
	return n, true
}

func take(s *string, c byte) bool {
	if *s == "" || (*s)[0] != c {
		return false
	}
	*s = (*s)[1:]
	return true
}

func parseDate(text string) (any, error) {
	s := text
	days, ok := dateOf(&s)
	if !ok || s != "" {
		return nil, fmt.Errorf("%.40q is no date; want 2024-02-29", text)
	}
	return days, nil
}

// dateOf reads a date off the front, as days since 1970.
func dateOf(s *string) (int64, bool) {
	neg := take(s, '-')
	width := 4
	if !neg && take(s, '+') || neg {
		width = max(strings.IndexByte(*s, '-'), 4)
	}
	if width > 9 {
		return 0, false
	}
	y, ok := digitsOf(s, width)
	if !ok || !take(s, '-') {
		return 0, false
	}
	m, ok := digitsOf(s, 2)
	if !ok || !take(s, '-') {
		return 0, false
	}
	d, ok := digitsOf(s, 2)
	if !ok {
		return 0, false
	}
	if neg {
		y = -y
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if t.Year() != y || int(t.Month()) != m || t.Day() != d {
		return 0, false
	}
	days := types.FloorDiv(t.Unix(), 86400)
	return days, days >= -1<<31 && days < 1<<31
}

// clockOf reads hours, minutes and maybe seconds with a fraction, as nanoseconds of the day.
func clockOf(s *string) (int64, bool) {
	h, ok := digitsOf(s, 2)
	if !ok || h > 23 || !take(s, ':') {
		return 0, false
	}
	m, ok := digitsOf(s, 2)
	if !ok || m > 59 {
		return 0, false
	}
	ns := (int64(h)*60 + int64(m)) * 60e9
	if !take(s, ':') {
		return ns, true
	}
	sec, ok := digitsOf(s, 2)
	if !ok || sec > 59 {
		return 0, false
	}
	ns += int64(sec) * 1e9
	if take(s, '.') {
		unit := int64(1e8)
		n := 0
		for *s != "" && (*s)[0] >= '0' && (*s)[0] <= '9' {
			if n == 9 {
				return 0, false
			}
			ns += int64((*s)[0]-'0') * unit
			unit /= 10
			*s = (*s)[1:]
			n++
		}
		if n == 0 {
			return 0, false
		}
	}
	return ns, true
}

func parseTime(text string) (any, error) {
	s := text
	ns, ok := clockOf(&s)
	if !ok || s != "" {
		return nil, fmt.Errorf("%.40q is no time; want 12:34:56.789", text)
	}
	if ns%1e6 != 0 {
		return nil, fmt.Errorf("%.40q is more exact than milliseconds, which is what TIME keeps", text)
	}
	return ns / 1e6, nil
}

func parseInstant(text string, t types.Type) (any, error) {
	s := text
	days, ok := dateOf(&s)
	var ns int64
	if ok && s != "" {
		ok = take(&s, 'T') || take(&s, ' ')
		if ok {
			ns, ok = clockOf(&s)
		}
	}
	if ok && t.Kind == types.TimestampLTZ {
		ok = take(&s, 'Z')
	}
	if !ok || s != "" {
		want := "2024-02-29T12:34:56.789"
		if t.Kind == types.TimestampLTZ {
			want += "Z"
		}
		return nil, fmt.Errorf("%.60q is no timestamp; want %s", text, want)
	}
	v := types.Instant{Millis: days*86400000 + ns/1e6, Nanos: int32(ns % 1e6)}
	if v.Truncate(t.Precision) != v {
		return nil, fmt.Errorf("%.60q is more exact than %s", text, t)
	}
	if _, ok := v.In(types.TimeUnit(t.Precision)); !ok && !types.IsNanos(t) {
		return nil, fmt.Errorf("%.60q is outside of what %s holds", text, t)
	}
	return v, nil
}
