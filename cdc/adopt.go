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
		switch {
		case errors.Is(err, tarn.ErrNotExist) && t.w.born[t.name] != "":
			err = dropped(t.name, err)
		case errors.Is(err, tarn.ErrNotExist):
			tab, err = t.create(ctx, ev)
		case err == nil:
			if err = t.checkKeys(tab, ev); err == nil {
				tab, err = t.setOptions(ctx, tab)
			}
		}
		if err != nil {
			return nil, err
		}
		if err := t.use(ctx, tab); err != nil {
			return nil, err
		}
	}
	if err := t.checkSourceKey(ev); err != nil {
		return nil, err
	}
	if err := t.fit(ctx, ev.Shape); err != nil {
		return nil, err
	}
	p := &shapePlan{from: make([]int, len(t.fields)), put: make([]int, len(t.fields)), made: t.bind(ev.Shape)}
	for i, f := range t.fields {
		p.from[i] = slices.IndexFunc(ev.Shape.Columns, func(c decode.Column) bool { return c.Name == f.Name })
		p.put[i] = slices.IndexFunc(p.made, func(m made) bool { return m.at == i })
		if k := p.from[i]; k >= 0 && ev.Shape.Columns[k].Type.Kind != types.Invalid {
			if src := t.typeOf(&ev.Shape.Columns[k]); loses(f.Type, src) {
				if p.exact == nil {
					p.exact = map[int]types.Type{}
				}
				p.exact[i] = src
			}
		}
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
				t.warn(fmt.Errorf("option bucket stays %s, not %s: the table is there already", now, v))
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

// keys are the columns of the primary key and of partitions of a table of some columns.
func (t *target) keys(ev *decode.Event, fields []types.Field) (primary, partition []string, err error) {
	lacks := func(names []string) int {
		return slices.IndexFunc(names, func(n string) bool {
			return !slices.ContainsFunc(fields, func(f types.Field) bool { return f.Name == n })
		})
	}
	var generalKey, generalPartition bool
	if f := t.w.o.general; f != nil {
		generalKey, generalPartition = f(ev.Table)
	}
	if f := t.w.o.PrimaryKey; f != nil {
		primary = t.cased(f(ev.Table, t.name))
	}
	told := ev.Shape.PrimaryKey()
	if i := lacks(primary); i >= 0 && generalKey && len(told) > 0 {
		t.warn(fmt.Errorf("primary-key %s is of all tables, and this one has no column %s: the source's key %s is taken", strings.Join(primary, ", "), primary[i], strings.Join(told, ", ")))
		primary = nil
	}
	if primary == nil {
		primary = told
	}
	if i := lacks(primary); i >= 0 {
		return nil, nil, t.noKey(primary[i])
	}
	if f := t.w.o.PartitionBy; f != nil {
		partition = t.cased(f(ev.Table, t.name))
	}
	if i := lacks(partition); i >= 0 && generalPartition {
		t.warn(fmt.Errorf("partition-by %s is of all tables, and this one has no column %s: it has no partitions", strings.Join(partition, ", "), partition[i]))
		partition = nil
	}
	if i := lacks(partition); i >= 0 {
		return nil, nil, fmt.Errorf("%s: there is no column %s, by which the table is to be partitioned", t.name, partition[i])
	}
	if len(primary) > 0 { // unique within a partition, so the partition columns are in it
		for _, p := range slices.Backward(partition) {
			if !slices.Contains(primary, p) {
				primary = append([]string{p}, primary...)
			}
		}
	}
	return primary, partition, nil
}

// cased gives names that the job says as the lake has them.
func (t *target) cased(names []string) []string {
	if !t.w.o.LowerCase {
		return names
	}
	out := slices.Clone(names)
	for i := range out {
		out[i] = strings.ToLower(out[i])
	}
	return out
}

// checkKeys compares a table that is there with the keys that the job names. What the source says does not count: a
// table may have been made with other keys on purpose.
func (t *target) checkKeys(tab *tarn.Table, ev *decode.Event) error {
	named := func(f func(decode.TableID, string) []string) bool { return f != nil && len(f(ev.Table, t.name)) > 0 }
	key, partition := named(t.w.o.PrimaryKey), named(t.w.o.PartitionBy)
	if !key && !partition {
		return nil
	}
	fields, err := tab.Fields()
	if err != nil {
		return err
	}
	for i := range ev.Shape.Columns {
		fields = append(fields, types.Field{Name: ev.Shape.Columns[i].Name})
	}
	wantKey, wantPartition, err := t.keys(ev, fields)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		named      bool
		what       string
		have, want []string
	}{{partition, "partition-by", tab.PartitionKeys(), wantPartition}, {key, "primary-key", tab.PrimaryKeys(), wantKey}} {
		if c.named && !slices.Equal(slices.Sorted(slices.Values(c.have)), slices.Sorted(slices.Values(c.want))) {
			return fmt.Errorf("%s: %s of the job makes %q, and the table is there with %q: say so in the job, or leave it out, or drop the table", t.name, c.what, c.want, c.have)
		}
	}
	return nil
}

