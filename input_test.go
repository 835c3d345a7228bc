package tarn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// batchOf makes a batch of Arrow's JSON.
func batchOf(t testing.TB, f []types.Field, js string) tarn.Batch {
	t.Helper()
	r, _, err := array.RecordFromJSON(memory.DefaultAllocator, types.ArrowSchema(f), strings.NewReader(js))
	if err != nil {
		t.Fatal(err)
	}
	return tarn.Batch{RecordBatch: r}
}

// columns makes a batch of arrays: id and v.
func columns(v arrow.Array) tarn.Batch {
	ids := array.NewInt32Builder(memory.DefaultAllocator)
	for i := range v.Len() {
		ids.Append(int32(i))
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "v", Type: v.DataType(), Nullable: true}}, nil)
	return tarn.Batch{RecordBatch: array.NewRecordBatch(s, []arrow.Array{ids.NewArray(), v}, int64(v.Len()))}
}

// build fills an array of any Arrow type.
func build(t testing.TB, dt arrow.DataType, vals ...string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	for _, v := range vals {
		if v == "" {
			b.AppendNull()
		} else if err := b.AppendValueFromString(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

func keyed(t testing.TB, typ string) *tarn.Table {
	t.Helper()
	tab, err := open(t).CreateTable(t.Context(), "d.t", tarn.TableDef{
		Fields: fields("id", "INT", "v", typ), PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// numbers are offsets and sizes of lists.
func numbers(v ...int32) *memory.Buffer {
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(v))
}

// A value that the column cannot hold is refused when it is given, by column, row and value. It neither
// becomes NULL nor another value, nor is it written for others to stumble over.
func TestValuesThatDoNotFit(t *testing.T) {
	for _, c := range []struct{ table, batch, rows, want string }{
		{"CHAR(2)", "STRING", `"ab","äöü"`, `row 1: column v: "äöü" is too long for CHAR(2)`},
		{"VARCHAR(2)", "STRING", `"äö",null,"abc"`, `row 2: column v: "abc" is too long for VARCHAR(2)`},
		{"BINARY(2)", "BYTES", `"YWI=","YWJj"`, `row 1: column v: 3 bytes are too long for BINARY(2)`},
		{"VARBINARY(2)", "BYTES", `"YWJj"`, `row 0: column v: 3 bytes are too long for VARBINARY(2)`},
		{"DECIMAL(4, 2)", "DECIMAL(10, 2)", `"1.00","12345.67"`, `row 1: column v: 12345.67 does not fit into DECIMAL(4, 2)`},
		{"DECIMAL(3, 0)", "BIGINT", `999,1000`, `row 1: column v: 1000 does not fit into DECIMAL(3, 0)`},
		{"ARRAY<DECIMAL(4, 2)>", "ARRAY<DECIMAL(10, 2)>", `["1.00"],["2.00","12345.67"]`, `row 1: column v: element: 12345.67 does not fit`},
		{"ARRAY<VARCHAR(1)>", "ARRAY<STRING>", `["a","bb"]`, `row 0: column v: element: "bb" is too long`},
		{"MAP<STRING, VARCHAR(1)>", "MAP<STRING, STRING>", `[{"key":"k","value":"bb"}]`, `row 0: column v: value: "bb" is too long`},
		{"ROW<a INT, b VARCHAR(1)>", "ROW<a INT, b STRING>", `{"a":1,"b":"bb"}`, `row 0: column v: field b: "bb" is too long`},
		{"ROW<a INT NOT NULL>", "ROW<a INT>", `{"a":1},null,{"a":null}`, `row 2: column v: field a: it is INT NOT NULL, and the value is NULL`},
		{"ARRAY<INT NOT NULL>", "ARRAY<INT>", `[1,null]`, `row 0: column v: element: it is INT NOT NULL, and the value is NULL`},
		{"ROW<a INT>", "ROW<x INT>", `{"x":1}`, `field "x"`},
		{"INT", "STRING", `"1"`, `STRING in the batch, INT in the table`},
	} {
		tab := keyed(t, c.table)
		var lines []string
		for i, v := range splitTop(c.rows) {
			lines = append(lines, `{"id":`+string(rune('0'+i))+`,"v":`+v+`}`)
		}
		refused(t, tab, batchOf(t, fields("id", "INT", "v", c.batch), "["+strings.Join(lines, ",")+"]"), c.table+" from "+c.batch, c.want)
	}
	bad := array.NewStringBuilder(memory.DefaultAllocator)
	bad.Append("ok")
	bad.Append("a\xffb")
	refused(t, keyed(t, "STRING"), columns(bad.NewArray()), "no UTF-8", `row 1: column v: "a\xffb" is no UTF-8`)
	cut := array.NewStringBuilder(memory.DefaultAllocator) // valid as a whole only
	cut.Append("\xc3")
	cut.Append("\xa4")
	refused(t, keyed(t, "STRING"), columns(cut.NewArray()), "half a character", `row 0: column v: "\xc3" is no UTF-8`)
	day := array.NewTime32Builder(memory.DefaultAllocator, &arrow.Time32Type{Unit: arrow.Millisecond})
	day.Append(86_400_000)
	refused(t, keyed(t, "TIME(3)"), columns(day.NewArray()), "time", `row 0: column v: 86400000 ms is no time of the day`)
	far := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Second})
	far.Append(1 << 61)
	refused(t, keyed(t, "TIMESTAMP(3)"), columns(far.NewArray()), "far", "row 0: column v: ")
	refused(t, keyed(t, "TIMESTAMP(9)"), columns(build(t, types.WideTimestamp, "0", "999999999999999999")), "beyond", "row 1: column v: 999999999999999999.000000000 s since 1970 are beyond what TIMESTAMP(9) holds")
	refused(t, keyed(t, "TIMESTAMP(6)"), columns(build(t, types.WideTimestamp, "0")), "decimal", "DECIMAL(38, 9) in the batch, TIMESTAMP(6) in the table")
	refused(t, keyed(t, "INT"), tarn.Batch{}, "no batch", "nil")
	kinds := batchOf(t, fields("id", "INT"), `[{"id":1}]`)
	kinds.Kinds = []types.RowKind{4}
	refused(t, keyed(t, "INT"), kinds, "kind", "row 0: unknown row kind 4")
}

// splitTop splits at commas outside of brackets and quotes.
func splitTop(s string) []string {
	var out []string
	depth, start, quoted := 0, 0, false
	for i, c := range s {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

func refused(t *testing.T, tab *tarn.Table, b tarn.Batch, name, want string) {
	t.Helper()
	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	err = w.Write(t.Context(), b)
	if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "d.t") {
		t.Errorf("%s: %v, want %s", name, err, want)
	}
}

// Batches come in Arrow's many forms of the same values.
func TestFormsOfArrow(t *testing.T) {
	zone := "America/New_York"
	i32 := arrow.PrimitiveTypes.Int32
	for _, c := range []struct {
		table string
		v     arrow.Array
		want  []string
	}{
		{"STRING", build(t, arrow.BinaryTypes.LargeString, "a", "", "b"), []string{`"a"`, "null", `"b"`}},
		{"VARCHAR(30)", build(t, arrow.BinaryTypes.StringView, "a", "", "more than twelve characters"), []string{`"a"`, "null", `"more than twelve characters"`}},
		{"STRING", build(t, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "a", "b", "", "a"), []string{`"a"`, `"b"`, "null", `"a"`}},
		{"ARRAY<INT>", array.NewDictionaryArray(&arrow.DictionaryType{IndexType: i32, ValueType: arrow.ListOf(i32)}, build(t, i32, "1", "0", ""), build(t, arrow.ListOf(i32), "[1]", "[2,3]")), []string{"[2,3]", "[1]", "null"}},
		{"ARRAY<STRING>", array.NewSlice(build(t, arrow.ListViewOf(arrow.BinaryTypes.StringView), `["z"]`, `["a",null]`, "", "[]", `["b"]`), 1, 5), []string{`["a",null]`, "null", "[]", `["b"]`}},
		{"ARRAY<INT>", array.NewListViewData(array.NewData(arrow.ListViewOf(i32), 2, []*memory.Buffer{nil, numbers(1, 0), numbers(2, 2)}, []arrow.ArrayData{build(t, i32, "1", "2", "3").Data()}, 0, 0)), []string{"[2,3]", "[1,2]"}},
		{"STRING", array.NewRunEndEncodedArray(build(t, i32, "2", "3", "5"), build(t, arrow.BinaryTypes.String, "a", "", "b"), 3, 1), []string{`"a"`, "null", `"b"`}},
		{"ROW<a STRING>", build(t, arrow.StructOf(arrow.Field{Name: "a", Type: arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String), Nullable: true}), `{"a":"x"}`, `{"a":"x"}`), []string{`{"a":"x"}`, `{"a":"x"}`}},
		{"BINARY(16)", build(t, extensions.NewUUIDType(), "00010203-0405-0607-0809-0a0b0c0d0e0f", ""), []string{`"000102030405060708090a0b0c0d0e0f"`, "null"}},
		{"STRING", array.NewNull(2), []string{"null", "null"}},
		{"ARRAY<INT>", array.NewNull(2), []string{"null", "null"}},
		{"BYTES", build(t, arrow.BinaryTypes.LargeBinary, "YQ=="), []string{`"61"`}},
		{"BINARY(2)", build(t, &arrow.FixedSizeBinaryType{ByteWidth: 2}, "YWI="), []string{`"6162"`}},
		{"SMALLINT", build(t, arrow.PrimitiveTypes.Uint8, "255"), []string{"255"}},
		{"INT", build(t, arrow.PrimitiveTypes.Uint16, "65535"), []string{"65535"}},
		{"BIGINT", build(t, arrow.PrimitiveTypes.Uint32, "4294967295"), []string{"4294967295"}},
		{"DECIMAL(20, 0)", build(t, arrow.PrimitiveTypes.Uint64, "18446744073709551615"), []string{`"18446744073709551615"`}},
		{"DECIMAL(4, 2)", build(t, &arrow.Decimal64Type{Precision: 4, Scale: 2}, "-9.99"), []string{`"-9.99"`}},
		{"DATE", build(t, arrow.FixedWidthTypes.Date64, "1969-12-31"), []string{`"1969-12-31"`}},
		{"TIME(3)", build(t, arrow.FixedWidthTypes.Time64us, "00:00:01.5"), []string{`"00:00:01.500"`}},
		{"TIME(0)", build(t, arrow.FixedWidthTypes.Time32s, "00:00:01"), []string{`"00:00:01.000"`}},
		{"TIMESTAMP(3)", build(t, &arrow.TimestampType{Unit: arrow.Second}, "1969-12-31 23:59:59"), []string{`"1969-12-31T23:59:59.000000000"`}},
		{"TIMESTAMP(9)", build(t, &arrow.TimestampType{Unit: arrow.Second}, "2020-01-02 03:04:05"), []string{`"2020-01-02T03:04:05.000000000"`}},
		{"TIMESTAMP(9)", build(t, &arrow.TimestampType{Unit: arrow.Second}, "0001-01-01 00:00:00"), []string{`"0001-01-01T00:00:00.000000000"`}},
		{"TIMESTAMP(9)", build(t, &arrow.TimestampType{Unit: arrow.Millisecond}, "9999-12-31 23:59:59.999"), []string{`"9999-12-31T23:59:59.999000000"`}},
		{"TIMESTAMP_LTZ(7)", build(t, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, "1582-10-04T00:00:00.000001Z", ""), []string{`"1582-10-04T00:00:00.000001000Z"`, "null"}},
		{"TIMESTAMP(9)", build(t, &arrow.TimestampType{Unit: arrow.Nanosecond}, "", "1677-09-21 00:12:43.145224193"), []string{"null", `"1677-09-21T00:12:43.145224193"`}},
		{"TIMESTAMP(9)", build(t, types.WideTimestamp, "-62135596799.999999999", "", "253402300799.999999999"), []string{`"0001-01-01T00:00:00.000000001"`, "null", `"9999-12-31T23:59:59.999999999"`}},
		{"ARRAY<TIMESTAMP(9)>", build(t, arrow.ListOf(types.WideTimestamp), `["-0.000000001",null]`), []string{`["1969-12-31T23:59:59.999999999",null]`}},
		{"ARRAY<TIMESTAMP(9)>", build(t, arrow.LargeListOf(types.WideTimestamp), `["-62135596800"]`), []string{`["0001-01-01T00:00:00.000000000"]`}},
		{"ARRAY<TIMESTAMP(9)>", build(t, arrow.ListOf(arrow.FixedWidthTypes.Timestamp_us), `["0001-01-01T00:00:00Z"]`), []string{`["0001-01-01T00:00:00.000000000"]`}},
		{"ROW<a INT, b TIMESTAMP_LTZ(9)>", build(t, arrow.StructOf(arrow.Field{Name: "b", Type: types.WideTimestamp, Nullable: true}), `{"b":"253402300799.5"}`), []string{`{"a":null,"b":"9999-12-31T23:59:59.500000000Z"}`}},
		{"MAP<TIMESTAMP(9), INT>", build(t, arrow.MapOf(types.WideTimestamp, arrow.PrimitiveTypes.Int32), `[{"key":"-62135596800","value":1}]`), []string{`[["0001-01-01T00:00:00.000000000",1]]`}},
		{"TIMESTAMP(6) WITH LOCAL TIME ZONE", build(t, &arrow.TimestampType{Unit: arrow.Second, TimeZone: zone}, "2020-01-02T03:04:05Z"), []string{`"2020-01-02T03:04:05.000000000Z"`}},
		{"ARRAY<INT>", build(t, arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32), "[1,2]", "", "[3,4]"), []string{"[1,2]", "null", "[3,4]"}},
		{"ARRAY<TIMESTAMP(3)>", array.NewSlice(build(t, arrow.LargeListOf(&arrow.TimestampType{Unit: arrow.Second}), `["2020-01-01 00:00:00"]`, `["2020-01-02 00:00:00"]`), 1, 2), []string{`["2020-01-02T00:00:00.000000000"]`}},
		{"MAP<STRING, STRING>", build(t, arrow.MapOf(arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeString), `[{"key":"a","value":"b"}]`), []string{`[["a","b"]]`}},
		{"MULTISET<STRING>", build(t, arrow.MapOf(arrow.BinaryTypes.LargeString, arrow.PrimitiveTypes.Int32), `[{"key":"a","value":2}]`), []string{`[["a",2]]`}},
		{
			"ROW<a INT, b STRING, c INT>", build(t, arrow.StructOf(arrow.Field{Name: "b", Type: arrow.BinaryTypes.LargeString, Nullable: true}, arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}), `{"b":"x","a":1}`, "", `{"b":null,"a":2}`),
			[]string{`{"a":1,"b":"x","c":null}`, "null", `{"a":2,"b":null,"c":null}`},
		},
		{"ROW<a INT NOT NULL>", build(t, arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), `{"a":1}`, ""), []string{`{"a":1}`, "null"}},
	} {
		tab := keyed(t, c.table)
		w, err := tab.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), columns(c.v)); err != nil {
			t.Errorf("%s of %s: %v", c.table, c.v.DataType(), err)
			w.Close()
			continue
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Errorf("%s of %s: %v", c.table, c.v.DataType(), err)
		}
		w.Close()
		var got []string
		for _, l := range read(t, tab, tarn.ScanOptions{}) {
			_, v, _ := strings.Cut(l, `"v":`)
			got = append(got, strings.TrimSuffix(v, "}"))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %s, want %s", c.table, c.v.DataType(), got, c.want)
		}
	}
}

