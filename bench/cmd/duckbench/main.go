// Command duckbench measures DuckDB on the files of a table and the SQL of tarn on the table itself, both
// by the same engine in process. It prints one JSON line with the members of tarnbench.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/bench/process"
	"github.com/tarnlake/tarn/sql"
)

const usage = `usage: duckbench scan|sql|dedup|shapes --dir=WAREHOUSE --table=NAME [--users=NAME] [--cols=10|2|filter] [--reps=4] [--query=1|2|3]
scan: DuckDB's read_parquet over the table's files; sql: tarn's SQL over the table;
dedup: the best of three queries by which DuckDB keeps the newest version of each key, or the one of --query;
shapes: queries of many kinds over the files and over the table, those whose name contains --query`

// The sum over all values as the other sides make it: strings by length, timestamps in ms, decimals by digits.
const (
	all = `sum(order_id)::HUGEINT + sum(user_id)::HUGEINT + sum(length(status))::HUGEINT + (sum(amount) * 100)::HUGEINT + sum(length(city))::HUGEINT
 + sum(length(note))::HUGEINT + sum(epoch_ms(created))::HUGEINT + sum(epoch_ms(updated))::HUGEINT + sum(qty)::HUGEINT + sum(trunc(price))::HUGEINT`
	two = `sum(order_id)::HUGEINT + (sum(amount) * 100)::HUGEINT`
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "duckbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	opt := map[string]string{"cols": "10", "reps": "4", "threads": "2"}
	for _, a := range args[min(1, len(args)):] {
		k, v, ok := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if !ok {
			return errors.New(usage)
		}
		opt[k] = v
	}
	reps, err1 := strconv.Atoi(opt["reps"])
	threads, err2 := strconv.Atoi(opt["threads"])
	if len(args) == 0 || err1 != nil || err2 != nil || reps < 1 || opt["table"] == "" {
		return errors.New(usage)
	}
	cat, err := tarn.Open(ctx, opt["dir"], nil)
	if err != nil {
		return err
	}
	if args[0] == "shapes" {
		bare, err := session(ctx, cat, threads, false)
		if err != nil {
			return err
		}
		defer bare.Close()
		s, err := session(ctx, cat, threads, true)
		if err != nil {
			return err
		}
		defer s.Close()
		return runShapes(ctx, [2]*sql.Session{bare, s}, cat, opt["table"], opt["users"], opt["query"], reps)
	}
	buckets, err := dataFiles(ctx, cat, opt["table"])
	if err != nil {
		return err
	}
	files := readParquet(slices.Concat(buckets...))
	// Sequence numbers differ in a bucket only, and a key lies in one bucket.
	var newest []string
	for _, b := range buckets {
		f := readParquet(b)
		newest = append(newest, "SELECT * FROM "+f+" WHERE _SEQUENCE_NUMBER IN (SELECT max(_SEQUENCE_NUMBER) FROM "+f+" GROUP BY _KEY_order_id)")
	}
	sum, where := all, ""
	switch opt["cols"] {
	case "2":
		sum = two
	case "filter":
		where = " WHERE price < 100"
	}
	query := func(from string) string { return "SELECT count(*) AS n, " + sum + " AS s FROM " + from + where }
	var queries []string
	switch args[0] {
	case "scan":
		queries = []string{query(files)}
	case "sql":
		queries = []string{query("db." + opt["table"])}
	case "dedup":
		queries = []string{
			query("(" + strings.Join(newest, " UNION ALL ") + ")"),
			query("(SELECT * FROM " + files + " QUALIFY row_number() OVER (PARTITION BY _KEY_order_id ORDER BY _SEQUENCE_NUMBER DESC) = 1)"),
			query("(SELECT s.* FROM (SELECT unnest([arg_max(struct_pack(order_id, user_id, status, amount, city, note, created, updated, qty, price), _SEQUENCE_NUMBER)]) AS s FROM " +
				files + " GROUP BY _KEY_order_id))"),
		}
	default:
		return errors.New(usage)
	}
	s, err := session(ctx, cat, threads, args[0] == "sql")
	if err != nil {
		return err
	}
	defer s.Close()
	best := line{}
	for i, q := range queries {
		if opt["query"] != "" && opt["query"] != strconv.Itoa(i+1) {
			continue
		}
		l, err := measure(ctx, s, q, reps)
		if err != nil {
			return err
		}
		if l.Query = i + 1; best.Query == 0 || l.CPU < best.CPU {
			best = l
		}
	}
	best.Impl, best.Mode, best.Memory = "duckdb", args[0], process.PeakMB()
	if args[0] == "sql" {
		best.Impl = "tarn"
	}
	return json.NewEncoder(os.Stdout).Encode(best)
}

// session is one as users have it, or with the settings that DuckDB has by itself.
func session(ctx context.Context, cat *tarn.Catalog, threads int, tarns bool) (*sql.Session, error) {
	s := sql.NewSession(cat, sql.Options{Threads: threads})
	if tarns {
		return s, nil
	}
	return s, s.Run(ctx, "RESET parquet_metadata_cache", func(*sql.Result) error { return nil })
}

type line struct {
	Impl    string  `json:"impl"`
	Mode    string  `json:"mode"`
	Query   int     `json:"query"`
	Rows    int64   `json:"rows"`
	Sum     int64   `json:"sum"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_s"`
	Cold    float64 `json:"cold_s"`
	Memory  int64   `json:"rss_mb"`
}

// readParquet is the call over files.
func readParquet(files []string) string {
	return "read_parquet(['" + strings.Join(files, "', '") + "'])"
}

// dataFiles are the files of a table, bucket by bucket.
func dataFiles(ctx context.Context, cat *tarn.Catalog, name string) ([][]string, error) {
	t, err := cat.Table(ctx, "db."+name)
	if err != nil {
		return nil, err
	}
	p, err := t.Scan(tarn.ScanOptions{}).Plan(ctx)
	if err != nil {
		return nil, err
	}
	splits, err := p.Splits(ctx)
	if err != nil {
		return nil, err
	}
	m := map[int][]string{}
	for _, s := range splits {
		m[s.Bucket] = append(m[s.Bucket], s.Files...)
	}
	var out [][]string
	for _, b := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[b])
	}
	return out, nil
}

// measure runs a query several times: median of all runs but the first.
func measure(ctx context.Context, s *sql.Session, query string, reps int) (line, error) {
	var l line
	var walls, cpus []float64
	for i := range reps {
		t, c := time.Now(), process.CPU()
		err := s.Run(ctx, query, func(r *sql.Result) error {
			for {
				rec, err := r.Next(ctx)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				l.Rows = rec.Column(0).(*array.Int64).Value(0)
				l.Sum = int64(rec.Column(1).(*array.Decimal128).Value(0).LowBits())
			}
		})
		if err != nil {
			return l, err
		}
		if i == 0 {
			l.Cold = time.Since(t).Seconds()
		}
		if i > 0 || reps == 1 {
			walls, cpus = append(walls, time.Since(t).Seconds()), append(cpus, (process.CPU()-c).Seconds())
		}
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	l.Seconds, l.CPU = walls[len(walls)/2], cpus[len(cpus)/2]
	return l, nil
}
