package types

import (
	"strconv"
	"strings"
)

// ParseDate reads a date as days since 1970-01-01: 2024-02-29, 2024-2 (the first day), something
// after a blank is dropped. Nothing but digits is the number of days itself. Years outside of
// 0..9999 need a sign.
func ParseDate(s string) (int64, error) {
	if s != "" && digits(s) {
		return ParseInt(s, 32)
	}
	text := s
	if i := strings.IndexAny(text, " T"); i > 0 {
		text = text[:i]
	}
	neg := strings.HasPrefix(text, "-")
	signed := neg || strings.HasPrefix(text, "+")
	if signed {
		text = text[1:]
	}
	parts := strings.Split(text, "-")
	if len(parts) > 3 {
		return 0, textError(s, "DATE", "not of the form 2024-02-29")
	}
	ymd := [3]int64{0, 1, 1}
	for i, p := range parts {
		p = strings.TrimSpace(p)
		n, err := strconv.ParseInt(p, 10, 32)
		if p == "" || !digits(p) || err != nil {
			return 0, textError(s, "DATE", "not of the form 2024-02-29")
		}
		ymd[i] = n
	}
	if neg {
		ymd[0] = -ymd[0]
	}
	y, m, d := ymd[0], ymd[1], ymd[2]
	if (!signed && y > 9999) || m < 1 || m > 12 || d < 1 || d > int64(daysIn(y, int(m))) {
		return 0, textError(s, "DATE", "there is no such day")
	}
	days := daysOf(y, int(m), int(d))
	if int64(int32(days)) != days {
		return 0, textError(s, "DATE", "out of range")
	}
	return days, nil
}

// ParseTime reads a time as milliseconds of the day: 12:34:56.789, rounded half up to
// milliseconds, less precise (12:34) and with an offset (+hh:mm) too. Nothing but digits is the
// number of milliseconds itself.
func ParseTime(s string) (int64, error) {
	if s != "" && digits(s) {
		return inDay(s, s)
	}
	clock, zone, sign := s, "", int64(0)
	if i := strings.IndexAny(s, "+-"); i >= 0 {
		clock, zone, sign = s[:i], s[i+1:], 1
		if s[i] == '-' {
			sign = -1
		}
	}
	clock, frac, _ := strings.Cut(clock, ".")
	ms, ok := clockMillis(clock, 3)
	if !ok {
		return 0, textError(s, "TIME", "not of the form 12:34:56.789")
	}
	ms += fraction(strings.TrimSpace(frac))
	if sign != 0 {
		off, ok := clockMillis(zone, 2)
		if !ok {
			return 0, textError(s, "TIME", "not of the form 12:34:56.789")
		}
		ms += sign * off
	}
	return inDay(s, strconv.FormatInt(ms, 10))
}

func inDay(s, number string) (int64, error) {
	ms, err := strconv.ParseInt(number, 10, 64)
	if err != nil || ms < 0 || ms >= millisPerDay {
		return 0, textError(s, "TIME", "not within a day")
	}
	return ms, nil
}

// clockMillis reads h, h:m or h:m:s.
func clockMillis(s string, most int) (int64, bool) {
	parts := strings.Split(s, ":")
	if len(parts) > most {
		return 0, false
	}
	var ms int64
	unit := int64(3_600_000)
	for _, p := range parts {
		p = strings.TrimSpace(p)
		n, err := strconv.ParseInt(p, 10, 32)
		if err != nil || !digits(p) {
			return 0, false
		}
		ms += n * unit
		unit /= 60
	}
	return ms, true
}

// fraction reads the digits after the point of a second as milliseconds, rounding half up.
func fraction(s string) int64 {
	var ms int64
	for i, unit := 0, int64(100); i < len(s) && i < 3; i, unit = i+1, unit/10 {
		if s[i] >= '0' && s[i] <= '9' {
			ms += int64(s[i]-'0') * unit
		}
	}
	if len(s) > 3 && s[3] >= '5' {
		ms++
	}
	return ms
}

// ParseTimestamp reads 2024-02-29, 2024-02-29 12:34:56, 2024-02-29T12:34 (as folders of partitions are
// called) or 2024-02-29T12:34:56.123456789Z as a point in time and cuts it to a precision. A day after the month's last is the last (as in the
// reference). Nothing but digits counts seconds, milli-, micro- or nanoseconds since 1970 by the
// precision 0, 3, 6 or 9.
func ParseTimestamp(s string, precision int) (Instant, error) {
	if s != "" && digits(s) {
		return epoch(s, precision)
	}
	bad := func() (Instant, error) {
		return Instant{}, textError(s, "TIMESTAMP", "not of the form 2024-02-29 12:34:56.789")
	}
	date, clock := s, ""
	i := strings.IndexAny(s, " T")
	if i > 0 {
		date, clock = s[:i], strings.TrimSuffix(s[i+1:], "Z")
	}
	sign, rest := int64(1), date
	if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
		if rest[0] == '-' {
			sign = -1
		}
		rest = rest[1:]
	}
	parts := strings.Split(rest, "-")
	if len(parts) != 3 || len(parts[0]) < 4 || len(parts[0]) > 9 || (len(parts[0]) > 4 && rest == date) {
		return bad()
	}
	y, ok1 := small(parts[0], 9, 999_999_999)
	m, ok2 := small(parts[1], 2, 12)
	d, ok3 := small(parts[2], 2, 31)
	if !ok1 || !ok2 || !ok3 || m < 1 || d < 1 {
		return bad()
	}
	if y > 292_000_000 {
		return Instant{}, textError(s, "TIMESTAMP", "out of range")
	}
	y *= sign
	ms := daysOf(y, int(m), min(int(d), daysIn(y, int(m)))) * millisPerDay
	if i <= 0 {
		return Instant{Millis: ms}, nil
	}
	clock, frac, _ := strings.Cut(clock, ".")
	parts = strings.Split(clock, ":")
	if len(parts) == 2 && s[i] == 'T' && !strings.Contains(s, ".") {
		parts = append(parts, "0")
	}
	if len(parts) != 3 || len(frac) > 9 || !digits(frac) {
		return bad()
	}
	h, ok1 := small(parts[0], 2, 23)
	mi, ok2 := small(parts[1], 2, 59)
	sec, ok3 := small(parts[2], 2, 59)
	if !ok1 || !ok2 || !ok3 {
		return bad()
	}
	nanos, _ := strconv.ParseInt((frac + "000000000")[:9], 10, 64) // nine digits
	ms += ((h*60+mi)*60+sec)*1000 + nanos/1_000_000
	return Instant{Millis: ms, Nanos: int32(nanos % 1_000_000)}.Truncate(precision), nil
}

func small(s string, maxDigits int, most int64) (int64, bool) {
	if s == "" || len(s) > maxDigits || !digits(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n <= most
}

func epoch(s string, precision int) (Instant, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return Instant{}, textError(s, "TIMESTAMP", "out of range")
	}
	switch precision {
	case 0:
		if n > 1<<53 {
			return Instant{}, textError(s, "TIMESTAMP", "out of range")
		}
		return Instant{Millis: n * 1000}, nil
	case 3:
		return Instant{Millis: n}, nil
	case 6:
		return Instant{Millis: n / 1000, Nanos: int32(n%1000) * 1000}, nil
	case 9:
		return Instant{Millis: n / 1_000_000, Nanos: int32(n % 1_000_000)}, nil
	}
	return Instant{}, textError(s, "TIMESTAMP", "a bare number needs precision 0, 3, 6 or 9")
}
