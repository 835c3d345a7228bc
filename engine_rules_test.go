package tarn_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// TestEngineRules holds the rules of options that do not go together: CREATE TABLE and ALTER TABLE refuse them, name the option
// that is wrong, and say what to do.
func TestEngineRules(t *testing.T) {
	agg, partial, first := opts{"merge-engine": "aggregation"}, opts{"merge-engine": "partial-update"}, opts{"merge-engine": "first-row"}
	const columns = "k! INT, a INT, b INT, g INT, h INT, s STRING, l ARRAY<INT>, m MAP<STRING,INT>, n ARRAY<ROW<x INT,y STRING>>, r ROW<x INT>"
	for _, x := range []struct {
		table opts     // options that the table has
		set   opts     // those that make it wrong
		want  []string // what the error says
	}{
		// Aggregate functions and the types of their columns.
		{agg, opts{"fields.s.aggregate-function": "sum"}, []string{"fields.s.aggregate-function", "a number", "STRING"}},
		{agg, opts{"fields.default-aggregate-function": "product"}, []string{"fields.default-aggregate-function", `"s"`, "a number"}},
		{agg, opts{"fields.l.aggregate-function": "max"}, []string{"fields.l.aggregate-function", "an order"}},
		{agg, opts{"fields.a.aggregate-function": "bool_and"}, []string{"fields.a.aggregate-function", "BOOLEAN"}},
		{agg, opts{"fields.a.aggregate-function": "listagg"}, []string{"fields.a.aggregate-function", "STRING"}},
		{agg, opts{"fields.s.aggregate-function": "collect"}, []string{"fields.s.aggregate-function", "ARRAY"}},
		{agg, opts{"fields.l.aggregate-function": "merge_map"}, []string{"fields.l.aggregate-function", "MAP"}},
		{agg, opts{"fields.m.aggregate-function": "merge_map_with_keytime"}, []string{"fields.m.aggregate-function", "ROW"}},
		{agg, opts{"fields.l.aggregate-function": "nested_update"}, []string{"fields.l.aggregate-function", "ARRAY<ROW"}},
		{agg, opts{"fields.s.aggregate-function": "rbm32"}, []string{"fields.s.aggregate-function", "VARBINARY"}},
		{agg, opts{"fields.a.aggregate-function": "mean"}, []string{"fields.a.aggregate-function", `"mean"`, "there are sum, "}},
		{agg, opts{"fields.a.aggregate-function": "count"}, []string{"fields.a.aggregate-function", "take sum"}},
		{agg, opts{"fields.k.aggregate-function": "max"}, []string{"fields.k.aggregate-function", "primary key", "remove"}},
		{agg, opts{"fields.n.aggregate-function": "nested_update", "fields.n.nested-key": "z"}, []string{"fields.n.", "nested-key", `"z"`}},
		{agg, opts{"fields.n.aggregate-function": "nested_partial_update"}, []string{"fields.n.", "set the option", "nested-key"}},
		{agg, opts{"fields.n.aggregate-function": "nested_update", "fields.n.nested-sequence-field": "x"}, []string{"fields.n.", "nested-sequence-field", "set the option", "nested-key"}},
		{agg, opts{"fields.l.aggregate-function": "collect", "fields.l.distinct": "yes"}, []string{"fields.l.distinct", "true", "false"}},
		{agg, opts{"fields.z.aggregate-function": "sum"}, []string{"fields.z.aggregate-function", `"z"`, "there are k, a, "}},
		{agg, opts{"fields.r.x.aggregate-function": "sum"}, []string{"fields.r.x.aggregate-function", `"r.x"`}},
		// Deletes.
		{agg, opts{"fields.a.aggregate-function": "max", "fields.a.ignore-retract": "true", "aggregation.remove-record-on-delete": "true"}, []string{"fields.a.ignore-retract", "aggregation.remove-record-on-delete", "remove one"}},
		{partial, opts{"ignore-delete": "true", "partial-update.remove-record-on-delete": "true"}, []string{"partial-update.remove-record-on-delete", "ignore-delete", "remove one"}},
		{partial, opts{"fields.g.sequence-group": "a", "partial-update.remove-record-on-delete": "true"}, []string{"partial-update.remove-record-on-delete", "partial-update.remove-record-on-sequence-group"}},
		{partial, opts{"fields.g.sequence-group": "a", "ignore-delete": "true", "partial-update.remove-record-on-sequence-group": "g"}, []string{"partial-update.remove-record-on-sequence-group", "ignore-delete", "remove one"}},
		{partial, opts{"fields.g.sequence-group": "a", "partial-update.remove-record-on-sequence-group": "h"}, []string{"partial-update.remove-record-on-sequence-group", `"h"`, "fields.h.sequence-group"}},
		// Sequence groups.
		{partial, opts{"fields.g.sequence-group": "a,b", "fields.h.sequence-group": "b"}, []string{"fields.h.sequence-group", `"b"`, "fields.g.sequence-group", "take it out"}},
		{partial, opts{"fields.g.sequence-group": "a", "fields.g,h.sequence-group": "b"}, []string{"fields.g.sequence-group", `"g"`, "fields.g,h.sequence-group", "take it out"}},
		{partial, opts{"fields.g.sequence-group": "h", "fields.h.sequence-group": "b"}, []string{"fields.h.sequence-group", `"h"`, "fields.g.sequence-group", "take it out"}},
		{partial, opts{"fields.g.sequence-group": "a,a"}, []string{"fields.g.sequence-group", `"a"`, "twice"}},
		{partial, opts{"fields.g.sequence-group": "a,z"}, []string{"fields.g.sequence-group", `"z"`, "there are k, a, "}},
		{partial, opts{"fields.z.sequence-group": "a"}, []string{"fields.z.sequence-group", `"z"`}},
		{partial, opts{"fields.k.sequence-group": "a"}, []string{"fields.k.sequence-group", "primary key", "take another"}},
		{partial, opts{"fields.g.sequence-group": "k"}, []string{"fields.g.sequence-group", "primary key", "take it out"}},
		{partial, opts{"fields.l.sequence-group": "a"}, []string{"fields.l.sequence-group", "ARRAY"}},
		{partial, opts{"fields.a.aggregate-function": "sum"}, []string{"fields.a.aggregate-function", "sequence group", "merge-engine=aggregation"}},
		{partial, opts{"fields.default-aggregate-function": "max"}, []string{"fields.default-aggregate-function", "sequence group", "fields.a.aggregate-function=last_non_null_value"}},
		{partial, opts{"fields.g.sequence-group": "s", "fields.s.aggregate-function": "sum"}, []string{"fields.s.aggregate-function", "a number"}},
		// What orders rows.
		{agg, opts{"sequence.field": "a", "fields.a.aggregate-function": "sum"}, []string{"sequence.field", "fields.a.aggregate-function", "remove"}},
		{opts{}, opts{"sequence.field": "a,a"}, []string{"sequence.field", `"a"`, "twice"}},
		{opts{}, opts{"sequence.field": "z"}, []string{"sequence.field", `"z"`, "there are k, a, "}},
		{first, opts{"sequence.field": "a"}, []string{"sequence.field", "first-row", "remove the option"}},
		{opts{"write-only": "true"}, opts{"sequence.field": "a", "sequence.snapshot-ordering": "true"}, []string{"sequence.snapshot-ordering", "sequence.field"}},
		{opts{}, opts{"sequence.snapshot-ordering": "true"}, []string{"sequence.snapshot-ordering", "write-only=true"}},
		// Changelogs and deletion vectors.
		{first, opts{"changelog-producer": "input"}, []string{"changelog-producer", "input", "lookup"}},
		{first, opts{"changelog-producer": "full-compaction"}, []string{"changelog-producer", "full-compaction", "lookup"}},
		{opts{"changelog-producer": "full-compaction"}, opts{"streaming-read-overwrite": "true"}, []string{"streaming-read-overwrite", "changelog-producer=full-compaction", "twice"}},
	} {
		all := maps.Clone(x.table)
		maps.Copy(all, x.set)
		all["bucket"] = "1"
		c := open(t)
		_, err := c.CreateTable(t.Context(), "d.wrong", tableOf(columns, "", all))
		breaksRule(t, fmt.Sprintf("CREATE with %v", all), err, x.want)
		for k := range x.set {
			delete(all, k)
		}
		tab := declare(t, c, "d.right", columns, "", all)
		var changes []tarn.SchemaChange
		for _, k := range slices.Sorted(maps.Keys(x.set)) {
			changes = append(changes, tarn.SetOption{Key: k, Value: x.set[k]})
		}
		breaksRule(t, fmt.Sprintf("ALTER to %v", x.set), tab.Alter(t.Context(), changes...), x.want)
		if again, err := c.Table(t.Context(), "d.right"); err != nil || again.SchemaID() != 0 {
			t.Errorf("%v: after the ALTER the table has another schema, or cannot be opened (%v)", x.set, err)
		}
	}
}

func breaksRule(t *testing.T, what string, err error, want []string) {
	t.Helper()
	if !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("%s: %v, want ErrInvalid", what, err)
		return
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q does not say %q", what, err, part)
		}
	}
}

// A change of columns cannot make the engine of a table wrong either, and a column that is renamed keeps its function.
func TestEngineRulesOfColumns(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT, v INT, s INT", "", opts{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "sequence.field": "s"})
	breaksRule(t, "STRING", tab.Alter(t.Context(), tarn.UpdateType{Path: []string{"v"}, Type: types.MustParse("STRING")}), []string{"fields.v.aggregate-function", "a number"})
	breaksRule(t, "DROP", tab.Alter(t.Context(), tarn.DropColumn{Path: []string{"v"}}), []string{"fields.v.aggregate-function", `"v"`})
	if err := tab.Alter(t.Context(), tarn.RenameColumn{Path: []string{"v"}, To: "w"}, tarn.UpdateType{Path: []string{"w"}, Type: types.MustParse("BIGINT")}); err != nil {
		t.Error(err)
	}
}
