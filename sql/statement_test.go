//go:build duckdb_arrow && cgo

package sql_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
	"github.com/tarnlake/tarn/sql/parse"
)

// Columns that differ in case only are one to the engine: both have to be read and written all the same.
func TestColumnsThatDifferInCase(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE c (a INT, "A" INT, "A_1" INT, b INT)`)
		must(t, s, `INSERT INTO c VALUES (1, 2, 3, 4), (5, 6, 7, 8)`)
		want(t, s, `SELECT * FROM c ORDER BY 1`, "1|2|3|4 / 5|6|7|8")
		want(t, s, `SELECT "A_2", "A_1" FROM c WHERE "A_2" = 2 AND a = 1`, "2|3")
		want(t, s, `SELECT count(*) FROM c WHERE "A_1" = 3`, "1")
		must(t, s, `CREATE TABLE k (id INT, v INT, "V" INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
		must(t, s, `INSERT INTO k (id, "V", v) VALUES (1, 2, 3), (2, 4, 5)`)
		must(t, s, `UPDATE k SET "V" = 9 WHERE v = 3`)
		must(t, s, `DELETE FROM k WHERE "V_1" = 4`)
		want(t, s, `SELECT * FROM k`, "1|3|9")
	})
}

// Columns are found whatever their case, as in queries.
func TestColumnsInAnyCase(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE t (id INT, "Name" STRING, dt STRING, PRIMARY KEY (id, dt) NOT ENFORCED) PARTITIONED BY (dt) WITH ('bucket' = '1')`)
		must(t, s, `INSERT INTO t (ID, name, DT) VALUES (1, 'a', 'x')`)
		must(t, s, `INSERT INTO t PARTITION (DT = 'y') (ID, NAME) VALUES (2, 'b')`)
		must(t, s, `UPDATE t SET NAME = upper(NAME) WHERE ID = 1`)
		want(t, s, `SELECT * FROM t ORDER BY id`, "1|A|x / 2|b|y")
		fails(t, s, `INSERT INTO t (nam) VALUES (1)`, tarn.ErrInvalid, `line 1, column 16: there is no column "nam"`)
		fails(t, s, `UPDATE t SET name = 'x', NAME = 'y'`, tarn.ErrInvalid, `set twice`)
		fails(t, s, `INSERT INTO t (id, ID) VALUES (1, 2)`, tarn.ErrInvalid, `given twice`)
		fails(t, s, `INSERT INTO t PARTITION ("Name" = 'x') (id) VALUES (1)`, tarn.ErrInvalid, `no partition column`)
		fails(t, s, `INSERT INTO t PARTITION (dt = 'x') (id, dt) VALUES (1, 'y')`, tarn.ErrInvalid, `given twice`)
		fails(t, s, `TRUNCATE t PARTITION (id = 1)`, tarn.ErrInvalid, `no partition column`)
	})
}

// The engine drops columns that have no name in a list of aliases: a query that is too wide has to be refused, too.
func TestInsertOfOtherWidth(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE t (a INT, b INT)`)
	for _, q := range []string{`VALUES (1, 2, 3)`, `SELECT 1`, `SELECT 1, 2, 3`, `SELECT *, 1 FROM t`, `FROM range(3)`} {
		fails(t, s, `INSERT INTO t `+q, tarn.ErrInvalid, "columns, and there are 2 to fill")
	}
	fails(t, s, `INSERT INTO t (b) VALUES (1, 2)`, tarn.ErrInvalid, `the query has 2 columns, and there are 1 to fill: "b"`)
	want(t, s, `SELECT count(*) FROM t`, "0")
}

