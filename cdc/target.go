package cdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/types"
)

// flushValues is how many values of a table are collected at most before they are written: tables may be wide.
const flushValues = 1 << 20

// maxPlans is how many shapes of a table are remembered.
const maxPlans = 1000

// target is a table of the lake that changes go to.
type target struct {
	w      *Writer
	name   string
	t      *tarn.Table
	writer *tarn.Writer
	fields []types.Field
	keyed  bool

	b     *array.RecordBuilder
	kinds []types.RowKind
	drop  []bool // rows that turned out bad while they were put in
	bad   int

	numbers   map[string]bool // columns of truth values that hold numbers, as was told
	made      []types.Datum   // computed columns of the row at hand
	plans     map[*decode.Shape]*shapePlan
	skip      []byte           // position up to which the table has everything, nil: no more than what is applied
	pinned    bool             // its snapshots do not expire before they are looked at
	earlier   []*tarn.Prepared // of writers with older schemas
	failed    error
	pending   int64 // rows since the last prepare, with those before updates
	rows      int64 // without them
	committed int64 // newest snapshot of ours
}

// shapePlan says where the columns of a shape go.
type shapePlan struct {
	from []int // by lake column: column of the shape, -1: none
	key  []int // columns of the shape that the primary key is made of
	made []made
	put  []int // by lake column: index of made, -1: it is no computed column
	// exact are the source's types of lake's columns that stay narrower: a part of a value may not get lost without a word.
	exact map[int]types.Type
}

// moved tells whether the row after an update has another primary key than the row before it.
func (p *shapePlan) moved(before, after *decode.Row) bool {
	return len(before.Values) != len(after.Values) || slices.ContainsFunc(p.key, func(i int) bool { return !bytes.Equal(before.Values[i], after.Values[i]) })
}

// setAside ends the table's part. What was not prepared is dropped.
func (t *target) setAside(err error) {
	if t.failed == nil {
		t.failed = err
	}
	if cerr := t.close(); cerr != nil {
		t.failed = errors.Join(t.failed, cerr)
	}
}

func (t *target) close() error {
	t.pending = 0
	if t.writer == nil {
		return nil
	}
	err := t.writer.Close()
	if len(t.earlier) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), fileio.Patience)
		defer cancel()
		err = errors.Join(err, t.t.Abort(ctx, t.earlier...))
		t.earlier = nil
	}
	t.writer = nil
	return err
}

func (t *target) apply(ctx context.Context, ev *decode.Event) error {
	if ev.Shape == nil {
		return t.badRow(ev, errors.New("the event has rows and no shape"))
	}
	plan := t.plans[ev.Shape]
	if plan == nil {
		var err error
		if len(t.plans) >= maxPlans { // of a source that makes each anew
			clear(t.plans)
		}
		if plan, err = t.adopt(ctx, ev); err != nil {
			if misfit := (*misfitError)(nil); errors.As(err, &misfit) {
				return t.badRow(ev, err)
			}
			return located(ev, err)
		}
	}
	for i := range ev.Rows {
		r := &ev.Rows[i]
		if err := ev.Shape.Check(r); err != nil {
			if err := t.badRow(ev, fmt.Errorf("%s: %w", t.name, err)); err != nil {
				return err
			}
			continue
		}
		counts := r.Kind != types.UpdateBefore
		if t.keyed && !counts {
			// It says nothing that the row after does not, unless that has another key.
			if i+1 < len(ev.Rows) && ev.Rows[i+1].Kind == types.UpdateAfter && !plan.moved(r, &ev.Rows[i+1]) {
				continue
			}
			r = &decode.Row{Kind: types.Delete, Values: r.Values}
		}
		if !t.keyed && r.Kind != types.Insert {
			err := fmt.Errorf("%s has no primary key: a row of kind %s cannot be applied; name a key by primary-key", t.name, r.Kind)
			if err := t.badRow(ev, err); err != nil {
				return err
			}
			continue
		}
		ok, err := t.add(ev, plan, r)
		if err != nil {
			return err
		}
		if ok && counts {
			t.rows++
			t.w.rows++
		}
	}
	if len(t.kinds) >= t.w.o.FlushRows || len(t.kinds)*len(t.fields) >= flushValues {
		return t.flush(ctx)
	}
	return nil
}

