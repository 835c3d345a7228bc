// Package cdc follows changes of databases into a lake: whole databases or single tables, their schema
// with them, exactly once.
//
// Writer applies events to tables, creating and evolving them; it is what sources of one's own plug
// into. Run runs a source against a Writer with checkpoints in the warehouse.
package cdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/rescue"
	"github.com/tarnlake/tarn/types"
)

// WriterOptions of NewWriter. The zero value follows everything into tables of the same names.
type WriterOptions struct {
	// User is the commit user of all tables.
	User string
	// Pin names a consumer in each table that keeps the snapshots from expiry by which Table.WasCommitted
	// tells what was committed; it begins before the first rows, and whoever commits moves it on. "" is none.
	Pin string
	// Route gives the lake's table (db.name) for a source table; false leaves its changes out. Several
	// source tables may go to one. Nil: the same database and name.
	Route func(decode.TableID) (table string, ok bool)
	check func(decode.TableID) error // of names that Route takes; nil: all may be
	// PrimaryKey gives the key of a lake's table, nil: what the source says. PartitionBy likewise; nil: none.
	PrimaryKey, PartitionBy func(source decode.TableID, table string) []string
	// general tells which of them are of all tables: one that lacks their columns goes without.
	general func(decode.TableID) (key, partition bool)
	// Computed are columns made of others, by name: "dt": "date_format(created, 'yyyy-MM-dd')". Tables
	// that do not have the columns go without.
	Computed map[string]string
	// Options are those of tables that are created. Tables that are there get them too, but for those that
	// their files rest on: the number of buckets, and what cannot be changed.
	Options map[string]string
	// Warn is told where a table is not as asked for, and goes on; nil: nobody is.
	Warn func(table string, err error)
	// SchemaChanges: "evolve" (the default) follows the source, "ignore" leaves columns out that the lake
	// does not have, "fail" sets a table aside that changes.
	SchemaChanges string
	// Types replaces the types of columns by the name of their type in the source in lower case: "tinyint(1)",
	// "varchar" of any length, "*" for all others.
	Types map[string]types.Type
	// LowerCase writes the names of tables and columns in lower case: the source does not tell them apart by case.
	LowerCase bool
	// BadRow is asked what to do with a row or message that cannot be applied: nil as its answer drops
	// the row, an error sets the table aside. Nil: every bad row sets its table aside.
	BadRow    func(table string, raw []byte, err error) error
	truncated func(table string) // a TRUNCATE that was passed over
	// FlushRows is how many rows of a table are collected before they are written; 0 is 8192.
	FlushRows int
	// Clock is for now(); nil is time.Now.
	Clock func() time.Time
}

// Writer applies changes to tables. It is used by one goroutine. A table that fails is set aside with
// its reason and the others go on.
type Writer struct {
	cat      *tarn.Catalog
	o        WriterOptions
	computed []computed
	routes   map[decode.TableID]string // "" is left out
	lower    map[*decode.Shape]*decode.Shape
	targets  map[string]*target
	order    []string
	born     map[string]string // Table.Incarnation of tables that were written to, in earlier runs too
	skipping []*target         // those that pass over what they have
	rows     int64
	closed   bool
}

// Errors of wrong use.
var (
	errNoCatalog = fmt.Errorf("cdc: %w: there is no catalog (nil)", tarn.ErrInvalid)
	errNoJob     = fmt.Errorf("cdc: %w: there is no job (a nil *Config)", tarn.ErrInvalid)
	errClosed    = fmt.Errorf("cdc: %w: the writer is closed", tarn.ErrInvalid)
)

// NewWriter makes a Writer.
func NewWriter(cat *tarn.Catalog, o WriterOptions) (*Writer, error) {
	if cat == nil {
		return nil, errNoCatalog
	}
	w := &Writer{cat: cat, o: o, routes: map[decode.TableID]string{}, lower: map[*decode.Shape]*decode.Shape{}, targets: map[string]*target{}, born: map[string]string{}}
	if w.o.Clock == nil {
		w.o.Clock = time.Now //nolint:forbidigo // the default
	}
	if w.o.FlushRows <= 0 {
		w.o.FlushRows = 8192
	}
	if w.o.Route == nil {
		w.o.Route = func(id decode.TableID) (string, bool) { return id.Database + "." + id.Name, id.Name != "" }
	}
	switch w.o.SchemaChanges {
	case "":
		w.o.SchemaChanges = "evolve"
	case "evolve", "ignore", "fail":
	default:
		return nil, fmt.Errorf("cdc: schema changes %q: there are evolve, ignore, fail", w.o.SchemaChanges)
	}
	var err error
	exprs := o.Computed
	if o.LowerCase {
		exprs = map[string]string{}
		for name, expr := range o.Computed {
			exprs[strings.ToLower(name)] = expr
		}
	}
	if w.computed, err = parseAllComputed(exprs); err != nil {
		return nil, err
	}
	w.o.Types = map[string]types.Type{}
	for name, typ := range o.Types {
		w.o.Types[typeName(name)] = typ
	}
	return w, nil
}

