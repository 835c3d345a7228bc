package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/types"
)

// exactly refuses a cell that a cast would read as another value than is written there: digits that are cut off, days
// that no month has, numbers beyond the type. JSON has the same rules.
func exactly(t types.Type, cell string, v types.Datum) error {
	cell = strings.TrimSpace(cell)
	_, frac, _ := strings.Cut(cell, ".")
	frac = strings.TrimRight(strings.TrimRight(frac, "Z"), "0")
	onlyDigits := strings.Trim(cell, "0123456789") == ""
	switch t.Kind {
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		if frac != "" {
			return fmt.Errorf("%q is no integer", cell)
		}
	case types.Float, types.Double:
		x, ok := v.(float64)
		if f, single := v.(float32); single {
			x, ok = float64(f), true
		}
		if ok && math.IsInf(x, 0) && !strings.Contains(strings.ToLower(cell), "inf") {
			return fmt.Errorf("%s does not fit into %s", cell, t)
		}
	case types.Decimal:
		if !strings.ContainsAny(cell, "eE") && len(frac) > t.Scale {
			return fmt.Errorf("%s has more than %d digits after the point, the scale of %s", cell, t.Scale, t)
		}
	case types.Date:
		if onlyDigits {
			return fmt.Errorf("%q is no date; want 2024-02-29", cell)
		}
	case types.Time:
		if onlyDigits || !clock(cell) {
			return fmt.Errorf("%q is no time; want 12:34:56.789", cell)
		}
		if len(frac) > 3 {
			return fmt.Errorf("%q is more exact than milliseconds, which is what TIME keeps", cell)
		}
	case types.Timestamp, types.TimestampLTZ:
		if onlyDigits { // a cast counts from 1970, by the precision of the type
			return fmt.Errorf("%q is no timestamp; want 2024-02-29T12:34:56.789", cell)
		}
		if at, ok := v.(types.Instant); ok && !sameDay(cell, at) {
			return fmt.Errorf("%q: there is no such day", cell)
		}
		if len(frac) > t.Precision {
			return fmt.Errorf("%q is more exact than %s", cell, t)
		}
	}
	return nil
}

// clock looks at the minutes and seconds of a time.
func clock(s string) bool {
	s, _, _ = strings.Cut(s, ".")
	for i, p := range strings.Split(s, ":") {
		if n, err := strconv.Atoi(p); i > 0 && (err != nil || n > 59) {
			return false
		}
	}
	return true
}

// sameDay tells whether a point in time is of the day of the month that its text starts with.
func sameDay(s string, at types.Instant) bool {
	date, _, _ := strings.Cut(strings.Replace(s, "T", " ", 1), " ")
	day, err := strconv.Atoi(date[strings.LastIndexByte(date, '-')+1:])
	return err != nil || time.UnixMilli(at.Millis).UTC().Day() == day
}
