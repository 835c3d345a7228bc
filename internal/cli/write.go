package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
)

type writeOptions struct {
	format    string
	mode      string
	partition []string
	options   []string
}

func (a *app) writeCommand() *cobra.Command {
	o := &writeOptions{}
	cmd := &cobra.Command{
		Use: "write TABLE [FILE|-]", Short: "Write rows into a table, in one commit", Args: cobra.RangeArgs(1, 2),
		Long: `Writes the rows of a file, or of standard input, into a table: all of them in one commit, or none.
Rows may have a kind in _kind (+I, -U, +U, -D), a member or column. Columns that are left out are NULL,
those that the table does not have are refused. "tarn help formats" says how values are written.`,
		Example: "  tarn write shop.orders orders.jsonl\n  tarn read a.t --json | tarn write b.t -\n  tarn write shop.orders day.csv --mode overwrite --partition dt=2024-02-29",
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "-"
			if len(args) > 1 {
				file = args[1]
			}
			return a.write(cmd.Context(), args[0], file, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "json, csv, tsv, parquet; default by the file's name, json for standard input")
	f.StringVar(&o.mode, "mode", "upsert", "append, upsert, overwrite")
	f.StringArrayVar(&o.partition, "partition", nil, "column=value of the partition that is overwritten")
	f.StringArrayVar(&o.options, "option", nil, "table option, key=value")
	return cmd
}

func (a *app) write(ctx context.Context, name, file string, o *writeOptions) error {
	switch {
	case o.mode != "append" && o.mode != "upsert" && o.mode != "overwrite":
		return usage(fmt.Errorf("--mode %q is not known; there are append, upsert, overwrite", o.mode))
	case o.mode != "overwrite" && len(o.partition) > 0:
		return usage(errors.New("--partition names what --mode overwrite replaces; other modes find the partition in the rows"))
	}
	opts, err := keyValues("option", o.options)
	if err != nil {
		return err
	}
	t, err := a.table(ctx, name, opts)
	if err != nil {
		return err
	}
	fields, err := t.Fields()
	if err != nil {
		return err
	}
	in, err := a.rowsOf(ctx, file, o.format, fields)
	if err != nil {
		return err
	}
	defer in.Close()
	if o.mode == "overwrite" {
		return a.overwrite(ctx, t, in, o)
	}
	w, err := t.NewWriter(ctx, nil)
	if err != nil {
		return damaged(name, err)
	}
	defer w.Close()
	var rows int64
	for {
		b, err := in.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return usage(err)
		}
		if o.mode == "append" {
			b.Kinds = nil
		}
		if err := keyless(t, in, b); err != nil {
			return err
		}
		rows += b.NumRows()
		if err := w.Write(ctx, b); err != nil {
			return damaged(name, placed(in, err))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	a.committed.Store(true)
	r, err := w.Commit(context.WithoutCancel(ctx))
	if err != nil {
		return damaged(name, err)
	}
	if r.SnapshotID == 0 {
		a.say("no rows: %s stays as it is\n", t.Name())
		return nil
	}
	a.say("%s written to %s, snapshot %d\n", count(rows, "row"), t.Name(), r.SnapshotID)
	return nil
}

// keyless refuses deletes for tables that have no key to find the row by.
func keyless(t *tarn.Table, in rowReader, b tarn.Batch) error {
	if t.HasPrimaryKey() || t.Options()["ignore-delete"] == "true" {
		return nil
	}
	for i, k := range b.Kinds {
		if k.IsRetract() {
			return hint(usage(fmt.Errorf("%s: the row is of kind %s, and %s has no primary key by which the row to delete could be found", in.Place(i), k, t.Name())),
				"tarn sql takes DELETE … WHERE")
		}
	}
	return nil
}

func (a *app) overwrite(ctx context.Context, t *tarn.Table, in rowReader, o *writeOptions) error {
	spec, err := keyValues("partition", o.partition)
	if err != nil {
		return err
	}
	ow := tarn.OverwriteOptions{Partition: map[string]*string{}}
	for k, v := range spec {
		ow.Partition[k] = &v
	}
	var rows int64
	// Once all rows are there the commit is finished, whoever loses patience.
	all, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	r, err := t.Overwrite(all, ow, func(yield func(tarn.Batch, error) bool) {
		for {
			b, err := in.Next(ctx)
			if errors.Is(err, io.EOF) {
				if stop() {
					a.committed.Store(true)
				} else {
					yield(tarn.Batch{}, ctx.Err())
				}
				return
			}
			if err != nil {
				err = usage(err)
			} else {
				rows += b.NumRows()
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	})
	if err != nil {
		return damaged(t.Name(), placed(in, err))
	}
	what := "all of " + t.Name()
	switch {
	case len(spec) > 0:
		what = strings.Join(o.partition, ", ") + " of " + t.Name()
	case len(t.PartitionKeys()) > 0 && t.Options()["dynamic-partition-overwrite"] != "false":
		what = "the partitions of " + t.Name() + " that they are in"
	}
	a.say("%s in place of %s, snapshot %d\n", count(rows, "row"), what, r.SnapshotID)
	return nil
}
