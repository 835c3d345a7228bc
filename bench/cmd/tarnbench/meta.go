package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/bench/process"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// commitLatency makes many tiny commits, one after the other.
func (b *bench) commitLatency(ctx context.Context) error {
	name := b.str("table", "tiny")
	t, err := b.create(ctx, name, b.str("engine", "deduplicate"))
	if err != nil {
		return err
	}
	commits, rows := int(b.num("commits", 1000)), b.num("rows", 10)
	w, err := t.NewWriter(ctx, &tarn.WriterOptions{User: "bench"})
	if err != nil {
		return err
	}
	defer w.Close()
	g := b.generator()
	total, alone := make([]float64, commits), make([]float64, commits)
	wall, used, err := timed(func() error {
		for k := range commits {
			start := time.Now()
			from := int64(k) * rows
			if err := w.Write(ctx, tarn.Batch{RecordBatch: g.Batch(from, from+rows, false)}); err != nil {
				return err
			}
			p, err := w.Prepare(ctx)
			if err != nil {
				return err
			}
			prepared := time.Now()
			res, err := t.Commit(ctx, tarn.CommitID{User: "bench", Number: int64(k + 1)}, p)
			if err != nil {
				return err
			}
			end := time.Now()
			total[k], alone[k] = ms(end.Sub(start)), ms(end.Sub(prepared))
			if err := w.Done(res); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	hundred := max(1, min(100, commits/2))
	r := b.result("commit-latency", int64(commits)*rows, wall)
	if err := r.addFiles(b.path(name)); err != nil {
		return err
	}
	r.add("commits", commits, "opts", fmt.Sprint(b.tableOptions()), "cpu_s", used,
		"p50_ms", percentile(total, 50), "p99_ms", percentile(total, 99),
		"commit_p50_ms", percentile(alone, 50), "commit_p99_ms", percentile(alone, 99),
		"first100_p50_ms", percentile(total[:hundred], 50), "second100_p50_ms", percentile(total[hundred:2*hundred], 50),
		"last100_p50_ms", percentile(total[commits-hundred:], 50),
		"commit_second100_p50_ms", percentile(alone[hundred:2*hundred], 50), "commit_last100_p50_ms", percentile(alone[commits-hundred:], 50))
	return b.print(r)
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// plan plans a full read again and again, each time from a new handle of the table.
func (b *bench) plan(ctx context.Context) error {
	name, reps := b.str("table", "tiny"), int(b.num("reps", 21))
	var o tarn.ScanOptions
	if b.str("filter", "") == "key" {
		o.Filter = keyIs(4242)
	}
	times := make([]float64, reps)
	var files int64
	var snapshot int64
	for i := range reps {
		t, err := b.table(ctx, name)
		if err != nil {
			return err
		}
		start := time.Now()
		p, err := t.Scan(o).Plan(ctx)
		if err != nil {
			return err
		}
		times[i] = ms(time.Since(start))
		splits, err := p.Splits(ctx)
		if err != nil {
			return err
		}
		files, snapshot = 0, p.SnapshotID
		for _, s := range splits {
			files += int64(len(s.Files))
		}
	}
	r := b.result("plan", files, percentile(warm(times), 50)/1e3)
	r.add("snapshot", snapshot, "filter", b.str("filter", ""), "cold_ms", times[0], "p50_ms", percentile(warm(times), 50), "p99_ms", percentile(warm(times), 99))
	return b.print(r)
}

func keyIs(k int64) predicate.Predicate {
	return &predicate.Leaf{Op: predicate.Eq, Column: "order_id", Type: types.BigIntType.AsNotNull(), Values: []types.Datum{k}}
}

// lookup reads rows by key: each by a scan of its own, or all by one scan with IN.
func (b *bench) lookup(ctx context.Context) error {
	t, err := b.table(ctx, b.str("table", "orders"))
	if err != nil {
		return err
	}
	n, g := b.num("n", 1000), b.generator()
	cols, err := b.columns(t)
	if err != nil {
		return err
	}
	switch how := b.str("how", "filter"); how {
	case "filter":
		times := make([]float64, n)
		found := int64(0)
		wall, used, err := timed(func() error {
			for i := range n {
				start := time.Now()
				s, err := b.scan(ctx, t, tarn.ScanOptions{Columns: cols, Filter: keyIs(g.LookupKey(i)), Parallel: 1})
				if err != nil {
					return err
				}
				found += s.rows
				times[i] = ms(time.Since(start))
			}
			return nil
		})
		if err != nil {
			return err
		}
		r := b.result("lookup-filter", n, wall)
		r.add("found", found, "cpu_s", used, "first_ms", times[0], "p50_ms", percentile(times, 50), "p99_ms", percentile(times, 99))
		return b.print(r)
	case "in":
		in := &predicate.Leaf{Op: predicate.In, Column: "order_id", Type: types.BigIntType.AsNotNull()}
		for i := range n {
			in.Values = append(in.Values, g.LookupKey(i))
		}
		walls := make([]float64, 3)
		found := int64(0)
		for i := range walls {
			var err error
			walls[i], _, err = timed(func() error {
				s, err := b.scan(ctx, t, tarn.ScanOptions{Columns: cols, Filter: in, Parallel: 1})
				found = s.rows
				return err
			})
			if err != nil {
				return err
			}
		}
		r := b.result("lookup-in", n, median(walls))
		r.add("found", found)
		return b.print(r)
	default:
		return fmt.Errorf("--how=%s: there are filter and in", how)
	}
}

// firstRow is the time from the start of the process (--t0, nanoseconds since 1970) to the first row.
func (b *bench) firstRow(ctx context.Context) error {
	t, err := b.table(ctx, b.str("table", "small"))
	if err != nil {
		return err
	}
	for rows, err := range t.Scan(tarn.ScanOptions{}).Batches(ctx) {
		if err != nil {
			return err
		}
		if rows.NumRows() == 0 {
			continue
		}
		now := time.Now().UnixNano()
		r := b.result("first-row", 1, float64(now-b.num("t0", now))/1e9)
		r.add("cpu_s", process.CPU().Seconds())
		return b.print(r)
	}
	return errors.New("the table has no rows")
}
