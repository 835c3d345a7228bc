package mergefn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/mergefn/agg"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/types"
)

// group is a sequence group: columns that change together. A version changes them if its sequence is not NULL in all
// columns and not less than the one that the group has.
type group struct {
	sequence   []string
	columns    []string // without the sequence, without those that are aggregated
	aggregated []column
	encoder    *kv.Encoder
	removes    bool // partial-update.remove-record-on-sequence-group: its -D removes the row
}

// newGroups makes the groups of a table. A column without a group can have last_non_null_value as its aggregate
// function: it is so anyway.
func newGroups(c Config, o options.Options) ([]*group, error) {
	const plain = "last_non_null_value"
	var out []*group
	in := map[string]string{} // column → its group
	remove := options.Names(options.PartialRemoveGroup.Get(o))
	var unknown []string
	unknown = append(unknown, remove...)
	for _, d := range options.SequenceGroups(o) {
		g := &group{sequence: d.Sequence}
		key := options.SequenceGroup.Key(strings.Join(d.Sequence, ","))
		var ts []types.Type
		for _, name := range d.Sequence {
			f, err := c.field(key, name)
			if err != nil {
				return nil, err
			}
			ts = append(ts, f.Type)
			g.removes = g.removes || slices.Contains(remove, name)
			unknown = slices.DeleteFunc(unknown, func(n string) bool { return n == name })
		}
		var err error
		if g.encoder, err = kv.NewSequenceEncoder(ts, false); err != nil {
			return nil, fmt.Errorf("option %s: %w", key, err)
		}
		for _, name := range slices.Concat(d.Sequence, d.Columns) {
			if other, ok := in[name]; ok && other != key {
				return nil, fmt.Errorf("option %s: column %q is in another sequence group, %s: take it out of one of them", key, name, other)
			}
			in[name] = key
		}
		for _, name := range d.Columns {
			if slices.Contains(d.Sequence, name) {
				continue
			}
			f, err := c.field(key, name)
			if err != nil {
				return nil, err
			}
			if err := g.add(&c, f, o); err != nil {
				return nil, err
			}
		}
		out = append(out, g)
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("option %s: column %q orders no sequence group", options.PartialRemoveGroup.Key(), unknown[0])
	}
	for _, f := range c.Fields {
		if fn, _ := options.Aggregate.Of(o, f.Name); in[f.Name] == "" && fn != "" && fn != plain {
			return nil, fmt.Errorf("option %s: column %q is in no sequence group, so only %s can be its aggregate function", options.Aggregate.Key(f.Name), f.Name, plain)
		}
	}
	return out, nil
}

// field finds a column that an option names.
func (c *Config) field(option, name string) (types.Field, error) {
	i := slices.IndexFunc(c.Fields, func(f types.Field) bool { return f.Name == name })
	switch {
	case i < 0:
		return types.Field{}, fmt.Errorf("option %s: the table has no column %q", option, name)
	case slices.Contains(c.Keys, name):
		return types.Field{}, fmt.Errorf("option %s: column %q is in the primary key and cannot be in a sequence group", option, name)
	}
	return c.Fields[i], nil
}

// FunctionOf gives the aggregate function that options name for a column, "" for none, and the option that says so.
func FunctionOf(o options.Options, column string) (name, key string) {
	if fn, _ := options.Aggregate.Of(o, column); fn != "" {
		return fn, options.Aggregate.Key(column)
	}
	return strings.TrimSpace(options.DefaultAggregate.Get(o)), options.DefaultAggregate.Key()
}

func (g *group) add(c *Config, f types.Field, o options.Options) error {
	name, key := FunctionOf(o, f.Name)
	if name == "" {
		g.columns = append(g.columns, f.Name)
		return nil
	}
	col, err := c.newColumn(f, name, key)
	if err != nil {
		return err
	}
	g.aggregated = append(g.aggregated, col)
	return nil
}

func (g *group) has(name string) bool {
	return slices.Contains(g.sequence, name) || slices.Contains(g.columns, name) ||
		slices.ContainsFunc(g.aggregated, func(c column) bool { return c.name == name })
}

