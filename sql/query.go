package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// source is a table in a query.
type source struct {
	table  *tarn.Table
	fields []types.Field // as the engine calls them
	names  []types.Field // as the table calls them
	filter predicate.Predicate
	// deletion is set for the target of an UPDATE or DELETE that tells it which rows.
	deletion *tarn.Deletion
	hard     bool // it has conditions that are no filter: on expressions, or not understood
}

// renamed says whether the engine has another name for a column.
func (s *source) renamed(i int) bool { return s.fields[i].Name != s.names[i].Name }

// engineNames gives columns the names that they have in the engine, to which names that differ in case only are
// the same: a, A become a, A_1.
func engineNames(fields []types.Field) []types.Field {
	taken := make(map[string]bool, len(fields))
	for _, f := range fields {
		taken[lowerASCII(f.Name)] = true
	}
	if len(taken) == len(fields) {
		return fields
	}
	out := slices.Clone(fields)
	seen := map[string]bool{}
	for i, f := range out {
		for n := 1; seen[lowerASCII(f.Name)]; n++ {
			if name := fmt.Sprintf("%s_%d", out[i].Name, n); !taken[lowerASCII(name)] {
				f.Name = name
			}
		}
		seen[lowerASCII(f.Name)] = true
		out[i].Name = f.Name
	}
	return out
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// query runs a query of the engine over tables of the lake.
func (s *Session) query(ctx context.Context, script string, q *parse.Query) (*Result, error) {
	text, err := s.rewrite(ctx, script, q)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	return s.run(ctx, text)
}

// located gives an error of the engine its place. What the engine says of a table that neither it nor the current database
// has is replaced: its suggestions are names of its own catalog.
func (s *Session) located(ctx context.Context, text engineText, err error) error {
	err = text.locate(err)
	var e *EngineError
	if errors.As(err, &e) && strings.HasPrefix(e.Msg, `Catalog "`) && strings.HasSuffix(e.Msg, "does not exist!") {
		e.Hint = "a table's name has at most two parts: database.table"
	}
	if e == nil {
		return err
	}
	_, rest, ok := strings.Cut(e.Msg, "Table with name ")
	name, _, named := strings.Cut(rest, " does not exist")
	if !ok || !named {
		return err
	}
	name = strings.Trim(name, `"`)
	if known := s.ofLake(ctx, name); known != "" {
		own := &parse.Error{Msg: fmt.Sprintf("this statement is DuckDB's, and not supported for table %s of the lake", known), Hint: "DuckDB has tables of the lake in queries only", Text: text.script}
		if e.Place == nil {
			return &Error{Msg: own.Msg, Hint: own.Hint, Err: tarn.ErrUnsupported}
		}
		own.Pos = e.Place.Pos
		return own
	}
	if !e.noTable {
		return err
	}
	e.Msg, e.Hint = "table "+name+" does not exist", "write database.table, or USE a database first"
	if s.db != "" {
		name = s.db + "." + name
		e.Msg, e.Hint = "table "+name+" does not exist", ""
		var near *Error
		if errors.As(s.nearest(ctx, name, err), &near) {
			e.Hint = near.Hint
		}
	}
	if e.Place != nil {
		e.Place.Msg = e.Msg
	}
	return err
}

// ofLake gives the whole name of a table if the lake has it.
func (s *Session) ofLake(ctx context.Context, name string) string {
	if !strings.Contains(name, ".") {
		name = s.db + "." + name
	}
	if _, err := s.cat.Table(ctx, name); err != nil {
		return ""
	}
	return name
}

// run gives a text to the engine as it is.
func (s *Session) run(ctx context.Context, text engineText) (*Result, error) {
	e, err := s.start()
	if err != nil {
		s.dropScans()
		return nil, err
	}
	r, err := e.query(ctx, text.text)
	var other *foreignColumns
	if errors.As(err, &other) {
		text = castColumns(text, other.names, func(i int, column string) string {
			if other.types[i] == "" {
				return column
			}
			return "CAST(" + column + " AS " + other.types[i] + ")"
		})
		r, err = e.query(ctx, text.text)
	}
	if err != nil {
		s.dropScans()
		return nil, s.located(ctx, text, err)
	}
	r = &locatedRows{r, text}
	if r.kind() != queryRows {
		return s.finish(ctx, r)
	}
	res := &Result{rows: r, done: s.dropScans}
	for i, f := range r.schema().Fields() {
		t, err := types.FromArrow(f.Type)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("column %s of the result: %w", f.Name, err), res.Close())
		}
		res.Fields = append(res.Fields, types.Field{ID: i, Name: f.Name, Type: t})
	}
	res.schema = types.ArrowSchema(res.Fields)
	return res, nil
}

