package cdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/source"
)

// recover commits what the newest checkpoint has prepared, unless it was, and gives the position to go
// on from. Tables for which that is not possible go back to where they were.
func (r *runner) recover(ctx context.Context) ([]byte, error) {
	ck, err := r.job.Latest(ctx)
	if err != nil || ck == nil {
		return nil, err
	}
	here, err := decodePosition(ck.Position)
	if err != nil {
		return nil, err
	}
	r.last, r.done, r.at = here, here, ck.Number
	r.seen, r.doneSeen = ck.Events, ck.Events
	if r.kept, err = keptIn(ck); err != nil {
		return nil, err
	}
	if n, ok := r.src.(source.Noting); ok && len(r.kept.Source) > 0 {
		if err := n.Recall(r.kept.Source); err != nil {
			return nil, err
		}
	}
	oldest := here
	has := map[string][]byte{} // up to where each table has everything
	for i := range ck.Tables {
		st := &ck.Tables[i]
		if st.Status == tarn.TableUndecided { // and stays so: only who looks at the table can tell
			r.setUndecided(st, errors.New(st.Reason))
			continue
		}
		step := stepOf(ck)
		if st.Pending != nil {
			step = *st.Pending
		}
		ok, err := r.again(ctx, step.Number, st)
		switch {
		case errors.Is(err, tarn.ErrUndecided):
			r.setUndecided(st, err)
			continue
		case err == nil:
		case ctx.Err() != nil, ofStorage(err), errors.Is(err, tarn.ErrFenced):
			return nil, fmt.Errorf("table %s: %w", st.Table, err)
		default:
			r.hold(st, step, err)
			continue
		}
		r.w.born[st.Table] = st.Incarnation
		back := tarn.TableState{Table: st.Table, Position: step.Position, Events: step.Events, At: step.Number}
		upTo := step.Position
		if !ok || st.Ahead != nil {
			back.Position, back.Events, back.At = st.Position, st.Events, st.At
			upTo = st.Ahead
		}
		if !ok {
			upTo = st.Position
			r.o.Log.Info("table goes back", "table", st.Table, "checkpoint", st.At)
		}
		r.back[st.Table] = back
		if has[st.Table], err = decodePosition(upTo); err != nil {
			return nil, err
		}
		// Numbers of checkpoints are no order of positions: while one table is read again, checkpoints are made
		// of places that others have long passed.
		if (!ok || st.Pending != nil && st.Ahead == nil) && back.Events < r.seen {
			oldest, r.seen = has[st.Table], back.Events
		}
	}
	// Read again from the oldest place; each table passes over what it has. Several checkpoints may be of one
	// place: what is not read again is not passed over.
	for i := range ck.Tables {
		name := ck.Tables[i].Table
		if pos := has[name]; pos != nil && !bytes.Equal(pos, oldest) {
			r.w.SkipUntil(name, pos)
		}
	}
	return oldest, nil
}

// setUndecided sets a table aside with what was prepared for it.
func (r *runner) setUndecided(st *tarn.TableState, err error) {
	r.setAside(*st, tarn.TableUndecided, err)
}

// hold does so where some of it may be committed, and the next start goes on.
func (r *runner) hold(st *tarn.TableState, step tarn.CheckpointStep, err error) {
	h := *st
	h.Pending = &step
	r.setAside(h, tarn.TableFailed, err)
}

func (r *runner) setAside(st tarn.TableState, status tarn.TableStatus, err error) {
	r.o.Log.Warn("table is set aside", "table", st.Table, "err", err)
	st.Status, st.Reason = status, err.Error()
	r.held[st.Table] = st
	r.w.SetAside(st.Table, err)
}

// stepOf is what a checkpoint says of all tables.
func stepOf(ck *tarn.Checkpoint) tarn.CheckpointStep {
	return tarn.CheckpointStep{Number: ck.Number, Position: ck.Position, Events: ck.Events}
}

// again commits a table's part once more; false if the table has to go back.
func (r *runner) again(ctx context.Context, number int64, st *tarn.TableState) (bool, error) {
	if st.Status != tarn.TableRunning && st.Pending == nil {
		return false, nil
	}
	if st.Prepared == nil {
		return true, nil
	}
	p, err := tarn.UnmarshalPrepared(st.Prepared)
	if err != nil {
		return false, err
	}
	t, err := r.cat.Table(ctx, st.Table)
	if errors.Is(err, tarn.ErrNotExist) && st.Incarnation == "" {
		return false, nil // it has nothing yet
	}
	if errors.Is(err, tarn.ErrNotExist) {
		return false, dropped(st.Table, err)
	}
	if err != nil {
		return false, err
	}
	if _, err := sameAs(ctx, t, st.Table, st.Incarnation); err != nil {
		return false, err
	}
	id := tarn.CommitID{User: r.job.User(), Number: number}
	done, err := t.WasCommitted(ctx, id, p)
	if errors.Is(err, tarn.ErrUndecided) {
		return r.decide(ctx, t, p, err)
	}
	if err != nil {
		return false, err
	}
	if done {
		// Its second snapshot, of a compaction, may still be missing: committing again makes it.
		if _, err := t.Commit(ctx, id, p); err != nil && !errors.Is(err, tarn.ErrConflict) {
			return false, err
		}
		return true, nil
	}
	if err := t.CheckPrepared(ctx, p); err != nil {
		if errors.Is(err, tarn.ErrNotExist) {
			r.o.Log.Warn("prepared files were removed by somebody", "table", st.Table, "err", err)
			return false, nil
		}
		return false, err
	}
	if err := r.job.Verify(ctx); err != nil {
		return false, err
	}
	if _, err := t.Commit(ctx, id, p); err != nil {
		if errors.Is(err, tarn.ErrConflict) {
			return false, nil
		}
		return false, err
	}
	return true, nil
}

// decide: the snapshots that would tell have expired. A prepared file that lives in the newest
// snapshot means that it was committed; otherwise nobody knows, and nothing is guessed.
func (r *runner) decide(ctx context.Context, t *tarn.Table, p *tarn.Prepared, cause error) (bool, error) {
	live, err := t.HoldsAny(ctx, p)
	if err != nil {
		return false, err
	}
	if live {
		return true, nil
	}
	return false, fmt.Errorf("nobody can tell whether the last step was committed (%w); look at the table, then reset the job", cause)
}
