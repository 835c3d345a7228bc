package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// insert runs INSERT INTO and INSERT OVERWRITE: the query's rows are cast to the table's types by the
// engine, and written in one commit.
func (s *Session) insert(ctx context.Context, script string, x *parse.Insert) (*Result, error) {
	t, err := s.table(ctx, x.Table)
	if err != nil {
		return nil, err
	}
	if t.Ident().System != "" {
		return nil, fmt.Errorf("%w: %s is a system table and cannot be written", tarn.ErrInvalid, t.Name())
	}
	if t, err = t.With(ctx, optionMap(x.Options)); err != nil {
		return nil, err
	}
	fields, err := t.Fields()
	if err != nil {
		return nil, err
	}
	if err := checkPartition(t, fields, x.Partition); err != nil {
		return nil, err
	}
	cols, inner, err := s.insertQuery(ctx, script, x, fields)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	text := castSelect(inner, cols)
	var overwrite *tarn.OverwriteOptions
	if x.Overwrite {
		overwrite = &tarn.OverwriteOptions{Partition: map[string]*string{}}
	}
	fixed := map[string]*parse.Literal{}
	for _, p := range x.Partition {
		if p.Value == nil {
			continue
		}
		fixed[p.Column] = p.Value
		if overwrite != nil {
			overwrite.Partition[p.Column] = literalText(p.Value)
		}
	}
	n, id, err := s.write(ctx, writing{table: t, text: text, fields: append(slices.Clone(cols), fixedFields(fields, fixed)...), fixed: fixed, overwrite: overwrite})
	if err != nil {
		return nil, s.explainInsert(ctx, script, x, t.Name(), cols, err)
	}
	return wrote(id, "%d rows written to %s", n, t.Name()), nil
}

// wrote tells what was done, and the snapshot if there is a new one.
func wrote(snapshot int64, format string, args ...any) *Result {
	if snapshot == 0 {
		return message(format+", no snapshot: nothing changed", args...)
	}
	return message(format+", snapshot %d", append(args, snapshot)...)
}

// insertQuery gives the query of an INSERT, and the columns that its columns go to.
func (s *Session) insertQuery(ctx context.Context, script string, x *parse.Insert, fields []types.Field) ([]types.Field, engineText, error) {
	var none engineText
	target := fields
	if !x.ByName {
		cols, err := insertColumns(script, x, fields)
		if err != nil {
			return nil, none, err
		}
		target = cols
		if x.Defaults {
			values := make([]string, len(cols))
			for i, f := range cols {
				values[i] = defaultText(f)
			}
			return cols, concat("VALUES (" + strings.Join(values, ", ") + ")"), nil
		}
		castValues(x, cols)
		for i, d := range x.Query.Defaults {
			x.Query.Defaults[i].Text = "NULL" // the row is too long if it stays
			if d.Column < len(cols) {
				x.Query.Defaults[i].Text = defaultText(cols[d.Column])
			}
		}
	}
	query := func() (inner engineText, names []string, err error) {
		s.exact = slices.ContainsFunc(target, hasNanos)
		if inner, err = s.rewrite(ctx, script, &x.Query); err == nil {
			names, err = s.columnsOf(ctx, inner)
		}
		return inner, names, err
	}
	inner, names, err := query()
	if e := (*EngineError)(nil); errors.As(err, &e) && castValues(x, nil) {
		// A value that does not fit is explained when it is written, unless the values have no type in common.
		s.dropScans()
		if in, n, again := query(); !errors.As(again, &e) || !strings.HasPrefix(e.Msg, "Cannot combine types") {
			inner, names, err = in, n, again
		}
	}
	if err != nil {
		return nil, none, err
	}
	if x.ByName {
		for _, n := range names {
			x.Columns = append(x.Columns, parse.Ident{Name: realName(fields, n), Span: parse.Span{Start: x.Query.Start}})
		}
	}
	cols, err := insertColumns(script, x, fields)
	if err != nil {
		return nil, none, err
	}
	hint := ""
	if x.Columns == nil {
		hint = "name the columns that you have: INSERT INTO t (a, b) …"
	}
	return cols, inner, checkWidth(inner, &x.Query, names, cols, hint)
}

