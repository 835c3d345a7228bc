package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/types"
)

// checked is a table in the output of sync check.
type checked struct {
	Table  string   `json:"table"`
	From   []string `json:"from"`
	Exists bool     `json:"exists"`
	DDL    string   `json:"ddl,omitempty"`
	Failed string   `json:"failed,omitempty"`
}

// checkJob shows what a job would do with the first events.
func (a *app) checkJob(ctx context.Context, cfg *cdc.Config) error {
	src, err := cdc.OpenSource(cfg, a.in)
	if err != nil {
		return usage(err)
	}
	defer src.Close()
	cat, err := tarn.Open(ctx, cfg.Sink.Warehouse, &tarn.OpenOptions{FileIO: cfg.Sink.Catalog})
	if err != nil {
		return usage(err)
	}
	if _, err := cat.Databases(ctx); err != nil {
		return err
	}
	if err := src.Open(ctx, nil); err != nil {
		return missingFile(err)
	}
	fctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	p, err := cdc.PreviewJob(fctx, cfg, cat, src, 20000)
	if err != nil {
		return err
	}
	var lines []checked
	failed := map[string]error{}
	for _, t := range p.Tables {
		l := checked{Table: t.Table, From: t.From, Exists: t.Before != nil}
		if t.Failed != nil {
			l.Failed = t.Failed.Error()
			failed[t.Table] = t.Failed
		}
		if t.After != nil {
			if l.DDL, err = ddl(t); err != nil {
				return err
			}
		}
		lines = append(lines, l)
	}
	if a.json || a.output == "json" || a.output == "jsonl" {
		e := json.NewEncoder(a.out)
		e.SetEscapeHTML(false)
		for _, l := range lines {
			if err := e.Encode(l); err != nil {
				return err
			}
		}
	} else {
		a.printChecked(cfg, cat, p, lines)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(a.err, "tarn: warning: %v\n", w)
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		fmt.Fprintf(a.err, "tarn: table %s would be set aside: %v\n", name, failed[name])
	}
	if len(p.Bad) > 0 {
		return hint(p.Bad[0], "such messages are left out by on-error: skip, or kept by on-error: {dead-letter: FILE}")
	}
	if n := len(failed); n > 0 {
		return &codeError{exitSomeFailed, fmt.Errorf("%s would be set aside", count(int64(n), "table"))}
	}
	return nil
}

func (a *app) printChecked(cfg *cdc.Config, cat *tarn.Catalog, p *cdc.Preview, lines []checked) {
	fmt.Fprintf(a.out, "job %s: source %s, %s read, warehouse %s; nothing is written\n", cfg.Name, cfg.Source.Type, count(int64(p.Events), "event"), cat.Warehouse())
	for _, l := range lines {
		state := "new"
		if l.Exists {
			state = "is there"
		}
		fmt.Fprintf(a.out, "%s → %s (%s)\n", strings.Join(l.From, ", "), l.Table, state)
		for _, s := range strings.Split(strings.TrimSuffix(l.DDL, "\n"), "\n") {
			if s != "" {
				fmt.Fprintln(a.out, "  "+s)
			}
		}
	}
	if len(p.Out) > 0 {
		fmt.Fprintf(a.out, "left out: %s\n", strings.Join(p.Out, ", "))
	}
}

// ddl is the statements that would make a table what it is to be.
func ddl(t cdc.TablePreview) (string, error) {
	after, err := t.After.Fields()
	if err != nil {
		return "", err
	}
	if t.Before == nil {
		return createStatement(t.Table, t.After, after), nil
	}
	before, err := t.Before.Fields()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range after {
		i := slices.IndexFunc(before, func(x types.Field) bool { return x.Name == f.Name })
		switch {
		case i < 0:
			fmt.Fprintf(&b, "ALTER TABLE %s ADD %s %s;\n", t.Table, quoted(f.Name), f.Type)
		case before[i].Type.String() != f.Type.String():
			fmt.Fprintf(&b, "ALTER TABLE %s MODIFY %s %s;\n", t.Table, quoted(f.Name), f.Type)
		}
	}
	return b.String(), nil
}

// quoted writes a name as SQL takes it.
func quoted(name string) string {
	if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && (name[0] < '0' || name[0] > '9') {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func quotedAll(names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, quoted(n))
	}
	return out
}

func createStatement(name string, t *tarn.Table, fields []types.Field) string {
	var parts []string
	for _, f := range fields {
		parts = append(parts, quoted(f.Name)+" "+f.Type.String())
	}
	if pk := t.PrimaryKeys(); len(pk) > 0 {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(quotedAll(pk), ", ")+") NOT ENFORCED")
	}
	s := "CREATE TABLE " + name + " (" + strings.Join(parts, ", ") + ")"
	if keys := t.PartitionKeys(); len(keys) > 0 {
		s += " PARTITIONED BY (" + strings.Join(quotedAll(keys), ", ") + ")"
	}
	var with []string
	o := t.Options()
	for _, k := range slices.Sorted(maps.Keys(o)) {
		with = append(with, "'"+k+"' = '"+o[k]+"'")
	}
	if len(with) > 0 {
		s += " WITH (" + strings.Join(with, ", ") + ")"
	}
	return s + ";\n"
}
