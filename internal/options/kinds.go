package options

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of options, by their values.

func integer(key string, deflt int, doc string) *Option[int] {
	return declare(key, "number", strconv.Itoa(deflt), deflt, doc, func(s string) (int, error) {
		v, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%q is no number of 32 bits", s)
		}
		return int(v), nil
	})
}

// unlimited is the default of limits.
const unlimited = math.MaxInt64

func long(key string, deflt int64, doc string) *Option[int64] {
	text := strconv.FormatInt(deflt, 10)
	if deflt == unlimited {
		text = "none"
	}
	return declare(key, "number", text, deflt, doc, func(s string) (int64, error) {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no number", s)
		}
		return v, nil
	})
}

func boolean(key string, deflt bool, doc string) *Option[bool] {
	return declare(key, "true, false", strconv.FormatBool(deflt), deflt, doc, func(s string) (bool, error) {
		switch strings.ToLower(s) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, fmt.Errorf("%q is neither true nor false", s)
	})
}

func str(key, deflt, doc string) *Option[string] {
	text := "`" + deflt + "`"
	if deflt == "" {
		text = "none"
	}
	return declare(key, "text", text, deflt, doc, func(s string) (string, error) { return s, nil })
}

func list(key, doc string) *Option[[]string] {
	return declare(key, "names, with commas between", "none", nil, doc, func(s string) ([]string, error) {
		return Names(s), nil
	})
}

func enum(key, deflt, doc string, known ...string) *Option[string] {
	return declare(key, strings.Join(known, ", "), "`"+deflt+"`", deflt, doc, func(s string) (string, error) {
		if v := strings.ToLower(s); slices.Contains(known, v) {
			return v, nil
		}
		return "", fmt.Errorf("%q is not known; there are %s", s, strings.Join(known, ", "))
	})
}

func size(key, deflt, doc string) *Option[int64] {
	text := "`" + deflt + "`"
	v := int64(unlimited)
	if deflt == "" {
		text = "none"
	} else {
		v, _ = ParseSize(deflt)
	}
	return declare(key, "size", text, v, doc, ParseSize)
}

func duration(key, deflt, doc string) *Option[time.Duration] {
	text := "`" + deflt + "`"
	v := time.Duration(0)
	if deflt == "" {
		text = "none"
	} else {
		v, _ = ParseDuration(deflt)
	}
	return declare(key, "duration", text, v, doc, ParseDuration)
}

// within declares the least and largest value of a number.
func within[T int | int64 | float64](o *Option[T], least, most T) *Option[T] {
	parse := o.parse
	o.parse = func(s string) (T, error) {
		v, err := parse(s)
		if err == nil && (v < least || v > most) {
			return v, fmt.Errorf("%v is not within %v and %v", v, least, most)
		}
		return v, err
	}
	return o
}

// atLeast declares the least value of a number.
func atLeast[T int | int64](o *Option[T], least T) *Option[T] {
	parse := o.parse
	o.parse = func(s string) (T, error) {
		v, err := parse(s)
		if err == nil && v < least {
			return v, fmt.Errorf("%v is less than %v", v, least)
		}
		return v, err
	}
	return o
}

// bucketNumber is an option of a number of buckets: 0 is none that rows could go to.
func bucketNumber(key, doc string) *Option[int] {
	o := integer(key, -1, doc)
	parse := o.parse
	o.parse = func(s string) (int, error) {
		n, err := parse(s)
		if err == nil && (n < -2 || n == 0) {
			return n, fmt.Errorf("%d is no number of buckets; take 1 or more, -1 or -2", n)
		}
		return n, err
	}
	return o
}
