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
