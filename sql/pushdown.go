package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// shadowPrefix begins the names of shadow tables: table functions with the columns of those of the lake,
// over which a query is explained to see which filters reach them.
const shadowPrefix = "__tarn_shadow_"

// pushFilters finds conditions on single tables, for leaving out files. The engine applies them
// again, so it is no fault if one is not found: nothing is reported.
func (s *Session) pushFilters(ctx context.Context, script string, q *parse.Query, sources []*source) {
	switch q.Verb {
	case "SUMMARIZE", "DESCRIBE", "PIVOT", "UNPIVOT":
		return
	}
	body := *q
	body.Start = max(q.Start, q.Body)
	s.pushInto(ctx, sources, func(calls func(int) (string, bool)) string { return body.Rewrite(script, calls) })
}

// pushWhere is pushFilters for the target of an UPDATE or DELETE.
func (s *Session) pushWhere(ctx context.Context, script string, alias string, where *parse.Query, of parse.TableName, target *source) {
	if where == nil {
		return
	}
	sources := make([]*source, len(where.Refs), len(where.Refs)+1)
	for i := range where.Refs {
		src, err := s.resolve(ctx, &where.Refs[i])
		if err != nil {
			return // the statement itself will tell
		}
		sources[i] = src
	}
	s.pushInto(ctx, append(sources, target), func(calls func(int) (string, bool)) string {
		call, _ := calls(len(sources))
		return "SELECT * FROM " + call + " AS " + parse.Quote(alias) + " WHERE " + where.Rewrite(script, calls, of)
	})
}

// pushInto explains a query over shadow tables and sets the filters of the sources. rewrite gives its text with calls in place
// of the sources.
func (s *Session) pushInto(ctx context.Context, sources []*source, rewrite func(calls func(int) (string, bool)) string) {
	used := false
	calls := make([]string, len(sources))
	for i, src := range sources {
		if src == nil {
			continue
		}
		used = true
		var err error
		if calls[i], err = s.engine.shadow(i, src.fields); err != nil {
			return
		}
	}
	if !used {
		return
	}
	text := rewrite(func(i int) (string, bool) { return calls[i], calls[i] != "" })
	lower := strings.ToLower(text)
	if !strings.Contains(lower, "where") && !strings.Contains(lower, "join") && !strings.Contains(lower, "having") && !strings.Contains(lower, "qualify") {
		return
	}
	if hasLongList(lower) { // which would be made a join, without telling the values
		before, err := s.text(ctx, "SELECT current_setting('disabled_optimizers')")
		if err != nil {
			return
		}
		set := func(ctx context.Context, v string) error {
			return s.engine.exec(ctx, "SET disabled_optimizers = "+parse.QuoteString(v))
		}
		if set(ctx, strings.TrimPrefix(before+",in_clause", ",")) != nil {
			return
		}
		defer func() { _ = set(context.WithoutCancel(ctx), before) }()
	}
	plan, err := s.text(ctx, "EXPLAIN (FORMAT json) "+text)
	if err != nil {
		return
	}
	scans, err := shadowScans(plan)
	if err != nil {
		return
	}
	for i, src := range sources {
		if src != nil {
			src.filter, src.hard = filterOfScans(scans, fmt.Sprint(shadowPrefix, i), src)
		}
	}
}

// hasLongList tells whether there may be an IN of more than four values in a text of small letters.
func hasLongList(text string) bool {
	for {
		_, rest, ok := strings.Cut(text, "in")
		if !ok {
			return false
		}
		text = rest
		if list, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "("); ok {
			list, _, _ = strings.Cut(list, ")")
			if strings.Count(list, ",") >= 4 {
				return true
			}
		}
	}
}

// filterOfScans is what the rows wanted from a source have in common: a source that stands in a common
// table expression may be scanned several times, with other filters each time. hard tells that there are conditions beside it.
func filterOfScans(scans []shadowScan, table string, src *source) (filter predicate.Predicate, hard bool) {
	var fields []types.Field
	for i, f := range src.fields {
		if !src.renamed(i) && !confusing(src.names) {
			fields = append(fields, f)
		}
	}
	or := &predicate.Or{}
	all := false // the rows of some scan
	for _, sc := range scans {
		if sc.table != table {
			continue
		}
		and := &predicate.And{}
		for _, f := range sc.filters {
			p, whole := parseFilter(f, fields)
			hard = hard || !whole
			if p != nil {
				and.Args = append(and.Args, p)
			}
		}
		switch len(and.Args) {
		case 0:
			all = true
		case 1:
			or.Args = append(or.Args, and.Args[0])
		default:
			or.Args = append(or.Args, and)
		}
	}
	switch {
	case all || len(or.Args) == 0:
		return nil, hard
	case len(or.Args) == 1:
		return or.Args[0], hard
	}
	return or, hard
}

// text runs a statement and gives the last column of its first row.
func (s *Session) text(ctx context.Context, sql string) (out string, err error) {
	r, err := s.engine.query(ctx, sql)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for {
		rec, err := r.next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return "", err
		}
		if col, ok := rec.Column(int(rec.NumCols()) - 1).(*array.String); ok && out == "" && col.Len() > 0 {
			out = strings.Clone(col.Value(0))
		}
	}
}