// Rows is the number of rows applied so far.
func (w *Writer) Rows() int64 { return w.rows }

// target finds the table that an event goes to, nil if it is left out.
func (w *Writer) target(id decode.TableID) (*target, error) {
	name, ok := w.routes[id]
	if !ok {
		var use bool
		if name, use = w.o.Route(id); !use {
			name = ""
		}
		if w.o.LowerCase {
			name = strings.ToLower(name)
		}
		w.routes[id] = name
		if name != "" && w.o.check != nil {
			if err := w.o.check(id); err != nil {
				w.named(name).setAside(err)
			}
		}
	}
	if name == "" {
		return nil, nil
	}
	return w.named(name), nil
}

// named is the target of a lake's table.
func (w *Writer) named(name string) *target {
	t := w.targets[name]
	if t == nil {
		t = &target{w: w, name: name}
		w.targets[name] = t
		w.order = append(w.order, name)
	}
	return t
}

// Apply takes one event. Errors of a table set it aside and are not returned; those returned concern
// the whole Writer (the storage is out of reach, the context ended).
func (w *Writer) Apply(ctx context.Context, ev *decode.Event) error {
	switch {
	case w.closed:
		return errClosed
	case ev == nil:
		return fmt.Errorf("cdc: %w: there is no event (nil)", tarn.ErrInvalid)
	case ev.Kind > decode.Bad:
		return fmt.Errorf("cdc: %w: an event of the unknown kind %s", tarn.ErrInvalid, ev.Kind)
	}
	if len(w.skipping) > 0 {
		defer w.passed(ev)
	}
	if ev.Kind == decode.Bad {
		return w.bad(ev)
	}
	if ev.Kind != decode.Rows && (ev.Kind != decode.DDL || !truncates(ev.DDL)) { // the columns come with the next rows
		return nil
	}
	if ev.Table.Name == "" && ev.Kind == decode.Rows {
		if _, ok := w.o.Route(ev.Table); !ok {
			return w.bad(&decode.Event{Kind: decode.Bad, Raw: ev.Raw, Err: located(ev, errors.New("the message does not say which table changed"))})
		}
	}
	t, err := w.target(ev.Table)
	if err != nil || t == nil || t.skip != nil || t.failed != nil {
		return err
	}
	if ev.Kind == decode.DDL {
		t.warn(located(ev, errors.New("the source emptied the table (TRUNCATE), and its rows stay in the lake: delete them there if they are to go")))
		if w.o.truncated != nil {
			w.o.truncated(t.name)
		}
		return nil
	}
	if w.o.LowerCase && ev.Shape != nil {
		ev = w.lowered(ev)
	}
	err = t.apply(ctx, ev)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case ofStorage(err):
		return err
	}
	t.setAside(err)
	return nil
}

// truncates tells whether a statement empties a table.
func truncates(ddl string) bool {
	for {
		ddl = strings.TrimLeft(ddl, " \t\r\n")
		if !strings.HasPrefix(ddl, "/*") {
			break
		}
		_, rest, ok := strings.Cut(ddl, "*/")
		if !ok {
			return false
		}
		ddl = rest
	}
	fields := strings.Fields(ddl)
	return len(fields) > 0 && strings.EqualFold(fields[0], "TRUNCATE")
}

// lowered is an event with its names in lower case.
func (w *Writer) lowered(ev *decode.Event) *decode.Event {
	low := w.lower[ev.Shape]
	if low == nil {
		if len(w.lower) >= maxPlans {
			clear(w.lower)
		}
		low = ev.Shape.LowerCase()
		w.lower[ev.Shape] = low
	}
	out := *ev
	out.Shape = low
	return &out
}

