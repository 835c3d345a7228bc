package parse

import "strings"

// statement reads one statement.
func (p *parser) statement() (Statement, error) {
	t := p.cur()
	if t.kind != word {
		return p.duckdb()
	}
	switch strings.ToUpper(t.text) {
	case "CREATE":
		return p.create()
	case "DROP":
		return p.drop()
	case "ALTER":
		return p.alter()
	case "TRUNCATE":
		return p.truncate()
	case "INSERT":
		return p.insert()
	case "DELETE":
		return p.delete()
	case "UPDATE":
		return p.update()
	case "SHOW":
		return p.show()
	case "DESCRIBE", "DESC":
		return p.describeStatement()
	case "USE":
		return p.use()
	case "CALL":
		return p.call()
	case "SET", "RESET":
		return p.set()
	case "BEGIN", "START", "COMMIT", "ROLLBACK", "ABORT", "END":
		return nil, p.errorAt(t, strings.ToUpper(t.text)+": transactions over several statements are not supported", "each statement that writes is one commit; a snapshot is read by FOR VERSION AS OF")
	case "COMMENT":
		return nil, p.errorAt(t, "COMMENT ON is not supported", "write ALTER TABLE t COMMENT '…', or ALTER TABLE t ALTER COLUMN c COMMENT '…'")
	case "MERGE":
		return nil, p.errorAt(t, "MERGE INTO is not supported", "INSERT INTO a table with a primary key updates rows that exist; DELETE removes them")
	}
	return p.duckdb()
}

// duckdb is a statement for DuckDB.
func (p *parser) duckdb() (Statement, error) {
	q, err := p.query()
	if err != nil {
		return nil, err
	}
	return &q, nil
}

func (p *parser) create() (Statement, error) {
	start := p.advance()
	switch {
	case p.is("DATABASE"), p.is("SCHEMA"):
		p.advance()
		return p.createDatabase(start)
	case p.accept("TABLE"):
		return p.createTable(start)
	case p.is("EXTERNAL", "TABLE"), p.is("OR", "REPLACE", "TABLE"):
		what := "EXTERNAL"
		if p.is("OR") {
			what = "OR REPLACE"
		}
		return nil, p.errorAt(p.cur(), "CREATE "+what+" TABLE is not supported", "write CREATE TABLE [IF NOT EXISTS], after DROP TABLE IF EXISTS where the old one shall go")
	}
	// CREATE TEMP TABLE, VIEW, MACRO, SECRET, …: DuckDB's.
	p.pos = 0
	return p.duckdb()
}

func (p *parser) createDatabase(start token) (Statement, error) {
	s := &CreateDatabase{}
	var err error
	if s.IfNotExists, err = p.ifNotExists(); err != nil {
		return nil, err
	}
	id, err := p.ident("a database")
	if err != nil {
		return nil, err
	}
	s.Name = id.Name
	if p.accept("COMMENT") {
		if s.Comment, err = p.string("a comment in quotes"); err != nil {
			return nil, err
		}
	}
	if p.acceptOneOf("WITH", "DBPROPERTIES") != "" {
		p.accept("DBPROPERTIES")
		if s.Options, err = p.options(); err != nil {
			return nil, err
		}
	}
	s.Span = p.span(start)
	return s, p.end()
}

func (p *parser) drop() (Statement, error) {
	start := p.advance()
	switch {
	case p.is("DATABASE"), p.is("SCHEMA"):
		p.advance()
		s := &DropDatabase{}
		var err error
		if s.IfExists, err = p.ifExists(); err != nil {
			return nil, err
		}
		id, err := p.ident("a database")
		if err != nil {
			return nil, err
		}
		s.Name = id.Name
		s.Cascade = p.acceptOneOf("CASCADE", "RESTRICT") == "CASCADE"
		s.Span = p.span(start)
		return s, p.end()
	case p.accept("TABLE"):
		s := &DropTable{}
		var err error
		if s.IfExists, err = p.ifExists(); err != nil {
			return nil, err
		}
		for len(s.Names) == 0 || p.accept(",") {
			n, err := p.tableName()
			if err != nil {
				return nil, err
			}
			s.Names = append(s.Names, n)
		}
		p.acceptOneOf("CASCADE", "RESTRICT", "PURGE")
		s.Span = p.span(start)
		return s, p.end()
	}
	p.pos = 0
	return p.duckdb()
}

func (p *parser) truncate() (Statement, error) {
	start := p.advance()
	p.accept("TABLE")
	s := &Truncate{}
	var err error
	if s.Name, err = p.tableName(); err != nil {
		return nil, err
	}
	if p.accept("PARTITION") {
		if s.Partition, err = p.partition(); err != nil {
			return nil, err
		}
	}
	s.Span = p.span(start)
	return s, p.end()
}

