package predicate

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// columns reads "name TYPE" declarations.
func columns(decl ...string) []types.Field {
	var out []types.Field
	for i, d := range decl {
		name, typ, _ := strings.Cut(d, " ")
		out = append(out, types.Field{ID: i, Name: name, Type: types.MustParse(typ)})
	}
	return out
}

func record(t testing.TB, fields []types.Field, rows ...[]types.Datum) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.ArrowSchema(fields))
	for _, r := range rows {
		for i, f := range fields {
			if err := types.AppendDatum(b.Field(i), f.Type, r[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.NewRecordBatch()
}

func mustBind(t testing.TB, p Predicate, fields []types.Field) Predicate {
	t.Helper()
	b, err := Bind(p, fields)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rowsOf are the rows that a condition matches, as it stands and simplified.
func rowsOf(t testing.TB, p Predicate, rec arrow.RecordBatch, fields []types.Field) string {
	t.Helper()
	sel, err := Eval(p, rec, fields)
	if err != nil {
		t.Fatal(err)
	}
	if s := mustBind(t, p, fields); s != nil {
		again, err := Eval(s, rec, fields)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(again) != fmt.Sprint(sel) {
			t.Errorf("%v matches rows %v, simplified to %v rows %v", p, sel, s, again)
		}
	} else if len(sel) != int(rec.NumRows()) {
		t.Errorf("%v matches rows %v, simplified it matches all", p, sel)
	}
	return strings.Trim(fmt.Sprint(sel), "[]")
}

// TestLogic is B066: SQL's three-valued logic.
func TestLogic(t *testing.T) {
	fields := columns("v INT")
	rec := record(t, fields, []types.Datum{nil}, []types.Datum{int64(5)}, []types.Datum{int64(11)})
	n := func(i int64) types.Datum { return i }
	for _, c := range []struct {
		p    Predicate
		want string
	}{
		{OneOf("v"), ""},
		{NoneOf("v"), "0 1 2"},
		{Negate(OneOf("v")), "0 1 2"},
		{OneOf("v", n(5), nil), "1"},
		{NoneOf("v", n(5), nil), ""},
		{NoneOf("v", n(5)), "2"},
		{OneOf("v", n(1), n(2), n(3), n(4), n(11), nil), "2"},
		{NoneOf("v", n(1), n(2), n(3), n(4), n(11)), "1"},
		{Any(Greater("v", n(10)), Null("v")), "0 2"},
		{NotEqual("v", n(5)), "2"},
		{Negate(Equal("v", n(5))), "2"},
		{Negate(Any(Equal("v", n(5)), Null("v"))), "2"},
		{Negate(All(Greater("v", n(4)), Less("v", n(10)))), "2"},
		{Equal("v", nil), ""},
		{Negate(Equal("v", nil)), ""},
		{Any(Equal("v", nil), Equal("v", n(5))), "1"},
		{Within("v", n(5), n(11)), "1 2"},
		{Negate(Within("v", n(5), n(10))), "2"},
		{Within("v", nil, n(5)), ""},
		{Negate(Within("v", nil, n(5))), "2"},
		{All(), "0 1 2"},
		{Any(), ""},
		{Negate(Any()), "0 1 2"},
		{Less("v", n(3_000_000_000)), "1 2"},
		{NotNull("v"), "1 2"},
	} {
		if got := rowsOf(t, c.p, rec, fields); got != c.want {
			t.Errorf("%v: rows %q, want %q", c.p, got, c.want)
		}
	}
}

// TestLike is B066: the escape takes away the meaning of the character after it, nothing else.
func TestLike(t *testing.T) {
	fields := columns("s STRING")
	for _, c := range []struct {
		text, pattern string
		want          bool
	}{
		{"a%", `a\%`, true},
		{`a\x`, `a\%`, false},
		{"abc", "abc", true},
		{"abc", "a%", true},
		{"abc", "%c", true},
		{"abc", "%b%", true},
		{"abc", "a_c", true},
		{"a日c", "a_c", true},
		{"ac", "a_c", false},
		{"", "%", true},
		{"", "", true},
		{"x", "", false},
		{"a\nb", "a%b", true},
		{"aXbXc", "a%X%c", true},
		{"abab", "%ab", true},
		{"a_c", `a\_c`, true},
		{"abc", `a\_c`, false},
		{`a\`, `a\\`, true},
		{`x\`, `x\`, true},
	} {
		rec := record(t, fields, []types.Datum{c.text}, []types.Datum{nil})
		want := ""
		if c.want {
			want = "0"
		}
		if got := rowsOf(t, Matches("s", c.pattern), rec, fields); got != want {
			t.Errorf("%q LIKE %q: rows %q, want %q", c.text, c.pattern, got, want)
		}
		want = "0"
		if c.want {
			want = ""
		}
		if got := rowsOf(t, Negate(Matches("s", c.pattern)), rec, fields); got != want {
			t.Errorf("NOT %q LIKE %q: rows %q, want %q", c.text, c.pattern, got, want)
		}
	}
	rec := record(t, fields, []types.Datum{"50%"}, []types.Datum{"50x"})
	if got := rowsOf(t, &Leaf{Op: Like, Column: "s", Values: []types.Datum{"50!%", "!"}}, rec, fields); got != "0" {
		t.Errorf("ESCAPE '!': rows %q", got)
	}
}

func TestSimplify(t *testing.T) {
	fields := columns("a INT", "s STRING")
	for _, c := range []struct {
		p    Predicate
		want string
	}{
		{Negate(Less("a", 5)), "a >= 5"},
		{Negate(Negate(Less("a", 5))), "a < 5"},
		{All(All(Equal("a", 1)), All(NotNull("s"), All())), "(a = 1 AND s IS NOT NULL)"},
		{Any(Equal("a", 1), All()), "<nil>"},
		{All(Equal("a", 1), Any()), "FALSE"},
		{OneOf("a", 1), "a = 1"},
		{Matches("s", "ab%"), "s STARTS WITH 'ab'"},
		{Matches("s", `a\%b`), "s = 'a%b'"},
		{Matches("s", "a%b"), "s LIKE 'a%b'"},
		{Matches("s", "%"), "s IS NOT NULL"},
		{Negate(Matches("s", "ab%")), "NOT s STARTS WITH 'ab'"},
		{Negate(Matches("s", "ab")), "s <> 'ab'"},
		{Negate(Within("a", 1, 2)), "(a < 1 OR a > 2)"},
	} {
		if got := fmt.Sprint(mustBind(t, c.p, fields)); got != c.want {
			t.Errorf("%v: %s, want %s", c.p, got, c.want)
		}
	}
}

func TestBindErrors(t *testing.T) {
	fields := columns("a INT", "d DECIMAL(5,2)", "l ARRAY<INT>")
	for _, c := range []struct {
		p    Predicate
		want string
	}{
		{Equal("x", 1), `column "x", which does not exist; there are a, d, l`},
		{All(Equal("a", 1), Negate(Null("y"))), `column "y"`},
		{Equal("l", 1), "cannot be compared"},
		{Equal("a", "one"), `filter on column "a"`},
		{Equal("a", 2.5), "is no value of type INT"},
		{Equal("a", "2.7"), "digits that would be lost"},
		{Equal("d", "1.005"), "digits that would be lost"},
		{HasPrefix("a", "1"), "STARTS WITH is for text, not for type INT"},
		{&Leaf{Op: Between, Column: "a", Values: []types.Datum{int64(1)}}, "BETWEEN with 1 values"},
		{&Leaf{Op: 99, Column: "a"}, "unknown operation"},
	} {
		if _, err := Bind(c.p, fields); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.p, err, c.want)
		}
	}
	if p, err := Bind(Null("l"), fields); err != nil || fmt.Sprint(p) != "l IS NULL" {
		t.Error(p, err)
	}
	// What was not bound must do no harm.
	bad := &Leaf{Op: StartsWith, Column: "a", Type: types.BytesType, Values: []types.Datum{[]byte("x")}}
	if !MayMatch(bad, func(string) (Stats, bool) { return Stats{Min: []byte("a"), Max: []byte("b")}, true }) {
		t.Error("a condition that cannot be tested denies rows")
	}
	if _, err := Eval(&Leaf{Op: Between, Column: "a"}, record(t, fields[:1], []types.Datum{int64(1)}), fields[:1]); err == nil {
		t.Error("BETWEEN without values is no error")
	}
}

// TestLiterals are the plain Go values that stand for values of columns.
func TestLiterals(t *testing.T) {
	fields := columns("i INT", "f FLOAT", "d DECIMAL(5,2)", "da DATE", "ti TIME(3)", "ts TIMESTAMP(6)", "lz TIMESTAMP_LTZ(3)")
	zone := time.FixedZone("", 3600)
	at := time.Date(2024, 2, 29, 1, 2, 3, 456_000_000, zone)
	day := int64(19782)
	wall := types.Instant{Millis: day*86_400_000 + 3_723_456}
	rec := record(t, fields, []types.Datum{
		int64(7), float32(0.1), decimal128.FromI64(150), day, int64(3_723_456), wall, types.Instant{Millis: at.UnixMilli()},
	})
	for _, p := range []Predicate{
		Equal("i", 7), Equal("i", uint8(7)), Equal("i", "7"), Equal("f", 0.1), Equal("d", 1.5), Equal("d", "1.50"), Less("d", 2),
		Equal("da", at), Equal("da", "2024-02-29"), Equal("ti", 3723456*time.Millisecond), Equal("ts", at), Equal("lz", at),
		Equal("ts", "2024-02-29 01:02:03.456"),
	} {
		sel, err := Eval(mustBind(t, p, fields), rec, fields)
		if err != nil || len(sel) != 1 {
			t.Errorf("%v: %v, %v", p, sel, err)
		}
	}
}

// TestOnly is what B001 and B009 rest on: the part of a filter on some columns, found by name.
func TestOnly(t *testing.T) {
	keep := func(c string) bool { return c == "k" || c == "p" }
	for _, c := range []struct {
		p    Predicate
		want string
	}{
		{All(Equal("k", 1), Equal("v", 2)), "k = 1"},
		{Any(Equal("k", 1), Equal("v", 2)), "<nil>"},
		{All(Any(Equal("k", 1), Null("p")), Negate(Equal("v", 2))), "(k = 1 OR p IS NULL)"},
		{Negate(All(Equal("k", 1), Equal("v", 2))), "<nil>"},
		{nil, "<nil>"},
	} {
		if got := fmt.Sprint(Only(c.p, keep)); got != c.want {
			t.Errorf("%v: %s, want %s", c.p, got, c.want)
		}
	}
	got := Columns(All(Equal("b", 1), Any(Null("a"), Negate(Equal("b", 2)))))
	if strings.Join(got, ",") != "b,a" {
		t.Error(got)
	}
	// B009: the columns of the batch stand elsewhere than in the schema.
	fields := columns("c INT", "a INT")
	rec := record(t, fields, []types.Datum{int64(100), int64(1)}, []types.Datum{int64(200), int64(2)})
	if got := rowsOf(t, Greater("c", int64(150)), rec, fields); got != "1" {
		t.Error(got)
	}
	if _, err := Eval(Equal("b", int64(1)), rec, fields); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Error(err)
	}
}

// TestFloats is B065: -0.0 is below 0.0, NaN above all and equal to itself.
func TestFloats(t *testing.T) {
	for _, typ := range []string{"FLOAT", "DOUBLE"} {
		fields := columns("f " + typ)
		num := func(s string) types.Datum {
			d, err := types.ParseDatum(fields[0].Type, s)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		var rows [][]types.Datum
		for _, s := range []string{"-Infinity", "-0.0", "0.0", "1.5", "Infinity", "NaN"} {
			rows = append(rows, []types.Datum{num(s)})
		}
		rec := record(t, fields, rows...)
		for _, c := range []struct {
			p    Predicate
			want string
		}{
			{Equal("f", num("NaN")), "5"},
			{Equal("f", num("0.0")), "2"},
			{Equal("f", num("-0.0")), "1"},
			{Less("f", num("0.0")), "0 1"},
			{Greater("f", num("1.5")), "4 5"},
			{AtLeast("f", num("1.5")), "3 4 5"},
			{AtMost("f", num("Infinity")), "0 1 2 3 4"},
			{Less("f", num("NaN")), "0 1 2 3 4"},
			{NotEqual("f", num("NaN")), "0 1 2 3 4"},
			{Negate(Greater("f", num("1.5"))), "0 1 2 3"},
		} {
			if got := rowsOf(t, c.p, rec, fields); got != c.want {
				t.Errorf("%s %v: rows %q, want %q", typ, c.p, got, c.want)
			}
		}
	}
}

// TestMayMatch has the cases of B066, B067 and B091 where statistics are missing, cut, or of another
// form.
func TestMayMatch(t *testing.T) {
	const cut = "aaaaaaaaaaaaaaaa" // 16 characters
	n := func(i int64) types.Datum { return i }
	for _, c := range []struct {
		typ  string
		p    Predicate
		s    Stats
		want bool
	}{
		{"INT", NotEqual("v", n(5)), Stats{NullCount: 3, Rows: 3}, false},
		{"INT", Null("v"), Stats{Min: n(1), Max: n(2), NullCount: -1, Rows: 3}, true},
		{"INT", Null("v"), Stats{Min: n(1), Max: n(2), NullCount: 0, Rows: 3}, false},
		{"INT", NotNull("v"), Stats{NullCount: 3, Rows: 3}, false},
		{"INT", Equal("v", n(5)), Stats{NullCount: -1, Rows: 3}, true},
		{"INT", OneOf("v"), Stats{NullCount: -1, Rows: 3}, false},
		{"INT", NoneOf("v"), Stats{NullCount: 3, Rows: 3}, true},
		{"INT", Any(Greater("v", n(10)), Null("v")), Stats{Min: n(1), Max: n(2), NullCount: 1, Rows: 3}, true},
		{"INT", Negate(Equal("v", n(5))), Stats{Min: n(5), Max: n(5), NullCount: 1, Rows: 3}, false},
		{"INT", Greater("v", n(3_000_000_000)), Stats{Min: n(1), Max: n(2), Rows: 1}, false},
		{"INT", Within("v", n(3), n(9)), Stats{Min: n(1), Max: n(2), Rows: 1}, false},
		{"STRING", Equal("v", cut+"ZZ"), Stats{Min: cut, Max: "aaaaaaaaaaaaaaab", Rows: 1}, true},
		// The first releases did not raise the last character of the upper bound.
		{"STRING", Equal("v", cut+"ZZ"), Stats{Min: cut, Max: cut, Rows: 1}, true},
		{"STRING", Greater("v", cut), Stats{Min: cut, Max: cut, Rows: 1}, true},
		{"STRING", HasPrefix("v", cut+"Z"), Stats{Min: cut, Max: cut, Rows: 1}, true},
		{"STRING", Equal("v", "b"), Stats{Min: cut, Max: cut, Rows: 1}, false},
		{"STRING", Equal("v", cut), Stats{Min: "b", Max: "b", Rows: 1}, false},
		{"STRING", HasPrefix("v", "b"), Stats{Min: "aa", Max: "ab", Rows: 1}, false},
		{"STRING", HasPrefix("v", "ab"), Stats{Min: "aa", Max: "abc", Rows: 1}, true},
		{"STRING", Matches("v", "b%x"), Stats{Min: "aa", Max: "ab", Rows: 1}, false},
		{"STRING", Matches("v", "%x"), Stats{Min: "ab", Max: "ab", Rows: 1}, false},
		{"STRING", HasText("v", "b"), Stats{Min: "ab", Max: "ab", Rows: 1}, true},
		{"STRING", Negate(HasPrefix("v", "a")), Stats{Min: "aa", Max: "ab", Rows: 1}, false},
		{"DOUBLE", Equal("v", math.Copysign(0, -1)), Stats{Min: 0.0, Max: 1.0, Rows: 1}, true},
		{"DOUBLE", Greater("v", 5.0), Stats{Min: 0.0, Max: 1.0, Rows: 2}, true}, // NaN may be beside
		{"DOUBLE", Less("v", 0.0), Stats{Min: 1.0, Max: 2.0, Rows: 2}, false},
		{"DOUBLE", Equal("v", 5.0), Stats{Min: 0.0, Max: 1.0, Rows: 2}, false},
	} {
		p := c.p
		fields := columns("v " + c.typ)
		if b := mustBind(t, p, fields); b != nil {
			p = b
		}
		if got := MayMatch(p, func(string) (Stats, bool) { return c.s, true }); got != c.want {
			t.Errorf("%v with %+v: %v, want %v", c.p, c.s, got, c.want)
		}
		if !isFalse(p) && !MayMatch(p, func(string) (Stats, bool) { return Stats{}, false }) {
			t.Errorf("%v without statistics denies rows", c.p)
		}
	}
}

// Nothing known of any column, and batches without the columns, are no panic.
func TestNothingToTestOn(t *testing.T) {
	p := Equal("a", 1)
	if !MayMatch(p, nil) {
		t.Error("denied without statistics")
	}
	f := []types.Field{{Name: "a", Type: types.IntType}}
	for _, rec := range []arrow.RecordBatch{nil, array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 1)} {
		if _, err := Eval(p, rec, f); err == nil {
			t.Error("tested on nothing")
		}
	}
}
