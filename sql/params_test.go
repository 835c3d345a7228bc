//go:build duckdb_arrow && cgo

package sql_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
)

// query runs a statement with values and gives its rows as text.
func query(t *testing.T, s *sql.Session, text string, values ...any) (string, error) {
	t.Helper()
	r, err := s.Query(t.Context(), text, values...)
	if err != nil {
		return "", err
	}
	var rows []string
	for err == nil {
		rec, nerr := r.Next(t.Context())
		for row := 0; nerr == nil && row < int(rec.NumRows()); row++ {
			var cols []string
			for _, c := range rec.Columns() {
				cols = append(cols, c.ValueStr(row))
			}
			rows = append(rows, strings.Join(cols, "|"))
		}
		err = nerr
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.Join(rows, " / "), errors.Join(err, r.Close())
}

// Values of Go stand for parameters wherever a constant may stand, and are what they are: no text of them is read as SQL.
func TestParameters(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		at := time.Date(2024, 2, 29, 13, 30, 0, 123456789, time.FixedZone("", 3600))
		name := "it's -- /* ? $1 */ \\ \x00 ünï"
		type status string
		for _, c := range []struct {
			text   string
			values []any
			want   string
		}{
			{`CREATE TABLE t (id BIGINT, s STRING, n DECIMAL(12, 2), f DOUBLE, b BOOLEAN, y BYTES, ts TIMESTAMP(6), z TIMESTAMP_LTZ(6), day STRING, PRIMARY KEY (id, day) NOT ENFORCED) PARTITIONED BY (day) WITH ('bucket' = '1')`, nil, ""},
			{`INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, []any{int64(math.MinInt64), name, -1.25, math.Inf(-1), true, []byte{0, 0xff, '\''}, at, &at, "mon"}, ""},
			{`INSERT INTO t (id, s, day) SELECT $2, $1, $3 WHERE $1 = 'x'`, []any{status("x"), uint8(7), "tue"}, ""},
			{`INSERT OVERWRITE t PARTITION (day = ?) (id, s) VALUES (?, ?)`, []any{"wed", 8, nil}, ""},
			{`SELECT id, s = $1, n, f, b, y = $2, CAST(ts AS VARCHAR), z = $3, day FROM t WHERE id = $4`, []any{name, []byte{0, 0xff, '\''}, at, math.MinInt64}, "-9223372036854775808|true|-1.25|-Inf|true|true|2024-02-29 12:30:00.123456|true|mon"},
			{`SELECT count(*) FROM t WHERE s = ?`, []any{name}, "1"},
			{`SELECT id FROM t WHERE id IN (?, ?) AND s IS NOT DISTINCT FROM ?`, []any{7, 8, nil}, "8"},
			{`SELECT id FROM t FOR VERSION AS OF ? ORDER BY id LIMIT ? OFFSET ?`, []any{2, 1, 1}, "7"},
			{`SELECT count(*) FROM t FOR TIMESTAMP AS OF ?`, []any{time.Now().Add(time.Hour)}, "3"},
			{`SELECT 5-? AS "?", '?' || ?, -- ?
				? * 1000000000`, []any{-3, "$1", 5}, "8|?$1|5000000000"},
			{`SELECT typeof($1), typeof($2), typeof($3), typeof($4), isnan($2), $5`, []any{1, math.NaN(), at, false, math.Copysign(0, -1)}, "BIGINT|DOUBLE|TIMESTAMP WITH TIME ZONE|BOOLEAN|true|-0"},
			{`UPDATE t SET s = ?, n = n + ? WHERE id = ?`, []any{"new", 1, math.MinInt64}, ""},
			{`DELETE FROM t WHERE id = ? OR s = ?`, []any{7, "nope"}, ""},
			{`SELECT id, s, n FROM t ORDER BY id`, nil, "-9223372036854775808|new|-0.25 / 8|(null)|(null)"},
			{`CALL sys.create_tag(?, tag => ?, snapshot_id => ?)`, []any{"t", "first", 1}, "tag first created"},
			{`TRUNCATE TABLE t PARTITION (day = ?)`, []any{"wed"}, ""},
			{`SELECT count(*) FROM t`, nil, "1"},
		} {
			if got, err := query(t, s, c.text, c.values...); err != nil || got != c.want {
				t.Errorf("%s: %q, %v, want %q", c.text, got, err, c.want)
			}
		}
		for _, c := range []struct {
			text   string
			values []any
			want   string
		}{
			{`SELECT ?, ?`, []any{1}, "line 1, column 11: there is no value for parameter 2: 1 are given"},
			{`SELECT $1, $3`, []any{1, 2, 3}, "value 2 of 3 stands for no parameter"},
			{`SELECT 1`, []any{1}, "value 1 of 1 stands for no parameter"},
			{`SELECT ?, $1`, []any{1}, "? and $1 exclude each other"},
			{`SELECT $a`, []any{1}, "parameter $a is no number"},
			{`SELECT ?`, []any{[]string{"a"}}, "value 1: "},
			{`SELECT ?`, []any{"\xff"}, "not UTF-8"},
			{`SELECT ?`, []any{failing{}}, "no value today"},
			{`SELECT ?`, []any{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "years 1 to 9999"},
			{`SELECT 1; SELECT 2`, nil, "2 statements, expected one"},
			{``, nil, "0 statements, expected one"},
		} {
			if _, err := query(t, s, c.text, c.values...); !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want one that tells %q", c.text, err, c.want)
			}
		}
		if _, err := query(t, s, `SELECT ?`); err == nil {
			t.Error("a parameter without values is no error")
		}
	})
}

type failing struct{}

func (failing) Value() (driver.Value, error) { return nil, errors.New("no value today") }

// A session runs one statement at a time and says so; what is not read to its end leaves nothing behind.
func TestResultsClosedEarly(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		ctx := t.Context()
		must(t, s, `CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true')`)
		for range 2 {
			must(t, s, `INSERT INTO t SELECT range, 'value ' || range FROM range(100000)`)
		}
		before := 0
		for i := range 8 {
			r, err := s.Query(ctx, `SELECT * FROM t`)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Next(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Query(ctx, `SELECT 1`); !errors.Is(err, tarn.ErrInvalid) {
				t.Errorf("a second statement: error %v", err)
			}
			if err := s.Run(ctx, `SELECT 1`, func(*sql.Result) error { return nil }); !errors.Is(err, tarn.ErrInvalid) {
				t.Errorf("a script meanwhile: error %v", err)
			}
			if err := s.Close(); !errors.Is(err, tarn.ErrInvalid) {
				t.Errorf("closing the session meanwhile: error %v", err)
			}
			if i%2 == 1 {
				stopped, cancel := context.WithCancel(ctx)
				cancel()
				if _, err := r.Next(stopped); !errors.Is(err, context.Canceled) {
					t.Errorf("rows of a context that has ended: error %v", err)
				}
			}
			if err := errors.Join(r.Close(), r.Close()); err != nil {
				t.Error(err)
			}
			if _, err := r.Next(ctx); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("rows of a closed result: error %v", err)
			}
			want(t, s, `SELECT count(*) FROM t`, "100000")
			switch n := runtime.NumGoroutine(); {
			case i == 0:
				before = n
			case n > before+2:
				t.Fatalf("%d goroutines after %d results, %d after the first", n, i+1, before)
			}
		}
	})
}
