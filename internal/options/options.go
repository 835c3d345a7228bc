// Package options declares the table options that this library knows: key, type, default and meaning
// in one place, from which parsing, validation and the documentation come. Options that are not
// declared are kept in tables and ignored: other engines know them.
package options

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
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
	for k, v := range more {
		// A dynamic option counts whichever of its names the table has it under.
		all[current(k)] = v
	}
	for k, v := range o.values {
		if _, ok := all[k]; !ok {
			all[k] = v
		}
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
	fresh               func(opts Options, text string) error // see fresh
}

// declared are all options, for validation and documentation.
var declared = map[string]func(Options) (info, error){}

// older leads from the keys of earlier releases to those of today. It is made by the first alias:
// declarations run before an initializer here would.
var older map[string]string

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

// given is the key that the table's value stands under: the option's own or an older one.
func (o *Option[T]) given(opts Options) string {
	if _, ok := opts.values[o.key]; !ok {
		for _, a := range o.aliases {
			if _, ok := opts.values[a]; ok {
				return a
			}
		}
	}
	return o.key
}

// Parse gives the value of the option, or its default. The error names key, value and what is known.
func (o *Option[T]) Parse(opts Options) (T, error) {
	s, ok := o.text(opts)
	if !ok {
		return o.fallback(opts), nil
	}
	v, err := o.parse(strings.TrimSpace(s))
	if err != nil {
		return v, fmt.Errorf("option %s: %w", o.given(opts), err)
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
	if older == nil {
		older = map[string]string{}
	}
	for _, k := range keys {
		older[k] = o.key
	}
	return o
}

// fixed declares that the option cannot change once there are files.
func (o *Option[T]) fixed() *Option[T] {
	o.immutable = true
	return o
}

// fresh declares what a value has to be where it is set, and where files are written by it, beyond its type. Tables
// that others gave another value are read all the same.
func (o *Option[T]) fresh(check func(opts Options, text string) error) *Option[T] {
	o.info.fresh = check
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
	for _, k := range slices.Sorted(maps.Keys(opts.values)) {
		if err := validate(opts, k); err != nil {
			return err
		}
	}
	return nil
}

func validate(opts Options, key string) error {
	if d := declared[current(key)]; d != nil {
		_, err := d(opts)
		return err
	}
	return validateColumnOption(key, opts.values[key])
}

// ValidateFresh checks a value as Validate does, and whether it may be set and files be written by it.
func ValidateFresh(opts Options, key string) error {
	value := opts.values[key]
	if err := validate(opts, key); err != nil {
		return err
	}
	if !utf8.ValidString(key) || !utf8.ValidString(value) {
		return fmt.Errorf("option %q: %q is not UTF-8", key, value)
	}
	if d := declared[current(key)]; d != nil {
		if i, _ := d(opts); i.fresh != nil {
			if err := i.fresh(opts, strings.TrimSpace(value)); err != nil {
				return fmt.Errorf("option %s: %w", key, err)
			}
		}
	}
	return nil
}

// current is the key of today for one of earlier releases.
func current(key string) string {
	if now, ok := older[key]; ok {
		return now
	}
	return key
}

// Immutable reports whether an option cannot change once a table has files.
func Immutable(key string) bool {
	key = current(key)
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
