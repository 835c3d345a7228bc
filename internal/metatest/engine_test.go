package metatest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/types"
)

// engines are the merge engines of the histories.
var engines = []string{"deduplicate", "partial-update", "aggregation", "first-row"}

// function is an aggregate function of the model, on values of one column, oldest first; nil is NULL.
type function struct {
	name  string
	types []string
	// ordered: rows that come late, by the sequence field, make another result when some rows were merged before.
	ordered bool
	of      func(t types.Type, vs []types.Datum) types.Datum
}

var functions = []function{
	{"sum", []string{"INT", "BIGINT"}, false, func(_ types.Type, vs []types.Datum) (sum types.Datum) {
		for _, v := range vs {
			switch {
			case v != nil && sum == nil:
				sum = v
			case v != nil:
				sum = sum.(int64) + v.(int64)
			}
		}
		return sum
	}},
	{"max", []string{"INT", "STRING", "DATE", "DECIMAL(10, 2)"}, false, func(t types.Type, vs []types.Datum) types.Datum { return extreme(t, vs, 1) }},
	{"min", []string{"BIGINT", "STRING", "TIMESTAMP(6)", "DOUBLE"}, false, func(t types.Type, vs []types.Datum) types.Datum { return extreme(t, vs, -1) }},
	{"last_value", valueTypes, false, func(_ types.Type, vs []types.Datum) types.Datum { return vs[len(vs)-1] }},
	{"first_value", valueTypes, true, func(_ types.Type, vs []types.Datum) types.Datum { return vs[0] }},
	{"last_non_null_value", valueTypes, true, func(_ types.Type, vs []types.Datum) types.Datum { return lastNonNull(vs) }},
	{"first_non_null_value", valueTypes, true, func(_ types.Type, vs []types.Datum) types.Datum {
		vs = slices.Clone(vs)
		slices.Reverse(vs)
		return lastNonNull(vs)
	}},
}

func extreme(t types.Type, vs []types.Datum, sign int) (best types.Datum) {
	for _, v := range vs {
		if v != nil && (best == nil || sign*types.Compare(t, v, best) > 0) {
			best = v
		}
	}
	return best
}

func lastNonNull(vs []types.Datum) types.Datum {
	for _, v := range slices.Backward(vs) {
		if v != nil {
			return v
		}
	}
	return nil
}

// drawEngine adds the columns that an engine has options for.
func (w *world) drawEngine(o map[string]string, add func(name, typ string, notNull bool)) {
	t := w.t
	if w.engine != "deduplicate" {
		o["merge-engine"] = w.engine
	}
	w.functions, w.groups = map[int]function{}, map[int]column{}
	switch w.engine {
	case "aggregation":
		for i := range rapid.IntRange(1, 4).Draw(t, "aggregates") {
			f := rapid.SampledFrom(slices.DeleteFunc(slices.Clone(functions), func(f function) bool { return w.sequence && f.ordered })).Draw(t, "function")
			w.functions[w.nextID] = f
			add(fmt.Sprint("x", i), rapid.SampledFrom(f.types).Draw(t, "type"), false)
			o[fmt.Sprintf("fields.x%d.aggregate-function", i)] = f.name
		}
		if w.sequence {
			o["fields.default-aggregate-function"] = "last_value"
		}
	case "partial-update":
		for i := range rapid.IntRange(0, 2).Draw(t, "groups") {
			g := fmt.Sprint("g", i)
			add(g, "INT", false)
			by, names := w.cols[len(w.cols)-1], ""
			for j := range rapid.IntRange(1, 2).Draw(t, "group columns") {
				name := fmt.Sprint("x", i*2+j)
				w.groups[w.nextID] = by
				add(name, rapid.SampledFrom(valueTypes).Draw(t, "type"), false)
				if names != "" {
					names += ","
				}
				names += name
			}
			o["fields."+g+".sequence-group"] = names
		}
	}
}

// drawKind draws the kind of a row that the table takes.
func (w *world) drawKind(t *rapid.T) types.RowKind {
	kinds := []types.RowKind{types.Insert, types.Insert, types.UpdateAfter}
	switch {
	case !w.keyed:
		return types.Insert
	// How much is taken back depends on what was merged before: such rows come only where they are left out.
	case w.ignoreDelete, w.engine == "deduplicate" && !w.sequence:
		kinds = append(kinds, types.Delete, types.UpdateBefore)
	case w.sequence && w.engine == "deduplicate":
		return types.Insert
	}
	return rapid.SampledFrom(kinds).Draw(t, "kind")
}

// merged is the row of a key whose versions, in the order of the table, are these; there is at least one.
func (w *world) merged(vs []version) (row, bool) {
	out := row{vals: map[int]string{}}
	set := func(c column, d types.Datum) {
		if d != nil {
			out.vals[c.id] = types.FormatDatum(c.typ, d)
		}
	}
	column := func(c column) []types.Datum {
		ds := make([]types.Datum, len(vs))
		for i, v := range vs {
			ds[i] = v.row.get(c)
		}
		return ds
	}
	switch w.engine {
	case "first-row":
		return vs[0].row, true
	case "aggregation":
		for _, c := range w.cols {
			if w.staysIn(c) {
				set(c, column(c)[0])
				continue
			}
			f, ok := w.functions[c.id]
			switch ds := column(c); {
			case ok:
				set(c, f.of(c.typ, ds))
			case w.sequence:
				set(c, ds[len(ds)-1])
			default:
				set(c, lastNonNull(ds))
			}
		}
	case "partial-update":
		for _, c := range w.cols {
			if w.staysIn(c) {
				set(c, column(c)[0])
				continue
			}
			by, ok := w.groups[c.id]
			if !ok && !slices.Contains(groupNames, c.name) {
				set(c, lastNonNull(column(c)))
				continue
			}
			if !ok {
				by = c
			}
			// The newest of the greatest in the group.
			var best, value types.Datum
			ds := column(c)
			for i, g := range column(by) {
				if g != nil && (best == nil || g.(int64) >= best.(int64)) {
					best, value = g, ds[i]
				}
			}
			set(c, value)
		}
	default:
		r := vs[len(vs)-1].row
		return r, !r.kind.IsRetract()
	}
	return out, true
}

// staysIn reports whether a column is the partition that the first row of a key came to, where the others are merged with it.
func (w *world) staysIn(c column) bool { return w.crossing && c.id == w.cols[0].id }

// groupNames are the columns that order groups.
var groupNames = []string{"g0", "g1"}

// fixed reports whether a column stays as it is: an option names it.
func fixed(c column) bool {
	return c.name == "seq" || c.name == kindColumn || slices.Contains(groupNames, c.name) || slices.Contains([]string{"x0", "x1", "x2", "x3"}, c.name)
}
