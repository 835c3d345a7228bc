package decode

import (
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/types"
)

const (
	dayMillis = 24 * 60 * 60 * 1000
)

// appendTimestamp puts in a TIMESTAMP or TIMESTAMP_LTZ.
func appendTimestamp(b *array.TimestampBuilder, raw []byte, from *Column, t types.Type) error {
	i, null, err := instantOf(raw, from, t)
	if err != nil {
		return err
	}
	if null {
		b.AppendNull()
		return nil
	}
	v, ok := i.Truncate(t.Precision).In(types.TimeUnit(t.Precision))
	if !ok {
		return wrong(raw, from, t, "the year is out of range")
	}
	b.Append(arrow.Timestamp(v))
	return nil
}

// instantNumber reads a number of milli-, micro- or nanoseconds.
func instantNumber(p []byte, e Encoding) (types.Instant, bool) {
	n, ok := parseInt(p)
	switch e {
	case Micros:
		ms := types.FloorDiv(n, 1000)
		return types.Instant{Millis: ms, Nanos: int32(n-ms*1000) * 1000}, ok
	case Nanos:
		ms := types.FloorDiv(n, 1_000_000)
		return types.Instant{Millis: ms, Nanos: int32(n - ms*1_000_000)}, ok
	default:
		return types.Instant{Millis: n}, ok && n > -1<<60 && n < 1<<60
	}
}

// instantOf reads a point in time or on the wall clock, whichever t is. A number without a told
// encoding is what Debezium writes for the precision of t.
func instantOf(raw []byte, from *Column, t types.Type) (i types.Instant, null bool, err error) {
	p := plainText(raw, from)
	e := from.Encoding
	if e == JSON || e == Text {
		switch {
		case t.Precision <= 3:
			e = Millis
		case t.Precision <= 6:
			e = Micros
		default:
			e = Nanos
		}
	}
	switch e {
	case Days:
		n, ok := parseInt(p)
		if ok && n > -1<<31 && n < 1<<31 {
			return wall(types.Instant{Millis: n * dayMillis}, from, t), false, nil
		}
	case Millis, Micros, Nanos:
		if i, ok := instantNumber(p, e); ok {
			return wall(i, from, t), false, nil
		}
	default:
	}
	i, zoned, null, ok := parseInstant(p)
	switch {
	case !ok:
		return i, false, wrong(raw, from, t, "a timestamp is written 2024-01-31 12:30:00.123, with a T between if you like and with a zone behind")
	case null || zoned:
		return i, null, nil
	}
	return wall(i, from, t), false, nil
}

// wall gives, for a TIMESTAMP_LTZ, the point in time at which clocks in the column's zone show i.
func wall(i types.Instant, from *Column, t types.Type) types.Instant {
	if t.Kind != types.TimestampLTZ || from.Zone == nil || from.Zone == time.UTC {
		return i
	}
	w := time.UnixMilli(i.Millis).UTC()
	at := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), from.Zone)
	return types.Instant{Millis: at.UnixMilli(), Nanos: i.Nanos}
}

