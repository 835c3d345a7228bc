package cdc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/source"
	"github.com/tarnlake/tarn/types"
)

// TablePreview is what a job would do with a table of the lake.
type TablePreview struct {
	Table  string
	From   []string    // source tables that go to it
	Before *tarn.Table // as it is, nil if there is none
	After  *tarn.Table // as it would be, in memory; nil if it failed at once
	Failed error       // why it would be set aside
}

// Preview is what a job would do with the first events of its source.
type Preview struct {
	Tables   []TablePreview
	Events   int
	Bad      []error  // messages that belong to no table
	Warnings []error  // where tables would not be as the job says
	Out      []string // source tables that are left out
}

// PreviewJob reads up to about the given number of events, or to the end of the context, into a lake in memory that has
// the tables of the job's lake without their rows. Nothing is written anywhere else.
func PreviewJob(ctx context.Context, cfg *Config, cat *tarn.Catalog, src source.Source, events int) (*Preview, error) {
	switch {
	case cfg == nil:
		return nil, errNoJob
	case cat == nil:
		return nil, errNoCatalog
	case src == nil:
		return nil, fmt.Errorf("preview of job %s: %w: there is no source (nil)", cfg.Name, tarn.ErrInvalid)
	}
	if cfg.OnError.Mode == "dead-letter" {
		if _, err := os.Stat(filepath.Dir(cfg.OnError.DeadLetter)); err != nil {
			return nil, fmt.Errorf("on-error: dead-letter file: %w", err)
		}
	}
	mem, err := tarn.Open(ctx, "memory:/lake", nil)
	if err != nil {
		return nil, err
	}
	o, err := cfg.writerOptions("preview")
	if err != nil {
		return nil, err
	}
	p := &Preview{}
	if cfg.OnError.Mode != "fail" {
		o.BadRow = func(string, []byte, error) error { return nil }
	}
	o.Warn = func(table string, err error) { p.Warnings = append(p.Warnings, fmt.Errorf("table %s: %w", table, err)) }
	w, err := NewWriter(mem, o)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	before := map[string]*tarn.Table{}
	stop := context.WithoutCancel(ctx)
	for p.Events < events {
		evs, ferr := src.Fetch(ctx)
		if ferr != nil && !errors.Is(ferr, io.EOF) && ctx.Err() == nil {
			return nil, ferr
		}
		for i := range evs {
			p.Events++
			if name, ok := w.o.Route(evs[i].Table); ok && evs[i].Table.Name != "" {
				if err := mirror(stop, cat, mem, name, before); err != nil {
					return nil, err
				}
			}
			if err := w.Apply(stop, &evs[i]); err != nil {
				if msg := (*MessageError)(nil); !errors.As(err, &msg) {
					return nil, err
				}
				p.Bad = append(p.Bad, err)
			}
		}
		if ferr != nil || len(evs) == 0 {
			break
		}
	}
	for _, name := range w.order {
		t := w.targets[name]
		p.Tables = append(p.Tables, TablePreview{Table: name, Before: before[name], After: t.t, Failed: t.failed})
	}
	for i := range w.computed {
		if c := &w.computed[i]; len(p.Tables) > 0 && !slices.ContainsFunc(w.order, func(name string) bool {
			return named(w.targets[name].fields, func(f *types.Field) string { return f.Name }, c.name) >= 0
		}) {
			p.Warnings = append(p.Warnings, fmt.Errorf("computed column %s: no table has the column %s, of which it is made", c.name, c.column))
		}
	}
	for id, name := range w.routes {
		if name == "" {
			p.Out = append(p.Out, id.String())
		}
		for i := range p.Tables {
			if p.Tables[i].Table == name {
				p.Tables[i].From = append(p.Tables[i].From, id.String())
				slices.Sort(p.Tables[i].From)
			}
		}
	}
	slices.Sort(p.Out)
	return p, nil
}

// mirror makes a table of a lake in another one, without its rows.
func mirror(ctx context.Context, from, to *tarn.Catalog, name string, have map[string]*tarn.Table) error {
	if _, ok := have[name]; ok {
		return nil
	}
	t, err := from.Table(ctx, name)
	if err != nil { // it is not there, or no name of a table, which its events tell
		have[name] = nil
		if errors.Is(err, tarn.ErrNotExist) || errors.Is(err, tarn.ErrInvalid) {
			return nil
		}
		return err
	}
	have[name] = t
	fields, err := t.Fields()
	if err != nil {
		return err
	}
	db, _ := splitName(name)
	if err := to.CreateDatabase(ctx, db, nil); err != nil && !errors.Is(err, tarn.ErrExist) {
		return err
	}
	_, err = to.CreateTable(ctx, name, tarn.TableDef{Fields: fields, PrimaryKeys: t.PrimaryKeys(), PartitionKeys: t.PartitionKeys(), Options: t.Options()})
	return err
}