func hasNanos(f types.Field) bool { return types.HasNanos(f.Type) }

// castValues has each value of VALUES cast to the type of its column, as the engine does for tables of its own: else it looks
// for one type of all rows. Without columns they stay as they are. It is false if there are none.
func castValues(x *parse.Insert, cols []types.Field) bool {
	for i, v := range x.Query.Values {
		x.Query.Values[i].Text = ""
		if v.Column < len(cols) {
			x.Query.Values[i].Text = givenType(cols[v.Column].Type)
		}
	}
	return len(x.Query.Values) > 0
}

// checkWidth compares the number of columns of a query with that of the columns it is written to.
func checkWidth(inner engineText, q *parse.Query, names []string, cols []types.Field, hint string) error {
	if len(names) == len(cols) {
		return nil
	}
	return &parse.Error{
		Msg:  fmt.Sprintf("the query has %d columns, and there are %d to fill: %s", len(names), len(cols), strings.Join(columnList(cols), ", ")),
		Hint: hint, Text: inner.script, Pos: q.Start,
	}
}

// realName gives the table's name for a column that has another one in the engine.
func realName(fields []types.Field, name string) string {
	if slices.ContainsFunc(fields, func(f types.Field) bool { return f.Name == name }) {
		return name
	}
	if i := slices.IndexFunc(engineNames(fields), func(f types.Field) bool { return f.Name == name }); i >= 0 {
		return fields[i].Name
	}
	return name
}

// defaultText is what the word DEFAULT stands for.
func defaultText(f types.Field) string {
	if f.Default == nil {
		return "NULL"
	}
	return "CAST(" + parse.QuoteString(*f.Default) + " AS " + givenType(f.Type) + ")"
}

// givenType is the type of a value before it is assigned to a column.
func givenType(t types.Type) string {
	if finerLTZ(t) {
		return "VARCHAR" // has all digits
	}
	return duckType(t)
}

// columnsOf gives the names of a query's columns.
func (s *Session) columnsOf(ctx context.Context, inner engineText) ([]string, error) {
	text := concat("DESCRIBE SELECT * FROM (", inner, ") q")
	r, err := s.engine.query(ctx, text.text)
	if err != nil {
		return nil, s.located(ctx, text, err)
	}
	var names []string
	for err == nil {
		var rec arrow.RecordBatch
		if rec, err = r.next(ctx); err == nil {
			for i := range int(rec.NumRows()) {
				names = append(names, rec.Column(0).ValueStr(i))
			}
		}
	}
	if cerr := r.close(); !errors.Is(err, io.EOF) || cerr != nil {
		return nil, errors.Join(err, cerr)
	}
	return names, nil
}

func literalText(l *parse.Literal) *string {
	if l.Kind == parse.Null {
		return nil
	}
	return &l.Text
}

func fixedFields(fields []types.Field, fixed map[string]*parse.Literal) []types.Field {
	var out []types.Field
	for _, f := range fields {
		if fixed[f.Name] != nil {
			out = append(out, f)
		}
	}
	return out
}

// insertColumns are the columns that the query's columns go to, in their order.
func insertColumns(script string, x *parse.Insert, fields []types.Field) ([]types.Field, error) {
	fixed := func(name string) bool {
		return slices.ContainsFunc(x.Partition, func(p parse.PartitionValue) bool { return p.Column == name && p.Value != nil })
	}
	var out []types.Field
	if x.Columns == nil {
		for _, f := range fields {
			if !fixed(f.Name) {
				out = append(out, f)
			}
		}
		return out, nil
	}
	for _, c := range x.Columns {
		i := columnIndex(fields, c.Name)
		if i < 0 {
			return nil, noColumn(script, c, fields)
		}
		if fixed(fields[i].Name) || slices.ContainsFunc(out, func(f types.Field) bool { return f.Name == fields[i].Name }) {
			return nil, &parse.Error{Msg: fmt.Sprintf("column %q is given twice", c.Name), Text: script, Pos: c.Start}
		}
		out = append(out, fields[i])
	}
	return out, nil
}

