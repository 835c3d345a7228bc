package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
)

// part is one measurement, or several made by the same runs.
type part struct {
	name, what string
	run        func(*runner) error
}

var parts = []part{
	{"upsert", "upserts, write-only", writes("upsert", goal{2.5, 3.2, 500}, "--table=wo", "--o.write-only=true")},
	{"upsert-compact", "upserts with compaction, uniform keys", writes("upsert-compact", goal{2.5, 3.2, 800}, "--table=dd")},
	{"upsert-zipf", "upserts with compaction, Zipf keys", writes("upsert-zipf", goal{2.5, 3.2, 800}, "--table=z", "--dist=zipf")},
	// Java has two assigners, each with buckets of its own, so that it begins with two buckets and tarn with one.
	{"upsert-dynamic", "upserts with compaction, dynamic buckets", writes("upsert-dynamic", goal{aim: 3}, "--table=dyn", "--o.bucket=-1", "--o.dynamic-bucket.target-row-num=500000")},
	{"partial-update", "partial updates in two sequence groups, with compaction", writes("partial-update", goal{2.5, 3.2, 800}, "--table=pu", "--engine=partial-update")},
	{"aggregation", "sums and maxima, with compaction", writes("aggregation", goal{2.5, 3.2, 800}, "--table=ag", "--engine=aggregation")},
	// The Java kit asks for the full compactions itself, as a sink of Flink does by this option.
	{"changelog-full", "upserts, a full compaction each 5 commits tells what changed", writes("changelog-full", goal{2.5, 3.2, 800}, "--table=clf", "--o.changelog-producer=full-compaction", "--o.full-compaction.delta-commits=5")},
	{"changelog-lookup", "upserts, each commit looks up what changed", writes("changelog-lookup", goal{2.5, 4, 1000}, "--table=cll", "--o.changelog-producer=lookup")},
	// A sink of Flink waits for the compactions of such tables, as they make the vectors.
	{"dv-upsert", "upserts, each commit marks the rows that it replaces in deletion vectors", writes("dv-upsert", goal{aim: 3}, append([]string{"--table=dv"}, vectors...)...)},
	{"dv-read", "scan of a table whose replaced rows are left out by deletion vectors", (*runner).vectorRead},
	// The Java kit has no job beside it that joins small files, as a Flink pipeline has, and our writer does that itself:
	// write-only is what makes both do the same.
	{"append", "append write, no buckets, small files stay", writes("append", goal{1.6, 1.8, 350}, "--table=ap", "--engine=append", "--o.write-only=true")},
	{"merge-read", "merge-read of the write-only table", (*runner).mergeRead},
	{"compact", "full compaction of the write-only table", (*runner).compact},
	{"scan", "compacted table, 10 columns; DuckDB on the same files", (*runner).scan},
	{"scan-2", "compacted table, 2 columns", reads("scan-2", "fc", goal{2.5, 4, 150}, "--reps=6", "--cols=0,3")},
	{"scan-filter", "compacted table, price < 100 (1 %)", reads("scan-filter", "fc", goal{1.5, 2.2, 150}, "--reps=6", "--filter=price1pct")},
	{"append-scan", "append table, 10 columns", reads("append-scan", "ap", goal{1.4, 2, 150}, "--reps=4")},
	{"commits", "1000 commits of 10 rows, write-only", commits("commits", "--table=tinywo", "--o.write-only=true")},
	{"commits-compact", "1000 commits of 10 rows, compaction on", commits("commits-compact", "--table=tiny")},
	{"commits-buckets", "1000 commits of 100 rows to 10 buckets, write-only", commits("commits-buckets", "--table=many", "--o.bucket=10", "--bucket=10", "--rows=100", "--o.write-only=true")},
	{"plan", "plan of 10,000 files in 1000 snapshots", (*runner).plan},
	{"lookup", "1000 lookups by key filter, compacted table", (*runner).lookup},
	{"lookup-in", "one scan with IN of 1000 keys", (*runner).lookupIn},
	{"first-row", "process start to first row, 1000 rows", (*runner).firstRow},
	{"sql", "SQL over the compacted table against DuckDB on the bare files", (*runner).sql},
}

// vectors are the arguments of a write that keeps deletion vectors.
var vectors = []string{"--o.deletion-vectors.enabled=true", "--wait=true"}

// pair runs both sides in turn, each so often.
func (r *runner) pair(java, tarn func() (line, error)) (j, t []line, err error) {
	for i := range r.pairs {
		a, err := java()
		if err != nil {
			return nil, nil, err
		}
		b, err := tarn()
		if err != nil {
			return nil, nil, err
		}
		j, t = append(j, a), append(t, b)
		fmt.Fprintf(os.Stderr, "bench:   pair %d: Java %v s, tarn %v s (wall of the measured part)\n", i+1, a["seconds"], b["seconds"])
	}
	return j, t, nil
}

