//go:build duckdb_arrow && cgo

package sql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
)

// TestPushFilters asserts which conditions reach the tables of a query: without them every file of a
// table is read.
func TestPushFilters(t *testing.T) {
	ctx := t.Context()
	cat, err := tarn.Open(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSession(cat, Options{Database: "db", Threads: 1})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
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
		{`SELECT * FROM a WHERE id > 5 AND id < 9`, "(id > 5 AND id < 9)"},
		{`SELECT * FROM a WHERE name = 'it''s' OR id IN (1, 2)`, "((id = 1 OR id = 2) OR name = 'it''s')"},
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
		{`WITH c AS (SELECT * FROM a) SELECT * FROM c x, c y WHERE x.id = 1 AND y.id = 2`, "((id = 1 OR id = 2) AND (id = 1 OR id = 2))"},
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

// TestInsertErrorNamesColumnAndValue asserts that a value that does not fit is found for the user.
func TestInsertErrorNamesColumnAndValue(t *testing.T) {
	cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSession(cat, Options{Database: "db", Threads: 1})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	nothing := func(*Result) error { return nil }
	if err := s.Run(t.Context(), `CREATE DATABASE db; CREATE TABLE src (v STRING); INSERT INTO src VALUES ('1'), ('300'); CREATE TABLE t (a INT, n TINYINT, d DATE)`, nothing); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`INSERT INTO t VALUES (1, 2, '2024-01-01'), (1, 300, '2024-01-01')`: "column n: value '300' does not fit TINYINT",
		`INSERT INTO t (n, a) SELECT v, 1 FROM src`:                         "column n: value '300' does not fit TINYINT",
		`INSERT INTO t SELECT 1, 2, 'no date'`:                              "column d: value 'no date' does not fit DATE",
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
