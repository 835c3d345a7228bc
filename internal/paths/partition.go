package paths

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tarnlake/tarn/types"
)

// DefaultPartition is the default of `partition.default-name`.
const DefaultPartition = "__DEFAULT_PARTITION__"

// Column is a column and its value in a partition's path.
type Column struct{ Name, Value string }

// SplitPartition reads a partition's path, or the end of a longer one: the parts of the form
// column=value, unescaped. Other parts are left out.
func SplitPartition(path string) []Column {
	var out []Column
	for part := range strings.SplitSeq(path, "/") {
		k, v, ok := strings.Cut(part, "=")
		if ok && k != "" && v != "" {
			out = append(out, Column{Unescape(k), Unescape(v)})
		}
	}
	return out
}

// partitionName follows the reference: with legacy names a value is printed as its internal form is (a
// DATE is a number of days), else as it is cast to STRING. TIMESTAMP_LTZ is printed in UTC in both.
func partitionName(t types.Type, v types.Datum, plain bool, blank string) string {
	if v == nil {
		return blank
	}
	var s string
	switch x := v.(type) {
	case []byte:
		// With legacy names the reference prints the identity of a Java array, which nobody can find
		// again: bytes are text here, too.
		s = javaText(x)
	case string:
		s = javaText([]byte(x))
	default:
		if plain {
			s = types.FormatDatum(t, v)
		} else {
			s = InternalText(t, v)
		}
	}
	if isBlank(s) {
		return blank
	}
	return s
}

// InternalText is the text of a value's internal form in the reference, where it shows that: a DATE is a
// number of days, a TIME one of milliseconds, a TIMESTAMP has the ISO form without zeros at its end. Bytes, of
// which the reference shows the identity of an array, are hexadecimal digits.
func InternalText(t types.Type, v types.Datum) string {
	switch x := v.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case types.Instant:
		return isoTimestamp(x)
	}
	return types.FormatDatum(t, v)
}

// javaText reads bytes as UTF-8. What is none becomes U+FFFD, as often as Java's decoder writes it: once
// for the longest piece that begins a character.
func javaText(v []byte) string {
	if utf8.Valid(v) {
		return string(v)
	}
	var b strings.Builder
	for len(v) > 0 {
		r, n := utf8.DecodeRune(v)
		if r == utf8.RuneError && n == 1 {
			n = brokenLength(v)
		}
		b.WriteRune(r)
		v = v[n:]
	}
	return b.String()
}

// brokenLength is the length of the piece at the beginning of v that is no character.
func brokenLength(v []byte) int {
	first, need := v[0], 0
	switch {
	case first >= 0xe0 && first <= 0xef:
		need = 3 // all three for half a pair of UTF-16
	case first >= 0xf0 && first <= 0xf4:
		need = 4
	default:
		return 1
	}
	low, high := byte(0x80), byte(0xbf)
	switch first {
	case 0xe0:
		low = 0xa0
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	n := 1
	for n < min(need, len(v)) && v[n] >= low && v[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}

// isoTimestamp is the ISO form that leaves out what is zero at the end: seconds, then groups of
// three digits of the second.
func isoTimestamp(x types.Instant) string {
	d := time.UnixMilli(x.Millis).UTC().Add(time.Duration(x.Nanos))
	var b strings.Builder
	switch y := d.Year(); {
	case y > 9999:
		fmt.Fprintf(&b, "+%d", y)
	case y < 0:
		fmt.Fprintf(&b, "-%04d", -y)
	default:
		fmt.Fprintf(&b, "%04d", y)
	}
	fmt.Fprintf(&b, "-%02d-%02dT%02d:%02d", d.Month(), d.Day(), d.Hour(), d.Minute())
	n := d.Nanosecond()
	if d.Second() == 0 && n == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, ":%02d", d.Second())
	switch {
	case n == 0:
	case n%1_000_000 == 0:
		fmt.Fprintf(&b, ".%03d", n/1_000_000)
	case n%1000 == 0:
		fmt.Fprintf(&b, ".%06d", n/1000)
	default:
		fmt.Fprintf(&b, ".%09d", n)
	}
	return b.String()
}

// isBlank reports whether a value is empty or white space by Java's Character.isWhitespace.
func isBlank(s string) bool {
	for _, r := range s {
		switch {
		case r >= '\t' && r <= '\r', r >= 0x1c && r <= ' ':
		case r == 0xa0 || r == 0x2007 || r == 0x202f: // spaces that do not break
			return false
		case unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp):
		default:
			return false
		}
	}
	return true
}
