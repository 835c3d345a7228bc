package cdc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

// adopt makes the table fit a shape that is new to it: creates it, or adds and widens columns.
func (t *target) adopt(ctx context.Context, ev *decode.Event) (*shapePlan, error) {
	if t.t == nil {
		tab, err := t.w.cat.Table(ctx, t.name)
		if errors.Is(err, tarn.ErrNotExist) {
			tab, err = t.create(ctx, ev)
		} else if err == nil {
			tab, err = t.setOptions(ctx, tab)
		}
		if err != nil {
			return nil, err
		}
		if err := t.use(ctx, tab); err != nil {
			return nil, err
		}
	}
	changes, err := t.changes(ev.Shape)
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		if err := t.evolve(ctx, changes); err != nil {
			return nil, err
		}
	}
	p := &shapePlan{from: make([]int, len(t.fields)), put: make([]int, len(t.fields)), made: t.bind(ev.Shape)}
	for i, f := range t.fields {
		p.from[i] = slices.IndexFunc(ev.Shape.Columns, func(c decode.Column) bool { return c.Name == f.Name })
		p.put[i] = slices.IndexFunc(p.made, func(m made) bool { return m.at == i })
	}
	for _, k := range t.t.PrimaryKeys() {
		i := slices.IndexFunc(t.fields, func(f types.Field) bool { return f.Name == k })
		m := p.put[i]
		if m < 0 && p.from[i] < 0 {
			return nil, t.noKey(k)
		}
		of := p.from[i]
		for ; m >= 0; m = p.made[m].from {
			of = p.made[m].of
		}
		if of >= 0 {
			p.key = append(p.key, of)
		}
	}
	t.plans[ev.Shape] = p
	return p, nil
}

// setOptions brings the options of a table that was there before to those asked for. What its files rest
// on stays as it is, and is told.
func (t *target) setOptions(ctx context.Context, tab *tarn.Table) (*tarn.Table, error) {
	have := tab.Options()
	changed := false
	for _, k := range slices.Sorted(maps.Keys(t.w.o.Options)) {
		v := t.w.o.Options[k]
		now, set := have[k]
		if set && now == v {
			continue
		}
		if k == "bucket" { // rows would be looked for in other buckets than they are in
			if set {
				t.warn(fmt.Errorf("table %s: option bucket stays %s, not %s: the table is there already", t.name, now, v))
			}
			continue
		}
		switch err := tab.Alter(ctx, tarn.SetOption{Key: k, Value: v}); {
		case errors.Is(err, tarn.ErrInvalid):
			t.warn(err)
		case err != nil:
			return nil, err
		default:
			changed = true
		}
	}
	if !changed {
		return tab, nil
	}
	return tab.Refresh(ctx)
}

func (t *target) warn(err error) {
	if t.w.o.Warn != nil {
		t.w.o.Warn(t.name, err)
	}
}

func (t *target) noKey(column string) error {
	return &misfitError{fmt.Errorf("%s: the change has no column %s, which is in the primary key", t.name, column)}
}

// typeOf is the type that a source column has in the lake.
func (t *target) typeOf(c *decode.Column) types.Type {
	if x, ok := t.w.o.Types[strings.ToLower(c.SourceType)]; ok && c.SourceType != "" {
		return x.AsNullable()
	}
	if c.Type.Kind == types.Invalid {
		return types.VarcharType(types.MaxLength)
	}
	return c.Type.AsNullable()
}

// changes gives what has to happen before rows of a shape can be written.
func (t *target) changes(s *decode.Shape) ([]tarn.SchemaChange, error) {
	var out []tarn.SchemaChange
	for i := range s.Columns {
		c := &s.Columns[i]
		k := slices.IndexFunc(t.fields, func(f types.Field) bool { return f.Name == c.Name })
		if k < 0 {
			switch t.w.o.SchemaChanges {
			case "ignore":
				continue
			case "fail":
				return nil, fmt.Errorf("%s: the source has a column %s that the lake does not have, and schema-changes is fail", t.name, c.Name)
			}
			out = append(out, tarn.AddColumn{Path: []string{c.Name}, Type: t.typeOf(c)})
			continue
		}
		if c.Type.Kind == types.Invalid {
			continue
		}
		want, what := meet(t.fields[k].Type, t.typeOf(c))
		switch {
		case what == keep, t.w.o.SchemaChanges == "ignore":
		case what == clash:
			return nil, clashError(t.name, c.Name, t.fields[k].Type, t.typeOf(c))
		case t.w.o.SchemaChanges == "fail":
			return nil, fmt.Errorf("%s: column %s became %s in the source, and schema-changes is fail", t.name, c.Name, c.Type)
		default:
			out = append(out, tarn.UpdateType{Path: []string{c.Name}, Type: want})
		}
	}
	if t.w.o.SchemaChanges == "evolve" {
		fields := slices.Clone(t.fields)
		for _, c := range out {
			if add, ok := c.(tarn.AddColumn); ok {
				fields = append(fields, types.Field{Name: add.Path[0], Type: add.Type})
			}
		}
		for _, f := range t.computedFields(fields) {
			out = append(out, tarn.AddColumn{Path: []string{f.Name}, Type: f.Type.AsNullable()})
		}
	}
	return out, nil
}

