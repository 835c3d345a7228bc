package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/cdc/source/demo"
)

// demoOptions of `tarn demo`.
type demoOptions struct {
	events int
	seed   uint64
	fresh  bool
	noSQL  bool
}

func (a *app) demoCommand() *cobra.Command {
	o := &demoOptions{}
	cmd := &cobra.Command{
		Use: "demo", Short: "A shop's whole database flows into a lake, and answers SQL", Args: cobra.NoArgs,
		Long: `Runs the built-in shop: customers, products, orders in two databases, their items. Rows are inserted,
updated and deleted, a column is added, one is widened, one renamed, a table appears in mid-stream.
All of it is synchronised into a warehouse (./lake unless --warehouse or TARN_WAREHOUSE name another), compared with
the shop row by row, and queried.`,
		Example: "  tarn demo\n  tarn demo --warehouse s3://bucket/lake --events 200000",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.IntVar(&o.events, "events", 1_000_000, "changes of rows")
	f.Uint64Var(&o.seed, "seed", 1, "another shop for each number")
	f.BoolVar(&o.fresh, "fresh", false, "drop what an earlier demo left in the warehouse")
	f.BoolVar(&o.noSQL, "no-sql", false, "leave the queries out")
	return cmd
}

const demoDB = "shop"

func (a *app) demo(ctx context.Context, o *demoOptions) error {
	if o.events < 1000 {
		return usage(fmt.Errorf("--events %d: a shop has at least 1000 changes", o.events))
	}
	wh := "lake"
	for _, name := range []string{os.Getenv("TARN_WAREHOUSE"), a.warehouse} {
		if name != "" {
			wh = name
		}
	}
	fileIO, err := a.fileIO()
	if err != nil {
		return err
	}
	cat, err := a.open(ctx, wh)
	if err != nil {
		return err
	}
	if err := a.demoPlace(ctx, cat, o); err != nil {
		return err
	}
	cfg := &cdc.Config{
		Name:   "demo",
		Source: cdc.SourceConfig{Type: "demo", Events: o.events, Seed: o.seed},
		Sink:   cdc.SinkConfig{Warehouse: wh, Table: demoDB + ".{table}", Options: map[string]string{"bucket": "2"}, Catalog: fileIO},
	}
	if err := cfg.Complete(); err != nil {
		return err
	}
	cfg.Checkpoint.Every = cdc.Duration(time.Second)
	src := demo.NewSource(o.seed, o.events)
	start := time.Now()
	a.say("A shop opens: %s changes of customers, products, orders (in two databases) and their items flow into %s\n", thousands(int64(o.events)), cat.Warehouse())
	a.graceful.Store(true)
	p := newProgress(a, "demo")
	sum, err := cdc.Run(ctx, cfg, cdc.RunOptions{Source: src, Stop: a.stop, Progress: p.show, Log: a.logger()})
	p.end()
	if err != nil {
		return err
	}
	if err := a.failedTables(sum.FailedTables); err != nil {
		return err
	}
	took := time.Since(start)
	a.say("%s rows in %.1f s (%s rows/s), %d checkpoints\n", thousands(sum.Rows), took.Seconds(), thousands(int64(float64(sum.Rows)/took.Seconds())), sum.Checkpoint+1)
	if err := a.demoVerify(ctx, cat, src.Shop()); err != nil {
		return err
	}
	if a.stopped() {
		a.say("The shop was closed early; tarn demo --fresh opens another\n")
		return nil
	}
	if !o.noSQL {
		if err := a.demoQueries(ctx, cat); err != nil {
			return err
		}
	}
	a.demoNext(cat, wh)
	return nil
}

// stopped reports whether a signal asked for the end.
func (a *app) stopped() bool {
	select {
	case <-a.stop:
		return true
	default:
		return false
	}
}

// demoPlace makes sure that the demo mixes with nothing.
func (a *app) demoPlace(ctx context.Context, cat *tarn.Catalog, o *demoOptions) error {
	tables, err := cat.Tables(ctx, demoDB)
	if errors.Is(err, tarn.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(tables) > 0 && !o.fresh {
		return hint(&codeError{exitConflict, fmt.Errorf("warehouse %s has a database %s already", cat.Warehouse(), demoDB)},
			"run it with --fresh to drop that database first, or name another place by --warehouse")
	}
	if err := cat.DropDatabase(ctx, demoDB, true); err != nil {
		return err
	}
	job, err := cat.OpenJob(ctx, "demo")
	if err != nil {
		return err
	}
	return job.Reset(ctx)
}

// demoVerify compares the lake with the shop.
func (a *app) demoVerify(ctx context.Context, cat *tarn.Catalog, shop *demo.Shop) error {
	res, err := shop.Verify(ctx, cat, func(t string) string { return demoDB + "." + t })
	if err != nil {
		return err
	}
	bad := 0
	for _, r := range res {
		mark := "same rows as the shop"
		if len(r.Differences) > 0 {
			bad++
			mark = "DIFFERS: " + strings.Join(r.Differences, "; ")
		}
		a.say("  %-18s %10s rows   %s\n", r.Table, thousands(int64(r.Rows)), mark)
	}
	if bad > 0 {
		return fmt.Errorf("%d tables differ from the shop", bad)
	}
	return nil
}

// demoSQL are the queries of the demo.
var demoSQL = []struct{ what, query string }{
	{"What sells best", "SELECT p.name, sum(i.qty) AS sold, sum(i.qty * i.price) AS revenue FROM shop.order_items i JOIN shop.products p ON p.id = i.product_id GROUP BY p.name ORDER BY revenue DESC, p.name LIMIT 5"},
	{"Orders of both databases, by status", "SELECT status, count(*) AS orders, sum(amount) AS amount FROM shop.orders GROUP BY status ORDER BY orders DESC"},
	{"The column that was renamed while it ran", "SELECT count(note) AS notes_before, count(remark) AS remarks_after FROM shop.orders"},
	{"The table that appeared while it ran", "SELECT carrier, count(*) AS shipments FROM shop.shipments GROUP BY carrier ORDER BY shipments DESC"},
}

func (a *app) demoNext(cat *tarn.Catalog, wh string) {
	where := cat.Warehouse()
	if abs, err := filepath.Abs(wh); err == nil && !strings.Contains(wh, "://") {
		where = abs
	}
	exe := "tarn"
	if len(os.Args) > 0 && strings.Contains(os.Args[0], "/") {
		exe = os.Args[0]
	}
	a.say(`
How to go on:
  %[1]s sql -w %[2]s                                 a SQL shell
  %[1]s sql -w %[2]s "SELECT * FROM shop.orders LIMIT 5"
  %[1]s sql -w %[2]s 'SELECT * FROM shop."orders$snapshots"'
  %[1]s check -w %[2]s shop.orders                   what the table is made of
Files are in %[3]s. Change events of your own (Debezium or Canal JSON) flow in by a job file:
  name: mine
  source: {type: files, path: events.jsonl, format: debezium-json}
  sink: {warehouse: %[2]s, table: "ods.{table}"}
  %[1]s sync run mine.yaml
`, exe, wh, where)
}
