package parse

import "github.com/tarnlake/tarn/types"

// createTable reads what follows CREATE TABLE.
func (p *parser) createTable(start token) (Statement, error) {
	s := &CreateTable{}
	var err error
	if s.IfNotExists, err = p.ifNotExists(); err != nil {
		return nil, err
	}
	if s.Name, err = p.tableName(); err != nil {
		return nil, err
	}
	if p.is("(") {
		if err := p.list(func() error { return p.tableElement(s) }); err != nil {
			return nil, err
		}
	}
	if err := p.tableClauses(s); err != nil {
		return nil, err
	}
	if p.accept("AS") {
		q, err := p.query()
		if err != nil {
			return nil, err
		}
		s.As = &q
	}
	s.Span = p.span(start)
	if s.Like != nil && (s.Fields != nil || s.PrimaryKey != nil || s.PartitionedBy != nil || s.As != nil) {
		return nil, &Error{
			Msg: "LIKE takes columns, keys and partitions from another table, and goes with COMMENT and WITH only", Text: p.text, Pos: s.Like.Start,
			Hint: "ALTER the table afterwards, or write its columns; SHOW CREATE TABLE tells those of the other one",
		}
	}
	if s.As == nil && s.Like == nil && len(s.Fields) == 0 {
		return nil, p.unexpected("the columns in parentheses, LIKE, or AS and a query")
	}
	return s, p.end()
}

// tableClauses reads COMMENT, PARTITIONED BY, WITH, LIKE, PRIMARY KEY in any order.
func (p *parser) tableClauses(s *CreateTable) error {
	for {
		at := p.cur()
		var err error
		switch {
		case p.accept("COMMENT"):
			p.accept("=")
			s.Comment, err = p.string("a comment in quotes")
		case p.is("PARTITIONED", "BY"), p.is("PARTITION", "BY"):
			p.pos += 2
			if s.PartitionedBy != nil {
				return p.errorAt(at, "PARTITIONED BY is given twice", "")
			}
			s.PartitionedBy, err = p.names("a partition column")
		case p.is("PRIMARY", "KEY"):
			err = p.primaryKey(s)
		case p.is("WITH"), p.is("TBLPROPERTIES"), p.is("OPTIONS"):
			p.advance()
			if s.Options != nil {
				return p.errorAt(at, "WITH is given twice", "")
			}
			s.Options, err = p.options()
		case p.accept("LIKE"):
			var n TableName
			n, err = p.tableName()
			s.Like = &n
		case p.accept("USING"): // as Spark writes it
			if p.acceptOneOf("PAIMON", "TARN") == "" {
				return p.errorAt(p.cur(), "tables of "+p.cur().describe()+" are not supported", "leave USING out; the option 'file.format' is the format of data files")
			}
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tableElement reads a column, or PRIMARY KEY (…), or LIKE t.
func (p *parser) tableElement(s *CreateTable) error {
	t := p.cur()
	switch {
	case p.is("CONSTRAINT") && p.at(2).is("PRIMARY"):
		p.pos += 2
		return p.primaryKey(s)
	case p.is("PRIMARY", "KEY"):
		return p.primaryKey(s)
	case p.accept("LIKE") && p.cur().isName():
		n, err := p.tableName()
		s.Like = &n
		return err
	case p.is("WATERMARK", "FOR"):
		return p.errorAt(t, "WATERMARK is not supported", "leave it out: it concerns Flink's streaming jobs only")
	case p.is("UNIQUE", "("), p.is("CHECK", "("), p.is("FOREIGN", "KEY"), p.is("CONSTRAINT") && p.at(1).isName() && p.at(2).kind == word && (p.at(2).is("UNIQUE") || p.at(2).is("CHECK") || p.at(2).is("FOREIGN")):
		return p.errorAt(t, "only PRIMARY KEY constraints are supported", "leave this one out")
	}
	id, err := p.ident("a column")
	if err != nil {
		return err
	}
	for _, f := range s.Fields {
		if f.Name == id.Name {
			return p.errorAt(t, "column "+id.Name+" is given twice", "")
		}
	}
	f := types.Field{Name: id.Name}
	if p.is("AS") {
		return p.errorAt(p.cur(), "computed columns are not supported", "compute it where you insert, or in a sync job under sink.computed")
	}
	if f.Type, err = p.typeName(); err != nil {
		return err
	}
	key, err := p.columnClauses(&f)
	if err != nil {
		return err
	}
	if key {
		if s.PrimaryKey != nil {
			return p.errorAt(t, "the primary key is given twice", "write PRIMARY KEY (a, b) for one of several columns")
		}
		s.PrimaryKey = []string{id.Name}
	}
	s.Fields = append(s.Fields, f)
	return nil
}

// columnClauses reads what may follow a column's type, and whether PRIMARY KEY was there.
func (p *parser) columnClauses(f *types.Field) (key bool, err error) {
	for {
		at := p.cur()
		switch {
		case p.accept("NOT", "NULL"):
			f.Type.NotNull = true
		case p.accept("NULL"):
		case p.accept("COMMENT"):
			if f.Description, err = p.string("a comment in quotes"); err != nil {
				return key, err
			}
		case p.accept("DEFAULT"):
			l, err := p.literal()
			if err != nil {
				return key, err
			}
			if l.Kind != Null {
				f.Default = &l.Text
			}
		case p.accept("PRIMARY", "KEY"):
			key = true
			f.Type.NotNull = true
			p.accept("NOT", "ENFORCED")
		case p.is("UNIQUE"), p.is("CHECK"), p.is("REFERENCES"), p.is("COLLATE"), p.is("GENERATED"), p.is("METADATA"), p.is("AS"):
			return key, p.errorAt(at, at.describe()+" is not supported for columns", "leave it out")
		default:
			return key, nil
		}
	}
}

// primaryKey reads PRIMARY KEY (…) [NOT ENFORCED].
func (p *parser) primaryKey(s *CreateTable) error {
	at := p.cur()
	p.pos += 2
	if s.PrimaryKey != nil {
		return p.errorAt(at, "the primary key is given twice", "")
	}
	names, err := p.names("a key column")
	if err != nil {
		return err
	}
	s.PrimaryKey = names
	p.accept("NOT", "ENFORCED")
	return nil
}