// What does not fit a column is refused with its name, not cut or turned into something else.
func TestValuesThatDoNotFit(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE t (id INT, v VARCHAR(3), c CHAR(2), b BINARY(2), vb VARBINARY(2), d DATE, t3 TIMESTAMP(3), t6 TIMESTAMP(6), t9 TIMESTAMP(9),
		z TIMESTAMP_LTZ(6), a ARRAY<VARCHAR(2)>, m MAP<VARCHAR(2), DATE>, r ROW<x CHAR(1), y TIMESTAMP(6)>, n DECIMAL(4, 1), PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
	for column, values := range map[string][]string{
		"v": {`'abcd'`, `'äöüß'`}, "c": {`'abc'`}, "b": {`'abc'::BLOB`}, "vb": {`'\x00\x01\x02'::BLOB`}, "d": {`'infinity'`, `'-infinity'::DATE`},
		"t3": {`'infinity'`}, "t6": {`'infinity'::TIMESTAMP`, `'-infinity'`}, "t9": {`'infinity'::TIMESTAMP`}, "z": {`'infinity'::TIMESTAMPTZ`},
		"a": {`['ab', 'abc']`}, "m": {`MAP {'abc': DATE '2024-01-01'}`, `MAP {'a': 'infinity'::DATE}`}, "r": {`{'x': 'ab', 'y': NULL}`, `{'x': 'a', 'y': 'infinity'::TIMESTAMP}`},
		"n": {`1000`, `-999.96`},
	} {
		for _, v := range values {
			fails(t, s, `INSERT INTO t (id, `+column+`) VALUES (1, `+v+`)`, tarn.ErrInvalid, "column "+column+":")
			fails(t, s, `INSERT INTO t (id, `+column+`) SELECT range, `+v+` FROM range(3)`, tarn.ErrInvalid, "column "+column+":")
		}
	}
	want(t, s, `SELECT count(*) FROM t`, "0")
	must(t, s, `INSERT INTO t (id, v, c, b, vb, a, n) VALUES (1, 'äöü', 'ab', 'ab'::BLOB, ''::BLOB, ['ab', NULL], 999.9)`)
	fails(t, s, `UPDATE t SET v = v || 'x'`, tarn.ErrInvalid, "column v:")
	want(t, s, `SELECT v, c, n FROM t`, "äöü|ab|999.9")
}

// Times lose what the column has no digits for.
func TestTimesAreCut(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE t (t0 TIMESTAMP(0), t1 TIMESTAMP(1), t3 TIMESTAMP(3), t5 TIMESTAMP(5), t8 TIMESTAMP(8), z2 TIMESTAMP_LTZ(2), h0 TIME(0), h2 TIME(2))`)
	must(t, s, `INSERT INTO t SELECT x, x, x, x, x, x AT TIME ZONE 'UTC', x::TIME, x::TIME FROM (VALUES (TIMESTAMP '2024-01-01 00:00:00.987654'), (TIMESTAMP '1969-12-31 23:59:59.987654')) v(x)`)
	want(t, s, `SELECT strftime(t0, '%f'), strftime(t1, '%f'), strftime(t3, '%f'), strftime(t5, '%f'), substr(t8::VARCHAR, 21), strftime(z2, '%f'), h0::VARCHAR, h2::VARCHAR FROM t ORDER BY t0 DESC`,
		"000000|900000|987000|987650|987654|980000|00:00:00|00:00:00.98 / 000000|900000|987000|987650|987654|980000|23:59:59|23:59:59.98")
}

// Errors of the engine show the line as the user wrote it, and what kind of error it is.
func TestEngineErrorsShowTheScript(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE t (id INT, n STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1'); INSERT INTO t VALUES (1, 'x')`)
		for _, c := range []struct {
			text, shown string
			is          error
		}{
			{"SELECT 1;\nSELECT 'ü', nope FROM t", "line 2, column 13: ", tarn.ErrInvalid},
			{"SELECT id\nFROM db.t x\nWHERE x.nope = 1", "line 3, column 7: ", tarn.ErrInvalid},
			{"SELECT a.id FROM t a JOIN t b USING (id) WHERE\n b.nope > 1", "line 2, column 2: ", tarn.ErrInvalid},
			{"INSERT INTO t\nSELECT id, nope FROM t", "line 2, column 12: ", tarn.ErrInvalid},
			{"INSERT INTO t\nVALUES (1, nope)", "line 2, column 12: ", tarn.ErrInvalid},
			{"UPDATE t SET\n n = nope", "line 2, column 6: ", tarn.ErrInvalid},
			{"UPDATE t SET n = 'x' WHERE\n nope = 1", "line 2, column 2: ", tarn.ErrInvalid},
			{"DELETE FROM t WHERE\n nope = 1", "line 2, column 2: ", tarn.ErrInvalid},
			{"CREATE TABLE n AS\nSELECT nope FROM t", "line 2, column 8: ", tarn.ErrInvalid},
			{"SELECT id\nFROM t\nWHERE id ==== 1", "line 3, column 10: ", tarn.ErrInvalid},
			{"SELECT id FROM t;\n\nSELECT CAST(n AS INT) FROM t", "line 3, column 8: ", nil},
		} {
			_, err := run(t.Context(), s, c.text)
			var e *sql.EngineError
			if err == nil || !strings.HasPrefix(err.Error(), c.shown) || !errors.As(err, &e) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s\n  error %v\n  want %s", c.text, err, c.shown)
				continue
			}
			if strings.Contains(err.Error(), "tarn_scan") || strings.Contains(err.Error(), "read_parquet") {
				t.Errorf("%s: the error tells of what is within: %v", c.text, err)
			}
		}
		var se *sql.StatementError
		if _, err := run(t.Context(), s, "SELECT 1;\n\n SELECT 2; SELECT error('x')"); !errors.As(err, &se) || se.Line != 3 {
			t.Errorf("%v, want an error of line 3", err)
		}
	})
}

