package types

import "strconv"

// Dates are of the proleptic Gregorian calendar, as in SQL and the reference: there is no gap in
// 1582 and there is a year 0.

// civil gives year, month (1..12) and day (1..31) of days since 1970-01-01. The era arithmetic
// counts years from March, so that the leap day comes last.
func civil(days int64) (year int64, month, day int) {
	z := days + 719468
	era := FloorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy-(153*mp+2)/5) + 1
	month = int(mp) + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// daysOf is the way back of civil.
func daysOf(year int64, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := FloorDiv(year, 400)
	yoe := year - era*400
	m := int64(month) - 3
	if m < 0 {
		m += 12
	}
	doy := (153*m+2)/5 + int64(day) - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

func daysIn(year int64, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func appendPadded(b []byte, v int64, width int) []byte {
	var buf [20]byte
	s := strconv.AppendInt(buf[:0], v, 10)
	for n := len(s); n < width; n++ {
		b = append(b, '0')
	}
	return append(b, s...)
}

// AppendDate appends a date as 2024-02-29. Years outside of 0..9999 have a sign, as in ISO 8601.
func AppendDate(b []byte, days int64) []byte {
	y, m, d := civil(days)
	switch {
	case y < 0:
		b = appendPadded(append(b, '-'), -y, 4)
	case y > 9999:
		b = appendPadded(append(b, '+'), y, 4)
	default:
		b = appendPadded(b, y, 4)
	}
	b = appendPadded(append(b, '-'), int64(m), 2)
	return appendPadded(append(b, '-'), int64(d), 2)
}

// AppendTime appends milliseconds of a day as 12:34:56, and for a precision above 0 a point and its
// digits without zeros at the end, at least one.
func AppendTime(b []byte, millis int64, precision int) []byte {
	millis -= FloorDiv(millis, millisPerDay) * millisPerDay
	b = appendClock(b, millis/1000)
	if precision <= 0 {
		return b
	}
	b = append(b, '.')
	ms := millis % 1000
	for ; precision > 0; precision-- {
		b = append(b, byte('0'+ms/100))
		if ms = ms % 100 * 10; ms == 0 {
			break
		}
	}
	return b
}

// AppendTimestamp appends a point in time as 2024-02-29 12:34:56.789: as many digits of the
// fraction as the precision says, and more where they are not zero.
func AppendTimestamp(b []byte, i Instant, precision int) []byte {
	days := FloorDiv(i.Millis, millisPerDay)
	ms := i.Millis - days*millisPerDay
	b = appendClock(append(AppendDate(b, days), ' '), ms/1000)
	nanos := ms%1000*1_000_000 + int64(i.Nanos)
	digits := 9
	for digits > precision && nanos%10 == 0 {
		nanos /= 10
		digits--
	}
	if digits > 0 {
		b = appendPadded(append(b, '.'), nanos, digits)
	}
	return b
}

const millisPerDay = 86_400_000

func appendClock(b []byte, seconds int64) []byte {
	b = appendPadded(b, seconds/3600, 2)
	b = appendPadded(append(b, ':'), seconds/60%60, 2)
	return appendPadded(append(b, ':'), seconds%60, 2)
}
