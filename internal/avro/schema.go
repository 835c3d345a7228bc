package avro

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/tarnlake/tarn/internal/jsonobj"
)

// Kind is the physical shape of an Avro type.
type Kind uint8

// Kinds.
const (
	Null Kind = iota
	Boolean
	Long // int and long have the same encoding
	Float
	Double
	Bytes // bytes and string
	Array
	Map
	Record
	Union
	Fixed
	Enum
)

// Type is a type of a writer's schema.
type Type struct {
	Kind   Kind
	Items  *Type   // of Array, values of Map
	Fields []Field // of Record
	Union  []*Type
	Size   int    // of Fixed
	Text   bool   // of Bytes: a string
	Name   string // of Record, Fixed and Enum the name without its name space, of others the word for it in a schema
	// Logical is the logical type, "" for none; Precision and Scale are those of decimals.
	Logical          string
	Precision, Scale int
}

// Field is a field of a record.
type Field struct {
	Name string
	Type *Type
	// Raw is the JSON of the whole field, nil if it refers to a type that is defined elsewhere.
	Raw []byte
}

// Nullable takes a union of null and one other type apart: the other type and the index of null. For
// any other type the index is -1.
func (t *Type) Nullable() (*Type, int) {
	if t.Kind == Union && len(t.Union) == 2 {
		for i, u := range t.Union {
			if u.Kind == Null {
				return t.Union[1-i], i
			}
		}
	}
	return t, -1
}

// Field finds a field of a record, nil if there is none.
func (t *Type) Field(name string) *Field {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}

// maxSchema bounds the JSON of a schema; real ones have less than 4 kB.
const maxSchema = 1 << 18

// schemas keeps parsed schemas: a table has few of them and very many files.
var schemas struct {
	sync.Mutex
	m map[string]*Type
}

// Parse parses the JSON of a schema.
func Parse(text []byte) (*Type, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("schema of %d bytes is too large", len(text))
	}
	schemas.Lock()
	defer schemas.Unlock()
	if t := schemas.m[string(text)]; t != nil {
		return t, nil
	}
	p := &typeParser{named: map[string]*Type{}}
	t, err := p.parse(text, "", 0)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if len(schemas.m) > 256 || schemas.m == nil {
		schemas.m = map[string]*Type{}
	}
	schemas.m[string(text)] = t
	return t, nil
}

type typeParser struct {
	named map[string]*Type
	refs  int // references to named types seen
}

var primitives = map[string]Kind{
	"null": Null, "boolean": Boolean, "int": Long, "long": Long, "float": Float, "double": Double,
	"bytes": Bytes, "string": Bytes,
}

var ErrNesting = errors.New("nested too deeply")

func (p *typeParser) parse(text []byte, space string, depth int) (*Type, error) {
	if depth > 32 {
		return nil, ErrNesting
	}
	text = trimSpace(text)
	if len(text) == 0 {
		return nil, errors.New("no type")
	}
	switch text[0] {
	case '"':
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, err
		}
		return p.byName(name, space)
	case '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(text, &parts); err != nil {
			return nil, err
		}
		t := &Type{Kind: Union}
		for _, part := range parts {
			u, err := p.parse(part, space, depth+1)
			if err != nil {
				return nil, err
			}
			t.Union = append(t.Union, u)
		}
		return t, nil
	}
	return p.object(text, space, depth)
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

func (p *typeParser) byName(name, space string) (*Type, error) {
	if k, ok := primitives[name]; ok {
		return &Type{Kind: k, Name: name, Text: name == "string"}, nil
	}
	p.refs++
	for _, full := range []string{space + "." + name, name} {
		if t := p.named[full]; t != nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("unknown type %q", name)
}

func (p *typeParser) object(text []byte, space string, depth int) (*Type, error) {
	var o struct {
		Type, Items, Values json.RawMessage
		Name, Namespace     string
		Fields              []json.RawMessage
		Size                int
		// What is no logical type of the specification is to be ignored, whatever it is.
		Logical, Precision, Scale json.RawMessage
	}
	_, err := jsonobj.Take(text, map[string]any{
		"type": &o.Type, "name": &o.Name, "namespace": &o.Namespace, "items": &o.Items, "values": &o.Values,
		"fields": &o.Fields, "size": &o.Size, "logicalType": &o.Logical, "precision": &o.Precision, "scale": &o.Scale,
	})
	if err != nil {
		return nil, err
	}
	var kind string
	if json.Unmarshal(o.Type, &kind) != nil {
		return p.parse(o.Type, space, depth+1)
	}
	t := &Type{Name: kind}
	if json.Unmarshal(o.Logical, &t.Logical) == nil && t.Logical == "decimal" &&
		(json.Unmarshal(o.Precision, &t.Precision) != nil || o.Scale != nil && json.Unmarshal(o.Scale, &t.Scale) != nil) {
		t.Logical = ""
	}
	switch kind {
	case "array", "map":
		t.Kind = Array
		items := o.Items
		if kind == "map" {
			t.Kind, items = Map, o.Values
		}
		t.Items, err = p.parse(items, space, depth+1)
		return t, err
	case "fixed":
		if o.Size < 0 {
			return nil, fmt.Errorf("fixed of size %d", o.Size)
		}
		t.Kind, t.Size = Fixed, o.Size
		p.name(o.Name, o.Namespace, space, t)
		return t, nil
	case "enum":
		t.Kind = Enum
		p.name(o.Name, o.Namespace, space, t)
		return t, nil
	case "record":
		t.Kind = Record
		space = p.name(o.Name, o.Namespace, space, t)
		return t, p.record(t, o.Fields, space, depth)
	}
	named, err := p.byName(kind, space)
	if err != nil || t.Logical == "" {
		return named, err
	}
	t.Kind, t.Text = named.Kind, named.Text
	if named.Kind == Record || named.Kind == Fixed || named.Kind == Enum {
		return named, nil // a logical type cannot be added where a type is referred to
	}
	return t, nil
}

func (p *typeParser) record(t *Type, fields []json.RawMessage, space string, depth int) error {
	for _, raw := range fields {
		var name string
		var typ json.RawMessage
		if _, err := jsonobj.Take(raw, map[string]any{"name": &name, "type": &typ}); err != nil {
			return err
		}
		before := p.refs
		ft, err := p.parse(typ, space, depth+1)
		if err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		if p.refs != before {
			raw = nil
		}
		t.Fields = append(t.Fields, Field{Name: name, Type: ft, Raw: raw})
	}
	return nil
}

// name notes a named type and gives the name space inside of it.
func (p *typeParser) name(name, namespace, space string, t *Type) string {
	if namespace == "" {
		namespace = space
	}
	t.Name = name
	p.named[namespace+"."+name] = t
	p.named[name] = t
	return namespace
}