// finish runs a statement of the engine that gives no rows.
func (s *Session) finish(ctx context.Context, r rows) (res *Result, err error) {
	defer s.dropScans()
	defer func() { err = errors.Join(err, r.close()) }()
	text := "done"
	for {
		rec, err := r.next(ctx)
		if errors.Is(err, io.EOF) {
			return message("%s", text), nil
		}
		if err != nil {
			return nil, err
		}
		if r.kind() == changedRows && rec.NumCols() == 1 && rec.NumRows() == 1 {
			text = rec.Column(0).ValueStr(0) + " rows"
		}
	}
}

func (s *Session) dropScans() {
	for _, v := range s.views {
		_ = s.engine.exec(context.Background(), "DROP VIEW IF EXISTS "+v) // one that stays is in nobody's way
	}
	for _, id := range s.scans {
		s.engine.dropScan(id)
	}
	s.scans, s.views, s.exact = nil, nil, false
}

// rewrite replaces the tables of a query by what the engine can read.
func (s *Session) rewrite(ctx context.Context, script string, q *parse.Query) (engineText, error) {
	var none engineText
	if _, err := s.start(); err != nil {
		return none, err
	}
	sources := make([]*source, len(q.Refs))
	for i := range q.Refs {
		src, err := s.resolve(ctx, &q.Refs[i])
		if err != nil {
			return none, err
		}
		if r := &q.Refs[i]; src != nil && (q.Kept || r.Target) {
			e := &parse.Error{Msg: "a view, macro or prepared statement over tables of the lake is not supported", Hint: "write the query where it is used, or a WITH before it", Text: script, Pos: r.Start}
			if r.Target {
				e.Msg, e.Hint = "COPY into a table of the lake is not supported", "write INSERT INTO t SELECT * FROM 'file'"
			}
			return none, e
		}
		sources[i] = src
	}
	s.pushFilters(ctx, script, q, sources)
	texts := make([]string, len(q.Refs))
	for i, src := range sources {
		if src == nil {
			continue
		}
		var err error
		if texts[i], err = s.relation(ctx, src, script); err != nil {
			return none, err
		}
		if q.Refs[i].Alone {
			if texts[i], err = s.view(ctx, texts[i]); err != nil {
				return none, err
			}
		}
	}
	return rewritten(q, script, func(i int) (string, bool) { return texts[i], sources[i] != nil }), nil
}

// view makes a name for a relation, for where nothing but a name may stand.
func (s *Session) view(ctx context.Context, relation string) (string, error) {
	name := fmt.Sprint("__tarn_view_", len(s.views))
	s.views = append(s.views, name)
	return name, s.engine.exec(ctx, "CREATE OR REPLACE TEMP VIEW "+name+" AS SELECT * FROM "+relation)
}

// engineTable reads a statement that is about a table that the engine has and the lake has not, one that CREATE TEMP TABLE
// made; nil if it is none.
func (s *Session) engineTable(ctx context.Context, script string, st parse.Statement) *parse.Query {
	var n parse.TableName
	switch x := st.(type) {
	case *parse.Insert:
		n = x.Table
	case *parse.Delete:
		n = x.Table
	case *parse.Update:
		n = x.Table
	case *parse.DropTable:
		if len(x.Names) == 1 {
			n = x.Names[0]
		}
	case *parse.Truncate:
		n = x.Name
	case *parse.AlterTable:
		n = x.Name
	case *parse.Describe:
		n = x.Table
	}
	temp := strings.EqualFold(n.Database, "temp")
	if s.engine == nil || n.Table == "" || n.Database != "" && !temp {
		return nil
	}
	if !temp && s.db != "" {
		if _, err := s.cat.Table(ctx, s.db+"."+n.Table); !errors.Is(err, tarn.ErrNotExist) {
			return nil
		}
	}
	there, err := s.text(ctx, "SELECT 'yes' FROM duckdb_tables() WHERE temporary AND lower(table_name) = lower("+parse.QuoteString(n.Table)+")")
	if err != nil || there == "" {
		return nil
	}
	q, err := parse.ForEngine(script, st.Range())
	if err != nil {
		return nil
	}
	return q
}

