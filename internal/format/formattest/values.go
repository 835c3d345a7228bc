package formattest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/types"
)

// samples are types with values that are easy to get wrong, as JSON.
var samples = []struct {
	typ    string
	values []string
}{
	{"BOOLEAN", []string{"true", "false"}},
	{"TINYINT", []string{"-128", "127", "0", "-1"}},
	{"SMALLINT", []string{"-32768", "32767", "0"}},
	{"INT", []string{"-2147483648", "2147483647", "0", "-1"}},
	{"BIGINT", []string{"-9223372036854775808", "9223372036854775807", "0"}},
	{"FLOAT", []string{"0.0", "-0.0", "3.4028235E38", "-3.4028235E38", "1.4E-45", `"NaN"`, `"Infinity"`, `"-Infinity"`}},
	{"DOUBLE", []string{"0.0", "-0.0", "1.7976931348623157E308", "4.9E-324", `"NaN"`, `"Infinity"`, `"-Infinity"`}},
	{"DECIMAL(1,0)", []string{`"9"`, `"-9"`, `"0"`}},
	{"DECIMAL(9,2)", []string{`"9999999.99"`, `"-9999999.99"`, `"0.00"`}},
	{"DECIMAL(10,10)", []string{`"0.9999999999"`, `"-0.0000000001"`}},
	{"DECIMAL(18,4)", []string{`"99999999999999.9999"`, `"-99999999999999.9999"`}},
	{"DECIMAL(19,0)", []string{`"9999999999999999999"`, `"-9999999999999999999"`, `"-1"`}},
	{"DECIMAL(38,10)", []string{`"9999999999999999999999999999.9999999999"`, `"-9999999999999999999999999999.9999999999"`, `"0.0000000001"`}},
	{"CHAR(3)", []string{`"abc"`, `"é☃😀"`}},
	{"VARCHAR(20)", []string{`""`, `"a\u0000b"`, `"😀😀"`}},
	{"STRING", []string{`""`, `"x"`, `"` + strings.Repeat("long ", 300) + `"`, `"\uffff"`}},
	{"BINARY(2)", []string{`"00ff"`, `"8001"`}},
	{"VARBINARY(9)", []string{`""`, `"00"`}},
	{"BYTES", []string{`""`, `"ff00"`, `"` + strings.Repeat("ab", 700) + `"`}},
	{"DATE", []string{`"1970-01-01"`, `"0001-01-01"`, `"1582-10-04"`, `"9999-12-31"`}},
	{"TIME(0)", []string{`"00:00:00"`, `"23:59:59"`}},
	{"TIME(3)", []string{`"00:00:00.001"`, `"23:59:59.999"`}},
	{"TIMESTAMP(0)", []string{`"1969-12-31T23:59:59"`, `"0001-01-01T00:00:00"`}},
	{"TIMESTAMP(3)", []string{`"1969-12-31T23:59:59.999"`, `"9999-12-31T23:59:59.999"`}},
	{"TIMESTAMP(6)", []string{`"1969-12-31T23:59:59.999999"`, `"0001-01-01T00:00:00.000001"`}},
	{"TIMESTAMP(9)", []string{`"1969-12-31T23:59:59.999999999"`, `"0001-01-01T00:00:00.000000001"`, `"2262-04-11T23:47:16.854775808"`, `"9999-12-31T23:59:59.999999999"`}},
	{"TIMESTAMP_LTZ(3)", []string{`"1969-12-31T23:59:59.999Z"`, `"2024-02-29T12:00:00.000Z"`}},
	{"TIMESTAMP_LTZ(6)", []string{`"1969-12-31T23:59:59.999999Z"`}},
	{"TIMESTAMP_LTZ(9)", []string{`"1969-12-31T23:59:59.999999999Z"`, `"1582-10-04T23:59:59.987654321Z"`}},
}

// nests wrap a type (%s) and a value (%s).
var nests = []struct{ typ, some, none string }{
	{"ARRAY<%s>", "[%s,null,%[1]s]", "[]"},
	{"ARRAY<ARRAY<%s>>", "[[%s],[],null,[null,%[1]s]]", "[null]"},
	{"MAP<INT,%s>", "[[1,%s],[2,null]]", "[]"},
	{"ROW<a %s,b INT>", `{"a":%s,"b":7}`, `{"a":null,"b":null}`},
	{"ROW<r ROW<x %s>,l ARRAY<ROW<y %[1]s>>>", `{"r":{"x":%s},"l":[{"y":%[1]s},null,{"y":null}]}`, `{"r":null,"l":[]}`},
	{"ARRAY<MAP<STRING,ROW<v %s>>>", `[[["k",{"v":%s}]],null,[]]`, "[]"},
	{"MAP<STRING,ARRAY<%s>>", `[["k",[%s,null]],["l",null]]`, "[]"},
}

