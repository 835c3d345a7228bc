package metatest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// alter changes the schema. Open writers go on with the one they have.
func (w *world) alter(t *rapid.T) {
	var free []string
	for _, n := range columns {
		if !slices.ContainsFunc(w.cols, func(c column) bool { return c.name == n }) {
			free = append(free, n)
		}
	}
	// values are the columns that may be dropped; key columns only move.
	var values []int
	for i, c := range w.cols {
		if i >= w.keys && !fixed(c) {
			values = append(values, i)
		}
	}
	var change tarn.SchemaChange
	kind := rapid.SampledFrom([]string{"add", "drop", "rename", "widen", "move", "null"}).Draw(t, "change")
	if kind != "add" && len(values) == 0 {
		return
	}
	at := -1
	if len(values) > 0 {
		at = rapid.SampledFrom(values).Draw(t, "column")
	}
	switch kind {
	case "add":
		if len(free) == 0 {
			return
		}
		c := column{id: w.nextID, name: rapid.SampledFrom(free).Draw(t, "name"), typ: types.MustParse(rapid.SampledFrom(valueTypes).Draw(t, "type"))}
		w.nextID++
		add := tarn.AddColumn{Path: []string{c.name}, Type: c.typ}
		if at >= 0 && rapid.Bool().Draw(t, "after") {
			add.Place.After = w.cols[at].name
			w.cols = slices.Insert(slices.Clone(w.cols), at+1, c)
		} else {
			w.cols = append(slices.Clip(w.cols), c)
		}
		change = add
	case "drop":
		change = tarn.DropColumn{Path: []string{w.cols[at].name}}
		w.cols = slices.Delete(slices.Clone(w.cols), at, at+1)
	case "rename":
		if len(free) == 0 {
			return
		}
		to := rapid.SampledFrom(free).Draw(t, "name")
		change = tarn.RenameColumn{Path: []string{w.cols[at].name}, To: to}
		w.cols = slices.Clone(w.cols)
		w.cols[at].name = to
	case "widen":
		c := w.cols[at]
		to := wider[c.typ.AsNullable().String()]
		if len(to) == 0 {
			return
		}
		typ := types.MustParse(rapid.SampledFrom(to).Draw(t, "type"))
		change = tarn.UpdateType{Path: []string{c.name}, Type: typ}
		typ.NotNull = c.typ.NotNull
		w.cols = slices.Clone(w.cols)
		w.cols[at].typ = typ
	case "move":
		// Keys stay in front: the model finds them there.
		c := w.cols[at]
		if at == len(w.cols)-1 {
			return
		}
		last := w.cols[len(w.cols)-1].name
		change = tarn.MoveColumn{Column: c.name, Place: tarn.ColumnPlace{After: last}}
		w.cols = append(slices.Delete(slices.Clone(w.cols), at, at+1), c)
	default:
		change = tarn.UpdateNullability{Path: []string{w.cols[at].name}}
		w.cols = slices.Clone(w.cols)
		w.cols[at].typ.NotNull = false
	}
	w.must(w.tab.Alter(w.ctx, change))
	t.Logf("alter %T %+v", change, change)
}