// Statements that take nothing but a table's name work on tables of the lake; those that would keep it are refused.
func TestStatementsOverNames(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		dir := t.TempDir()
		must(t, s, `CREATE TABLE t (id INT, n STRING); INSERT INTO t VALUES (1, 'x'), (2, 'y')`)
		want(t, s, `TABLE t`, "1|x / 2|y")
		want(t, s, `TABLE db.t UNION ALL TABLE t ORDER BY id`, "1|x / 1|x / 2|y / 2|y")
		want(t, s, `SELECT column_name, count FROM (SUMMARIZE t)`, "id|2 / n|2")
		want(t, s, `SELECT count(*) FROM (DESCRIBE SELECT * FROM t)`, "2")
		must(t, s, `SUMMARIZE db.t`)
		must(t, s, `SUMMARIZE t VERSION AS OF 1`)
		csv := filepath.Join(dir, "x.csv")
		must(t, s, `COPY t TO `+parse.QuoteString(csv))
		if text, err := os.ReadFile(csv); err != nil || string(text) != "id,n\n1,x\n2,y\n" {
			t.Errorf("%q, %v", text, err)
		}
		must(t, s, `COPY db.t (n) TO `+parse.QuoteString(csv))
		want(t, s, `FROM read_csv(`+parse.QuoteString(csv)+`, hive_partitioning = false)`, "x / y")
		must(t, s, `COPY (SELECT id FROM t WHERE id = 2) TO `+parse.QuoteString(csv))
		want(t, s, `FROM read_csv(`+parse.QuoteString(csv)+`, hive_partitioning = false)`, "2")
		for _, q := range []string{
			`COPY t FROM ` + parse.QuoteString(csv), `CREATE VIEW v AS SELECT * FROM t`, `CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM t`,
			`CREATE MACRO m() AS TABLE SELECT * FROM t`, `CREATE MACRO m() AS (SELECT max(id) FROM t)`, `PREPARE p AS SELECT * FROM t`,
			`EXPLAIN INSERT INTO t SELECT * FROM t`, `WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a`, `WITH a AS (SELECT 1) DELETE FROM t`,
		} {
			fails(t, s, q, tarn.ErrInvalid, "not supported")
		}
		want(t, s, `CREATE TEMP TABLE tmp AS SELECT * FROM t; INSERT INTO tmp SELECT id + 2, n FROM t; UPDATE tmp SET n = 'z' WHERE id = 4; DELETE FROM tmp WHERE id = 1;
			SELECT * FROM tmp ORDER BY id; DROP TABLE tmp`, "2|y / 3|x / 4|z")
		fails(t, s, `SELECT * FROM tmp`, tarn.ErrNotExist, "tmp")
		fails(t, s, `INSERT INTO tmp VALUES (1)`, tarn.ErrNotExist, "tmp")
	})
}

