package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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
	if t, err = t.With(ctx, optionMap(x.Options)); err != nil {
		return nil, err
	}
	fields, err := t.Fields()
	if err != nil {
		return nil, err
	}
	cols, err := insertColumns(x, fields)
	if err != nil {
		return nil, err
	}
	inner, err := s.rewrite(ctx, script, &x.Query)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	text := castSelect(inner, cols, x.Query.Verb == "VALUES", x.ByName)
	var overwrite *tarn.OverwriteOptions
	if x.Overwrite {
		overwrite = &tarn.OverwriteOptions{Partition: map[string]*string{}}
		for _, p := range x.Partition {
			if p.Value != nil {
				overwrite.Partition[p.Column] = literalText(p.Value)
			}
		}
	}
	fixed := map[string]*parse.Literal{}
	for _, p := range x.Partition {
		if p.Value != nil {
			fixed[p.Column] = p.Value
		}
	}
	n, id, err := s.write(ctx, t, text, append(slices.Clone(cols), fixedFields(fields, fixed)...), fixed, types.Insert, overwrite)
	if err != nil {
		return nil, s.explainCast(ctx, script, x, cols, t.Name(), err)
	}
	return message("%d rows written to %s, snapshot %d", n, t.Name(), id), nil
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
func insertColumns(x *parse.Insert, fields []types.Field) ([]types.Field, error) {
	fixed := func(name string) bool {
		return slices.ContainsFunc(x.Partition, func(p parse.PartitionValue) bool { return p.Column == name && p.Value != nil })
	}
	for _, p := range x.Partition {
		if !slices.ContainsFunc(fields, func(f types.Field) bool { return f.Name == p.Column }) {
			return nil, fmt.Errorf("%w: PARTITION names column %q, which the table does not have", tarn.ErrInvalid, p.Column)
		}
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
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == c.Name })
		if i < 0 {
			return nil, fmt.Errorf("%w: there is no column %q", tarn.ErrInvalid, c.Name)
		}
		if slices.ContainsFunc(out, func(f types.Field) bool { return f.Name == c.Name }) {
			return nil, fmt.Errorf("%w: column %q is named twice", tarn.ErrInvalid, c.Name)
		}
		out = append(out, fields[i])
	}
	return out, nil
}

// castSelect wraps a query so that its columns have the names and types of the table's.
func castSelect(inner string, cols []types.Field, values, byName bool) string {
	var names, casts []string
	for _, f := range cols {
		n := parse.Quote(f.Name)
		names = append(names, n)
		casts = append(casts, "CAST("+n+" AS "+duckType(f.Type)+") AS "+n)
	}
	if byName {
		return "SELECT " + strings.Join(casts, ", ") + " FROM (" + inner + ") q"
	}
	if values {
		inner = "SELECT * FROM (" + inner + ") v"
	}
	return "SELECT " + strings.Join(casts, ", ") + " FROM (" + inner + ") q(" + strings.Join(names, ", ") + ")"
}

// write runs a query and writes its rows; fields are those of its columns, and of constants behind.
func (s *Session) write(ctx context.Context, t *tarn.Table, text string, fields []types.Field, fixed map[string]*parse.Literal, kind types.RowKind, overwrite *tarn.OverwriteOptions) (rows, snapshot int64, err error) {
	if len(fixed) > 0 {
		var consts []string
		for _, f := range fields {
			if l := fixed[f.Name]; l != nil {
				v := "NULL"
				if l.Kind != parse.Null {
					v = parse.QuoteString(l.Text)
				}
				consts = append(consts, "CAST("+v+" AS "+duckType(f.Type)+") AS "+parse.Quote(f.Name))
			}
		}
		text = "SELECT *, " + strings.Join(consts, ", ") + " FROM (" + text + ") c"
	}
	r, err := s.run(ctx, text)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	schema := types.ArrowSchema(nullable(fields))
	next := func() (tarn.Batch, error) {
		for {
			rec, err := r.rows.next(ctx)
			if err != nil {
				return tarn.Batch{}, err
			}
			if rec.NumRows() == 0 {
				continue
			}
			if rec, err = conform(rec, schema); err != nil {
				return tarn.Batch{}, err
			}
			rows += rec.NumRows()
			b := tarn.Batch{RecordBatch: rec}
			if kind != types.Insert {
				b.Kinds = slices.Repeat([]types.RowKind{kind}, int(rec.NumRows()))
			}
			return b, nil
		}
	}
	if overwrite != nil {
		res, err := t.Overwrite(ctx, *overwrite, func(yield func(tarn.Batch, error) bool) {
			for {
				b, err := next()
				if errors.Is(err, io.EOF) {
					return
				}
				if !yield(b, err) || err != nil {
					return
				}
			}
		})
		return rows, res.SnapshotID, err
	}
	w, err := t.NewWriter(ctx, nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for {
		b, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return rows, 0, err
		}
		if err := w.Write(ctx, b); err != nil {
			return rows, 0, err
		}
	}
	res, err := w.Commit(ctx)
	return rows, res.SnapshotID, err
}