// sequences are the sequences of a group in the batches of a window.
type sequences struct {
	keys  []kv.Keys
	valid [][]agg.Validity // of each column; not all columns are NULL where one is valid
}

func (g *group) look(in *Input) (*sequences, error) {
	s := &sequences{keys: make([]kv.Keys, len(in.Window))}
	cols := make([][]arrow.Array, len(in.Window))
	for _, name := range g.sequence {
		c, ok := in.Columns[name]
		if !ok {
			return nil, fmt.Errorf("mergefn: column %q, which orders a sequence group, is not read", name)
		}
		all := make([]arrow.Array, len(in.Window))
		for i, rec := range in.Window {
			all[i] = rec.Column(c)
			cols[i] = append(cols[i], all[i])
		}
		s.valid = append(s.valid, agg.Validities(all))
	}
	for i := range cols {
		var err error
		if s.keys[i], err = g.encoder.Encode(cols[i]); err != nil {
			return nil, fmt.Errorf("sequence group of %s: %w", strings.Join(g.sequence, ","), err)
		}
	}
	return s, nil
}

// empty reports whether a row has no sequence: it leaves the group alone.
func (s *sequences) empty(r batch.Ref) bool {
	for _, v := range s.valid {
		if v[r.Src].At(r.Row) {
			return false
		}
	}
	return true
}

// newer reports whether a row has a sequence that is not less than that of another.
func (s *sequences) newer(r, than batch.Ref) bool {
	return !s.empty(r) && (than == batch.NullRef || s.keys[r.Src].At(int(r.Row)).Compare(s.keys[than.Src].At(int(than.Row))) >= 0)
}

// merge adds the columns of the group to a result.
func (g *group) merge(m *merging, s *sequences, out *Output) error {
	order := make([]batch.Ref, len(m.Ends)) // where the sequence is taken from
	values := order                         // and where the columns are, of which deletes make NULL
	if m.Kinds != nil {
		values = make([]batch.Ref, len(m.Ends))
	}
	var f *folded
	if slices.ContainsFunc(g.aggregated, func(c column) bool { _, ok := m.Columns[c.name]; return ok }) {
		f = &folded{refs: make([]batch.Ref, 0, len(m.Refs)), ends: make([]int32, 0, len(m.Ends))}
	}
	from := int32(0)
	for k, end := range m.Ends {
		switch {
		case end-from == 1:
			order[k], values[k] = m.Refs[from], m.Refs[from]
			if f != nil {
				f.add(m.Refs[from], agg.Add)
			}
		default:
			order[k], values[k] = g.walk(m, s, k, from, end, f)
		}
		if f != nil {
			f.end()
		}
		from = end
	}
	if m.Kinds == nil {
		out.Parts = append(out.Parts, Part{Columns: slices.Concat(g.sequence, g.columns), Rows: order})
	} else {
		out.Parts = append(out.Parts, Part{Columns: g.sequence, Rows: order}, Part{Columns: g.columns, Rows: values})
	}
	for i := range g.aggregated {
		if err := g.aggregated[i].fold(m.Input, f, out); err != nil {
			return err
		}
	}
	return nil
}

// walk goes through the versions of a key, the oldest first.
func (g *group) walk(m *merging, s *sequences, key int, from, end int32, f *folded) (order, values batch.Ref) {
	order, values = batch.NullRef, batch.NullRef
	add := func(r batch.Ref, op agg.Op) {
		if f != nil {
			f.add(r, op)
		}
	}
	i, removed, whole := m.base(key, from)
	if whole {
		order, values = m.Refs[i], m.Refs[i]
		add(m.Refs[i], baseAfter(slices.ContainsFunc(m.Refs[from:i], func(r batch.Ref) bool { return !m.Kind(r).IsRetract() && !s.empty(r) })))
	}
	if removed {
		i++
	}
	for ; i < end; i++ {
		r := m.Refs[i]
		switch newer := s.newer(r, order); {
		case newer && m.retract(i):
			order, values = r, batch.NullRef
			add(r, agg.Retract)
		case newer:
			order, values = r, r
			add(r, agg.Add)
		case s.empty(r):
		case m.retract(i):
			add(r, agg.Retract)
		default:
			add(r, agg.AddOlder)
		}
	}
	return order, values
}
