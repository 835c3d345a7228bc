package tarn

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

// A batch read of the options incremental-between and incremental-between-timestamp gives what changed between two states: the rows
// that the snapshots between them brought, with kinds, or those in which the two states differ.

// incremental reports whether options ask for changes between two states.
func (t *Table) incremental() bool {
	return options.IncrementalBetween.Set(t.opts) || options.IncrementalTime.Set(t.opts)
}

// span is two states: after that of from, up to that of to. No state at all is one without rows.
type span struct {
	from, to int64 // numbers of snapshots
	diff     bool
	// states are from and to where they are compared.
	states [2]*snapshot.Snapshot
}

func (s *Scan) between(ctx context.Context) (*Plan, error) {
	t := s.t
	p, err := s.asked(t)
	if err != nil {
		return nil, err
	}
	if t.id.System != "" && (p.view == nil || p.view.Plain()) {
		return nil, t.wrap(unsupported("%s of the system table $%s", options.IncrementalBetween.Key(), t.id.System))
	}
	x, err := t.span(ctx)
	if err != nil || x == nil {
		return p, t.wrap(absent(err))
	}
	p.SnapshotID = x.to
	if x.diff {
		return p, t.wrap(p.differences(ctx, x))
	}
	p.followed = true
	p.req.Ordered = true
	follow := plan.Follow{Producer: t.toldByChangelog()}
	for id := x.from + 1; id <= x.to && err == nil; id++ {
		var snap *snapshot.Snapshot
		if snap, err = t.snaps.Told(ctx, id); err != nil {
			return nil, t.wrap(absent(err))
		}
		if err = t.checkWhole(); err != nil {
			break
		}
		var splits []plan.Split
		splits, err = t.planner.Changes(ctx, snap, follow, plan.Request{Filter: p.pruning().Filter})
		p.splits = append(p.splits, splits...)
		if err != nil {
			return nil, t.expired(ctx, id, t.wrap(explain(err)))
		}
	}
	if err == nil {
		err = t.checkSplits(ctx, p.splits)
	}
	return p, t.wrap(explain(err))
}

// toldByChangelog reports whether changes are those of the changelog, not the rows that were written.
func (t *Table) toldByChangelog() bool {
	switch options.IncrementalMode.Get(t.opts) {
	case "delta":
		return false
	case "changelog":
		return true
	}
	return options.ChangelogProducer.Get(t.opts) != "none"
}

// differences plans the comparison of two states.
func (p *Plan) differences(ctx context.Context, x *span) error {
	t := p.t
	if !t.HasPrimaryKey() {
		return unsupported("the difference of two states of a table without a key; incremental-between-scan-mode=delta, or incremental-between-tag-to-snapshot=true where these are tags, gives the rows that were written")
	}
	if x.states[0] == nil { // all rows are new
		return p.readRows(ctx, x.states[1], t.batchLevels())
	}
	if err := t.checkWhole(); err != nil {
		return err
	}
	ask := p.pruning()
	ask.Limit, ask.Levels = 0, t.batchLevels()
	var err error
	p.splits, err = t.planner.Between(ctx, x.states[0], x.states[1], ask)
	p.withDeletes()
	if err == nil {
		err = t.checkSplits(ctx, p.splits)
	}
	return explain(err)
}

// readSplit merges the rows of a split, or compares its two states.
func (t *Table) readSplit(ctx context.Context, tree *lsm.Table, s *plan.Split, o lsm.ReadOptions) (batch.Reader, error) {
	loc := datafile.Location{Partition: s.Partition, Bucket: s.Bucket}
	gone, err := t.goneOf(ctx, s.Files, s.Vectors)
	if err != nil {
		return nil, err
	}
	if s.Diff {
		before, err := t.goneOf(ctx, s.Before, s.VectorsBefore)
		if err != nil {
			return nil, err
		}
		return tree.Diff(loc, lsm.Side{Files: s.Before, Gone: before}, lsm.Side{Files: s.Files, Gone: gone}, o)
	}
	o.Gone = gone
	return tree.MergeRead(ctx, loc, s.Files, o)
}

