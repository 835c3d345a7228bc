//go:build duckdb_arrow && cgo

package sql

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

// allTypes has a column of each type, and rows of plain, extreme and NULL values.
func allTypes(t testing.TB) ([]types.Field, []string) {
	t.Helper()
	var fields []types.Field
	for _, s := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(18,4)", "DECIMAL(38,10)",
		"CHAR(3)", "VARCHAR(10)", "STRING", "BINARY(2)", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
		"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
		"ARRAY<INT>", "ARRAY<TIMESTAMP(3)>", "MAP<STRING, TIMESTAMP(9)>", "MULTISET<STRING>", "ROW<a INT, b ARRAY<STRING>, c TIME(0)>",
	} {
		fields = append(fields, types.Field{ID: len(fields), Name: "c" + strings.NewReplacer("<", "_", ">", "_", "(", "", ")", "", ",", "_", " ", "").Replace(strings.ToLower(s)), Type: types.MustParse(s)})
	}
	types := fields
	rows := [][]string{
		{"true", "1", "2", "3", "4", "1.5", "2.5", `"12.34"`, `"-1.0001"`, `"12345678901234567890.0123456789"`, `"abc"`, `"ünï"`, `"a long string that is not inlined"`, `"00ff"`, `"deadbeef"`, `"2024-02-29"`, `"12:34:56.789"`, `"2024-01-01T00:00:00.000000000"`, `"2024-01-01T00:00:00.123000000"`, `"2024-01-01T00:00:00.123456000"`, `"2024-01-01T00:00:00.123456789"`, `"2024-01-01T00:00:00.123000000Z"`, `"2024-01-01T00:00:00.123456000Z"`, `[1,null,3]`, `["2024-01-01T00:00:00.123000000",null]`, `[["k","2024-01-01T00:00:00.123456789"],["l",null]]`, `[["x",2]]`, `{"a":1,"b":["x",null],"c":"01:02:03.000"}`},
		{"false", "-128", "-32768", "-2147483648", "-9223372036854775808", `"-Infinity"`, "-0.0", `"-9999999.99"`, `"-99999999999999.9999"`, `"-1234567890123456789012345678.9999999999"`, `""`, `""`, `""`, `""`, `""`, `"1500-01-01"`, `"00:00:00.000"`, `"1500-01-01T00:00:00.000000000"`, `"1500-01-01T00:00:00.001000000"`, `"1500-01-01T23:59:59.999999000"`, `"1969-12-31T23:59:59.999999999"`, `"1969-12-31T23:59:59.999000000Z"`, `"0001-01-01T00:00:00.000001000Z"`, `[]`, `[]`, `[]`, `[]`, `{"a":null,"b":null,"c":null}`},
		{"true", "127", "32767", "2147483647", "9223372036854775807", `"NaN"`, `"Infinity"`, `"9999999.99"`, `"99999999999999.9999"`, `"1234567890123456789012345678.9999999999"`, `"zzz"`, `"zzzzzzzzzz"`, `"\u0001😀"`, `"ffff"`, `"00"`, `"9999-12-31"`, `"23:59:59.999"`, `"9999-12-31T23:59:59.000000000"`, `"9999-12-31T23:59:59.999000000"`, `"9999-12-31T23:59:59.999999000"`, `"2262-04-11T00:00:00.000000001"`, `"9999-12-31T23:59:59.999000000Z"`, `"9999-12-31T23:59:59.999999000Z"`, `[2147483647]`, `["1969-12-31T23:59:59.999000000"]`, `[["",null]]`, `[["a",1],["b",2147483647]]`, `{"a":-1,"b":[],"c":"23:59:59.000"}`},
		nil,
	}
	var out []string
	for _, r := range rows {
		var m []string
		for i, f := range types {
			v := "null"
			if r != nil {
				v = r[i]
			}
			m = append(m, `"`+f.Name+`":`+v)
		}
		out = append(out, "{"+strings.Join(m, ",")+"}")
	}
	return fields, out
}

// decodeRows turns JSON lines into one batch.
func decodeRows(t testing.TB, fields []types.Field, lines []string) arrow.RecordBatch {
	t.Helper()
	d := jsonrow.NewDecoder(fields)
	for _, l := range lines {
		if err := d.Decode([]byte(l)); err != nil {
			t.Fatalf("%s: %v", l, err)
		}
	}
	return d.Batch().RecordBatch
}

