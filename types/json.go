package types

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MarshalJSON writes the type as in schema files: the SQL text for atomic types, an object with
// "type" and the parts for nested ones.
func (t Type) MarshalJSON() ([]byte, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return t.AppendJSON(nil), nil
}

// AppendJSON appends the JSON of the type, without blanks, as MarshalJSON gives it.
func (t Type) AppendJSON(b []byte) []byte {
	if !t.IsNested() {
		return AppendJSONString(b, t.String())
	}
	b = append(b, `{"type":"`...)
	b = append(b, t.Kind.String()...)
	if t.NotNull {
		b = append(b, " NOT NULL"...)
	}
	b = append(b, '"')
	switch t.Kind {
	case Map:
		b = append(b, `,"key":`...)
		b = partType(t.Key).AppendJSON(b)
		b = append(b, `,"value":`...)
		b = partType(t.Elem).AppendJSON(b)
	case Row:
		b = append(b, `,"fields":[`...)
		for i, f := range t.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = f.AppendJSON(b)
		}
		b = append(b, ']')
	default:
		b = append(b, `,"element":`...)
		b = partType(t.Elem).AppendJSON(b)
		if t.Kind == Vector {
			b = append(b, `,"length":`...)
			b = strconv.AppendInt(b, int64(t.Length), 10)
		}
	}
	return append(b, '}')
}

// MarshalJSON writes the field as in schema files.
func (f Field) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// AppendJSON appends the JSON of the field, without blanks, as MarshalJSON gives it.
func (f Field) AppendJSON(b []byte) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, int64(f.ID), 10)
	b = append(b, `,"name":`...)
	b = AppendJSONString(b, f.Name)
	b = append(b, `,"type":`...)
	b = f.Type.AppendJSON(b)
	if f.Description != "" {
		b = append(b, `,"description":`...)
		b = AppendJSONString(b, f.Description)
	}
	if f.Default != nil {
		b = append(b, `,"defaultValue":`...)
		b = AppendJSONString(b, *f.Default)
	}
	return append(b, '}')
}

// AppendJSONString appends a JSON string as the reference writes it: nothing is escaped that need
// not be, control characters without a short form are \u00XX in capitals, broken UTF-8 becomes U+FFFD.
func AppendJSONString(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			if c < 0x20 {
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"')
}

// UnmarshalJSON reads a type as in schema files. Nested types may also be SQL text.
func (t *Type) UnmarshalJSON(data []byte) error {
	v, err := decodeTree(data)
	if err != nil {
		return err
	}
	*t, err = typeOf(v, 0)
	return err
}

// UnmarshalJSON reads a field as in schema files. A field without an id (sent by people and
// programs, never in files) gets the ID -1.
func (f *Field) UnmarshalJSON(data []byte) error {
	v, err := decodeTree(data)
	if err != nil {
		return err
	}
	*f, err = fieldOf(v, 0)
	return err
}

func decodeTree(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("types: type as JSON: %w", err)
	}
	return v, nil
}

func typeOf(v any, depth int) (Type, error) {
	if depth > maxDepth {
		return Type{}, fmt.Errorf("types: type as JSON: nested deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case string:
		return Parse(v)
	case map[string]any:
		return nestedOf(v, depth)
	}
	return Type{}, fmt.Errorf("types: type as JSON: expected a string or an object, found %s", shorten(v))
}

func nestedOf(m map[string]any, depth int) (Type, error) {
	name, _ := m["type"].(string)
	base, rest, _ := strings.Cut(strings.TrimSpace(name), " ")
	var t Type
	switch strings.ToUpper(base) {
	case "ARRAY":
		t.Kind = Array
	case "MULTISET":
		t.Kind = Multiset
	case "VECTOR":
		t.Kind = Vector
	case "MAP":
		t.Kind = Map
	case "ROW":
		t.Kind = Row
	default:
		return Type{}, fmt.Errorf("types: type as JSON: there is no nested type %q (ARRAY, MAP, MULTISET, ROW, VECTOR)", name)
	}
	t.NotNull = strings.Contains(strings.ToUpper(rest), "NOT NULL")
	if nullable, ok := m["nullable"].(bool); ok && !nullable { // the Python implementation says it so
		t.NotNull = true
	}
	part := func(member string) (*Type, error) {
		v, ok := m[member]
		if !ok {
			return nil, fmt.Errorf("types: type as JSON: %s has no member %q", base, member)
		}
		p, err := typeOf(v, depth+1)
		return &p, err
	}
	var err error
	switch t.Kind {
	case Map:
		if t.Key, err = part("key"); err != nil {
			return Type{}, err
		}
		t.Elem, err = part("value")
	case Row:
		t.Fields, err = fieldsOf(m["fields"], depth)
	case Vector:
		if t.Elem, err = part("element"); err != nil {
			return Type{}, err
		}
		if t.Length, err = intOf(m["length"], "length"); err != nil {
			return Type{}, err
		}
		if t.Length < 1 {
			return Type{}, fmt.Errorf("types: type as JSON: VECTOR has length %d", t.Length)
		}
		err = checkVector(*t.Elem)
	default:
		t.Elem, err = part("element")
	}
	return t, err
}

func fieldsOf(v any, depth int) ([]Field, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("types: type as JSON: ROW has no list of fields but %s", shorten(v))
	}
	fields := make([]Field, len(list))
	seen := make(map[string]bool, len(list))
	for i, e := range list {
		var err error
		if fields[i], err = fieldOf(e, depth+1); err != nil {
			return nil, err
		}
		if seen[fields[i].Name] {
			return nil, fmt.Errorf("types: type as JSON: ROW has two fields %q", fields[i].Name)
		}
		seen[fields[i].Name] = true
	}
	return fields, nil
}

func fieldOf(v any, depth int) (Field, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return Field{}, fmt.Errorf("types: field as JSON: expected an object, found %s", shorten(v))
	}
	f := Field{ID: -1}
	if f.Name, ok = m["name"].(string); !ok || strings.TrimSpace(f.Name) == "" {
		return Field{}, fmt.Errorf("types: field as JSON: no name but %s", shorten(m["name"]))
	}
	var err error
	if id, there := m["id"]; there {
		if f.ID, err = intOf(id, "id"); err != nil {
			return Field{}, fmt.Errorf("%w (field %q)", err, f.Name)
		}
	}
	if f.Type, err = typeOf(m["type"], depth); err != nil {
		return Field{}, fmt.Errorf("%w (field %q)", err, f.Name)
	}
	f.Description, _ = m["description"].(string)
	if d, ok := m["defaultValue"].(string); ok {
		f.Default = &d
	}
	return f, nil
}

func intOf(v any, what string) (int, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("types: field as JSON: %s is no number but %s", what, shorten(v))
	}
	i, err := strconv.ParseInt(n.String(), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("types: field as JSON: %s is no 32-bit number but %s", what, shorten(n.String()))
	}
	return int(i), nil
}

func shorten(v any) string {
	s := fmt.Sprint(v)
	if v == nil {
		s = "nothing"
	}
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

func checkVector(elem Type) error {
	switch elem.Kind {
	case Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double:
		return nil
	}
	return fmt.Errorf("types: a VECTOR cannot have elements of %s", elem)
}
