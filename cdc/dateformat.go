package cdc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// dateFormat is a pattern of date_format, in the letters of Java's DateTimeFormatter.
type dateFormat struct {
	parts []func([]byte, time.Time) []byte
}

// dateFields are the letters: the number that each stands for. Names of months, weekdays and halves of the day are
// made by words.
var dateFields = map[rune]func(time.Time) int{
	'y': time.Time.Year, 'u': time.Time.Year,
	'Y': func(t time.Time) int { y, _ := t.ISOWeek(); return y },
	'w': func(t time.Time) int { _, w := t.ISOWeek(); return w },
	'M': month, 'L': month, 'd': time.Time.Day, 'D': time.Time.YearDay,
	'Q': quarter, 'q': quarter,
	'H': time.Time.Hour, 'k': func(t time.Time) int { return (t.Hour()+23)%24 + 1 },
	'h': func(t time.Time) int { return (t.Hour()+11)%12 + 1 }, 'K': func(t time.Time) int { return t.Hour() % 12 },
	'm': time.Time.Minute, 's': time.Time.Second, 'n': time.Time.Nanosecond,
	'A': func(t time.Time) int { return int(t.Sub(t.Truncate(24 * time.Hour)).Milliseconds()) },
}

func month(t time.Time) int   { return int(t.Month()) }
func quarter(t time.Time) int { return (int(t.Month()) + 2) / 3 }

// parseDateFormat reads a pattern.
func parseDateFormat(pattern string) (*dateFormat, error) {
	f := &dateFormat{}
	literal := func(s string) {
		f.parts = append(f.parts, func(b []byte, _ time.Time) []byte { return append(b, s...) })
	}
	r := []rune(pattern)
	for i := 0; i < len(r); {
		c := r[i]
		switch {
		case c == '\'':
			end := i + 1
			var text strings.Builder
			for ; end < len(r); end++ {
				if r[end] != '\'' {
					text.WriteRune(r[end])
				} else if end+1 < len(r) && r[end+1] == '\'' && end > i+1 {
					text.WriteRune('\'')
					end++
				} else {
					break
				}
			}
			if end == len(r) {
				return nil, fmt.Errorf("date pattern %q: a quote is not closed", pattern)
			}
			if end == i+1 {
				text.WriteRune('\'')
			}
			literal(text.String())
			i = end + 1
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := 1
			for i+n < len(r) && r[i+n] == c {
				n++
			}
			part, ok := datePart(c, n)
			if !ok {
				return nil, fmt.Errorf("date pattern %q: %s is not known; there are y u Y M L d D E a Q w H h K k m s S n, texts stand in quotes", pattern, string(r[i:i+n]))
			}
			f.parts = append(f.parts, part)
			i += n
		case strings.ContainsRune("[]{}#", c):
			return nil, fmt.Errorf("date pattern %q: %c means something else in patterns; put it in quotes", pattern, c)
		default:
			literal(string(c))
			i++
		}
	}
	return f, nil
}

// datePart is what n times a letter stands for.
func datePart(c rune, n int) (func([]byte, time.Time) []byte, bool) {
	words := func(layout string) (func([]byte, time.Time) []byte, bool) {
		return func(b []byte, t time.Time) []byte { return t.AppendFormat(b, layout) }, true
	}
	switch {
	case c == 'a' && n == 1:
		return words("PM")
	case c == 'E' && n <= 3:
		return words("Mon")
	case c == 'E' && n == 4:
		return words("Monday")
	case (c == 'M' || c == 'L') && n == 3:
		return words("Jan")
	case (c == 'M' || c == 'L') && n == 4:
		return words("January")
	case c == 'S' && n <= 9: // the fraction of a second
		return func(b []byte, t time.Time) []byte {
			return append(b, strconv.Itoa(1_000_000_000 + t.Nanosecond())[1:1+n]...)
		}, true
	}
	field, ok := dateFields[c]
	most := map[rune]int{'y': 9, 'u': 9, 'Y': 9, 'D': 3, 'n': 9, 'A': 9}[c]
	if !ok || n > max(most, 2) {
		return nil, false
	}
	return func(b []byte, t time.Time) []byte {
		v := field(t)
		if n == 2 && (c == 'y' || c == 'u' || c == 'Y') {
			v = (v%100 + 100) % 100
		}
		s := strconv.Itoa(max(v, -v))
		if v < 0 {
			b = append(b, '-')
		}
		for range n - len(s) {
			b = append(b, '0')
		}
		return append(b, s...)
	}, true
}

// text writes a time by the pattern.
func (f *dateFormat) text(t time.Time) string {
	var b []byte
	for _, p := range f.parts {
		b = p(b, t)
	}
	return string(b)
}