// Arrow data that contradicts itself is an error of the write or the commit, and no panic of a goroutine
// that nobody could recover from.
func TestBrokenArrow(t *testing.T) {
	ctx := t.Context()
	list := func(typ string) arrow.Array {
		elem := build(t, types.ArrowType(types.MustParse(typ)).(*arrow.ListType).Elem(), "1")
		return array.NewListData(array.NewData(types.ArrowType(types.MustParse(typ)), 1, []*memory.Buffer{nil, numbers(0, 1000)}, []arrow.ArrayData{elem.Data()}, 0, 0))
	}
	i32, str := arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String
	for _, c := range []struct {
		typ string
		v   arrow.Array
	}{
		{"ARRAY<INT>", list("ARRAY<INT>")},
		{"ARRAY<STRING>", list("ARRAY<STRING>")},
		{"STRING", array.NewDictionaryArray(&arrow.DictionaryType{IndexType: i32, ValueType: str}, build(t, i32, "0", "1"), build(t, str, "a"))},
		{"STRING", array.NewDictionaryArray(&arrow.DictionaryType{IndexType: i32, ValueType: str}, build(t, i32, "-1"), build(t, str, "a"))},
		{"INT", array.MakeFromData(array.NewData(arrow.RunEndEncodedOf(i32, i32), 3, []*memory.Buffer{nil}, []arrow.ArrayData{build(t, i32, "2").Data(), build(t, i32, "7").Data()}, 0, 0))},
		{"ARRAY<INT>", array.NewListViewData(array.NewData(arrow.ListViewOf(i32), 1, []*memory.Buffer{nil, numbers(1), numbers(9)}, []arrow.ArrayData{build(t, i32, "1", "2").Data()}, 0, 0))},
	} {
		typ, v := c.typ, c.v
		for _, keys := range [][]string{{"id"}, nil} {
			tab, err := open(t).CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("id", "INT", "v", typ), PrimaryKeys: keys, Options: map[string]string{"bucket": "1", "bucket-key": "id"}})
			if err != nil {
				t.Fatal(err)
			}
			w, err := tab.NewWriter(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = w.Write(ctx, columns(v))
			if err == nil {
				_, err = w.Commit(ctx)
			}
			if err == nil {
				t.Errorf("%s, key %v: broken data was written", typ, keys)
			}
			w.Close()
			if got := read(t, tab, tarn.ScanOptions{}); len(got) > 0 {
				t.Errorf("%s, key %v: %v", typ, keys, got)
			}
		}
	}
}

// What was given to Write may be used again by the caller: kinds may change, arrays may be released.
func TestBatchAfterWrite(t *testing.T) {
	ctx := t.Context()
	tab := keyed(t, "STRING")
	w, err := tab.NewWriter(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b := batchOf(t, fields("id", "INT", "v", "STRING"), `[{"id":1,"v":"a"},{"id":2,"v":"b"}]`)
	b.Kinds = []types.RowKind{types.Insert, types.Insert}
	if err := w.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	b.Kinds[0], b.Kinds[1] = types.Delete, types.Delete
	b.Release()
	if _, err := w.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, []string{`{"id":1,"v":"a"}`, `{"id":2,"v":"b"}`}) {
		t.Error(got)
	}
}