// computedFields gives the computed columns that a table of some columns gets and does not have.
func (t *target) computedFields(fields []types.Field) []types.Field {
	all := slices.Clone(fields)
	name := func(f *types.Field) string { return f.Name }
	for i := range t.w.computed {
		c := &t.w.computed[i]
		typ, k := c.typ, -1
		if c.column != "" {
			if k = named(all, name, c.column); k < 0 {
				continue
			}
			if typ.Kind == types.Invalid {
				typ = all[k].Type.AsNullable()
			}
		}
		if named(all, name, c.name) < 0 {
			all = append(all, types.Field{Name: c.name, Type: typ})
		}
	}
	return all[len(fields):]
}

// evolve changes the schema. What was collected is written first, with the schema that it has; a
// writer keeps its schema, so it is prepared and followed by another.
func (t *target) evolve(ctx context.Context, changes []tarn.SchemaChange) error {
	if err := t.flush(ctx); err != nil {
		return err
	}
	if err := t.t.Evolve(ctx, changes...); err != nil {
		return err
	}
	tab, err := t.t.Refresh(ctx)
	if err != nil {
		return err
	}
	p, err := t.writer.Prepare(ctx)
	if err != nil {
		return err
	}
	old := t.writer
	t.earlier = append(t.earlier, p)
	if err := t.use(ctx, tab); err != nil {
		return err
	}
	return old.Close()
}

// create makes the table from the first shape seen.
func (t *target) create(ctx context.Context, ev *decode.Event) (*tarn.Table, error) {
	var def tarn.TableDef
	for i := range ev.Shape.Columns {
		c := &ev.Shape.Columns[i]
		def.Fields = append(def.Fields, types.Field{Name: c.Name, Type: t.typeOf(c)})
	}
	def.Fields = append(def.Fields, t.computedFields(def.Fields)...)
	if f := t.w.o.PrimaryKey; f != nil {
		def.PrimaryKeys = f(ev.Table, t.name)
	}
	if def.PrimaryKeys == nil {
		def.PrimaryKeys = ev.Shape.PrimaryKey()
	}
	for _, k := range def.PrimaryKeys {
		if !slices.ContainsFunc(def.Fields, func(f types.Field) bool { return f.Name == k }) {
			return nil, t.noKey(k)
		}
	}
	if f := t.w.o.PartitionBy; f != nil {
		def.PartitionKeys = f(ev.Table, t.name)
	}
	if len(def.PrimaryKeys) > 0 {
		// A key is unique within a partition, so the partition columns are in it.
		for _, p := range slices.Backward(def.PartitionKeys) {
			if !slices.Contains(def.PrimaryKeys, p) {
				def.PrimaryKeys = append([]string{p}, def.PrimaryKeys...)
			}
		}
	}
	def.Options = map[string]string{}
	for k, v := range t.w.o.Options {
		def.Options[k] = v
	}
	if _, ok := def.Options["bucket"]; !ok && len(def.PrimaryKeys) > 0 {
		def.Options["bucket"] = "2"
	}
	if len(def.PrimaryKeys) == 0 && def.Options["bucket-key"] == "" {
		delete(def.Options, "bucket")
	}
	db, _ := splitName(t.name)
	if err := t.w.cat.CreateDatabase(ctx, db, nil); err != nil && !errors.Is(err, tarn.ErrExist) {
		return nil, err
	}
	tab, err := t.w.cat.CreateTable(ctx, t.name, def)
	if errors.Is(err, tarn.ErrExist) { // another job was faster
		return t.w.cat.Table(ctx, t.name)
	}
	return tab, err
}