func (p *parser) show() (Statement, error) {
	start := p.advance()
	s := &Show{}
	var err error
	switch {
	case p.is("DATABASES"), p.is("SCHEMAS"):
		p.advance()
		s.What = ShowDatabases
	case p.accept("TABLES"):
		s.What = ShowTables
		if p.acceptOneOf("IN", "FROM") != "" {
			id, err := p.ident("a database")
			if err != nil {
				return nil, err
			}
			s.Database = id.Name
		}
	case p.accept("CREATE", "TABLE"):
		s.What = ShowCreateTable
		s.Table, err = p.tableName()
	case p.accept("PARTITIONS"):
		s.What = ShowPartitions
		p.acceptOneOf("IN", "FROM")
		s.Table, err = p.tableName()
	case p.is("OPTIONS"), p.is("TBLPROPERTIES"):
		p.advance()
		s.What = ShowOptions
		p.acceptOneOf("IN", "FROM")
		s.Table, err = p.tableName()
	case p.accept("COLUMNS"):
		s.What = ShowColumns
		p.acceptOneOf("IN", "FROM")
		s.Table, err = p.tableName()
	case p.accept("PROCEDURES"):
		s.What = ShowProcedures
	default:
		p.pos = 0
		return p.duckdb()
	}
	if err != nil {
		return nil, err
	}
	if p.accept("LIKE") {
		if s.Like, err = p.string("a pattern in quotes"); err != nil {
			return nil, err
		}
	}
	s.Span = p.span(start)
	return s, p.end()
}

func (p *parser) describeStatement() (Statement, error) {
	start := p.advance()
	s := &Describe{}
	database := (p.is("DATABASE") || p.is("SCHEMA")) && p.at(1).kind != eof && !p.at(1).is(".")
	if database {
		p.advance()
	}
	s.Extended = p.acceptOneOf("EXTENDED", "FORMATTED") != ""
	if database {
		id, err := p.ident("a database")
		s.Database, s.Span = id.Name, p.span(start)
		if err != nil {
			return nil, err
		}
		return s, p.end()
	}
	p.accept("TABLE")
	if next := p.cur(); !next.isName() || next.kind == word && isQueryStart(next.text) {
		p.pos = 0
		return p.duckdb()
	}
	var err error
	if s.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	s.Span = p.span(start)
	return s, p.end()
}

func (p *parser) use() (Statement, error) {
	start := p.advance()
	p.acceptOneOf("DATABASE", "SCHEMA")
	id, err := p.ident("a database")
	if err != nil {
		return nil, err
	}
	return &Use{Span: p.span(start), Database: id.Name}, p.end()
}

// call reads CALL sys.name(…). A CALL without sys. is taken too: DuckDB's own need none here.
func (p *parser) call() (Statement, error) {
	start := p.advance()
	id, err := p.ident("a procedure")
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(id.Name, "sys") && p.accept(".") {
		if id, err = p.ident("a procedure"); err != nil {
			return nil, err
		}
	}
	if p.is(".") {
		return nil, p.errorAt(p.cur(), "there are no procedures of "+id.Name, "procedures are called sys.name(…); SHOW PROCEDURES lists them")
	}
	s := &Call{Name: strings.ToLower(id.Name)}
	if p.is("(") && p.at(1).is(")") {
		p.pos += 2
		s.Span = p.span(start)
		return s, p.end()
	}
	err = p.list(func() error {
		var a Arg
		if p.cur().isName() && p.at(1).is("=>") {
			a.Name = p.advance().text
			p.advance()
		} else if n := len(s.Args); n > 0 && s.Args[n-1].Name != "" {
			return p.errorAt(p.cur(), "an argument without a name cannot follow one with a name", "write name => value")
		}
		var err error
		if a.Value, err = p.literal(); err != nil {
			return err
		}
		s.Args = append(s.Args, a)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Span = p.span(start)
	return s, p.end()
}

func (p *parser) set() (Statement, error) {
	start := p.advance()
	key := p.cur()
	if key.kind != str {
		p.pos = 0
		return p.duckdb()
	}
	p.advance()
	s := &Set{Key: key.text, Reset: start.is("RESET")}
	if !s.Reset {
		if err := p.expect("="); err != nil {
			return nil, err
		}
		v, err := p.literal()
		if err != nil {
			return nil, err
		}
		s.Value = v.Text
	}
	s.Span = p.span(start)
	return s, p.end()
}

// ForEngine reads a statement of a script as text for DuckDB, whatever it is: one about a table of DuckDB's own.
func ForEngine(script string, r Span) (*Query, error) {
	toks, err := lex(script)
	if err != nil {
		return nil, err
	}
	var own []token
	for _, t := range toks {
		if t.start >= r.Start && t.end <= r.End && t.kind != eof {
			own = append(own, t)
		}
	}
	p := &parser{text: script, toks: append(own, token{kind: eof, start: r.End, end: r.End})}
	q := &Query{}
	w := &walker{p: p, q: q}
	start := p.cur()
	q.Verb = strings.ToUpper(start.text)
	if err := w.query(nil); err != nil {
		return nil, err
	}
	w.done(start)
	return q, nil
}
