package predicate

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/types"
)

var anyColumns = columns("i INT", "t TINYINT", "s STRING", "d DOUBLE", "n DECIMAL(5,1)", "b BOOLEAN", "z TIMESTAMP(3)", "y BYTES")

func drawDatum(t *rapid.T, typ types.Type) types.Datum {
	small := rapid.IntRange(-2, 2).Draw(t, "n")
	switch typ.Kind {
	case types.Int, types.TinyInt:
		return int64(small)
	case types.Varchar:
		return drawText(t)
	case types.Varbinary:
		return []byte(rapid.SampledFrom([]string{"", "a", "\xff", "ab"}).Draw(t, "bytes"))
	case types.Double:
		x, err := types.ParseFloat(rapid.SampledFrom([]string{"-Infinity", "-1", "-0.0", "0.0", "1", "Infinity", "NaN"}).Draw(t, "double"), 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	case types.Decimal:
		return decimal128.FromI64(int64(small))
	case types.Boolean:
		return small > 0
	}
	return types.Instant{Millis: int64(small)}
}

func drawText(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"", "a", "b", "ab", "abc", "ba", "%", "a%", "aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaZZ", "aaaaaaaaaaaaaaab", "日本",
		"\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff",
	}).Draw(t, "text")
}

func drawNullable(t *rapid.T, typ types.Type, nulls int) types.Datum {
	if rapid.IntRange(0, 9).Draw(t, "null") < nulls {
		return nil
	}
	return drawDatum(t, typ)
}

func drawPredicate(t *rapid.T, depth int) Predicate {
	if depth > 0 {
		switch rapid.IntRange(0, 4).Draw(t, "node") {
		case 0:
			return Negate(drawPredicate(t, depth-1))
		case 1, 2:
			var args []Predicate
			for range rapid.IntRange(0, 3).Draw(t, "args") {
				args = append(args, drawPredicate(t, depth-1))
			}
			if rapid.Bool().Draw(t, "and") {
				return All(args...)
			}
			return Any(args...)
		}
	}
	f := rapid.SampledFrom(anyColumns).Draw(t, "column")
	l := &Leaf{Column: f.Name, Type: f.Type, Op: Op(rapid.IntRange(int(Eq), int(Between)).Draw(t, "op"))}
	if l.textOnly() && f.Type.Kind != types.Varchar {
		l.Op = Eq
	}
	n := 1
	switch l.Op {
	case IsNull, IsNotNull:
		n = 0
	case In, NotIn:
		n = rapid.IntRange(0, 7).Draw(t, "values")
	case Between:
		n = 2
	}
	for range n {
		if l.Op == Like {
			l.Values = append(l.Values, rapid.SampledFrom([]string{"", "%", "a", "a%", "%b", "%b%", "a_", `a\%`, "a%c", "aaaaaaaaaaaaaaaa%"}).Draw(t, "pattern"))
		} else {
			l.Values = append(l.Values, drawNullable(t, f.Type, 1))
		}
	}
	return l
}

// drawStats gives statistics that hold for the values: exact, cut as manifests cut them (by the first
// releases, too), or not there.
func drawStats(t *rapid.T, typ types.Type, vals []types.Datum) (Stats, bool) {
	if rapid.IntRange(0, 5).Draw(t, "none") == 0 {
		return Stats{}, false
	}
	s := Stats{Rows: int64(len(vals))}
	for _, v := range vals {
		if v == nil {
			s.NullCount++
			continue
		}
		if isNaN(v) {
			continue // writers leave NaN out of the bounds
		}
		if s.Min == nil || types.Compare(typ, v, s.Min) < 0 {
			s.Min = v
		}
		if s.Max == nil || types.Compare(typ, v, s.Max) > 0 {
			s.Max = v
		}
	}
	if typ.Kind == types.Varchar && rapid.Bool().Draw(t, "cut") {
		raise := rapid.Bool().Draw(t, "raise")
		if lo, ok := s.Min.(string); ok {
			s.Min = cutText(lo)
		}
		if hi, ok := s.Max.(string); ok {
			switch c := cutText(hi); {
			case c == hi || !raise:
				s.Max = c
			default:
				s.Max = raised(c)
			}
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "missing") {
	case 0:
		s.NullCount = -1
	case 1:
		s.Min = nil
	case 2:
		s.Max = nil
	}
	return s, true
}

func cutText(s string) string {
	n := 0
	for i := range s {
		if n == cutAt {
			return s[:i]
		}
		n++
	}
	return s
}

// raised is the text with its last character raised, nil if none can be.
func raised(s string) types.Datum {
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
		if r < utf8.MaxRune {
			return s + string(r+1)
		}
	}
	return nil
}

// TestMayMatchNeverDeniesARow: where a row matches, statistics that hold for the rows do not say that
// none can; and simplifying a condition changes nothing.
func TestMayMatchNeverDeniesARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := make([][]types.Datum, rapid.IntRange(1, 4).Draw(t, "rows"))
		nulls := rapid.SampledFrom([]int{0, 3, 10}).Draw(t, "nulls")
		for i := range rows {
			for _, f := range anyColumns {
				rows[i] = append(rows[i], drawNullable(t, f.Type, nulls))
			}
		}
		p := drawPredicate(t, 3)
		rec := record(fataler{t: t}, anyColumns, rows...)
		sel, err := Eval(p, rec, anyColumns)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := Bind(p, anyColumns)
		if err != nil {
			t.Fatal(err)
		}
		if bound == nil {
			bound = All()
		}
		again, err := Eval(bound, rec, anyColumns)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(sel) != fmt.Sprint(again) {
			t.Fatalf("%v matches rows %v, simplified to %v rows %v", p, sel, bound, again)
		}
		stats := map[string]Stats{}
		for c, f := range anyColumns {
			vals := make([]types.Datum, len(rows))
			for i, r := range rows {
				vals[i] = r[c]
			}
			if s, ok := drawStats(t, f.Type, vals); ok {
				stats[f.Name] = s
			}
		}
		find := func(c string) (Stats, bool) { s, ok := stats[c]; return s, ok }
		for _, q := range []Predicate{p, bound} {
			if len(sel) > 0 && !MayMatch(q, find) {
				t.Fatalf("%v matches rows %v of %v, but is denied by %+v", q, sel, rows, stats)
			}
		}
	})
}

// fataler lets helpers of tests stop a check.
type fataler struct {
	testing.TB
	t *rapid.T
}

func (f fataler) Helper()           {}
func (f fataler) Fatal(args ...any) { f.t.Fatal(args...) }

func BenchmarkEval(b *testing.B) {
	fields := columns("i BIGINT", "s STRING")
	var rows [][]types.Datum
	for i := range int64(8192) {
		rows = append(rows, []types.Datum{i % 100, fmt.Sprint("text", i%1000)})
	}
	rec := record(b, fields, rows...)
	for name, p := range map[string]Predicate{
		"eq": Equal("i", int64(7)), "and": All(AtLeast("i", int64(7)), Less("i", int64(9))),
		"in": OneOf("i", int64(1), int64(2), int64(3), int64(4), int64(5), int64(6)), "like": Matches("s", "text1%"),
	} {
		p := mustBind(b, p, fields)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Eval(p, rec, fields); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/8192, "ns/row")
		})
	}
}
