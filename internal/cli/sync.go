package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
)

func (a *app) syncCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sync", Short: "Follow databases and logs into the lake",
		Example: "  tarn sync check job.yaml\n  tarn sync run job.yaml\n  tarn sync status job.yaml",
	}
	cmd.AddCommand(
		a.jobCommand("run", "Run a job until it is stopped or its source ends",
			"  tarn sync run shop.yaml\n  tarn sync run --once shop.yaml\n  cat events.jsonl | tarn sync run --name mine --path - --format debezium-json --table 'ods.{table}' --primary-key id",
			func(cmd *cobra.Command) func(*cdc.Config) error {
				once := cmd.Flags().Bool("once", false, "stop when caught up")
				return func(cfg *cdc.Config) error { return a.runJob(cmd.Context(), cfg, *once) }
			}),
		a.jobCommand("check", "Read a job and the first events of its source, show what it would do, write nothing",
			"  tarn sync check shop.yaml\n  tarn sync check shop.yaml --json",
			func(cmd *cobra.Command) func(*cdc.Config) error {
				return func(cfg *cdc.Config) error { return a.checkJob(cmd.Context(), cfg) }
			}),
		a.jobCommand("status", "Where a job stands, by its newest checkpoint", "  tarn sync status shop.yaml\n  tarn sync status --name shop --source files --path events.jsonl --format canal-json --json",
			func(cmd *cobra.Command) func(*cdc.Config) error {
				return func(cfg *cdc.Config) error { return a.jobStatus(cmd.Context(), cfg) }
			}),
		a.jobCommand("reset", "Forget where a job stands: it starts from the beginning, under a new commit user", "  tarn sync reset shop.yaml --dry-run\n  tarn sync reset shop.yaml --yes",
			func(cmd *cobra.Command) func(*cdc.Config) error {
				var sure confirmation
				sure.flags(cmd)
				return func(cfg *cdc.Config) error { return a.resetJob(cmd.Context(), cfg, sure) }
			}),
	)
	return cmd
}

// jobCommand is a command about a job, which a file or flags describe.
func (a *app) jobCommand(name, short, example string, prepare func(*cobra.Command) func(*cdc.Config) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " [JOB.yaml]", Short: short, Args: cobra.MaximumNArgs(1), Example: example,
		Long: short + ".\nA job is described by a file, by flags, or by a file and flags that change what it says.",
	}
	o := newJobFlags(cmd)
	do := prepare(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		cfg, err := a.job(o, args)
		if err != nil {
			return err
		}
		return do(cfg)
	}
	return cmd
}

