package options

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// split takes a number with a unit apart.
func split(s string) (int64, string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("%q does not start with a number", s)
	}
	return n, strings.TrimSpace(s[i:]), nil
}

// The units are those of the reference and no more: a table whose options only we can read would be
// closed to others.

// ParseSize reads a number of bytes with its unit, as the format's tools do: 128 mb, 1gb, 64kb, 1024.
func ParseSize(s string) (int64, error) {
	n, unit, err := split(s)
	if err != nil {
		return 0, err
	}
	shift := map[string]uint{
		"": 0, "b": 0, "bytes": 0, "k": 10, "kb": 10, "kibibytes": 10, "m": 20, "mb": 20, "mebibytes": 20,
		"g": 30, "gb": 30, "gibibytes": 30, "t": 40, "tb": 40, "tebibytes": 40,
	}
	by, ok := shift[unit]
	if !ok {
		return 0, fmt.Errorf("%q: unknown unit %q; there are b, kb, mb, gb, tb", s, unit)
	}
	if n > math.MaxInt64>>by {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return n << by, nil
}

// ParseDuration reads a length of time with its unit, as the format's tools do: 1 h, 10 min, 5s, 100ms; a
// bare number is milliseconds.
func ParseDuration(s string) (time.Duration, error) {
	n, unit, err := split(s)
	if err != nil {
		return 0, err
	}
	units := map[string]time.Duration{
		"": time.Millisecond, "ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
		"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
		"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute, "h": time.Hour, "hour": time.Hour, "hours": time.Hour,
		"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour, "µs": time.Microsecond, "micro": time.Microsecond,
		"micros": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
		"ns": 1, "nano": 1, "nanos": 1, "nanosecond": 1, "nanoseconds": 1,
	}
	u, ok := units[unit]
	if !ok {
		return 0, fmt.Errorf("%q: unknown unit %q; there are ms, s, min, h, d", s, unit)
	}
	if n > math.MaxInt64/int64(u) {
		return math.MaxInt64, nil
	}
	return time.Duration(n) * u, nil
}
