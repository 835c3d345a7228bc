package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/options"
)

// compactFlags are those of compact.
type compactFlags struct {
	o         tarn.TablesCompactOptions
	all       bool
	partition []string
	options   []string
	idle      string
	interval  string
}

func (a *app) compactCommand() *cobra.Command {
	var f compactFlags
	cmd := &cobra.Command{
		Use: "compact TABLE…", Short: "Merge the files of tables", Args: cobra.ArbitraryArgs,
		Long: `Merge the files of tables, the buckets that cost readers most first. Without names of tables, --all or patterns choose them:
regular expressions that match the whole name, of a database, or database.table. A table that fails does not stop the others.`,
		Example: "  tarn compact shop.orders\n  tarn compact --full shop.orders shop.products\n  tarn compact ods.log --partition dt=2024-02-29\n" +
			"  tarn compact --database 'ods|shop' --exclude '.*_tmp' --watch\n  tarn compact --all --full --partition-idle-time 1d",
		RunE: func(cmd *cobra.Command, args []string) error { return a.compact(cmd, args, &f) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.o.Full, "full", false, "merge all files of each bucket")
	fl.StringArrayVar(&f.partition, "partition", nil, "column=value")
	fl.BoolVar(&f.all, "all", false, "all tables of the warehouse")
	fl.StringVar(&f.o.Databases, "database", "", "tables of the databases that this matches")
	fl.StringVar(&f.o.Include, "include", "", "tables whose name database.table this matches")
	fl.StringVar(&f.o.Exclude, "exclude", "", "but those whose name database.table this matches")
	fl.StringVar(&f.idle, "partition-idle-time", "", "only partitions that got no files for so long (1h, 2 d)")
	fl.StringSliceVar(&f.o.OrderBy, "order-by", nil, "sort the rows by these columns, a,b (tables without a key and buckets)")
	fl.StringVar(&f.o.Order, "order", "", "how to sort: order, zorder, hilbert")
	fl.StringArrayVar(&f.options, "option", nil, "table option for this compaction, key=value")
	fl.BoolVar(&f.o.Watch, "watch", false, "go on: compact as tables get new snapshots, until a signal")
	fl.StringVar(&f.interval, "interval", "10s", "with --watch, how often to look for new snapshots")
	return cmd
}

func (a *app) compact(cmd *cobra.Command, args []string, f *compactFlags) error {
	ctx := cmd.Context()
	spec, err := keyValues("partition", f.partition)
	if err != nil {
		return err
	}
	if len(spec) > 0 {
		f.o.Partition = map[string]*string{}
	}
	for k, v := range spec {
		f.o.Partition[k] = &v
	}
	if f.o.Options, err = keyValues("option", f.options); err != nil {
		return err
	}
	if cmd.Flags().Changed("partition-idle-time") {
		if f.o.IdleTime, err = options.ParseDuration(f.idle); err != nil || f.o.IdleTime <= 0 {
			return usage(fmt.Errorf("--partition-idle-time %q: want a length of time, such as 1h or 2 d", f.idle))
		}
	}
	if f.o.Interval, err = options.ParseDuration(f.interval); err != nil || f.o.Interval <= 0 {
		return usage(fmt.Errorf("--interval %q: want a length of time, such as 10s", f.interval))
	}
	patterns := f.o.Databases+f.o.Include+f.o.Exclude != "" || f.all
	switch {
	case patterns && len(args) > 0:
		return usage(errors.New("names of tables exclude --all, --database, --include and --exclude"))
	case !patterns && len(args) == 0:
		return hint(usage(errors.New("no table is named")), "--all compacts all tables of the warehouse, --database and --include some of them")
	case len(f.o.OrderBy) == 0 && f.o.Order != "":
		return usage(errors.New("--order sorts by the columns of --order-by, and there are none"))
	case len(f.o.OrderBy) > 0 && f.o.Watch:
		return usage(errors.New("--watch with --order-by would sort all rows again for each snapshot"))
	case f.o.Watch && f.o.Full && f.o.IdleTime == 0:
		return usage(errors.New("--watch with --full would rewrite all files for each snapshot; --full goes with --partition-idle-time, or without --watch"))
	}
	told := 0
	f.o.Done = func(c tarn.TableCompacted) {
		told++
		switch {
		case c.Err != nil && (told > 1 || patterns || len(args) > 1 || f.o.Watch):
			a.report(fmt.Errorf("%s: %w", c.Table, damaged(c.Table, c.Err)))
		case c.Err != nil: // the only one: it is the error of the command
		case c.Result.SnapshotID == 0:
			a.say("%s: nothing to compact\n", c.Table)
		default:
			a.say("%s: compacted, snapshot %d\n", c.Table, c.Result.SnapshotID)
		}
	}
	if patterns {
		cat, cerr := a.open(ctx, "")
		if cerr != nil {
			return cerr
		}
		err = cat.CompactTables(ctx, f.o)
	} else {
		var tables []*tarn.Table
		for _, name := range args { // a wrong name stops it before anything is done
			t, terr := a.table(ctx, name, nil)
			if terr != nil {
				return terr
			}
			tables = append(tables, t)
		}
		err = tarn.CompactTables(ctx, tables, f.o)
	}
	return a.compacted(ctx, err, patterns || len(args) > 1 || f.o.Watch, f.o.Watch)
}

// compacted makes the error of the command from that of all tables.
func (a *app) compacted(ctx context.Context, err error, several, watch bool) error {
	var failed *tarn.FailedTablesError
	switch {
	case watch && ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.say("tarn: stopped; what was committed stays\n")
		return nil
	case !errors.As(err, &failed):
		return err
	case !several:
		return damaged(failed.Tables[0], failed.Errs[0])
	case len(failed.Tables) == failed.Of:
		return &codeError{exitCode(ctx, failed.Errs[0]), fmt.Errorf("none of %s was compacted", count(int64(failed.Of), "table"))}
	}
	return &codeError{exitSomeFailed, fmt.Errorf("%d of %s were not compacted, the others are", len(failed.Tables), count(int64(failed.Of), "table"))}
}
