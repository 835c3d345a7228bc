package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

func (s *Session) createTable(ctx context.Context, script string, x *parse.CreateTable) (*Result, error) {
	name, err := s.name(x.Name)
	if err != nil {
		return nil, err
	}
	def := tarn.TableDef{Fields: x.Fields, Options: optionMap(x.Options), Comment: x.Comment}
	if x.Like != nil {
		like, err := s.table(ctx, *x.Like)
		if err != nil {
			return nil, err
		}
		if def.Fields, err = like.Fields(); err != nil {
			return nil, err
		}
		def.PrimaryKeys, def.PartitionKeys = like.PrimaryKeys(), like.PartitionKeys()
		opts := like.Options()
		for k, v := range def.Options {
			opts[k] = v
		}
		def.Options = opts
		if def.Comment == "" {
			def.Comment = like.Comment()
		}
	}
	if x.As != nil {
		if def.Fields, err = s.fieldsOf(ctx, script, x.As, x.Fields); err != nil {
			return nil, err
		}
	}
	if x.Like == nil {
		def.PrimaryKeys, def.PartitionKeys = keyColumns(def.Fields, x.PrimaryKey), keyColumns(def.Fields, x.PartitionedBy)
	}
	t, err := s.cat.CreateTable(ctx, name, def)
	if x.IfNotExists && errors.Is(err, tarn.ErrExist) {
		return message("table %s is there already", name), nil
	}
	if err != nil {
		return nil, err
	}
	if x.As == nil {
		return message("table %s created", name), nil
	}
	fields, err := t.Fields()
	if err != nil {
		return nil, err
	}
	s.exact = slices.ContainsFunc(fields, hasNanos)
	inner, err := s.rewrite(ctx, script, x.As)
	if err == nil {
		var n int64
		if n, _, err = s.write(ctx, writing{table: t, text: castSelect(inner, fields), fields: fields}); err == nil {
			return message("table %s created with %d rows", name, n), nil
		}
	}
	s.dropScans()
	// All or nothing: a table without its rows is not what was asked for.
	return nil, errors.Join(err, s.cat.DropUnused(context.WithoutCancel(ctx), t))
}

// fieldsOf gives the columns of a table that a query fills: those that are declared, or the query's.
func (s *Session) fieldsOf(ctx context.Context, script string, q *parse.Query, declared []types.Field) ([]types.Field, error) {
	text, err := s.rewrite(ctx, script, q)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	if len(declared) > 0 {
		defer s.dropScans()
		names, err := s.columnsOf(ctx, text)
		if err == nil {
			err = checkWidth(text, q, names, declared, "")
		}
		return declared, err
	}
	r, err := s.run(ctx, concat("SELECT * FROM (", text, ") q LIMIT 0"))
	if err != nil {
		return nil, err
	}
	return r.Fields, r.Close()
}

