package cdc

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

var (
	jobName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)
	holder  = regexp.MustCompile(`\{[^}]*\}`)
)

// Complete sets defaults and checks what YAML cannot. Mistakes are *ConfigError.
func (c *Config) Complete() error { return c.complete(true) }

// complete is Complete; without source the job has one of its own.
func (c *Config) complete(source bool) error {
	checks := []func() error{c.completeName, c.completeSource, c.completeSink, c.completeRest}
	if !source {
		checks = slices.Delete(checks, 1, 2)
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) completeName() error {
	switch {
	case c.Name == "":
		return member("name", "name is missing: the job's name, under which it goes on after a restart")
	case !jobName.MatchString(c.Name):
		return member("name", "name %q: want letters, digits, - and _, at most 100", c.Name)
	}
	return nil
}

func (c *Config) completeSource() error {
	s := &c.Source
	_, zone := timeZone(s.TimeZone)
	switch {
	case s.Type == "":
		return member("source.type", "source.type is missing; there are %s", strings.Join(sourceNames(), ", "))
	case slices.Contains(later, s.Type):
		return member("source.type", "source.type %s is not supported yet; there are %s", s.Type, strings.Join(sourceNames(), ", "))
	case sources[s.Type] == nil:
		return member("source.type", "source.type %q is not known; there are %s", s.Type, strings.Join(sourceNames(), ", "))
	case s.Type == "files" && s.Path == "":
		return member("source.path", "source.path is missing: a file of change events, or - for standard input")
	case s.Type == "files" && s.Format == "":
		return member("source.format", "source.format is missing; there are %s", strings.Join(decode.Formats(), ", "))
	case s.Type == "files" && !slices.Contains(decode.Formats(), s.Format):
		return member("source.format", "source.format %q is not known; there are %s", s.Format, strings.Join(decode.Formats(), ", "))
	case zone != nil:
		return member("source.time-zone", "%v", zone)
	case s.Events < 0:
		return member("source.events", "source.events %d: want a number of changes", s.Events)
	}
	for _, list := range []struct {
		path     string
		patterns []string
	}{{"source.tables", s.Tables}, {"source.exclude", s.Exclude}} {
		for _, p := range list.patterns {
			if _, err := regexp.Compile("^(?:" + p + ")$"); err != nil {
				return member(list.path, "%s: %q is no regular expression: %v", list.path, p, err)
			}
		}
	}
	return nil
}

func (c *Config) completeSink() error {
	s := &c.Sink
	if s.Warehouse == "" {
		return member("sink.warehouse", "sink.warehouse is missing: a folder or s3://bucket/path")
	}
	if s.Table == "" {
		s.Table = "{database}.{table}"
	}
	for _, h := range holder.FindAllString(s.Table, -1) {
		if !slices.Contains([]string{"{database}", "{schema}", "{table}"}, h) {
			return member("sink.table", "sink.table %q: %s is not known; there are {database}, {schema}, {table}", s.Table, h)
		}
	}
	db, name := splitName(s.Table)
	if strings.Count(s.Table, ".") != 1 || db == "" || name == "" || strings.ContainsAny(s.Table, "/\\$") {
		return member("sink.table", "sink.table %q: want database.table, such as ods.{table}", s.Table)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Options)) {
		if err := tarn.CheckOption(k, s.Options[k]); err != nil {
			return member("sink.options."+k, "sink.options: %s", strings.TrimPrefix(err.Error(), tarn.ErrInvalid.Error()+": "))
		}
	}
	_, err := parseAllComputed(s.Computed)
	return err
}

func (c *Config) completeRest() error {
	if c.SchemaChanges == "" {
		c.SchemaChanges = "evolve"
	}
	if !slices.Contains([]string{"evolve", "ignore", "fail"}, c.SchemaChanges) {
		return member("schema-changes", "schema-changes %q is not known; there are evolve, ignore, fail", c.SchemaChanges)
	}
	if c.OnError.Mode == "" {
		c.OnError.Mode = "fail"
	}
	for _, from := range slices.Sorted(maps.Keys(c.Types)) {
		if _, err := types.Parse(strings.ToUpper(c.Types[from])); err != nil {
			return member("types."+from, "types: %s: %v", from, err)
		}
	}
	if c.Checkpoint.Rows < 0 {
		return member("checkpoint.rows", "checkpoint.rows %d: want a number of rows", c.Checkpoint.Rows)
	}
	if c.Checkpoint.Every == 0 {
		c.Checkpoint.Every = Duration(5 * time.Second)
	}
	if c.Checkpoint.Rows == 0 {
		c.Checkpoint.Rows = 500000
	}
	if c.Checkpoint.Bytes == 0 {
		c.Checkpoint.Bytes = 256 << 20
	}
	return nil
}
