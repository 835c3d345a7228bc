//go:build duckdb_arrow && cgo

package sql_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/sql"
)

// generated makes rows from a number g, the same in the lake and in tables of DuckDB.
const generated = `SELECT id, CASE WHEN h % 11 = 0 THEN NULL ELSE h % 50 - 20 END AS i, CASE h % 9 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'ünï ' || h % 5 ELSE 'it''s ' || h % 40 END AS s,
	CASE WHEN h % 10 = 0 THEN NULL ELSE DATE '2024-01-01' + (h % 400 - 200)::INT END AS d, CASE WHEN h % 8 = 0 THEN NULL ELSE TIMESTAMP '1969-12-30 00:00:00.000001' + to_microseconds((h % 100) * 3600000001) END AS ts,
	CASE WHEN h % 7 = 0 THEN NULL ELSE TIMESTAMPTZ '2024-03-31 00:00:00+00' + to_microseconds((h % 60) * 1800000000) END AS z,
	CASE WHEN h % 6 = 0 THEN NULL ELSE ((h % 1000)::DECIMAL(12, 3) / 8 - 50)::DECIMAL(12, 3) END AS n,
	CASE h % 12 WHEN 0 THEN NULL WHEN 1 THEN 'NaN'::DOUBLE WHEN 2 THEN -0.0::DOUBLE WHEN 3 THEN 0.0::DOUBLE WHEN 4 THEN 'Infinity'::DOUBLE ELSE (h % 100)::DOUBLE / 4 - 10 END AS f,
	CASE h % 3 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END AS b, CASE WHEN h % 5 = 0 THEN NULL ELSE TIME '00:00:00' + to_milliseconds((h % 20) * 1000001) END AS t,
	CASE WHEN h % 4 = 0 THEN NULL ELSE ('k' || h % 15)::BLOB END AS y, CASE h % 5 WHEN 0 THEN NULL WHEN 1 THEN [] ELSE [h % 3, NULL, h % 7] END::INT[] AS a,
	CASE WHEN h % 6 = 1 THEN NULL ELSE {'x': (h % 9)::INT, 'y': 'r' || h % 4} END::STRUCT(x INT, y VARCHAR) AS r
	FROM (SELECT range::INT AS id, (hash(range, %d) % 100003)::BIGINT AS h FROM range(%d, %d))`

const generatedColumns = `id INT, i BIGINT, s STRING, d DATE, ts TIMESTAMP(6), z TIMESTAMP_LTZ(6), n DECIMAL(12, 3), f DOUBLE, b BOOLEAN, t TIME(3), y BYTES, a ARRAY<INT>, r ROW<x INT, y STRING>`

// queryMaker makes queries over the tables k (with a key) and l (without), and conditions.
type queryMaker struct {
	*rand.Rand
	plain bool // no TIME and nested columns
}

func (m queryMaker) of(s ...string) string { return s[m.IntN(len(s))] }

