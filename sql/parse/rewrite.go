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
	text, _ := q.RewriteMapped(script, replace, extra...)
	return text
}

// Piece is a part of a rewritten text and where in the script it comes from.
type Piece struct {
	Out, In, Len int
	Replaced     bool // it stands for what is at In; else it is the same text
}

// RewriteMapped is Rewrite, and tells where the pieces of the text come from.
func (q *Query) RewriteMapped(script string, replace func(i int) (string, bool), extra ...TableName) (string, []Piece) {
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
		if !r.Aliased && !r.Alone {
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
	for _, d := range q.Defaults {
		if d.Text != "" {
			edits = append(edits, edit{d.Span, d.Text})
		}
	}
	for _, v := range q.Values {
		if v.Text != "" {
			edits = append(edits, edit{Span{v.Start, v.Start}, "CAST("}, edit{Span{v.End, v.End}, " AS " + v.Text + ")"})
		}
	}
	for _, b := range q.Backquotes {
		edits = append(edits, edit{b.Span, Quote(b.Name)})
	}
	// Wider edits come first where several start or overlap: a backquoted name within a replaced table.
	slices.SortStableFunc(edits, func(a, b edit) int {
		switch {
		case a.Start != b.Start:
			return a.Start - b.Start
		case a.End == a.Start || b.End == b.Start: // what is put in stands before what is replaced
			return a.End - b.End
		}
		return b.End - a.End
	})
	var out strings.Builder
	var pieces []Piece
	pos := q.Start
	for _, e := range edits {
		if e.Start < pos {
			continue
		}
		pieces = append(pieces, Piece{out.Len(), pos, e.Start - pos, false})
		out.WriteString(script[pos:e.Start])
		pieces = append(pieces, Piece{out.Len(), e.Start, len(e.text), true})
		out.WriteString(e.text)
		pos = e.End
	}
	pieces = append(pieces, Piece{out.Len(), pos, q.End - pos, false})
	out.WriteString(script[pos:q.End])
	return out.String(), pieces
}

// Quote puts a name into double quotes.
func Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// QuoteString puts text into single quotes.
func QuoteString(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
