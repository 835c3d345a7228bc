package parse

import "strings"

// insert reads INSERT INTO | OVERWRITE.
func (p *parser) insert() (Statement, error) {
	start := p.advance()
	s := &Insert{}
	switch {
	case p.accept("OVERWRITE"):
		s.Overwrite = true
		p.accept("INTO")
	case p.is("OR"):
		return nil, p.errorAt(p.cur(), "INSERT OR "+strings.ToUpper(p.at(1).text)+" is not supported", "INSERT INTO a table with a primary key replaces rows of the same key")
	case !p.accept("INTO"):
		return nil, p.unexpected("INTO or OVERWRITE")
	}
	p.accept("TABLE")
	var err error
	if s.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	if s.Options, err = p.hintOptions(); err != nil {
		return nil, err
	}
	if p.accept("PARTITION") {
		if s.Partition, err = p.partition(); err != nil {
			return nil, err
		}
	}
	if next := p.at(1); p.is("(") && !next.is("(") && !(next.kind == word && isQueryStart(next.text)) {
		err := p.list(func() error {
			id, err := p.ident("a column")
			s.Columns = append(s.Columns, id)
			return err
		})
		if err != nil {
			return nil, err
		}
		if p.is("PARTITION") {
			return nil, p.errorAt(p.cur(), "PARTITION stands before the columns", "INSERT INTO t PARTITION (…) (columns) …")
		}
	}
	if at := p.cur(); p.accept("BY", "NAME") {
		if s.ByName = true; s.Columns != nil {
			return nil, p.errorAt(at, "a list of columns and BY NAME exclude each other", "leave one of them out")
		}
	} else {
		p.accept("BY", "POSITION")
	}
	if at := p.cur(); p.accept("DEFAULT", "VALUES") {
		if s.Defaults = true; s.ByName || s.Columns != nil {
			return nil, p.errorAt(at, "DEFAULT VALUES are of all columns", "leave the list of columns or BY NAME out")
		}
		s.Span = p.span(start)
		return s, p.end()
	}
	if p.cur().kind == eof {
		return nil, p.unexpected("SELECT or VALUES")
	}
	defaults, values, err := p.insertValues()
	if err != nil {
		return nil, err
	}
	if s.Query, err = p.query(); err != nil {
		return nil, err
	}
	s.Query.Defaults, s.Query.Values = defaults, values
	s.Span = p.span(start)
	return s, nil
}

// insertValues looks ahead over the query of an INSERT: it finds the values of VALUES, and clauses that other
// databases have behind the query.
func (p *parser) insertValues() (defaults, values []Value, err error) {
	isValues := p.is("VALUES")
	depth, column, first := 0, 0, 0
	item := func(end int) { // the value that ends before this token
		v := Value{Column: column, Span: Span{p.toks[first].start, p.toks[end-1].end}}
		if end == first+1 && p.toks[first].is("DEFAULT") {
			defaults = append(defaults, v)
		} else if end > first {
			values = append(values, v)
		}
		column, first = column+1, end+1
	}
	for i := p.pos; p.toks[i].kind != eof; i++ {
		switch t := p.toks[i]; {
		case t.is("("), t.is("["), t.is("{"):
			if depth++; depth == 1 {
				column, first = 0, i+1
			}
		case t.is(")"), t.is("]"), t.is("}"):
			if depth--; depth == 0 && isValues {
				item(i)
			}
		case depth == 1 && isValues && t.is(","):
			item(i)
		case depth == 0 && t.is("RETURNING"):
			return nil, nil, p.errorAt(t, "RETURNING is not supported", "")
		case depth == 0 && t.is("ON") && (p.toks[i+1].is("CONFLICT") || p.toks[i+1].is("DUPLICATE")):
			return nil, nil, p.errorAt(t, "ON "+strings.ToUpper(p.toks[i+1].text)+" is not supported", "INSERT INTO a table with a primary key replaces rows of the same key")
		}
	}
	return defaults, values, nil
}

