package types

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseAndPrint(t *testing.T) {
	for in, want := range map[string]string{
		"int":                                    "INT",
		"INT NOT NULL":                           "INT NOT NULL",
		"INTEGER NULL":                           "INT",
		"DOUBLE PRECISION":                       "DOUBLE",
		"DECIMAL(10,2)":                          "DECIMAL(10, 2)",
		"NUMERIC":                                "DECIMAL(10, 0)",
		"DEC(5)":                                 "DECIMAL(5, 0)",
		"CHAR":                                   "CHAR(1)",
		"VARCHAR(2147483647)":                    "STRING",
		"VARBINARY(7)":                           "VARBINARY(7)",
		"BYTES NOT NULL":                         "BYTES NOT NULL",
		"TIME":                                   "TIME(0)",
		"TIME(3) WITHOUT TIME ZONE":              "TIME(3)",
		"TIMESTAMP":                              "TIMESTAMP(6)",
		"TIMESTAMP(3) WITHOUT TIME ZONE":         "TIMESTAMP(3)",
		"TIMESTAMP_LTZ(9)":                       "TIMESTAMP(9) WITH LOCAL TIME ZONE",
		"TIMESTAMP WITH LOCAL TIME ZONE":         "TIMESTAMP(6) WITH LOCAL TIME ZONE",
		"ARRAY<INT NOT NULL> NOT NULL":           "ARRAY<INT NOT NULL> NOT NULL",
		"INT ARRAY":                              "ARRAY<INT>",
		"INT NOT NULL MULTISET NOT NULL":         "MULTISET<INT NOT NULL> NOT NULL",
		"map<string,array<int>>":                 "MAP<STRING, ARRAY<INT>>",
		"MULTISET<STRING>":                       "MULTISET<STRING>",
		"ROW<a INT 'x''y', `b c` STRING>":        "ROW<`a` INT COMMENT 'x''y', `b c` STRING>",
		"ROW<date DATE, `a``b` ROW<x INT> NULL>": "ROW<`date` DATE, `a``b` ROW<`x` INT>>",
		"ROW<>":                                  "ROW<>",
		"VARIANT":                                "VARIANT",
		"BLOB":                                   "BLOB",
		"VECTOR<FLOAT, 3>":                       "VECTOR<FLOAT, 3>",
	} {
		got, err := Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got.String() != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
		again, err := Parse(got.String())
		if err != nil || !again.Equal(got) {
			t.Errorf("%s: printed form reads back as %v, %v", in, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for in, part := range map[string]string{
		"":                           "expected a type",
		"FOO":                        `no type "FOO"`,
		"INT INT":                    `"INT" is too much`,
		"DECIMAL(39,0)":              "not in 1..38",
		"DECIMAL(5,6)":               "not in 0..5",
		"TIMESTAMP(10)":              "not in 0..9",
		"CHAR(0)":                    "not in 1..2147483647",
		"CHAR(99999999999999999999)": "not in 1..",
		"ARRAY<INT":                  `expected ">"`,
		"MAP<INT>":                   `expected ","`,
		"ROW<a INT, a INT>":          "there twice",
		"ROW<` ` INT>":               "without letters",
		"ROW<a>":                     "expected a type",
		"TIMESTAMP WITH TIME ZONE":   "WITH LOCAL TIME ZONE",
		"VECTOR<STRING, 3>":          "cannot have elements",
		"ROW<a INT 'x>":              "never closed",
		strings.Repeat("ARRAY<", 5000) + "INT" + strings.Repeat(">", 5000): "deeper than",
		"INT" + strings.Repeat(" ARRAY", 5000):                             "deeper than",
	} {
		if _, err := Parse(in); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%.40s: got error %v, want one with %q", in, err, part)
		}
	}
}

func TestJSON(t *testing.T) {
	text := `{"id":3,"name":"m","type":{"type":"MAP NOT NULL","key":"STRING NOT NULL","value":{"type":"ROW","fields":` +
		`[{"id":1,"name":"x","type":"BIGINT","description":"a \"b\" <ü>"},{"id":2,"name":"y","type":{"type":"ARRAY","element":"DECIMAL(20, 3)"},"defaultValue":""}]}},"description":"c"}`
	var f Field
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	empty := ""
	want := Field{ID: 3, Name: "m", Description: "c", Type: MapType(StringType.AsNotNull(), RowType(
		Field{ID: 1, Name: "x", Type: BigIntType, Description: `a "b" <ü>`},
		Field{ID: 2, Name: "y", Type: ArrayType(DecimalType(20, 3)), Default: &empty})).AsNotNull()}
	if d := cmp.Diff(want, f); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if got := string(f.AppendJSON(nil)); got != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}
	for _, bad := range []string{`1`, `{"type":"LIST"}`, `{"type":"ARRAY"}`, `{"type":"ROW","fields":[{"id":"x","name":"a","type":"INT"}]}`, `{"type":"ROW"}`, `{"type":"ROW","fields":[{"id":1,"type":"INT"}]}`} {
		var ty Type
		if err := json.Unmarshal([]byte(bad), &ty); err == nil {
			t.Errorf("%s: no error but %s", bad, ty)
		}
	}
}

// The reference numbers nested fields before the field that holds them.
func TestAssignIDs(t *testing.T) {
	got := MustParse("ROW<a INT, b STRING, c ROW<d DATE, e INT>>")
	next := 34
	got = AssignIDs(got, &next)
	if c := got.Fields[2]; got.Fields[0].ID != 35 || c.Type.Fields[0].ID != 37 || c.ID != 39 || next != 39 {
		t.Errorf("got %+v, next %d", got, next)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"INT NOT NULL", "ROW<a INT 'x', `b` MAP<INT,STRING>>", "VECTOR<FLOAT,3>", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "ARRAY<", "DECIMAL(38,38)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ty, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(ty.String())
		if err != nil || !again.Equal(ty) {
			t.Fatalf("%q: printed as %s, which reads as %v, %v", s, ty, again, err)
		}
	})
}

func FuzzFieldJSON(f *testing.F) {
	f.Add([]byte(`{"id":3,"name":"m","type":{"type":"MAP","key":"STRING","value":{"type":"ROW","fields":[]}}}`))
	f.Add([]byte(`{"id":1,"name":"m","type":"INT","defaultValue":"1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var x, y Field
		if json.Unmarshal(b, &x) != nil {
			return
		}
		out := x.AppendJSON(nil)
		if err := json.Unmarshal(out, &y); err != nil || !x.Equal(y) {
			t.Fatalf("%s: written as %s, which reads as %v, %v", b, out, y, err)
		}
	})
}
