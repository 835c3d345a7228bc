//go:build duckdb_arrow && cgo

package sql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
)

// TestPushFilters asserts which conditions reach the tables of a query: without them every file of a
// table is read.
func TestPushFilters(t *testing.T) {
	ctx := t.Context()
	s := alone(t)
	nothing := func(*Result) error { return nil }
	if err := s.Run(ctx, `CREATE DATABASE db;
		CREATE TABLE a (id BIGINT, name STRING, d DOUBLE, dt DATE, ts TIMESTAMP(6), p DECIMAL(9, 2));
		CREATE TABLE b (id BIGINT, "odd name" INT);
		INSERT INTO a VALUES (1, 'x', 1, DATE '2026-01-01', NULL, 1.5); INSERT INTO b VALUES (1, 2)`, nothing); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, want string }{
		{`SELECT * FROM a`, ""},
		{`SELECT * FROM a WHERE id = 5`, "id = 5"},
		{`SELECT * FROM a WHERE id > 5 AND id < 9`, "(id >= 5 AND id <= 9)"},
		{`SELECT * FROM a WHERE id BETWEEN 5 AND 9 AND name >= 'x' AND dt = DATE '2026-01-01'`, "(dt = '2026-01-01' AND (id >= 5 AND id <= 9) AND name >= 'x')"},
		{`SELECT * FROM a WHERE name = 'it''s' OR id IN (1, 2)`, "((id = 1 OR id = 2) OR name = 'it''s')"},
		{`SELECT * FROM a WHERE id IN (1, 20, 3, 40, 5, 60, 7, 80, 9)`, "id IN (1, 20, 3, 40, 5, 60, 7, 80, 9)"},
		{`SELECT * FROM a WHERE 5 < id AND 'x' = name`, "(id > 5 AND name = 'x')"},
		{`SELECT * FROM a WHERE name LIKE 'abc%'`, "name STARTS WITH 'abc'"},
		{`SELECT * FROM a WHERE id IS NULL OR name IS NOT NULL`, "(id IS NULL OR name IS NOT NULL)"},
		// Columns under the names of others.
		{`SELECT * FROM a AS x(k, id) WHERE id = 'x' OR k = 5`, "(id = 5 OR name = 'x')"},
		{`SELECT * FROM a AS x(k, id) WHERE id = 'x'`, "name = 'x'"},
		{`SELECT * FROM (SELECT name AS p, dt AS name, id AS dt FROM a) x WHERE p = 'x' OR dt IN (5, 9)`, "((id = 5 OR id = 9) OR name = 'x')"},
		{`WITH c(name, id) AS (SELECT id, name FROM a) SELECT * FROM c WHERE id = 'x' OR name = 7`, "(id = 7 OR name = 'x')"},
		{`SELECT * FROM (SELECT id FROM a UNION ALL SELECT id + "odd name" FROM b) WHERE id IN (3, 4)`, "(id = 3 OR id = 4) ; "},
		{`SELECT * FROM (SELECT dt, id FROM a UNION ALL SELECT NULL, id FROM b) x(id, dt) WHERE dt = 3 OR dt = 7`, "(id = 3 OR id = 7) ; (id = 3 OR id = 7)"},
		{`SELECT * FROM (SELECT id AS name, count(*) AS id FROM a GROUP BY ALL) WHERE name = 3 OR name = 7`, "(id = 3 OR id = 7)"},
		{`SELECT * FROM a JOIN b USING (id) WHERE id = 4 AND (name = 'x' OR dt = DATE '2026-01-01')`, "(id = 4 AND (dt = '2026-01-01' OR name = 'x')) ; id = 4"},
		{`SELECT (SELECT max(name) FROM a WHERE a.id = b.id AND a.name < 'm') FROM b WHERE id = 7`, "name < 'm' ; id = 7"},
		{`SELECT count(*) FROM a WHERE dt >= DATE '2026-01-02'`, "dt >= '2026-01-02'"},
		{`SELECT count(*) FROM a WHERE ts < TIMESTAMP '2026-01-02 03:04:05.6'`, "ts < '2026-01-02 03:04:05.600000'"},
		{`SELECT count(*) FROM a WHERE p = 1.5`, "p = 1.50"},
		{`SELECT count(*) FROM a WHERE d = 0.0`, ""},
		{`SELECT count(*) FROM a WHERE NOT (id > 5 AND id < 9)`, ""},
		{`SELECT count(*) FROM a WHERE NOT (id BETWEEN 5 AND 9 AND name = 'x')`, ""},
		{`SELECT count(*) FROM a WHERE abs(id) = 1`, ""},
		{`SELECT count(*) FROM a WHERE id = 1 AND abs(id) = 1`, "id = 1"},
		{`SELECT count(*) FROM (SELECT id + 1 AS id FROM a) x WHERE id = 2`, ""},
		{`SELECT * FROM a JOIN b ON a.id = b.id WHERE a.name = 'x'`, "name = 'x' ; "},
		{`SELECT * FROM a LEFT JOIN a b ON a.id = b.id AND b.id = 7`, " ; id = 7"},
		{`SELECT * FROM b WHERE "odd name" = 1`, "odd name = 1"},
		{`WITH c AS (SELECT * FROM a) SELECT * FROM c x, c y WHERE x.id = 1 AND y.id = 2`, "(id = 1 OR id = 2)"},
		{`SELECT * FROM a WHERE id IN (SELECT id FROM b WHERE "odd name" > 3)`, " ; odd name > 3"},
	} {
		stmts, err := parse.Script(c.query)
		if err != nil {
			t.Fatal(err)
		}
		q := stmts[0].(*parse.Query)
		var sources []*source
		for i := range q.Refs {
			src, err := s.resolve(ctx, &q.Refs[i])
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, src)
		}
		s.pushFilters(ctx, c.query, q, sources)
		var got []string
		for _, src := range sources {
			if src.filter == nil {
				got = append(got, "")
				continue
			}
			got = append(got, fmt.Sprint(src.filter))
		}
		if g := strings.Join(got, " ; "); g != c.want {
			t.Errorf("%s:\n  got %s\n want %s", c.query, g, c.want)
		}
	}
}

