package decode

import (
	"bytes"
	"encoding/json"
	"slices"
)

// nested is what a list, map or struct is made of, if some of its parts are not written as one reads them: days,
// microseconds, base64 of a decimal number.
type nested struct {
	elem   *Column            // of lists and maps
	fields map[string]*Column // of structs, by quoted name; those that are written as one reads them are left out
}

// newNested is nil where all parts are written as one reads them.
func (d *Debezium) newNested(c *connectSchema) *nested {
	of := func(c *connectSchema) *Column {
		if c == nil {
			return nil
		}
		col := d.column(*c)
		switch col.Encoding {
		case JSON, Zoned, Base64, Base64Reversed:
			if col.nested == nil {
				return nil
			}
		default:
		}
		return &col
	}
	var n nested
	switch c.Type {
	case "array":
		n.elem = of(c.Items)
	case "map":
		n.elem = of(c.Values)
	case "struct":
		for i := range c.Fields {
			f := &c.Fields[i]
			if col := of(f); col != nil {
				if n.fields == nil {
					n.fields = map[string]*Column{}
				}
				name, _ := json.Marshal(f.Field)
				n.fields[string(name)] = col
			}
		}
	}
	if n.elem == nil && n.fields == nil {
		return nil
	}
	return &n
}

// jsonText writes a value as JSON, with its parts as one reads them.
func jsonText(raw []byte, c *Column) ([]byte, bool) {
	switch {
	case c == nil || isNull(raw):
		return compact(raw), true
	case c.nested == nil:
		if c.Encoding == JSON || c.Encoding == Zoned {
			return compact(raw), true
		}
		v, ok := encodedText(raw, c)
		if !ok {
			return nil, false
		}
		if c.Encoding == EncodedDecimal || c.Encoding == ScaledDecimal || c.Encoding == Geometry {
			return v, true
		}
		v, err := json.Marshal(string(v))
		return v, err == nil
	}
	s := scanner{data: raw}
	var out []byte
	switch s.ws() {
	case '[':
		parts, ok := listParts(&s)
		if !ok {
			return nil, false
		}
		out = append(out, '[')
		for i, p := range parts {
			if i > 0 {
				out = append(out, ',')
			}
			v, ok := jsonText(p, c.nested.elem)
			if !ok {
				return nil, false
			}
			out = append(out, v...)
		}
		return append(out, ']'), true
	case '{':
		s.pos++
		out = append(out, '{')
		for first := true; ; first = false {
			name, more := s.member(first)
			if !more {
				return append(out, '}'), s.err == nil
			}
			p, ok := s.value()
			if !ok {
				return nil, false
			}
			of := c.nested.elem
			if of == nil {
				of = c.nested.fields[string(name)]
			}
			v, ok := jsonText(p, of)
			if !ok {
				return nil, false
			}
			if !first {
				out = append(out, ',')
			}
			out = append(append(append(out, name...), ':'), v...)
		}
	}
	return compact(raw), true
}

// listParts gives the parts of a list at the scanner's place.
func listParts(s *scanner) ([][]byte, bool) {
	var parts [][]byte
	s.pos++
	for s.ws() != ']' {
		v, ok := s.value()
		if !ok {
			return nil, false
		}
		parts = append(parts, v)
		if c := s.ws(); c == ',' {
			s.pos++
		} else if c != ']' {
			return nil, false
		}
	}
	return parts, true
}

// compact drops white space between the parts of JSON.
func compact(raw []byte) []byte {
	if !slices.ContainsFunc(raw, func(c byte) bool { return c <= ' ' }) {
		return raw
	}
	out := bytes.NewBuffer(make([]byte, 0, len(raw)))
	if json.Compact(out, raw) != nil {
		return raw
	}
	return out.Bytes()
}
