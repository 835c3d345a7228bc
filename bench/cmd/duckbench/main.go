// Command duckbench measures DuckDB on the files of a table and the SQL of tarn on the table itself, both
// by the same engine in process. It prints one JSON line with the members of tarnbench.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
)

const usage = `usage: duckbench scan|sql|dedup --dir=WAREHOUSE --table=NAME [--cols=10|2|filter] [--reps=4]
scan: DuckDB's read_parquet over the table's files; sql: tarn's SQL over the table;
dedup: the best of three queries by which DuckDB keeps the newest version of each key`

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
	files, err := dataFiles(ctx, cat, opt["table"])
	if err != nil {
		return err
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
			query(files + " WHERE _SEQUENCE_NUMBER IN (SELECT max(_SEQUENCE_NUMBER) FROM " + files + " GROUP BY _KEY_order_id)"),
			query("(SELECT * FROM " + files + " QUALIFY row_number() OVER (PARTITION BY _KEY_order_id ORDER BY _SEQUENCE_NUMBER DESC) = 1)"),
			query("(SELECT s.* FROM (SELECT unnest([arg_max(struct_pack(order_id, user_id, status, amount, city, note, created, updated, qty, price), _SEQUENCE_NUMBER)]) AS s FROM " +
				files + " GROUP BY _KEY_order_id))"),
		}
	default:
		return errors.New(usage)
	}
	s := sql.NewSession(cat, sql.Options{Threads: threads})
	defer s.Close()
	best := line{}
	for i, q := range queries {
		l, err := measure(ctx, s, q, reps)
		if err != nil {
			return err
		}
		if l.Query = i + 1; i == 0 || l.CPU < best.CPU {
			best = l
		}
	}
	best.Impl, best.Mode, best.Memory = "duckdb", args[0], peakMB()
	if args[0] == "sql" {
		best.Impl = "tarn"
	}
	return json.NewEncoder(os.Stdout).Encode(best)
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

// dataFiles is the call of read_parquet over the files of a table.
func dataFiles(ctx context.Context, cat *tarn.Catalog, name string) (string, error) {
	t, err := cat.Table(ctx, "db."+name)
	if err != nil {
		return "", err
	}
	p, err := t.Scan(tarn.ScanOptions{}).Plan(ctx)
	if err != nil {
		return "", err
	}
	splits, err := p.Splits(ctx)
	if err != nil {
		return "", err
	}
	var list []string
	for _, s := range splits {
		for _, f := range s.Files {
			list = append(list, "'"+f+"'")
		}
	}
	return "read_parquet([" + strings.Join(list, ", ") + "])", nil
}

// measure runs a query several times: median of all runs but the first.
func measure(ctx context.Context, s *sql.Session, query string, reps int) (line, error) {
	var l line
	var walls, cpus []float64
	for i := range reps {
		t, c := time.Now(), cpu()
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
			walls, cpus = append(walls, time.Since(t).Seconds()), append(cpus, (cpu()-c).Seconds())
		}
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	l.Seconds, l.CPU = walls[len(walls)/2], cpus[len(cpus)/2]
	return l, nil
}

func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func peakMB() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	for l := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(l, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				return -1
			}
			return kb / 1024
		}
	}
	return -1
}
