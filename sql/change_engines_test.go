package sql_test

import (
	"testing"

	"github.com/tarnlake/tarn"
)

// UPDATE and DELETE of tables of each merge engine do what they say, or are refused and say what to do.
func TestChangesByEngine(t *testing.T) {
	s := session(t, false)
	rows := func(query, want string) {
		t.Helper()
		if got := must(t, s, query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	const columns = "(k INT NOT NULL, a INT, n STRING NOT NULL, g INT, b INT, l INT, c INT, t TIMESTAMP(9), PRIMARY KEY (k)) WITH ('bucket' = '1', 'merge-engine' = 'partial-update'"
	must(t, s, "CREATE TABLE p "+columns+", 'partial-update.remove-record-on-delete' = 'true')")
	must(t, s, "INSERT INTO p (k, a, n, b, t) VALUES (1, 1, 'x', 5, '2024-01-01 00:00:00.123456789'), (2, 2, 'y', 6, NULL), (3, 3, 'z', 7, NULL)")
	must(t, s, "UPDATE p SET a = a + 10, b = 8 WHERE k <> 2")
	rows("SELECT k, a, n, b, CAST(t AS VARCHAR) FROM p ORDER BY k", "1|11|x|8|2024-01-01 00:00:00.123456789\n2|2|y|6|(null)\n3|13|z|8|(null)\n")
	fails(t, s, "UPDATE p SET a = NULL WHERE k = 1", tarn.ErrInvalid, `column "a" cannot become NULL`)
	must(t, s, "DELETE FROM p WHERE a = 2")
	rows("SELECT k FROM p ORDER BY k", "1\n3\n")

	// A group is written as a whole, the rest of the row is not touched.
	must(t, s, "CREATE TABLE q "+columns+", 'fields.g.sequence-group' = 'b,l', 'fields.l.aggregate-function' = 'sum', 'partial-update.remove-record-on-sequence-group' = 'g')")
	must(t, s, "INSERT INTO q (k, a, n, g, b, l) VALUES (1, 1, 'x', 5, 1, 10), (2, 2, 'y', NULL, NULL, NULL)")
	must(t, s, "INSERT INTO q (k, n, g, b, l) VALUES (1, 'x', 6, 2, 5)")
	must(t, s, "UPDATE q SET a = 7")
	must(t, s, "UPDATE q SET b = NULL WHERE k = 1")
	rows("SELECT k, a, n, g, b, l FROM q ORDER BY k", "1|7|x|6|(null)|15\n2|7|y|(null)|(null)|(null)\n")
	fails(t, s, "UPDATE q SET b = 1 WHERE k = 2", tarn.ErrInvalid, "set them too")
	must(t, s, "UPDATE q SET b = 1, g = 1 WHERE k = 2")
	fails(t, s, "UPDATE q SET l = 1 WHERE k = 1", tarn.ErrUnsupported, `column "l" has the aggregate function sum`)
	must(t, s, "DELETE FROM q WHERE k = 1")
	rows("SELECT k, a, n, g, b, l FROM q ORDER BY k", "2|7|y|1|1|(null)\n")

	must(t, s, "CREATE TABLE o (k INT NOT NULL, a INT, PRIMARY KEY (k)) WITH ('bucket' = '1', 'merge-engine' = 'partial-update')")
	fails(t, s, "DELETE FROM o", tarn.ErrUnsupported, "partial-update.remove-record-on-delete")
	must(t, s, "CREATE TABLE g (k INT NOT NULL, a INT, PRIMARY KEY (k)) WITH ('bucket' = '1', 'merge-engine' = 'aggregation', 'fields.a.aggregate-function' = 'sum')")
	fails(t, s, "DELETE FROM g", tarn.ErrUnsupported, "aggregation.remove-record-on-delete")
	fails(t, s, "UPDATE g SET a = 1", tarn.ErrUnsupported, "INSERT what is to be added")
	must(t, s, "CREATE TABLE r (k INT NOT NULL, a INT, PRIMARY KEY (k)) WITH ('bucket' = '1', 'merge-engine' = 'aggregation', 'aggregation.remove-record-on-delete' = 'true')")
	must(t, s, "INSERT INTO r VALUES (1, 1), (2, 2)")
	must(t, s, "DELETE FROM r WHERE k = 1")
	rows("SELECT k, a FROM r", "2|2\n")
	must(t, s, "CREATE TABLE f (k INT NOT NULL, a INT, PRIMARY KEY (k)) WITH ('bucket' = '1', 'merge-engine' = 'first-row')")
	fails(t, s, "DELETE FROM f", tarn.ErrUnsupported, "first-row")
	fails(t, s, "UPDATE f SET a = 1", tarn.ErrUnsupported, "first-row")
	must(t, s, "CREATE TABLE i (k INT NOT NULL, a INT, PRIMARY KEY (k)) WITH ('bucket' = '1', 'ignore-delete' = 'true')")
	fails(t, s, "DELETE FROM i", tarn.ErrUnsupported, "ignore-delete")
	must(t, s, "INSERT INTO i VALUES (1, 1)")
	must(t, s, "UPDATE i SET a = NULL")
	rows("SELECT k, a FROM i", "1|(null)\n")
}