// Several tables are dropped by one statement, or none of them.
func TestDropSeveralTables(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE a (id INT); CREATE TABLE b (id INT); CREATE TABLE c (id INT)`)
		fails(t, s, `DROP TABLE a, nope, b`, tarn.ErrNotExist, "nope")
		want(t, s, `SHOW TABLES`, "a / b / c")
		must(t, s, `DROP TABLE IF EXISTS a, nope, db.b, a`)
		want(t, s, `SHOW TABLES`, "c")
	})
}

func TestNamesOfTooManyParts(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		for _, q := range []string{`SELECT * FROM x.db.s.t`, `TABLE x.db.s.t`, `SELECT * FROM x.db.t`, `DESCRIBE x.db.t`, `SUMMARIZE x.db.t`, `INSERT INTO x.db.t VALUES (1)`, `DROP TABLE x.db.s.t`} {
			_, err := run(t.Context(), s, q)
			var e *sql.EngineError
			if errors.As(err, &e) {
				err = fmt.Errorf("%w: %s", err, e.Hint)
			}
			if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "at most two parts: database.table") {
				t.Errorf("%s: error %v", q, err)
			}
		}
	})
}

// Statements that DuckDB would run on tables of its own are refused by what they are, not by tables that are said not to be there.
func TestStatementsOfTheEngineOnly(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE t (id INT); INSERT INTO t VALUES (1)`)
		for _, q := range []string{
			`ANALYZE t`, `ANALYZE db.t`, `VACUUM t`, `CREATE INDEX i ON t (id)`, `CREATE INDEX i ON db.t (id)`, `PRAGMA table_info('t')`, `SELECT * FROM query_table('t')`,
			`SELECT * FROM query('SELECT * FROM t')`, `COMMENT ON TABLE t IS 'x'`, `COMMENT ON COLUMN db.t.id IS 'x'`,
		} {
			_, err := run(t.Context(), s, q)
			if err == nil || !strings.Contains(err.Error(), "not supported") || errors.Is(err, tarn.ErrNotExist) {
				t.Errorf("%s: error %v", q, err)
			}
		}
		fails(t, s, `ANALYZE nope`, tarn.ErrNotExist, "db.nope does not exist")
		fails(t, s, `SHOW CREATE TABLE t$files`, tarn.ErrInvalid, "system table")
		fails(t, s, `INSERT INTO t (id) PARTITION (x = 1) VALUES (1)`, tarn.ErrInvalid, "PARTITION stands before the columns")
		must(t, s, `CREATE TEMP TABLE own AS SELECT * FROM t; CREATE INDEX i ON own (id); ANALYZE own`)
	})
}

