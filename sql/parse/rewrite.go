package parse

import (
	"slices"
	"strings"
)

// Rewrite gives the query's text with tables replaced. replace tells what stands for Refs[i]; false
// leaves it as it is. A replaced table without an alias gets its own name as one, and columns named
// database.table.column lose the database. A nil replace replaces nothing. extra are tables whose
// columns are named with their database although they are not among Refs.
func (q *Query) Rewrite(script string, replace func(i int) (string, bool), extra ...TableName) string {
	type edit struct {
		Span
		text string
	}
	var edits []edit
	replaced := slices.Clone(extra)
	for i, r := range q.Refs {
		if replace == nil {
			break
		}
		text, ok := replace(i)
		if !ok {
			continue
		}
		if !r.Aliased {
			text += " AS " + Quote(r.Parts[len(r.Parts)-1].Name)
		}
		edits = append(edits, edit{r.Span, text})
		if n, ok := r.Name(); ok && n.Database != "" {
			replaced = append(replaced, n)
		}
	}
	for _, n := range q.Names {
		if slices.ContainsFunc(replaced, func(t TableName) bool {
			return strings.EqualFold(t.Database, n.Database) && strings.EqualFold(t.Table, n.Table)
		}) {
			edits = append(edits, edit{n.Span, ""})
		}
	}
	for _, b := range q.Backquotes {
		edits = append(edits, edit{b.Span, Quote(b.Name)})
	}
	// Wider edits come first where several start or overlap: a backquoted name within a replaced table.
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	var out strings.Builder
	pos := q.Start
	for _, e := range edits {
		if e.Start < pos {
			continue
		}
		out.WriteString(script[pos:e.Start])
		out.WriteString(e.text)
		pos = e.End
	}
	out.WriteString(script[pos:q.End])
	return out.String()
}

// Quote puts a name into double quotes.
func Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// QuoteString puts text into single quotes.
func QuoteString(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
