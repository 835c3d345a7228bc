package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tarnlake/tarn/internal/jsonobj"
	"github.com/tarnlake/tarn/types"
)

// LatestVersion is the version of the file format that new tables get.
const LatestVersion = 3

// Decode reads a schema file. Members that are not known are kept. Any version is taken: the reference
// does so too.
func Decode(data []byte) (*Schema, error) {
	var id *int64
	var highestID *int
	s := &Schema{Version: 1}
	extra, err := jsonobj.Take(data, map[string]any{
		"version": &s.Version, "id": &id, "fields": &s.Fields, "highestFieldId": &highestID,
		"partitionKeys": &s.PartitionKeys, "primaryKeys": &s.PrimaryKeys, "options": &s.Options,
		"comment": &s.Comment, "timeMillis": &s.TimeMillis,
	})
	if err != nil {
		return nil, jsonError(err)
	}
	if id == nil || s.Fields == nil {
		return nil, errors.New("not a schema: id or fields are missing")
	}
	s.ID = *id
	for k, v := range extra {
		if s.Extra == nil {
			s.Extra = map[string][]byte{}
		}
		s.Extra[k] = v
	}
	for _, k := range slices.Concat(s.PartitionKeys, s.PrimaryKeys) {
		if _, ok := s.Field(k); !ok {
			return nil, fmt.Errorf("key column %q is no column of the schema", k)
		}
	}
	for _, f := range s.Fields {
		if len(s.PrimaryKeys) > 0 && IsSystem(f.Name) {
			return nil, fmt.Errorf("column name %q is reserved for the format: data files have a column of their own of this name", f.Name)
		}
	}
	if err := checkIDs(map[int]string{}, "", s.Fields); err != nil {
		return nil, err
	}
	// Every release writes these. A table with a key that is not told would be read without merging its rows.
	for _, x := range []struct {
		name    string
		missing bool
	}{
		{"highestFieldId", highestID == nil},
		{"partitionKeys", s.PartitionKeys == nil},
		{"primaryKeys", s.PrimaryKeys == nil},
		{"options", s.Options == nil},
	} {
		if x.missing {
			return nil, fmt.Errorf("not a schema: %s is missing", x.name)
		}
	}
	// Ids are never used again, so a number that is too small in the file must not make new ones meet old.
	s.HighestFieldID = max(*highestID, highest(s.Fields))
	return s, nil
}

// checkIDs makes sure that files can be matched to the fields: each has an id of its own, and siblings
// have different names.
func checkIDs(seen map[int]string, of string, fields []types.Field) error {
	here := map[string]bool{}
	for _, f := range fields {
		name := of + f.Name
		if f.ID < 0 {
			return fmt.Errorf("field %s has no id", name)
		}
		if other, ok := seen[f.ID]; ok {
			return fmt.Errorf("fields %s and %s have the same id %d", other, name, f.ID)
		}
		if here[f.Name] {
			return fmt.Errorf("field %s comes twice", name)
		}
		seen[f.ID], here[f.Name] = name, true
		if err := checkPartIDs(seen, name+".", f.Type); err != nil {
			return err
		}
	}
	return nil
}

func checkPartIDs(seen map[int]string, of string, t types.Type) error {
	if err := checkIDs(seen, of, t.Fields); err != nil {
		return err
	}
	for _, p := range []*types.Type{t.Key, t.Elem} {
		if p != nil {
			if err := checkPartIDs(seen, of, *p); err != nil {
				return err
			}
		}
	}
	return nil
}

// jsonError says where text is no JSON.
func jsonError(err error) error {
	var se *json.SyntaxError
	if errors.As(err, &se) {
		return fmt.Errorf("byte %d: %w: the file is cut off or damaged", se.Offset, err)
	}
	return err
}

// highest is the largest id of any field, nested ones too.
func highest(fields []types.Field) int {
	most := -1
	var visit func(t *types.Type)
	visit = func(t *types.Type) {
		if t == nil {
			return
		}
		for i := range t.Fields {
			most = max(most, t.Fields[i].ID)
			visit(&t.Fields[i].Type)
		}
		visit(t.Key)
		visit(t.Elem)
	}
	visit(&types.Type{Kind: types.Row, Fields: fields})
	return most
}

