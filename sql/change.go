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

// changed is the target of an UPDATE or DELETE.
type changed struct {
	table    *tarn.Table
	fields   []types.Field
	deletion *tarn.Deletion // of a table without a key
}

// deleteTries is how often a statement is done anew because others have changed the same files meanwhile.
const deleteTries = 10

// changing opens a table whose rows can be changed one by one.
func (s *Session) changing(ctx context.Context, n parse.TableName, what string) (*changed, error) {
	t, err := s.table(ctx, n)
	if err != nil {
		return nil, err
	}
	c := &changed{table: t}
	if !t.HasPrimaryKey() {
		c.deletion, err = t.NewDeletion(ctx)
		if errors.Is(err, tarn.ErrUnsupported) && t.Options()["deletion-vectors.enabled"] != "true" {
			return nil, &Error{
				Msg:  fmt.Sprintf("%s: %v: table %s has no primary key and no deletion vectors", what, tarn.ErrUnsupported, t.Name()),
				Hint: "rewrite the table or a partition by INSERT OVERWRITE … SELECT, or create it with deletion-vectors.enabled", Err: tarn.ErrUnsupported,
			}
		}
		if err != nil {
			return nil, err
		}
	}
	c.fields, err = t.Fields()
	return c, err
}

// again does a statement once more while another commit is a conflict, upon what that one has left.
func (s *Session) again(do func() (*Result, error)) (r *Result, err error) {
	for range deleteTries {
		if r, err = do(); !errors.Is(err, tarn.ErrConflict) {
			break
		}
		clear(s.tables)
	}
	return r, err
}

func (s *Session) delete(ctx context.Context, script string, x *parse.Delete) (*Result, error) {
	return s.again(func() (*Result, error) { return s.deleteOnce(ctx, script, x) })
}

func (s *Session) update(ctx context.Context, script string, x *parse.Update) (*Result, error) {
	return s.again(func() (*Result, error) { return s.updateOnce(ctx, script, x) })
}

// deletePlaces deletes the rows of a table without a key that a query gives the places of.
func (s *Session) deletePlaces(ctx context.Context, c *changed, text engineText) (res *Result, err error) {
	r, err := s.run(ctx, text)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		rec, err := r.rows.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = c.deletion.Add(rec)
		}
		if err != nil {
			return nil, err
		}
	}
	done, err := c.deletion.Commit(ctx)
	if err != nil {
		return nil, err
	}
	return wrote(done.SnapshotID, "%d rows deleted from %s", c.deletion.Rows(), c.table.Name()), nil
}

func (s *Session) deleteOnce(ctx context.Context, script string, x *parse.Delete) (*Result, error) {
	c, err := s.changing(ctx, x.Table, "DELETE")
	if err != nil {
		return nil, err
	}
	t, fields := c.table, c.fields
	if c.deletion == nil {
		if err := t.CheckDelete(); err != nil {
			return nil, err
		}
	}
	from, err := s.from(ctx, script, x.Table, x.Alias, x.Where, c)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	if c.deletion != nil {
		return s.deletePlaces(ctx, c, concat("SELECT "+parse.Quote(tarn.PlaceColumn), from))
	}
	n, id, err := s.write(ctx, writing{table: t, text: concat("SELECT "+strings.Join(storedColumns(fields), ", "), from), fields: fields, kind: types.Delete, asStored: func(int) bool { return true }})
	if err != nil {
		return nil, err
	}
	return wrote(id, "%d rows deleted from %s", n, t.Name()), nil
}

// part has an UPDATE write NULL into the columns that it need not write, and gives what looks for rows that would change nothing. cols are
// the columns of its query, with commas between; set are those that are changed.
func (c *changed) part(set map[int]bool, cols []any) (func(arrow.RecordBatch) error, error) {
	var names []string
	for i, f := range c.fields {
		if set[i] {
			names = append(names, f.Name)
		}
	}
	change, err := c.table.ChangeOf(names...)
	if err != nil {
		return nil, err
	}
	for i, f := range c.fields {
		if !set[i] && !slices.Contains(change.Keep, f.Name) && !slices.Contains(c.table.PrimaryKeys(), f.Name) {
			cols[2*i] = fmt.Sprintf("CASE WHEN false THEN %s END AS %[1]s", cols[2*i]) // NULL, of its type
		}
	}
	if len(change.NotNull)+len(change.Ordered) == 0 {
		return nil, nil
	}
	column := func(rec arrow.RecordBatch, name string) arrow.Array {
		return rec.Column(slices.IndexFunc(c.fields, func(f types.Field) bool { return f.Name == name }))
	}
	return func(rec arrow.RecordBatch) error {
		for _, n := range change.NotNull {
			if column(rec, n).NullN() > 0 {
				return fmt.Errorf("column %q cannot become NULL: of merge-engine partial-update NULL leaves a column as it is, unless it is in a sequence group", n)
			}
		}
		for _, group := range change.Ordered {
			for row := range int(rec.NumRows()) {
				if !slices.ContainsFunc(group, func(n string) bool { return column(rec, n).IsValid(row) }) {
					return fmt.Errorf("a row has NULL in %s, which order a sequence group, and would stay as it is: set them too", strings.Join(group, ", "))
				}
			}
		}
		return nil
	}, nil
}

