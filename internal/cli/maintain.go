package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
)

func (a *app) snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "snapshot", Short: "Snapshots: list, show, diff, expire"}
	cmd.AddCommand(
		&cobra.Command{Use: "list TABLE", Short: "List the snapshots of a table", Args: cobra.ExactArgs(1), Example: "  tarn snapshot list shop.orders\n  tarn snapshot list shop.orders --json", RunE: func(cmd *cobra.Command, args []string) error {
			return a.printSystem(cmd.Context(), args[0]+"$snapshots")
		}},
		&cobra.Command{Use: "show TABLE [NUMBER]", Short: "Show a snapshot, the newest by default", Args: cobra.RangeArgs(1, 2), Example: "  tarn snapshot show shop.orders\n  tarn snapshot show shop.orders 3", RunE: func(cmd *cobra.Command, args []string) error {
			return a.snapshotShow(cmd.Context(), args)
		}},
		&cobra.Command{Use: "diff TABLE FROM TO", Short: "Compare two snapshots: rows, files", Args: cobra.ExactArgs(3), Example: "  tarn snapshot diff shop.orders 3 7\n  tarn snapshot diff shop.orders 3 7 --json", RunE: func(cmd *cobra.Command, args []string) error {
			return a.snapshotDiff(cmd.Context(), args)
		}},
		a.snapshotExpire(),
	)
	return cmd
}

func (a *app) snapshotShow(ctx context.Context, args []string) error {
	t, err := a.table(ctx, args[0], nil)
	if err != nil {
		return err
	}
	var s *tarn.Snapshot
	if len(args) == 2 {
		id, perr := strconv.ParseInt(args[1], 10, 64)
		if perr != nil {
			return usage(fmt.Errorf("%q is no number of a snapshot", args[1]))
		}
		s, err = t.SnapshotAt(ctx, id)
	} else {
		s, err = t.LatestSnapshot(ctx)
	}
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("table %s: no snapshot is there, one %w until something is written", t.Name(), tarn.ErrNotExist)
	}
	_, err = fmt.Fprintln(a.out, string(tarn.SnapshotJSON(s)))
	return err
}

// snapshotDiffLine is the output of snapshot diff.
type snapshotDiffLine struct {
	Table        string `json:"table"`
	From         int64  `json:"from"`
	To           int64  `json:"to"`
	FilesAdded   int    `json:"filesAdded"`
	FilesRemoved int    `json:"filesRemoved"`
	RowsBefore   int64  `json:"rowsBefore"`
	RowsAfter    int64  `json:"rowsAfter"`
	SchemaBefore int64  `json:"schemaBefore"`
	SchemaAfter  int64  `json:"schemaAfter"`
}

func (a *app) snapshotDiff(ctx context.Context, args []string) error {
	var ids [2]int64
	var files [2]map[string]bool
	var snaps [2]*tarn.Snapshot
	for i, s := range args[1:] {
		id, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return usage(fmt.Errorf("%q is no number of a snapshot", s))
		}
		ids[i] = id
		t, err := a.table(ctx, args[0], map[string]string{"scan.snapshot-id": s})
		if err != nil {
			return err
		}
		if snaps[i], err = t.SnapshotAt(ctx, id); err != nil {
			return err
		}
		if files[i], err = t.FileNames(ctx); err != nil {
			return err
		}
	}
	d := snapshotDiffLine{Table: args[0], From: ids[0], To: ids[1], SchemaBefore: snaps[0].SchemaID, SchemaAfter: snaps[1].SchemaID}
	for f := range files[1] {
		if !files[0][f] {
			d.FilesAdded++
		}
	}
	for f := range files[0] {
		if !files[1][f] {
			d.FilesRemoved++
		}
	}
	if n := snaps[0].TotalRecordCount; n != nil {
		d.RowsBefore = *n
	}
	if n := snaps[1].TotalRecordCount; n != nil {
		d.RowsAfter = *n
	}
	if a.json || a.output == "json" || a.output == "jsonl" {
		return json.NewEncoder(a.out).Encode(d)
	}
	_, err := fmt.Fprintf(a.out, "%s: snapshot %d to %d: %d files added, %d removed; %s rows before, %s after (before merging); schema %d to %d\n",
		d.Table, d.From, d.To, d.FilesAdded, d.FilesRemoved, thousands(d.RowsBefore), thousands(d.RowsAfter), d.SchemaBefore, d.SchemaAfter)
	return err
}

