package predicate

import (
	"fmt"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// Parse reads a condition as SQL writes it: columns compared with constants by =, <>, !=, <, <=, >, >=,
// [NOT] LIKE, [NOT] IN (…), [NOT] BETWEEN … AND …, IS [NOT] NULL, joined by AND, OR, NOT and parentheses.
// Constants are numbers or text in quotes, read as values of the column's type. Errors name the place.
func Parse(text string, fields []types.Field) (Predicate, error) {
	p := &parser{text: text, fields: fields}
	if err := p.next(); err != nil {
		return nil, err
	}
	out, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.tok != "" || p.quoted {
		return nil, p.errorf("more text: %q", p.tok)
	}
	return out, nil
}

// parser reads tokens: words, numbers, quoted text and signs.
type parser struct {
	text   string
	fields []types.Field
	at     int
	start  int // of the token at hand
	tok    string
	quoted bool // text in '…'
	name   bool // a word, or a name in "…" or `…`
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", p.start+1, fmt.Sprintf(format, args...))
}

func letter(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (p *parser) next() error {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	p.start, p.tok, p.quoted, p.name = p.at, "", false, false
	if p.at == len(p.text) {
		return nil
	}
	c := p.text[p.at]
	switch {
	case c == '\'' || c == '"' || c == '`':
		var b strings.Builder
		for i := p.at + 1; ; i++ {
			if i >= len(p.text) {
				return p.errorf("%c is not closed", c)
			}
			if p.text[i] != c {
				b.WriteByte(p.text[i])
				continue
			}
			if i+1 < len(p.text) && p.text[i+1] == c { // doubled: the sign itself
				b.WriteByte(c)
				i++
				continue
			}
			p.at = i + 1
			break
		}
		p.tok, p.quoted, p.name = b.String(), c == '\'', c != '\''
	case letter(c) || c == '-' || c == '+':
		i := p.at + 1
		for i < len(p.text) && (letter(p.text[i]) || (p.text[i] == '-' || p.text[i] == '+') && (p.text[i-1] == 'e' || p.text[i-1] == 'E') && (c < 'A')) {
			i++
		}
		p.tok, p.at = p.text[p.at:i], i
		p.name = c != '-' && c != '+' && (c < '0' || c > '9')
	default:
		n := 1
		if p.at+1 < len(p.text) {
			if _, ok := signs[p.text[p.at:p.at+2]]; ok {
				n = 2
			}
		}
		p.tok = p.text[p.at : p.at+n]
		p.at += n
	}
	return nil
}

// word takes a keyword if it stands here.
func (p *parser) word(w string) (bool, error) {
	if p.quoted || !strings.EqualFold(p.tok, w) {
		return false, nil
	}
	return true, p.next()
}

func (p *parser) sign(s string) error {
	if p.quoted || p.tok != s {
		return p.errorf("want %s, found %q", s, p.tok)
	}
	return p.next()
}

const maxDepth = 100

func (p *parser) or(depth int) (Predicate, error) {
	return p.chain(depth, "OR", p.and, func(a []Predicate) Predicate { return &Or{a} })
}

func (p *parser) and(depth int) (Predicate, error) {
	return p.chain(depth, "AND", p.not, func(a []Predicate) Predicate { return &And{a} })
}

func (p *parser) chain(depth int, word string, part func(int) (Predicate, error), join func([]Predicate) Predicate) (Predicate, error) {
	if depth > maxDepth {
		return nil, p.errorf("nested deeper than %d", maxDepth)
	}
	var args []Predicate
	for {
		a, err := part(depth)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
		more, err := p.word(word)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if len(args) == 1 {
		return args[0], nil
	}
	return join(args), nil
}

func (p *parser) not(depth int) (Predicate, error) {
	if depth > maxDepth {
		return nil, p.errorf("nested deeper than %d", maxDepth)
	}
	if ok, err := p.word("NOT"); ok || err != nil {
		if err != nil {
			return nil, err
		}
		a, err := p.not(depth + 1)
		return &Not{a}, err
	}
	if !p.quoted && p.tok == "(" {
		if err := p.next(); err != nil {
			return nil, err
		}
		a, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		return a, p.sign(")")
	}
	return p.leaf()
}

var signs = map[string]Op{"=": Eq, "==": Eq, "<>": NotEq, "!=": NotEq, "<": Lt, "<=": LtEq, ">": Gt, ">=": GtEq}

func (p *parser) leaf() (Predicate, error) {
	if !p.name {
		return nil, p.errorf("want a column, found %q", p.tok)
	}
	l := &Leaf{Column: p.tok}
	found := false
	for _, f := range p.fields {
		if f.Name == l.Column {
			l.Type, found = f.Type, true
		}
	}
	if !found {
		names := make([]string, len(p.fields))
		for i, f := range p.fields {
			names[i] = f.Name
		}
		return nil, p.errorf("there is no column %q; there are %s", l.Column, strings.Join(names, ", "))
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if op, ok := signs[p.tok]; ok && !p.quoted {
		l.Op = op
		if err := p.next(); err != nil {
			return nil, err
		}
		return l, p.value(l)
	}
	negate, err := p.word("NOT")
	if err != nil {
		return nil, err
	}
	if err := p.operator(l); err != nil {
		return nil, err
	}
	if negate {
		return &Not{l}, nil
	}
	return l, nil
}

// operator reads what follows a column if it is no sign.
func (p *parser) operator(l *Leaf) error {
	at := func(w string) bool { return !p.quoted && strings.EqualFold(p.tok, w) }
	switch {
	case at("IS"):
		if err := p.next(); err != nil {
			return err
		}
		l.Op = IsNull
		if ok, err := p.word("NOT"); err != nil {
			return err
		} else if ok {
			l.Op = IsNotNull
		}
		if ok, err := p.word("NULL"); err != nil || !ok {
			return p.errorf("want NULL, found %q", p.tok)
		}
		return nil
	case at("LIKE"):
		l.Op = Like
		if err := p.next(); err != nil {
			return err
		}
		return p.value(l)
	case at("BETWEEN"):
		l.Op = Between
		if err := p.next(); err != nil {
			return err
		}
		if err := p.value(l); err != nil {
			return err
		}
		if ok, err := p.word("AND"); err != nil || !ok {
			return p.errorf("want AND, found %q", p.tok)
		}
		return p.value(l)
	case at("IN"):
		l.Op = In
		if err := p.next(); err != nil {
			return err
		}
		if err := p.sign("("); err != nil {
			return err
		}
		if p.tok == ")" && !p.quoted {
			return p.sign(")") // nothing is in an empty list
		}
		for {
			if err := p.value(l); err != nil {
				return err
			}
			if p.tok == "," && !p.quoted {
				if err := p.next(); err != nil {
					return err
				}
				continue
			}
			return p.sign(")")
		}
	}
	return p.errorf("want a comparison, found %q", p.tok)
}

// value reads a constant of the column's type.
func (p *parser) value(l *Leaf) error {
	if p.tok == "" && !p.quoted {
		return p.errorf("want a value")
	}
	if !p.quoted && strings.EqualFold(p.tok, "NULL") {
		l.Values = append(l.Values, nil)
		return p.next()
	}
	v, err := literal(l.Type, p.tok)
	if err != nil {
		return p.errorf("column %s: %v", l.Column, err)
	}
	l.Values = append(l.Values, v)
	return p.next()
}