// castSelect wraps a query so that its columns have the names and types of the table's.
func castSelect(inner engineText, cols []types.Field) engineText {
	var names []string
	for _, f := range engineNames(cols) {
		names = append(names, f.Name)
	}
	return castColumns(inner, names, func(i int, column string) string { return assigned(column, cols[i].Type) })
}

// from is the rows of a table that a condition chooses, as SELECT … FROM.
func (s *Session) from(ctx context.Context, script string, n parse.TableName, alias string, where *parse.Query, c *changed) (engineText, error) {
	var none engineText
	if _, err := s.start(); err != nil {
		return none, err
	}
	if alias == "" {
		alias = n.Table
	}
	src := &source{table: c.table, fields: engineNames(c.fields), names: c.fields, deletion: c.deletion}
	s.pushWhere(ctx, script, alias, where, n, src)
	src.addStored()
	if c.deletion != nil {
		src.addPlace()
	}
	rel, err := s.relation(ctx, src, script)
	if err != nil {
		return none, err
	}
	text := concat(" FROM " + rel + " AS " + parse.Quote(alias))
	if where != nil {
		cond, err := s.condition(ctx, script, where, n)
		if err != nil {
			return none, err
		}
		text = concat(text, " WHERE ", cond)
	}
	return text, nil
}

// condition rewrites an expression that may have queries in it.
func (s *Session) condition(ctx context.Context, script string, q *parse.Query, of parse.TableName) (engineText, error) {
	var none engineText
	texts := make([]string, len(q.Refs))
	for i := range q.Refs {
		src, err := s.resolve(ctx, &q.Refs[i])
		if err != nil {
			return none, err
		}
		if src == nil {
			continue
		}
		if texts[i], err = s.relation(ctx, src, script); err != nil {
			return none, err
		}
	}
	return rewritten(q, script, func(i int) (string, bool) { return texts[i], texts[i] != "" }, of), nil
}

// storedColumns are columns as UPDATE and DELETE write them back: unchanged, from where addStored put them.
func storedColumns(fields []types.Field) []string {
	out := columnList(engineNames(fields))
	for i, f := range fields {
		if types.HasNanos(f.Type) {
			out[i] = parse.Quote(storedName(i))
		}
	}
	return out
}

func storedName(i int) string { return fmt.Sprint("tarn stored ", i) }

// addStored gives columns of nanoseconds, of which the engine does not hold all years and digits, a second time, as
// decimals: what a statement does not change is written back as it was.
func (s *source) addStored() {
	fields, names := slices.Clone(s.fields), slices.Clone(s.names)
	for i, f := range s.names {
		if types.HasNanos(f.Type) {
			fields = append(fields, types.Field{ID: f.ID, Name: storedName(i), Type: storedType(f.Type)})
			names = append(names, f)
		}
	}
	s.fields, s.names = fields, names
}

// addPlace gives the column by which the rows to delete are told.
func (s *source) addPlace() {
	f := types.Field{Name: tarn.PlaceColumn, Type: types.Type{Kind: types.BigInt}}
	s.fields, s.names = append(slices.Clone(s.fields), f), append(slices.Clone(s.names), f)
}

// storedType is a type with the wide form of nanoseconds.
func storedType(t types.Type) types.Type {
	if types.IsNanos(t) {
		return types.DecimalType(int(types.WideTimestamp.Precision), int(types.WideTimestamp.Scale))
	}
	for _, p := range []**types.Type{&t.Key, &t.Elem} {
		if *p != nil {
			part := storedType(**p)
			*p = &part
		}
	}
	t.Fields = slices.Clone(t.Fields)
	for i := range t.Fields {
		t.Fields[i].Type = storedType(t.Fields[i].Type)
	}
	return t
}

func columnList(fields []types.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = parse.Quote(f.Name)
	}
	return out
}