func (s Suite) skipped(typ string) bool { return slices.Contains(s.Skip, typ) }

// types: each type, alone and NOT NULL and within others, with and without NULLs. Many rows make
// dictionaries, full pages and runs.
func (s Suite) types(t *testing.T) {
	for _, x := range samples {
		t.Run(x.typ, func(t *testing.T) {
			if s.skipped(x.typ) {
				s.refuses(t, x.typ)
				return
			}
			spec := []string{"v", x.typ, "n", x.typ + " NOT NULL", "always", x.typ, "never", x.typ}
			for i, n := range nests {
				spec = append(spec, fmt.Sprintf("nest%d", i), fmt.Sprintf(n.typ, x.typ))
			}
			fields := Fields(spec...)
			var rows []string
			for i := range 1500 {
				v := x.values[i%len(x.values)]
				row := fmt.Sprintf(`{"n":%s,"always":%[1]s`, v)
				if i%3 != 1 {
					row += fmt.Sprintf(`,"v":%s`, v)
				}
				for k, n := range nests {
					switch (i + k) % 4 {
					case 0, 1:
						row += fmt.Sprintf(`,"nest%d":`, k) + fmt.Sprintf(n.some, v)
					case 2:
						row += fmt.Sprintf(`,"nest%d":`, k) + n.none
					}
				}
				rows = append(rows, row+"}")
			}
			s.roundTrip(t, fields, format.WriteOptions{}, format.ReadOptions{}, Rows(t, fields, rows...))
			s.roundTrip(t, fields, format.WriteOptions{BlockSize: 20000}, format.ReadOptions{BatchRows: 77, LowMemory: true},
				Rows(t, fields, rows[:400]...), Rows(t, fields, rows[400:401]...), Rows(t, fields, rows[401:]...))
		})
	}
	t.Run("MULTISET<STRING>", func(t *testing.T) {
		fields := Fields("m", "MULTISET<STRING>", "a", "ARRAY<MULTISET<INT>>")
		s.roundTrip(t, fields, format.WriteOptions{}, format.ReadOptions{}, Rows(t, fields,
			`{"m":[["a",2],["b",1]],"a":[[[1,1]],null]}`, `{"m":[]}`, `{}`))
	})
	t.Run("VARIANT", func(t *testing.T) {
		if s.skipped("VARIANT") {
			s.refuses(t, "VARIANT")
			return
		}
		fields := Fields("v", "VARIANT", "r", "ROW<v VARIANT NOT NULL>")
		rec := variants(t, fields)
		s.roundTrip(t, fields, format.WriteOptions{}, format.ReadOptions{}, rec)
	})
}

func (s Suite) refuses(t *testing.T, typ string) {
	t.Helper()
	_, _, err := Write(s.Format, []types.Field{{Name: "v", Type: types.MustParse(typ)}}, format.WriteOptions{})
	if err == nil || !strings.Contains(err.Error(), types.MustParse(typ).String()) {
		t.Errorf("writing %s: %v, want an error that names the type", typ, err)
	}
}

// codecs: each name of a codec, and an error for one that is not known.
func (s Suite) codecs(t *testing.T) {
	fields := Fields("i", "INT", "s", "STRING", "a", "ARRAY<BIGINT>")
	var rows []string
	for i := range 3000 {
		rows = append(rows, fmt.Sprintf(`{"i":%d,"s":"text %d","a":[%d,null]}`, i, i%17, i))
	}
	rec := Rows(t, fields, rows...)
	for _, c := range s.Codecs {
		t.Run(c, func(t *testing.T) {
			for _, level := range []int{0, 1, 9} {
				s.roundTrip(t, fields, format.WriteOptions{Compression: c, CompressionLevel: level}, format.ReadOptions{}, rec)
			}
			s.roundTrip(t, fields, format.WriteOptions{Compression: c}, format.ReadOptions{LowMemory: true}, rec.NewSlice(0, 1))
		})
	}
	if _, _, err := Write(s.Format, fields, format.WriteOptions{Compression: "squeeze"}, rec); err == nil || !strings.Contains(err.Error(), "squeeze") {
		t.Errorf("compression squeeze: %v, want an error that names it", err)
	}
}