// ofStorage tells errors that no table is to blame for: the disk is full or broken, the storage is out of reach.
func ofStorage(err error) bool {
	if fileio.Unreachable(err) {
		return true
	}
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// bad handles a message that could not be understood.
func (w *Writer) bad(ev *decode.Event) error {
	name := ""
	if ev.Table.Name != "" {
		t, err := w.target(ev.Table)
		if err != nil || t == nil || t.failed != nil || t.skip != nil {
			return err // of a table that is left out, or has it
		}
		name = t.name
	}
	err := ev.Err
	if err == nil {
		err = located(ev, errors.New("a message that is bad, as its source says"))
	}
	if w.o.BadRow != nil {
		err = w.o.BadRow(name, ev.Raw, err)
	}
	if err != nil {
		if name == "" {
			return &MessageError{err}
		}
		w.targets[name].setAside(err)
	}
	return nil
}

// MessageError is a message that cannot be understood and belongs to no table. What came before it is applied.
type MessageError struct{ Err error }

// Error implements error.
func (e *MessageError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *MessageError) Unwrap() error { return e.Err }

// TablePrepared is what one table has to commit.
type TablePrepared struct {
	Table    string
	Prepared *tarn.Prepared // nil: nothing since the last time
	Failed   error          // why the table is set aside
	rows     int64          // applied since the last time
	ahead    []byte         // position up to which it has everything, if that is ahead of the others
	t        *target
}

// Prepare ends what was applied so far, for all tables, and gives what is to be committed.
func (w *Writer) Prepare(ctx context.Context) ([]TablePrepared, error) {
	if w.closed {
		return nil, errClosed
	}
	out := make([]TablePrepared, len(w.order))
	for i, name := range w.order {
		t := w.targets[name]
		out[i] = TablePrepared{Table: name, t: t, ahead: t.skip}
	}
	errs := eachTable("prepare", out, func(i int) (err error) {
		if t := out[i].t; t.failed == nil && t.writer != nil {
			out[i].Prepared, err = t.prepare(ctx)
			out[i].rows, t.rows = t.rows, 0
		}
		return err
	})
	for i, err := range errs {
		t := out[i].t
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case ofStorage(err):
			return nil, err
		default:
			t.setAside(err)
		}
		out[i].Failed = t.failed
	}
	return out, nil
}

// tablesAtOnce is how many tables are written or committed at the same time.
const tablesAtOnce = 8

// eachTable calls f for the index of each table, some at the same time, and gives the errors by index. What is done
// stands in those of panics.
func eachTable(what string, tables []TablePrepared, f func(i int) error) []error {
	errs := make([]error, len(tables))
	slots := make(chan struct{}, tablesAtOnce)
	var wg sync.WaitGroup
	for i := range tables {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = rescue.Do(what+" table "+tables[i].Table, func() error { return f(i) })
		})
	}
	wg.Wait()
	return errs
}

// Commit commits one table's part under a number. It may be repeated with the same number.
func (w *Writer) Commit(ctx context.Context, number int64, p *TablePrepared) (tarn.CommitResult, error) {
	if p == nil || p.Prepared == nil || p.t == nil {
		return tarn.CommitResult{}, nil
	}
	if err := p.t.stands(ctx); err != nil {
		return tarn.CommitResult{}, err
	}
	res, err := p.t.t.Commit(ctx, tarn.CommitID{User: w.o.User, Number: number}, p.Prepared)
	if err != nil {
		return res, err
	}
	p.t.committed = res.SnapshotID
	return res, p.t.writer.Done(res)
}

// SetAside takes a table out: its changes are left out from here on.
func (w *Writer) SetAside(table string, err error) {
	w.named(table).setAside(err)
}

// SkipUntil lets a table pass over all events up to and including the one at a position: it has them
// already. That event may be one of another table.
func (w *Writer) SkipUntil(table string, position []byte) {
	t := w.named(table)
	if t.skip == nil {
		w.skipping = append(w.skipping, t)
	}
	t.skip = position
}

// passed ends the skipping of tables for which an event was the last that they have.
func (w *Writer) passed(ev *decode.Event) {
	if ev.Position == nil {
		return
	}
	at, err := ev.Position.MarshalBinary()
	if err != nil {
		return
	}
	w.skipping = slices.DeleteFunc(w.skipping, func(t *target) bool {
		if bytes.Equal(t.skip, at) {
			t.skip = nil
		}
		return t.skip == nil
	})
}

// Skipping lists the tables whose position of SkipUntil has not come yet.
func (w *Writer) Skipping() []string {
	var out []string
	for _, t := range w.skipping {
		out = append(out, t.name)
	}
	return out
}

// Failed gives the tables that are set aside, with the reasons.
func (w *Writer) Failed() map[string]error {
	out := map[string]error{}
	for name, t := range w.targets {
		if t.failed != nil {
			out[name] = t.failed
		}
	}
	return out
}

// Tables lists the lake's tables that were met, in that order.
func (w *Writer) Tables() []string { return slices.Clone(w.order) }

// Buffered is the number of rows applied and not yet prepared.
func (w *Writer) Buffered() (n int64) {
	for _, t := range w.targets {
		n += t.pending
	}
	return n
}

// Close ends the Writer. What was not prepared is dropped.
func (w *Writer) Close() error {
	w.closed = true
	tables := make([]TablePrepared, len(w.order))
	for i, name := range w.order {
		tables[i] = TablePrepared{Table: name, t: w.targets[name]}
	}
	return errors.Join(eachTable("close", tables, func(i int) error { return tables[i].t.close() })...)
}

// splitName takes db.name apart.
func splitName(table string) (db, name string) {
	db, name, _ = strings.Cut(table, ".")
	return db, name
}
