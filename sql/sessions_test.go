//go:build duckdb_arrow && cgo

package sql_test

import (
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio/s3/s3test"
	"github.com/tarnlake/tarn/sql"
)

// Two sessions on one warehouse, each with a catalog of its own, see what the other does: rows, columns, tables that go and
// come back as others.
func TestTwoSessions(t *testing.T) {
	warehouses := map[string]*tarn.OpenOptions{t.TempDir(): nil}
	if srv, ok := s3test.Start(t); ok {
		warehouses[srv.Root()] = &tarn.OpenOptions{FileIO: srv.OptionMap()}
	}
	for warehouse, o := range warehouses {
		open := func() *sql.Session {
			cat, err := tarn.Open(t.Context(), warehouse, o)
			if err != nil {
				t.Fatal(err)
			}
			s := sql.NewSession(cat, sql.Options{Database: "db", Threads: 1})
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
		a, b := open(), open()
		must(t, a, `CREATE DATABASE db; CREATE TABLE t (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
		want(t, b, `SELECT count(*) FROM t`, "0")
		for range 3 {
			must(t, a, `INSERT INTO t SELECT range, 1 FROM range(10)`)
			must(t, b, `UPDATE t SET v = v + 1`)
			want(t, a, `SELECT count(*), sum(v), (SELECT max(snapshot_id) FROM t$snapshots) >= 2 FROM t`, "10|20|true")
		}
		must(t, b, `ALTER TABLE t RENAME COLUMN v TO w, ADD COLUMN x STRING`)
		must(t, a, `INSERT INTO t VALUES (10, 5, 'x')`)
		want(t, a, `SELECT sum(w), max(x) FROM t`, "25|x")
		must(t, a, `CALL sys.compact('t'); CALL sys.expire_snapshots('t', retain_max => 1, retain_min => 1)`)
		want(t, b, `SELECT count(*), max(x) FROM t`, "11|x")
		must(t, a, `CALL sys.create_tag('t', 'now'); TRUNCATE TABLE t`)
		want(t, b, `SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM t FOR VERSION AS OF 'now')`, "0|11")
		// Another table of the same name.
		must(t, a, `DROP TABLE t`)
		fails(t, b, `SELECT * FROM t`, tarn.ErrNotExist, "db.t does not exist")
		fails(t, b, `INSERT INTO t VALUES (1, 1, '')`, tarn.ErrNotExist, "db.t does not exist")
		must(t, a, `CREATE TABLE t (s STRING, n INT); INSERT INTO t VALUES ('new', 1)`)
		want(t, b, `SELECT * FROM t`, "new|1")
		must(t, b, `INSERT INTO t VALUES ('too', 2); ALTER TABLE t RENAME TO u`)
		want(t, a, `SELECT * FROM u ORDER BY n`, "new|1 / too|2")
		must(t, a, `CREATE TABLE t AS SELECT n FROM u`)
		want(t, b, `SELECT sum(n) FROM t`, "3")
		must(t, a, `DROP DATABASE db CASCADE`)
		want(t, b, `SHOW DATABASES`, "")
		fails(t, b, `SELECT * FROM u`, tarn.ErrNotExist, "u does not exist")
		must(t, b, `CREATE DATABASE db; CREATE TABLE u (k INT)`)
		want(t, a, `SELECT count(k) FROM u`, "0")
	}
}
