package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/types"
)

func (a *app) dbCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "db", Short: "Databases of the warehouse"}
	list := &cobra.Command{Use: "list", Short: "List databases", Args: cobra.NoArgs, Example: "  tarn db list\n  tarn db list -w s3://lake/warehouse", RunE: func(cmd *cobra.Command, _ []string) error {
		cat, err := a.open(cmd.Context(), "")
		if err != nil {
			return err
		}
		names, err := a.databases(cmd.Context(), cat)
		if err != nil {
			return err
		}
		return a.printNames("database", names)
	}}
	create := &cobra.Command{Use: "create NAME", Short: "Create a database", Args: cobra.ExactArgs(1), Example: "  tarn db create shop\n  tarn db create shop -w ./lake", RunE: func(cmd *cobra.Command, args []string) error {
		cat, err := a.open(cmd.Context(), "")
		if err != nil {
			return err
		}
		return cat.CreateDatabase(cmd.Context(), args[0], nil)
	}}
	var cascade bool
	var sure confirmation
	drop := &cobra.Command{
		Use: "drop NAME", Short: "Drop a database", Args: cobra.ExactArgs(1),
		Example: "  tarn db drop ods --cascade --dry-run\n  tarn db drop ods --cascade --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			cat, err := a.open(cmd.Context(), "")
			if err != nil {
				return err
			}
			what := "drop database " + args[0]
			if cascade {
				what += " with all its tables"
			}
			if ok, err := a.confirm(sure, what, func() error {
				tables, err := cat.Tables(cmd.Context(), args[0])
				for _, t := range tables {
					a.say("  %s.%s\n", args[0], t)
				}
				return err
			}); err != nil || !ok {
				return err
			}
			err = cat.DropDatabase(cmd.Context(), args[0], cascade)
			if errors.Is(err, tarn.ErrNotEmpty) {
				err = hint(err, "--cascade drops the tables too")
			}
			return err
		},
	}
	drop.Flags().BoolVar(&cascade, "cascade", false, "with its tables")
	sure.flags(drop)
	cmd.AddCommand(list, create, drop)
	return cmd
}

// databases lists the databases of a warehouse, which has to be there.
func (a *app) databases(ctx context.Context, cat *tarn.Catalog) ([]string, error) {
	names, err := cat.Databases(ctx)
	if err != nil || len(names) > 0 {
		return names, err
	}
	there, err := fileio.Exists(ctx, cat.FS(), cat.Warehouse())
	if err != nil {
		return nil, fmt.Errorf("warehouse %s: %w", cat.Warehouse(), err)
	}
	if !there {
		return nil, hint(fmt.Errorf("there is no warehouse at %s: it %w", cat.Warehouse(), tarn.ErrNotExist), "tarn db create makes one with its first database; --warehouse or TARN_WAREHOUSE names another")
	}
	return nil, nil
}