func nullable(fields []types.Field) []types.Field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].Type.NotNull = false
	}
	return out
}

// keyed opens a table whose rows can be changed one by one.
func (s *Session) keyed(ctx context.Context, n parse.TableName, what string) (*tarn.Table, []types.Field, error) {
	t, err := s.table(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	if !t.HasPrimaryKey() {
		return nil, nil, &Error{
			Msg:  fmt.Sprintf("%s: %v: table %s has no primary key", what, tarn.ErrUnsupported, t.Name()),
			Hint: "rewrite the table or a partition by INSERT OVERWRITE … SELECT", Err: tarn.ErrUnsupported,
		}
	}
	switch e := t.Options()["merge-engine"]; e {
	case "", "deduplicate":
	default:
		return nil, nil, &Error{Msg: fmt.Sprintf("%s: %v: merge-engine %s of table %s", what, tarn.ErrUnsupported, e, t.Name()), Err: tarn.ErrUnsupported}
	}
	fields, err := t.Fields()
	return t, fields, err
}

// from is the rows of a table that a condition chooses, as SELECT … FROM.
func (s *Session) from(ctx context.Context, script string, n parse.TableName, alias string, where *parse.Query, t *tarn.Table, fields []types.Field) (string, error) {
	if _, err := s.start(); err != nil {
		return "", err
	}
	if alias == "" {
		alias = n.Table
	}
	src := &source{table: t, fields: fields}
	s.pushWhere(ctx, script, alias, where, n, src)
	rel, err := s.relation(ctx, src)
	if err != nil {
		return "", err
	}
	text := " FROM " + rel + " AS " + parse.Quote(alias)
	if where != nil {
		cond, err := s.condition(ctx, script, where, n)
		if err != nil {
			return "", err
		}
		text += " WHERE " + cond
	}
	return text, nil
}

// condition rewrites an expression that may have queries in it.
func (s *Session) condition(ctx context.Context, script string, q *parse.Query, of parse.TableName) (string, error) {
	texts := make([]string, len(q.Refs))
	for i := range q.Refs {
		src, err := s.resolve(ctx, &q.Refs[i])
		if err != nil {
			return "", err
		}
		if src == nil {
			continue
		}
		if texts[i], err = s.relation(ctx, src); err != nil {
			return "", err
		}
	}
	return q.Rewrite(script, func(i int) (string, bool) { return texts[i], texts[i] != "" }, of), nil
}

func columnList(fields []types.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = parse.Quote(f.Name)
	}
	return out
}

func (s *Session) delete(ctx context.Context, script string, x *parse.Delete) (*Result, error) {
	t, fields, err := s.keyed(ctx, x.Table, "DELETE")
	if err != nil {
		return nil, err
	}
	from, err := s.from(ctx, script, x.Table, x.Alias, x.Where, t, fields)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	n, id, err := s.write(ctx, t, "SELECT "+strings.Join(columnList(fields), ", ")+from, fields, nil, types.Delete, nil)
	return done(err, "%d rows deleted from %s, snapshot %d", n, t.Name(), id)
}

func (s *Session) update(ctx context.Context, script string, x *parse.Update) (*Result, error) {
	t, fields, err := s.keyed(ctx, x.Table, "UPDATE")
	if err != nil {
		return nil, err
	}
	cols := columnList(fields)
	for _, a := range x.Set {
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == a.Column.Name })
		if i < 0 {
			return nil, fmt.Errorf("%w: UPDATE %s: there is no column %q", tarn.ErrInvalid, t.Name(), a.Column.Name)
		}
		if slices.Contains(t.PrimaryKeys(), a.Column.Name) {
			return nil, &Error{Msg: fmt.Sprintf("UPDATE %s: column %q is in the primary key and cannot be changed", t.Name(), a.Column.Name), Hint: "DELETE the row and INSERT it with its new key", Err: tarn.ErrInvalid}
		}
		if _, err := s.start(); err != nil {
			return nil, err
		}
		expr, err := s.condition(ctx, script, &a.Expr, x.Table)
		if err != nil {
			s.dropScans()
			return nil, err
		}
		cols[i] = "CAST((" + expr + ") AS " + duckType(fields[i].Type) + ") AS " + parse.Quote(fields[i].Name)
	}
	from, err := s.from(ctx, script, x.Table, x.Alias, x.Where, t, fields)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	n, id, err := s.write(ctx, t, "SELECT "+strings.Join(cols, ", ")+from, fields, nil, types.UpdateAfter, nil)
	return done(err, "%d rows of %s updated, snapshot %d", n, t.Name(), id)
}

func (s *Session) truncate(ctx context.Context, x *parse.Truncate) (*Result, error) {
	t, err := s.table(ctx, x.Name)
	if err != nil {
		return nil, err
	}
	o := tarn.OverwriteOptions{Static: true, Partition: map[string]*string{}}
	for _, p := range x.Partition {
		if p.Value != nil {
			o.Partition[p.Column] = literalText(p.Value)
		}
	}
	res, err := t.Overwrite(ctx, o, nil)
	return done(err, "table %s truncated, snapshot %d", t.Name(), res.SnapshotID)
}
