package parse

import "strings"

// factor reads what stands in FROM or behind JOIN: a table with its alias, a function, a query or
// joined tables in parentheses, or a file's name.
func (w *walker) factor(s *scope) error {
	p := w.p
	for p.is("LATERAL") || p.is("ONLY") {
		p.advance()
	}
	aliased := false
	if p.cur().isName() && p.at(1).is(":") {
		p.pos += 2
		aliased = true
	}
	t := p.cur()
	switch {
	case t.is("("):
		return w.tables(s)
	case t.kind == str:
		p.advance()
		return nil
	case !t.isName(), t.kind == word && (isQueryStart(t.text) || endsTable(t.text)):
		return nil // whatever it is, DuckDB will tell
	}
	r, err := w.ref()
	r.Aliased = aliased
	if err != nil {
		return err
	}
	if p.is("(") || len(r.Parts) == 1 && s.has(t.text) {
		return nil
	}
	if err := w.travel(&r); err != nil {
		return err
	}
	before := p.pos
	if _, err := p.alias(); err != nil {
		return err
	}
	r.Aliased = r.Aliased || p.pos > before
	o, err := p.hintOptions() // behind the alias it is a comment for DuckDB
	if err != nil {
		return err
	}
	r.Options = append(r.Options, o...)
	w.q.Refs = append(w.q.Refs, r)
	return nil
}

// ref reads a table's name. Three parts may be a table of a database that DuckDB has attached.
func (w *walker) ref() (TableRef, error) {
	p := w.p
	t := p.cur()
	var r TableRef
	for {
		id := p.advance()
		r.Parts = append(r.Parts, Ident{Name: id.text, Quoted: id.kind == quoted, Span: Span{id.start, id.end}})
		if !p.is(".") || !p.at(1).isName() {
			break
		}
		if len(r.Parts) == 3 {
			return r, p.tooManyParts(p.cur())
		}
		p.pos++
	}
	r.Bare = p.span(t)
	r.Span = r.Bare
	return r, nil
}

// name reads a table where no alias may follow.
func (w *walker) name(s *scope) error {
	t := w.p.cur()
	r, err := w.ref()
	r.Alone = true
	if err != nil {
		return err
	}
	if w.p.is("(") && w.q.Verb != "COPY" || len(r.Parts) == 1 && s.has(t.text) {
		return nil
	}
	if err := w.travel(&r); err != nil {
		return err
	}
	w.q.Refs = append(w.q.Refs, r)
	return nil
}

// tables reads ( … ) in FROM: a query, or tables.
func (w *walker) tables(s *scope) error {
	p := w.p
	if first := p.at(1); first.kind == word && isQueryStart(first.text) {
		return w.group(s)
	}
	if next := p.at(2); (p.at(1).is("SUMMARIZE") || p.at(1).is("DESCRIBE")) && next.isName() {
		open := p.advance()
		p.advance()
		read := w.name
		if next.kind == word && isQueryStart(next.text) {
			read = w.query
		}
		if err := read(s); err != nil {
			return err
		}
		return w.closing(open)
	}
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	open := p.advance()
	if err := w.factor(s); err != nil {
		return err
	}
	for p.cur().kind != eof && !p.is(")") {
		if p.is("JOIN") || p.is(",") {
			p.advance()
			if err := w.factor(s); err != nil {
				return err
			}
			continue
		}
		if err := w.item(s); err != nil {
			return err
		}
		if p.is("]") || p.is("}") {
			break
		}
	}
	return w.closing(open)
}

// travel reads time travel and hints behind a table's name.
func (w *walker) travel(r *TableRef) error {
	p := w.p
	for {
		start := p.pos
		o, err := p.hintOptions()
		if err != nil {
			return err
		}
		r.Options = append(r.Options, o...)
		at, err := w.asOf()
		if err != nil {
			return err
		}
		if at.Kind != Now {
			if r.At.Kind != Now {
				return &Error{Msg: "the time is given twice", Text: p.text, Pos: at.Value.Start}
			}
			r.At = at
		}
		if p.pos == start {
			return nil
		}
		r.End = p.toks[p.pos-1].end
	}
}

// asOf reads [FOR] SYSTEM_TIME | TIMESTAMP | VERSION | SYSTEM_VERSION AS OF x, and AT (VERSION => x).
func (w *walker) asOf() (TimeTravel, error) {
	p := w.p
	n := 0
	if p.is("FOR") {
		n = 1
	}
	if p.at(n+1).is("AS") && p.at(n+2).is("OF") {
		if k := travelKind(p.at(n)); k != Now {
			p.pos += n + 3
			return w.travelValue(k)
		}
	}
	if p.is("AT", "(") && p.at(3).is("=>") {
		if k := travelKind(p.at(2)); k != Now {
			p.pos += 4
			t, err := w.travelValue(k)
			if err != nil {
				return t, err
			}
			return t, p.expect(")")
		}
	}
	return TimeTravel{}, nil
}

func travelKind(t token) TimeTravelKind {
	if t.kind != word {
		return Now
	}
	switch strings.ToUpper(t.text) {
	case "SYSTEM_TIME", "TIMESTAMP":
		return Timestamp
	case "VERSION", "SYSTEM_VERSION":
		return Version
	}
	return Now
}

func (w *walker) travelValue(k TimeTravelKind) (TimeTravel, error) {
	start := w.p.cur()
	v, err := w.p.literal()
	if err != nil || v.Kind != Number && v.Kind != String {
		wanted := "a snapshot's number or a tag's name in quotes"
		if k == Timestamp {
			wanted = "a time in quotes, such as TIMESTAMP '2024-01-31 12:00:00'"
		}
		return TimeTravel{}, &Error{Msg: "expected " + wanted + ", found " + start.describe(), Text: w.p.text, Pos: start.start, Incomplete: start.kind == eof}
	}
	return TimeTravel{Kind: k, Value: v}, nil
}
