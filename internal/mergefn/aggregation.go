package mergefn

import (
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/mergefn/agg"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/types"
)

// aggregation folds the versions of a key, each column by a function of its own.
type aggregation struct {
	columns []column
	remove  bool // a -D takes away all of the key, not its values from the columns
}

func newAggregation(c Config) (Engine, error) {
	a := aggregation{remove: options.RemoveOnDelete.Get(options.Of(c.Options, 0))}
	o := options.Of(c.Options, 0)
	for _, f := range c.Fields {
		var name, option string
		switch {
		case slices.Contains(c.Sequence, f.Name):
			name = "last_value" // of the newest version, as it is the newest by these columns
		case slices.Contains(c.Keys, f.Name):
			continue
		default:
			name, option = FunctionOf(o, f.Name)
		}
		if name == "" {
			name = "last_non_null_value"
		}
		col, err := c.newColumn(f, name, option)
		if err != nil {
			return nil, err
		}
		a.columns = append(a.columns, col)
	}
	return a, nil
}

func (aggregation) Needs([]string) []string { return nil }
func (aggregation) NeedsKinds() bool        { return true }

// Identity implements Engine. A row that is taken back before there is one waits as it is for those that it is taken from.
func (aggregation) Identity() bool { return true }

// PreMerge implements Engine. Functions such as product lose what is taken back before there is a value (BUGS B026).
func (aggregation) PreMerge() bool { return false }

// Merge implements Engine. Versions that are alone are the result, as they are: they may be folded values already, such as a
// count (BUGS B130).
func (a aggregation) Merge(in *Input) (*Output, error) {
	n := len(in.Ends)
	if n == len(in.Refs) && !slices.ContainsFunc(in.Refs, func(r batch.Ref) bool { return a.taken(in, r) }) {
		return &Output{Rows: in.Refs}, nil
	}
	out := &Output{Rows: make([]batch.Ref, n)}
	if in.Kinds != nil {
		out.Kinds = make([]int8, n) // of what is folded: +I
	}
	f := a.folding(in, out)
	for i := range a.columns {
		if err := a.columns[i].fold(in, f, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// taken reports whether a row that is alone is taken from nothing.
func (a aggregation) taken(in *Input, r batch.Ref) bool {
	return in.Whole && in.Kind(r).IsRetract() && (!a.remove || in.Kind(r) != types.Delete)
}

// folding sets rows and kinds of the result and tells what is to be folded.
func (a aggregation) folding(in *Input, out *Output) *folded {
	f := &folded{refs: make([]batch.Ref, 0, len(in.Refs)), ends: make([]int32, 0, len(in.Ends)), rows: make([]batch.Ref, len(in.Ends))}
	folded := int32(len(in.Window))
	from := int32(0)
	for i, end := range in.Ends {
		last := in.Refs[end-1]
		out.Rows[i] = last
		start, first := from, from
		if a.remove && in.Kinds != nil {
			for first = end - 1; first > from && in.Kind(in.Refs[first]) != types.Delete; {
				first--
			}
		}
		from = end
		if first == end-1 && !a.taken(in, last) {
			f.rows[i] = last
			if out.Kinds != nil {
				out.Kinds[i] = int8(in.Kind(last))
			}
			continue
		}
		f.rows[i] = batch.Ref{Src: folded, Row: int32(len(f.ends))}
		if in.Kinds == nil {
			f.refs = append(f.refs, in.Refs[first:end]...)
		} else {
			a.add(f, in, in.Refs[start:end], int(first-start))
		}
		f.end()
	}
	if len(f.ends) == len(in.Ends) {
		f.rows = nil
	}
	return f
}

// add adds the versions of a key, with their kinds, from the one that removed the row last, if any did. What comes after that goes on
// from its values, as in Paimon.
func (a aggregation) add(f *folded, in *Input, refs []batch.Ref, from int) {
	isInsert := func(r batch.Ref) bool { return !in.Kind(r).IsRetract() }
	for _, r := range refs[from:] {
		op := agg.Add
		switch k := in.Kind(r); {
		case a.remove && k == types.Delete:
			op = baseAfter(slices.ContainsFunc(refs[:from], isInsert))
		case k.IsRetract():
			op = agg.Retract
		}
		f.add(r, op)
	}
}