// span finds the two states that options name, nil if nothing can have changed between them.
func (t *Table) span(ctx context.Context) (*span, error) {
	mode := options.IncrementalMode.Get(t.opts)
	text, key := options.IncrementalBetween.Get(t.opts), options.IncrementalBetween.Key()
	if !options.IncrementalBetween.Set(t.opts) {
		text, key = options.IncrementalTime.Get(t.opts), options.IncrementalTime.Key()
	}
	from, to, ok := strings.Cut(text, ",")
	if from, to = strings.TrimSpace(from), strings.TrimSpace(to); !ok || from == "" || to == "" || strings.Contains(to, ",") {
		return nil, invalid("option %s=%s: it names two states, with a comma between", key, text)
	}
	if key == options.IncrementalTime.Key() {
		return t.spanOfTimes(ctx, from, to, mode == "diff")
	}
	a, aerr := t.tagged(ctx, from)
	b, berr := t.tagged(ctx, to)
	if aerr == nil && berr == nil {
		if b.ID < a.ID {
			return nil, invalid("option %s=%s: tag %s, of snapshot %d, is older than tag %s, of snapshot %d", key, text, to, b.ID, from, a.ID)
		}
		if a.ID == b.ID {
			return nil, nil
		}
		return &span{from: a.ID, to: b.ID, diff: !options.IncrementalTags.Get(t.opts), states: [2]*snapshot.Snapshot{a, b}}, nil
	}
	x := &span{diff: mode == "diff"}
	var err1, err2 error
	x.from, err1 = strconv.ParseInt(from, 10, 64)
	x.to, err2 = strconv.ParseInt(to, 10, 64)
	switch {
	case err1 != nil && err2 != nil:
		return nil, errors.Join(aerr, berr)
	case err1 != nil || err2 != nil:
		return nil, invalid("option %s=%s: it names two tags or the numbers of two snapshots", key, text)
	case x.to < x.from:
		return nil, invalid("option %s=%s: the second state is older than the first", key, text)
	}
	first, err := t.snaps.Earliest(ctx)
	if errors.Is(err, snapshot.ErrNone) || err == nil && x.from == x.to {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if x.from < first.ID-1 {
		return nil, t.snaps.OutOfRange(ctx, x.from)
	}
	if x.states[1], err = t.snaps.At(ctx, x.to); err == nil && x.diff {
		x.states[0], err = t.snaps.At(ctx, x.from)
	}
	return x, err
}

// spanOfTimes finds the states at two times.
func (t *Table) spanOfTimes(ctx context.Context, from, to string, diff bool) (*span, error) {
	key := options.IncrementalTime.Key()
	var at [2]int64
	for i, s := range []string{from, to} {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			at[i] = n
			continue
		}
		v, err := types.ParseDatum(types.TimestampType(3), s)
		if err != nil {
			return nil, invalid("option %s: %q is neither a number of milliseconds since 1970 nor a time: %v", key, s, err)
		}
		at[i] = v.(types.Instant).Millis
	}
	if at[1] < at[0] {
		return nil, invalid("option %s: %s is before %s", key, to, from)
	}
	first, err := t.snaps.Earliest(ctx)
	if errors.Is(err, snapshot.ErrNone) || err == nil && at[0] == at[1] {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if at[1] < first.TimeMillis {
		return nil, nil // nothing was there yet
	}
	x := &span{diff: diff}
	if x.states[1], err = t.snaps.AtTime(ctx, at[1]); err != nil {
		return nil, err
	}
	x.to = x.states[1].ID
	switch {
	case at[0] >= first.TimeMillis:
		if x.states[0], err = t.snaps.AtTime(ctx, at[0]); err != nil {
			return nil, err
		}
		x.from = x.states[0].ID
	case diff && first.ID > 1:
		x.states[0], x.from = first, first.ID
	default:
		x.from = first.ID - 1
	}
	if x.from == x.to {
		return nil, nil
	}
	return x, nil
}
