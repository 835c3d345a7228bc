package agg

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// fold makes a function and folds the groups of rows of a case: JSON values with blanks between, before each its op
// (+ newer, < older, - taken back, = of a deleted row), | between groups. It gives the results as JSON.
func fold(t *testing.T, fn, typ string, options map[string]string, rows string) (string, error) {
	t.Helper()
	ty, err := types.Parse(typ)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(fn, Config{Field: types.Field{Name: "v", Type: ty}, Option: func(name string) (string, bool) { v, ok := options[name]; return v, ok }})
	if err != nil {
		return "", err
	}
	in := &Input{}
	var values [2][]string
	for group := range strings.SplitSeq(rows, "|") {
		for i, v := range strings.Fields(group) {
			op := map[byte]Op{'+': Add, '<': AddOlder, '-': Retract, '=': Base}[v[0]]
			if op == Retract && !f.Retracts() {
				t.Fatalf("%s does not retract", fn)
			}
			if op != Add && in.Ops == nil {
				in.Ops = make([]Op, len(in.Refs))
			}
			if in.Ops != nil {
				in.Ops = append(in.Ops, op)
			}
			src := (i + len(in.Ends)) % 2
			in.Refs = append(in.Refs, batch.Ref{Src: int32(src), Row: int32(len(values[src]))})
			values[src] = append(values[src], v[1:])
		}
		in.Ends = append(in.Ends, int32(len(in.Refs)))
	}
	dt := types.WideArrowType(ty)
	for _, v := range values {
		a, _, err := array.FromJSON(memory.DefaultAllocator, dt, strings.NewReader("[null,"+strings.Join(append(v, "null"), ",")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		in.Column = append(in.Column, array.NewSlice(a, 1, int64(len(v)+1)))
	}
	r, err := f.Fold(in)
	if err != nil {
		return "", err
	}
	out := r.Values
	if out == nil {
		if out, err = batch.GatherArrays(in.Column, batch.Select(r.Rows)); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() != len(in.Ends) || !arrow.TypeEqual(out.DataType(), dt) {
		t.Fatalf("%s: %d values of type %s for %d groups of %s", fn, out.Len(), out.DataType(), len(in.Ends), dt)
	}
	text, err := out.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ fn, typ, options, rows, want string }{
		{"sum", "INT", "", "+1 +2|+null|+null +3 -1|-4|+5 <6|-null|-3 +null +10|", "3 null 2 -4 11 null 7 null"},
		{"sum", "TINYINT", "", "+127 -127|+100 +27", "0 127"},
		{"sum", "TINYINT", "", "+127 +1", "!127 + 1 is no value of type TINYINT"},
		{"sum", "TINYINT", "", "--128", "!0 - -128"},
		{"sum", "SMALLINT", "", "+-32768 -1", "!-32768 - 1"},
		{"sum", "BIGINT", "", "+9223372036854775807 +-1 +1|-9223372036854775807 -1", "9223372036854775807 -9223372036854775808"},
		{"sum", "BIGINT", "", "+9223372036854775807 +1", "!9223372036854775807 + 1"},
		{"sum", "DOUBLE", "", "+0.5 +0.25 -1|-1.5", "-0.25 -1.5"},
		{"sum", "FLOAT", "", "+0.5 +0.25", "0.75"},
		{"sum", "DECIMAL(5,2)", "", `+"999.98" +"0.01"|-"1.50"`, `"999.99" "-1.5"`},
		{"sum", "DECIMAL(5,2)", "", `+"999.98" +"0.02"`, "!999.98 + 0.02 is no value of type DECIMAL(5, 2)"},
		{"sum", "DECIMAL(38,0)", "", `+"99999999999999999999999999999999999999" +"99999999999999999999999999999999999999"`, "!99999999999999999999999999999999999999 + "},
		{"sum", "INT", "ignore-retract=true", "+1 -5 +2|-3|+null -1", "3 null null"},
		{"sum", "STRING", "", "", "!sum is for columns that are a number, not for type STRING"},
		{"product", "INT", "", "+2 +3 -2|-3 +6|+null +4", "3 6 4"},
		{"product", "INT", "", "+65536 +65536", "!65536 * 65536"},
		{"product", "TINYINT", "", "+-1 +-128", "!-1 * -128"},
		{"product", "TINYINT", "", "+-128 +-1", "!-128 * -1"},
		{"product", "TINYINT", "", "+-128 -0", "!-128 / 0"},
		{"product", "TINYINT", "", "+-128 --1", "!-128 / -1"},
		{"product", "TINYINT", "", "+-1 +127|+0 +-128|+-128 +0", "-127 0 0"},
		{"product", "DOUBLE", "", "+0.5 +0.5 -0.25", "1"},
		{"product", "DECIMAL(5,2)", "", `+"1.25" +"0.50"|+"-1.25" +"0.50"|+"3.00" -"1.50"`, `"0.63" "-0.63" "2"`},
		{"product", "DECIMAL(5,2)", "", `+"100.00" +"10.00"`, "!100.00 * 10.00"},
		{"product", "DECIMAL(5,2)", "", `+"1.00" -"0.00"`, "!1.00 / 0.00"},
		{"product", "DATE", "", "", "!product is for columns that are a number"},
		{"last_value", "STRING", "", `+"a" +"b"|+"a" +null|+"a" <"b"|+"a" -"a"|+"a" -"a" +"c"|+"a" -"a" <"c"|`, `"b" null "a" null "c" null null`},
		{"last_non_null_value", "STRING", "", `+"a" +"b"|+"a" +null|+"a" <"b"|+null <"b"|+"a" -"a"|+"a" -null|+"a" -"a" <"c"|`, `"b" "a" "a" "b" null "a" "c" null`},
		{"first_value", "STRING", "", `+"a" +"b"|+null +"b"|+"a" <"b" +"c" <null|`, `"a" null null null`},
		{"first_value", "STRING", "ignore-retract=true", `-"x" +"a" +"b" -"a"`, `"a"`},
		{"first_non_null_value", "STRING", "", `+null +"b"|+"a" <"b" +"c" <null|`, `"b" "b" null`},
		{"first_value", "STRING", "", `="x" +"a" +"b"|="x" <"a" +"b"|="x"|=null <"a"`, `"a" "x" "x" null`},
		{"first_non_null_value", "STRING", "", `="x" +null +"a"|="x" <"a" +"b"|="x"|=null <"a" +"b"`, `"a" "x" "x" "a"`},
		{"last_value", "STRING", "", `="x" <"a"|="x" +"a"`, `"x" "a"`},
		{"sum", "INT", "", "=5 -1 <2", "6"},
		{"first_not_null_value", "INT", "", `+null +1`, `1`},
		{"max", "INT", "", "+1 +3 +2|+null|+null +3|<5 <6 +1|", "3 null 3 6 null"},
		{"min", "INT", "", "+3 +1 +2|+null|+null +3|<5 <6 +7|", "1 null 3 5 null"},
		{"max", "TINYINT", "", "+-1 +-3|+5 +3", "-1 5"},
		{"max", "SMALLINT", "", "+-1 +-3|+5 +3", "-1 5"},
		{"min", "BIGINT", "", "+-1 +-3|+5 +3", "-3 3"},
		{"max", "FLOAT", "", "+-0.5 +0.25", "0.25"},
		{"min", "DOUBLE", "", "+-0.5 +0.25", "-0.5"},
		{"max", "DECIMAL(5,2)", "", `+"1.50" +"-2.00"`, `"1.5"`},
		{"max", "STRING", "", `+"b" +"a" +"ba"|+"" +null`, `"ba" ""`},
		{"min", "VARCHAR(5)", "", `+"b" +"ab" +"a"`, `"a"`},
		{"max", "BYTES", "", `+"AQ==" +"/w=="`, `"/w=="`},
		{"max", "BOOLEAN", "", "+false +true|+false", "true false"},
		{"max", "DATE", "", `+"2024-05-01" +"1969-05-01"`, `"2024-05-01"`},
		{"min", "TIME(3)", "", `+"10:00:00" +"09:00:00"`, `"09:00:00"`},
		{"max", "TIMESTAMP(3)", "", `+"2024-05-01T00:00:00" +"1969-05-01T00:00:00"`, `"2024-05-01T00:00:00"`},
		{"max", "TIMESTAMP(9)", "", `+"5.000000001" +"5.000000002"`, `"5.000000002"`},
		{"max", "ARRAY<INT>", "", "", "!max is for columns that are of a type with an order, not for type ARRAY<INT>"},
		{"bool_and", "BOOLEAN", "", "+true +true|+true +false +true|+null +true|+null|", "true false true null null"},
		{"bool_or", "BOOLEAN", "", "+false +false|+false +true +false|+null +false|+null|", "false true false null null"},
		{"bool_or", "INT", "", "", "!bool_or is for columns that are BOOLEAN"},
		{"listagg", "STRING", "list-agg-delimiter=;", `+"a" +"b" +"" +null +"a"|+null|+"" +"x"|+null +""|`, `"a;b;a" null "x" "" null`},
		{"listagg", "STRING", "list-agg-delimiter=;", `+"a" <"b" +"c"|<"b" <"a"|<null <"a"`, `"b;a;c" "a;b" "a"`},
		{"listagg", "STRING", "distinct=true list-agg-delimiter=;", `+"a;a" +"b;;a;c;b"|+"a" <"b;c" +"c;d"|+"a;b" <"b"`, `"a;a;b;c" "b;c;a;d" "b;a"`},
		{"listagg", "STRING", "ignore-retract=true list-agg-delimiter=;", `+"a" -"a" +"b"`, `"a;b"`},
		{"listagg", "VARCHAR(5)", "", "", "!listagg is for columns that are STRING, not for type VARCHAR(5)"},
		{" SUM ", "INT", "", "+1", "1"},
		{"count", "INT", "", "", "!take sum, and write 1"},
		{"mean", "INT", "", "", `!unknown aggregate function "mean" (known: `},
	} {
		options := map[string]string{}
		for o := range strings.FieldsSeq(c.options) {
			k, v, _ := strings.Cut(o, "=")
			options[k] = v
		}
		got, err := fold(t, c.fn, c.typ, options, c.rows)
		got = strings.NewReplacer("[", "", "]", "", ",", " ").Replace(got)
		if want, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s (%s): %s, %v; want the error %q", c.fn, c.typ, c.rows, got, err, want)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s of %s %s (%s): %s, %v; want %s", c.fn, c.typ, c.options, c.rows, got, err, c.want)
		}
	}
}

// TestRetracts holds which functions take rows back, as the format has it.
func TestRetracts(t *testing.T) {
	for fn, want := range map[string]bool{
		"sum": true, "product": true, "last_value": true, "last_non_null_value": true, "first_value": false, "first_non_null_value": false,
		"max": false, "min": false,
	} {
		f, err := New(fn, Config{Field: types.Field{Type: types.Type{Kind: types.Int}}, Option: func(string) (string, bool) { return "", false }})
		if err != nil || f.Retracts() != want {
			t.Errorf("%s: retracts %v, want %v (%v)", fn, !want, want, err)
		}
	}
}
