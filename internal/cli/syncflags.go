package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/cdc"
)

// jobFlags describe a job, or change what its file says.
type jobFlags struct {
	cmd                                        *cobra.Command
	cfg                                        cdc.Config
	caseSensitive                              bool
	prefix, suffix                             string
	primaryKey, partitionBy, computed, options []string
	types                                      []string
	every, bytes, onError                      string
}

// newJobFlags adds the flags of jobs to a command.
func newJobFlags(cmd *cobra.Command) *jobFlags {
	o := &jobFlags{cmd: cmd}
	f, c := cmd.Flags(), &o.cfg
	f.StringVar(&c.Name, "name", "", "the job's name, under which it goes on")
	f.StringVar(&c.Source.Type, "source", "", "source: files, demo; files where --path is given")
	f.StringVar(&c.Source.Path, "path", "", "file, folder or pattern of change events, - for standard input")
	f.StringVar(&c.Source.Format, "format", "", "format of the events: debezium-json, canal-json")
	f.BoolVar(&c.Source.Follow, "follow", false, "wait for more events at the end of the files")
	f.StringVar(&c.Source.TimeZone, "time-zone", "", "of the source's times where they become TIMESTAMP_LTZ: Asia/Shanghai, +08:00")
	f.StringArrayVar(&c.Source.Tables, "tables", nil, "regular expression of source tables to take; may be repeated")
	f.StringArrayVar(&c.Source.Exclude, "exclude", nil, "regular expression of source tables to leave out; may be repeated")
	f.IntVar(&c.Source.Events, "events", 0, "demo: how many changes")
	f.Uint64Var(&c.Source.Seed, "seed", 0, "demo: which shop")
	f.StringVar(&c.Sink.Table, "table", "", "where a source table goes: ods.{table}, with {database}, {schema}")
	f.BoolVar(&o.caseSensitive, "case-sensitive", true, "false: names of tables and columns are written in lower case")
	f.StringVar(&o.prefix, "prefix", "", "put before {table}")
	f.StringVar(&o.suffix, "suffix", "", "put behind {table}")
	f.StringArrayVar(&o.primaryKey, "primary-key", nil, "columns, with commas between, for all tables or as TABLE=COLUMNS")
	f.StringArrayVar(&o.partitionBy, "partition-by", nil, "columns, as for --primary-key")
	f.StringArrayVar(&o.computed, "computed", nil, "column=function(column, …)")
	f.StringArrayVar(&o.options, "option", nil, "option of tables that are created, key=value")
	f.StringArrayVar(&o.types, "type", nil, "type in the lake by that of the source: 'tinyint(1)=boolean'")
	f.StringVar(&c.SchemaChanges, "schema-changes", "", "evolve, ignore, fail")
	f.StringVar(&o.every, "checkpoint-every", "", "time between checkpoints, such as 5s")
	f.Int64Var(&c.Checkpoint.Rows, "checkpoint-rows", 0, "most rows between checkpoints")
	f.StringVar(&o.bytes, "checkpoint-bytes", "", "most bytes of events between checkpoints, such as 64MB")
	f.StringVar(&o.onError, "on-error", "", "fail, skip, dead-letter=FILE")
	return o
}

// job reads the job that a file, or flags alone, describe.
func (a *app) job(o *jobFlags, args []string) (*cdc.Config, error) {
	change := func(c *cdc.Config) error { return a.changeJob(o, c) }
	var cfg *cdc.Config
	var err error
	if len(args) > 0 {
		cfg, err = cdc.LoadConfig(args[0], change)
	} else {
		cfg = &cdc.Config{}
		if err = change(cfg); err == nil {
			err = cfg.Complete()
		}
		if bad := (*cdc.ConfigError)(nil); errors.As(err, &bad) {
			err = hint(errors.New(bad.What), "a job is described by a file, or by flags: "+o.cmd.CommandPath()+" --help")
		}
	}
	var bad *cdc.ConfigError
	switch {
	case err == nil:
		return cfg, nil
	case errors.As(err, &bad) && missingFile(bad.Unwrap()) != bad.Unwrap():
		return nil, &codeError{exitNotFound, err}
	case errors.As(err, &bad) && bad.Key != "":
		if like := nearest(bad.Key, bad.Keys); like != "" {
			return nil, hint(usage(err), "did you mean "+like+"?")
		}
		return nil, hint(usage(err), "there are "+strings.Join(bad.Keys, ", "))
	}
	return nil, usage(err)
}

