package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// Definition describes a table to be made.
type Definition struct {
	Fields        []types.Field // ids do not matter
	PrimaryKeys   []string
	PartitionKeys []string
	Options       map[string]string
	Comment       string
	TimeMillis    int64
}

// names splits a list of names as options hold them; blanks around a name do not count. Nil for none.
func names(s string) []string {
	var out []string
	for _, n := range strings.Split(s, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// Create makes the first schema of a table.
func Create(d Definition) (*Schema, error) {
	s := &Schema{Version: LatestVersion, Options: map[string]string{}, Comment: d.Comment, TimeMillis: d.TimeMillis}
	s.PrimaryKeys, s.PartitionKeys = slices.Clone(d.PrimaryKeys), slices.Clone(d.PartitionKeys)
	for k, v := range d.Options {
		switch k {
		case "primary-key":
			if len(s.PrimaryKeys) > 0 {
				return nil, errors.New("the primary key is given twice: as key and as option primary-key")
			}
			s.PrimaryKeys = names(v)
		case "partition":
			if len(s.PartitionKeys) > 0 {
				return nil, errors.New("the partition columns are given twice: as such and as option partition")
			}
			s.PartitionKeys = names(v)
		default:
			s.Options[k] = v
		}
	}
	id := -1
	for _, f := range d.Fields {
		id++
		f.ID = id
		f.Type = types.AssignIDs(f.Type, &id)
		if slices.Contains(s.PrimaryKeys, f.Name) {
			f.Type.NotNull = true
		}
		s.Fields = append(s.Fields, f)
	}
	s.HighestFieldID = id
	return s, s.validate()
}

// reserved are names of the format's own columns.
var reserved = []string{"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"}

// validate checks what a new schema must fulfil.
func (s *Schema) validate() error {
	if len(s.Fields) == 0 {
		return errors.New("a table has at least one column")
	}
	if err := checkColumns("", s.Fields); err != nil {
		return err
	}
	for _, f := range s.Fields {
		if slices.Contains(reserved, f.Name) || strings.HasPrefix(f.Name, "_KEY_") {
			return fmt.Errorf("column name %q is reserved", f.Name)
		}
		if f.Default != nil {
			if _, err := types.ParseDatum(f.Type, *f.Default); err != nil {
				return fmt.Errorf("default of column %s: %w", f.Name, err)
			}
		}
	}
	if err := types.CheckSupported(s.Fields); err != nil {
		return err
	}
	for what, keys := range map[string][]string{"primary key": s.PrimaryKeys, "partition": s.PartitionKeys} {
		for i, k := range keys {
			f, ok := s.Field(k)
			if !ok {
				return fmt.Errorf("%s column %q is no column of the table; there are %s", what, k, s.columnNames())
			}
			if slices.Contains(keys[:i], k) {
				return fmt.Errorf("%s column %q comes twice", what, k)
			}
			if f.Type.IsNested() || f.Type.Kind == types.Variant {
				return fmt.Errorf("%s column %q is of type %s, which cannot be a key", what, k, f.Type)
			}
		}
	}
	if len(s.PrimaryKeys) > 0 && len(s.PartitionKeys) > 0 && len(s.PrimaryKeys) == len(s.PartitionKeys) &&
		!slices.ContainsFunc(s.PrimaryKeys, func(k string) bool { return !slices.Contains(s.PartitionKeys, k) }) {
		return fmt.Errorf("the primary key %v has only the partition columns %v: each partition would have one row; add another column to the key",
			s.PrimaryKeys, s.PartitionKeys)
	}
	return s.validateOptions()
}

func checkColumns(path string, fields []types.Field) error {
	for i, f := range fields {
		if strings.TrimSpace(f.Name) == "" {
			return fmt.Errorf("column %d%s has no name", i+1, path)
		}
		for _, g := range fields[:i] {
			if g.Name == f.Name {
				return fmt.Errorf("column %q%s comes twice", f.Name, path)
			}
		}
		for t := &f.Type; t != nil; t = t.Elem {
			if err := checkColumns(" of "+f.Name, t.Fields); err != nil {
				return err
			}
			if t.Key != nil {
				if err := checkColumns(" of "+f.Name, t.Key.Fields); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Schema) columnNames() string {
	out := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		out[i] = f.Name
	}
	return strings.Join(out, ", ")
}

// choices are options with a fixed set of values.
var choices = map[string][]string{
	"merge-engine":              {"deduplicate", "partial-update", "aggregation", "first-row"},
	"changelog-producer":        {"none", "input", "full-compaction", "lookup"},
	"file.format":               {"parquet", "orc", "avro"},
	"manifest.format":           {"avro"},
	"sequence.field.sort-order": {"ascending", "descending"},
	"bucket-function.type":      {"default", "mod", "hive"},
}

// validateOptions checks options that name columns, or that have few values.
func (s *Schema) validateOptions() error {
	for k, known := range choices {
		if v, ok := s.Options[k]; ok && !slices.Contains(known, strings.ToLower(v)) {
			return fmt.Errorf("option %s: %q is not known; there are %s", k, v, strings.Join(known, ", "))
		}
	}
	for _, n := range names(s.Options["sequence.field"]) {
		if _, ok := s.Field(n); !ok {
			return fmt.Errorf("option sequence.field: there is no column %q; there are %s", n, s.columnNames())
		}
		if s.Options["fields."+n+".aggregate-function"] != "" {
			return fmt.Errorf("option sequence.field: column %q cannot have an aggregate function as well", n)
		}
	}
	if n := s.Options["rowkind.field"]; n != "" {
		f, ok := s.Field(n)
		if !ok {
			return fmt.Errorf("option rowkind.field: there is no column %q; there are %s", n, s.columnNames())
		}
		if f.Type.Kind != types.Varchar && f.Type.Kind != types.Char {
			return fmt.Errorf("option rowkind.field: column %q is of type %s, it has to be a string", n, f.Type)
		}
	}
	if err := s.validateBuckets(); err != nil {
		return err
	}
	if s.Options["merge-engine"] == "first-row" && len(names(s.Options["sequence.field"])) > 0 {
		return errors.New("option sequence.field: the merge engine first-row has no use for it")
	}
	return s.validateGroups()
}

func (s *Schema) validateBuckets() error {
	keys := names(s.Options["bucket-key"])
	for i, k := range keys {
		f, ok := s.Field(k)
		if !ok {
			return fmt.Errorf("option bucket-key: there is no column %q; there are %s", k, s.columnNames())
		}
		switch {
		case slices.Contains(keys[:i], k):
			return fmt.Errorf("option bucket-key: column %q comes twice", k)
		case slices.Contains(s.PartitionKeys, k):
			return fmt.Errorf("option bucket-key: column %q is a partition column", k)
		case len(s.PrimaryKeys) > 0 && !slices.Contains(s.PrimaryKeys, k):
			return fmt.Errorf("option bucket-key: column %q is not in the primary key %v", k, s.PrimaryKeys)
		case f.Type.IsNested():
			return fmt.Errorf("option bucket-key: column %q is of type %s, which cannot be a key", k, f.Type)
		}
	}
	b := s.Options["bucket"]
	switch b {
	case "", "-1", "-2":
	default:
		for _, c := range b {
			if c < '0' || c > '9' {
				return fmt.Errorf("option bucket: %q is no number", b)
			}
		}
		if strings.Trim(b, "0") == "" {
			return errors.New("option bucket: the number of buckets has to be at least 1, or -1")
		}
		if len(s.PrimaryKeys) == 0 && keys == nil && s.Version >= 3 {
			return errors.New("an append table with a fixed number of buckets needs the option bucket-key")
		}
	}
	if len(keys) > 0 && len(s.PrimaryKeys) == 0 && (b == "" || b == "-1") {
		return errors.New("option bucket-key: an append table with it needs the option bucket, the number of buckets")
	}
	if b == "-2" && len(s.PrimaryKeys) == 0 {
		return errors.New("option bucket: -2 (postponed) is for tables with a primary key")
	}
	return nil
}

// validateGroups checks sequence groups and aggregate functions.
func (s *Schema) validateGroups() error {
	inGroup := map[string]string{}
	sequence := map[string]bool{}
	for k, v := range s.Options {
		seq, ok := strings.CutPrefix(k, "fields.")
		if !ok {
			continue
		}
		if seq, ok = strings.CutSuffix(seq, ".sequence-group"); !ok {
			continue
		}
		for _, n := range names(seq) {
			if _, ok := s.Field(n); !ok {
				return fmt.Errorf("option %s: there is no column %q; there are %s", k, n, s.columnNames())
			}
			sequence[n] = true
		}
		for _, n := range names(v) {
			if _, ok := s.Field(n); !ok {
				return fmt.Errorf("option %s: there is no column %q; there are %s", k, n, s.columnNames())
			}
			if slices.Contains(s.PrimaryKeys, n) {
				return fmt.Errorf("option %s: column %q is in the primary key and cannot be in a sequence group", k, n)
			}
			if other := inGroup[n]; other != "" {
				return fmt.Errorf("column %q is in two sequence groups: %s and %s", n, other, k)
			}
			inGroup[n] = k
		}
	}
	for n := range sequence {
		if slices.Contains(s.PrimaryKeys, n) {
			return fmt.Errorf("option fields.%s.sequence-group: column %q is in the primary key and cannot be a sequence field", n, n)
		}
	}
	if s.Options["merge-engine"] != "partial-update" {
		return nil
	}
	for k, v := range s.Options {
		n, ok := strings.CutPrefix(k, "fields.")
		if !ok {
			continue
		}
		if n, ok = strings.CutSuffix(n, ".aggregate-function"); ok && n != "default" && inGroup[n] == "" && !sequence[n] && v != "last_non_null_value" {
			return fmt.Errorf("option %s: column %q is in no sequence group, so only last_non_null_value can be its aggregate function", k, n)
		}
	}
	return nil
}
