package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/types"
)

// Names of the columns that data files of tables with a key have besides the table's own (specification:
// concepts/spec/datafile).
const (
	KeyPrefix    = "_KEY_"
	SequenceName = "_SEQUENCE_NUMBER"
	KindName     = "_VALUE_KIND"
)

// reserved are more names of the format's own columns.
var reserved = []string{"_LEVEL", "rowkind", "_ROW_ID"}

// IsSystem reports whether data files of tables with a key have a column of this name that is not the table's.
func IsSystem(name string) bool {
	return strings.HasPrefix(name, KeyPrefix) || name == SequenceName || name == KindName
}

// faults are what is wrong with a schema, always in the same order. Schemas that were read are not
// checked: other engines may allow more.
func (s *Schema) faults() []error {
	v := &validation{s: s, opts: options.Of(s.Options, s.Version)}
	if len(s.Fields) == 0 {
		v.add("a table has at least one column")
	}
	v.text("the comment of the table", s.Comment)
	v.columns("", s.Fields)
	for _, f := range s.Fields {
		v.column(f)
	}
	if err := types.CheckSupported(s.Fields); err != nil {
		v.faults = append(v.faults, err)
	}
	v.keys("primary key", s.PrimaryKeys)
	v.keys("partition", s.PartitionKeys)
	if len(s.PrimaryKeys) > 0 && !slices.ContainsFunc(s.PrimaryKeys, func(k string) bool { return !slices.Contains(s.PartitionKeys, k) }) {
		v.add("the primary key %v has only the partition columns %v: each partition would have one row; add another column to the key",
			s.PrimaryKeys, s.PartitionKeys)
	}
	v.options()
	return v.faults
}

// newFaults are the faults of a changed schema that it did not have before: a table that somebody made
// otherwise can still be changed.
func newFaults(before, after *Schema) []error {
	var old []string
	for _, err := range before.faults() {
		old = append(old, err.Error())
	}
	return slices.DeleteFunc(after.faults(), func(err error) bool { return slices.Contains(old, err.Error()) })
}

// validation collects faults.
type validation struct {
	s      *Schema
	opts   options.Options
	faults []error
}

func (v *validation) add(format string, args ...any) {
	v.faults = append(v.faults, fmt.Errorf(format, args...))
}

// column finds a column that is named in some place.
func (v *validation) known(where, name string) (types.Field, bool) {
	f, ok := v.s.Field(name)
	if !ok {
		v.add("%s: there is no column %q; there are %s", where, name, columnNames(v.s.Fields))
	}
	return f, ok
}

func columnNames(fields []types.Field) string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return strings.Join(out, ", ")
}

// columns checks names at every level.
func (v *validation) columns(of string, fields []types.Field) {
	seen := map[string]bool{}
	for i, f := range fields {
		if strings.TrimSpace(f.Name) == "" {
			v.add("column %d%s has no name", i+1, of)
		}
		if seen[f.Name] {
			v.add("column %q%s comes twice", f.Name, of)
		}
		v.text(fmt.Sprintf("the name of column %d%s", i+1, of), f.Name)
		v.text(fmt.Sprintf("the comment of column %q%s", f.Name, of), f.Description)
		seen[f.Name] = true
		v.parts(" of "+f.Name, f.Type)
	}
}

// text refuses what a schema file, which is JSON, would hold as something else.
func (v *validation) text(what, s string) {
	if !utf8.ValidString(s) {
		v.add("%s, %q, is not UTF-8", what, s)
	}
}

func (v *validation) parts(of string, t types.Type) {
	v.columns(of, t.Fields)
	for _, p := range []*types.Type{t.Key, t.Elem} {
		if p != nil {
			v.parts(of, *p)
		}
	}
}

func (v *validation) column(f types.Field) {
	if slices.Contains(reserved, f.Name) || IsSystem(f.Name) {
		v.add("column name %q is reserved for the format; choose another", f.Name)
	}
	if _, err := DefaultOf(f); err != nil {
		v.faults = append(v.faults, err)
	}
}

// DefaultOf is the value that a column has where none is given: NULL, or its default, which is text as a
// cast from STRING reads it, with or without single quotes around it.
func DefaultOf(f types.Field) (types.Datum, error) {
	if f.Default == nil {
		return nil, nil
	}
	text := *f.Default
	if len(text) > 1 && text[0] == '\'' && text[len(text)-1] == '\'' {
		text = text[1 : len(text)-1]
	}
	d, err := types.ParseDatum(f.Type, text)
	switch f.Type.Kind {
	case types.Char, types.Varchar, types.Binary, types.Varbinary:
		d, err = cast.Value(text, types.StringType, f.Type) // filled up, or cut
	}
	if err != nil {
		return nil, fmt.Errorf("default of column %s: %w", f.Name, err)
	}
	return d, nil
}

func (v *validation) keys(what string, keys []string) {
	for i, k := range keys {
		f, ok := v.known(what, k)
		if slices.Contains(keys[:i], k) {
			v.add("%s: column %q comes twice", what, k)
		}
		if ok {
			v.keyType(what, f)
		}
	}
}

func (v *validation) keyType(what string, f types.Field) {
	if f.Type.IsNested() || f.Type.Kind == types.Variant || f.Type.Kind == types.Blob {
		v.add("%s: column %q is of type %s, which cannot be a key", what, f.Name, f.Type)
	}
}
