package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// table opens db.table of the warehouse, or a table by its path or URI.
func (a *app) table(ctx context.Context, name string, opts map[string]string) (*tarn.Table, error) {
	var t *tarn.Table
	var err error
	if strings.ContainsAny(name, "/\\") {
		fs, ferr := a.fileIO()
		if ferr != nil {
			return nil, ferr
		}
		t, err = tarn.OpenTable(ctx, name, &tarn.OpenOptions{FileIO: fs, Log: a.logger()})
	} else {
		cat, cerr := a.open(ctx, "")
		if cerr != nil {
			return nil, cerr
		}
		t, err = cat.Table(ctx, name)
		if errors.Is(err, tarn.ErrNotExist) {
			err = a.didYouMean(ctx, cat, name, err)
		}
	}
	if err != nil {
		return nil, damaged(name, err)
	}
	if len(opts) == 0 {
		return t, nil
	}
	return t.With(ctx, opts)
}

// didYouMean adds the name of a table that is spelled almost alike.
func (a *app) didYouMean(ctx context.Context, cat *tarn.Catalog, name string, err error) error {
	db, tab, _ := strings.Cut(name, ".")
	tab, _, _ = strings.Cut(tab, "$")
	tables, lerr := cat.Tables(ctx, db)
	if lerr != nil {
		dbs, derr := cat.Databases(ctx)
		if derr != nil {
			return err
		}
		if len(dbs) == 0 {
			return hint(err, "the warehouse "+cat.Warehouse()+" has no databases: is it the right one?")
		}
		if like := nearest(db, dbs); like != "" {
			return hint(err, "did you mean "+like+"."+tab+"?")
		}
		return hint(err, "there are the databases "+strings.Join(dbs, ", "))
	}
	if like := nearest(tab, tables); like != "" {
		return hint(err, "did you mean "+db+"."+like+"?")
	}
	if len(tables) > 0 && len(tables) < 20 {
		return hint(err, db+" has the tables "+strings.Join(tables, ", "))
	}
	return err
}

// keyValues reads key=value flags.
func keyValues(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, kv := range list {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, usage(fmt.Errorf("--%s %q: want key=value", flag, kv))
		}
		out[k] = v
	}
	return out, nil
}

type readOptions struct {
	columns string
	where   string
	keys    []string
	at      string
	limit   int64
	options []string
	kind    bool
}

func (a *app) readCommand() *cobra.Command {
	o := &readOptions{}
	cmd := &cobra.Command{
		Use: "read TABLE", Short: "Print the rows of a table", Args: cobra.ExactArgs(1),
		Example: `  tarn read shop.orders --columns id,status --where "status = 'PAID'" --limit 10
  tarn read 'shop.orders$snapshots' --json
  tarn read s3://lake/shop.db/orders --at 12
  tarn read shop.orders --key id=17`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd.Context(), args[0], o, cmd.Flags().Changed("limit"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.columns, "columns", "", "columns, with commas between")
	f.StringVar(&o.where, "where", "", "condition: column op value [AND …], with =, <>, <, <=, >, >=, IS NULL, IS NOT NULL, LIKE, IN (…)")
	f.StringArrayVar(&o.keys, "key", nil, "column=value of the row wanted; several times for keys of several columns")
	f.StringVar(&o.at, "at", "", "as of a snapshot's number, a tag, or a time (2024-02-29 12:00:00)")
	f.Int64Var(&o.limit, "limit", -1, "at most so many rows")
	f.Lookup("limit").DefValue = "all"
	f.StringArrayVar(&o.options, "option", nil, "table or scan option, key=value")
	f.BoolVar(&o.kind, "kind", false, "put the row kind into each row, as _kind")
	return cmd
}

func (a *app) read(ctx context.Context, name string, o *readOptions, limited bool) error {
	if limited && o.limit < 0 {
		return usage(fmt.Errorf("--limit %d: want a number of rows", o.limit))
	}
	opts, err := keyValues("option", o.options)
	if err != nil {
		return err
	}
	if o.at != "" {
		k, v := timeTravel(o.at)
		opts[k] = v
	}
	t, err := a.table(ctx, name, opts)
	if err != nil {
		return err
	}
	fields, err := t.Fields()
	if err != nil {
		return err
	}
	scan := tarn.ScanOptions{Ordered: true, WideTimestamps: true, Inserts: !o.kind}
	if limited {
		scan.Limit = max(o.limit, 1) // 0 is read as 1, and none is shown
	}
	if o.columns != "" {
		for _, c := range strings.Split(o.columns, ",") {
			scan.Columns = append(scan.Columns, strings.TrimSpace(c))
		}
	}
	if scan.Filter, err = a.filter(o, fields); err != nil {
		return usage(err)
	}
	p, err := t.Scan(scan).Plan(ctx)
	if err != nil {
		return damaged(name, err)
	}
	w, err := a.rowWriter(p.Fields(), o.kind)
	if err != nil {
		return err
	}
	for b, err := range p.Batches(ctx) {
		if err != nil {
			return damaged(name, err)
		}
		if limited && o.limit == 0 {
			break
		}
		if err := w.rows(b); err != nil {
			return err
		}
	}
	return w.end()
}

// timeTravel finds out what --at names.
func timeTravel(at string) (string, string) {
	if _, err := strconv.ParseInt(at, 10, 64); err == nil {
		return "scan.snapshot-id", at
	}
	if _, err := types.ParseDatum(types.TimestampType(3), strings.TrimSuffix(at, "Z")); err == nil {
		return "scan.timestamp", strings.TrimSuffix(strings.Replace(at, "T", " ", 1), "Z")
	}
	return "scan.tag-name", at
}

func (a *app) filter(o *readOptions, fields []types.Field) (predicate.Predicate, error) {
	var parts []predicate.Predicate
	for _, kv := range o.keys {
		col, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, fmt.Errorf("--key %q: want column=value", kv)
		}
		l, err := predicate.Parse(col+" = '"+strings.ReplaceAll(v, "'", "''")+"'", fields)
		if err != nil {
			return nil, fmt.Errorf("--key: %w", err)
		}
		parts = append(parts, l)
	}
	if o.where != "" {
		p, err := predicate.Parse(o.where, fields)
		if err != nil {
			return nil, fmt.Errorf("--where: %w", err)
		}
		parts = append(parts, p)
	}
	return predicate.Join(parts...), nil
}
