package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/bench/process"
	"github.com/tarnlake/tarn/sql"
)

// shapes are queries of many kinds: $t is the table of orders, $u one of users.
var shapes = []struct{ name, query string }{
	{"count(*)", "SELECT count(*) FROM $t"},
	{"min, max", "SELECT min(order_id), max(order_id), min(created), max(price) FROM $t"},
	{"sum of all", "SELECT " + all + " FROM $t"},
	{"GROUP BY text", "SELECT city, count(*), sum(amount) FROM $t GROUP BY city"},
	{"GROUP BY two", "SELECT status, qty, avg(price) FROM $t GROUP BY status, qty"},
	{"count distinct", "SELECT count(DISTINCT user_id) FROM $t"},
	{"DISTINCT", "SELECT DISTINCT status, city FROM $t"},
	{"key equals", "SELECT * FROM $t WHERE order_id = 1234567"},
	{"key between", "SELECT sum(qty) FROM $t WHERE order_id BETWEEN 500000 AND 510000"},
	{"filter of 1 %", "SELECT sum(amount) FROM $t WHERE price < 100"},
	{"modulo and text", "SELECT count(*), max(note) FROM $t WHERE order_id % 100 = 0"},
	{"expression of two columns", "SELECT count(*), max(note) FROM $t WHERE amount > price * 900"},
	{"LIKE within", "SELECT count(*) FROM $t WHERE note LIKE '%77%'"},
	{"LIKE prefix", "SELECT count(*), max(city) FROM $t WHERE note LIKE 'note 123%'"},
	{"IN", "SELECT sum(price) FROM $t WHERE city IN ('city-1', 'city-77', 'city-300')"},
	{"text functions", "SELECT sum(length(upper(note) || city)) FROM $t"},
	{"times", "SELECT date_trunc('month', created) AS m, count(*), max(updated) FROM $t GROUP BY m"},
	{"top 10", "SELECT * FROM $t ORDER BY price DESC, order_id LIMIT 10"},
	{"top 100 of text", "SELECT order_id, note FROM $t ORDER BY note LIMIT 100"},
	{"LIMIT", "SELECT * FROM $t LIMIT 20"},
	{"LIMIT with filter", "SELECT * FROM $t WHERE qty = 7 LIMIT 20"},
	{"window", "SELECT sum(r) FROM (SELECT row_number() OVER (PARTITION BY user_id ORDER BY created) AS r FROM $t)"},
	{"QUALIFY", "SELECT count(*), max(note) FROM (SELECT * FROM $t QUALIFY row_number() OVER (PARTITION BY city ORDER BY price DESC, order_id) <= 3)"},
	{"join", "SELECT country, sum(amount) FROM $t JOIN $u USING (user_id) GROUP BY country"},
	{"join with filter", "SELECT count(*), max(note) FROM $t o JOIN $u u ON o.user_id = u.user_id WHERE u.country = 'DE' AND u.name LIKE '%99'"},
	{"subquery", "SELECT count(*) FROM $t WHERE user_id IN (SELECT user_id FROM $u WHERE country = 'FR')"},
	{"correlated", "SELECT count(*) FROM $u u WHERE EXISTS (SELECT 1 FROM $t o WHERE o.user_id = u.user_id AND o.price > 9990)"},
	{"CTE twice", "WITH x AS (SELECT city, sum(amount) AS a FROM $t GROUP BY city) SELECT count(*) FROM x WHERE a > (SELECT avg(a) FROM x)"},
	{"UNION", "SELECT count(*) FROM (SELECT user_id FROM $t WHERE qty = 1 UNION SELECT user_id FROM $t WHERE qty = 2)"},
	{"ORDER BY all", "SELECT sum(n) FROM (SELECT row_number() OVER () AS n FROM (SELECT order_id FROM $t ORDER BY created))"},
	{"whole table", "SELECT * FROM $t"},
}

// runShapes prints for each query the CPU time over the files, by the first session, and over the table, by the second, the
// least of reps each, and the ratio.
func runShapes(ctx context.Context, s [2]*sql.Session, cat *tarn.Catalog, table, users, only string, reps int) error {
	var files [2]string
	for i, n := range []string{table, users} {
		b, err := dataFiles(ctx, cat, n)
		if err != nil {
			return err
		}
		files[i] = readParquet(slices.Concat(b...))
	}
	drain := func(s *sql.Session, q string) (time.Duration, time.Duration, error) {
		t, c := time.Now(), process.CPU()
		err := s.Run(ctx, q, func(r *sql.Result) error {
			for {
				if _, err := r.Next(ctx); err != nil {
					if errors.Is(err, io.EOF) {
						return nil
					}
					return err
				}
			}
		})
		return process.CPU() - c, time.Since(t), err
	}
	for _, q := range shapes {
		if only != "" && !strings.Contains(q.name, only) {
			continue
		}
		texts := [2]string{
			strings.NewReplacer("$t", files[0], "$u", files[1]).Replace(q.query),
			strings.NewReplacer("$t", "db."+table, "$u", "db."+users).Replace(q.query),
		}
		var cpu, wall [2]time.Duration
		for range reps {
			for k, text := range texts {
				c, w, err := drain(s[k], text)
				if err != nil {
					return fmt.Errorf("%s: %w", q.name, err)
				}
				if cpu[k] == 0 || c < cpu[k] {
					cpu[k] = c
				}
				if wall[k] == 0 || w < wall[k] {
					wall[k] = w
				}
			}
		}
		fmt.Printf("%-26s duckdb %8.1f ms  tarn %8.1f ms  %5.2f   wall %8.1f %8.1f  %5.2f\n", q.name, ms(cpu[0]), ms(cpu[1]), float64(cpu[1])/float64(cpu[0]), ms(wall[0]), ms(wall[1]), float64(wall[1])/float64(wall[0]))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
