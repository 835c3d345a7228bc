package types

import (
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

func TestTextOfValues(t *testing.T) {
	for _, c := range []struct {
		typ, text string
		want      Datum
		canonical string // "" if text is what is printed
	}{
		{"BOOLEAN", "true", true, ""},
		{"BOOLEAN", "NO", false, "false"},
		{"TINYINT", "-128", int64(-128), ""},
		{"INT", "+1.9", int64(1), "1"},
		{"BIGINT", "-9223372036854775808", int64(math.MinInt64), ""},
		{"FLOAT", "1.0E10", float32(1e10), ""},
		{"FLOAT", "0.1", float32(0.1), ""},
		{"DOUBLE", "-0.0", math.Copysign(0, -1), ""},
		{"DOUBLE", "123456.789", 123456.789, ""},
		{"DOUBLE", "1.0E7", 1e7, ""},
		{"DOUBLE", "0.001", 0.001, ""},
		{"DOUBLE", "1.0E-4", 1e-4, ""},
		{"DOUBLE", "-1.2345E-7", -1.2345e-7, ""},
		{"DOUBLE", "Infinity", math.Inf(1), ""},
		{"DECIMAL(5,2)", "1.50", decimal128.FromI64(150), ""},
		{"DECIMAL(5,2)", "-0.005", decimal128.FromI64(-1), "-0.01"},
		{"DECIMAL(5,2)", "1E2", decimal128.FromI64(10000), "100.00"},
		{"DECIMAL(38,10)", "-9999999999999999999999999999.9999999999", decimal128.GetMaxValue(38).Negate(), ""},
		{"DECIMAL(38,38)", "0.00000000000000000000000000000000000001", decimal128.FromI64(1), ""},
		{"STRING", "x", "x", ""},
		{"BYTES", "x", []byte("x"), "78"},
		{"INT", " 7 ", int64(7), "7"},
		{"DATE", "2024-02-29", int64(19782), ""},
		{"DATE", "0000-03-01", int64(-719468), ""},
		{"DATE", "1582-10-10", int64(-141432), ""},
		{"DATE", "+10000-01-01", int64(2932897), ""},
		{"DATE", "-0001-12-31", int64(-719529), ""},
		{"DATE", "2024-3", int64(19783), "2024-03-01"},
		{"DATE", "19782", int64(19782), "2024-02-29"},
		{"TIME(3)", "12:34:56.789", int64(45296789), ""},
		{"TIME(3)", "12:34:56.7", int64(45296700), ""},
		{"TIME(0)", "12:34:56", int64(45296000), ""},
		{"TIME(3)", "12:34", int64(45240000), "12:34:00.0"},
		{"TIMESTAMP(3)", "2024-02-29 12:34:56.789", Instant{Millis: 1709210096789}, ""},
		{"TIMESTAMP(0)", "2024-02-29 12:34:56", Instant{Millis: 1709210096000}, ""},
		{"TIMESTAMP(9)", "1969-12-31 23:59:59.999999999", Instant{Millis: -1, Nanos: 999999}, ""},
		{"TIMESTAMP(3)", "1969-12-31T23:00:00.5006Z", Instant{Millis: -3599500}, "1969-12-31 23:00:00.500"},
		{"TIMESTAMP_LTZ(6)", "2024-02-29", Instant{Millis: 1709164800000}, "2024-02-29 00:00:00.000000"},
	} {
		typ := MustParse(c.typ)
		got, err := ParseDatum(typ, c.text)
		if err != nil {
			t.Errorf("%s %q: %v", c.typ, c.text, err)
			continue
		}
		if d := cmp.Diff(c.want, got, cmp.Comparer(func(a, b decimal128.Num) bool { return a == b })); d != "" {
			t.Errorf("%s %q: (-want +got)\n%s", c.typ, c.text, d)
		}
		want := c.canonical
		if want == "" {
			want = c.text
		}
		if s := FormatDatum(typ, got); s != want {
			t.Errorf("%s %q: printed as %q, want %q", c.typ, c.text, s, want)
		}
	}
}

func TestTextRefused(t *testing.T) {
	for _, c := range [][2]string{
		{"BOOLEAN", "2"},
		{"TINYINT", "128"},
		{"INT", ""},
		{"INT", "-"},
		{"INT", "1x"},
		{"INT", "1.x"},
		{"INT", "--1"},
		{"DOUBLE", "0x1p3"},
		{"DOUBLE", "inf"},
		{"DOUBLE", "1_0"},
		{"DECIMAL(3,2)", "10"},
		{"DECIMAL(3,2)", "1E999999999"},
		{"DECIMAL(3,2)", "."},
		{"DATE", "2023-02-29"},
		{"DATE", "2023-13-01"},
		{"DATE", "x"},
		{"TIME", "24:00:00"},
		{"TIME", "1:x"},
		{"TIMESTAMP", "2024-02-29 1"},
		{"TIMESTAMP", "20240-02-29 01:02:03"},
		{"TIMESTAMP", "2024-02-29 12:34"}, // with a T it is the name of a folder
		{"TIMESTAMP", "2024-02-29T12:34.5"},
		{"TIMESTAMP", "2024-02-29T12"},
		{"TIMESTAMP", "2024-02-29T24:00"},
		{"TIMESTAMP", "2024-00-10"},
		{"TIMESTAMP", "2024-01-00 00:00:00"},
		{"ARRAY<INT>", "[]"},
	} {
		if d, err := ParseDatum(MustParse(c[0]), c[1]); err == nil {
			t.Errorf("%s %q: no error but %v", c[0], c[1], d)
		}
	}
}

// B065: one total order of floating point numbers.
func TestCompare(t *testing.T) {
	order := map[string][]Datum{
		"DOUBLE":       {nil, math.Inf(-1), -1.0, math.Copysign(0, -1), 0.0, 1e-300, math.Inf(1), math.NaN()},
		"FLOAT":        {nil, float32(-2), float32(math.Copysign(0, -1)), float32(0), float32(math.Inf(1)), float32(math.NaN())},
		"BYTES":        {nil, []byte{}, []byte{1}, []byte{1, 0}, []byte{0x80}},
		"STRING":       {nil, "", "a", "b", "é", "\U0001F600"},
		"BOOLEAN":      {nil, false, true},
		"DECIMAL(9,2)": {nil, decimal128.FromI64(-5), decimal128.FromI64(0), decimal128.FromI64(7)},
		"TIMESTAMP(9)": {nil, Instant{-1, 5}, Instant{-1, 6}, Instant{0, 0}},
		"INT":          {nil, int64(-1), int64(3)},
	}
	for name, vals := range order {
		typ := MustParse(name)
		for i, a := range vals {
			for j, b := range vals {
				if got, want := Compare(typ, a, b), min(1, max(-1, i-j)); min(1, max(-1, got)) != want {
					t.Errorf("%s: Compare(%v, %v) = %d, want %d", name, a, b, got, want)
				}
			}
		}
	}
}

func TestArrowBothWays(t *testing.T) {
	for _, s := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38, 10)", "STRING", "BYTES", "DATE", "TIME(3)",
		"TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(6)", "ARRAY<INT NOT NULL>", "MAP<INT NOT NULL, ARRAY<STRING>>",
		"ROW<a INT, b ROW<c BYTES NOT NULL>>", "VARIANT",
	} {
		want := MustParse(s)
		got, err := FromArrow(ArrowType(want))
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: came back as %s, %v", s, got, err)
		}
	}
	if _, err := FromArrow(&arrow.MonthIntervalType{}); err == nil {
		t.Error("an interval was taken")
	}
	if err := CheckSupported([]Field{{Name: "x", Type: MustParse("ARRAY<BLOB>")}}); err == nil {
		t.Error("BLOB was taken")
	}
}