// alone is a session on a warehouse of its own.
func alone(t *testing.T) *Session {
	t.Helper()
	cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSession(cat, Options{Database: "db", Threads: 1})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestInsertErrorNamesColumnAndValue asserts that a value that does not fit is found for the user.
func TestInsertErrorNamesColumnAndValue(t *testing.T) {
	s := alone(t)
	nothing := func(*Result) error { return nil }
	if err := s.Run(t.Context(), `CREATE DATABASE db; CREATE TABLE src (v STRING); INSERT INTO src VALUES ('1'), ('300'); CREATE TABLE t (a INT, n TINYINT, d DATE)`, nothing); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`INSERT INTO t VALUES (1, 2, '2024-01-01'), (1, 300, '2024-01-01')`: "column n: value '300' does not fit TINYINT",
		`INSERT INTO t (n, a) SELECT v, 1 FROM src`:                         "column n: value '300' does not fit TINYINT",
		`INSERT INTO t SELECT 1, 2, 'no date'`:                              "column d: value 'no date' does not fit DATE",
		`INSERT INTO t SELECT 1, 2, ''`:                                     "column d: value '' does not fit DATE",
	} {
		err := s.Run(t.Context(), text, nothing)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, tarn.ErrInvalid) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if got, err := s.text(t.Context(), "SELECT 1::VARCHAR"); got != "1" || err != nil {
		t.Error(got, err)
	}
}

// TestPushFiltersLeavesSettings asserts that looking for filters changes nothing that the user has set, or sees.
func TestPushFiltersLeavesSettings(t *testing.T) {
	s := alone(t)
	nothing := func(*Result) error { return nil }
	if err := s.Run(t.Context(), `CREATE DATABASE db; CREATE TABLE t (id INT, v STRING); SET disabled_optimizers = 'top_n';
		SELECT * FROM t WHERE id IN (1, 3, 5, 7, 9, 11, 13)`, nothing); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, want string }{
		{"SELECT current_setting('disabled_optimizers')", "top_n"},
		{"SELECT count(*)::VARCHAR FROM duckdb_tables()", "0"},
	} {
		if got, err := s.text(t.Context(), c.query); got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", c.query, got, err, c.want)
		}
	}
}

// TestOneStateInAStatement asserts that a statement that names a table several times sees one snapshot of it, the next one the
// newest.
func TestOneStateInAStatement(t *testing.T) {
	ctx := t.Context()
	cat, err := tarn.Open(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, other := NewSession(cat, Options{Database: "db", Threads: 1}), NewSession(cat, Options{Database: "db", Threads: 1})
	defer func() {
		if err := errors.Join(s.Close(), other.Close()); err != nil {
			t.Error(err)
		}
	}()
	insert := func() {
		t.Helper()
		if err := other.Run(ctx, `INSERT INTO t VALUES (1)`, func(*Result) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Run(ctx, `CREATE DATABASE db; CREATE TABLE t (id INT)`, func(*Result) error { return nil }); err != nil {
		t.Fatal(err)
	}
	insert()
	stmts, err := parse.Script(`SELECT * FROM t x, t y, t FOR VERSION AS OF 1 AS z`)
	if err != nil {
		t.Fatal(err)
	}
	rows := func() (out []int64) {
		for i := range 3 {
			src, err := s.resolve(ctx, &stmts[0].(*parse.Query).Refs[i])
			if err != nil {
				t.Fatal(err)
			}
			insert()
			p, err := src.table.Scan(tarn.ScanOptions{}).Plan(ctx)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p.Rows())
		}
		return out
	}
	if got := rows(); !slices.Equal(got, []int64{1, 1, 1}) {
		t.Errorf("rows as a statement sees them: %d", got)
	}
	var seen string
	if err := s.Run(ctx, `SELECT count(*) FROM t`, func(r *Result) error {
		rec, err := r.Next(ctx)
		if err == nil {
			seen = rec.Column(0).ValueStr(0)
		}
		return err
	}); err != nil || seen != "4" {
		t.Errorf("the next statement sees %s rows, %v", seen, err)
	}
}
