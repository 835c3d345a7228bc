package parse

import "strings"

// isQueryStart says whether a word begins a query.
func isQueryStart(s string) bool {
	switch strings.ToUpper(s) {
	case "SELECT", "WITH", "FROM", "VALUES", "TABLE", "PIVOT", "UNPIVOT", "PIVOT_WIDER", "PIVOT_LONGER":
		return true
	}
	return false
}

// endsTable says whether a word behind a table cannot be its alias.
func endsTable(s string) bool {
	switch strings.ToUpper(s) {
	case "ON", "USING", "WHERE", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "ASOF", "POSITIONAL", "SEMI", "ANTI",
		"OUTER", "LATERAL", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "WINDOW", "QUALIFY", "SELECT",
		"TABLESAMPLE", "PIVOT", "UNPIVOT", "SET", "RETURNING", "FETCH", "FOR", "TO", "WITH", "AS", "FROM", "VALUES", "INTO", "AND", "OR", "END":
		return true
	}
	return false
}

// endsFrom says whether a word ends a FROM clause, so that commas no longer stand between tables.
func endsFrom(s string) bool {
	switch strings.ToUpper(s) {
	case "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "WINDOW", "QUALIFY", "SELECT", "RETURNING", "FETCH":
		return true
	}
	return false
}

// scope holds the names of common table expressions that hide tables.
type scope struct {
	name  string
	outer *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if strings.EqualFold(s.name, name) {
			return true
		}
	}
	return false
}

// query reads what is left of the statement as text for DuckDB.
func (p *parser) query() (Query, error) {
	start := p.cur()
	q := Query{}
	if start.kind == word {
		q.Verb = strings.ToUpper(start.text)
	}
	w := &walker{p: p, q: &q}
	if err := w.top(); err != nil {
		return q, err
	}
	if p.is(")") {
		return q, p.errorAt(p.cur(), "this ')' closes nothing", "")
	}
	w.done(start)
	return q, nil
}

// expression reads an expression up to one of the words or symbols, which is not taken, or the end.
func (p *parser) expression(until ...string) (Query, error) {
	start := p.cur()
	q := Query{}
	w := &walker{p: p, q: &q, until: until}
	if err := w.expr(nil, true); err != nil {
		return q, err
	}
	if p.is(")") {
		return q, p.errorAt(p.cur(), "this ')' closes nothing", "")
	}
	if p.cur().start == start.start {
		return q, p.unexpected("an expression")
	}
	w.done(start)
	return q, nil
}

// walker finds the tables of a query.
type walker struct {
	p     *parser
	q     *Query
	until []string
}

// done sets the span, and collects names in backquotes.
func (w *walker) done(start token) {
	w.q.Span = w.p.span(start)
	for _, t := range w.p.toks {
		if t.start >= w.q.Start && t.end <= w.q.End && t.kind == quoted && w.p.text[t.start] == '`' {
			w.q.Backquotes = append(w.q.Backquotes, Ident{Name: t.text, Quoted: true, Span: Span{t.start, t.end}})
		}
	}
}

