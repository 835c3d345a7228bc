package lsm

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// Producer says how the changelog of a table is made, the option changelog-producer.
type Producer int

const (
	NoChangelog             Producer = iota
	InputChangelog                   // what was written is the changelog: each flush writes its rows before they are merged
	FullCompactionChangelog          // compactions into the highest level tell what they change there
	LookupChangelog                  // compactions of level 0 tell what its rows change
)

// unmerged gives all versions of the keys of a group, in their order: of a key the oldest first. merged is what the engine
// made of them, to be used again where nothing was merged.
func (j *job) unmerged(g *kv.Groups, out *mergefn.Output, merged []batch.Batch) ([]batch.Batch, error) {
	if len(g.Refs) == len(g.Ends) && out.Kinds == nil && len(out.Parts)+len(out.Computed) == 0 && slices.Equal(out.Rows, g.Refs) {
		return merged, nil
	}
	return j.gather(&mergefn.Input{Groups: g}, &mergefn.Output{Rows: g.Refs}, 0, len(g.Refs))
}

// producer says how the writer makes the changelog of its bucket.
func (w *Writer) producer() Producer {
	if w.o.NoChangelog {
		return NoChangelog
	}
	return w.t.c.Changelog
}

// Unchanged says when a row that is written again has not changed, the option changelog-producer.row-deduplicate.
type Unchanged struct {
	Ignore []string // columns that may change, changelog-producer.row-deduplicate-ignore-fields
}

// change is a row of the changelog: an old row, or one that came out of the merge.
type change struct {
	kind types.RowKind
	old  batch.Ref
	row  int32 // of the output; -1: the old row
}

// tell writes what the merge of a window changes.
func (p *past) tell(j *job, in *mergefn.Input, out *mergefn.Output, was *before) error {
	var changes []change
	next := int32(0)
	for i, old := range was.old {
		row := int32(-1)
		if int(next) < len(out.Rows) && slices.Contains(in.Group(i), out.Rows[next]) {
			row = next
			next++
		}
		if !was.news[i] {
			continue
		}
		// A delete that has not reached the highest level is as good as no row.
		had, there := old != batch.NullRef && !in.Kind(old).IsRetract(), row >= 0 && !kindOf(in, out, row).IsRetract()
		switch {
		case there && !had:
			changes = append(changes, change{kind: types.Insert, row: row})
		case had && !there:
			changes = append(changes, change{kind: types.Delete, old: old, row: -1})
		case had && !p.same(j, in, out, old, row):
			changes = append(changes, change{kind: types.UpdateBefore, old: old, row: -1}, change{kind: types.UpdateAfter, row: row})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	log, err := arrange(in, out, changes, j)
	if err != nil {
		return err
	}
	batches, err := j.gather(in, log, 0, len(changes))
	for _, b := range batches {
		if err == nil {
			err = p.w.Write(b.RecordBatch)
		}
	}
	if err != nil {
		return fmt.Errorf("write changelog: %w", err)
	}
	return nil
}

// kindOf is the kind of a row that came out.
func kindOf(in *mergefn.Input, out *mergefn.Output, row int32) types.RowKind {
	if out.Kinds != nil {
		return types.RowKind(out.Kinds[row])
	}
	return in.Kind(out.Rows[row])
}

// arrange makes an output of changes.
func arrange(in *mergefn.Input, out *mergefn.Output, changes []change, j *job) (*mergefn.Output, error) {
	pick := func(rows []batch.Ref) []batch.Ref {
		to := make([]batch.Ref, len(changes))
		for i, c := range changes {
			if to[i] = c.old; c.row >= 0 {
				to[i] = rows[c.row]
			}
		}
		return to
	}
	log := &mergefn.Output{Rows: pick(out.Rows), Kinds: make([]int8, len(changes))}
	for i, c := range changes {
		log.Kinds[i] = int8(c.kind)
	}
	for _, p := range out.Parts {
		log.Parts = append(log.Parts, mergefn.Part{Columns: p.Columns, Rows: pick(p.Rows)})
	}
	for _, c := range out.Computed {
		arrs := make([]arrow.Array, len(in.Window), len(in.Window)+1)
		for i, rec := range in.Window {
			arrs[i] = rec.Column(j.byName[c.Column])
		}
		made := c.Rows
		if made == nil {
			made = make([]batch.Ref, len(out.Rows))
			for i := range made {
				made[i] = batch.Ref{Src: int32(len(in.Window)), Row: int32(i)}
			}
		}
		values, err := batch.GatherArrays(append(arrs, c.Values), batch.Select(pick(made)))
		if err != nil {
			return nil, fmt.Errorf("column %s of the changelog: %w", c.Column, err)
		}
		log.Computed = append(log.Computed, mergefn.Computed{Column: c.Column, Values: values})
	}
	return log, nil
}

// same reports whether a row came out with the values that it had, where that is to be left out.
func (p *past) same(j *job, in *mergefn.Input, out *mergefn.Output, old batch.Ref, row int32) bool {
	if p.t.c.Unchanged == nil {
		return false
	}
	for name, col := range j.byName {
		if schema.IsSystem(name) || slices.Contains(p.t.c.Unchanged.Ignore, name) {
			continue
		}
		was := in.Window[old.Src].Column(col)
		if k := slices.IndexFunc(out.Computed, func(c mergefn.Computed) bool { return c.Column == name }); k >= 0 {
			values, at := out.Computed[k].Values, int(row)
			if rows := out.Computed[k].Rows; rows != nil {
				if at = int(rows[row].Row); int(rows[row].Src) < len(in.Window) {
					values = in.Window[rows[row].Src].Column(col)
				}
			}
			if !sameValue(was, int(old.Row), values, at) {
				return false
			}
			continue
		}
		ref := out.Rows[row]
		if k := slices.IndexFunc(out.Parts, func(p mergefn.Part) bool { return slices.Contains(p.Columns, name) }); k >= 0 {
			ref = out.Parts[k].Rows[row]
		}
		if ref == batch.NullRef {
			if !was.IsNull(int(old.Row)) {
				return false
			}
			continue
		}
		if ref != old && !sameValue(was, int(old.Row), in.Window[ref.Src].Column(col), int(ref.Row)) {
			return false
		}
	}
	return true
}