// same fails if the two sides did not give the same.
func same(what string, a, b line, names ...string) error {
	for _, n := range names {
		if fmt.Sprint(a[n]) != fmt.Sprint(b[n]) || a[n] == nil {
			return fmt.Errorf("%s: %s is %v in Java and %v in tarn", what, n, a[n], b[n])
		}
	}
	return nil
}

// writes is a part that loads a table on both sides, each into its own warehouse.
func writes(name string, g goal, args ...string) func(*runner) error {
	return func(r *runner) error {
		table := args[0]
		args := append(slices.Clone(args), "--n="+strconv.FormatInt(r.n, 10))
		j, t, err := r.pair(
			func() (line, error) { return r.java("java", "write", args...) },
			func() (line, error) { return r.ours("tarn", "write", args...) })
		if err != nil {
			return err
		}
		made := table[len("--table="):] + ".made"
		if err := os.WriteFile(r.work+"/"+made, nil, 0o666); err != nil {
			return err
		}
		// Java reads what tarn wrote and the other way round: rows and sums over all columns are equal.
		a, err := r.ours("java", "read", table, "--reps=1")
		if err != nil {
			return err
		}
		b, err := r.java("tarn", "read", table, "--reps=1")
		if err != nil {
			return err
		}
		if err := same("the tables read by each other", a, b, "rows", "sum"); err != nil {
			return err
		}
		x := r.ratios(name, g, j, t, perRow("rows"))
		x.bytes("data_bytes", j, t)
		return nil
	}
}

// reads is a part that reads a table of Java's on both sides.
func reads(name, table string, g goal, args ...string) func(*runner) error {
	return func(r *runner) error {
		_, _, err := r.reads(name, table, g, args...)
		return err
	}
}

func (r *runner) reads(name, table string, g goal, args ...string) (t []line, x *row, err error) {
	if err := r.need(table); err != nil {
		return nil, nil, err
	}
	args = append([]string{"--table=" + table}, args...)
	j, t, err := r.pair(
		func() (line, error) { return r.java("java", "read", args...) },
		func() (line, error) { return r.ours("java", "read", args...) })
	if err != nil {
		return nil, nil, err
	}
	for i := range j {
		if err := same("what was read", j[i], t[i], "rows", "sum", "input_rows", "input_files"); err != nil {
			return nil, nil, err
		}
	}
	return t, r.ratios(name, g, j, t, perRow("input_rows")), nil
}

// against adds a row that compares tarn with DuckDB on the same files.
func (r *runner) against(name string, mode string, table string, t []line) error {
	var d []line
	args := []string{"--table=" + table}
	for range r.pairs {
		l, err := r.duckdb(mode, args...)
		if err != nil {
			return err
		}
		if len(d) == 0 { // the best of its queries is found once
			args = append(args, fmt.Sprint("--query=", l["query"]))
		}
		if err := same("DuckDB on the same files", l, t[0], "rows", "sum"); err != nil {
			return err
		}
		l["input_rows"] = t[0]["input_rows"]
		d = append(d, l)
	}
	x := r.ratios(name, goal{must: 1}, d, t, perRow("input_rows"))
	x.peer = "DuckDB"
	return nil
}

func (r *runner) mergeRead() error {
	t, _, err := r.reads("merge-read", "wo", goal{3.5, 5, 600}, "--reps=4")
	if err != nil {
		return err
	}
	return r.against("merge-read", "dedup", "wo", t)
}

// vectorRead scans a table whose files have rows that later ones replaced.
func (r *runner) vectorRead() error {
	t, _, err := r.reads("dv-read", "dvr", goal{aim: 3}, "--reps=6")
	if err != nil {
		return err
	}
	if rows, input := t[0].num("rows"), t[0].num("input_rows"); rows >= input {
		return fmt.Errorf("all %v rows of the files are rows of the table, so that no deletion vector is measured: take another N", input)
	}
	return nil
}

func (r *runner) scan() error {
	t, _, err := r.reads("scan", "fc", goal{1.5, 2.4, 150}, "--reps=6")
	if err != nil {
		return err
	}
	return r.against("scan", "scan", "fc", t)
}

func (r *runner) compact() error {
	if err := r.need("wo"); err != nil {
		return err
	}
	j, t, err := r.pair(
		func() (line, error) {
			// without a commit its files stay as orphans, so it gets a copy
			if err := r.copyTable("wo", "wo_java"); err != nil {
				return nil, err
			}
			defer os.RemoveAll(r.table("java", "wo_java"))
			return r.java("java", "compact-full", "--table=wo_java", "--docommit=false", "--reps=4")
		},
		func() (line, error) {
			return r.ours("java", "compact-full", "--table=wo", "--docommit=false", "--reps=4")
		})
	if err != nil {
		return err
	}
	for i := range j {
		if err := same("the compaction", j[i], t[i], "rows", "input_files", "input_bytes", "output_rows"); err != nil {
			return err
		}
	}
	x := r.ratios("compact", goal{3, 4.2, 600}, j, t, perRow("rows"))
	x.bytes("output_bytes", j, t)
	return nil
}