// top reads a whole statement: a query, or one that has a query or a table somewhere.
func (w *walker) top() error {
	p := w.p
	switch {
	case p.accept("EXPLAIN"):
		p.accept("ANALYZE")
		if p.is("(") && !isQueryStart(p.at(1).text) {
			if err := w.group(nil); err != nil {
				return err
			}
		}
		w.q.Body = p.cur().start
		for _, v := range []string{"INSERT", "DELETE", "UPDATE", "MERGE", "ALTER", "CALL"} {
			if p.is(v) {
				return p.errorAt(p.cur(), "EXPLAIN of "+v+" is not supported", "explain its SELECT")
			}
		}
		return w.top()
	case p.is("DESCRIBE"), p.is("DESC"), p.is("SUMMARIZE"):
		p.advance()
		if p.cur().kind == word && isQueryStart(p.cur().text) || p.is("(") {
			return w.query(nil)
		}
		return w.alone()
	case p.accept("COPY"):
		if p.is("(") && isQueryStart(p.at(1).text) {
			if err := w.group(nil); err != nil {
				return err
			}
			return w.expr(nil, false)
		}
		return w.alone()
	case p.is("CREATE"), p.is("PREPARE"):
		w.q.Kept = p.is("PREPARE")
		for p.cur().kind != eof && !p.is("(") && !p.accept("AS") {
			w.q.Kept = w.q.Kept || p.is("VIEW") || p.is("MACRO") || p.is("FUNCTION")
			p.advance()
		}
		if p.cur().kind == word && isQueryStart(p.cur().text) {
			return w.query(nil)
		}
		return w.createRest()
	case p.cur().kind == word && isQueryStart(p.cur().text), p.is("("):
		return w.query(nil)
	}
	return w.expr(nil, false)
}

// alone reads a table that stands in no FROM, and what follows it.
func (w *walker) alone() error {
	p := w.p
	n := len(w.q.Refs)
	if p.cur().isName() {
		if err := w.name(nil); err != nil {
			return err
		}
	}
	start := p.pos
	if err := w.expr(nil, false); err != nil {
		return err
	}
	for i := start; n < len(w.q.Refs) && i < p.pos; i++ {
		w.q.Refs[n].Target = w.q.Refs[n].Target || p.toks[i].is("FROM") && w.q.Verb == "COPY"
	}
	return nil
}

// createRest reads on from a parenthesis: columns of a view or arguments of a macro, then AS.
func (w *walker) createRest() error {
	for w.p.is("(") {
		if err := w.group(nil); err != nil {
			return err
		}
	}
	if w.p.accept("AS") {
		w.p.accept("TABLE")
		if w.p.cur().kind == word && isQueryStart(w.p.cur().text) {
			return w.query(nil)
		}
	}
	return w.expr(nil, false)
}

// query reads a query up to the parenthesis that closes it, which is not taken, or to the end.
func (w *walker) query(s *scope) error {
	p := w.p
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	start := p.pos
	inFrom := false
	for {
		t := p.cur()
		switch {
		case t.kind == eof, t.is(")"):
			return nil
		case t.is("WITH") && (p.pos == start || p.toks[p.pos-1].is("(")) && !p.is("WITH", "ORDINALITY"):
			p.advance()
			var err error
			if s, err = w.ctes(s); err != nil {
				return err
			}
			start = p.pos
			if p.is("INSERT") {
				return p.errorAt(p.cur(), "WITH before INSERT is not supported", "write INSERT INTO t WITH … SELECT …")
			}
			if p.is("DELETE") || p.is("UPDATE") || p.is("MERGE") {
				return p.errorAt(p.cur(), "WITH before "+strings.ToUpper(p.cur().text)+" is not supported", "write WHERE key IN (WITH … SELECT …)")
			}
		case t.is("FROM") && !w.distinctFrom():
			p.advance()
			inFrom = true
			if err := w.factor(s); err != nil {
				return err
			}
		case t.is("JOIN"), inFrom && t.is(","):
			p.advance()
			if err := w.factor(s); err != nil {
				return err
			}
		case t.is("TABLE") && (p.pos == start || w.afterSetOp()) && p.at(1).isName():
			p.advance()
			if err := w.name(s); err != nil {
				return err
			}
		case (t.is("PIVOT") || t.is("UNPIVOT")) && (p.pos == start || w.afterSetOp()) && p.at(1).isName():
			p.advance()
			if err := w.factor(s); err != nil {
				return err
			}
		default:
			if t.kind == word && endsFrom(t.text) && !w.afterDot() {
				inFrom = false
			}
			if err := w.item(s); err != nil {
				return err
			}
		}
	}
}

