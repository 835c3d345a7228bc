package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
)

func (a *app) syncCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "sync", Short: "Follow databases and logs into the lake"}
	var once bool
	run := &cobra.Command{
		Use: "run JOB.yaml", Short: "Run a job until it is stopped or its source ends", Args: cobra.ExactArgs(1),
		Example: "  tarn sync run shop.yaml\n  tarn sync run --once shop.yaml\n  cat events.jsonl | tarn sync run stdin.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := cdc.LoadConfig(args[0])
			if err != nil {
				return usage(err)
			}
			return a.runJob(cmd.Context(), cfg, once)
		},
	}
	run.Flags().BoolVar(&once, "once", false, "stop when caught up")
	check := &cobra.Command{
		Use: "check JOB.yaml", Short: "Read a job's file, open its source and warehouse, write nothing", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.checkJob(cmd.Context(), args[0]) },
	}
	status := &cobra.Command{
		Use: "status JOB.yaml", Short: "Where a job stands, by its newest checkpoint", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.jobStatus(cmd.Context(), args[0]) },
	}
	reset := &cobra.Command{
		Use: "reset JOB.yaml", Short: "Forget where a job stands: it starts from the beginning, under a new commit user", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			yes, _ := cmd.Flags().GetBool("yes")
			return a.resetJob(cmd.Context(), args[0], yes)
		},
	}
	reset.Flags().Bool("yes", false, "do it")
	cmd.AddCommand(run, check, status, reset)
	return cmd
}

func (a *app) runJob(ctx context.Context, cfg *cdc.Config, once bool) error {
	p := newProgress(a, cfg.Name)
	sum, err := cdc.Run(ctx, cfg, cdc.RunOptions{Stdin: a.in, Stop: a.stop, Once: once, Progress: p.show, Log: a.logger()})
	p.end()
	if msg := (*cdc.MessageError)(nil); errors.As(err, &msg) {
		return hint(err, "such messages are left out by on-error: skip, or kept by on-error: {dead-letter: FILE}")
	}
	if err != nil {
		return err
	}
	at := "no checkpoint"
	if sum.Checkpoint >= 0 {
		at = fmt.Sprintf("checkpoint %d", sum.Checkpoint)
	}
	a.say("job %s: %s into %s, %s\n", cfg.Name, count(sum.Rows, "row"), count(int64(sum.Tables), "table"), at)
	switch {
	case sum.Skipped == 1:
		a.say("1 row or message was left out (on-error)\n")
	case sum.Skipped > 1:
		a.say("%s rows or messages were left out (on-error)\n", thousands(sum.Skipped))
	}
	return a.failedTables(sum.FailedTables)
}

// failedTables makes the error of tables that were set aside.
func (a *app) failedTables(failed map[string]error) error {
	if len(failed) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		fmt.Fprintf(a.err, "tarn: table %s was set aside: %v\n", name, failed[name])
	}
	return &codeError{exitSomeFailed, fmt.Errorf("%s set aside, the others are complete", were(len(failed)))}
}

func were(n int) string {
	if n == 1 {
		return "1 table was"
	}
	return fmt.Sprintf("%d tables were", n)
}

// say tells people; nothing if quiet.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, format, args...)
	}
}

func (a *app) checkJob(ctx context.Context, path string) error {
	cfg, err := cdc.LoadConfig(path)
	if err != nil {
		return usage(err)
	}
	src, err := cdc.OpenSource(cfg, a.in)
	if err != nil {
		return usage(err)
	}
	defer src.Close()
	cat, err := tarn.Open(ctx, cfg.Sink.Warehouse, &tarn.OpenOptions{FileIO: cfg.Sink.Catalog})
	if err != nil {
		return err
	}
	dbs, err := cat.Databases(ctx)
	if err != nil {
		return err
	}
	if err := src.Open(ctx, nil); err != nil {
		return err
	}
	fctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	evs, err := src.Fetch(fctx)
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil && fctx.Err() == nil {
		return err
	}
	fmt.Fprintf(a.out, "job %s: source %s gives events (%d in the first answer), warehouse %s has %d databases\n", cfg.Name, cfg.Source.Type, len(evs), cat.Warehouse(), len(dbs))
	return nil
}

// jobLine is a table of a job in the output of status.
type jobLine struct {
	Table  string `json:"table"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func (a *app) jobStatus(ctx context.Context, path string) error {
	cfg, err := cdc.LoadConfig(path)
	if err != nil {
		return usage(err)
	}
	cat, err := tarn.Open(ctx, cfg.Sink.Warehouse, &tarn.OpenOptions{FileIO: cfg.Sink.Catalog})
	if err != nil {
		return err
	}
	names, err := cat.Jobs(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(names, cfg.Name) {
		return fmt.Errorf("job %s %w in %s: it never ran", cfg.Name, tarn.ErrNotExist, cat.Warehouse())
	}
	job, err := cat.OpenJob(ctx, cfg.Name)
	if err != nil {
		return err
	}
	ck, err := job.Latest(ctx)
	if err != nil {
		return err
	}
	if ck == nil {
		fmt.Fprintf(a.out, "job %s: commit user %s, no checkpoint yet\n", cfg.Name, job.User())
		return nil
	}
	var lines []jobLine
	for _, t := range ck.Tables {
		l := jobLine{t.Table, string(t.Status), t.Reason}
		if l.Status == "" {
			l.Status = "running"
		}
		lines = append(lines, l)
	}
	if a.json || a.output == "json" || a.output == "jsonl" {
		return json.NewEncoder(a.out).Encode(map[string]any{
			"job": cfg.Name, "commitUser": job.User(), "checkpoint": ck.Number, "time": time.UnixMilli(ck.Millis).UTC(), "position": ck.Position, "tables": lines,
		})
	}
	fmt.Fprintf(a.out, "job %s: commit user %s, checkpoint %d of %s\n", cfg.Name, job.User(), ck.Number, time.UnixMilli(ck.Millis).UTC().Format(time.RFC3339))
	for _, l := range lines {
		fmt.Fprintf(a.out, "  %-40s %s  %s\n", l.Table, l.Status, l.Reason)
	}
	return nil
}

func (a *app) resetJob(ctx context.Context, path string, yes bool) error {
	cfg, err := cdc.LoadConfig(path)
	if err != nil {
		return usage(err)
	}
	if !yes {
		return hint(usage(fmt.Errorf("job %s would start from the beginning and write its tables again", cfg.Name)), "say so with --yes")
	}
	cat, err := tarn.Open(ctx, cfg.Sink.Warehouse, &tarn.OpenOptions{FileIO: cfg.Sink.Catalog})
	if err != nil {
		return err
	}
	job, err := cat.OpenJob(ctx, cfg.Name)
	if err != nil {
		return err
	}
	old := job.User()
	if err := job.Reset(ctx); err != nil {
		return err
	}
	a.say("job %s starts anew: commit user %s instead of %s\n", cfg.Name, job.User(), old)
	return nil
}
