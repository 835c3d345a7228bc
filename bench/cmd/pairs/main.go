// Command pairs runs Java Paimon and tarn in turn on the same rows, checks that both gave the same, and
// prints ratios. bench/run builds both sides and starts it; BENCHMARKS.md says what the figures mean.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// runner has what the parts share.
type runner struct {
	tarn, duck, classpath, work string
	jvm                         []string
	n                           int64
	pairs                       int
	log                         *os.File // each line that a side printed
	out                         []row
}

// line is what a run printed.
type line map[string]any

func (l line) num(name string) float64 {
	switch v := l[name].(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case string: // Java prints sums of 64 bits like this in some places
		f, _ := strconv.ParseFloat(v, 64)
		return f
	}
	return 0
}

func main() {
	r := &runner{}
	var mode, jvm string
	flag.StringVar(&r.tarn, "tarn", "", "binary of tarnbench")
	flag.StringVar(&r.duck, "duck", "", "binary of duckbench")
	flag.StringVar(&r.classpath, "classpath", "", "of the Java kit")
	flag.StringVar(&r.work, "work", "bench/work", "folder for the tables")
	flag.Int64Var(&r.n, "n", 10_000_000, "rows of the load")
	flag.IntVar(&r.pairs, "pairs", 3, "pairs of runs")
	flag.StringVar(&jvm, "java", "-Xmx4g -XX:+UseG1GC", "options of the JVM")
	flag.StringVar(&mode, "mode", "", "parts to run")
	flag.Parse()
	r.jvm = strings.Fields(jvm)
	if err := r.run(strings.FieldsFunc(mode, func(c rune) bool { return c == ' ' || c == ',' })); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (r *runner) run(names []string) error {
	if slices.Contains(names, "list") {
		for _, p := range parts {
			fmt.Printf("%-15s %s\n", p.name, p.what)
		}
		return nil
	}
	chosen := parts
	if len(names) > 0 && !slices.Contains(names, "all") {
		chosen = nil
		for _, name := range names {
			i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
			if i < 0 {
				return fmt.Errorf("MODE=%s: no such part, MODE=list prints their names", name)
			}
			chosen = append(chosen, parts[i])
		}
	}
	if r.n < 1000 || r.pairs < 1 {
		return fmt.Errorf("at least 1000 rows and one pair are needed, N=%d and PAIRS=%d were given", r.n, r.pairs)
	}
	r.work = filepath.Join(r.work, strconv.FormatInt(r.n, 10))
	var err error
	if r.work, err = filepath.Abs(r.work); err != nil {
		return err
	}
	if err := os.MkdirAll(r.work, 0o777); err != nil {
		return err
	}
	if r.log, err = os.OpenFile(filepath.Join(r.work, "results.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
		return err
	}
	defer r.log.Close()
	for _, p := range chosen {
		fmt.Fprintf(os.Stderr, "bench: %s: %s\n", p.name, p.what)
		before := len(r.out)
		if err := p.run(r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		r.print(os.Stderr, r.out[before:])
	}
	r.print(os.Stdout, r.out)
	fmt.Printf("\nEvery line that was printed: %s\n", r.log.Name())
	return nil
}

// warehouse is the one of a side, "java" or "tarn".
func (r *runner) warehouse(side string) string { return filepath.Join(r.work, side) }

func (r *runner) table(side, name string) string {
	return filepath.Join(r.warehouse(side), "db.db", name)
}

// java runs a mode of the Java kit on a warehouse.
func (r *runner) java(warehouse, mode string, args ...string) (line, error) {
	all := append(slices.Clone(r.jvm), "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", r.classpath, "Bench", mode)
	all = append(all, args...)
	all = append(all, "--dir="+r.warehouse(warehouse), "--tmp="+filepath.Join(r.work, "tmp"))
	return r.exec("java", all)
}

// ours runs a mode of tarnbench on a warehouse.
func (r *runner) ours(warehouse, mode string, args ...string) (line, error) {
	return r.exec(r.tarn, append(append([]string{mode}, args...), "--dir="+r.warehouse(warehouse)))
}

// duckdb runs a mode of duckbench on Java's warehouse.
func (r *runner) duckdb(mode string, args ...string) (line, error) {
	return r.exec(r.duck, append(append([]string{mode}, args...), "--dir="+r.warehouse("java")))
}

// exec runs a command and parses the last line of what it printed. A --t0= without value gets the time of the start.
func (r *runner) exec(name string, args []string) (line, error) {
	load, _ := os.ReadFile("/proc/loadavg")
	args = slices.Clone(args)
	if i := slices.Index(args, "--t0="); i >= 0 {
		args[i] += strconv.FormatInt(time.Now().UnixNano(), 10)
	}
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.Bytes())
	}
	var last []byte
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		last = slices.Clone(s.Bytes())
	}
	l := line{}
	d := json.NewDecoder(bytes.NewReader(last))
	d.UseNumber()
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("%s %s printed %q, which is no line of JSON: %w", filepath.Base(name), strings.Join(args, " "), last, err)
	}
	kept := maps.Clone(l)
	kept["process_s"], kept["load"] = time.Since(start).Seconds(), strings.Fields(string(load) + " ?")[0]
	if text, err := json.Marshal(kept); err == nil {
		fmt.Fprintf(r.log, "%s\n", text)
	}
	return l, nil
}

// need makes a table in Java's warehouse if it is not there.
func (r *runner) need(table string) error {
	done := filepath.Join(r.work, table+".made")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "bench:   making table %s\n", table)
	n := "--n=" + strconv.FormatInt(r.n, 10)
	var err error
	switch table {
	case "wo":
		_, err = r.java("java", "write", "--table=wo", n, "--warm=0", "--o.write-only=true")
	case "ap":
		_, err = r.java("java", "write", "--table=ap", n, "--warm=0", "--engine=append")
	case "dvr":
		// Two large commits are joined, and a last one of half their size is not: it leaves its vectors in their file.
		_, err = r.java("java", "write", append([]string{"--table=dvr", n, "--warm=0", "--commit=" + strconv.FormatInt(r.n*2/5, 10)}, vectors...)...)
	case "fc":
		if err := r.need("wo"); err != nil {
			return err
		}
		if err := r.copyTable("wo", "fc"); err != nil {
			return err
		}
		_, err = r.java("java", "compact-full", "--table=fc")
	case "many":
		_, err = r.java("java", "commit-latency", "--table=many", "--o.bucket=10", "--bucket=10", "--rows=100", "--o.write-only=true")
	case "small":
		_, err = r.java("java", "write", "--table=small", "--n=1000", "--k=1000000", "--warm=0", "--commit=1000")
	}
	if err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o666)
}

// copyTable copies a table of Java's warehouse.
func (r *runner) copyTable(from, to string) error {
	if err := os.RemoveAll(r.table("java", to)); err != nil {
		return err
	}
	return os.CopyFS(r.table("java", to), os.DirFS(r.table("java", from)))
}