func (s *Session) updateOnce(ctx context.Context, script string, x *parse.Update) (*Result, error) {
	c, err := s.changing(ctx, x.Table, "UPDATE")
	if err != nil {
		return nil, err
	}
	t, fields := c.table, c.fields
	var cols []any
	for i, name := range storedColumns(fields) {
		if i > 0 {
			cols = append(cols, ", ")
		}
		cols = append(cols, name)
	}
	set := map[int]bool{}
	for _, a := range x.Set {
		i := columnIndex(fields, a.Column.Name)
		switch {
		case i < 0:
			return nil, noColumn(script, a.Column, fields)
		case slices.Contains(t.PrimaryKeys(), fields[i].Name):
			return nil, &parse.Error{Msg: fmt.Sprintf("UPDATE %s: column %q is in the primary key and cannot be changed", t.Name(), fields[i].Name), Hint: "DELETE the row and INSERT it with its new key", Text: script, Pos: a.Column.Start}
		case set[i]:
			return nil, &parse.Error{Msg: "column " + a.Column.Name + " is set twice", Text: script, Pos: a.Column.Start}
		}
		set[i] = true
		if _, err := s.start(); err != nil {
			return nil, err
		}
		s.exact = s.exact || hasNanos(fields[i]) && readsFiner(script, &a.Expr, fields)
		expr, err := s.condition(ctx, script, &a.Expr, x.Table)
		if err != nil {
			s.dropScans()
			return nil, err
		}
		if strings.EqualFold(strings.TrimSpace(expr.text), "DEFAULT") {
			expr = concat(defaultText(fields[i]))
		}
		if finerLTZ(fields[i].Type) { // it is evaluated once
			cols[2*i] = concat("list_transform([(", expr, ")], lambda x: "+assigned("x", fields[i].Type)+")[1] AS "+parse.Quote(fields[i].Name))
			continue
		}
		cols[2*i] = concat("CAST((", expr, ") AS "+duckType(fields[i].Type)+") AS "+parse.Quote(fields[i].Name))
	}
	var check func(arrow.RecordBatch) error
	if c.deletion == nil {
		if check, err = c.part(set, cols); err != nil {
			s.dropScans()
			return nil, err
		}
	}
	from, err := s.from(ctx, script, x.Table, x.Alias, x.Where, c)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	w := writing{table: t, text: concat("SELECT ", concat(cols...), from), fields: fields, kind: types.UpdateAfter, asStored: func(i int) bool { return !set[i] }, check: check}
	if c.deletion != nil {
		w.text = concat("SELECT ", concat(cols...), ", "+parse.Quote(tarn.PlaceColumn), from)
		w.kind, w.deletion = types.Insert, c.deletion
	}
	n, id, err := s.write(ctx, w)
	if err != nil {
		var changed []types.Field
		for _, a := range x.Set {
			changed = append(changed, fields[columnIndex(fields, a.Column.Name)])
		}
		return nil, s.explainCast(ctx, "update", t.Name(), changed, err, func(i int) (engineText, error) {
			expr, err := s.condition(ctx, script, &x.Set[i].Expr, x.Table)
			if err != nil {
				return expr, err
			}
			from, err := s.from(ctx, script, x.Table, x.Alias, x.Where, c)
			return concat("SELECT (", expr, ")", from), err
		})
	}
	return wrote(id, "%d rows of %s updated", n, t.Name()), nil
}

// readsFiner says whether an expression may read columns of which the engine does not hold all digits.
func readsFiner(script string, q *parse.Query, fields []types.Field) bool {
	text := strings.ToLower(script[q.Start:q.End])
	return len(q.Refs) > 0 || slices.ContainsFunc(fields, func(f types.Field) bool {
		return hasFinerLTZ(f.Type) && strings.Contains(text, strings.ToLower(f.Name))
	})
}

func (s *Session) truncate(ctx context.Context, x *parse.Truncate) (*Result, error) {
	t, err := s.table(ctx, x.Name)
	if err != nil {
		return nil, err
	}
	fields, err := t.Fields()
	if err != nil {
		return nil, err
	}
	res, err := s.empty(ctx, t, fields, x.Partition)
	if err != nil {
		return nil, err
	}
	return wrote(res.SnapshotID, "table %s truncated", t.Name()), nil
}

// empty removes the rows of a table, or of the partitions that have these values.
func (s *Session) empty(ctx context.Context, t *tarn.Table, fields []types.Field, part []parse.PartitionValue) (tarn.CommitResult, error) {
	if err := checkPartition(t, fields, part); err != nil {
		return tarn.CommitResult{}, err
	}
	o := tarn.OverwriteOptions{Static: true, Partition: map[string]*string{}}
	for _, p := range part {
		if p.Value != nil {
			o.Partition[p.Column] = literalText(p.Value)
		}
	}
	if len(part) > 0 && len(o.Partition) == 0 {
		return tarn.CommitResult{}, fmt.Errorf("%w: PARTITION names no value", tarn.ErrInvalid)
	}
	return t.Overwrite(ctx, o, nil)
}