// A filter is printed with bare names in a plan: columns that read like SQL must not lead to another filter.
func TestFiltersOnConfusingNames(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE t (id INT, b BOOLEAN, a STRING, "id IS NULL" BOOLEAN, "a='x'" STRING, "NOT b" BOOLEAN, "id = 1" BOOLEAN, "x AND b" BOOLEAN, "optional: b" BOOLEAN)`)
		must(t, s, `INSERT INTO t VALUES (1, false, 'q', true, 'y', false, false, true, true)`)
		for _, cond := range []string{`"id IS NULL"`, `"a='x'" = 'y'`, `NOT "NOT b"`, `"NOT b" = false`, `NOT "id = 1"`, `"x AND b"`, `"optional: b"`, `id = 1 AND NOT b`} {
			want(t, s, `SELECT count(*) FROM t WHERE `+cond, "1")
		}
		must(t, s, `CREATE TABLE u (id INT, b BOOLEAN, a STRING, "id IS NULL" BOOLEAN, "a='x" STRING, "NOT b" BOOLEAN)`)
		must(t, s, `INSERT INTO u VALUES (1, false, 'q', true, 'y', false)`)
		for _, cond := range []string{`"id IS NULL"`, `"a='x" = 'y'`, `NOT "NOT b"`, `"NOT b" = false`, `id = 1 AND NOT b`} {
			want(t, s, `SELECT count(*) FROM u WHERE `+cond, "1")
		}
	})
}

// Arguments of procedures by position, by name, mixed, wrong, missing.
func TestCallArguments(t *testing.T) {
	cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(48 * time.Hour)
	s := sql.NewSession(cat, sql.Options{Database: "db", Threads: 1, Clock: func() time.Time { return later }})
	t.Cleanup(func() { _ = s.Close() })
	must(t, s, `CREATE DATABASE db; CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1'); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)`)
	for _, c := range []struct {
		call, text string
		is         error
	}{
		{`sys.compact()`, "argument table is missing", tarn.ErrInvalid},
		{`sys.compact('t', full => 'maybe')`, "neither true nor false", tarn.ErrInvalid},
		{`sys.compact('t', '', '', '', '', '', '', '', '', '', 1)`, "takes table, partitions", tarn.ErrInvalid},
		{`sys.compact('t', 'x=1')`, "no partition column x", tarn.ErrInvalid},
		{`sys.compact('t', order_strategy => 'order', order_by => 'id')`, "without a key", tarn.ErrInvalid},
		{`sys.compact('t', order_strategy => 'order')`, "go together", tarn.ErrInvalid},
		{`sys.compact('t', where => 'id > 1')`, "argument where", tarn.ErrUnsupported},
		{`sys.compact('t', options => 'x')`, "key=value", tarn.ErrInvalid},
		{`sys.compact('t', partition_idle_time => 'x')`, "length of time", tarn.ErrInvalid},
		{`sys.compact('t', compact_strategy => 'x')`, "neither full nor minor", tarn.ErrInvalid},
		{`sys.compact_database('nope')`, "no table is chosen", tarn.ErrNotExist},
		{`sys.compact_database('db', 'x')`, "mode", tarn.ErrInvalid},
		{`sys.compact_database('db', 'combined', '(')`, "no regular expression", tarn.ErrInvalid},
		{`sys.compact('t', "table" => 't')`, "given twice", tarn.ErrInvalid},
		{`sys.compact(nope => 't')`, "no argument nope", tarn.ErrInvalid},
		{`sys.compact(full => true, 't')`, "without a name cannot follow", tarn.ErrInvalid},
		{`sys.compact('nope')`, "nope", tarn.ErrNotExist},
		{`sys.compcat('t')`, "no procedure sys.compcat", tarn.ErrNotExist},
		{`other.compact('t')`, "no procedures of other", tarn.ErrInvalid},
		{`sys.create_tag('t')`, "argument tag is missing", tarn.ErrInvalid},
		{`sys.create_tag('t', 'x', 'y')`, `"y" is no number`, tarn.ErrInvalid},
		{`sys.create_tag('t', 'x', 77)`, "77", tarn.ErrNotExist},
		{`sys.delete_tag('t', 'nope')`, "nope", tarn.ErrNotExist},
		{`sys.expire_snapshots('t', 0)`, "retain_max", tarn.ErrInvalid},
		{`sys.expire_snapshots('t', retain_max => 1, retain_min => 5)`, "num-retained.min 5", tarn.ErrInvalid},
		{`sys.expire_snapshots('t', older_than => 'yesterday')`, "older_than", tarn.ErrInvalid},
		{`sys.remove_orphan_files('t', older_than => '0s')`, "before now", tarn.ErrInvalid},
		{`sys.remove_orphan_files('t', older_than => '2999-01-01')`, "before now", tarn.ErrInvalid},
		{`sys.remove_orphan_files('t', dry_run => 'perhaps')`, "dry_run", tarn.ErrInvalid},
		{`sys.rescale('t', 0)`, "bucket_num", tarn.ErrInvalid},
		{`sys.rescale('t', partitions => 'x=1')`, "no partition column x", tarn.ErrInvalid},
		{`sys.rescale('t', partitions => 'x')`, "write column=value", tarn.ErrInvalid},
		{`sys.rescale('t', partitions => 'x=1', partition => 'x=1')`, "one of them", tarn.ErrInvalid},
		{`sys.rollback_to('t', 1)`, "rollback_to", tarn.ErrUnsupported},
	} {
		fails(t, s, `CALL `+c.call, c.is, c.text)
	}
	want(t, s, `CALL sys.create_tag(tag => 'a', "table" => 'db.t', snapshot_id => 1)`, "tag a created")
	want(t, s, `CALL sys.create_tag('t', 'b')`, "tag b created")
	fails(t, s, `CALL sys.create_tag('t', 'b')`, nil, "exists")
	want(t, s, `SELECT tag_name, snapshot_id FROM t$tags ORDER BY 1`, "a|1 / b|2")
	want(t, s, `CALL sys.compact('t'); CALL sys.compact('t')`, "compacted, snapshot 3 / nothing to compact")
	must(t, s, `CREATE TABLE u (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1'); INSERT INTO u VALUES (1); INSERT INTO u VALUES (2)`)
	want(t, s, `CALL sys.compact('u', compact_strategy => 'minor'); CALL sys.compact('u', '', '', '', '', '', '1 d', 'full')`, "nothing to compact / nothing to compact")
	want(t, s, `CALL sys.compact_database('', '', '', 'db\.u'); CALL sys.compact_database('db', 'divided', '', '', '', '', 'full')`,
		"db.t: nothing to compact / db.t: nothing to compact / db.u: compacted, snapshot 3")
	must(t, s, `CREATE TABLE w (a INT, b INT); INSERT INTO w VALUES (3, 1), (NULL, 2), (1, 3)`)
	want(t, s, `CALL sys.compact('w', order_strategy => 'order', order_by => 'a'); SELECT * FROM w`, "compacted, snapshot 2 / (null)|2 / 1|3 / 3|1")
	want(t, s, `CALL sys.reset_consumer('t', 'c', 2); SELECT * FROM t$consumers; CALL sys.reset_consumer('t', 'c'); SELECT count(*) FROM t$consumers`, "consumer c goes on at 2 / c|2 / consumer c deleted / 0")
	// An age is counted from the session's clock: what was written just now is two days old for it.
	orphan := filepath.Join(cat.Warehouse(), "db.db", "t", "bucket-0", "data-00000000-0000-0000-0000-000000000000-0.parquet")
	if err := os.WriteFile(orphan, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, s, `CALL sys.remove_orphan_files('t', '72h')`, "0 files removed")
	want(t, s, `CALL sys.remove_orphan_files('t', '24h', true)`, "1 files would be removed")
	want(t, s, `CALL sys.remove_orphan_files('t', older_than => '`+later.Add(-24*time.Hour).UTC().Format(time.DateTime)+`')`, "1 files removed")
	want(t, s, `SELECT count(*) FROM t`, "2")
}

