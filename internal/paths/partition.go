package paths

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

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
	var s string
	switch x := v.(type) {
	case nil:
		return blank
	case bool:
		s = strconv.FormatBool(x)
	case int64:
		s = integerName(t, x, plain)
	case float32, float64:
		s = types.FormatDatum(t, x)
	case decimal128.Num:
		s = x.ToString(int32(t.Scale))
	case string:
		s = x
	case []byte:
		// With legacy names the reference prints the identity of a Java array, which nobody can
		// find again.
		s = strings.ToValidUTF8(string(x), "\uFFFD")
	case types.Instant:
		if plain {
			s = plainTimestamp(x, t.Precision)
		} else {
			s = legacyTimestamp(x)
		}
	}
	if isBlank(s) {
		return blank
	}
	return s
}

func integerName(t types.Type, x int64, plain bool) string {
	switch {
	case plain && t.Kind == types.Date:
		return types.FormatDate(x)
	case plain && t.Kind == types.Time:
		return plainTime(x, t.Precision)
	}
	return strconv.FormatInt(x, 10)
}

// plainTime has as many digits of the second as the precision, without zeros at the end but the
// first one.
func plainTime(ms int64, precision int) string {
	ms = (ms%86_400_000 + 86_400_000) % 86_400_000
	s := fmt.Sprintf("%02d:%02d:%02d", ms/3_600_000, ms/60_000%60, ms/1000%60)
	if precision == 0 {
		return s
	}
	frac := fmt.Sprintf("%03d", ms%1000)[:min(precision, 3)]
	for len(frac) > 1 && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	return s + "." + frac
}

func clock(x types.Instant) time.Time {
	return time.UnixMilli(x.Millis).UTC().Add(time.Duration(x.Nanos))
}

// plainTimestamp has at least as many digits of the second as the precision, more where the value
// has more.
func plainTimestamp(x types.Instant, precision int) string {
	d := clock(x)
	s := fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d", d.Year(), d.Month(), d.Day(), d.Hour(), d.Minute(), d.Second())
	frac := fmt.Sprintf("%09d", d.Nanosecond())
	for len(frac) > precision && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	if frac != "" {
		s += "." + frac
	}
	return s
}

// legacyTimestamp is the ISO form that leaves out what is zero at the end: seconds, then groups of
// three digits of the second.
func legacyTimestamp(x types.Instant) string {
	d := clock(x)
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
