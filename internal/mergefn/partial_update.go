package mergefn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/mergefn/agg"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/types"
)

// partialUpdate makes one row of the columns that the versions of a key carry: of each column the last value that is
// not NULL, and of the columns of a sequence group those of the version with the greatest sequence of the group.
type partialUpdate struct {
	columns []string // in no group, without the key
	groups  []*group

	ignoreDelete, ignoreUpdateBefore bool
	removeOnDelete                   bool // a -D removes the row
	removeOnGroup                    bool // a -D of some of the groups does
}

func newPartialUpdate(c Config) (Engine, error) {
	o := options.Of(c.Options, 0)
	p := &partialUpdate{
		ignoreDelete: c.IgnoreDelete, ignoreUpdateBefore: c.IgnoreUpdateBefore, removeOnDelete: options.PartialRemove.Get(o),
	}
	var err error
	if p.groups, err = newGroups(c, o); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		clash bool
		a, b  string
	}{
		{p.removeOnDelete && p.ignoreDelete, options.PartialRemove.Key(), options.IgnoreDelete.Key()},
		{options.PartialRemoveGroup.Get(o) != "" && p.ignoreDelete, options.PartialRemoveGroup.Key(), options.IgnoreDelete.Key()},
		{p.removeOnDelete && len(p.groups) > 0, options.PartialRemove.Key(), "sequence groups"},
	} {
		if x.clash {
			return nil, fmt.Errorf("option %s: not with %s: both say what a delete does; remove one of them", x.a, x.b)
		}
	}
	for _, g := range p.groups {
		p.removeOnGroup = p.removeOnGroup || g.removes
	}
	for _, f := range c.Fields {
		if !slices.Contains(c.Keys, f.Name) && !slices.ContainsFunc(p.groups, func(g *group) bool { return g.has(f.Name) }) {
			p.columns = append(p.columns, f.Name)
		}
	}
	return p, nil
}

// Needs implements Engine: the columns of a group depend on its sequence, and all of a row on that of a group whose
// deletes remove it.
func (p *partialUpdate) Needs(wanted []string) []string {
	var out []string
	for _, g := range p.groups {
		if g.removes || slices.ContainsFunc(wanted, g.has) {
			out = append(out, g.sequence...)
		}
	}
	return out
}

func (*partialUpdate) NeedsKinds() bool { return true }
func (*partialUpdate) Identity() bool   { return true }

// PreMerge implements Engine. A row that is written after a delete which removes the row does not tell of it.
func (p *partialUpdate) PreMerge() bool { return !p.removeOnDelete && !p.removeOnGroup }

