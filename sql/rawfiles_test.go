//go:build duckdb_arrow && cgo

package sql_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
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

// A damaged page that the engine reads itself is told as what it is, and the scan that is advised names the file.
func TestDamagedRawFile(t *testing.T) {
	dir := t.TempDir()
	cat, err := tarn.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := sql.NewSession(cat, sql.Options{Database: "db", Threads: 1})
	t.Cleanup(func() { _ = s.Close() })
	must(t, s, `CREATE DATABASE db; CREATE TABLE t (id INT); INSERT INTO t SELECT range FROM range(1000)`)
	names, err := filepath.Glob(dir + "/db.db/t/bucket-0/*.parquet")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{4, 8, 20, 22, 26, 30, 34} { // in the header of the first page
		data := slices.Clone(whole)
		for i := range 4 {
			data[at+i] ^= 0x5a
		}
		if err := os.WriteFile(names[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := sql.NewSession(cat, sql.Options{Database: "db", Threads: 1}) // the engine remembers what files hold
		_, err := run(t.Context(), s, `SELECT sum(id) FROM t`)
		if e := (*sql.EngineError)(nil); !errors.As(err, &e) || !strings.Contains(e.Msg, ".parquet") &&
			(!strings.Contains(e.Msg, "damaged") || !strings.Contains(e.Hint, "'tarn.sql.raw-files' = 'false'")) {
			t.Errorf("byte %d: error %v, hint %q", at, err, e.Hint)
		}
		must(t, s, `SET 'tarn.sql.raw-files' = 'false'`)
		fails(t, s, `SELECT sum(id) FROM t`, nil, names[0])
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

// TestCountsOfRows asserts count(*), with files read by the engine and by the library: of tables with rows to merge and without,
// with deleted rows, of the past, and of some partitions.
func TestCountsOfRows(t *testing.T) {
	cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var sessions []*sql.Session
	for _, own := range []bool{false, true} {
		s := sql.NewSession(cat, sql.Options{Database: "db", Threads: 2, NoRaw: own})
		t.Cleanup(func() { _ = s.Close() })
		sessions = append(sessions, s)
	}
	counts := func(query, n string) {
		t.Helper()
		for _, s := range sessions {
			want(t, s, query, n)
		}
	}
	both := func(k, l string) {
		t.Helper()
		counts(`SELECT count(*) FROM k`, k)
		counts(`SELECT count(*) FROM (SELECT id FROM k)`, k)
		counts(`SELECT count(*) FROM l`, l)
		counts(`SELECT count(*) FROM k x, l y WHERE x.p = 99`, "0")
	}
	s := sessions[0]
	must(t, s, `CREATE DATABASE db; CREATE TABLE k (id INT, p INT, v STRING, PRIMARY KEY (id, p) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '2', 'write-only' = 'true');
		CREATE TABLE l (id INT, p INT, v STRING) PARTITIONED BY (p)`)
	both("0", "0")
	must(t, s, `INSERT INTO k SELECT range, range % 3, 'a' FROM range(3000); INSERT INTO l SELECT range, range % 3, 'a' FROM range(5000)`)
	both("3000", "5000")
	must(t, s, `INSERT INTO k SELECT range, range % 3, 'b' FROM range(1500, 4500); INSERT INTO l SELECT range, range % 3, 'b' FROM range(100)`)
	both("4500", "5100")
	must(t, s, `DELETE FROM k WHERE id < 300`)
	both("4200", "5100")
	counts(`SELECT count(*) FROM k WHERE p = 1`, "1400")
	counts(`SELECT count(*) FROM l WHERE p = 1`, "1700")
	counts(`SELECT count(*) FROM l WHERE p = 1 AND id < 10`, "6")
	counts(`SELECT count(*) FROM k FOR SYSTEM_VERSION AS OF 2`, "4500")
	must(t, s, `CALL sys.compact('k'); CALL sys.compact('l')`)
	both("4200", "5100")
	must(t, s, `ALTER TABLE k ADD COLUMN w INT; ALTER TABLE k DROP COLUMN v; INSERT INTO k VALUES (1, 1, 5), (4000, 1, 6)`)
	both("4201", "5100")
	counts(`SELECT count(*) FROM k WHERE p <> 1`, "2800")
	counts(`SELECT count(*), count(w) FROM k`, "4201|2")
	counts(`SELECT count(*) FROM k FOR SYSTEM_VERSION AS OF 1`, "3000")
	counts(`SELECT count(*) FROM "k$snapshots" WHERE snapshot_id <= 2`, "2")
	counts(`SELECT count(*) FROM (SELECT snapshot_id FROM "k$snapshots" WHERE snapshot_id <= 2)`, "2")
}
