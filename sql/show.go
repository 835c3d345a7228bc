package sql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// texts makes a result of text columns.
func texts(names []string, rows [][]string) *Result {
	r := &Result{}
	for i, n := range names {
		r.Fields = append(r.Fields, types.Field{ID: i, Name: n, Type: types.VarcharType(types.MaxLength)})
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.ArrowSchema(r.Fields))
	for _, row := range rows {
		for i, v := range row {
			b.Field(i).(*array.StringBuilder).Append(v)
		}
	}
	if len(rows) > 0 {
		r.mem = []arrow.RecordBatch{b.NewRecordBatch()}
	}
	return r
}

// like filters names by a pattern of LIKE; "" keeps all.
func like(names []string, pattern string) ([][]string, error) {
	if pattern == "" {
		out := make([][]string, len(names))
		for i, n := range names {
			out[i] = []string{n}
		}
		return out, nil
	}
	f := []types.Field{{Name: "n", Type: types.VarcharType(types.MaxLength)}}
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.ArrowSchema(f))
	for _, n := range names {
		b.Field(0).(*array.StringBuilder).Append(n)
	}
	sel, err := predicate.Eval(&predicate.Leaf{Op: predicate.Like, Column: "n", Type: f[0].Type, Values: []types.Datum{pattern}}, b.NewRecordBatch(), f)
	if err != nil {
		return nil, err
	}
	var out [][]string
	for _, i := range sel {
		out = append(out, []string{names[i]})
	}
	return out, nil
}

func (s *Session) show(ctx context.Context, x *parse.Show) (*Result, error) {
	switch x.What {
	case parse.ShowDatabases:
		names, err := s.cat.Databases(ctx)
		if err != nil {
			return nil, err
		}
		rows, err := like(names, x.Like)
		return texts([]string{"database"}, rows), err
	case parse.ShowTables:
		db := x.Database
		if db == "" {
			db = s.db
		}
		if db == "" {
			return nil, &Error{Msg: "SHOW TABLES: no database is named", Hint: "write SHOW TABLES IN database, or USE one first", Err: tarn.ErrInvalid}
		}
		names, missing := s.cat.Tables(ctx, db)
		if missing != nil && len(names) == 0 {
			return nil, missing
		}
		rows, err := like(names, x.Like)
		r := texts([]string{"table"}, rows)
		r.missing = missing
		return r, err
	case parse.ShowProcedures:
		var rows [][]string
		for _, n := range slices.Sorted(maps.Keys(procedures)) {
			rows = append(rows, []string{"sys." + n, procedures[n].doc})
		}
		return texts([]string{"procedure", "meaning"}, rows), nil
	}
	t, err := s.table(ctx, x.Table)
	if err != nil {
		return nil, err
	}
	switch x.What {
	case parse.ShowCreateTable:
		text, err := createText(t)
		return texts([]string{"statement"}, [][]string{{text}}), err
	case parse.ShowPartitions:
		return s.showPartitions(ctx, t)
	case parse.ShowOptions:
		var rows [][]string
		o := t.Options()
		for _, k := range slices.Sorted(maps.Keys(o)) {
			rows = append(rows, []string{k, o[k]})
		}
		return texts([]string{"key", "value"}, rows), nil
	}
	return s.describe(ctx, &parse.Describe{Table: x.Table})
}

func (s *Session) showPartitions(ctx context.Context, t *tarn.Table) (*Result, error) {
	id := t.Ident()
	id.System = "partitions"
	p, err := s.cat.Table(ctx, id.String())
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if r.Fields, err = p.Fields(); err != nil {
		return nil, err
	}
	for b, err := range p.Scan(tarn.ScanOptions{}).Batches(ctx) {
		if err != nil {
			return nil, err
		}
		r.mem = append(r.mem, b.RecordBatch)
	}
	return r, nil
}

func (s *Session) describeDatabase(ctx context.Context, name string) (*Result, error) {
	o, err := s.cat.DatabaseOptions(ctx, name)
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"name", name}, {"comment", o["comment"]}}
	delete(o, "comment")
	for _, k := range slices.Sorted(maps.Keys(o)) {
		rows = append(rows, []string{"option " + k, o[k]})
	}
	return texts([]string{"key", "value"}, rows), nil
}

func (s *Session) describe(ctx context.Context, x *parse.Describe) (*Result, error) {
	t, err := s.table(ctx, x.Table)
	if err != nil {
		return nil, err
	}
	fields, err := t.Fields()
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, f := range fields {
		key, null, def := "", "YES", ""
		if f.Type.NotNull {
			null = "NO"
		}
		if i := slices.Index(t.PrimaryKeys(), f.Name); i >= 0 {
			key = "PRI"
		}
		if slices.Contains(t.PartitionKeys(), f.Name) {
			key = strings.TrimSpace(key + " PARTITION")
		}
		if f.Default != nil {
			def = *f.Default
		}
		rows = append(rows, []string{f.Name, f.Type.AsNullable().String(), null, key, def, f.Description})
	}
	if x.Extended {
		rows = append(rows, []string{"# path", t.Path(), "", "", "", ""}, []string{"# schema", fmt.Sprint(t.SchemaID()), "", "", "", ""}, []string{"# comment", t.Comment(), "", "", "", ""})
		o := t.Options()
		for _, k := range slices.Sorted(maps.Keys(o)) {
			rows = append(rows, []string{"# option " + k, o[k], "", "", "", ""})
		}
	}
	return texts([]string{"column", "type", "null", "key", "default", "comment"}, rows), nil
}

// createText writes the statement that makes a table like this one.
func createText(t *tarn.Table) (string, error) {
	fields, err := t.Fields()
	if err != nil {
		return "", err
	}
	var lines []string
	for _, f := range fields {
		l := "  " + parse.Quote(f.Name) + " " + f.Type.String()
		if f.Default != nil {
			l += " DEFAULT " + parse.QuoteString(*f.Default)
		}
		if f.Description != "" {
			l += " COMMENT " + parse.QuoteString(f.Description)
		}
		lines = append(lines, l)
	}
	quoted := func(names []string) string {
		q := make([]string, len(names))
		for i, n := range names {
			q[i] = parse.Quote(n)
		}
		return "(" + strings.Join(q, ", ") + ")"
	}
	if k := t.PrimaryKeys(); len(k) > 0 {
		lines = append(lines, "  PRIMARY KEY "+quoted(k)+" NOT ENFORCED")
	}
	id := t.Ident()
	if id.System != "" {
		return "", &Error{Msg: t.Name() + " is a system table, which nobody creates", Hint: "DESCRIBE shows its columns", Err: tarn.ErrInvalid}
	}
	text := "CREATE TABLE " + parse.Quote(id.Database) + "." + parse.Quote(id.Table) + " (\n" + strings.Join(lines, ",\n") + "\n)"
	if c := t.Comment(); c != "" {
		text += " COMMENT " + parse.QuoteString(c)
	}
	if k := t.PartitionKeys(); len(k) > 0 {
		text += " PARTITIONED BY " + quoted(k)
	}
	o := t.Options()
	var opts []string
	for _, k := range slices.Sorted(maps.Keys(o)) {
		opts = append(opts, "  "+parse.QuoteString(k)+" = "+parse.QuoteString(o[k]))
	}
	if len(opts) > 0 {
		text += " WITH (\n" + strings.Join(opts, ",\n") + "\n)"
	}
	return text, nil
}
