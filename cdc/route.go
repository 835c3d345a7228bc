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

// matches tests db.table, and the table's name alone for patterns without a database.
func matches(res []*regexp.Regexp, id decode.TableID) bool {
	for _, re := range res {
		if re.MatchString(id.Database+"."+id.Name) || re.MatchString(id.Name) || id.Schema != "" && re.MatchString(id.Schema+"."+id.Name) {
			return true
		}
	}
	return false
}

func (r *router) route(id decode.TableID) (string, bool) {
	if len(r.include) > 0 && !matches(r.include, id) || matches(r.exclude, id) {
		return "", false
	}
	db := id.Database
	if db == "" {
		db = id.Schema
	}
	name := strings.NewReplacer("{database}", safe(db), "{schema}", safe(id.Schema), "{table}", safe(id.Name)).Replace(r.pattern)
	return name, true
}

// safe keeps a name of the source from having a meaning in a path of the lake.
func safe(name string) string {
	return strings.NewReplacer(".", "_", "/", "_", "$", "_", "\\", "_").Replace(name)
}

// writerOptions turns a job's file into those of a Writer.
func (c *Config) writerOptions(user string) (WriterOptions, error) {
	r, err := newRouter(c)
	if err != nil {
		return WriterOptions{}, err
	}
	o := WriterOptions{
		User: user, Route: r.route, Computed: c.Sink.Computed, Options: c.Sink.Options, SchemaChanges: c.SchemaChanges,
		PrimaryKey:  func(id decode.TableID, _ string) []string { return c.Sink.PrimaryKey.For(id.Name) },
		PartitionBy: func(id decode.TableID, _ string) []string { return c.Sink.PartitionBy.For(id.Name) },
		Types:       map[string]types.Type{},
	}
	for from, to := range c.Types {
		t, err := types.Parse(strings.ToUpper(to))
		if err != nil {
			return o, fmt.Errorf("types: %s: %w", from, err)
		}
		o.Types[strings.ToLower(from)] = t
	}
	return o, nil
}