func commits(name string, args ...string) func(*runner) error {
	return func(r *runner) error {
		j, t, err := r.pair(
			func() (line, error) { return r.java("java", "commit-latency", args...) },
			func() (line, error) { return r.ours("tarn", "commit-latency", args...) })
		if err != nil {
			return err
		}
		if name == "commits-buckets" {
			if err := os.WriteFile(r.work+"/many.made", nil, 0o666); err != nil {
				return err
			}
		}
		a, err := r.ours("java", "read", args[0], "--reps=1")
		if err != nil {
			return err
		}
		b, err := r.java("tarn", "read", args[0], "--reps=1")
		if err != nil {
			return err
		}
		if err := same("the tables read by each other", a, b, "rows", "sum"); err != nil {
			return err
		}
		aim := map[string]float64{"commits": 2}[name]
		r.ratios(name+" p50", goal{must: 2}, j, t, field("p50_ms", "ms")).aimValue(aim)
		r.ratios(name+" p99", goal{}, j, t, field("p99_ms", "ms"))
		r.growth(name+" growth", j, t)
		var s []line
		for range r.pairs {
			l, err := r.ours("tarn", "commit-latency", append(slices.Clone(args), "--sync=true")...)
			if err != nil {
				return err
			}
			s = append(s, l)
		}
		r.ratios(name+" p50, synced", goal{}, j, s, field("p50_ms", "ms"))
		return nil
	}
}

func (r *runner) plan() error {
	if err := r.need("many"); err != nil {
		return err
	}
	for _, c := range []struct {
		name        string
		args        []string
		first, warm float64 // aims in ms
	}{{"plan", nil, 40, 20}, {"plan, key filter", []string{"--filter=key"}, 40, 10}} {
		args := append([]string{"--table=many"}, c.args...)
		j, t, err := r.pair(
			func() (line, error) { return r.java("java", "plan", args...) },
			func() (line, error) { return r.ours("java", "plan", args...) })
		if err != nil {
			return err
		}
		for i := range j {
			if err := same("the plan", j[i], t[i], "rows", "snapshot"); err != nil {
				return err
			}
		}
		r.ratios(c.name+", first", goal{must: 10}, j, t, field("cold_ms", "ms")).aimValue(c.first)
		r.ratios(c.name+", warm", goal{must: 1.5}, j, t, field("p50_ms", "ms")).aimValue(c.warm)
	}
	return nil
}

func (r *runner) lookups(args ...string) (j, t []line, err error) {
	if err := r.need("fc"); err != nil {
		return nil, nil, err
	}
	args = append([]string{"--table=fc"}, args...)
	j, t, err = r.pair(
		func() (line, error) { return r.java("java", "lookup", args...) },
		func() (line, error) { return r.ours("java", "lookup", args...) })
	for i := range j {
		if err := same("the lookups", j[i], t[i], "found"); err != nil {
			return nil, nil, err
		}
	}
	return j, t, err
}

func (r *runner) lookup() error {
	j, t, err := r.lookups("--how=filter")
	if err != nil {
		return err
	}
	r.ratios("lookup p50", goal{must: 4}, j, t, field("p50_ms", "ms")).aimValue(2)
	r.ratios("lookup, first", goal{}, j, t, field("first_ms", "ms"))
	return nil
}

func (r *runner) lookupIn() error {
	j, t, err := r.lookups("--how=in")
	if err != nil {
		return err
	}
	r.ratios("lookup-in", goal{must: 4}, j, t, value{func(l line) float64 { return l.num("seconds") * 1e3 }, "ms"}).aimValue(250)
	return nil
}

func (r *runner) firstRow() error {
	if err := r.need("small"); err != nil {
		return err
	}
	ms := value{func(l line) float64 { return l.num("seconds") * 1e3 }, "ms"}
	j, t, err := r.pair(
		func() (line, error) { return r.java("java", "first-row", "--table=small", "--t0=") },
		func() (line, error) { return r.ours("java", "first-row", "--table=small", "--t0=") })
	if err != nil {
		return err
	}
	x := r.ratios("first-row", goal{20, 0, 40}, j, t, ms)
	x.aimValue(30)
	return nil
}

func (r *runner) sql() error {
	if err := r.need("fc"); err != nil {
		return err
	}
	for _, c := range []struct{ name, cols string }{{"sql, 10 columns", "10"}, {"sql, 2 columns", "2"}, {"sql, 1 % filter", "filter"}} {
		var bare, table []line
		for range r.pairs {
			a, err := r.duckdb("scan", "--table=fc", "--cols="+c.cols)
			if err != nil {
				return err
			}
			b, err := r.duckdb("sql", "--table=fc", "--cols="+c.cols)
			if err != nil {
				return err
			}
			if err := same("the query", a, b, "rows", "sum"); err != nil {
				return err
			}
			bare, table = append(bare, a), append(table, b)
		}
		x := r.ratios(c.name, goal{must: 1 / 1.2}, bare, table, value{func(l line) float64 { return l.num("seconds") * 1e3 }, "ms"})
		x.peer = "DuckDB"
	}
	return nil
}