// add puts a row into the columns being built; false if it was left out as bad.
func (t *target) add(ev *decode.Event, plan *shapePlan, r *decode.Row) (bool, error) {
	made, failed := t.compute(plan, r, ev.Shape.Columns)
	if failed != nil {
		failed = fmt.Errorf("%s: %w", t.name, failed)
	}
	for i, f := range t.fields {
		col := t.b.Field(i)
		if failed == nil {
			failed = t.addValue(col, f, i, plan, r, made, ev.Shape)
		}
		if failed != nil && col.Len() == len(t.kinds) {
			col.AppendNull()
		}
	}
	t.kinds = append(t.kinds, r.Kind)
	t.drop = append(t.drop, failed != nil)
	if failed != nil {
		t.bad++
		return false, t.badRow(ev, failed)
	}
	t.pending++
	return true, nil
}

// addValue puts the value of a column into the one being built; if there is an error, it may be there or not.
func (t *target) addValue(col array.Builder, f types.Field, i int, plan *shapePlan, r *decode.Row, made []types.Datum, s *decode.Shape) error {
	null := true
	switch k, m := plan.from[i], plan.put[i]; {
	case m >= 0:
		if err := plan.made[m].put(col, f.Type, made[m]); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		null = made[m] == nil
	case k >= 0:
		if err := decode.AppendTo(col, f.Type, r.Values[k], &s.Columns[k]); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if src, ok := plan.exact[i]; ok && r.Values[k] != nil {
			if err := exactly(r.Values[k], &s.Columns[k], f.Type, src); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		if f.Type.Kind == types.Boolean {
			t.lookAtTruth(f.Name, r.Values[k], &s.Columns[k])
		}
		null = r.Values[k] == nil
	default:
		col.AppendNull()
	}
	switch {
	case !null:
	case f.Type.NotNull && !r.Kind.IsRetract() && (plan.from[i] >= 0 || plan.put[i] >= 0):
		return fmt.Errorf("%s: column %s must have a value and the change has none", t.name, f.Name)
	case t.keyed && slices.Contains(t.t.PrimaryKeys(), f.Name):
		return fmt.Errorf("%s: primary key column %s has no value", t.name, f.Name)
	}
	return nil
}

// lookAtTruth tells once for a column that TINYINT(1) holds numbers that a BOOLEAN does not keep.
func (t *target) lookAtTruth(column string, v []byte, of *decode.Column) {
	switch string(v) {
	case "", "0", "1", `"0"`, `"1"`, "true", "false":
		return
	}
	if strings.HasPrefix(of.SourceType, "tinyint") && !t.numbers[column] {
		if t.numbers == nil {
			t.numbers = map[string]bool{}
		}
		t.numbers[column] = true
		t.warn(fmt.Errorf(`column %s is %s in the source and holds %s, which becomes true: types: {"tinyint(1)": tinyint} keeps the numbers of tables made anew`, column, of.SourceType, v))
	}
}

func (t *target) badRow(ev *decode.Event, err error) error {
	err = located(ev, err)
	if t.w.o.BadRow == nil {
		return err
	}
	return t.w.o.BadRow(t.name, ev.Raw, err)
}

// misfitError is about an event that does not fit its table, which may go on without it.
type misfitError struct{ error }

func (e *misfitError) Unwrap() error { return e.error }

// located says where the message of an event stands.
func located(ev *decode.Event, err error) error {
	if at, ok := ev.Position.(fmt.Stringer); ok {
		return fmt.Errorf("%s: %w", at, err)
	}
	return err
}

// flush writes the rows collected.
func (t *target) flush(ctx context.Context) error {
	if len(t.kinds) == 0 {
		return nil
	}
	rec := t.b.NewRecordBatch()
	kinds := t.kinds
	if t.bad > 0 {
		var sel []int32
		var keep []types.RowKind
		for i, bad := range t.drop {
			if !bad {
				sel, keep = append(sel, int32(i)), append(keep, kinds[i])
			}
		}
		var err error
		if rec, err = tarn.TakeRows(rec, sel); err != nil {
			return err
		}
		kinds = keep
	}
	t.kinds, t.drop, t.bad = nil, t.drop[:0], 0
	if rec.NumRows() == 0 {
		return nil
	}
	b := tarn.Batch{RecordBatch: rec}
	if slices.ContainsFunc(kinds, func(k types.RowKind) bool { return k != types.Insert }) {
		b.Kinds = kinds
	}
	return t.writer.Write(ctx, b)
}

// prepare ends the rows so far.
func (t *target) prepare(ctx context.Context) (*tarn.Prepared, error) {
	if t.writer == nil {
		return nil, nil
	}
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	p, err := t.writer.Prepare(ctx)
	if err != nil {
		return nil, err
	}
	t.pending = 0
	all := tarn.JoinPrepared(append(t.earlier, p)...)
	t.earlier = nil
	if all.Empty() {
		return nil, nil
	}
	return all, nil
}

// use makes the target write with the table as it is now.
func (t *target) use(ctx context.Context, tab *tarn.Table) error {
	fields, err := tab.Fields()
	if err != nil {
		return err
	}
	w, err := tab.NewWriter(ctx, &tarn.WriterOptions{User: t.w.o.User, After: t.earlier})
	if err != nil {
		return err
	}
	born, err := sameAs(ctx, tab, t.name, t.w.born[t.name])
	if err != nil {
		return errors.Join(err, w.Close())
	}
	t.w.born[t.name] = born
	if err := t.pin(ctx, tab); err != nil {
		return errors.Join(err, w.Close())
	}
	t.t, t.writer, t.fields, t.keyed = tab, w, fields, tab.HasPrimaryKey()
	t.b = array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(fields))
	t.plans = map[*decode.Shape]*shapePlan{}
	return nil
}

