package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/tarnlake/tarn/internal/jsonobj"
)

// akind is the physical shape of an Avro type; logical types do not matter here.
type akind uint8

const (
	aNull akind = iota
	aBool
	aLong // int and long have the same encoding
	aFloat
	aDouble
	aBytes // bytes and string
	aArray
	aMap
	aRecord
	aUnion
	aFixed
	aEnum
)

// atype is a type of a writer's schema.
type atype struct {
	kind   akind
	items  *atype // aArray, aMap
	fields []afield
	union  []*atype
	size   int  // aFixed
	text   bool // aBytes: a string
}

type afield struct {
	name string
	typ  *atype
	// raw is the JSON of the whole field, nil if it refers to a type that is defined elsewhere.
	raw []byte
}

// nullable takes a union of null and one other type apart: the other type and the index of null. For
// any other type the index is -1.
func (t *atype) nullable() (*atype, int) {
	if t.kind == aUnion && len(t.union) == 2 {
		for i, u := range t.union {
			if u.kind == aNull {
				return t.union[1-i], i
			}
		}
	}
	return t, -1
}

func (t *atype) field(name string) *afield {
	for i := range t.fields {
		if t.fields[i].name == name {
			return &t.fields[i]
		}
	}
	return nil
}

// maxSchema bounds the JSON of a schema; real ones have less than 4 kB.
const maxSchema = 1 << 18

// schemas keeps parsed schemas: a table has few of them and very many files.
var schemas struct {
	sync.Mutex
	m map[string]*atype
}

// parseType parses the JSON of a schema.
func parseType(text []byte) (*atype, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("schema of %d bytes is too large", len(text))
	}
	schemas.Lock()
	defer schemas.Unlock()
	if t := schemas.m[string(text)]; t != nil {
		return t, nil
	}
	p := &typeParser{named: map[string]*atype{}}
	t, err := p.parse(text, "", 0)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if len(schemas.m) > 256 || schemas.m == nil {
		schemas.m = map[string]*atype{}
	}
	schemas.m[string(text)] = t
	return t, nil
}

type typeParser struct {
	named map[string]*atype
	refs  int // references to named types seen
}

var primitives = map[string]akind{
	"null": aNull, "boolean": aBool, "int": aLong, "long": aLong, "float": aFloat, "double": aDouble,
	"bytes": aBytes, "string": aBytes,
}

var errNesting = errors.New("nested too deeply")

func (p *typeParser) parse(text []byte, space string, depth int) (*atype, error) {
	if depth > 32 {
		return nil, errNesting
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
		t := &atype{kind: aUnion}
		for _, part := range parts {
			u, err := p.parse(part, space, depth+1)
			if err != nil {
				return nil, err
			}
			t.union = append(t.union, u)
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

func (p *typeParser) byName(name, space string) (*atype, error) {
	if k, ok := primitives[name]; ok {
		return &atype{kind: k, text: name == "string"}, nil
	}
	p.refs++
	for _, full := range []string{space + "." + name, name} {
		if t := p.named[full]; t != nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("unknown type %q", name)
}

func (p *typeParser) object(text []byte, space string, depth int) (*atype, error) {
	var o struct {
		Type, Items, Values json.RawMessage
		Name, Namespace     string
		Fields              []json.RawMessage
		Size                int
	}
	_, err := jsonobj.Take(text, map[string]any{
		"type": &o.Type, "name": &o.Name, "namespace": &o.Namespace, "items": &o.Items, "values": &o.Values,
		"fields": &o.Fields, "size": &o.Size,
	})
	if err != nil {
		return nil, err
	}
	var kind string
	if json.Unmarshal(o.Type, &kind) != nil {
		return p.parse(o.Type, space, depth+1)
	}
	t := &atype{}
	switch kind {
	case "array", "map":
		t.kind = aArray
		items := o.Items
		if kind == "map" {
			t.kind, items = aMap, o.Values
		}
		t.items, err = p.parse(items, space, depth+1)
		return t, err
	case "fixed":
		if o.Size < 0 {
			return nil, fmt.Errorf("fixed of size %d", o.Size)
		}
		t.kind, t.size = aFixed, o.Size
		p.name(o.Name, o.Namespace, space, t)
		return t, nil
	case "enum":
		t.kind = aEnum
		p.name(o.Name, o.Namespace, space, t)
		return t, nil
	case "record":
		t.kind = aRecord
		space = p.name(o.Name, o.Namespace, space, t)
		return t, p.record(t, o.Fields, space, depth)
	}
	return p.byName(kind, space)
}

func (p *typeParser) record(t *atype, fields []json.RawMessage, space string, depth int) error {
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
		t.fields = append(t.fields, afield{name: name, typ: ft, raw: raw})
	}
	return nil
}

// name notes a named type and gives the name space inside of it.
func (p *typeParser) name(name, namespace, space string, t *atype) string {
	if namespace == "" {
		namespace = space
	}
	p.named[namespace+"."+name] = t
	p.named[name] = t
	return namespace
}
