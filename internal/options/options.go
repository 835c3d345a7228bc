// Package options declares the table options that this library knows: key, type, default and meaning
// in one place, from which parsing, validation and the documentation come. Options that are not
// declared are kept in tables and ignored: other engines know them.
package options

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are the options of a table, with the version of its schema, on which some defaults depend.
type Options struct {
	values  map[string]string
	version int
}

// Of makes Options of a table's map and the version of its schema file. The map must not change
// afterwards.
func Of(values map[string]string, schemaVersion int) Options { return Options{values, schemaVersion} }

// With gives Options where some values are replaced, as the dynamic options of a read or write.
func (o Options) With(more map[string]string) Options {
	if len(more) == 0 {
		return o
	}
	all := make(map[string]string, len(o.values)+len(more))
	for k, v := range o.values {
		all[k] = v
	}
	for k, v := range more {
		all[k] = v
	}
	return Options{all, o.version}
}

// Text gives the text of an option, whether declared or not.
func (o Options) Text(key string) (string, bool) {
	v, ok := o.values[key]
	return v, ok
}

// Prefix gives all options whose keys start with a prefix, without it.
func (o Options) Prefix(prefix string) map[string]string {
	out := map[string]string{}
	for k, v := range o.values {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			out[rest] = v
		}
	}
	return out
}

// Option is a declared option with values of type T.
type Option[T any] struct {
	info
	parse func(string) (T, error)
	deflt T
	// old are defaults of older schema versions: that of the first entry whose version is not below the
	// table's counts.
	old []oldDefault[T]
}

type oldDefault[T any] struct {
	version int
	value   T
}

// info is what the documentation says.
type info struct {
	key, typ, text, doc string
	aliases             []string
	immutable           bool
}

// declared are all options, for validation and documentation.
var declared = map[string]func(Options) (info, error){}

// Key is the name of the option.
func (o *Option[T]) Key() string { return o.key }

// Set reports whether a table has the option.
func (o *Option[T]) Set(opts Options) bool {
	_, ok := o.text(opts)
	return ok
}

func (o *Option[T]) text(opts Options) (string, bool) {
	if v, ok := opts.values[o.key]; ok {
		return v, true
	}
	for _, a := range o.aliases {
		if v, ok := opts.values[a]; ok {
			return v, true
		}
	}
	return "", false
}

// Parse gives the value of the option, or its default. The error names key, value and what is known.
func (o *Option[T]) Parse(opts Options) (T, error) {
	s, ok := o.text(opts)
	if !ok {
		return o.fallback(opts), nil
	}
	v, err := o.parse(strings.TrimSpace(s))
	if err != nil {
		return v, fmt.Errorf("option %s: %w", o.key, err)
	}
	return v, nil
}

// Get is Parse for options that were validated: a value that cannot be read gives the default.
func (o *Option[T]) Get(opts Options) T {
	v, err := o.Parse(opts)
	if err != nil {
		return o.fallback(opts)
	}
	return v
}

func (o *Option[T]) fallback(opts Options) T {
	for _, d := range o.old {
		if opts.version != 0 && opts.version <= d.version {
			return d.value
		}
	}
	return o.deflt
}

// upTo declares the default of tables whose schema file has this version or an older one.
func (o *Option[T]) upTo(version int, value T) *Option[T] {
	o.old = append(o.old, oldDefault[T]{version, value})
	return o
}

// alias declares an older key of the option.
func (o *Option[T]) alias(keys ...string) *Option[T] {
	o.aliases = append(o.aliases, keys...)
	return o
}

// fixed declares that the option cannot change once there are files.
func (o *Option[T]) fixed() *Option[T] {
	o.immutable = true
	return o
}

func declare[T any](key, typ, text string, deflt T, doc string, parse func(string) (T, error)) *Option[T] {
	o := &Option[T]{info: info{key: key, typ: typ, text: text, doc: doc}, parse: parse, deflt: deflt}
	declared[key] = func(opts Options) (info, error) {
		_, err := o.Parse(opts)
		return o.info, err
	}
	return o
}

// Validate checks the values of all declared options.
func Validate(opts Options) error {
	keys := make([]string, 0, len(opts.values))
	for k := range opts.values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if d := declared[k]; d != nil {
			if _, err := d(opts); err != nil {
				return err
			}
		}
	}
	return nil
}

// Immutable reports whether an option cannot change once a table has files.
func Immutable(key string) bool {
	d := declared[key]
	if d == nil {
		return slices.Contains(immutableElsewhere, key)
	}
	i, _ := d(Options{})
	return i.immutable
}

// immutableElsewhere are options of other engines that the reference does not let change.
var immutableElsewhere = []string{
	"primary-key", "partition", "data-evolution.enabled", "blob-descriptor-field", "blob-external-storage-path",
	"blob-external-storage-field", "pk-clustering-override",
}

// Docs is the page of all options, in Markdown.
func Docs() string {
	keys := make([]string, 0, len(declared))
	for k := range declared {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	b.WriteString("# Table options\n\nGenerated from their declarations (`internal/options`). Names and defaults are those of the format. Options\nthat are not listed are kept in tables and have no effect here.\n\n| option | type | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, k := range keys {
		i, _ := declared[k](Options{})
		doc := i.doc
		if i.immutable {
			doc += " Cannot be changed once there are files."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k, i.typ, i.text, doc)
	}
	return b.String()
}

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
		var out []string
		for _, n := range strings.Split(s, ",") {
			if n = strings.TrimSpace(n); n != "" {
				out = append(out, n)
			}
		}
		return out, nil
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

// ParseSize reads a number of bytes with its unit, as the format's tools do: 128 mb, 1gb, 64kb, 1024.
func ParseSize(s string) (int64, error) {
	n, unit, err := split(s)
	if err != nil {
		return 0, err
	}
	shift := map[string]uint{
		"": 0, "b": 0, "byte": 0, "bytes": 0, "k": 10, "kb": 10, "kibibyte": 10, "kibibytes": 10, "m": 20, "mb": 20, "mebibyte": 20, "mebibytes": 20,
		"g": 30, "gb": 30, "gibibyte": 30, "gibibytes": 30, "t": 40, "tb": 40, "tebibyte": 40, "tebibytes": 40,
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
		"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour, "us": time.Microsecond, "µs": time.Microsecond, "micro": time.Microsecond,
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
