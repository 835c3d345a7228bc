package sql

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

func TestFiltersOfPlans(t *testing.T) {
	field := func(name, typ string) types.Field { return types.Field{Name: name, Type: types.MustParse(typ)} }
	fields := []types.Field{
		field("a", "INT"), field("s", "STRING"), field("c", "DECIMAL(10,2)"), field("d", "DATE"), field("f", "DOUBLE"), field("b", "BOOLEAN"),
		field("ts", "TIMESTAMP(3)"), field("tz", "TIMESTAMP(6) WITH LOCAL TIME ZONE"), field("Od d", "INT"), field("ab", "INT"), field("x(y", "INT"), field("tm", "TIME(3)"),
	}
	byName := map[string]types.Field{}
	for _, f := range fields {
		byName[f.Name] = f
	}
	leaf := func(op predicate.Op, name string, v ...types.Datum) *predicate.Leaf {
		return &predicate.Leaf{Op: op, Column: name, Type: byName[name].Type, Values: v}
	}
	and := func(a ...predicate.Predicate) predicate.Predicate { return &predicate.And{Args: a} }
	or := func(a ...predicate.Predicate) predicate.Predicate { return &predicate.Or{Args: a} }
	for text, want := range map[string]predicate.Predicate{
		"a>5 AND a>=7 AND a<=-9":               and(leaf(predicate.Gt, "a", int64(5)), leaf(predicate.GtEq, "a", int64(7)), leaf(predicate.LtEq, "a", int64(-9))),
		"optional: a IN (1, 5, 9)":             leaf(predicate.In, "a", int64(1), int64(5), int64(9)),
		"(a NOT IN (1, 2))":                    leaf(predicate.NotIn, "a", int64(1), int64(2)),
		"a!=5 AND (a IS NOT NULL)":             and(leaf(predicate.NotEq, "a", int64(5)), leaf(predicate.IsNotNull, "a")),
		"(a IS NULL)":                          leaf(predicate.IsNull, "a"),
		"s='it''s OR a=1'":                     leaf(predicate.Eq, "s", "it's OR a=1"),
		"s IN ('a', 'b, c')":                   leaf(predicate.In, "s", "a", "b, c"),
		"suffix(s, 'x')":                       leaf(predicate.EndsWith, "s", "x"),
		"(((a >= 1) AND (a <= 5)) OR (a = 9))": or(and(leaf(predicate.GtEq, "a", int64(1)), leaf(predicate.LtEq, "a", int64(5))), leaf(predicate.Eq, "a", int64(9))),
		"d='1500-01-01'::DATE":                 leaf(predicate.Eq, "d", int64(-171664)),
		"b":                                    leaf(predicate.Eq, "b", true),
		"(NOT b)":                              leaf(predicate.Eq, "b", false),
		"Od d=3":                               leaf(predicate.Eq, "Od d", int64(3)),
		"ab>1":                                 leaf(predicate.Gt, "ab", int64(1)),
		"ts>'2020-01-01 00:00:00.0015'::TIMESTAMP":              leaf(predicate.Gt, "ts", types.Instant{Millis: 1577836800001, Nanos: 500000}),
		"tz>'2020-01-01 00:00:00+00'::TIMESTAMP WITH TIME ZONE": leaf(predicate.Gt, "tz", types.Instant{Millis: 1577836800000}),
		"tm='12:34:56.789'::TIME":                               leaf(predicate.Eq, "tm", int64(45296789)),
		"a>5 AND (lower(s) = 'x')":                              leaf(predicate.Gt, "a", int64(5)), // what is not known is left out
		"a=5 OR (lower(s) = 'x')":                               nil,                               // unless it lets rows pass
		"f>1.5":                                                 nil,
		"f=1e1000":                                              nil,
		"x(y=1":                                                 nil,
		"(CAST(a AS DECIMAL(11,1)) = 5.0)":                      nil,
		"tm<'12:34:56.789123'::TIME":                            nil, "c<1.505": nil,
		"a=1.5": nil,
		"s.x=3": nil,
		"tz>'2020-01-01 00:00:00+01'::TIMESTAMP WITH TIME ZONE": nil,
		"d='infinity'::DATE":     nil,
		"(a IS DISTINCT FROM 5)": nil,
		"Dynamic Filter (a)":     nil,
		"":                       nil,
		"'":                      nil,
		"((((":                   nil,
		"a='":                    nil,
		"s='":                    nil,
	} {
		got, _ := parseFilter(text, fields)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"a>5 AND s='x'", "((a = 1) OR (a = 2))", "contains(s, 'x')", "a IN (1, 2)", "NOT a"} {
		f.Add(s)
	}
	fields := []types.Field{{Name: "a", Type: types.MustParse("INT")}, {Name: "s", Type: types.MustParse("STRING")}}
	f.Fuzz(func(_ *testing.T, text string) { parseFilter(text, fields) })
}
