//go:build duckdb_arrow && cgo

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
)

// session opens a session on a new lake with a database db. raw says whether the engine may read
// files itself.
func session(t *testing.T, raw bool) *sql.Session {
	t.Helper()
	cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := sql.NewSession(cat, sql.Options{Database: "db", Threads: 2, NoRaw: !raw})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	must(t, s, "CREATE DATABASE db")
	return s
}

// both runs a test with files read by the engine and by the library.
func both(t *testing.T, f func(t *testing.T, s *sql.Session)) {
	for _, raw := range []bool{true, false} {
		t.Run(fmt.Sprintf("raw=%t", raw), func(t *testing.T) { f(t, session(t, raw)) })
	}
}

func run(ctx context.Context, s *sql.Session, text string) (string, error) {
	var out strings.Builder
	err := s.Run(ctx, text, func(r *sql.Result) error {
		for {
			rec, err := r.Next(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for row := range int(rec.NumRows()) {
				for c, col := range rec.Columns() {
					if c > 0 {
						out.WriteByte('|')
					}
					out.WriteString(col.ValueStr(row))
				}
				out.WriteByte('\n')
			}
		}
	})
	return out.String(), err
}

func must(t *testing.T, s *sql.Session, text string) string {
	t.Helper()
	out, err := run(t.Context(), s, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func want(t *testing.T, s *sql.Session, query, rows string) {
	t.Helper()
	if d := cmp.Diff(strings.ReplaceAll(rows, " / ", "\n"), strings.TrimSpace(must(t, s, query))); d != "" {
		t.Errorf("%s: -want +got\n%s", query, d)
	}
}

func fails(t *testing.T, s *sql.Session, query string, is error, text string) {
	t.Helper()
	_, err := run(t.Context(), s, query)
	if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: error %v, want one that tells %q (%v)", query, err, text, is)
	}
}

func TestSessionKeyedTable(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE users (id BIGINT NOT NULL, name STRING, age INT DEFAULT '7', PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')`)
		must(t, s, `INSERT INTO users VALUES (1, 'ann', 30), (2, 'bob', 40), (3, 'cy', 50)`)
		must(t, s, `INSERT INTO users VALUES (2, 'bo', 41), (4, 'di''s', 20)`)
		all := `SELECT id, name, age FROM users ORDER BY id`
		want(t, s, all, "1|ann|30 / 2|bo|41 / 3|cy|50 / 4|di's|20")
		want(t, s, `SELECT count(*), sum(age) FROM db.users`, "4|141")
		want(t, s, `SELECT count(*) FROM users WHERE name LIKE 'b%' OR age < 25`, "2")

		must(t, s, `UPDATE users SET age = age + 1, name = upper(name) WHERE age > 25`)
		want(t, s, all, "1|ANN|31 / 2|BO|42 / 3|CY|51 / 4|di's|20")
		must(t, s, `DELETE FROM users WHERE age = 51 OR id IN (SELECT id FROM users WHERE age = 20)`)
		want(t, s, all, "1|ANN|31 / 2|BO|42")
		must(t, s, `INSERT INTO users (name, id) SELECT 'new', 9`) // age: its default
		want(t, s, `SELECT * FROM users WHERE id = 9`, "9|new|7")

		// A table that is named several times is read several times.
		want(t, s, `SELECT a.id, b.id FROM users a JOIN users b ON a.id < b.id ORDER BY 1, 2`, "1|2 / 1|9 / 2|9")
		want(t, s, `WITH users AS (SELECT 5 AS id) SELECT id FROM users`, "5")

		// Older states and system tables.
		want(t, s, `SELECT count(*) FROM users FOR SYSTEM_VERSION AS OF 1`, "3")
		want(t, s, `SELECT count(*) FROM users VERSION AS OF 2`, "4")
		want(t, s, `SELECT count(*) FROM users /*+ OPTIONS('scan.snapshot-id'='1') */`, "3")
		want(t, s, `SELECT count(*) FROM users$snapshots`, "5")
		want(t, s, `SELECT rowkind, id, age FROM users$audit_log WHERE age < 100 AND rowkind <> '-D' ORDER BY id`, "+U|1|31 / +U|2|42 / +I|9|7")
		want(t, s, `SELECT count(*) FROM "users$ro"`, "0")
		must(t, s, `CALL sys.create_tag('db.users', 'first', 1)`)
		want(t, s, `SELECT name FROM users VERSION AS OF 'first' WHERE id = 2`, "bob")
		want(t, s, `SELECT tag_name FROM users$tags`, "first")
		must(t, s, `CALL sys.compact(table => 'db.users')`)
		want(t, s, all, "1|ANN|31 / 2|BO|42 / 9|new|7")
		want(t, s, `SELECT name, age FROM users$ro WHERE id > 1 ORDER BY id`, "BO|42 / new|7")
		want(t, s, `SELECT rowkind, count(id) FROM users$binlog WHERE age[1] < 40 GROUP BY 1 ORDER BY 1`, "+I|1 / +U|1")
		want(t, s, `SELECT count(*) FROM users WHERE id >= 2 AND name = 'new'`, "1")

		must(t, s, `TRUNCATE TABLE users`)
		want(t, s, `SELECT count(*) FROM users`, "0")
		must(t, s, `INSERT INTO users SELECT range, 'n' || range, range % 100 FROM range(100000)`)
		want(t, s, `SELECT count(*), sum(id), max(name) FROM users WHERE age < 10`, "10000|499545000|n99909")
	})
}

func TestSessionPartitionedAppendTable(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE log (ts TIMESTAMP(3), level STRING, n INT, dt DATE) PARTITIONED BY (dt)`)
		must(t, s, `INSERT INTO log VALUES (TIMESTAMP '2026-01-02 03:04:05.678', 'info', 1, DATE '2026-01-02'), (NULL, 'warn', 2, DATE '2026-01-03')`)
		want(t, s, `SELECT * FROM log WHERE dt = DATE '2026-01-02'`, "2026-01-02T03:04:05.678|info|1|2026-01-02")
		want(t, s, `SELECT n FROM log WHERE ts > TIMESTAMP '2026-01-02 00:00:00'`, "1")
		must(t, s, `INSERT OVERWRITE log PARTITION (dt = '2026-01-03') SELECT NULL, 'err', 5`)
		want(t, s, `SELECT level, n, dt FROM log ORDER BY n`, "info|1|2026-01-02 / err|5|2026-01-03")
		// A partition without a value is that of each row.
		must(t, s, `INSERT OVERWRITE log PARTITION (dt) SELECT NULL, 'new', n, dt FROM log WHERE n = 5`)
		want(t, s, `SELECT level, n, dt FROM log ORDER BY n`, "info|1|2026-01-02 / new|5|2026-01-03")
		want(t, s, `SELECT count(*), sum(record_count) FROM log$partitions`, "2|2")
		must(t, s, `ALTER TABLE log DROP PARTITION (dt = '2026-01-02')`)
		want(t, s, `SELECT count(*) FROM log`, "1")
		fails(t, s, `DELETE FROM log WHERE n = 5`, tarn.ErrUnsupported, "no primary key")
	})
}

// Rows of a table without a key are deleted and updated where deletion vectors are enabled, whatever the condition.
func TestSessionDeletesWithoutKey(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE log (n INT, level STRING, t TIMESTAMP(9), p STRING) PARTITIONED BY (p) WITH ('deletion-vectors.enabled' = 'true')`)
		must(t, s, `INSERT INTO log SELECT range, 'l' || range % 10, NULL, 'p' || range % 3 FROM range(1000)`)
		must(t, s, `INSERT INTO log SELECT range, 'l' || range % 10, NULL, 'p' || range % 3 FROM range(1000, 2000)`)
		all := `SELECT count(*), sum(n) FROM log`
		want(t, s, all, "2000|1999000")
		must(t, s, `DELETE FROM log WHERE n % 2 = 1 AND p = 'p1'`)
		want(t, s, all, "1666|1665000")
		must(t, s, `DELETE FROM log WHERE n % 2 = 1 AND p = 'p1'`)
		want(t, s, `SELECT max(snapshot_id) FROM log$snapshots`, "3")
		must(t, s, `DELETE FROM log AS l WHERE n = (SELECT max(n) FROM log) OR level = 'l7' OR l.n IN (SELECT n + 1 FROM log WHERE n = 20)`)
		want(t, s, `SELECT count(*) FROM log WHERE n = 1999 OR n = 21 OR level = 'l7'`, "0")
		want(t, s, `SELECT count(*) FROM log VERSION AS OF 2 WHERE n = 1999 OR n = 21 OR level = 'l7'`, "202")
		must(t, s, `UPDATE log SET level = 'new', p = 'p9', n = -n WHERE n BETWEEN 10 AND 19 AND p <> 'p0'`)
		want(t, s, `SELECT n, level FROM log WHERE p = 'p9' ORDER BY n`, "-16|new / -14|new / -11|new / -10|new")
		want(t, s, `SELECT n FROM log WHERE n BETWEEN 10 AND 20 ORDER BY n`, "12 / 15 / 18 / 20")
		must(t, s, `CALL sys.compact(table => 'db.log')`)
		want(t, s, `SELECT n FROM log WHERE n BETWEEN 10 AND 20 ORDER BY n`, "12 / 15 / 18 / 20")
		want(t, s, `SELECT count(*) FROM log WHERE n = 1999 OR n = 21 OR level = 'l7'`, "0")
		must(t, s, `DELETE FROM log`)
		want(t, s, all, "0|(null)")
	})
}