func (a *app) changeJob(o *jobFlags, c *cdc.Config) error {
	f := &o.cfg
	set := map[string]func(){
		"name": func() { c.Name = f.Name }, "source": func() { c.Source.Type = f.Source.Type }, "path": func() { c.Source.Path = f.Source.Path },
		"format": func() { c.Source.Format = f.Source.Format }, "follow": func() { c.Source.Follow = f.Source.Follow },
		"case-sensitive": func() { c.Sink.CaseSensitive = &o.caseSensitive },
		"time-zone":      func() { c.Source.TimeZone = f.Source.TimeZone },
		"tables":         func() { c.Source.Tables = f.Source.Tables }, "exclude": func() { c.Source.Exclude = f.Source.Exclude },
		"events": func() { c.Source.Events = f.Source.Events }, "seed": func() { c.Source.Seed = f.Source.Seed },
		"table": func() { c.Sink.Table = f.Sink.Table }, "schema-changes": func() { c.SchemaChanges = f.SchemaChanges },
		"checkpoint-rows": func() { c.Checkpoint.Rows = f.Checkpoint.Rows },
	}
	for _, n := range []struct {
		flag string
		v    int64
	}{{"checkpoint-rows", f.Checkpoint.Rows}, {"events", int64(f.Source.Events)}} {
		if o.cmd.Flags().Changed(n.flag) && n.v <= 0 {
			return fmt.Errorf("--%s %d: want a number from 1 on", n.flag, n.v)
		}
	}
	for name, do := range set {
		if o.cmd.Flags().Changed(name) {
			do()
		}
	}
	if c.Source.Type == "" && c.Source.Path != "" {
		c.Source.Type = "files"
	}
	if o.prefix != "" || o.suffix != "" {
		if c.Sink.Table == "" {
			c.Sink.Table = "{database}.{table}"
		}
		if !strings.Contains(c.Sink.Table, "{table}") {
			return fmt.Errorf("--prefix and --suffix stand around {table}, which %q does not have", c.Sink.Table)
		}
		c.Sink.Table = strings.ReplaceAll(c.Sink.Table, "{table}", o.prefix+"{table}"+o.suffix)
	}
	columns(o.primaryKey, &c.Sink.PrimaryKey)
	columns(o.partitionBy, &c.Sink.PartitionBy)
	for _, kv := range []struct {
		flag string
		list []string
		to   *map[string]string
	}{{"computed", o.computed, &c.Sink.Computed}, {"option", o.options, &c.Sink.Options}, {"type", o.types, &c.Types}, {"catalog", a.catalog, &c.Sink.Catalog}} {
		m, err := keyValues(kv.flag, kv.list)
		if err != nil {
			return err
		}
		if *kv.to == nil {
			*kv.to = map[string]string{}
		}
		maps.Copy(*kv.to, m)
	}
	if o.every != "" {
		if err := c.Checkpoint.Every.Set(o.every); err != nil {
			return fmt.Errorf("--checkpoint-every: %w", err)
		}
	}
	if o.bytes != "" {
		if err := c.Checkpoint.Bytes.Set(o.bytes); err != nil {
			return fmt.Errorf("--checkpoint-bytes: %w", err)
		}
	}
	if o.onError != "" {
		mode, file, dead := strings.Cut(o.onError, "=")
		if dead != (mode == "dead-letter") || dead && file == "" || !dead && mode != "fail" && mode != "skip" {
			return fmt.Errorf("--on-error %q is not known; there are fail, skip, dead-letter=FILE", o.onError)
		}
		c.OnError = cdc.OnError{Mode: mode, DeadLetter: file}
	}
	if a.warehouse != "" {
		c.Sink.Warehouse = a.warehouse
	}
	if c.Sink.Warehouse == "" {
		c.Sink.Warehouse = os.Getenv("TARN_WAREHOUSE")
	}
	return nil
}

// columns reads id,line for all tables, or orders=id,line for one.
func columns(list []string, to *cdc.Columns) {
	for _, s := range list {
		table, cols, one := strings.Cut(s, "=")
		if !one {
			to.All = splitList(s)
			continue
		}
		if to.ByTable == nil {
			to.ByTable = map[string][]string{}
		}
		to.ByTable[strings.TrimSpace(table)] = splitList(cols)
	}
}