func (a *app) snapshotExpire() *cobra.Command {
	var o tarn.ExpireOptions
	var older time.Duration
	cmd := &cobra.Command{Use: "expire TABLE", Short: "Remove snapshots that need not be kept", Args: cobra.ExactArgs(1), Example: "  tarn snapshot expire shop.orders --dry-run\n  tarn snapshot expire shop.orders --retain-max 10 --older-than 24h", RunE: func(cmd *cobra.Command, args []string) error {
		t, err := a.table(cmd.Context(), args[0], nil)
		if err != nil {
			return err
		}
		for _, f := range []string{"retain-max", "retain-min"} {
			if n, _ := cmd.Flags().GetInt(f); n < 1 && cmd.Flags().Changed(f) {
				return usage(fmt.Errorf("--%s %d: at least one snapshot is kept", f, n))
			}
		}
		if older < 0 {
			return usage(fmt.Errorf("--older-than %s: want a length of time, such as 1h", older))
		}
		if err := checkRetain(t, o); err != nil {
			return err
		}
		if cmd.Flags().Changed("older-than") {
			o.TimeRetained = max(older, time.Nanosecond)
		}
		e, err := t.ExpireSnapshots(cmd.Context(), o)
		if err != nil {
			return err
		}
		what := "%s: %s expired, %s removed\n"
		if o.DryRun {
			what = "%s: %s would expire, %s be removed\n"
		}
		a.say(what, t.Name(), count(int64(e.Snapshots), "snapshot"), count(int64(e.Files), "file"))
		return nil
	}}
	f := cmd.Flags()
	f.IntVar(&o.RetainMax, "retain-max", 0, "keep at most so many snapshots")
	f.IntVar(&o.RetainMin, "retain-min", 0, "keep at least so many")
	f.DurationVar(&older, "older-than", 0, "only those older than this (1h)")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would be removed, and remove nothing")
	return cmd
}

// checkRetain refuses a largest number of snapshots below the smallest that the table keeps.
func checkRetain(t *tarn.Table, o tarn.ExpireOptions) error {
	least, from := 10, "snapshot.num-retained.min"
	if n, err := strconv.Atoi(t.Options()[from]); err == nil {
		least = n
	}
	if o.RetainMin > 0 {
		least, from = o.RetainMin, "--retain-min"
	}
	if o.RetainMax > 0 && o.RetainMax < least {
		return hint(usage(fmt.Errorf("--retain-max %d is less than %s, %d", o.RetainMax, from, least)), "give a smaller --retain-min too")
	}
	return nil
}

func (a *app) checkCommand() *cobra.Command {
	var explain bool
	cmd := &cobra.Command{Use: "check TABLE", Short: "Examine a table: that all its files are there and fit together", Args: cobra.ExactArgs(1), Example: "  tarn check shop.orders\n  tarn check shop.orders --explain\n  tarn check s3://lake/shop.db/orders --json", RunE: func(cmd *cobra.Command, args []string) error {
		t, err := a.table(cmd.Context(), args[0], nil)
		if err != nil && isDamage(err) {
			err = &codeError{exitDamage, err} // a schema that cannot be read
		}
		if err != nil {
			return err
		}
		r, err := t.Check(cmd.Context())
		if err != nil {
			return err
		}
		if a.json || a.output == "json" || a.output == "jsonl" {
			err = json.NewEncoder(a.out).Encode(r)
		} else {
			_, err = fmt.Fprintf(a.out, "%s: %s (and tags), %s, %s before merging, %s\n", t.Name(), count(int64(r.Snapshots), "snapshot"),
				count(int64(r.Files), "file"), count(r.Rows, "row"), count(int64(len(r.Problems)), "problem"))
			for _, p := range r.Problems {
				mark := "note"
				if p.Damage {
					mark = "damage"
				}
				fmt.Fprintf(a.out, "  %s: %s: %s\n", mark, p.Path, p.What)
				if explain {
					fmt.Fprintf(a.out, "    %s\n", p.Advice)
				}
			}
		}
		if err == nil && r.Damaged() {
			err = &codeError{exitDamage, fmt.Errorf("table %s is damaged", t.Name())}
			if !explain {
				err = hint(err, "tarn check --explain says what to do")
			}
		}
		return err
	}}
	cmd.Flags().BoolVar(&explain, "explain", false, "say what to do about each problem")
	return cmd
}
