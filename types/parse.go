package types

import (
	"strconv"
	"strings"
)

// maxDepth bounds how deep types may be nested, so that hostile text cannot exhaust the stack.
const maxDepth = 100

// Parse reads a type as SQL text: every type of the format with its parameters in their limits,
// `NOT NULL` at every level, and ARRAY<…>, MAP<…>, MULTISET<…>, ROW<name type 'comment', …>,
// VECTOR<type, length>. Keywords are read in any case. Row fields get ids from 0 in the order in
// which the reference numbers them (a nested row's fields before the field that holds it).
func Parse(s string) (Type, error) {
	toks, err := lex(s)
	if err != nil {
		return Type{}, err
	}
	p := parser{text: s, toks: toks}
	t, err := p.typ(0)
	if err != nil {
		return Type{}, err
	}
	if tok := p.peek(); tok.kind != tokEnd {
		return Type{}, p.fail(tok, "%q is too much", tok.text)
	}
	next := -1
	return AssignIDs(t, &next), nil
}

// MustParse is Parse for types that are constants in the program.
func MustParse(s string) Type {
	t, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return t
}

// AssignIDs gives the row fields inside of a type new ids: *highest is raised before each use. The
// order is the reference's: first all that is inside of a field, then the field.
func AssignIDs(t Type, highest *int) Type {
	if t.Key != nil {
		k := AssignIDs(*t.Key, highest)
		t.Key = &k
	}
	if t.Elem != nil {
		e := AssignIDs(*t.Elem, highest)
		t.Elem = &e
	}
	if t.Fields != nil {
		fields := make([]Field, len(t.Fields))
		for i, f := range t.Fields {
			f.Type = AssignIDs(f.Type, highest)
			*highest++
			f.ID = *highest
			fields[i] = f
		}
		t.Fields = fields
	}
	return t
}

type parser struct {
	text string
	toks []token
	at   int
}

func (p *parser) peek() token {
	if p.at < len(p.toks) {
		return p.toks[p.at]
	}
	return token{kind: tokEnd, text: "the end", pos: len(p.text)}
}

func (p *parser) next() token {
	t := p.peek()
	p.at++
	return t
}

func (p *parser) fail(t token, format string, args ...any) error {
	return typeError(p.text, t.pos, format, args...)
}

// words takes the given keywords if they all come next.
func (p *parser) words(want ...string) bool {
	for i, w := range want {
		if p.at+i >= len(p.toks) {
			return false
		}
		if t := p.toks[p.at+i]; t.kind != tokWord || !strings.EqualFold(t.text, w) {
			return false
		}
	}
	p.at += len(want)
	return true
}