func TestSessionTypes(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE ty (
			b BOOLEAN, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, d1 DECIMAL(9, 2), d2 DECIMAL(38, 10),
			st STRING, vc VARCHAR(10), ch CHAR(3), bi BYTES, dt DATE, tm TIME(3), t0 TIMESTAMP(0), t6 TIMESTAMP(6), t9 TIMESTAMP(9),
			tz TIMESTAMP_LTZ(6), ar ARRAY<INT>, ma MAP<STRING, INT>, ro ROW<a INT, b STRING>)`)
		must(t, s, `INSERT INTO ty VALUES (true, 1, 2, 3, 4, 1.5, 2.5, 12.34, 1234567890.0123456789, 'x', 'y', 'abc', '\x01\x02'::BLOB,
			DATE '2026-01-02', TIME '01:02:03.004', TIMESTAMP '2026-01-02 03:04:05', TIMESTAMP '2026-01-02 03:04:05.123456',
			'2026-01-02 03:04:05.123456789'::TIMESTAMP_NS, TIMESTAMPTZ '2026-01-02 03:04:05.123456+01', [1, NULL, 3], MAP {'k': 1}, {'a': 1, 'b': 'z'})`)
		must(t, s, `INSERT INTO ty (i) VALUES (0)`)
		want(t, s, `SELECT b, t, s, i, l, f, d, d1, d2, st, vc, ch, bi, dt FROM ty WHERE i = 3`,
			"true|1|2|3|4|1.5|2.5|12.34|1234567890.0123456789|x|y|abc|AQI=|2026-01-02")
		want(t, s, `SELECT tm::VARCHAR, t0::VARCHAR, t6::VARCHAR, t9::VARCHAR, tz::VARCHAR, ar::VARCHAR, ma::VARCHAR, ro::VARCHAR FROM ty WHERE i = 3`,
			"01:02:03.004|2026-01-02 03:04:05|2026-01-02 03:04:05.123456|2026-01-02 03:04:05.123456789|2026-01-02 02:04:05.123456+00|[1, NULL, 3]|{k=1}|{'a': 1, 'b': z}")
		want(t, s, `SELECT count(*) FROM ty WHERE b IS NULL AND ro IS NULL AND ar IS NULL AND t9 IS NULL AND bi IS NULL`, "1")
		must(t, s, `CREATE TABLE copy AS SELECT * FROM ty`)
		want(t, s, `SELECT count(*) FROM (SELECT * FROM ty EXCEPT SELECT * FROM copy)`, "0")
		want(t, s, `SELECT count(*) FROM copy WHERE d1 = 12.34 AND t6 >= TIMESTAMP '2026-01-02 03:04:05.123456' AND dt < DATE '2026-02-01' AND st = 'x'`, "1")
	})
}

func TestSessionEvolution(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE e (id INT NOT NULL, a INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
		must(t, s, `INSERT INTO e VALUES (1, 1)`)
		must(t, s, `ALTER TABLE e ADD COLUMN b STRING`)
		must(t, s, `ALTER TABLE e ALTER COLUMN a TYPE BIGINT`)
		must(t, s, `ALTER TABLE e RENAME COLUMN a TO c`)
		must(t, s, `INSERT INTO e VALUES (2, 3000000000, 'x')`)
		want(t, s, `SELECT id, c, b FROM e ORDER BY id`, "1|1|(null) / 2|3000000000|x")
		want(t, s, `SELECT id FROM e WHERE c > 2`, "2")
		want(t, s, `SELECT count(*) FROM e$schemas`, "4")
		must(t, s, `ALTER TABLE e DROP COLUMN c`)
		want(t, s, `SELECT * FROM e ORDER BY id`, "1|(null) / 2|x")
	})
}

// A float's zeros and NaN follow SQL's rules, not the order of keys.
func TestSessionFloatFilters(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE fl (d DOUBLE)`)
		must(t, s, `INSERT INTO fl VALUES (-0.0::DOUBLE), ('NaN'), (1)`)
		must(t, s, `INSERT INTO fl VALUES (0.0)`)
		want(t, s, `SELECT count(*) FROM fl WHERE d = 0.0`, "2")
		want(t, s, `SELECT count(*) FROM fl WHERE d >= 0.0 AND d < 2`, "3")
		want(t, s, `SELECT count(*) FROM fl WHERE d > 5`, "1")
	})
}