// The number of buckets of a table changes by ALTER TABLE, and that of its partitions by CALL sys.rescale or INSERT OVERWRITE.
func TestRescale(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE r (d STRING, k BIGINT, v INT, PRIMARY KEY (d, k) NOT ENFORCED) PARTITIONED BY (d) WITH ('bucket' = '1');
			INSERT INTO r SELECT d, k, k FROM range(50) AS x(k), (VALUES ('a'), ('b'), ('c')) AS y(d);
			ALTER TABLE r SET ('bucket' = '4')`)
		fails(t, s, `INSERT INTO r VALUES ('a', 1, 1)`, tarn.ErrInvalid, "sys.rescale")
		want(t, s, `CALL sys.rescale('r', partitions => 'd=a'); CALL sys.rescale('r', partitions => 'D = a')`, "rescaled, snapshot 2 / nothing to rescale")
		must(t, s, `INSERT OVERWRITE r SELECT * FROM r WHERE d = 'b'; INSERT INTO r VALUES ('a', 1, -1), ('b', 1, -1)`)
		fails(t, s, `INSERT INTO r VALUES ('c', 1, 1)`, tarn.ErrInvalid, "4 buckets")
		want(t, s, `CALL sys.rescale('r', 4)`, "rescaled, snapshot 5")
		must(t, s, `INSERT INTO r VALUES ('c', 1, -1)`)
		want(t, s, `SELECT d, count(*), sum(v) FROM r GROUP BY d ORDER BY d`, "a|50|1223 / b|50|1223 / c|50|1223")
		want(t, s, `SELECT count(*) FROM r$buckets`, "12")
	})
}

// DuckDB does not know every compression that files have, LZ4 as Hadoop frames it: such files are read by the library,
// whenever and by whatever option they were written.
func TestCompressions(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE t (c STRING, n BIGINT)`)
		codecs := []string{"lz4", "none", "snappy", "gzip", "zstd", "lz4_raw"}
		for i, c := range codecs {
			must(t, s, `INSERT INTO t /*+ OPTIONS('file.compression' = '`+c+`') */ SELECT '`+c+`', range FROM range(1000)`)
			must(t, s, `CREATE TABLE t`+c+` (id INT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'file.compression' = '`+c+`')`)
			must(t, s, `INSERT INTO t`+c+` SELECT range, 'x' || range FROM range(1000); CALL sys.compact('t`+c+`')`)
			want(t, s, `SELECT count(*), sum(length(s)) FROM t`+c+` WHERE id >= 10`, "990|3870")
			want(t, s, `SELECT count(DISTINCT c), sum(n) FROM t`, fmt.Sprintf("%d|%d", i+1, (i+1)*499500))
		}
	})
}
