package parse

import (
	"strconv"
	"strings"
)

// maxDepth bounds how deep parentheses and types may nest.
const maxDepth = 200

// parser walks over the tokens of a text.
type parser struct {
	text  string
	toks  []token
	pos   int
	depth int
}

// Script splits a text at its semicolons and parses each statement. Empty statements are left out.
// The error, if any, is an *Error.
func Script(text string) ([]Statement, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	var all []Statement
	for start := 0; start < len(toks); {
		end := start
		for toks[end].kind != eof && !toks[end].is(";") {
			end++
		}
		if end > start {
			part := append(toks[start:end:end], token{kind: eof, start: toks[end].start, end: toks[end].start})
			s, err := (&parser{text: text, toks: part}).statement()
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		start = end + 1
	}
	return all, nil
}

// Complete says whether a shell can run the text: nothing is left open and it ends in a semicolon,
// or it is empty.
func Complete(text string) bool {
	toks, err := lex(text)
	if err != nil {
		e, ok := err.(*Error)
		return !ok || !e.Incomplete
	}
	return len(toks) == 1 || toks[len(toks)-2].is(";")
}

func (p *parser) cur() token { return p.toks[p.pos] }

func (p *parser) at(n int) token {
	return p.toks[min(p.pos+n, len(p.toks)-1)]
}

func (p *parser) advance() token {
	t := p.toks[p.pos]
	if t.kind != eof {
		p.pos++
	}
	return t
}

// is says whether the next tokens are these keywords or symbols.
func (p *parser) is(words ...string) bool {
	for i, w := range words {
		if !p.at(i).is(w) {
			return false
		}
	}
	return true
}

// accept takes these tokens if they come next.
func (p *parser) accept(words ...string) bool {
	if !p.is(words...) {
		return false
	}
	p.pos += len(words)
	return true
}

// acceptOneOf takes one of the keywords, "" if none comes.
func (p *parser) acceptOneOf(words ...string) string {
	for _, w := range words {
		if p.accept(w) {
			return w
		}
	}
	return ""
}

func (p *parser) expect(word string) error {
	if p.accept(word) {
		return nil
	}
	return p.unexpected(word)
}

// errorAt makes an error at a token.
func (p *parser) errorAt(t token, msg, hint string) error {
	return &Error{Msg: msg, Hint: hint, Text: p.text, Pos: t.start}
}

// unexpected is the error that something else should stand here.
func (p *parser) unexpected(wanted string) error {
	t := p.cur()
	return &Error{Msg: "expected " + wanted + ", found " + t.describe(), Text: p.text, Pos: t.start, Incomplete: t.kind == eof}
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.errorAt(p.cur(), "this is nested too deeply", "")
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// end checks that nothing follows.
func (p *parser) end() error {
	if p.cur().kind != eof {
		return p.unexpected("the end of the statement")
	}
	return nil
}

// span is from a token on to the last one taken.
func (p *parser) span(start token) Span {
	if p.pos == 0 {
		return Span{start.start, start.start}
	}
	return Span{start.start, p.toks[p.pos-1].end}
}

func (p *parser) ident(what string) (Ident, error) {
	t := p.cur()
	if !t.isName() {
		return Ident{}, p.unexpected(what)
	}
	p.pos++
	return Ident{Name: t.text, Quoted: t.kind == quoted, Span: Span{t.start, t.end}}, nil
}

func (p *parser) tableName() (TableName, error) {
	first, err := p.ident("a table")
	if err != nil {
		return TableName{}, err
	}
	n := TableName{Table: first.Name, Span: first.Span}
	if !p.accept(".") {
		return n, nil
	}
	second, err := p.ident("a table")
	if err != nil {
		return n, err
	}
	n.Database, n.Table, n.End = first.Name, second.Name, second.End
	if p.is(".") {
		return n, p.tooManyParts(p.cur())
	}
	return n, nil
}

func (p *parser) tooManyParts(at token) error {
	return p.errorAt(at, "a table's name has at most two parts: database.table", "a name that contains a dot stands in quotes")
}

func (p *parser) string(what string) (string, error) {
	t := p.cur()
	if t.kind != str {
		return "", p.unexpected(what)
	}
	p.pos++
	return t.text, nil
}

// integer reads a number without sign that fits into 31 bits.
func (p *parser) integer(what string) (int, error) {
	t := p.cur()
	if t.kind != number {
		return 0, p.unexpected(what)
	}
	n, err := strconv.ParseInt(t.text, 10, 32)
	if err != nil {
		return 0, p.errorAt(t, "expected "+what+", found "+t.describe(), "")
	}
	p.pos++
	return int(n), nil
}

// literal reads a constant: NULL, TRUE, FALSE, a number, a string, DATE '…' and the like, or CAST of one, which counts by its
// text.
func (p *parser) literal() (Literal, error) {
	start := p.cur()
	if p.accept("CAST", "(") {
		l, err := p.literal()
		if err == nil {
			err = p.expect("AS")
		}
		if err == nil {
			_, err = p.typeName()
		}
		if err == nil {
			err = p.expect(")")
		}
		l.Span = p.span(start)
		return l, err
	}
	done := func(k LiteralKind, text string) (Literal, error) {
		return Literal{Kind: k, Text: text, Span: p.span(start)}, nil
	}
	switch {
	case p.accept("NULL"):
		return done(Null, "")
	case p.accept("TRUE"):
		return done(Bool, "true")
	case p.accept("FALSE"):
		return done(Bool, "false")
	case start.kind == str:
		p.pos++
		return done(String, start.text)
	case start.kind == number:
		p.pos++
		return done(Number, strings.ReplaceAll(start.text, "_", ""))
	case (start.is("-") || start.is("+")) && p.at(1).kind == number:
		n := p.at(1)
		p.pos += 2
		sign := ""
		if start.is("-") {
			sign = "-"
		}
		return done(Number, sign+strings.ReplaceAll(n.text, "_", ""))
	case start.kind == word && p.at(1).kind == str && isLiteralPrefix(start.text):
		v := p.at(1)
		p.pos += 2
		return done(String, v.text)
	}
	return Literal{}, p.unexpected("a constant")
}

func isLiteralPrefix(s string) bool {
	switch strings.ToUpper(s) {
	case "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_LTZ", "X", "DECIMAL":
		return true
	}
	return false
}

// list reads ( item, item, … ).
func (p *parser) list(item func() error) error {
	if err := p.expect("("); err != nil {
		return err
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if p.accept(")") {
			return nil
		}
		if !p.accept(",") {
			return p.unexpected("',' or ')'")
		}
	}
}

// names reads ( a, b, … ).
func (p *parser) names(what string) ([]string, error) {
	var out []string
	err := p.list(func() error {
		id, err := p.ident(what)
		out = append(out, id.Name)
		return err
	})
	return out, err
}

// options reads ( 'key' = 'value', … ). Keys may be words with dots, values numbers or words.
func (p *parser) options() ([]Option, error) {
	var out []Option
	err := p.list(func() error {
		if len(out) == 0 && p.is(")") {
			return p.unexpected("'key' = 'value'")
		}
		key, at, err := p.optionKey()
		if err != nil {
			return err
		}
		for _, o := range out {
			if o.Key == key {
				return p.errorAt(at, "option '"+key+"' is given twice", "")
			}
		}
		if err := p.expect("="); err != nil {
			return err
		}
		v := p.cur()
		text := v.text
		switch {
		case v.kind == str, v.kind == number, v.kind == word:
			p.pos++
		case v.is("-") && p.at(1).kind == number:
			text = "-" + p.at(1).text
			p.pos += 2
		default:
			return p.unexpected("a value in quotes")
		}
		out = append(out, Option{Key: key, Value: text})
		return nil
	})
	return out, err
}

// optionKey reads 'a-key' or a.key or "a-key". Words may have - and . between them.
func (p *parser) optionKey() (string, token, error) {
	t := p.cur()
	if t.kind == str {
		p.pos++
		return t.text, t, nil
	}
	if !t.isName() {
		return "", t, p.unexpected("an option's name in quotes")
	}
	key := p.advance().text
	for (p.is(".") || p.is("-")) && p.at(1).isName() {
		key += p.advance().text + p.advance().text
	}
	return key, t, nil
}

// partition reads ( dt = '…', hr ).
func (p *parser) partition() ([]PartitionValue, error) {
	var out []PartitionValue
	err := p.list(func() error {
		id, err := p.ident("a partition column")
		if err != nil {
			return err
		}
		v := PartitionValue{Column: id.Name}
		if p.accept("=") {
			l, err := p.literal()
			if err != nil {
				return err
			}
			v.Value = &l
		}
		out = append(out, v)
		return nil
	})
	return out, err
}

func (p *parser) ifNotExists() (bool, error) {
	if !p.accept("IF") {
		return false, nil
	}
	if p.accept("NOT", "EXISTS") {
		return true, nil
	}
	return false, p.unexpected("NOT EXISTS")
}

func (p *parser) ifExists() (bool, error) {
	if !p.accept("IF") {
		return false, nil
	}
	return true, p.expect("EXISTS")
}
