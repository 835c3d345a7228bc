package parse

import (
	"slices"

	"github.com/tarnlake/tarn/types"
)

func (p *parser) alter() (Statement, error) {
	start := p.advance()
	if !p.accept("TABLE") {
		p.pos = 0
		return p.duckdb()
	}
	s := &AlterTable{}
	var err error
	if s.IfExists, err = p.ifExists(); err != nil {
		return nil, err
	}
	if s.Name, err = p.tableName(); err != nil {
		return nil, err
	}
	for {
		if err := p.action(s); err != nil {
			return nil, err
		}
		if !p.accept(",") {
			break
		}
	}
	s.Span = p.span(start)
	return s, p.end()
}

// action reads one action; some forms give several.
func (p *parser) action(s *AlterTable) error {
	start := p.cur()
	add := func(a Action, err error) error {
		if err != nil {
			return err
		}
		a.Span = p.span(start)
		s.Actions = append(s.Actions, a)
		return nil
	}
	switch {
	case p.is("ADD", "PRIMARY", "KEY"), p.is("ADD", "CONSTRAINT"), p.is("DROP", "PRIMARY", "KEY"), p.is("DROP", "CONSTRAINT"):
		return p.errorAt(p.at(1), "the primary key of a table cannot be changed, and there are no other constraints", "make a new table and fill it by INSERT INTO … SELECT")
	case p.is("ADD", "PARTITION", "("), p.is("ADD", "IF", "NOT", "EXISTS", "PARTITION"):
		return p.errorAt(p.at(1), "ADD PARTITION is not supported", "a partition comes to be when rows are written to it")
	case p.accept("ADD"):
		p.acceptOneOf("COLUMN", "COLUMNS")
		return p.oneOrList(func() error { return add(p.addColumn()) })
	case p.is("DROP", "PARTITION"):
		p.pos += 2
		part, err := p.partition()
		return add(Action{Kind: DropPartition, Partition: part}, err)
	case p.accept("DROP"):
		p.acceptOneOf("COLUMN", "COLUMNS")
		exists, err := p.ifExists()
		if err != nil {
			return err
		}
		return p.oneOrList(func() error {
			path, err := p.path()
			return add(Action{Kind: DropColumn, Path: path, IfExists: exists}, err)
		})
	case p.accept("RENAME", "TO"):
		n, err := p.tableName()
		return add(Action{Kind: RenameTable, Table: n}, err)
	case p.accept("RENAME"):
		p.accept("COLUMN")
		return add(p.renameColumn())
	case p.accept("MODIFY"):
		p.acceptOneOf("COLUMN", "COLUMNS")
		return p.oneOrList(func() error {
			path, err := p.path()
			if err != nil {
				return err
			}
			return add(p.modifyColumn(path))
		})
	case p.accept("CHANGE"):
		p.accept("COLUMN")
		a, to, err := p.changeColumn()
		if err == nil && to != a.Path[len(a.Path)-1] {
			if err := add(Action{Kind: RenameColumn, Path: a.Path, To: to}, nil); err != nil {
				return err
			}
			a.Path = append(slices.Clone(a.Path[:len(a.Path)-1]), to)
		}
		return add(a, err)
	case p.accept("ALTER"):
		p.accept("COLUMN")
		return add(p.alterColumn())
	case p.accept("COMMENT"):
		p.acceptOneOf("=", "IS")
		l, err := p.commentText()
		return add(Action{Kind: TableComment, Value: l}, err)
	case p.accept("SET"):
		if p.accept("COMMENT") {
			l, err := p.commentText()
			return add(Action{Kind: TableComment, Value: l}, err)
		}
		p.acceptOneOf("TBLPROPERTIES", "OPTIONS")
		o, err := p.options()
		return add(Action{Kind: SetOptions, Options: o}, err)
	case p.accept("RESET"), p.accept("UNSET"):
		p.acceptOneOf("TBLPROPERTIES", "OPTIONS")
		return add(p.resetOptions())
	}
	return p.unexpected("ADD, DROP, RENAME, MODIFY, ALTER, SET, RESET or COMMENT")
}

// oneOrList reads item, or ( item, item ).
func (p *parser) oneOrList(item func() error) error {
	if p.is("(") {
		return p.list(item)
	}
	return item()
}

// path reads a column or a nested one: a.b.c.
func (p *parser) path() ([]string, error) {
	id, err := p.ident("a column")
	if err != nil {
		return nil, err
	}
	out := []string{id.Name}
	for p.accept(".") {
		if id, err = p.ident("a nested column"); err != nil {
			return nil, err
		}
		out = append(out, id.Name)
	}
	return out, nil
}

