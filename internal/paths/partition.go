package paths

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

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
	case int64:
		if plain {
			s = types.FormatDatum(t, v)
		} else {
			s = strconv.FormatInt(x, 10)
		}
	case types.Instant:
		if plain {
			s = types.FormatDatum(t, v)
		} else {
			s = legacyTimestamp(x)
		}
	default:
		// Of bytes the reference prints, with legacy names, the identity of a Java array, which nobody
		// can find again: they are text here, too.
		s = strings.ToValidUTF8(types.FormatDatum(t, v), "\uFFFD")
	}
	if isBlank(s) {
		return blank
	}
	return s
}

// legacyTimestamp is the ISO form that leaves out what is zero at the end: seconds, then groups of
// three digits of the second.
func legacyTimestamp(x types.Instant) string {
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
