package tarn

import (
	"context"
	"slices"

	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/read"
	"github.com/tarnlake/tarn/internal/systable"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// view is what the table shows rows as, if it is $ro, $audit_log or $binlog; else nil.
func (t *Table) view() *systable.View {
	if t.id.System == "" {
		return nil
	}
	sequence := options.ReadSequence.Get(t.opts) && t.HasPrimaryKey()
	return systable.ViewOf(t.id.System, t.schema.Fields, sequence)
}

// systemFields are the columns of a system table.
func (t *Table) systemFields() ([]types.Field, error) {
	if v := t.view(); v != nil {
		return v.Fields(), nil
	}
	return systable.Fields(t.id.System)
}

// viewLevels are the levels whose rows a view has; nil is all. A level below the highest may hold newer rows, of which
// $ro knows nothing on purpose: what it reads needs no merge.
func (t *Table) viewLevels() func(int) bool {
	if v := t.view(); v == nil || !v.Plain() || !t.HasPrimaryKey() {
		return t.batchLevels()
	}
	top := t.levels().Count() - 1
	return func(level int) bool { return level == top }
}

// batchLevels are the levels that a batch read takes: first-row finds out in compaction which rows of
// level 0 come first, and deletion vectors are written then for rows that have newer versions, so that level is no part of the
// table yet. Nil is all.
func (t *Table) batchLevels() func(int) bool {
	if !t.HasPrimaryKey() || options.MergeEngine.Get(t.opts) != "first-row" && !options.DeletionVectors.Get(t.opts) {
		return nil
	}
	return func(level int) bool { return level > 0 }
}

// withDeletes makes a plan of rows one of rows and deletes, where a view shows those: what a merge leaves of a key, even if that is
// a delete that has not reached the highest level.
func (p *Plan) withDeletes() {
	if p.view == nil || p.view.Plain() || !p.t.HasPrimaryKey() {
		return
	}
	for i := range p.splits {
		if s := &p.splits[i]; !s.Kinds && !s.Gone {
			s.Raw, s.Deletes = false, true
		}
	}
}

// pruning is the filter that files are left out by.
func (p *Plan) pruning() plan.Request {
	r := plan.Request{Filter: p.req.Filter, Limit: p.req.Limit}
	if p.view != nil && !p.view.Plain() {
		r.Filter, r.Limit = p.view.Below(r.Filter), 0
	}
	return r
}

// shown gives the rows of a view: those of the table are read, without the conditions that are on columns of the view, and shown.
func (p *Plan) shown(ctx context.Context, yield func(Batch, error) bool) {
	var names []string
	for _, f := range p.req.Fields {
		names = append(names, f.Name)
	}
	if p.req.Filter != nil {
		for _, c := range predicate.Columns(p.req.Filter) {
			if !slices.Contains(names, c) {
				names = append(names, c)
			}
		}
	}
	below := p.req
	below.Fields, below.Filter, below.Inserts = p.view.Needs(names), p.view.Below(p.req.Filter), false
	if p.req.Filter != nil {
		below.Limit = 0
	}
	left := p.req
	parts := [][]plan.Split{p.splits}
	if p.view.Packs() { // rows of two splits never belong together
		parts = parts[:0]
		for i := range p.splits {
			parts = append(parts, p.splits[i:i+1])
		}
	}
	for _, splits := range parts {
		if more, err := p.showPart(ctx, splits, below, names, &left, yield); err != nil {
			yield(Batch{}, p.problem(ctx, err))
			return
		} else if !more {
			return
		}
	}
}

// showPart shows the rows of some splits; more is false once there were enough.
func (p *Plan) showPart(ctx context.Context, splits []plan.Split, below read.Request, names []string, left *read.Request, yield func(Batch, error) bool) (more bool, err error) {
	show, asked := p.view.Show(names, p.followed), p.form()
	give := func(b Batch) (bool, error) {
		b, err := read.Select(b, *left)
		if err == nil {
			b, err = asked(b)
		}
		if err != nil || b.NumRows() == 0 {
			return err == nil, err
		}
		if !yield(b, nil) {
			return false, nil
		}
		if left.Limit > 0 {
			left.Limit -= b.NumRows()
			return left.Limit > 0, nil
		}
		return true, nil
	}
	for b, err := range p.t.reader.Batches(ctx, splits, below) {
		if err == nil {
			b, err = show.Add(b)
		}
		if err != nil {
			return false, err
		}
		if more, err := give(b); !more || err != nil {
			return false, err
		}
	}
	b, ok, err := show.Flush()
	if err != nil || !ok {
		return err == nil, err
	}
	return give(b)
}

// problem makes an error of reading into that of the plan.
func (p *Plan) problem(ctx context.Context, err error) error {
	err = p.t.wrap(explain(err))
	if p.followed {
		err = p.t.expired(ctx, p.SnapshotID, err)
	}
	return err
}