func (p *parser) place() (Place, error) {
	switch {
	case p.accept("FIRST"):
		return Place{First: true}, nil
	case p.accept("LAST"):
		return Place{Last: true}, nil
	case p.accept("AFTER"):
		id, err := p.ident("a column")
		return Place{After: id.Name}, err
	}
	return Place{}, nil
}

func (p *parser) commentText() (Literal, error) {
	t := p.cur()
	if p.accept("NULL") {
		return Literal{Kind: Null, Span: Span{t.start, t.end}}, nil
	}
	s, err := p.string("a comment in quotes")
	return Literal{Kind: String, Text: s, Span: Span{t.start, t.end}}, err
}

func (p *parser) addColumn() (Action, error) {
	a := Action{Kind: AddColumn}
	var err error
	if a.IfNotExists, err = p.ifNotExists(); err != nil {
		return a, err
	}
	at := p.cur()
	if a.Path, err = p.path(); err != nil {
		return a, err
	}
	a.Field.Name = a.Path[len(a.Path)-1]
	if a.Field.Type, err = p.typeName(); err != nil {
		return a, err
	}
	key, err := p.columnClauses(&a.Field)
	if err != nil {
		return a, err
	}
	if key {
		return a, p.errorAt(at, "the primary key cannot be changed", "make a new table and fill it by INSERT INTO … SELECT")
	}
	a.Place, err = p.place()
	return a, err
}

func (p *parser) renameColumn() (Action, error) {
	a := Action{Kind: RenameColumn}
	var err error
	if a.Path, err = p.path(); err != nil {
		return a, err
	}
	if err := p.expect("TO"); err != nil {
		return a, err
	}
	id, err := p.ident("the new name")
	a.To = id.Name
	return a, err
}

// changeColumn reads CHANGE a b TYPE …, which is MODIFY of a, and a new name for it.
func (p *parser) changeColumn() (Action, string, error) {
	path, err := p.path()
	if err != nil {
		return Action{}, "", err
	}
	to, err := p.ident("the column's name")
	if err != nil {
		return Action{}, "", err
	}
	a, err := p.modifyColumn(path)
	return a, to.Name, err
}

// modifyColumn reads what follows MODIFY a: TYPE [NOT NULL] [COMMENT …] [place].
func (p *parser) modifyColumn(path []string) (Action, error) {
	a := Action{Kind: ModifyColumn, Path: path, Field: types.Field{Name: path[len(path)-1]}}
	var err error
	if a.Field.Type, err = p.typeName(); err != nil {
		return a, err
	}
	before := p.pos
	if _, err = p.columnClauses(&a.Field); err != nil {
		return a, err
	}
	for i := before; i < p.pos; i++ {
		a.HasComment = a.HasComment || p.toks[i].is("COMMENT")
	}
	a.Place, err = p.place()
	return a, err
}

// alterColumn reads what follows ALTER [COLUMN].
func (p *parser) alterColumn() (Action, error) {
	path, err := p.path()
	if err != nil {
		return Action{}, err
	}
	a := Action{Path: path}
	switch {
	case p.accept("SET", "NOT", "NULL"):
		a.Kind = SetNotNull
	case p.accept("DROP", "NOT", "NULL"):
		a.Kind = DropNotNull
	case p.accept("DROP", "DEFAULT"):
		a.Kind = DropDefault
	case p.accept("SET", "DEFAULT"):
		a.Kind = SetDefault
		a.Value, err = p.literal()
	case p.is("TYPE"), p.is("SET", "DATA", "TYPE"):
		if p.advance().is("SET") {
			p.pos += 2
		}
		a.Kind = ChangeType
		a.Field = types.Field{Name: path[len(path)-1]}
		a.Field.Type, err = p.typeName()
	case p.accept("COMMENT"), p.accept("SET", "COMMENT"):
		a.Kind = ColumnComment
		a.Value, err = p.commentText()
	case p.is("FIRST"), p.is("AFTER"), p.is("LAST"):
		a.Kind = MoveColumn
		a.Place, err = p.place()
	default:
		return a, p.unexpected("TYPE, SET, DROP, COMMENT, FIRST or AFTER")
	}
	return a, err
}

func (p *parser) resetOptions() (Action, error) {
	a := Action{Kind: ResetOptions}
	err := p.list(func() error {
		key, _, err := p.optionKey()
		a.Options = append(a.Options, Option{Key: key})
		return err
	})
	return a, err
}
