// Command tarnbench is tarn's side of the benchmark: the modes, options and results of
// bench/paimon-java, so that one command line runs on both. One mode a run, one JSON line out.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn"
)

const usage = `usage: tarnbench MODE --dir=WAREHOUSE [--name=value …]
modes: gen, gen-cost, write, read, compact-full, commit-latency, plan, lookup, first-row
bench/paimon-java/README.md describes modes and options; --sync=true syncs files to disk.`

// bench is one run.
type bench struct {
	opt map[string]string
	dir string
	cat *tarn.Catalog
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tarnbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	modes := map[string]func(*bench, context.Context) error{
		"gen": (*bench).gen, "gen-cost": (*bench).genCost, "write": (*bench).write, "read": (*bench).read,
		"compact-full": (*bench).compactFull, "commit-latency": (*bench).commitLatency, "plan": (*bench).plan,
		"lookup": (*bench).lookup, "first-row": (*bench).firstRow,
	}
	if len(args) == 0 || modes[args[0]] == nil {
		return fmt.Errorf("no such mode\n%s", usage)
	}
	b := &bench{opt: map[string]string{}}
	for _, a := range args[1:] {
		k, v, ok := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if !ok || !strings.HasPrefix(a, "--") {
			return fmt.Errorf("%q is no --name=value\n%s", a, usage)
		}
		b.opt[k] = v
	}
	dir, err := filepath.Abs(b.str("dir", "wh"))
	if err != nil {
		return err
	}
	b.dir = dir
	stop, err := profile(b.str("cpuprofile", ""))
	if err != nil {
		return err
	}
	defer stop()
	// Java's local files are never synced, so ours are not either unless that is what is measured.
	if b.cat, err = tarn.Open(ctx, dir, &tarn.OpenOptions{NoSync: b.str("sync", "false") != "true"}); err != nil {
		return err
	}
	if args[0] == "write" || args[0] == "commit-latency" {
		dbs, err := b.cat.Databases(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(dbs, "db") {
			if err := b.cat.CreateDatabase(ctx, "db", nil); err != nil {
				return err
			}
		}
	}
	return modes[args[0]](b, ctx)
}

func (b *bench) str(name, def string) string {
	if v, ok := b.opt[name]; ok {
		return v
	}
	return def
}

func (b *bench) num(name string, def int64) int64 {
	v, ok := b.opt[name]
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(v, "_", ""), 10, 64)
	if err != nil {
		fmt.Fprintf(os.Stderr, "tarnbench: --%s=%s is no number\n", name, v)
		os.Exit(2)
	}
	return n
}

func (b *bench) threads() int { return int(b.num("threads", 2)) }

func (b *bench) zipf() bool { return b.str("dist", "uniform") == "zipf" }

// tableOptions are those given as --o.KEY=VALUE.
func (b *bench) tableOptions() map[string]string {
	m := map[string]string{}
	for k, v := range b.opt {
		if key, ok := strings.CutPrefix(k, "o."); ok {
			m[key] = v
		}
	}
	return m
}

func (b *bench) path(table string) string { return filepath.Join(b.dir, "db.db", table) }

// table opens a table with the options of the command line.
func (b *bench) table(ctx context.Context, name string) (*tarn.Table, error) {
	t, err := b.cat.Table(ctx, "db."+name)
	if err != nil {
		return nil, err
	}
	if o := b.tableOptions(); len(o) > 0 {
		return t.With(ctx, o)
	}
	return t, nil
}