// sliceReader gives batches.
type sliceReader struct{ recs []arrow.RecordBatch }

func (r *sliceReader) Next(context.Context) (arrow.RecordBatch, []types.RowKind, error) {
	if len(r.recs) == 0 {
		return nil, nil, io.EOF
	}
	rec := r.recs[0]
	r.recs = r.recs[1:]
	return rec, nil, nil
}

func (r *sliceReader) Close() error { return nil }

func project(rec arrow.RecordBatch, columns []int) arrow.RecordBatch {
	var f []arrow.Field
	var c []arrow.Array
	for _, i := range columns {
		f = append(f, rec.Schema().Field(i))
		c = append(c, rec.Column(i))
	}
	return array.NewRecordBatch(arrow.NewSchema(f, nil), c, rec.NumRows())
}

func testEngine(t testing.TB) engine {
	t.Helper()
	e, err := openEngine(engineOptions{threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func batchSource(fields []types.Field, parts int, recs ...arrow.RecordBatch) *scanSource {
	return &scanSource{fields: fields, parts: parts, rows: -1, ctx: context.Background(), open: func(_ context.Context, part int, columns []int) (Reader, error) {
		var out []arrow.RecordBatch
		for i, r := range recs {
			if i%parts == part {
				out = append(out, project(r, columns))
			}
		}
		return &sliceReader{out}, nil
	}}
}

func readAll(t testing.TB, e engine, sql string) []arrow.RecordBatch {
	t.Helper()
	r, err := e.query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer func() { _ = r.close() }()
	var out []arrow.RecordBatch
	for {
		rec, err := r.next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		out = append(out, rec)
	}
}

func TestEngineGivesBackEveryType(t *testing.T) {
	fields, lines := allTypes(t)
	e := testEngine(t)
	id := e.addScan(batchSource(fields, 1, decodeRows(t, fields, lines)))
	if id != 1 {
		t.Fatal(id)
	}
	got := readAll(t, e, "SELECT * FROM tarn_scan(1)")
	rec, err := conform(got[0], types.ArrowSchema(fields))
	if err != nil {
		t.Fatal(err)
	}
	enc := jsonrow.NewEncoder(fields)
	for i, want := range lines {
		if got := string(enc.Append(nil, rec, i)); got != want {
			t.Errorf("row %d:\n got %s\nwant %s", i, got, want)
		}
	}
	// The types that DuckDB sees are those by which it would call them.
	for i, f := range fields {
		got := readAll(t, e, "SELECT typeof(x), typeof(NULL::"+duckType(f.Type)+") FROM (SELECT #"+itoa(i+1)+" AS x FROM tarn_scan(1) LIMIT 1)")
		a, b := got[0].Column(0).(*array.String).Value(0), got[0].Column(1).(*array.String).Value(0)
		if a != b {
			t.Errorf("%s: DuckDB has %s, expected %s", f.Type, a, b)
		}
	}
}

func TestEngineScansAsOftenAsNamed(t *testing.T) {
	fields := []types.Field{{Name: "a", Type: types.MustParse("INT")}, {Name: "s", Type: types.MustParse("STRING")}, {Name: "b", Type: types.MustParse("BIGINT")}}
	var recs []arrow.RecordBatch
	for p := range 4 {
		var lines []string
		for i := range 5000 {
			lines = append(lines, `{"a":`+itoa(p*5000+i)+`,"s":"s`+itoa(i%7)+`","b":`+itoa(i)+`}`)
		}
		recs = append(recs, decodeRows(t, fields, lines))
	}
	e := testEngine(t)
	e.addScan(batchSource(fields, 2, recs...))
	for q, want := range map[string]int64{
		"select sum(b) from tarn_scan(1)":                                                                 49990000,
		"select count(*) from tarn_scan(1)":                                                               20000,
		"select count(*) from tarn_scan(1) where a > 19990":                                               9,
		"select count(*) from tarn_scan(1) x join tarn_scan(1) y using (a)":                               20000,
		"with c as (select * from tarn_scan(1)) select (select max(b) from c) + (select count(*) from c)": 24999,
		"select sum(b) from tarn_scan(1) where s = 's3' and a in (3, 10, 11)":                             13,
		"select count(distinct s) from tarn_scan(1)":                                                      7,
		"select max(a) from (select * from tarn_scan(1) limit 3)":                                         -1,
	} {
		got := readAll(t, e, "select cast(("+q+") as bigint)")[0].Column(0).(*array.Int64).Value(0)
		if got != want && want >= 0 {
			t.Errorf("%s = %d, want %d", q, got, want)
		}
	}
	if _, err := e.query(t.Context(), "select * from tarn_scan(9)"); err == nil || !strings.Contains(err.Error(), "no such scan") {
		t.Error(err)
	}
}

func BenchmarkScan(b *testing.B) {
	fields := []types.Field{{Name: "a", Type: types.MustParse("BIGINT")}, {Name: "s", Type: types.MustParse("STRING")}, {Name: "b", Type: types.MustParse("BIGINT")}}
	var lines []string
	for i := range 8192 {
		lines = append(lines, `{"a":`+itoa(i)+`,"s":"s`+itoa(i%7)+`","b":`+itoa(i)+`}`)
	}
	rec := decodeRows(b, fields, lines)
	recs := make([]arrow.RecordBatch, 500)
	for i := range recs {
		recs[i] = rec
	}
	e := testEngine(b)
	e.addScan(batchSource(fields, 2, recs...))
	for _, q := range []string{
		"select sum(a) from tarn_scan(1)", "select sum(a), sum(b) from tarn_scan(1)", "select max(s) from tarn_scan(1)", "select sum(length(s)) from tarn_scan(1)",
		"select count(*) from tarn_scan(1) where a = 5", "select sum(a), sum(b), sum(length(s)) from tarn_scan(1)",
	} {
		b.Run(q, func(b *testing.B) {
			for b.Loop() {
				readAll(b, e, q)
			}
			b.ReportMetric(float64(len(recs)*8192*b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

func itoa(i int) string { return strconv.Itoa(i) }

// Batches are longer than DuckDB's vectors and reach it in slices: rows far in have to be as right as the first.
func TestEngineScansLongBatchesOfEveryType(t *testing.T) {
	fields, lines := allTypes(t)
	fields = append(fields,
		types.Field{ID: 100, Name: "nested", Type: types.MustParse("ROW<a ROW<b INT, c ARRAY<ROW<d STRING>>>, e MAP<STRING, ROW<f INT>>>")},
		types.Field{ID: 101, Name: "n", Type: types.MustParse("INT")})
	var rows []string
	for i := range 10_000 {
		nested := `null`
		if i%5 > 0 {
			nested = `{"a":{"b":` + itoa(i) + `,"c":[{"d":"x` + itoa(i%13) + `"},null]},"e":[["k",{"f":` + itoa(i) + `}]]}`
		}
		if i%7 == 0 {
			nested = `{"a":null,"e":[]}`
		}
		rows = append(rows, strings.TrimSuffix(lines[i%len(lines)], "}")+`,"nested":`+nested+`,"n":`+itoa(i)+"}")
	}
	rec := decodeRows(t, fields, rows)
	e := testEngine(t)
	e.addScan(batchSource(fields, 1, rec, rec.NewSlice(0, 0), rec.NewSlice(4_321, 9_876)))
	enc := jsonrow.NewEncoder(fields)
	for _, q := range []string{"SELECT * FROM tarn_scan(1) ORDER BY n", "SELECT * FROM tarn_scan(1) WHERE n >= 0"} {
		count := 0
		for _, got := range readAll(t, e, q) {
			rec, err := conform(got, types.ArrowSchema(fields))
			if err != nil {
				t.Fatal(err)
			}
			n := rec.Column(len(fields) - 1).(*array.Int32)
			for i := range int(rec.NumRows()) {
				count++
				if got, want := string(enc.Append(nil, rec, i)), rows[n.Value(i)]; got != want {
					t.Fatalf("%s: row %d:\n got %s\nwant %s", q, n.Value(i), got, want)
				}
			}
		}
		if want := 10_000 + 9_876 - 4_321; count != want {
			t.Errorf("%s: %d rows, want %d", q, count, want)
		}
	}
}