// The example of the format's specification: ARRAY<MAP<INT, ARRAY<INT>>> with id 10.
func TestArrowFieldIDs(t *testing.T) {
	f := ArrowField(Field{ID: 10, Name: "a", Type: MustParse("ARRAY<MAP<INT, ARRAY<INT>>>")})
	m := f.Type.(*arrow.ListType).ElemField()
	mt := m.Type.(*arrow.MapType)
	inner := mt.ItemField().Type.(*arrow.ListType).ElemField()
	got := []int{FieldID(f), FieldID(m), FieldID(mt.KeyField()), FieldID(mt.ItemField()), FieldID(inner)}
	const base = 536870911
	want := []int{10, base + 10240 + 1, base - 10240 - 2, base + 10240 + 2, base + 10240 + 3}
	if !slices.Equal(got, want) || mt.KeyField().Nullable {
		t.Errorf("got ids %v, want %v", got, want)
	}
}

func TestAppendAndTake(t *testing.T) {
	for s, d := range map[string]Datum{
		"BOOLEAN": true, "TINYINT": int64(-128), "SMALLINT": int64(300), "INT": int64(-1), "BIGINT": int64(math.MaxInt64),
		"FLOAT": float32(1.5), "DOUBLE": 2.5, "DECIMAL(9,2)": decimal128.FromI64(150), "CHAR(3)": "abc", "BYTES": []byte{0, 1},
		"DATE": int64(-1), "TIME(3)": int64(1000), "TIMESTAMP(3)": Instant{-1, 0}, "TIMESTAMP(6)": Instant{-1, 999000},
		"TIMESTAMP(9)": Instant{-1, 999999}, "TIMESTAMP_LTZ(9)": Instant{5, 1},
	} {
		typ := MustParse(s)
		b := array.NewBuilder(memory.DefaultAllocator, ArrowType(typ))
		if err := AppendDatum(b, typ, d); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		if err := AppendDatum(b, typ, nil); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		arr := b.NewArray()
		if got := DatumAt(arr, 0, typ); Compare(typ, got, d) != 0 || got == nil {
			t.Errorf("%s: got %v, want %v", s, got, d)
		}
		if got := DatumAt(arr, 1, typ); got != nil {
			t.Errorf("%s: NULL came back as %v", s, got)
		}
	}
	for s, d := range map[string]Datum{"TINYINT": int64(128), "INT": "x", "TIMESTAMP(9)": Instant{Millis: math.MaxInt64 / 1000}, "DECIMAL(2,0)": decimal128.FromI64(100)} {
		typ := MustParse(s)
		if err := AppendDatum(array.NewBuilder(memory.DefaultAllocator, ArrowType(typ)), typ, d); err == nil {
			t.Errorf("%s: %v was taken", s, d)
		}
	}
}

// Types that were put together by hand and lack a part have no JSON, and an Arrow type as far as it goes; arrays
// and places that there are not hold no value.
func TestPartsThatAreMissing(t *testing.T) {
	for _, k := range []Kind{Array, Map, Multiset, Vector} {
		if _, err := (Type{Kind: k}).MarshalJSON(); err == nil {
			t.Errorf("%s without parts has JSON", k)
		}
		if dt := ArrowType(RowType(Field{Name: "a", Type: Type{Kind: k}})); dt == nil {
			t.Errorf("%s without parts: no Arrow type", k)
		}
	}
	if _, err := FromArrow(nil); err == nil {
		t.Error("no Arrow type has a type")
	}
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.Append(7)
	a := b.NewArray()
	if d := []Datum{DatumAt(nil, 0, IntType), DatumAt(a, -1, IntType), DatumAt(a, 1, IntType)}; d[0] != nil || d[1] != nil || d[2] != nil {
		t.Error(d)
	}
	if d := DatumAt(a, 0, IntType); d != int64(7) {
		t.Error(d)
	}
}