func (a *app) runJob(ctx context.Context, cfg *cdc.Config, once bool) error {
	a.graceful.Store(true)
	p := newProgress(a, cfg.Name)
	sum, err := cdc.Run(ctx, cfg, cdc.RunOptions{Stdin: a.in, Stop: a.stop, Once: once, Progress: p.show, Log: a.logger()})
	p.end()
	if msg := (*cdc.MessageError)(nil); errors.As(err, &msg) {
		return hint(err, "such messages are left out by on-error: skip, or kept by on-error: {dead-letter: FILE}")
	}
	if errors.Is(err, tarn.ErrUnknownOutcome) { // the next start finds out
		return &codeError{exitUnreachable, err}
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

// jobLine is a table of a job in the output of status.
type jobLine struct {
	Table  string `json:"table"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	cdc.Count
}

func (a *app) jobStatus(ctx context.Context, cfg *cdc.Config) error {
	cat, err := tarn.Open(ctx, cfg.Sink.Warehouse, &tarn.OpenOptions{FileIO: cfg.Sink.Catalog})
	if err != nil {
		return err
	}
	if err := jobExists(ctx, cat, cfg.Name); err != nil {
		return err
	}
	job, err := cat.OpenJob(ctx, cfg.Name)
	if err != nil {
		return err
	}
	ck, err := job.Latest(ctx)
	if err != nil {
		return err
	}
	asJSON := a.json || a.output == "json" || a.output == "jsonl"
	holder, err := job.Holder(ctx, time.Now())
	if err != nil {
		return err
	}
	out := map[string]any{"job": cfg.Name, "commitUser": job.User(), "running": holder != "", "tables": []jobLine{}}
	runs := "it does not run now"
	if holder != "" {
		out["holder"], runs = holder, "it runs now ("+holder+")"
	}
	if ck == nil && asJSON {
		return json.NewEncoder(a.out).Encode(out)
	}
	if ck == nil {
		fmt.Fprintf(a.out, "job %s: commit user %s, no checkpoint yet\n  %s\n", cfg.Name, job.User(), runs)
		return nil
	}
	newest, err := cdc.NewestChange(ck)
	if err != nil {
		return err
	}
	counts, err := cdc.Counts(ck)
	if err != nil {
		return err
	}
	lines := []jobLine{}
	for _, t := range ck.Tables {
		l := jobLine{Table: t.Table, Status: string(t.Status), Reason: t.Reason}
		if c := counts[t.Table]; c != nil {
			l.Count = *c
		}
		if l.Status == "" {
			l.Status = "running"
		}
		lines = append(lines, l)
	}
	at := time.UnixMilli(ck.Millis).UTC()
	if asJSON {
		maps.Copy(out, map[string]any{"checkpoint": ck.Number, "time": at, "position": placeOf(ck.Position), "events": ck.Events, "tables": lines})
		if !newest.IsZero() {
			out["newestChange"] = newest
		}
		return json.NewEncoder(a.out).Encode(out)
	}
	fmt.Fprintf(a.out, "job %s: commit user %s, checkpoint %d of %s\n  %s\n", cfg.Name, job.User(), ck.Number, at.Format(time.RFC3339), runs)
	if !newest.IsZero() {
		fmt.Fprintf(a.out, "  newest change of %s, %s before the checkpoint\n", newest.Format(time.RFC3339), max(at.Sub(newest), 0).Round(time.Second))
	}
	if at := placeOf(ck.Position); at != nil {
		fmt.Fprintf(a.out, "  %s taken, up to %s\n", count(ck.Events, "event"), at)
	}
	for _, l := range lines {
		fmt.Fprintf(a.out, "  %-40s %s  %s\n", l.Table, l.Status, cmp.Or(l.Reason, count(l.Rows, "row")))
		if l.Reason != "" && l.Rows > 0 {
			fmt.Fprintf(a.out, "    %s before\n", count(l.Rows, "row"))
		}
		if l.LeftOut > 0 {
			fmt.Fprintf(a.out, "    left out by on-error: %s\n", thousands(l.LeftOut))
		}
		if l.Truncates > 0 {
			fmt.Fprintf(a.out, "    the source emptied it %s (TRUNCATE): rows stayed\n", count(l.Truncates, "time"))
		}
	}
	return nil
}

// placeOf gives the position of a source as JSON, if that is what the source writes.
func placeOf(position json.RawMessage) json.RawMessage {
	var b []byte
	if json.Unmarshal(position, &b) == nil && json.Valid(b) {
		return b
	}
	return position
}

func (a *app) resetJob(ctx context.Context, cfg *cdc.Config, sure confirmation) error {
	cat, err := tarn.Open(ctx, cfg.Sink.Warehouse, &tarn.OpenOptions{FileIO: cfg.Sink.Catalog})
	if err != nil {
		return err
	}
	if err := jobExists(ctx, cat, cfg.Name); err != nil {
		return err
	}
	if ok, err := a.confirm(sure, "let job "+cfg.Name+" start from the beginning and write its tables again", nil); err != nil || !ok {
		return err
	}
	old, now, err := cdc.Reset(ctx, cat, cfg.Name)
	if err != nil {
		return err
	}
	a.say("job %s starts anew: commit user %s instead of %s\n", cfg.Name, now, old)
	return nil
}

// jobExists wants a job to have run.
func jobExists(ctx context.Context, cat *tarn.Catalog, name string) error {
	names, err := cat.Jobs(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(names, name) {
		return nil
	}
	err = fmt.Errorf("job %s %w in %s: it never ran", name, tarn.ErrNotExist, cat.Warehouse())
	if len(names) > 0 {
		return hint(err, "there are the jobs "+strings.Join(names, ", "))
	}
	return err
}