func TestSessionErrors(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE users (id INT NOT NULL, n TINYINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
	fails(t, s, `SELECT * FROM db.user`, tarn.ErrNotExist, "user")
	fails(t, s, `SELECT nam FROM users`, nil, "nam")
	fails(t, s, `SELEC 1`, nil, "SELEC")
	fails(t, s, `INSERT INTO users VALUES (1, 300)`, nil, "")
	fails(t, s, `INSERT INTO users VALUES (NULL, 3)`, nil, "id")
	fails(t, s, `INSERT INTO users VALUES (1)`, nil, "")
	fails(t, s, `UPDATE users SET id = 2`, tarn.ErrInvalid, "primary key")
	fails(t, s, `CALL sys.nothing('users')`, tarn.ErrNotExist, "nothing")
	fails(t, s, `CALL sys.create_branch('users', 'b')`, tarn.ErrUnsupported, "create_branch")
	fails(t, s, `CREATE TABLE c AS SELECT 1 / x FROM users`, nil, "x")
	fails(t, s, `DESCRIBE c`, tarn.ErrNotExist, "c")
	want(t, s, `SELECT count(*) FROM users`, "0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, s, `SELECT count(*) FROM range(1000000000) a`); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}

func TestSessionShow(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE a (id INT NOT NULL COMMENT 'the key', dt STRING, PRIMARY KEY (id, dt) NOT ENFORCED) PARTITIONED BY (dt) WITH ('bucket' = '3')`)
	want(t, s, `SHOW DATABASES`, "db")
	want(t, s, `SHOW TABLES LIKE 'a%'`, "a")
	create := strings.TrimSpace(must(t, s, `SHOW CREATE TABLE a`))
	must(t, s, `DROP TABLE a`)
	must(t, s, create)
	if again := strings.TrimSpace(must(t, s, `SHOW CREATE TABLE a`)); again != create {
		t.Errorf("made from\n%s\nit says\n%s", create, again)
	}
}

// A session without catalog, and one that was closed, run nothing, and start no engine that nobody would end.
func TestSessionWrongUse(t *testing.T) {
	nobody := sql.NewSession(nil, sql.Options{})
	if err := nobody.Run(t.Context(), "SHOW DATABASES", nil); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("without catalog: %v", err)
	}
	if _, names := nobody.Complete(t.Context(), "SELECT * FROM a"); names != nil {
		t.Errorf("without catalog: %v", names)
	}
	s := session(t, true)
	if err := s.Run(t.Context(), "CREATE TABLE t (id INT); SELECT * FROM t", nil); err != nil {
		t.Errorf("results that nobody wants: %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = s.Run(t.Context(), "SELECT 1", func(*sql.Result) error { panic("the user's") })
	}()
	if err := s.Run(t.Context(), "SELECT 1", nil); err != nil {
		t.Errorf("after a panic: %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Run(t.Context(), "SELECT 1", nil); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := s.Query(t.Context(), "SELECT 1"); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("after Close: %v", err)
	}
}