func (a *app) printNames(what string, names []string) error {
	if a.json || a.output == "json" || a.output == "jsonl" {
		for _, n := range names {
			if err := json.NewEncoder(a.out).Encode(map[string]string{what: n}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range names {
		if _, err := fmt.Fprintln(a.out, n); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) tableCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "table", Short: "Tables: list, show, create, alter, rename, truncate, drop, files, partitions"}
	cmd.AddCommand(a.tableList(), a.tableShow(), a.tableCreate(), a.tableAlter(), a.tableRename(), a.tableTruncate(), a.tableDrop(), a.systemTable("files", "The data files of a table"), a.systemTable("partitions", "The partitions of a table"))
	return cmd
}

func (a *app) tableList() *cobra.Command {
	return &cobra.Command{Use: "list [DATABASE]", Short: "List tables", Args: cobra.MaximumNArgs(1), Example: "  tarn table list\n  tarn table list shop --json", RunE: func(cmd *cobra.Command, args []string) error {
		cat, err := a.open(cmd.Context(), "")
		if err != nil {
			return err
		}
		dbs := args
		if len(dbs) == 0 {
			if dbs, err = a.databases(cmd.Context(), cat); err != nil {
				return err
			}
		}
		var names []string
		var bad error // the others are listed all the same
		for _, db := range dbs {
			tables, err := cat.Tables(cmd.Context(), db)
			bad = errors.Join(bad, err)
			for _, t := range tables {
				names = append(names, db+"."+t)
			}
		}
		if err := a.printNames("table", names); err != nil {
			return err
		}
		if bad != nil && (len(names) > 0 || len(dbs) > 1) {
			bad = &codeError{exitSomeFailed, bad}
		}
		return bad
	}}
}

func (a *app) tableShow() *cobra.Command {
	return &cobra.Command{Use: "show TABLE", Short: "Columns, keys and options of a table", Args: cobra.ExactArgs(1), Example: "  tarn table show shop.orders\n  tarn table show lake/shop.db/orders --json", RunE: func(cmd *cobra.Command, args []string) error {
		t, err := a.table(cmd.Context(), args[0], nil)
		if err != nil {
			return err
		}
		fields, err := t.Fields()
		if err != nil {
			return err
		}
		if a.json || a.output == "json" || a.output == "jsonl" {
			return json.NewEncoder(a.out).Encode(map[string]any{
				"table": t.Name(), "path": t.Path(), "schemaId": t.SchemaID(), "fields": fields, "primaryKeys": t.PrimaryKeys(), "partitionKeys": t.PartitionKeys(),
				"options": t.Options(), "comment": t.Comment(),
			})
		}
		fmt.Fprintf(a.out, "table       %s\npath        %s\nschema      %d\n", t.Name(), t.Path(), t.SchemaID())
		if k := t.PrimaryKeys(); len(k) > 0 {
			fmt.Fprintf(a.out, "key         %s\n", strings.Join(k, ", "))
		}
		if k := t.PartitionKeys(); len(k) > 0 {
			fmt.Fprintf(a.out, "partitions  %s\n", strings.Join(k, ", "))
		}
		if c := t.Comment(); c != "" {
			fmt.Fprintf(a.out, "comment     %s\n", c)
		}
		fmt.Fprintln(a.out, "columns")
		for _, f := range fields {
			line := fmt.Sprintf("  %-24s %s", f.Name, f.Type)
			if f.Default != nil {
				line += " DEFAULT '" + *f.Default + "'"
			}
			if f.Description != "" {
				line += "  -- " + f.Description
			}
			fmt.Fprintln(a.out, line)
		}
		if o := t.Options(); len(o) > 0 {
			fmt.Fprintln(a.out, "options")
			for _, k := range slices.Sorted(maps.Keys(o)) {
				fmt.Fprintf(a.out, "  %s = %s\n", k, o[k])
			}
		}
		return nil
	}}
}

func (a *app) tableCreate() *cobra.Command {
	var cols, options []string
	var pk, part, comment string
	cmd := &cobra.Command{
		Use: "create TABLE", Short: "Create a table", Args: cobra.ExactArgs(1),
		Example: `  tarn table create shop.orders --column 'id BIGINT' --column 'status STRING' --primary-key id --option bucket=2
  tarn table create ods.log --column 'at TIMESTAMP(3)' --column 'line STRING' --column 'dt DATE' --partition-by dt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			def := tarn.TableDef{Comment: comment}
			for _, c := range cols {
				name, typ, ok := strings.Cut(strings.TrimSpace(c), " ")
				if !ok {
					return usage(fmt.Errorf("--column %q: want name TYPE", c))
				}
				t, err := types.Parse(typ)
				if err != nil {
					return usage(fmt.Errorf("--column %q: %w", c, err))
				}
				def.Fields = append(def.Fields, types.Field{Name: name, Type: t})
			}
			def.PrimaryKeys, def.PartitionKeys = splitList(pk), splitList(part)
			var err error
			if def.Options, err = keyValues("option", options); err != nil {
				return err
			}
			cat, err := a.open(cmd.Context(), "")
			if err != nil {
				return err
			}
			_, err = cat.CreateTable(cmd.Context(), args[0], def)
			return err
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&cols, "column", nil, "name TYPE, in order")
	f.StringVar(&pk, "primary-key", "", "columns, with commas between")
	f.StringVar(&part, "partition-by", "", "columns, with commas between")
	f.StringVar(&comment, "comment", "", "comment of the table")
	f.StringArrayVar(&options, "option", nil, "key=value")
	return cmd
}

func splitList(s string) []string {
	var out []string
	for _, p := range strings.Split(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func (a *app) tableAlter() *cobra.Command {
	var add, drop, rename, typ, set, reset []string
	cmd := &cobra.Command{
		Use: "alter TABLE", Short: "Change columns and options of a table, all or nothing", Args: cobra.ExactArgs(1),
		Example: `  tarn table alter shop.orders --add 'note STRING' --rename amount=total --set snapshot.num-retained.max=50
  tarn table alter shop.orders --type 'id BIGINT' --drop note --reset snapshot.num-retained.max`,
		RunE: func(cmd *cobra.Command, args []string) error {
			changes, err := alterChanges(add, drop, rename, typ, set, reset)
			if err != nil {
				return usage(err)
			}
			t, err := a.table(cmd.Context(), args[0], nil)
			if err != nil {
				return err
			}
			return t.Alter(cmd.Context(), changes...)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&add, "add", nil, "name TYPE of a column to add (a.b for a field of a ROW)")
	f.StringArrayVar(&drop, "drop", nil, "column to drop")
	f.StringArrayVar(&rename, "rename", nil, "old=new")
	f.StringArrayVar(&typ, "type", nil, "name TYPE of a column to change")
	f.StringArrayVar(&set, "set", nil, "option, key=value")
	f.StringArrayVar(&reset, "reset", nil, "option")
	return cmd
}

func alterChanges(add, drop, rename, typ, set, reset []string) ([]tarn.SchemaChange, error) {
	var out []tarn.SchemaChange
	nameType := func(flag, s string) ([]string, types.Type, error) {
		name, text, ok := strings.Cut(strings.TrimSpace(s), " ")
		if !ok {
			return nil, types.Type{}, fmt.Errorf("--%s %q: want name TYPE", flag, s)
		}
		t, err := types.Parse(text)
		if err != nil {
			return nil, t, fmt.Errorf("--%s %q: %w", flag, s, err)
		}
		return strings.Split(name, "."), t, nil
	}
	for _, s := range add {
		p, t, err := nameType("add", s)
		if err != nil {
			return nil, err
		}
		out = append(out, tarn.AddColumn{Path: p, Type: t})
	}
	for _, s := range typ {
		p, t, err := nameType("type", s)
		if err != nil {
			return nil, err
		}
		out = append(out, tarn.UpdateType{Path: p, Type: t})
	}
	for _, s := range rename {
		from, to, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("--rename %q: want old=new", s)
		}
		out = append(out, tarn.RenameColumn{Path: strings.Split(from, "."), To: to})
	}
	for _, s := range drop {
		out = append(out, tarn.DropColumn{Path: strings.Split(s, ".")})
	}
	for _, s := range set {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("--set %q: want key=value", s)
		}
		out = append(out, tarn.SetOption{Key: k, Value: v})
	}
	for _, k := range reset {
		out = append(out, tarn.ResetOption{Key: k})
	}
	if len(out) == 0 {
		return nil, errors.New("nothing to change: see --add, --drop, --rename, --type, --set, --reset")
	}
	return out, nil
}

func (a *app) tableRename() *cobra.Command {
	return &cobra.Command{Use: "rename TABLE NEW", Short: "Give a table another name", Args: cobra.ExactArgs(2), Example: "  tarn table rename shop.orders shop.orders_old\n  tarn table rename shop.orders archive.orders", RunE: func(cmd *cobra.Command, args []string) error {
		cat, err := a.open(cmd.Context(), "")
		if err != nil {
			return err
		}
		return cat.RenameTable(cmd.Context(), args[0], args[1])
	}}
}

func (a *app) tableDrop() *cobra.Command {
	var sure confirmation
	cmd := &cobra.Command{
		Use: "drop TABLE", Short: "Drop a table with its files", Args: cobra.ExactArgs(1),
		Example: "  tarn table drop ods.events --yes\n  tarn table drop ods.events --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			cat, err := a.open(cmd.Context(), "")
			if err != nil {
				return err
			}
			if ok, err := a.confirm(sure, "drop table "+args[0], func() error {
				_, err := a.table(cmd.Context(), args[0], nil)
				return err
			}); err != nil || !ok {
				return err
			}
			return cat.DropTable(cmd.Context(), args[0])
		},
	}
	sure.flags(cmd)
	return cmd
}

func (a *app) tableTruncate() *cobra.Command {
	var sure confirmation
	cmd := &cobra.Command{
		Use: "truncate TABLE", Short: "Remove all rows of a table, in one commit", Args: cobra.ExactArgs(1),
		Long:    "Removes all rows of a table, in one commit. Older snapshots have them until they expire.",
		Example: "  tarn table truncate ods.events --dry-run\n  tarn table truncate ods.events --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.table(cmd.Context(), args[0], nil)
			if err != nil {
				return err
			}
			if ok, err := a.confirm(sure, "remove all rows of "+t.Name(), nil); err != nil || !ok {
				return err
			}
			r, err := t.Truncate(cmd.Context())
			if err != nil {
				return err
			}
			a.say("%s has no rows from snapshot %d on\n", t.Name(), r.SnapshotID)
			return nil
		},
	}
	sure.flags(cmd)
	return cmd
}

// systemTable is a command that prints a system table.
func (a *app) systemTable(name, short string) *cobra.Command {
	return &cobra.Command{Use: name + " TABLE", Short: short, Args: cobra.ExactArgs(1), Example: "  tarn table " + name + " shop.orders\n  tarn table " + name + " shop.orders --csv", RunE: func(cmd *cobra.Command, args []string) error {
		return a.printSystem(cmd.Context(), args[0]+"$"+name)
	}}
}

func (a *app) printSystem(ctx context.Context, name string) error {
	return a.read(ctx, name, &readOptions{}, false)
}