// dropTables drops none of several tables if one is not there.
func (s *Session) dropTables(ctx context.Context, x *parse.DropTable) (*Result, error) {
	var said []string
	var names []string
	for _, n := range x.Names {
		name, err := s.name(n)
		if err != nil {
			return nil, err
		}
		_, err = s.table(ctx, n)
		switch missing := errors.Is(err, tarn.ErrNotExist); {
		case missing && x.IfExists:
			said = append(said, "there is no table "+name)
		case missing:
			return nil, err
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	for _, name := range names {
		if err := s.cat.DropTable(ctx, name); err != nil {
			if len(said) > 0 {
				err = fmt.Errorf("%w (%s)", err, strings.Join(said, "; "))
			}
			return nil, err
		}
		said = append(said, "table "+name+" dropped")
	}
	return message("%s", strings.Join(said, "; ")), nil
}

// alterTable turns the actions of ALTER TABLE into changes of the schema; all happen, or none.
func (s *Session) alterTable(ctx context.Context, x *parse.AlterTable) (*Result, error) {
	name, err := s.name(x.Name)
	if err != nil {
		return nil, err
	}
	t, err := s.table(ctx, x.Name)
	if x.IfExists && errors.Is(err, tarn.ErrNotExist) {
		return message("there is no table %s", name), nil
	}
	if err != nil {
		return nil, err
	}
	fields, err := t.Fields()
	if err != nil {
		return nil, err
	}
	cols := columns{types.Type{Kind: types.Row, Fields: fields}}
	var changes []tarn.SchemaChange
	for i := range x.Actions {
		a := &x.Actions[i]
		switch a.Kind {
		case parse.RenameTable:
			if len(x.Actions) > 1 {
				return nil, fmt.Errorf("%w: RENAME TO stands alone", tarn.ErrInvalid)
			}
			to := a.Table
			if to.Database == "" {
				to.Database = t.Ident().Database
			}
			return done(s.cat.RenameTable(ctx, name, to.String()), "table %s renamed to %s", name, to)
		case parse.DropPartition:
			if len(x.Actions) > 1 {
				return nil, fmt.Errorf("%w: DROP PARTITION stands alone", tarn.ErrInvalid)
			}
			res, err := s.empty(ctx, t, fields, a.Partition)
			return done(err, "partition dropped, snapshot %d", res.SnapshotID)
		}
		c, err := change(&cols, a)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c...)
	}
	if len(changes) == 0 {
		return message("nothing to change"), nil
	}
	return done(t.Alter(ctx, changes...), "table %s altered", name)
}

func place(p parse.Place) tarn.ColumnPlace { return tarn.ColumnPlace{First: p.First, After: p.After} }

// change gives the changes of the schema that an action is.
func change(cols *columns, a *parse.Action) ([]tarn.SchemaChange, error) {
	there := cols.name(a)
	switch a.Kind {
	case parse.AddColumn:
		if a.IfNotExists && there {
			return nil, nil
		}
		return []tarn.SchemaChange{tarn.AddColumn{Path: a.Path, Type: a.Field.Type, Comment: a.Field.Description, Default: a.Field.Default, Place: place(a.Place)}}, nil
	case parse.DropColumn:
		if a.IfExists && !there {
			return nil, nil
		}
		return []tarn.SchemaChange{tarn.DropColumn{Path: a.Path}}, nil
	case parse.RenameColumn:
		return []tarn.SchemaChange{tarn.RenameColumn{Path: a.Path, To: a.To}}, nil
	case parse.ChangeType:
		return []tarn.SchemaChange{tarn.UpdateType{Path: a.Path, Type: a.Field.Type}}, nil
	case parse.ModifyColumn:
		var out []tarn.SchemaChange
		if a.Field.Type.Kind != types.Invalid {
			out = append(out, tarn.UpdateType{Path: a.Path, Type: a.Field.Type, SetNullability: a.Field.Type.NotNull})
		}
		if a.HasComment {
			out = append(out, tarn.UpdateColumnComment{Path: a.Path, Comment: a.Field.Description})
		}
		if !a.Place.IsZero() && len(a.Path) == 1 {
			out = append(out, tarn.MoveColumn{Column: a.Path[0], Place: place(a.Place)})
		}
		return out, nil
	case parse.SetNotNull, parse.DropNotNull:
		return []tarn.SchemaChange{tarn.UpdateNullability{Path: a.Path, NotNull: a.Kind == parse.SetNotNull}}, nil
	case parse.SetDefault:
		return []tarn.SchemaChange{tarn.UpdateDefault{Path: a.Path, Default: literalText(&a.Value)}}, nil
	case parse.DropDefault:
		return []tarn.SchemaChange{tarn.UpdateDefault{Path: a.Path}}, nil
	case parse.ColumnComment:
		return []tarn.SchemaChange{tarn.UpdateColumnComment{Path: a.Path, Comment: a.Value.Text}}, nil
	case parse.MoveColumn:
		if len(a.Path) != 1 {
			return nil, fmt.Errorf("%w: only columns can be moved, not fields within them", tarn.ErrInvalid)
		}
		return []tarn.SchemaChange{tarn.MoveColumn{Column: a.Path[0], Place: place(a.Place)}}, nil
	case parse.TableComment:
		return []tarn.SchemaChange{tarn.UpdateComment{Comment: a.Value.Text}}, nil
	case parse.SetOptions, parse.ResetOptions:
		var out []tarn.SchemaChange
		for _, o := range a.Options {
			if a.Kind == parse.SetOptions {
				out = append(out, tarn.SetOption{Key: o.Key, Value: o.Value})
			} else {
				out = append(out, tarn.ResetOption{Key: o.Key})
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("%w: this change of a table", tarn.ErrUnsupported)
}