// Merge implements Engine.
func (p *partialUpdate) Merge(in *Input) (*Output, error) {
	if in.Kinds != nil && (p.ignoreDelete || p.ignoreUpdateBefore) {
		in = p.withoutIgnored(in)
	}
	if len(in.Ends) == len(in.Refs) {
		return &Output{Rows: in.Refs}, nil
	}
	m := &merging{Input: in}
	out := &Output{Rows: make([]batch.Ref, len(in.Ends))}
	for i, end := range in.Ends {
		out.Rows[i] = in.Refs[end-1]
	}
	var err error
	if m.sequences, err = p.sequences(in); err != nil {
		return nil, err
	}
	if in.Kinds != nil {
		if out.Kinds, err = p.kinds(m); err != nil {
			return nil, err
		}
	}
	for _, name := range p.columns {
		if c, ok := in.Columns[name]; ok {
			if rows := m.lastValues(agg.Validities(m.column(c)), out.Rows); rows != nil {
				out.Parts = append(out.Parts, Part{Columns: []string{name}, Rows: rows})
			}
		}
	}
	for i, g := range p.groups {
		if m.sequences[i] == nil {
			continue
		}
		if err := g.merge(m, m.sequences[i], out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sequences looks at the sequences of the groups; nil for those that are not read.
func (p *partialUpdate) sequences(in *Input) ([]*sequences, error) {
	out := make([]*sequences, len(p.groups))
	for i, g := range p.groups {
		wanted := g.removes
		for name := range in.Columns {
			wanted = wanted || g.has(name)
		}
		if !wanted {
			continue
		}
		var err error
		if out[i], err = g.look(in); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// withoutIgnored leaves out the versions that are ignored, but for the newest of a key that has no others: files may
// have them from before the option was set.
func (p *partialUpdate) withoutIgnored(in *Input) *Input {
	ignored := func(r batch.Ref) bool {
		k := in.Kind(r)
		return p.ignoreDelete && k.IsRetract() || p.ignoreUpdateBefore && k == types.UpdateBefore
	}
	if !slices.ContainsFunc(in.Refs, ignored) {
		return in
	}
	g := &kv.Groups{Window: in.Window, Refs: make([]batch.Ref, 0, len(in.Refs)), Ends: make([]int32, len(in.Ends))}
	from := int32(0)
	for i, end := range in.Ends {
		have := len(g.Refs)
		for _, r := range in.Refs[from:end] {
			if !ignored(r) {
				g.Refs = append(g.Refs, r)
			}
		}
		if len(g.Refs) == have {
			g.Refs = append(g.Refs, in.Refs[end-1])
		}
		from, g.Ends[i] = end, int32(len(g.Refs))
	}
	return &Input{Groups: g, Columns: in.Columns, Kinds: in.Kinds}
}

// merging is one call of Merge.
type merging struct {
	*Input
	sequences []*sequences // of each group
	// removed says for each key which of Refs removed the row last, -1 for none. Nil: none of any key.
	removed []int32
}

func (m *merging) retract(i int32) bool { return m.Kinds != nil && m.Kind(m.Refs[i]).IsRetract() }

// base says with which of Refs a key begins. The values of that version are the row's as they are if whole is true:
// those of a delete that removed the row, or of the oldest version if it is a delete.
func (m *merging) base(key int, from int32) (at int32, removed, whole bool) {
	if m.removed != nil && m.removed[key] >= 0 {
		return m.removed[key], true, true
	}
	return from, false, m.retract(from)
}

// kinds gives the kinds of the result and finds the deletes that remove rows.
func (p *partialUpdate) kinds(m *merging) ([]int8, error) {
	out := make([]int8, len(m.Ends))
	current := make([]batch.Ref, len(p.groups))
	from := int32(0)
	for k, end := range m.Ends {
		if end-from == 1 { // as it is
			out[k] = int8(m.Kind(m.Refs[from]))
			from = end
			continue
		}
		removed, insert, any := int32(-1), false, false
		for i := from; i < end; i++ {
			any = any || m.retract(i)
			insert = insert || !m.retract(i)
		}
		if any && len(p.groups) == 0 && !p.removeOnDelete {
			return nil, errPartialDelete
		}
		switch {
		case any && p.removeOnDelete:
			for i := from; i < end; i++ {
				if m.Kind(m.Refs[i]) == types.Delete {
					removed = i
				}
			}
		case any && p.removeOnGroup:
			removed = p.removal(m, current, from, end)
		}
		if removed >= 0 {
			if m.removed == nil {
				m.removed = slices.Repeat([]int32{-1}, len(m.Ends))
			}
			m.removed[k] = removed
		}
		if removed == end-1 || !insert {
			out[k] = int8(types.Delete)
		} else {
			out[k] = int8(types.Insert)
		}
		from = end
	}
	return out, nil
}

// removal finds the last of the versions from..end-1 of a key which deletes the row by one of the groups that do so; -1
// if none does. current is memory to work in.
func (p *partialUpdate) removal(m *merging, current []batch.Ref, from, end int32) int32 {
	set := func(r batch.Ref) {
		for j := range current {
			current[j] = r
		}
	}
	set(batch.NullRef)
	if m.retract(from) {
		set(m.Refs[from])
	}
	last := int32(-1)
	for i := from; i < end; i++ {
		r := m.Refs[i]
		for j, g := range p.groups {
			if !g.removes || !m.sequences[j].newer(r, current[j]) {
				continue
			}
			if m.Kind(r) == types.Delete {
				set(r)
				last = i
				break
			}
			current[j] = r
		}
	}
	return last
}

// PartialDeletes says what to do about deletes in a table that takes none.
const PartialDeletes = "merge-engine partial-update takes -D and -U only if an option says what they do: " +
	"ignore-delete leaves them out, partial-update.remove-record-on-delete removes the row, fields.<column>.sequence-group sets the " +
	"columns of a group to NULL (with partial-update.remove-record-on-sequence-group it removes the row)"

var errPartialDelete = errors.New("a row is of kind -D or -U, and " + PartialDeletes)

// lastValues gives for each key the last version in which a column is not NULL; nil if it is the newest of all, rows.
func (m *merging) lastValues(valid []agg.Validity, rows []batch.Ref) []batch.Ref {
	if m.Kinds == nil && !slices.ContainsFunc(valid, func(v agg.Validity) bool { return !v.Full() }) {
		return nil
	}
	var out []batch.Ref
	from := int32(0)
	for k, end := range m.Ends {
		last := end - 1
		if end-from > 1 && (m.Kinds != nil || !valid[rows[k].Src].At(rows[k].Row)) {
			first, _, whole := m.base(k, from)
			r := batch.NullRef
			for i := last; i >= first; i-- {
				c := m.Refs[i]
				if (!m.retract(i) || i == first && whole) && valid[c.Src].At(c.Row) {
					r = c
					break
				}
			}
			if r != rows[k] {
				if out == nil {
					out = slices.Clone(rows)
				}
				out[k] = r
			}
		}
		from = end
	}
	return out
}