func (p *parser) punct(c string) bool {
	if t := p.peek(); t.kind == tokPunct && t.text == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(c string) error {
	if t := p.peek(); !p.punct(c) {
		return p.fail(t, "expected %q, found %q", c, t.text)
	}
	return nil
}

func (p *parser) typ(depth int) (Type, error) {
	if depth > maxDepth {
		return Type{}, p.fail(p.peek(), "nested deeper than %d levels", maxDepth)
	}
	t, err := p.named(depth)
	if err != nil {
		return Type{}, err
	}
	t.NotNull = p.notNull()
	for n := depth; ; n++ { // INT ARRAY is ARRAY<INT>
		var k Kind
		switch {
		case p.words("ARRAY"):
			k = Array
		case p.words("MULTISET"):
			k = Multiset
		default:
			return t, nil
		}
		if n >= maxDepth {
			return Type{}, p.fail(p.peek(), "nested deeper than %d levels", maxDepth)
		}
		elem := t
		t = Type{Kind: k, Elem: &elem}
		t.NotNull = p.notNull()
	}
}

func (p *parser) notNull() bool {
	if p.words("NOT", "NULL") {
		return true
	}
	p.words("NULL")
	return false
}

func (p *parser) named(depth int) (Type, error) {
	tok := p.next()
	if tok.kind != tokWord {
		return Type{}, p.fail(tok, "expected a type, found %q", tok.text)
	}
	switch name := strings.ToUpper(tok.text); name {
	case "BOOLEAN":
		return Type{Kind: Boolean}, nil
	case "TINYINT":
		return Type{Kind: TinyInt}, nil
	case "SMALLINT":
		return Type{Kind: SmallInt}, nil
	case "INT", "INTEGER":
		return Type{Kind: Int}, nil
	case "BIGINT":
		return Type{Kind: BigInt}, nil
	case "FLOAT":
		return Type{Kind: Float}, nil
	case "DOUBLE":
		p.words("PRECISION")
		return Type{Kind: Double}, nil
	case "DATE":
		return Type{Kind: Date}, nil
	case "STRING":
		return StringType, nil
	case "BYTES":
		return BytesType, nil
	case "VARIANT":
		return Type{Kind: Variant}, nil
	case "BLOB":
		return Type{Kind: Blob}, nil
	case "CHAR":
		return p.length(Char)
	case "VARCHAR":
		return p.length(Varchar)
	case "BINARY":
		return p.length(Binary)
	case "VARBINARY":
		return p.length(Varbinary)
	case "DECIMAL", "NUMERIC", "DEC":
		return p.decimal()
	case "TIME", "TIMESTAMP", "TIMESTAMP_LTZ":
		return p.time(tok, name)
	case "ARRAY", "MULTISET", "MAP", "VECTOR":
		return p.parts(name, depth)
	case "ROW":
		return p.row(depth)
	}
	return Type{}, p.fail(tok, "there is no type %q", tok.text)
}

// number reads a number in the given limits.
func (p *parser) number(what string, least, most int) (int, error) {
	tok := p.next()
	if tok.kind != tokNumber {
		return 0, p.fail(tok, "expected the %s, found %q", what, tok.text)
	}
	n, err := strconv.Atoi(tok.text)
	if err != nil || n < least || n > most {
		return 0, p.fail(tok, "%s %s is not in %d..%d", what, tok.text, least, most)
	}
	return n, nil
}

func (p *parser) length(k Kind) (Type, error) {
	t := Type{Kind: k, Length: 1}
	if !p.punct("(") {
		return t, nil
	}
	var err error
	if t.Length, err = p.number("length", 1, MaxLength); err != nil {
		return Type{}, err
	}
	return t, p.expect(")")
}

func (p *parser) decimal() (Type, error) {
	t := Type{Kind: Decimal, Precision: 10}
	if !p.punct("(") {
		return t, nil
	}
	var err error
	if t.Precision, err = p.number("precision", 1, 38); err != nil {
		return Type{}, err
	}
	if p.punct(",") {
		if t.Scale, err = p.number("scale", 0, t.Precision); err != nil {
			return Type{}, err
		}
	}
	return t, p.expect(")")
}

func (p *parser) time(tok token, name string) (Type, error) {
	t := Type{Kind: Timestamp, Precision: 6}
	switch name {
	case "TIME":
		t = Type{Kind: Time}
	case "TIMESTAMP_LTZ":
		t.Kind = TimestampLTZ
	}
	if p.punct("(") {
		var err error
		if t.Precision, err = p.number("precision", 0, 9); err != nil {
			return Type{}, err
		}
		if err = p.expect(")"); err != nil {
			return Type{}, err
		}
	}
	switch {
	case name == "TIMESTAMP_LTZ":
	case p.words("WITHOUT", "TIME", "ZONE"):
	case name == "TIMESTAMP" && p.words("WITH", "LOCAL", "TIME", "ZONE"):
		t.Kind = TimestampLTZ
	case p.words("WITH"), p.words("WITHOUT"):
		return Type{}, p.fail(tok, "%s can only be WITHOUT TIME ZONE or, a TIMESTAMP, WITH LOCAL TIME ZONE", name)
	}
	return t, nil
}

func (p *parser) parts(name string, depth int) (Type, error) {
	if err := p.expect("<"); err != nil {
		return Type{}, err
	}
	first, err := p.typ(depth + 1)
	if err != nil {
		return Type{}, err
	}
	t := Type{Kind: Array, Elem: &first}
	switch name {
	case "MULTISET":
		t.Kind = Multiset
	case "MAP":
		if err = p.expect(","); err != nil {
			return Type{}, err
		}
		value, err := p.typ(depth + 1)
		if err != nil {
			return Type{}, err
		}
		t = Type{Kind: Map, Key: &first, Elem: &value}
	case "VECTOR":
		if err = p.expect(","); err != nil {
			return Type{}, err
		}
		n, err := p.number("length", 1, MaxLength)
		if err != nil {
			return Type{}, err
		}
		t.Kind, t.Length = Vector, n
		if err = checkVector(first); err != nil {
			return Type{}, p.fail(p.peek(), "%v", err)
		}
	}
	return t, p.expect(">")
}

func (p *parser) row(depth int) (Type, error) {
	end := ">"
	if p.punct("(") { // ROW(a INT) is another way to write it
		end = ")"
	} else if err := p.expect("<"); err != nil {
		return Type{}, err
	}
	t := Type{Kind: Row, Fields: []Field{}}
	seen := map[string]bool{}
	for !p.punct(end) {
		if len(t.Fields) > 0 {
			if err := p.expect(","); err != nil {
				return Type{}, err
			}
		}
		tok := p.peek()
		f, err := p.field(depth)
		if err != nil {
			return Type{}, err
		}
		if strings.TrimSpace(f.Name) == "" {
			return Type{}, p.fail(tok, "a field has a name without letters")
		}
		if seen[f.Name] {
			return Type{}, p.fail(tok, "field %q is there twice", f.Name)
		}
		seen[f.Name] = true
		t.Fields = append(t.Fields, f)
	}
	return t, nil
}

func (p *parser) field(depth int) (Field, error) {
	tok := p.next()
	if tok.kind != tokWord && tok.kind != tokName {
		return Field{}, p.fail(tok, "expected a field name, found %q", tok.text)
	}
	t, err := p.typ(depth + 1)
	if err != nil {
		return Field{}, err
	}
	f := Field{Name: tok.text, Type: t}
	p.words("COMMENT")
	if p.peek().kind == tokText {
		f.Description = p.next().text
	}
	if p.words("DEFAULT") {
		v := p.next()
		if v.kind != tokText && v.kind != tokNumber && v.kind != tokWord {
			return Field{}, p.fail(v, "expected a default value, found %q", v.text)
		}
		f.Default = &v.text
	}
	return f, nil
}
