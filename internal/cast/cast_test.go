package cast_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

// pair is what the reference does with a column of one type that becomes another.
type pair struct {
	From, To           string
	Explicit, Implicit bool
	Rows               [][2]json.RawMessage // value written, value read after the change
}

func load(t *testing.T, name string) []pair {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []pair
	for sc := bufio.NewScanner(z); sc.Scan(); {
		var p pair
		if err := json.Unmarshal(sc.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// column reads JSON values as an array.
func column(t *testing.T, typ types.Type, vals []json.RawMessage) arrow.Array {
	t.Helper()
	fields := []types.Field{{Name: "v", Type: typ}}
	var lines strings.Builder
	for _, v := range vals {
		lines.WriteString(`{"v":` + string(v) + "}\n")
	}
	if len(vals) == 0 {
		return array.MakeArrayOfNull(memory.DefaultAllocator, types.WideArrowType(typ), 0)
	}
	b, err := jsonrow.Lines(strings.NewReader(lines.String()), "test", fields, len(vals)).Next(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	return b.Column(0)
}

// otherwise tells values for which the reference up to 1.4 is wrong: it rounds towards 1970 before it,
// keeps a fraction of few digits where it should be cut, and does not stand seconds beyond any year.
func otherwise(p pair, v json.RawMessage) bool {
	switch {
	case strings.HasPrefix(p.From, "TIMESTAMP"):
		return string(v) < `"1970` || strings.HasPrefix(p.To, "TIMESTAMP") && strings.Contains(string(v), ".00000000")
	case p.From == "BIGINT" && strings.HasPrefix(p.To, "TIMESTAMP"):
		return len(v) > 15
	}
	return false
}

// TestReference compares with what the reference makes of old values of a column whose type was changed.
func TestReference(t *testing.T) {
	for _, name := range []string{"golden.jsonl.gz", "matrix.jsonl.gz"} {
		n := 0
		for _, p := range load(t, name) {
			from, to := types.MustParse(p.From), types.MustParse(p.To)
			if name == "golden.jsonl.gz" && to.IsNested() || len(p.Rows) == 0 {
				continue // refused
			}
			var in []json.RawMessage
			p.Rows = slices.DeleteFunc(p.Rows, func(r [2]json.RawMessage) bool { return otherwise(p, r[0]) })
			for _, r := range p.Rows {
				in = append(in, r[0])
			}
			got, err := cast.Cast(column(t, from, in), from, to)
			if err != nil {
				t.Errorf("%s -> %s: %v", p.From, p.To, err)
				continue
			}
			if !arrow.TypeEqual(got.DataType(), types.WideArrowType(to)) {
				t.Errorf("%s -> %s: the array is %s", p.From, p.To, got.DataType())
			}
			fields := []types.Field{{Name: "v", Type: to}}
			for i, r := range p.Rows {
				n++
				have := append(jsonrow.AppendValue([]byte(`{"v":`), got, i, to), '}')
				want := append(append([]byte(`{"v":`), r[1]...), '}')
				if string(have) == string(want) {
					continue
				}
				if err := jsonrow.Equal(fields, have, want); err != nil {
					t.Errorf("%s -> %s of %s: got %s, want %s", p.From, p.To, r[0], have, want)
				}
			}
		}
		if n < 150 {
			t.Errorf("%s: only %d values", name, n)
		}
	}
}

// TestWhatCanChange compares with the changes that the reference allows. Changes to the same type are
// left out: it refuses some of these, here they do nothing.
func TestWhatCanChange(t *testing.T) {
	for _, p := range load(t, "matrix.jsonl.gz") {
		from, to := types.MustParse(p.From), types.MustParse(p.To)
		if from.Equal(to) || to.NotNull {
			continue
		}
		if got := cast.CanChange(from, to, true); got != p.Explicit {
			t.Errorf("%s -> %s: explicit %v, want %v", p.From, p.To, got, p.Explicit)
		}
		if got := cast.CanChange(from, to, false); got != p.Implicit {
			t.Errorf("%s -> %s: implicit %v, want %v", p.From, p.To, got, p.Implicit)
		}
	}
}

// TestDown: points in time before 1970 round down (BUGS B063; the reference does so from 2.0 on).
func TestDown(t *testing.T) {
	for _, c := range [][3]string{
		{"TIMESTAMP(3)", "DATE", "1969-12-31"},
		{"TIMESTAMP(3)", "TIME(3)", "23:00:00.5"},
		{"TIMESTAMP(3)", "BIGINT", "-3600"},
		{"TIMESTAMP(3)", "INT", "-3600"},
		{"TIMESTAMP(3)", "TIMESTAMP(0)", "1969-12-31 23:00:00"},
		{"TIMESTAMP(9)", "TIMESTAMP(0)", "1969-12-31 23:00:00"},
		{"TIMESTAMP(9)", "TIMESTAMP(3)", "1969-12-31 23:00:00.500"},
		{"TIMESTAMP_LTZ(6)", "DATE", "1969-12-31"},
	} {
		from, to := types.MustParse(c[0]), types.MustParse(c[1])
		v, err := types.ParseDatum(from, "1969-12-31 23:00:00.5")
		if err != nil {
			t.Fatal(err)
		}
		got, err := cast.Value(v, from, to)
		if s := types.FormatDatum(to, got); err != nil || s != c[2] {
			t.Errorf("%s -> %s: got %s, %v, want %s", c[0], c[1], s, err, c[2])
		}
	}
	ns := types.MustParse("TIMESTAMP(9)")
	got, err := cast.Value(types.Instant{Millis: -1, Nanos: 999999}, ns, types.StringType)
	if want := "1969-12-31 23:59:59.999999999"; err != nil || got != want {
		t.Errorf("-1 ns: got %v, %v, want %s", got, err, want)
	}
}

// TestAllYears: nanoseconds go to and come from all other types in every year.
func TestAllYears(t *testing.T) {
	far := func(date, clock string) [][3]string {
		at := date + " " + clock + ".987654321"
		return [][3]string{
			{"TIMESTAMP(9)", "STRING", at},
			{"TIMESTAMP(9)", "TIMESTAMP(8)", at[:len(at)-1]},
			{"TIMESTAMP(9)", "TIMESTAMP_LTZ(7)", at[:len(at)-2]},
			{"TIMESTAMP(9)", "TIMESTAMP(6)", at[:len(at)-3]},
			{"TIMESTAMP_LTZ(9)", "TIMESTAMP(3)", at[:len(at)-6]},
			{"TIMESTAMP(9)", "TIMESTAMP(0)", date + " " + clock},
			{"TIMESTAMP(9)", "DATE", date},
			{"TIMESTAMP(9)", "TIME(3)", clock + ".987"},
			{"STRING", "TIMESTAMP(9)", at},
			{"TIMESTAMP(6)", "TIMESTAMP(9)", at[:len(at)-3] + "000"},
			{"TIMESTAMP(3)", "TIMESTAMP_LTZ(7)", at[:len(at)-6] + "0000"},
			{"DATE", "TIMESTAMP(9)", date + " 00:00:00.000000000"},
		}
	}
	for _, day := range []string{"0001-01-01", "1582-10-04", "1677-09-21", "1969-12-31", "2262-04-12", "9999-12-31"} {
		for _, c := range far(day, "23:59:59") {
			from, to := types.MustParse(c[0]), types.MustParse(c[1])
			text := day + " 23:59:59.987654321"
			if from.Kind == types.Date {
				text = day
			}
			v, err := types.ParseDatum(from, text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := cast.Value(v, from, to)
			if s := types.FormatDatum(to, got); err != nil || s != c[2] {
				t.Errorf("%s of %s -> %s: got %s, %v, want %s", text, from, to, s, err, c[2])
			}
		}
	}
	seconds := types.InstantOf(-62135596800, arrow.Second)
	if got, err := cast.Value(seconds, types.TimestampType(9), types.BigIntType); err != nil || got != int64(-62135596800) {
		t.Errorf("TIMESTAMP(9) of the year 1 -> BIGINT: %v, %v", got, err)
	}
	if got, err := cast.Value(int64(-62135596800), types.BigIntType, types.TimestampType(9)); err != nil || got != seconds {
		t.Errorf("BIGINT -> TIMESTAMP(9) of the year 1: %v, %v", got, err)
	}
}

func TestErrorsShowTheValue(t *testing.T) {
	for _, c := range [][3]string{
		{"STRING", "INT", "12x"},
		{"STRING", "TINYINT", "128"},
		{"STRING", "DATE", "2023-02-30"},
		{"STRING", "BOOLEAN", "maybe"},
		{"STRING", "DECIMAL(5,2)", "1.2.3"},
		{"STRING", "TIMESTAMP(3)", "yesterday"},
		{"TIMESTAMP(0)", "TIMESTAMP(6)", "+300000-01-01 00:00:00"},
	} {
		from, to := types.MustParse(c[0]), types.MustParse(c[1])
		v, err := types.ParseDatum(from, c[2])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cast.Value(v, from, to); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%q to %s: got %v, %v", c[2], c[1], got, err)
		}
	}
	a := column(t, types.IntType, []json.RawMessage{[]byte("1")})
	if _, err := cast.Cast(a, types.IntType, types.DateType); err == nil {
		t.Error("INT became a DATE")
	}
}

// TestPieces: casting a piece of an array gives the piece of the cast array, at every offset.
func TestPieces(t *testing.T) {
	for _, p := range append(load(t, "golden.jsonl.gz"), load(t, "matrix.jsonl.gz")...) {
		from, to := types.MustParse(p.From), types.MustParse(p.To)
		if !cast.CanCast(from, to, true) {
			continue
		}
		in := []json.RawMessage{[]byte("null")}
		for _, r := range p.Rows {
			if !otherwise(p, r[0]) {
				in = append(in, r[0], []byte("null"))
			}
		}
		a := column(t, from, in)
		whole, err := cast.Cast(a, from, to)
		if err != nil {
			t.Errorf("%s -> %s: %v", p.From, p.To, err)
			continue
		}
		for i := 0; i <= a.Len(); i++ {
			got, err := cast.Cast(array.NewSlice(a, int64(i), int64(a.Len())), from, to)
			if err != nil {
				t.Errorf("%s -> %s from %d: %v", p.From, p.To, i, err)
				continue
			}
			for k := range got.Len() {
				have, want := jsonrow.AppendValue(nil, got, k, to), jsonrow.AppendValue(nil, whole, i+k, to)
				if string(have) != string(want) {
					t.Errorf("%s -> %s, value %d from %d on: got %s, want %s", p.From, p.To, k, i, have, want)
				}
			}
		}
	}
}

// TestRowsByID: fields of rows follow their ids through arrays and maps, whatever they are called; those
// that are new are NULL, and a NULL row stays NULL (BUGS B071).
func TestRowsByID(t *testing.T) {
	old := types.RowType(types.Field{ID: 1, Name: "a", Type: types.IntType}, types.Field{ID: 2, Name: "b", Type: types.StringType})
	now := types.RowType(types.Field{ID: 3, Name: "a", Type: types.DateType}, types.Field{ID: 1, Name: "z", Type: types.BigIntType})
	for in, c := range map[string]struct {
		from, to types.Type
		want     string
	}{
		`{"a":5,"b":"x"}`:         {old, now, `{"a":null,"z":5}`},
		`null`:                    {old, now, `null`},
		`[{"a":5,"b":"x"},null]`:  {types.ArrayType(old), types.ArrayType(now), `[{"a":null,"z":5},null]`},
		`[["k",{"a":5,"b":"x"}]]`: {types.MapType(types.StringType, old), types.MapType(types.StringType, now), `[["k",{"a":null,"z":5}]]`},
		`[[null],null,[]]`:        {types.ArrayType(types.ArrayType(old)), types.ArrayType(types.ArrayType(now.AsNullable())), `[[null],null,[]]`},
	} {
		got, err := cast.Cast(column(t, c.from, []json.RawMessage{[]byte(in)}), c.from, c.to)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if have := string(jsonrow.AppendValue(nil, got, 0, c.to)); have != c.want {
			t.Errorf("%s: got %s, want %s", in, have, c.want)
		}
		if !arrow.TypeEqual(got.DataType(), types.WideArrowType(c.to)) {
			t.Errorf("%s: the array is %s", in, got.DataType())
		}
	}
}

// TestNoCopy: a cast that changes nothing shares the memory.
func TestNoCopy(t *testing.T) {
	for _, c := range [][2]string{
		{"VARCHAR(3)", "STRING"},
		{"TIMESTAMP(4)", "TIMESTAMP(6)"},
		{"DECIMAL(5,2)", "DECIMAL(9,2)"},
		{"ARRAY<INT NOT NULL>", "ARRAY<INT>"},
		{"STRING", "VARCHAR(3)"},
	} {
		from, to := types.MustParse(c[0]), types.MustParse(c[1])
		a := array.MakeArrayOfNull(memory.DefaultAllocator, types.WideArrowType(from), 3)
		got, err := cast.Cast(a, from, to)
		if err != nil || !arrow.TypeEqual(got.DataType(), types.WideArrowType(to)) || got.Data().Buffers()[1] != a.Data().Buffers()[1] {
			t.Errorf("%s -> %s: copied as %v, %v", c[0], c[1], got, err)
		}
	}
}

func BenchmarkCast(b *testing.B) {
	const n = 8192
	for _, c := range [][2]string{{"INT", "BIGINT"}, {"INT", "STRING"}, {"DECIMAL(10,2)", "DECIMAL(20,4)"}, {"STRING", "INT"}, {"TIMESTAMP(3)", "TIMESTAMP(6)"}} {
		from, to := types.MustParse(c[0]), types.MustParse(c[1])
		bl := array.NewBuilder(memory.DefaultAllocator, types.WideArrowType(from))
		for i := range n {
			v, err := types.ParseDatum(from, strconv.Itoa(i))
			if err == nil {
				err = types.AppendDatum(bl, from, v)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		a := bl.NewArray()
		b.Run(c[0]+" to "+c[1], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cast.Cast(a, from, to); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