// resolve opens the table that a reference names; nil if it is none of the lake's: the engine may know
// it (a view, a file).
func (s *Session) resolve(ctx context.Context, r *parse.TableRef) (*source, error) {
	n, ok := r.Name()
	if !ok {
		return nil, nil
	}
	if n.Database == "" && s.db == "" {
		return nil, nil
	}
	switch strings.ToLower(n.Database) {
	case "information_schema", "pg_catalog", "main", "temp":
		return nil, nil
	}
	name, err := s.name(n)
	if err != nil {
		return nil, err
	}
	opts := optionMap(r.Options)
	switch r.At.Kind {
	case parse.Timestamp:
		opts["scan.timestamp"] = r.At.Value.Text
	case parse.Version:
		opts["scan.version"] = r.At.Value.Text
	}
	key := fmt.Sprint(name, opts)
	t := s.tables[key]
	if t == nil {
		t, err = s.cat.Table(ctx, name)
		switch {
		case errors.Is(err, tarn.ErrNotExist) && n.Database == "":
			return nil, nil
		case errors.Is(err, tarn.ErrNotExist):
			return nil, s.nearest(ctx, name, err)
		case err == nil:
			t, err = t.With(ctx, opts)
		}
		if err == nil {
			t, err = t.Pin(ctx)
		}
		if err != nil {
			return nil, err
		}
		s.tables[key] = t
	}
	fields, err := t.Fields()
	if err != nil {
		return nil, err
	}
	return &source{table: t, fields: engineNames(fields), names: fields}, nil
}

// relation plans the read of a table and gives the text that stands for it: files that the engine reads
// itself, and a scan for the rest.
func (s *Session) relation(ctx context.Context, src *source, script string) (string, error) {
	plan := func(o tarn.ScanOptions) (*tarn.Plan, error) { return src.table.Scan(o).Plan(ctx) }
	if src.deletion != nil {
		plan = func(o tarn.ScanOptions) (*tarn.Plan, error) { return src.deletion.Plan(ctx, o) }
	}
	p, err := plan(tarn.ScanOptions{Filter: src.filter, WideTimestamps: true, Inserts: true})
	if err != nil {
		return "", err
	}
	rest := p
	var raw []string
	if !s.o.NoRaw && engineHasTypes(src) {
		raw, rest = p.SplitRaw(ctx, engineFinds)
	}
	var parts []string
	if len(raw) > 0 {
		if src.hard && rest.Parts() == 0 && readableBare(src, script) {
			return s.bareRead(ctx, raw, src.fields, p.Rows())
		}
		parts = append(parts, "SELECT "+strings.Join(rawColumns(src.fields), ", ")+" FROM "+readParquet(raw))
	}
	if len(raw) == 0 || rest.Parts() > 0 {
		id := s.engine.addScan(&scanSource{
			fields: src.fields, parts: max(1, rest.Parts()), rows: rest.Rows(), ctx: ctx, exact: s.exact,
			open: func(ctx context.Context, part int, columns []int) (Reader, error) {
				names := make([]string, len(columns))
				for i, c := range columns {
					names[i] = src.names[c].Name
				}
				if rest.Parts() == 0 {
					return emptyReader{}, nil
				}
				return &partReader{rest.OpenPart(ctx, part, names)}, nil
			},
		})
		s.scans = append(s.scans, id)
		parts = append(parts, fmt.Sprintf("SELECT * FROM tarn_scan(%d)", id))
	}
	return "(" + strings.Join(parts, " UNION ALL ") + ")", nil
}

// engineHasTypes says whether the engine's own reader gives the values of columns as they are: it cuts the nanoseconds
// of INT96, and knows VARIANT neither in the order of its parts nor shredded.
func engineHasTypes(src *source) bool {
	for i, f := range src.fields {
		if otherInEngine(f.Type) || src.renamed(i) {
			return false
		}
	}
	return true
}

// engineFinds says whether the engine finds a file: it is on this machine, and its name has none of the characters
// for which the engine takes it for a pattern, which may find other files.
func engineFinds(path string) bool {
	if !filepath.IsAbs(path) || strings.ContainsAny(path, "*?[") {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

func otherInEngine(t types.Type) bool {
	switch t.Kind {
	case types.Timestamp, types.TimestampLTZ:
		return t.Precision > 6
	case types.Variant:
		return true
	case types.Row:
		return slices.ContainsFunc(t.Fields, func(f types.Field) bool { return otherInEngine(f.Type) })
	}
	return t.Key != nil && otherInEngine(*t.Key) || t.Elem != nil && otherInEngine(*t.Elem)
}

func quoteAll(files []string) string {
	q := make([]string, len(files))
	for i, f := range files {
		q[i] = parse.QuoteString(f)
	}
	return strings.Join(q, ", ")
}

type emptyReader struct{}

func (emptyReader) Next(context.Context) (arrow.RecordBatch, []types.RowKind, error) {
	return nil, nil, io.EOF
}
func (emptyReader) Close() error { return nil }

// partReader gives the batches of a part of a plan.
type partReader struct{ tarn.BatchReader }

func (p *partReader) Next(ctx context.Context) (arrow.RecordBatch, []types.RowKind, error) {
	b, err := p.BatchReader.Next(ctx)
	return b.RecordBatch, b.Kinds, err
}