// Encode writes a schema file as the reference lays it out. Options are ordered by name; the reference
// writes them as its hash table has them.
func (s *Schema) Encode() []byte {
	b := []byte{'{'}
	member := func(name string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(types.AppendJSONString(b, name), ':')
	}
	number := func(name string, v int64) {
		member(name)
		b = strconv.AppendInt(b, v, 10)
	}
	list := func(name string, v []string) {
		member(name)
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = types.AppendJSONString(b, x)
		}
		b = append(b, ']')
	}
	if s.Version > 1 {
		number("version", int64(s.Version))
	}
	number("id", s.ID)
	member("fields")
	b = append(b, '[')
	for i, f := range s.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.AppendJSON(b)
	}
	b = append(b, ']')
	number("highestFieldId", int64(s.HighestFieldID))
	list("partitionKeys", s.PartitionKeys)
	list("primaryKeys", s.PrimaryKeys)
	member("options")
	b = append(b, '{')
	for i, k := range slices.Sorted(maps.Keys(s.Options)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(types.AppendJSONString(b, k), ':')
		b = types.AppendJSONString(b, s.Options[k])
	}
	b = append(b, '}')
	if s.Comment != "" {
		member("comment")
		b = types.AppendJSONString(b, s.Comment)
	}
	if s.TimeMillis != 0 {
		number("timeMillis", s.TimeMillis)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Extra)) {
		member(k)
		b = append(b, s.Extra[k]...)
	}
	var packed bytes.Buffer
	_ = json.Compact(&packed, append(b, '}')) // it is JSON: members not known have their own blanks
	return layOut(packed.Bytes())
}

// layOut puts the blanks and line ends of the reference into JSON that has none: members of objects have
// lines of their own, items of arrays do not.
func layOut(in []byte) []byte {
	var out bytes.Buffer
	depth := 0
	line := func() {
		out.WriteByte('\n')
		for range depth {
			out.WriteString("  ")
		}
	}
	var open []byte // brackets that are open
	for i := 0; i < len(in); i++ {
		c := in[i]
		switch c {
		case '"':
			from := i
			for i++; in[i] != '"'; i++ {
				if in[i] == '\\' {
					i++
				}
			}
			out.Write(in[from : i+1])
		case '{':
			out.WriteByte(c)
			if in[i+1] == '}' {
				out.WriteString(" }")
				i++
				break
			}
			open = append(open, c)
			depth++
			line()
		case '[':
			out.WriteByte(c)
			if in[i+1] == ']' {
				out.WriteString(" ]")
				i++
				break
			}
			open = append(open, c)
			out.WriteByte(' ')
		case '}':
			open = open[:len(open)-1]
			depth--
			line()
			out.WriteByte(c)
		case ']':
			open = open[:len(open)-1]
			out.WriteByte(' ')
			out.WriteByte(c)
		case ',':
			out.WriteByte(c)
			if open[len(open)-1] == '{' {
				line()
			} else {
				out.WriteByte(' ')
			}
		case ':':
			out.WriteString(" : ")
		default:
			out.WriteByte(c)
		}
	}
	return out.Bytes()
}

// Field finds a column by name.
func (s *Schema) Field(name string) (types.Field, bool) {
	for _, f := range s.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return types.Field{}, false
}

// FieldsNamed gives columns by their names, in that order. Names that are no columns are left out.
func (s *Schema) FieldsNamed(names []string) []types.Field {
	out := make([]types.Field, 0, len(names))
	for _, n := range names {
		if f, ok := s.Field(n); ok {
			out = append(out, f)
		}
	}
	return out
}

// TrimmedPrimaryKey is the primary key without the partition columns, in the order of the key: what
// orders the rows of a bucket. A key of partition columns only stays as it is.
func (s *Schema) TrimmedPrimaryKey() []types.Field {
	var names []string
	for _, k := range s.PrimaryKeys {
		if !slices.Contains(s.PartitionKeys, k) {
			names = append(names, k)
		}
	}
	if len(names) == 0 {
		names = s.PrimaryKeys
	}
	return s.FieldsNamed(names)
}

// BucketKeys are the columns that choose a bucket: the option bucket-key, else the trimmed primary key;
// none for an append table without the option.
func (s *Schema) BucketKeys() []string {
	if k := names(s.Options["bucket-key"]); k != nil {
		return k
	}
	var out []string
	for _, f := range s.TrimmedPrimaryKey() {
		out = append(out, f.Name)
	}
	return out
}
