//go:build duckdb_arrow && cgo

package sql_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

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