// distinctFrom says whether this FROM belongs to IS [NOT] DISTINCT FROM.
func (w *walker) distinctFrom() bool {
	i := w.p.pos
	return i >= 2 && w.p.toks[i-1].is("DISTINCT") && (w.p.toks[i-2].is("IS") || w.p.toks[i-2].is("NOT"))
}

func (w *walker) afterDot() bool { return w.p.pos > 0 && w.p.toks[w.p.pos-1].is(".") }

func (w *walker) afterSetOp() bool {
	if w.p.pos == 0 {
		return false
	}
	t := w.p.toks[w.p.pos-1]
	return t.is("UNION") || t.is("ALL") || t.is("INTERSECT") || t.is("EXCEPT") || t.is("NAME")
}

// item takes one token, a name with dots, or what is in parentheses.
func (w *walker) item(s *scope) error {
	p := w.p
	t := p.cur()
	switch {
	case t.is("("), t.is("["), t.is("{"):
		return w.group(s)
	case t.isName() && p.at(1).is(".") && p.at(2).isName() && p.at(3).is("."):
		w.q.Names = append(w.q.Names, NameRef{Database: t.text, Table: p.at(2).text, Span: Span{t.start, p.at(1).end}})
		p.pos += 2
		return nil
	case t.isName() && p.at(1).is("."):
		p.pos += 2
		for p.cur().isName() && p.at(1).is(".") {
			p.pos += 2
		}
		if p.cur().isName() {
			p.pos++
		}
		return nil
	}
	p.advance()
	return nil
}

// group takes ( … ): a query or an expression.
func (w *walker) group(s *scope) error {
	p := w.p
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	open := p.advance()
	var err error
	trim := p.pos > 1 && p.toks[p.pos-2].is("TRIM")
	if first := p.cur(); open.is("(") && first.kind == word && isQueryStart(first.text) && !trim {
		err = w.query(s)
	} else {
		err = w.expr(s, false)
	}
	if err != nil {
		return err
	}
	return w.closing(open)
}

func (w *walker) closing(open token) error {
	want := map[string]string{"(": ")", "[": "]", "{": "}"}[open.text]
	if w.p.accept(want) {
		return nil
	}
	if w.p.cur().kind == eof {
		return &Error{Msg: "this '" + open.text + "' is not closed", Text: w.p.text, Pos: open.start, Incomplete: true}
	}
	return w.p.unexpected("'" + want + "'")
}

// expr reads on to a closing parenthesis, which is not taken, the end, or (outermost) a word of until.
func (w *walker) expr(s *scope, outermost bool) error {
	p := w.p
	for {
		t := p.cur()
		if t.kind == eof || t.is(")") || t.is("]") || t.is("}") {
			return nil
		}
		if outermost {
			for _, u := range w.until {
				if t.is(u) && !(u == "FROM" && w.distinctFrom()) {
					return nil
				}
			}
		}
		if err := w.item(s); err != nil {
			return err
		}
	}
}

// ctes reads the expressions behind WITH and gives the scope with their names.
func (w *walker) ctes(s *scope) (*scope, error) {
	p := w.p
	recursive := p.accept("RECURSIVE")
	for {
		id, err := p.ident("a name")
		if err != nil {
			return s, err
		}
		inner := s
		if recursive {
			inner = &scope{name: id.Name, outer: s}
		}
		for !p.is("AS") && p.cur().kind != eof {
			if err := w.item(s); err != nil { // (columns), USING KEY (…)
				return s, err
			}
			if p.is(")") {
				break
			}
		}
		if err := p.expect("AS"); err != nil {
			return s, err
		}
		p.accept("NOT")
		p.accept("MATERIALIZED")
		if !p.is("(") {
			return s, p.unexpected("'(' and a query")
		}
		if err := w.group(inner); err != nil {
			return s, err
		}
		s = &scope{name: id.Name, outer: s}
		if !p.accept(",") {
			return s, nil
		}
	}
}