// hintOptions takes /*+ OPTIONS('k' = 'v') */ if it comes next.
func (p *parser) hintOptions() ([]Option, error) {
	if p.cur().kind != hint {
		return nil, nil
	}
	return p.hint(p.advance())
}

// hint reads the inside of a hint. Hints other than OPTIONS are left to nobody: they are comments.
func (p *parser) hint(t token) ([]Option, error) {
	toks, err := lex(t.text)
	if err != nil {
		err := err.(*Error)
		return nil, &Error{Msg: err.Msg, Text: p.text, Pos: t.start + 3 + err.Pos}
	}
	for i := range toks {
		toks[i].start += t.start + 3
		toks[i].end += t.start + 3
	}
	in := &parser{text: p.text, toks: toks}
	if !in.accept("OPTIONS") {
		return nil, nil
	}
	return in.options()
}

func (p *parser) alias() (string, error) {
	if p.accept("AS") {
		id, err := p.ident("an alias")
		return id.Name, err
	}
	if t := p.cur(); t.kind == quoted || t.kind == word && !endsTable(t.text) {
		p.pos++
		return t.text, nil
	}
	return "", nil
}

// delete reads DELETE FROM t [AS a] [WHERE …].
func (p *parser) delete() (Statement, error) {
	start := p.advance()
	if err := p.expect("FROM"); err != nil {
		return nil, err
	}
	s := &Delete{}
	var err error
	if s.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	if s.Alias, err = p.alias(); err != nil {
		return nil, err
	}
	if p.is("USING") {
		return nil, p.errorAt(p.cur(), "DELETE … USING is not supported", "write WHERE key IN (SELECT …)")
	}
	if s.Where, err = p.where(); err != nil {
		return nil, err
	}
	s.Span = p.span(start)
	return s, p.end()
}

// where reads WHERE and a condition up to the end of the statement.
func (p *parser) where() (where *Query, err error) {
	if p.accept("WHERE") {
		q, err := p.expression("RETURNING")
		if err != nil {
			return nil, err
		}
		where = &q
	}
	if p.is("RETURNING") {
		return nil, p.errorAt(p.cur(), "RETURNING is not supported", "")
	}
	return where, nil
}

// update reads UPDATE t [AS a] SET … [WHERE …].
func (p *parser) update() (Statement, error) {
	start := p.advance()
	s := &Update{}
	var err error
	if s.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	if s.Alias, err = p.alias(); err != nil {
		return nil, err
	}
	if err := p.expect("SET"); err != nil {
		return nil, err
	}
	for {
		id, err := p.ident("a column")
		if err != nil {
			return nil, err
		}
		if p.is(".") && p.at(1).isName() && (strings.EqualFold(id.Name, s.Alias) || strings.EqualFold(id.Name, s.Table.Table)) {
			p.pos++
			if id, err = p.ident("a column"); err != nil {
				return nil, err
			}
		}
		if p.is(".") || p.is("[") {
			return nil, p.errorAt(p.cur(), "parts of a column cannot be set", "set the whole column")
		}
		for _, a := range s.Set {
			if strings.EqualFold(a.Column.Name, id.Name) {
				return nil, &Error{Msg: "column " + id.Name + " is set twice", Text: p.text, Pos: id.Start}
			}
		}
		if err := p.expect("="); err != nil {
			return nil, err
		}
		e, err := p.expression(",", "WHERE", "FROM", "RETURNING")
		if err != nil {
			return nil, err
		}
		s.Set = append(s.Set, Assignment{Column: id, Expr: e})
		if !p.accept(",") {
			break
		}
	}
	if p.is("FROM") {
		return nil, p.errorAt(p.cur(), "UPDATE … FROM is not supported", "use a subquery: SET a = (SELECT …)")
	}
	if s.Where, err = p.where(); err != nil {
		return nil, err
	}
	s.Span = p.span(start)
	return s, p.end()
}
