package cdc

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

// router chooses the lake's table of a source table, as a job file says.
type router struct {
	include, exclude []*regexp.Regexp
	pattern          string
}

func newRouter(c *Config) (*router, error) {
	r := &router{pattern: c.Sink.Table}
	for _, list := range []struct {
		from []string
		to   *[]*regexp.Regexp
	}{{c.Source.Tables, &r.include}, {c.Source.Exclude, &r.exclude}} {
		for _, p := range list.from {
			re, err := regexp.Compile("^(?:" + p + ")$")
			if err != nil {
				return nil, fmt.Errorf("table pattern %q: %w", p, err)
			}
			*list.to = append(*list.to, re)
		}
	}
	return r, nil
}

// matches tests db.table, and the table's name alone for patterns without a database; with its schema too.
func matches(res []*regexp.Regexp, id decode.TableID) bool {
	for _, re := range res {
		if re.MatchString(id.Database+"."+id.Name) || re.MatchString(id.Name) || id.Schema != "" && (re.MatchString(id.Schema+"."+id.Name) || re.MatchString(id.String())) {
			return true
		}
	}
	return false
}

func (r *router) route(id decode.TableID) (string, bool) {
	if id.Name == "" && (len(r.include) > 0 || len(r.exclude) > 0 || strings.Contains(r.pattern, "{")) {
		return "", false // only a job of one table knows where it goes
	}
	if len(r.include) > 0 && !matches(r.include, id) || matches(r.exclude, id) {
		return "", false
	}
	db := id.Database
	if db == "" {
		db = id.Schema
	}
	return strings.NewReplacer("{database}", db, "{schema}", id.Schema, "{table}", id.Name).Replace(r.pattern), true
}

// check refuses names of the source that would mean another place in the lake. They are not changed into others, since
// two tables could become one.
func (r *router) check(id decode.TableID) error {
	db := id.Database
	if db == "" {
		db = id.Schema
	}
	inDB, _ := splitName(r.pattern)
	for _, p := range []struct{ place, what, name string }{{"{database}", "database", db}, {"{schema}", "schema", id.Schema}, {"{table}", "table", id.Name}} {
		bad := "/\\$\x00"
		if p.place != "{table}" || strings.Contains(inDB, p.place) {
			bad += "." // which separates database and table
		}
		if i := strings.IndexAny(p.name, bad); i >= 0 && strings.Contains(r.pattern, p.place) {
			return fmt.Errorf("source table %q: the name of the %s has %q in it, which the lake's names cannot have; give it another by sink.table, or leave it out by source.exclude", id, p.what, p.name[i:i+1])
		}
	}
	return nil
}

// writerOptions turns a job's file into those of a Writer.
func (c *Config) writerOptions(user string) (WriterOptions, error) {
	r, err := newRouter(c)
	if err != nil {
		return WriterOptions{}, err
	}
	o := WriterOptions{
		User: user, Route: r.route, check: r.check, Computed: c.Sink.Computed, Options: c.Sink.Options, SchemaChanges: c.SchemaChanges,
		PrimaryKey:  func(id decode.TableID, _ string) []string { return c.Sink.PrimaryKey.For(id.Name) },
		PartitionBy: func(id decode.TableID, _ string) []string { return c.Sink.PartitionBy.For(id.Name) },
		general: func(id decode.TableID) (key, partition bool) {
			many := strings.Contains(r.pattern, "{table}")
			return many && c.Sink.PrimaryKey.general(id.Name), many && c.Sink.PartitionBy.general(id.Name)
		},
		Types:     map[string]types.Type{},
		LowerCase: c.Sink.CaseSensitive != nil && !*c.Sink.CaseSensitive,
	}
	for from, to := range c.Types {
		t, err := types.Parse(strings.ToUpper(to))
		if err != nil {
			return o, fmt.Errorf("types: %s: %w", from, err)
		}
		o.Types[from] = t
	}
	return o, nil
}