// digits reads n digits at the front.
func digits(p []byte, n int) (int, bool) {
	if len(p) < n {
		return 0, false
	}
	v := 0
	for _, c := range p[:n] {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	return v, true
}

// parseDate reads 2024-01-31 at the front; null for MySQL's dates that have a zero in them.
func parseDate(p []byte) (days int64, rest []byte, null, ok bool) {
	if len(p) < 10 || p[4] != '-' || p[7] != '-' {
		return 0, p, false, false
	}
	y, ok1 := digits(p, 4)
	m, ok2 := digits(p[5:], 2)
	d, ok3 := digits(p[8:], 2)
	if !ok1 || !ok2 || !ok3 || m > 12 || d > 31 {
		return 0, p, false, false
	}
	if m == 0 || d == 0 {
		return 0, p[10:], true, true
	}
	if d > 28 && d > daysIn(y, m) {
		return 0, p, false, false
	}
	return daysOf(y, m, d), p[10:], false, true
}

func daysIn(y, m int) int {
	switch m {
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysOf counts the days from 1970-01-01 in the Gregorian calendar, carried on before 1582.
func daysOf(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := types.FloorDiv(int64(y), 400)
	yoe := int64(y) - era*400
	doy := int64((153*(m-3)+2)/5 + d - 1)
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// parseClock reads 12:30, 12:30:00 or 12:30:00.123456789 at the front.
func parseClock(p []byte) (ms int64, nanos int32, rest []byte, ok bool) {
	if len(p) < 5 || p[2] != ':' {
		return 0, 0, p, false
	}
	h, ok1 := digits(p, 2)
	m, ok2 := digits(p[3:], 2)
	p = p[5:]
	s := 0
	ok3 := true
	var frac int64
	if len(p) > 0 && p[0] == ':' {
		if s, ok3 = digits(p[1:], 2); !ok3 {
			return 0, 0, p, false
		}
		p = p[3:]
		if len(p) > 1 && p[0] == '.' {
			n, scale := 1, int64(100_000_000)
			for ; n < len(p) && p[n]-'0' <= 9; n++ {
				frac += int64(p[n]-'0') * scale
				scale /= 10
			}
			if n == 1 {
				return 0, 0, p, false
			}
			p = p[n:]
		}
	}
	if !ok1 || !ok2 || h > 23 || m > 59 || s > 59 {
		return 0, 0, p, false
	}
	return int64(h*3600+m*60+s)*1000 + frac/1_000_000, int32(frac % 1_000_000), p, true
}

// parseInstant reads a date with or without a time of day, with or without a zone.
func parseInstant(p []byte) (i types.Instant, zoned, null, ok bool) {
	days, rest, null, ok := parseDate(p)
	if !ok || null {
		return i, false, null, ok
	}
	i.Millis = days * dayMillis
	if len(rest) == 0 {
		return i, false, false, true
	}
	if string(rest) == "Z" { // a date of io.debezium.time.IsoDate
		return i, true, false, true
	}
	if rest[0] != ' ' && rest[0] != 'T' {
		return i, false, false, false
	}
	ms, nanos, rest, ok := parseClock(rest[1:])
	if !ok {
		return i, false, false, false
	}
	i.Millis += ms
	i.Nanos = nanos
	if len(rest) == 0 {
		return i, false, false, true
	}
	offset, ok := parseZone(rest)
	i.Millis -= offset
	return i, true, false, ok
}

// parseZone reads Z, +01, +0100 or +01:00 and gives its milliseconds.
func parseZone(p []byte) (int64, bool) {
	if p[0] == ' ' {
		p = p[1:]
	}
	if len(p) == 1 && (p[0] == 'Z' || p[0] == 'z') {
		return 0, true
	}
	if len(p) < 3 || (p[0] != '+' && p[0] != '-') {
		return 0, false
	}
	h, ok := digits(p[1:], 2)
	m := 0
	if rest := p[3:]; ok && len(rest) > 0 {
		if rest[0] == ':' {
			rest = rest[1:]
		}
		m, ok = digits(rest, 2)
		ok = ok && len(rest) == 2
	}
	if !ok || h > 18 || m > 59 {
		return 0, false
	}
	ms := int64(h*60+m) * 60_000
	if p[0] == '-' {
		ms = -ms
	}
	return ms, true
}

// dateOf reads a date; of a point in time its day in UTC.
func dateOf(raw []byte, from *Column, t types.Type) (days int64, null bool, err error) {
	p := plainText(raw, from)
	switch from.Encoding {
	case Millis, Micros, Nanos:
		if i, ok := instantNumber(p, from.Encoding); ok {
			days, ok = types.FloorDiv(i.Millis, dayMillis), true
			if days >= -1<<31 && days < 1<<31 {
				return days, false, nil
			}
			return 0, false, wrong(raw, from, t, "")
		}
	default:
		if n, ok := parseInt(p); ok && n >= -1<<31 && n < 1<<31 {
			return n, false, nil
		}
	}
	i, _, null, ok := parseInstant(p)
	if !ok {
		return 0, false, wrong(raw, from, t, "a date is written 2024-01-31")
	}
	return types.FloorDiv(i.Millis, dayMillis), null, nil
}

// timeOf reads a time of day in milliseconds. A number without a told encoding is milliseconds for a
// TIME of at most three digits, else microseconds, as Debezium writes it.
func timeOf(raw []byte, from *Column, t types.Type) (int64, error) {
	p := plainText(raw, from)
	if n, ok := parseInt(p); ok {
		e := from.Encoding
		if e == JSON || e == Text {
			e = TimeMillis
			if t.Precision > 3 {
				e = TimeMicros
			}
		}
		switch e {
		case TimeMicros:
			n = types.FloorDiv(n, 1000)
		case TimeNanos:
			n = types.FloorDiv(n, 1_000_000)
		default:
		}
		if n >= 0 && n < dayMillis {
			return n, nil
		}
		return 0, wrong(raw, from, t, "it is no time of a day; STRING holds it")
	}
	ms, _, rest, ok := parseClock(p)
	if !ok || len(rest) > 0 && string(rest) != "Z" { // as io.debezium.time.IsoTime has it
		return 0, wrong(raw, from, t, "a time is written 12:30:00.123 and lies within a day; STRING holds others")
	}
	return ms, nil
}

// appendDate writes 2024-01-31.
func appendDate(b []byte, days int64) []byte {
	return time.Unix(days*86400, 0).UTC().AppendFormat(b, "2006-01-02")
}

// appendInstant writes 2024-01-31 12:30:00.123 with a number of digits.
func appendInstant(b []byte, i types.Instant, precision int) []byte {
	const layout = "2006-01-02 15:04:05.000000000"
	t := time.Unix(types.FloorDiv(i.Millis, 1000), (i.Millis-types.FloorDiv(i.Millis, 1000)*1000)*1_000_000+int64(i.Nanos)).UTC()
	return t.AppendFormat(b, layout[:len(layout)-9+precision])
}

// appendTime writes 12:30:00 with the digits that are not zero; hours may be over a day, or negative.
func appendTime(b []byte, n int64, e Encoding) []byte {
	unit := map[Encoding]int64{TimeMillis: 1000, TimeMicros: 1_000_000, TimeNanos: 1_000_000_000}[e]
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	s := n / unit
	two := func(v int64) {
		if v < 10 {
			b = append(b, '0')
		}
		b = strconv.AppendInt(b, v, 10)
	}
	two(s / 3600)
	b = append(b, ':')
	two(s / 60 % 60)
	b = append(b, ':')
	two(s % 60)
	if frac := n % unit; frac > 0 {
		f := strconv.FormatInt(unit+frac, 10)[1:]
		for f[len(f)-1] == '0' {
			f = f[:len(f)-1]
		}
		b = append(b, '.')
		b = append(b, f...)
	}
	return b
}
