//go:build duckdb_arrow && cgo

package sql_test

import (
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
)

// DEFAULT stands for the column's default or NULL, wherever a row of VALUES may have it.
func TestInsertDefaults(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE t (id INT, s STRING DEFAULT 'it''s', n BIGINT DEFAULT 7, d DATE DEFAULT '2024-01-01', x INT, dt STRING DEFAULT 'p') PARTITIONED BY (dt)`)
	must(t, s, `INSERT INTO t VALUES (1, DEFAULT, default, DEFAULT, DEFAULT, DEFAULT)`)
	must(t, s, `INSERT INTO t VALUES (2, upper('default, default'), 3.6, DEFAULT, (DATE '2024-01-02' - DATE '2024-01-01'), 'q'), (3, 'x', DEFAULT, '2020-02-02', NULL, DEFAULT)`)
	must(t, s, `INSERT INTO t (N, ID) VALUES (DEFAULT, 4), (1, 5)`)
	must(t, s, `INSERT INTO t DEFAULT VALUES`)
	must(t, s, `INSERT INTO t PARTITION (dt = 'k') (x, s, id) VALUES (6, DEFAULT, 6)`)
	must(t, s, `INSERT INTO t PARTITION (dt = 'l') DEFAULT VALUES`)
	want(t, s, `SELECT * FROM t ORDER BY id, dt`, "1|it's|7|2024-01-01|(null)|p / 2|DEFAULT, DEFAULT|4|2024-01-01|1|q / 3|x|7|2020-02-02|(null)|p / "+
		"4|it's|7|2024-01-01|(null)|p / 5|it's|1|2024-01-01|(null)|p / 6|it's|7|2024-01-01|6|k / (null)|it's|7|2024-01-01|(null)|l / (null)|it's|7|2024-01-01|(null)|p")
	must(t, s, `INSERT OVERWRITE t PARTITION (dt = 'k') VALUES (DEFAULT, 'y', DEFAULT, DEFAULT, 1)`)
	want(t, s, `SELECT * FROM t WHERE dt = 'k'`, "(null)|y|7|2024-01-01|1|k")
	fails(t, s, `INSERT INTO t (id, s) VALUES (1, DEFAULT, DEFAULT)`, tarn.ErrInvalid, "the query has 3 columns, and there are 2")
	fails(t, s, `INSERT INTO t (id) DEFAULT VALUES`, tarn.ErrInvalid, "DEFAULT VALUES are of all columns")
	fails(t, s, `INSERT INTO t SELECT DEFAULT`, tarn.ErrInvalid, "DEFAULT")

	must(t, s, `CREATE TABLE k (id INT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
	fails(t, s, `INSERT INTO k DEFAULT VALUES`, tarn.ErrInvalid, "column id is NOT NULL")
	fails(t, s, `INSERT INTO k (v) VALUES (1)`, tarn.ErrInvalid, "column id is NOT NULL")
}

// BY NAME fills the columns that the query has, in any case and order.
func TestInsertByName(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE t (id INT, s STRING DEFAULT 'd', dt STRING) PARTITIONED BY (dt)`)
	must(t, s, `INSERT INTO t BY NAME SELECT 'x' AS DT, 1 AS Id`)
	must(t, s, `INSERT INTO t PARTITION (dt = 'y') BY NAME SELECT 's' AS s, 2 AS id`)
	must(t, s, `INSERT INTO t BY NAME SELECT * REPLACE (id + 2 AS id) FROM t`)
	want(t, s, `SELECT * FROM t ORDER BY id`, "1|d|x / 2|s|y / 3|d|x / 4|s|y")
	fails(t, s, `INSERT INTO t BY NAME SELECT 1 AS nope, 2 AS id`, tarn.ErrInvalid, `line 1, column 23: there is no column "nope"`)
	fails(t, s, `INSERT INTO t PARTITION (dt = 'y') BY NAME SELECT 1 AS id, 'x' AS dt`, tarn.ErrInvalid, `"dt" is given twice`)
	fails(t, s, `INSERT INTO t (id) BY NAME SELECT 1 AS id`, tarn.ErrInvalid, `line 1, column 20: a list of columns and BY NAME exclude each other`)

	must(t, s, `CREATE TABLE c (a INT, "A" INT, "A_1" INT)`)
	must(t, s, `INSERT INTO c BY NAME SELECT 2 AS "A", 3 AS "A_1"`)
	must(t, s, `INSERT INTO c BY NAME SELECT * FROM c`)
	want(t, s, `SELECT * FROM c`, "(null)|2|3 / (null)|2|3")
}

// Clauses of other databases behind an INSERT, UPDATE or DELETE are refused by name.
func TestClausesThatAreRefused(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE k (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
	for text, msg := range map[string]string{
		`INSERT INTO k VALUES (1, 2) RETURNING id`:                         "column 29: RETURNING is not supported",
		`INSERT INTO k SELECT 1, 2 RETURNING *`:                            "RETURNING is not supported",
		`UPDATE k SET v = 1 RETURNING id`:                                  "RETURNING is not supported",
		`DELETE FROM k RETURNING id`:                                       "RETURNING is not supported",
		`INSERT INTO k VALUES (1, 2) ON CONFLICT DO NOTHING`:               "column 29: ON CONFLICT is not supported",
		`INSERT INTO k (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET v=1`: "ON CONFLICT is not supported",
		`INSERT INTO k VALUES (1, 2) ON DUPLICATE KEY UPDATE v = 2`:        "ON DUPLICATE is not supported",
	} {
		fails(t, s, text, tarn.ErrInvalid, msg)
	}
	want(t, s, `SELECT count(*) FROM k`, "0")
}

// An UPDATE, too, tells which column and value do not fit.
func TestUpdateTellsWhatDoesNotFit(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE k (id INT, v INT, d DECIMAL(4, 1) DEFAULT 2.5, t9 TIMESTAMP(9), PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
		must(t, s, `INSERT INTO k VALUES (1, 10, 1, NULL), (2, 20, 2, NULL)`)
		fails(t, s, `UPDATE k SET v = 'abc' WHERE id = 2`, tarn.ErrInvalid, "update db.k: column v: value 'abc' does not fit INT")
		fails(t, s, `UPDATE k AS x SET d = x.d, V = x.v * 1000000000::BIGINT WHERE x.id = (SELECT max(id) FROM k)`, tarn.ErrInvalid, "column v: value '20000000000' does not fit INT")
		fails(t, s, `UPDATE k SET v = 1, d = v * 100`, tarn.ErrInvalid, "column d: value ")
		fails(t, s, `UPDATE k SET t9 = '9999-12-31 00:00:00'`, tarn.ErrInvalid, "column t9: value '9999-12-31 00:00:00' does not fit TIMESTAMP(9)")
		want(t, s, `SELECT * FROM k ORDER BY id`, "1|10|1|(null) / 2|20|2|(null)")
		must(t, s, `UPDATE k SET d = DEFAULT, v = DEFAULT, t9 = '2024-01-01' WHERE id = 1`)
		want(t, s, `SELECT id, v, d, CAST(t9 AS VARCHAR) FROM k ORDER BY id`, "1|(null)|2.5|2024-01-01 00:00:00 / 2|20|2|(null)")
	})
}

// What does not fit a part of a nested column is told with the column.
func TestPartsThatDoNotFit(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE k (id INT, a ARRAY<ARRAY<INT>>, r ROW<x INT, y DATE>, m MAP<STRING, ROW<a INT>>, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
		must(t, s, `INSERT INTO k VALUES (1, [[1]], {'x': 1}, MAP {'k': {'a': 1}})`)
		for _, c := range [][2]string{
			{`INSERT INTO k (id, a) VALUES (2, [['x']])`, "insert into db.k: column a: Could not convert string 'x' to INT32"},
			{`INSERT INTO k (id, a) SELECT 2, [[3000000000]]`, "insert into db.k: column a: "},
			{`INSERT INTO k (id, r) SELECT id, {'x': 'abc'} FROM k`, "insert into db.k: column r: Could not convert string 'abc' to INT32"},
			{`INSERT INTO k (id, r) VALUES (2, {'nope': 1})`, "insert into db.k: column r: "},
			{`INSERT INTO k (id, m) VALUES (2, MAP {'k': 1})`, "insert into db.k: column m: "},
			{`INSERT INTO k (id, m) VALUES (2, MAP {'k': 1}), (3, MAP {'k': {'a': 1}})`, "(INTEGER -> STRUCT(a INTEGER))"},
			{`UPDATE k SET r = {'x': 'abc'}`, "update db.k: column r: Could not convert string 'abc' to INT32"},
			{`UPDATE k SET a = [['x']] WHERE id = 1`, "update db.k: column a: Could not convert string 'x' to INT32"},
		} {
			fails(t, s, c[0], tarn.ErrInvalid, c[1])
		}
		want(t, s, `SELECT * FROM k`, `1|[[1]]|{"x":1,"y":null}|[{"key":"k","value":{"a":1}}]`)
	})
}

// PARTITION takes the names that folders of partitions have: B062.
func TestPartitionsByFolderName(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE t (id INT, ts TIMESTAMP(3)) PARTITIONED BY (ts)`)
	must(t, s, `INSERT INTO t VALUES (1, '2024-01-01 12:30:00'), (2, NULL), (3, '2024-01-01 12:30:01')`)
	must(t, s, `INSERT OVERWRITE t PARTITION (ts = '2024-01-01T12:30') VALUES (11)`)
	must(t, s, `INSERT OVERWRITE t PARTITION (ts = '__DEFAULT_PARTITION__') VALUES (12)`)
	must(t, s, `INSERT INTO t PARTITION (ts = '__DEFAULT_PARTITION__') VALUES (22)`)
	must(t, s, `ALTER TABLE t DROP PARTITION (ts = '2024-01-01T12:30:01')`)
	want(t, s, `SELECT id, ts FROM t ORDER BY id`, "11|2024-01-01T12:30:00 / 12|(null) / 22|(null)")
	must(t, s, `TRUNCATE t PARTITION (ts = '__DEFAULT_PARTITION__')`)
	want(t, s, `SELECT id FROM t`, "11")
	must(t, s, `CREATE TABLE n (id INT, s STRING) PARTITIONED BY (s) WITH ('partition.default-name' = 'none')`)
	must(t, s, `INSERT INTO n PARTITION (s = 'none') VALUES (1)`)
	must(t, s, `INSERT INTO n PARTITION (s = '__DEFAULT_PARTITION__') VALUES (2)`)
	want(t, s, `SELECT id, s FROM n ORDER BY id`, "1|(null) / 2|__DEFAULT_PARTITION__")
}

// Values of one column may be written in several ways, as each is cast to the column's type.
func TestInsertValuesOfSeveralTypes(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE t (id INT, f DOUBLE, d DATE, s STRING DEFAULT 'x', a ARRAY<DOUBLE>)`)
	must(t, s, "INSERT INTO t VALUES (1, 'nan', '2024-01-01', 'y', ['1']), ('2', 1.5, DATE '2024-01-02', DEFAULT, [2.5]), (3, (SELECT f FROM db.t LIMIT 1), NULL, 5, NULL), (4, 1e308 + 0, `upper`('2024-01-04'), E'a\\nb', [])")
	want(t, s, `SELECT id, f, CAST(d AS VARCHAR), s FROM t ORDER BY id`, "1|NaN|2024-01-01|y / 2|1.5|2024-01-02|x / 3|(null)|(null)|5 / 4|1e+308|2024-01-04|a\nb")
	must(t, s, `INSERT INTO t (s) VALUES (1), (2.5), (TRUE), (DATE '2024-01-01')`)
	want(t, s, `SELECT s FROM t WHERE id IS NULL ORDER BY s`, "1 / 2.5 / 2024-01-01 / true")
	fails(t, s, `INSERT INTO t (id, f) VALUES (1, 'nan'), (2, 1.5, 3)`, tarn.ErrInvalid, "same length")
	fails(t, s, `INSERT INTO t (id, f) VALUES (1, 'nan'), (2, nope)`, tarn.ErrInvalid, "column 46: ")
	fails(t, s, `INSERT INTO t (id, f) VALUES (1, 'x'), (2, 1.5)`, nil, "'x'")
	fails(t, s, `INSERT INTO t (id, f) VALUES (1, 'x'), (2, '1.5')`, tarn.ErrInvalid, "column f: value 'x' does not fit DOUBLE")
	want(t, s, `SELECT count(id) FROM t`, "4")
}

// UPDATE and DELETE of merge engines do what the engine makes of such rows, or say what to do.
func TestChangesOfMergeEngines(t *testing.T) {
	s := session(t, true)
	for name, with := range map[string]string{
		"p": `'merge-engine' = 'partial-update'`, "pd": `'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true'`,
		"g": `'merge-engine' = 'partial-update', 'fields.g.sequence-group' = 'v', 'partial-update.remove-record-on-sequence-group' = 'g'`,
		"a": `'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum'`, "ad": `'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum', 'aggregation.remove-record-on-delete' = 'true'`,
		"f": `'merge-engine' = 'first-row'`,
	} {
		must(t, s, `CREATE TABLE `+name+` (id INT, v INT, g INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', `+with+`)`)
		must(t, s, `INSERT INTO `+name+` VALUES (1, 10, 1), (2, 20, 1)`)
	}
	for _, name := range []string{"p", "pd", "g"} {
		must(t, s, `UPDATE `+name+` SET v = v + 1 WHERE id = 1`)
		want(t, s, `SELECT * FROM `+name+` ORDER BY id`, "1|11|1 / 2|20|1")
	}
	for _, name := range []string{"pd", "g", "ad"} {
		must(t, s, `DELETE FROM `+name+` WHERE id = 2`)
		want(t, s, `SELECT id FROM `+name, "1")
	}
	for text, msg := range map[string]string{
		`DELETE FROM p`:       "DELETE from table db.p: ",
		`DELETE FROM a`:       "DELETE from table db.a: ",
		`UPDATE ad SET v = 1`: "UPDATE of table db.ad: ",
		`DELETE FROM f`:       "DELETE from table db.f: ",
		`UPDATE f SET v = 1`:  "UPDATE of table db.f: ",
	} {
		fails(t, s, text, tarn.ErrUnsupported, msg)
	}
}