// checkSourceKey refuses rows that differ in the source's key and not in the table's, which would become one. It does not
// count where the job names the key.
func (t *target) checkSourceKey(ev *decode.Event) error {
	if f := t.w.o.PrimaryKey; !t.keyed || f != nil && len(f(ev.Table, t.name)) > 0 {
		return nil
	}
	have, told := t.t.PrimaryKeys(), ev.Shape.PrimaryKey()
	if i := slices.IndexFunc(told, func(k string) bool { return !slices.Contains(have, k) }); i >= 0 {
		return fmt.Errorf("%s: the source's primary key is %s and the table's is %s: rows that differ in %s alone would become one. If that is meant, name the key by primary-key; if the key changed, drop the table and reset the job", t.name, strings.Join(told, ", "), strings.Join(have, ", "), told[i])
	}
	return nil
}

// typeOf is the type that a source column has in the lake.
func (t *target) typeOf(c *decode.Column) types.Type {
	for _, name := range typeNames(c.SourceType) {
		if x, ok := t.w.o.Types[name]; ok {
			return x.AsNullable()
		}
	}
	if c.Type.Kind == types.Invalid {
		return types.VarcharType(types.MaxLength)
	}
	return c.Type.AsNullable()
}

// typeNames gives the names under which a type of the source may be replaced: as it is, without what stands in
// brackets, and all types.
func typeNames(source string) []string {
	full := typeName(source)
	bare := full
	if open := strings.IndexByte(full, '('); open >= 0 {
		if n := strings.LastIndexByte(full, ')'); n > open {
			bare = full[:open] + full[n+1:]
		}
	}
	return []string{full, bare, "*"}
}

// typeName writes the name of a type in one way. Zerofill is left out, as it means unsigned.
func typeName(s string) string {
	s = strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ").Replace(strings.ToLower(s))
	words := strings.Fields(s)
	if i := slices.Index(words, "zerofill"); i >= 0 {
		if words[i] = "unsigned"; slices.Contains(words[:i], "unsigned") {
			words = words[:i]
		}
	}
	s = strings.Join(words, " ")
	return strings.NewReplacer(" ( ", "(", " )", ")", " , ", ",").Replace(s)
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
		case slices.Contains(t.t.PrimaryKeys(), c.Name) || slices.Contains(t.t.PartitionKeys(), c.Name): // files rest on it
			t.warn(fmt.Errorf("column %s is %s in the source and stays %s, as it is in the key: values that do not fit are bad rows", c.Name, t.typeOf(c), t.fields[k].Type))
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

// fit changes the schema until rows of a shape can be written. Others may change it at the same time: what they left
// counts.
func (t *target) fit(ctx context.Context, s *decode.Shape) error {
	for range 5 {
		changes, err := t.changes(s)
		if err == nil && len(changes) == 0 {
			return nil
		}
		fresh, rerr := t.t.Refresh(ctx)
		if rerr != nil {
			return rerr
		}
		if fresh.SchemaID() == t.t.SchemaID() {
			if err != nil {
				return err
			}
			if err = t.t.Evolve(ctx, changes...); err != nil && !errors.Is(err, tarn.ErrInvalid) {
				return err
			}
			if fresh, rerr = t.t.Refresh(ctx); rerr != nil {
				return rerr
			}
			if fresh.SchemaID() == t.t.SchemaID() {
				return err
			}
		}
		if err := t.turn(ctx, fresh); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: the schema changed five times while it was changed for the source", t.name)
}

// turn goes on with the table as it is now. What was collected is written first, with the schema that it has; a writer
// keeps its schema, so it is prepared and followed by another.
func (t *target) turn(ctx context.Context, tab *tarn.Table) error {
	if err := t.flush(ctx); err != nil {
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
	var err error
	if def.PrimaryKeys, def.PartitionKeys, err = t.keys(ev, def.Fields); err != nil {
		return nil, err
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
