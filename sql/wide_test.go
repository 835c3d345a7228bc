//go:build duckdb_arrow && cgo

package sql_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
	"github.com/tarnlake/tarn/types"
)

// The engine has nanoseconds of the years 1677 to 2262 only, and none of TIMESTAMP_LTZ. What it does not hold is an
// error where it is read, no other value; and what a statement does not change is written back as it was.
func TestNanosecondsOfAllYears(t *testing.T) {
	ctx := t.Context()
	for _, raw := range []bool{true, false} {
		cat, err := tarn.Open(ctx, t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := sql.NewSession(cat, sql.Options{Database: "db", NoRaw: !raw})
		must(t, s, `CREATE DATABASE db; CREATE TABLE t (id INT, v STRING, t9 TIMESTAMP(9), z TIMESTAMP_LTZ(9), a ARRAY<TIMESTAMP(9)>, r ROW<m MAP<TIMESTAMP_LTZ(9), INT>>,
			PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
		tab, err := cat.Table(ctx, "db.t")
		if err != nil {
			t.Fatal(err)
		}
		fields, err := tab.Fields()
		if err != nil {
			t.Fatal(err)
		}
		row := func(id, v, at string) string {
			return `{"id":` + id + `,"v":"` + v + `","t9":"` + at + `","z":"` + at + `","a":["` + at + `",null],"r":{"m":[{"key":"` + at + `","value":7}]}}`
		}
		first, last, near := "-62135596799.999999999", "253402300799.999999999", "1709210096.123456789"
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, types.WideArrowSchema(fields), strings.NewReader("["+row("1", "a", first)+","+row("2", "b", last)+","+row("3", "c", near)+"]"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := tab.NewWriter(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, tarn.Batch{RecordBatch: rec}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		stored := func(want ...string) {
			t.Helper()
			var got []string
			for b, err := range tab.Scan(tarn.ScanOptions{WideTimestamps: true}).Batches(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				for i := range int(b.NumRows()) {
					var parts []string
					for c, f := range fields[:4] {
						parts = append(parts, types.FormatDatum(f.Type, types.DatumAt(b.Column(c), i, f.Type)))
					}
					got = append(got, strings.Join(append(parts, b.Column(4).ValueStr(i), b.Column(5).ValueStr(i)), "|"))
				}
			}
			slices.Sort(got)
			if len(got) != len(want) {
				t.Fatalf("rows %q", got)
			}
			for i, w := range want {
				for _, part := range strings.Split(w, " ") {
					if !strings.Contains(got[i], strings.ReplaceAll(part, "_", " ")) {
						t.Errorf("row %s, want %s in it", got[i], part)
					}
				}
			}
		}
		want(t, s, `SELECT count(*), min(v) FROM t`, "3|a")
		want(t, s, `SELECT CAST(z AS VARCHAR) FROM t ORDER BY id`, "0001-01-01 00:00:00+00 / 9999-12-31 23:59:59.999999+00 / 2024-02-29 12:34:56.123456+00")
		want(t, s, `SELECT CAST(t9 AS VARCHAR) FROM t WHERE id = 3`, "2024-02-29 12:34:56.123456789")
		want(t, s, `SELECT id, r.m IS NULL FROM t WHERE z > '9000-01-01 00:00:00+00'`, "2|false")
		for _, q := range []string{`SELECT t9 FROM t`, `SELECT max(t9) FROM t`, `SELECT a FROM t WHERE id = 1`, `INSERT INTO t (id, t9) SELECT 9, t9 FROM t WHERE id = 1`} {
			fails(t, s, q, nil, "0001-01-01 00:00:00.000000001 is beyond what the engine's timestamp[ns] holds")
		}
		fails(t, s, `SELECT t9 FROM t`, nil, "column t9: ")
		fails(t, s, `INSERT INTO t (id, t9) VALUES (9, TIMESTAMP '1582-10-04 00:00:00')`, tarn.ErrInvalid, "column t9: value '1582-10-04 00:00:00' does not fit TIMESTAMP(9)")
		fails(t, s, `INSERT INTO t (id, t9) VALUES (9, '9999-12-31 00:00:00')`, tarn.ErrInvalid, "column t9: value '9999-12-31 00:00:00' does not fit TIMESTAMP(9)")

		must(t, s, `UPDATE t SET v = v || 'x' WHERE z < '2000-01-01 00:00:00+00' OR z > '9000-01-01 00:00:00+00'`)
		stored(
			`1|ax|0001-01-01_00:00:00.000000001|0001-01-01_00:00:00.000000001 "-62135596799.999999999",null "key":"-62135596799.999999999"`,
			`2|bx|9999-12-31_23:59:59.999999999|9999-12-31_23:59:59.999999999 "253402300799.999999999",null "key":"253402300799.999999999"`,
			`3|c|2024-02-29_12:34:56.123456789|2024-02-29_12:34:56.123456789 "1709210096.123456789",null`)
		must(t, s, `UPDATE t SET t9 = '2020-01-01 00:00:00.123456789', z = '1582-10-04 01:00:00+01' WHERE id = 2`)
		must(t, s, `DELETE FROM t WHERE id = 1`)
		stored(`2|bx|2020-01-01_00:00:00.123456789|1582-10-04_00:00:00.000000000 "253402300799.999999999",null`, `3|c|2024-02-29_12:34:56.123456789`)
		must(t, s, `INSERT INTO t (id, z) VALUES (4, '0001-01-01 00:00:00+00')`)
		want(t, s, `SELECT CAST(z AS VARCHAR) FROM t WHERE id = 4`, "0001-01-01 00:00:00+00")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Nanoseconds of text and of TIMESTAMP(9) reach columns of TIMESTAMP_LTZ(9); those that a query would lose are refused where they would be
// written, and conditions see the microseconds that are shown, in files that are left out and in those that are read.
func TestNanosecondsOfLocalTimes(t *testing.T) {
	for _, raw := range []bool{true, false} {
		cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := sql.NewSession(cat, sql.Options{Database: "db", NoRaw: !raw})
		t.Cleanup(func() { _ = s.Close() })
		must(t, s, `CREATE DATABASE db; CREATE TABLE u (id INT, z TIMESTAMP_LTZ(9), z7 TIMESTAMP_LTZ(7) DEFAULT '2020-01-01 00:00:00.12345678', t9 TIMESTAMP(9), z6 TIMESTAMP_LTZ(6), s STRING,
			a ARRAY<TIMESTAMP_LTZ(9)>, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
		must(t, s, `SET TimeZone = 'Europe/Berlin'; INSERT INTO u (id, z) VALUES (1, '2024-06-01 12:00:00.123456789'), (2, TIMESTAMPTZ '2024-10-27 02:30:00+01'), (3, DATE '2024-02-29'), (4, NULL); RESET TimeZone`)
		must(t, s, `INSERT INTO u (id, z, z7, t9) VALUES (5, '1969-12-31 23:59:59.9999999+02', DEFAULT, '1969-12-31 23:59:59.999999999'), (6, '9999-12-31 23:59:59.999999999', TIMESTAMP '2024-01-01 00:00:00.5', NULL)`)
		must(t, s, `INSERT INTO u (id, z) SELECT id + 2, t9 FROM u WHERE id = 5`)
		must(t, s, `UPDATE u SET z7 = DEFAULT WHERE id = 6; UPDATE u SET z7 = '2021-01-01 00:00:00.123456789' WHERE id = 7`)
		must(t, s, `CREATE TABLE c (id INT, z TIMESTAMP_LTZ(9), z7 TIMESTAMP_LTZ(7)) AS SELECT range::INT, '2024-01-01 00:00:00.00000000' || range, NULL FROM range(9, 10); INSERT INTO u (id, z) VALUES (9, '0001-01-01')`)
		storedIs(t, cat, "u", "z", "1=2024-06-01 10:00:00.123456789", "2=2024-10-27 01:30:00.000000000", "3=2024-02-28 23:00:00.000000000", "4=null", "5=1969-12-31 21:59:59.999999900",
			"6=9999-12-31 23:59:59.999999999", "7=1969-12-31 23:59:59.999999999", "9=0001-01-01 00:00:00.000000000")
		byDefault := "2020-01-01 00:00:00.1234567"
		storedIs(t, cat, "u", "z7", "1="+byDefault, "2="+byDefault, "3="+byDefault, "4="+byDefault, "5="+byDefault, "6="+byDefault, "7=2021-01-01 00:00:00.1234567", "9="+byDefault)
		storedIs(t, cat, "c", "z", "9=2024-01-01 00:00:00.000000009")
		for _, q := range []string{
			`INSERT INTO u (id, z) SELECT 20, z FROM u WHERE id = 1`, `INSERT INTO u (id, t9) SELECT 20, z FROM u WHERE id = 1`, `INSERT INTO u (id, a) SELECT 20, [z] FROM u WHERE id = 1`,
			`INSERT OVERWRITE u BY NAME SELECT 20 AS id, z FROM u`, `CREATE TABLE d (id INT, z TIMESTAMP_LTZ(9)) AS SELECT id, z FROM u`,
			`UPDATE u SET z7 = z WHERE id = 1`, `UPDATE u SET z7 = (SELECT max(z) FROM u) WHERE id = 1`,
		} {
			fails(t, s, q, tarn.ErrUnsupported, "more digits than queries have of TIMESTAMP_LTZ")
		}
		fails(t, s, `INSERT INTO u (id, z) VALUES (20, 'infinity')`, tarn.ErrInvalid, "column z: a timestamp cannot be infinite")
		fails(t, s, `INSERT INTO u (id, z) VALUES (20, 'x')`, tarn.ErrInvalid, "column z: value 'x' does not fit")
		must(t, s, `INSERT INTO u (id, z6) SELECT 30, z FROM u WHERE id = 1; INSERT INTO u (id, s) SELECT 31, 'x' FROM u WHERE z = '2024-06-01 10:00:00.123456+00'; UPDATE u SET t9 = '2020-01-01' WHERE z < '1000-01-01'`)
		want(t, s, `SELECT id, s, CAST(z6 AS VARCHAR) FROM u WHERE id >= 20 ORDER BY id`, "30|(null)|2024-06-01 10:00:00.123456+00 / 31|x|(null)")
		for cond, ids := range map[string]string{
			"z = '2024-06-01 10:00:00.123456+00'": "1", "z <> '2024-06-01 10:00:00.123456+00' AND id < 3": "2", "z IN ('2024-06-01 10:00:00.123456+00', '2024-06-01')": "1",
			"z <= '1969-12-31 21:59:59.999999+00'": "5 / 9", "z > '1969-12-31 21:59:59.999999+00' AND z <= '1969-12-31 23:59:59.999999+00'": "7",
			"z BETWEEN '9999-12-31 23:59:59.999999+00' AND '9999-12-31 23:59:59.999999+00'": "6", "z >= '9999-12-31 23:59:59.999999+00'": "6", "z < '1969-12-31 21:59:59.999999+00'": "9",
		} {
			want(t, s, `SELECT id FROM u WHERE `+cond+` ORDER BY id`, ids)
		}
	}
}

// storedIs asserts what a table holds of a time by its ids, with all digits.
func storedIs(t *testing.T, cat *tarn.Catalog, table, column string, want ...string) {
	t.Helper()
	tab, err := cat.Table(t.Context(), "db."+table)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := tab.Scan(tarn.ScanOptions{WideTimestamps: true, Columns: []string{"id", column}}).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	f := plan.Fields()[1]
	for b, err := range plan.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			got = append(got, b.Column(0).ValueStr(i)+"="+types.FormatDatum(f.Type, types.DatumAt(b.Column(1), i, f.Type)))
		}
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s.%s: -want +got\n%s", table, column, d)
	}
}