func (m queryMaker) leaf(p string) string {
	op := m.of("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
	cols := []string{"id", "i", "s", "d", "ts", "z", "n", "f", "b", "y", "t", "r.x", "a[1]"}
	if m.plain {
		cols = cols[:10]
	}
	col := m.of(cols...)
	c := p + col
	var value func() string
	switch col {
	case "id":
		value = func() string { return fmt.Sprint(m.IntN(400)) }
	case "i", "r.x", "a[1]":
		value = func() string { return m.of(fmt.Sprint(m.IntN(60)-25), "3.5", "1e1", "NULL") }
	case "s":
		switch m.IntN(5) {
		case 0:
			return c + m.of(" LIKE ", " NOT LIKE ", " ILIKE ") + m.of("'it%'", "'%2'", "'%s%'", "'ü_ï%'", "''", "'it''s 1%'")
		case 1:
			return m.of("starts_with", "contains", "suffix") + "(" + c + ", " + m.of("'it'", "'3'", "''", "'ï'") + ")"
		}
		value = func() string { return m.of("'it''s 7'", "''", "'ünï 2'", "'x'", "upper('x')", "NULL") }
	case "d":
		value = func() string {
			return m.of("DATE '2024-02-29'", "DATE '2023-12-31'", "'2024-01-05'", "TIMESTAMP '2024-01-01 12:00:00'")
		}
	case "ts":
		value = func() string {
			return m.of("TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '1969-12-31 23:00:00.123456'", "DATE '1970-01-02'")
		}
	case "z":
		value = func() string {
			return m.of("TIMESTAMPTZ '2024-03-31 01:00:00+00'", "TIMESTAMPTZ '2024-03-31 05:30:00+02'", "TIMESTAMP '2024-03-31 02:30:00'")
		}
	case "n":
		value = func() string { return m.of("0", "-12.5", "12.345", "12.3456", "50.0::DOUBLE", "1000000000000") }
	case "f":
		value = func() string {
			return m.of("0.0", "-0.0", "'NaN'::DOUBLE", "'-Infinity'::DOUBLE", "5", "2.25::DECIMAL(4,2)")
		}
	case "b":
		if m.IntN(2) == 0 {
			return m.of("", "NOT ") + c
		}
		value = func() string { return m.of("true", "false", "NULL") }
	case "t":
		value = func() string {
			return m.of("TIME '00:00:00'", "TIME '01:00:00.5'", "TIME '02:46:40.010'", "TIME '00:16:40.0010005'")
		}
	default:
		value = func() string { return m.of("'k3'::BLOB", "''::BLOB", `'\xFF'::BLOB`) }
	}
	switch m.IntN(9) {
	case 8:
		return "(" + p + "id + coalesce(" + p + "i, 0)) % " + m.of("2", "3", "10") + " " + op + " " + m.of("0", "1", "NULL")
	case 0:
		return c + " IS " + m.of("", "NOT ") + "NULL"
	case 1:
		return c + m.of(" IN (", " NOT IN (") + value() + ", " + value() + ", " + value() + ")"
	case 2:
		return c + m.of(" BETWEEN ", " NOT BETWEEN ") + value() + " AND " + value()
	case 3:
		return value() + " " + op + " " + c
	case 4:
		return "coalesce(" + c + " " + op + " " + value() + ", " + m.of("true", "false") + ")"
	}
	return c + " " + op + " " + value()
}

// nested gives the text for tables with nested columns, or the one for those without.
func (m queryMaker) nested(all, plain string) string {
	if m.plain {
		return plain
	}
	return all
}

func (m queryMaker) cond(p string, depth int) string {
	switch n := m.IntN(8); {
	case depth == 0 || n < 3:
		return m.leaf(p)
	case n < 5:
		return "(" + m.cond(p, depth-1) + " AND " + m.cond(p, depth-1) + ")"
	case n < 7:
		return "(" + m.cond(p, depth-1) + " OR " + m.cond(p, depth-1) + ")"
	}
	return "NOT (" + m.cond(p, depth-1) + ")"
}

func (m queryMaker) query() string {
	a, b := m.of("k", "l"), m.of("k", "l")
	cols := m.of("*", "id, s", "count(*), count(i), min(s), max(ts)", "sum(n), avg(i), bool_or(b), max(z)", "count(DISTINCT d), min(f), max(f)", m.nested("id, r.y, a[2], t", "id, y, i % 7"))
	order := " ORDER BY ALL"
	switch m.IntN(20) {
	case 0:
		return "SELECT count(*) FROM " + a
	case 14, 15, 16:
		return m.more(a, b)
	case 1:
		return "SELECT b, s IS NULL AS e, count(*), sum(i), min(d) FROM " + a + " WHERE " + m.cond("", 1) + " GROUP BY ALL HAVING count(*) > 1" + order
	case 2:
		return "SELECT x.id, y.s, x.n FROM " + a + " x " + m.of("JOIN", "LEFT JOIN", "FULL JOIN") + " " + b + " y ON x.i = y.i AND " + m.cond("y.", 1) + " WHERE " + m.cond("x.", 1) + order
	case 3:
		return "SELECT id FROM " + a + " WHERE " + m.of("", "NOT ") + "EXISTS (SELECT 1 FROM " + b + " o WHERE o.i = " + a + ".i AND " + m.cond("o.", 1) + ")" + order
	case 4:
		return "SELECT id, s FROM " + a + " WHERE i " + m.of("IN", "NOT IN") + " (SELECT i FROM " + b + " WHERE i IS NOT NULL AND " + m.cond("", 1) + ")" + order
	case 5:
		return "WITH c AS (SELECT * FROM " + a + " WHERE " + m.cond("", 1) + ") SELECT x.id, (SELECT count(*) FROM c WHERE " + m.cond("", 1) + ") FROM c x WHERE " + m.cond("x.", 1) + order
	case 6:
		return "SELECT id, row_number() OVER (PARTITION BY b ORDER BY id), sum(i) OVER (ORDER BY id ROWS 2 PRECEDING) FROM k WHERE " + m.cond("", 1) + " QUALIFY row_number() OVER (PARTITION BY s ORDER BY id) < 3" + order
	case 7:
		return "SELECT id FROM " + a + " WHERE " + m.cond("", 1) + m.of(" UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT ") + "SELECT id FROM " + b + " WHERE " + m.cond("", 1) + order
	case 8:
		return "SELECT id, i FROM " + a + " WHERE " + m.cond("", 2) + " ORDER BY id" + m.of("", " DESC") + ", i" + fmt.Sprintf(" LIMIT %d OFFSET %d", m.IntN(20), m.IntN(5))
	case 9:
		return "SELECT d, count(*) FILTER (WHERE " + m.cond("", 1) + ") FROM " + a + " GROUP BY d" + order
	}
	return "SELECT " + cols + " FROM " + a + " WHERE " + m.cond("", 3) + order
}

// more are queries of forms that need more of the engine than filters and joins.
func (m queryMaker) more(a, b string) string {
	where := " WHERE " + m.cond("", 1)
	order := " ORDER BY ALL"
	forms := []string{
		"SELECT b, d, count(*), sum(i), grouping(b, d) FROM " + a + where + " GROUP BY " + m.of("ROLLUP (b, d)", "CUBE (b, d)", "GROUPING SETS ((b), (d), ())") + order,
		"SELECT x.id, v.c, v.m FROM " + a + " x, LATERAL (SELECT count(*) AS c, min(y.s) AS m FROM " + b + " y WHERE y.i = x.i AND " + m.cond("y.", 1) + ") v WHERE " + m.cond("x.", 1) + order,
		"SELECT id, CASE WHEN " + m.cond("", 1) + " THEN s WHEN i > 0 THEN CAST(i AS VARCHAR) END, CASE b WHEN true THEN 1 WHEN false THEN 0 END, nullif(i, 5), coalesce(s, CAST(d AS VARCHAR), 'none') FROM " + a + order,
		"SELECT id, CAST(i AS VARCHAR), CAST(d AS VARCHAR), CAST(ts AS VARCHAR), CAST(z AS VARCHAR), CAST(n AS VARCHAR), CAST(f AS VARCHAR), CAST(b AS VARCHAR), CAST(y AS VARCHAR), TRY_CAST(s AS INT) FROM " + a + where + order,
		"SELECT id, date_trunc('month', d), extract(hour FROM ts), z AT TIME ZONE 'Europe/Berlin', CAST(z AS DATE), ts + INTERVAL 1 MONTH, d - DATE '2024-01-01', strftime(ts, '%Y-%m'), epoch_us(z) FROM " + a + where + order,
		"SELECT id, n * 2, n + i, n / 3, round(n, 1), CAST(n AS INT), n * 1.005, -n, abs(f), f / 0, i % 7 FROM " + a + where + order,
		"SELECT id FROM " + a + " WHERE i " + m.of("IN", "NOT IN") + " (SELECT i FROM " + b + where + ")" + order,
		"SELECT DISTINCT ON (b, d) b, d, id FROM " + a + where + " ORDER BY b, d, id",
		"SELECT id, i FROM k" + where + " ORDER BY i" + m.of("", " DESC") + m.of("", " NULLS FIRST", " NULLS LAST") + ", id LIMIT 10",
		"SELECT id, lag(i) OVER w, first_value(s) OVER w, rank() OVER (ORDER BY i), ntile(3) OVER (ORDER BY id), max(d) OVER (PARTITION BY b) FROM k" + where + " WINDOW w AS (PARTITION BY b ORDER BY id)" + order,
		"SELECT id, s FROM " + a + where + m.of(" UNION ALL BY NAME ", " UNION BY NAME ") + "SELECT s, id, d FROM " + b + " WHERE " + m.cond("", 1) + order,
		"SELECT i FROM " + a + where + m.of(" INTERSECT ALL ", " EXCEPT ALL ") + "SELECT i FROM " + b + order,
		"SELECT x.id FROM " + a + " x " + m.of("SEMI", "ANTI") + " JOIN " + b + " y ON x.d = y.d AND " + m.cond("y.", 1) + " WHERE " + m.cond("x.", 1) + order,
		"SELECT x.id, y.id FROM " + a + " x ASOF LEFT JOIN (SELECT DISTINCT ON (ts) id, ts FROM k WHERE ts IS NOT NULL ORDER BY ts, id) y ON x.ts >= y.ts WHERE " + m.cond("x.", 1) + order,
		"SELECT b, string_agg(s, ',' ORDER BY s), arg_min(id, {x: i, y: id}), list(id ORDER BY id)[1:3], count(DISTINCT s) FILTER (WHERE " + m.cond("", 1) + ") FROM k GROUP BY b" + order,
		"WITH RECURSIVE c(n, i) AS (SELECT 0, min(i) FROM " + a + " UNION ALL SELECT n + 1, (SELECT min(k.i) FROM " + a + " k WHERE k.i > c.i) FROM c WHERE n < 5) SELECT * FROM c" + order,
		"SELECT * FROM (PIVOT (SELECT b, i % 3 AS g, id FROM k" + where + ") ON g IN (0, 1, 2) USING count(*) GROUP BY b)" + order,
		"SELECT count(*), sum(id) FROM " + a + " TABLESAMPLE 100 PERCENT" + where,
		"SELECT length(s), upper(s), s[2:4], s || '!', replace(s, 'it', 'IT'), s COLLATE NOCASE = 'IT''S 7', regexp_matches(s, '[0-9]$'), md5(y), octet_length(y) FROM " + a + where + order,
		"SELECT id, (SELECT max(y.id) FROM " + b + " y WHERE y.d = x.d AND y.id < x.id) FROM " + a + " x WHERE " + m.cond("x.", 1) + order,
		"SELECT columns('^[ibd]$') FROM " + a + where + order,
	}
	if !m.plain {
		forms = append(forms,
			"SELECT id, u FROM "+a+", unnest(a) AS g(u)"+where+order,
			"SELECT id, len(a), list_sum(a), list_filter(a, lambda e: e > 1), a[-1], list_contains(a, 0), array_to_string(a, '-'), r.y || 'x', struct_extract(r, 'x') + 1, r IS NULL FROM "+a+where+order,
			"SELECT id, a, r, t FROM "+a+" WHERE a "+m.of("=", "<", "IS DISTINCT FROM")+" [1, NULL, 3] OR r "+m.of("=", "<>")+" {'x': 1, 'y': 'r1'}"+order,
			"SELECT r, count(*), max(t), min(a) FROM "+a+where+" GROUP BY r"+order,
			"SELECT x.id FROM "+a+" x JOIN "+b+" y ON x.r = y.r AND x.a = y.a WHERE "+m.cond("x.", 1)+order,
			"SELECT id, unnest(r), extract(second FROM t), t + INTERVAL 1 HOUR, t < TIME '00:10:00' FROM "+a+where+order)
	}
	return m.of(forms...)
}

// TestQueriesAgreeWithNativeTables runs generated queries over tables of the lake, with files read by the engine and by
// the library, and over tables of DuckDB with the same rows.
func TestQueriesAgreeWithNativeTables(t *testing.T) { queriesAgree(t, false) }

// TestQueriesAgreeOfPlainColumns is the same for tables that the engine's reader needs no casts for.
func TestQueriesAgreeOfPlainColumns(t *testing.T) { queriesAgree(t, true) }

func queriesAgree(t *testing.T, plain bool) {
	seed := tarntest.Seed(t)
	cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sessions := map[string]*sql.Session{}
	for name, o := range map[string]sql.Options{"native": {Threads: 2}, "raw": {Database: "db", Threads: 2}, "own": {Database: "db", Threads: 2, NoRaw: true}} {
		s := sql.NewSession(cat, o)
		t.Cleanup(func() { _ = s.Close() })
		sessions[name] = s
	}
	lake, native := sessions["raw"], sessions["native"]
	m := queryMaker{rand.New(rand.NewPCG(seed, 7)), plain}
	columns := m.nested(generatedColumns, "id INT, i BIGINT, s STRING, d DATE, ts TIMESTAMP(6), z TIMESTAMP_LTZ(6), n DECIMAL(12, 3), f DOUBLE, b BOOLEAN, y BYTES")
	rows := func(from, to int) string {
		return m.nested("", "SELECT * EXCLUDE (t, a, r) FROM (") + fmt.Sprintf(strings.ReplaceAll(generated, " % ", " %% "), m.IntN(1000), from, to) + m.nested("", ")")
	}
	must(t, lake, `CREATE DATABASE db; CREATE TABLE k (`+columns+`, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2'); CREATE TABLE l (`+columns+`) PARTITIONED BY (b)`)
	empty := " AS SELECT * FROM (" + rows(0, 1) + ") LIMIT 0"
	must(t, native, `CREATE TEMP TABLE k`+empty+`; CREATE TEMP TABLE l`+empty)
	upsert := func(from, to int) {
		q := rows(from, to)
		must(t, lake, `INSERT INTO k `+q)
		must(t, native, fmt.Sprintf(`DELETE FROM k WHERE id >= %d AND id < %d; INSERT INTO k %s`, from, to, q))
	}
	change := func(text string) {
		must(t, lake, text)
		must(t, native, text)
	}
	agree := func(n int) {
		for range n {
			q := m.query()
			want, werr := run(t.Context(), native, q)
			for _, name := range []string{"raw", "own"} {
				got, err := run(t.Context(), sessions[name], q)
				if (err == nil) != (werr == nil) {
					t.Fatalf("%s (%s)\n  error %v, DuckDB's %v", q, name, err, werr)
				}
				if d := cmp.Diff(sameLines(want), sameLines(got)); d != "" {
					t.Fatalf("%s (%s): -DuckDB +tarn\n%s", q, name, d)
				}
			}
		}
	}
	n := max(2, tarntest.Size().Histories/8)
	agree(n) // of empty tables
	upsert(0, 300)
	for range 3 {
		change(`INSERT INTO l ` + rows(0, 150))
	}
	agree(n)
	upsert(100, 250)
	change(`UPDATE k SET i = i + 1, s = upper(s)` + m.nested(", r = NULL", "") + ` WHERE ` + m.cond("", 2))
	change(`DELETE FROM k WHERE ` + m.cond("", 2) + ` AND id % 3 = 0`)
	agree(2 * n)
	must(t, lake, `CALL sys.compact('k')`)
	agree(2 * n)
	upsert(290, 350)
	// Columns that moved, changed and came: older files hold them otherwise.
	must(t, lake, `ALTER TABLE k ALTER COLUMN i TYPE DECIMAL(25, 0), DROP COLUMN y, ADD COLUMN y BYTES AFTER `+m.nested("t", "b")+`; ALTER TABLE l RENAME COLUMN s TO s2, ADD COLUMN s STRING AFTER i, DROP COLUMN s2`)
	must(t, native, `ALTER TABLE k ALTER COLUMN i TYPE DECIMAL(25, 0); UPDATE k SET y = NULL; UPDATE l SET s = NULL`)
	agree(n)
	change(`INSERT INTO l ` + rows(150, 200))
	agree(n)
}

// sameLines are lines to be compared: those of queries with a LIMIT have an order, of the others too; floats print the
// sign of zero, which equal keys may differ in.
func sameLines(text string) []string {
	return slices.DeleteFunc(strings.Split(strings.ReplaceAll(text, "-0|", "0|"), "\n"), func(l string) bool { return l == "" })
}
