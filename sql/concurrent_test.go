//go:build duckdb_arrow && cgo

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
)

// The engine goes on with a scan on another thread than it began on, for one when the result streams.
func TestWritesFromTheTableItself(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true')`)
		for range 3 {
			must(t, s, `INSERT INTO t SELECT range, 'value ' || range FROM range(200000)`)
		}
		must(t, s, `INSERT INTO t SELECT id + 200000, upper(s) FROM t`)
		want(t, s, `SELECT count(*), count(DISTINCT id), count(DISTINCT s) FROM t`, "400000|400000|400000")
		must(t, s, `UPDATE t SET s = s || '!' WHERE id % 2 = 0`)
		want(t, s, `SELECT count(*) FROM t WHERE suffix(s, '!')`, "200000")
		must(t, s, `INSERT OVERWRITE t SELECT id, s FROM t WHERE id % 4 = 0`)
		want(t, s, `SELECT count(*), sum(id) FROM t`, "100000|19999800000")
		must(t, s, `DELETE FROM t WHERE id IN (SELECT id + 4 FROM t WHERE id < 100)`)
		want(t, s, `SELECT count(*), min(id) FROM t WHERE id < 200`, "25|0")
		must(t, s, `INSERT OVERWRITE t SELECT * FROM t WHERE false`)
		want(t, s, `SELECT count(*) FROM t`, "0")
	})
}

// What is interrupted, at whatever moment, has done nothing, and the session goes on.
func TestInterruptedStatements(t *testing.T) {
	both(t, func(t *testing.T, s *sql.Session) {
		must(t, s, `CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true')`)
		for range 2 {
			must(t, s, `INSERT INTO t SELECT range, 'value ' || range FROM range(100000)`)
		}
		for i := range 6 {
			for _, q := range []string{`SELECT * FROM t a JOIN t b USING (s) ORDER BY a.s`, `INSERT INTO t SELECT range + 1000000, 'x' FROM range(100000000)`, `UPDATE t SET s = s || (SELECT count(*) FROM range(100000000000))`} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i*12)*time.Millisecond)
				_, err := run(ctx, s, q)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) && (err != nil || q[0] != 'S') {
					t.Errorf("%s: error %v, want that of the context", q, err)
				}
			}
			want(t, s, `SELECT count(*), min(s), max(s) FROM t`, "100000|value 0|value 99999")
		}
		want(t, s, `SELECT count(*) FROM t$snapshots`, "2")
	})
}

// Sessions that write to one table at the same time lose nothing of each other.
func TestRacingSessions(t *testing.T) {
	dir := t.TempDir()
	cat, err := tarn.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := sql.NewSession(cat, sql.Options{Database: "db"})
	defer func() { _ = s.Close() }()
	must(t, s, `CREATE DATABASE db; CREATE TABLE t (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			cat, err := tarn.Open(t.Context(), dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			s := sql.NewSession(cat, sql.Options{Database: "db", Threads: 1})
			defer func() { _ = s.Close() }()
			for i := range 8 {
				if _, err := run(t.Context(), s, fmt.Sprintf(`INSERT INTO t VALUES (%d, 0); UPDATE t SET v = v + 1 WHERE id = %[1]d; SELECT count(*) FROM t`, w*100+i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want(t, s, `SELECT count(*), sum(v) FROM t`, "32|32")
}