// sameAs looks whether a table is the incarnation that was written to before, if any was, and tells which it is.
func sameAs(ctx context.Context, tab *tarn.Table, name, was string) (incarnation string, err error) {
	is, err := tab.Incarnation(ctx)
	if err == nil && was != "" && was != is {
		err = fmt.Errorf("%s was dropped and made anew after the job wrote to it, and lacks what that took; reset the job: %w", name, tarn.ErrNotExist)
	}
	return is, err
}

// stands tells whether the table is still the one that was written to: in one that was dropped, a commit would be made
// where nobody sees it.
func (t *target) stands(ctx context.Context) error {
	tab, err := t.t.Refresh(ctx)
	if errors.Is(err, tarn.ErrNotExist) {
		return dropped(t.name, err)
	}
	if err == nil {
		_, err = sameAs(ctx, tab, t.name, t.w.born[t.name])
	}
	return err
}

// dropped is the error of a table that is gone: one made anew would lack what the job has taken already.
func dropped(table string, cause error) error {
	return fmt.Errorf("%s was dropped after the job wrote to it; to have it again from its beginning, reset the job: %w", table, cause)
}

// pin keeps the snapshots from here on, before anything is prepared: a restart has to see whether what was
// prepared was committed. Checkpoints move the place.
func (t *target) pin(ctx context.Context, tab *tarn.Table) error {
	if t.w.o.Pin == "" || t.pinned {
		return nil
	}
	have, err := tab.Consumers(ctx)
	if err != nil {
		return err
	}
	if _, ok := have[t.w.o.Pin]; !ok {
		s, err := tab.LatestSnapshot(ctx)
		if err != nil {
			return err
		}
		next := int64(1)
		if s != nil {
			next = s.ID + 1
		}
		if err := tab.PutConsumer(ctx, t.w.o.Pin, next); err != nil {
			return err
		}
	}
	t.pinned = true
	return nil
}
