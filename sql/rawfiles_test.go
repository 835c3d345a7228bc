//go:build duckdb_arrow && cgo

package sql_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
)

// The engine reads the files of a lake on a local disk itself, however the warehouse is written; in memory it never does.
func TestRawFilesOfAnyLocalWarehouse(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	abs := filepath.ToSlash(filepath.Join(dir, "lake"))
	fill := func(s *sql.Session) {
		must(t, s, `CREATE DATABASE db`)
		must(t, s, `CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
		must(t, s, `INSERT INTO t VALUES (1, 'a'), (2, 'b')`)
		must(t, s, `CALL sys.compact('t')`)
	}
	for i, c := range []struct {
		warehouse string
		raw       bool
	}{
		{"lake", true},
		{"./lake", true},
		{"lake/../lake", true},
		{"file:lake", true},
		{abs, true},
		{"file://" + abs, true},
		{"memory://raw" + abs, false},
	} {
		cat, err := tarn.Open(t.Context(), c.warehouse, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := sql.NewSession(cat, sql.Options{Database: "db", Threads: 1})
		if i == 0 || !c.raw {
			fill(s)
		}
		plan, err := run(t.Context(), s, `EXPLAIN SELECT v FROM t WHERE id > 1`)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(plan, "READ_PARQUET"); got != c.raw {
			t.Errorf("warehouse %s: the engine reads files itself: %t, want %t", c.warehouse, got, c.raw)
		}
		want(t, s, `SELECT v FROM t WHERE id > 1`, "b")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRawFilesHaveTheTablesColumnsOnly asserts that columns that the engine's reader of Parquet makes up, and those that
// are in files of tables with a key, are none of a table's.
func TestRawFilesHaveTheTablesColumnsOnly(t *testing.T) {
	cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := sql.NewSession(cat, sql.Options{Database: "db", Threads: 1})
	t.Cleanup(func() { _ = s.Close() })
	must(t, s, `CREATE DATABASE db; CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
		CREATE TABLE f (id INT, filename STRING, FILE_ROW_NUMBER BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
		INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL); INSERT INTO f VALUES (1, 'x', 7), (2, NULL, 8); CALL sys.compact('t'); CALL sys.compact('f')`)
	for _, c := range []string{"filename", "FileName", `"file_row_number"`, "file_index", "`filename`", "_SEQUENCE_NUMBER", "_KEY_id", "rowid"} {
		fails(t, s, `SELECT `+c+` FROM t`, nil, "not found in FROM clause")
	}
	want(t, s, `SELECT * FROM t ORDER BY id`, "1|a / 2|b / 3|(null)")
	want(t, s, `SELECT * FROM f ORDER BY id`, "1|x|7 / 2|(null)|8")
	want(t, s, `SELECT filename, file_row_number FROM f WHERE id = 1`, "x|7")
	want(t, s, `SELECT id, (SELECT max(filename || t.v) FROM t WHERE t.id = f.id) FROM f WHERE filename = 'x'`, "1|xa")
	want(t, s, `SELECT x.b FROM t AS x(a, b) WHERE x.a = 2`, "b")
	want(t, s, `SELECT db.t.v FROM db.t JOIN db.f USING (id) WHERE t.id % 2 = 0`, "b")
	want(t, s, `SELECT count(*) FROM (DESCRIBE SELECT * FROM t)`, "2")
	plan := must(t, s, `EXPLAIN SELECT max(v) FROM t WHERE id % 2 = 0`)
	if strings.Contains(plan, "FILTER ") {
		t.Errorf("a condition on an expression is evaluated above the read of the file:\n%s", plan)
	}
}
