//go:build duckdb_arrow && cgo

package sql_test

import (
	"testing"

	"github.com/tarnlake/tarn"
)

// ALTER TABLE and the clauses of CREATE TABLE find columns in any case, as queries do, nested ones and those that an
// action before gave a name.
func TestAlterFindsColumnsInAnyCase(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE t (id INT, dt STRING, "Name" STRING, r ROW<a INT, "B" ROW<c INT>, l ARRAY<ROW<x INT>>>, m MAP<STRING, ROW<y INT>>, PRIMARY KEY (ID, DT) NOT ENFORCED)
		PARTITIONED BY (Dt) WITH ('bucket' = '1')`)
	must(t, s, `ALTER TABLE t DROP COLUMN IF EXISTS nope, DROP COLUMN IF EXISTS r.nope, DROP COLUMN IF EXISTS nope.a, DROP COLUMN IF EXISTS name.x,
		ADD COLUMN IF NOT EXISTS NAME INT, ADD COLUMN IF NOT EXISTS R.A INT, ADD COLUMN IF NOT EXISTS R.b.C INT`)
	want(t, s, `SELECT max(schema_id) FROM t$schemas`, "0")
	must(t, s, `ALTER TABLE t RENAME R.b TO bb, ALTER R.BB.C TYPE BIGINT, ALTER R.L.ELEMENT.X TYPE BIGINT, ALTER M.Value.Y TYPE BIGINT, ADD COLUMN M.VALUE.z INT AFTER Y,
		ALTER NAME FIRST, ADD COLUMN q INT AFTER NAME, ALTER Q COMMENT 'k', CHANGE NAME nn STRING, ALTER M AFTER ID, ADD COLUMN w INT AFTER Nn, ALTER NN AFTER W, ALTER Q SET DEFAULT 3, DROP COLUMN IF EXISTS W`)
	want(t, s, `DESCRIBE t`, "nn|STRING|YES||| / q|INT|YES||3|k / id|INT|NO|PRI|| / m|MAP<STRING, ROW<`y` BIGINT, `z` INT>>|YES||| / dt|STRING|NO|PRI PARTITION|| / "+
		"r|ROW<`a` INT, `bb` ROW<`c` BIGINT>, `l` ARRAY<ROW<`x` BIGINT>>>|YES|||")
	fails(t, s, `ALTER TABLE t DROP COLUMN ID`, tarn.ErrInvalid, "cannot drop primary key column id")
	fails(t, s, `ALTER TABLE t DROP COLUMN nope`, tarn.ErrInvalid, "column nope does not exist")

	// A name that is there as it is written comes first.
	must(t, s, `CREATE TABLE c (a INT, "A" INT)`)
	must(t, s, `ALTER TABLE c RENAME "A" TO b, ALTER b COMMENT 'was A', ALTER a COMMENT 'is a', ADD COLUMN "B" INT, ALTER "B" COMMENT 'is B', ALTER COLUMN b FIRST`)
	want(t, s, `DESCRIBE c`, "b|INT|YES|||was A / a|INT|YES|||is a / B|INT|YES|||is B")
}

// What CREATE TABLE cannot do is refused, not left out.
func TestCreateTableRefuses(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE a (id INT COMMENT 'key', v INT DEFAULT 1, PRIMARY KEY (id) NOT ENFORCED) COMMENT 'of a' WITH ('bucket' = '1')`)
	for _, text := range []string{`(x INT) LIKE a`, `(x INT, LIKE a)`, `(LIKE a, PRIMARY KEY (v) NOT ENFORCED)`, `LIKE a PARTITIONED BY (v)`, `LIKE a AS SELECT 1, 2`} {
		fails(t, s, `CREATE TABLE b `+text, tarn.ErrInvalid, "LIKE takes columns, keys and partitions")
	}
	fails(t, s, `CREATE TABLE b (x INT) USING csv`, tarn.ErrInvalid, "tables of csv are not supported")
	for _, q := range []string{`SELECT 1, 2`, `VALUES (1, 2, 3)`, `SELECT *, 1 FROM a`} {
		fails(t, s, `CREATE TABLE b (x INT) AS `+q, tarn.ErrInvalid, "and there are 1 to fill")
	}
	want(t, s, `SHOW TABLES`, "a")
	must(t, s, `CREATE TABLE b LIKE a`)
	want(t, s, `SELECT count(*) FROM b`, "0")
	must(t, s, `CREATE TABLE c (x INT, y STRING) USING paimon AS SELECT 1.6, 5`)
	want(t, s, `SELECT * FROM c`, "2|5")
	if a, b := must(t, s, `DESCRIBE EXTENDED a`), must(t, s, `DESCRIBE EXTENDED b`); len(a) != len(b) {
		t.Errorf("a table LIKE another is %s, the other %s", b, a)
	}
	fails(t, s, `CREATE TABLE d AS SELECT error('boom') FROM range(5)`, nil, "boom")
	fails(t, s, `CREATE TABLE d (a INT NOT NULL) AS SELECT NULL`, tarn.ErrInvalid, "column a is NOT NULL")
	want(t, s, `SHOW TABLES LIKE 'd%'`, "")
}

// SHOW CREATE TABLE gives a statement that makes the same table, whatever is in its names, comments and defaults.
func TestShowCreateTableRoundTrip(t *testing.T) {
	s := session(t, true)
	must(t, s, `CREATE TABLE t ("a""b" ROW<`+"`x``y`"+` INT COMMENT 'it''s', `+"`z.w`"+` ARRAY<MAP<STRING NOT NULL, ROW<`+"`from`"+` INT NOT NULL>>>> COMMENT E'line\nbreak',
		"ba`+"`"+`ck" INT, k DECIMAL(38, 10) DEFAULT 1e-3, bb BOOLEAN DEFAULT false, ts TIMESTAMP(9) DEFAULT '2024-01-01 00:00:00.123456789', vb VARBINARY(3), bi BINARY(2), c CHAR(3),
		v VARCHAR(7) DEFAULT 'it''s', d DATE DEFAULT '1500-02-28', ti TIME(3), z TIMESTAMP_LTZ(0) NOT NULL, m MULTISET<STRING>, va VARIANT, f FLOAT, g DOUBLE, t1 TINYINT, s1 SMALLINT, b8 BIGINT,
		PRIMARY KEY (Z, "ba`+"`"+`ck") NOT ENFORCED) COMMENT 'of ''t''' PARTITIONED BY ("BA`+"`"+`CK") WITH ('bucket' = '2', 'o''x' = 'y''z')`)
	text := must(t, s, `SHOW CREATE TABLE t`)
	before := must(t, s, `SELECT fields, partition_keys, primary_keys, options, comment FROM t$schemas`)
	must(t, s, `DROP TABLE t`)
	must(t, s, text)
	if after := must(t, s, `SELECT fields, partition_keys, primary_keys, options, comment FROM t$schemas`); after != before {
		t.Errorf("%s\nmakes\n%s\nwas\n%s", text, after, before)
	}
	if again := must(t, s, `SHOW CREATE TABLE t`); again != text {
		t.Errorf("then it is\n%s\nwas\n%s", again, text)
	}
}
