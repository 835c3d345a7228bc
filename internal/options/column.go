package options

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const fieldsPrefix = "fields."

// ColumnOption is an option that each column can have: fields.<column>.<suffix>.
type ColumnOption struct {
	suffix, typ, text, doc string
	check                  func(string) error
}

// columnOptions are all of them, in the order of their declaration.
var columnOptions []*ColumnOption

func perColumn(suffix, typ, text, doc string, check func(string) error) *ColumnOption {
	o := &ColumnOption{suffix, typ, text, doc, check}
	columnOptions = append(columnOptions, o)
	return o
}

// Of gives the text of the option for a column, trimmed.
func (o *ColumnOption) Of(opts Options, column string) (string, bool) {
	v, ok := opts.values[o.Key(column)]
	return strings.TrimSpace(v), ok
}

// Key is the option's key for a column.
func (o *ColumnOption) Key(column string) string { return fieldsPrefix + column + "." + o.suffix }

// Columns lists the columns that have the option (for SequenceGroup: lists of columns), ordered.
func (o *ColumnOption) Columns(opts Options) []string {
	var out []string
	for k := range opts.values {
		rest, ok := strings.CutPrefix(k, fieldsPrefix)
		if !ok {
			continue
		}
		if c, ok := strings.CutSuffix(rest, "."+o.suffix); ok && c != "" {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}

func checkBool(s string) error {
	if v := strings.ToLower(s); v != "true" && v != "false" {
		return fmt.Errorf("%q is neither true nor false", s)
	}
	return nil
}

func checkPositive(s string) error {
	if n, err := strconv.ParseInt(s, 10, 32); err != nil || n < 1 {
		return fmt.Errorf("%q is no number above 0", s)
	}
	return nil
}

func checkNames(s string) error {
	if len(Names(s)) == 0 {
		return fmt.Errorf("%q names no column", s)
	}
	return nil
}

func checkNullKeys(s string) error {
	switch strings.ToLower(s) {
	case "merge", "ignore", "error":
		return nil
	}
	return errors.New("there are merge, ignore, error")
}

func anyText(string) error { return nil }

// The options of columns.
var (
	Aggregate      = perColumn("aggregate-function", "text", "none", "Aggregate function of the column: merge-engine aggregation, and columns of sequence groups.", anyText)
	IgnoreRetract  = perColumn("ignore-retract", "true, false", "false", "-U and -D have no effect on the column's aggregate.", checkBool)
	Distinct       = perColumn("distinct", "true, false", "false", "collect and listagg keep each value once.", checkBool)
	ListDelimiter  = perColumn("list-agg-delimiter", "text", "`,`", "What listagg puts between values.", anyText)
	NestedKey      = perColumn("nested-key", "names, with commas between", "none", "Key of the rows of nested_update and nested_partial_update.", checkNames)
	NestedNullKeys = perColumn("nested-key-null-strategy", "merge, ignore, error", "merge", "Rows of nested_update and nested_partial_update whose key is NULL, or a part of it: they are rows as others, are left out, or are an error.", checkNullKeys)
	NestedSequence = perColumn("nested-sequence-field", "names, with commas between", "none", "Order of the versions of rows of nested_update.", checkNames)
	CountLimit     = perColumn("count-limit", "number", "none", "Most rows of nested_update.", checkPositive)
	KeyTimeField   = perColumn("ts-field", "text", "none", "Field of the value that holds the time of an entry of merge_map_with_keytime.", anyText)
	SequenceGroup  = perColumn("sequence-group", "names, with commas between", "none", "merge-engine partial-update: the columns that are updated together when this column (or these, with commas between) grows.", checkNames)
	ColumnStats    = perColumn("stats-mode", "none, counts, truncate(n), full", "metadata.stats-mode", "Statistics of the column in manifests.", func(s string) error { return statsMode(Options{}, s) })
)

// Stats gives the option fields.<column>.stats-mode.
func Stats(o Options, column string) (string, bool) { return ColumnStats.Of(o, column) }

// Group is a sequence group: columns that are updated together when their sequence grows.
type Group struct{ Sequence, Columns []string }

// SequenceGroups gives the groups fields.<sequence[,sequence…]>.sequence-group, ordered by key.
func SequenceGroups(o Options) []Group {
	var out []Group
	for _, k := range SequenceGroup.Columns(o) {
		v, _ := SequenceGroup.Of(o, k)
		out = append(out, Group{Names(k), Names(v)})
	}
	return out
}

// Names takes a list of column names apart: a, b. Blanks around names are not part of them.
func Names(s string) []string {
	var out []string
	for n := range strings.SplitSeq(s, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

func validateColumnOption(key, value string) error {
	if !strings.HasPrefix(key, fieldsPrefix) {
		return nil
	}
	for _, o := range columnOptions {
		if strings.HasSuffix(key, "."+o.suffix) {
			if err := o.check(strings.TrimSpace(value)); err != nil {
				return fmt.Errorf("option %s: %w", key, err)
			}
			return nil
		}
	}
	return nil
}

// PerLevel reads an option with values of levels, such as 0:avro,5:parquet.
func PerLevel(o *Option[string], opts Options) (map[int]string, error) {
	s, err := o.Parse(opts)
	if err != nil || s == "" {
		return nil, err
	}
	m, err := levels(s)
	if err != nil {
		return nil, fmt.Errorf("option %s: %w", o.key, err)
	}
	return m, nil
}

func levels(s string) (map[int]string, error) {
	if s == "" {
		return nil, nil
	}
	out := map[int]string{}
	for part := range strings.SplitSeq(s, ",") {
		k, v, ok := strings.Cut(part, ":")
		n, err := strconv.Atoi(strings.TrimSpace(k))
		if v = strings.TrimSpace(v); !ok || err != nil || n < 0 || v == "" {
			return nil, fmt.Errorf("%q is not of the form level:value,level:value", s)
		}
		out[n] = v
	}
	return out, nil
}

// Values gives a copy of all options as text.
func (o Options) Values() map[string]string { return maps.Clone(o.values) }
