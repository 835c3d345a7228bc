//go:build duckdb_arrow && cgo

package sql_test

import (
	"testing"

	"github.com/tarnlake/tarn"
)

// A result of types that the format does not have comes in types that it has: numbers as wider ones, all else as the
// engine's text.
func TestResultsOfForeignTypes(t *testing.T) {
	s := session(t, true)
	for expr, rows := range map[string]string{
		`255::UTINYINT, 65535::USMALLINT, 4294967295::UINTEGER, 18446744073709551615::UBIGINT`: "255|65535|4294967295|18446744073709551615",
		`json_array_length('[1,2]')`:                                            "2",
		`TIMESTAMP '2024-01-03 01:00:00' - TIMESTAMP '2024-01-01'`:              "2 days 01:00:00",
		`'a'::ENUM('a', 'b'), NULL::ENUM('a')`:                                  "a|(null)",
		`'101'::BIT, '10:00:00+02'::TIMETZ, TIME_NS '10:00:00.5'`:               "101|10:00:00+02|10:00:00.500",
		`UHUGEINT '340282366920938463463374607431768211455'`:                    "340282366920938463463374607431768211455",
		`BIGNUM '123456789012345678901234567890123456789012345'`:                "123456789012345678901234567890123456789012345",
		`[1, 2, 3]::INT[3], union_value(a := 1), {'a': 1}::VARIANT`:             "[1,2,3]|1|{'a': 1}",
		`MAP {'a'::ENUM('a'): [1::UTINYINT]}, {'x': 1::UINTEGER, 'y "z"': 'b'}`: `[{"key":"a","value":[1]}]|{"x":1,"y \"z\"":"b"}`,
		`1::UTINYINT AS a, 2 AS a -- the end`:                                   "1|2",
		`x FROM (VALUES ('b'::ENUM('b', 'a')), ('a')) v(x) ORDER BY x LIMIT 2`:  "a / b",
		`x FROM range(300000) r(i), (SELECT 7::UTINYINT AS x) LIMIT 2`:          "7 / 7",
		`x::UTINYINT FROM (VALUES (3), (1), (2)) v(x) ORDER BY x DESC`:          "3 / 2 / 1",
	} {
		want(t, s, "SELECT "+expr, rows)
	}
	must(t, s, `CREATE TEMP TABLE m AS SELECT 'ok'::ENUM('sad', 'ok') AS mood, 1::UTINYINT AS n`)
	want(t, s, `FROM m`, "ok|1")
	want(t, s, `SELECT column_name FROM (SUMMARIZE m)`, "mood / n")
	must(t, s, `CREATE TABLE c AS SELECT *, INTERVAL 1 DAY AS i FROM m`)
	want(t, s, `SELECT * FROM c`, "ok|1|1 day")
	want(t, s, `DESCRIBE c`, "mood|STRING|YES||| / n|SMALLINT|YES||| / i|STRING|YES|||")
	must(t, s, `PREPARE p AS SELECT 1::UTINYINT AS u, $1 AS v`)
	fails(t, s, `EXECUTE p(1)`, tarn.ErrUnsupported, "column u of the result")
	fails(t, s, "SELECT 1::UTINYINT,\n nope", tarn.ErrInvalid, "line 2, column 2: ")
	fails(t, s, "SELECT 1::UTINYINT,\n CAST('x' AS INT)", nil, "line 2, column 2: ")
}
