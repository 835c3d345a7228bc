package sql

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// parseFilter reads a filter as DuckDB prints it in a plan. It gives a condition that every row which
// passes the filter meets, nil if there is none: what is not understood is left out. whole says that nothing was.
func parseFilter(text string, fields []types.Field) (p predicate.Predicate, whole bool) {
	return filterOf(text, fields, 0)
}

func filterOf(text string, fields []types.Field, depth int) (p predicate.Predicate, whole bool) {
	if depth > 50 {
		return nil, false
	}
	text = strings.TrimPrefix(strings.TrimSpace(text), "optional: ")
	for len(text) > 1 && text[0] == '(' && closes(text) == len(text)-1 {
		text = text[1 : len(text)-1]
	}
	if parts := splitTop(text, " OR "); len(parts) > 1 {
		or := &predicate.Or{}
		whole = true
		for _, p := range parts {
			x, all := filterOf(p, fields, depth+1)
			if x == nil {
				return nil, false // any row may pass by this part
			}
			or.Args, whole = append(or.Args, x), whole && all
		}
		return or, whole
	}
	if parts := splitTop(text, " AND "); len(parts) > 1 {
		if and := between(parts, fields); and != nil {
			return and, true
		}
		and := &predicate.And{}
		whole = true
		for _, p := range parts {
			x, all := filterOf(p, fields, depth+1)
			if x != nil {
				and.Args = append(and.Args, x)
			}
			whole = whole && all
		}
		switch len(and.Args) {
		case 0:
			return nil, false
		case 1:
			return and.Args[0], whole
		}
		return and, whole
	}
	if l := leafOf(text, fields); l != nil {
		p := stored(l)
		return p, p != nil
	}
	return nil, false
}

// stored gives a condition on what the engine sees of a column as one on what is stored: of TIMESTAMP_LTZ(7) to (9) it sees
// whole microseconds.
func stored(l *predicate.Leaf) predicate.Predicate {
	if !finerLTZ(l.Type) {
		return l
	}
	leaf := func(op predicate.Op, later int64) predicate.Predicate {
		n := l.Values[0].(types.Instant).Nanoseconds().Add(decimal128.FromI64(later))
		v, _ := types.InstantOfNanos(n)
		return &predicate.Leaf{Op: op, Column: l.Column, Type: l.Type, Values: []types.Datum{v}}
	}
	switch l.Op {
	case predicate.Lt, predicate.GtEq, predicate.IsNull, predicate.IsNotNull:
		return l
	case predicate.LtEq:
		return leaf(predicate.Lt, 1000)
	case predicate.Gt:
		return leaf(predicate.GtEq, 1000)
	case predicate.Eq:
		return &predicate.And{Args: []predicate.Predicate{leaf(predicate.GtEq, 0), leaf(predicate.Lt, 1000)}}
	}
	return nil
}

// between reads "c BETWEEN a", "b"; nil if it is none. DuckDB prints bounds alike whether they belong to the range or not.
func between(parts []string, fields []types.Field) predicate.Predicate {
	f, rest, ok := column(parts[0], fields)
	low, is := strings.CutPrefix(rest, " BETWEEN ")
	if !ok || !is || len(parts) != 2 {
		return nil
	}
	from, to := leafWith(predicate.GtEq, f, low), leafWith(predicate.LtEq, f, parts[1])
	if from == nil || to == nil {
		return nil
	}
	return &predicate.And{Args: []predicate.Predicate{stored(from), stored(to)}} // neither is nil, of these two
}

// closes is where the parenthesis at the start of the text is closed, -1 if nowhere.
func closes(text string) int {
	depth := 0
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// splitTop cuts at a separator that stands outside of quotes and parentheses.
func splitTop(text, sep string) []string {
	var out []string
	depth, start := 0, 0
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], sep):
			out = append(out, text[start:i])
			start = i + len(sep)
			i = start - 1
		}
	}
	return append(out, text[start:])
}

// column finds the column that a text begins with, and what follows. Names are printed without
// quotes, so only those that cannot be mistaken are taken.
func column(text string, fields []types.Field) (types.Field, string, bool) {
	best := -1
	for i, f := range fields {
		if strings.HasPrefix(text, f.Name) && (best < 0 || len(f.Name) > len(fields[best].Name)) {
			best = i
		}
	}
	if best < 0 || !plainName(fields[best].Name) {
		return types.Field{}, "", false
	}
	return fields[best], text[len(fields[best].Name):], true
}

func plainName(name string) bool {
	for _, r := range name {
		if !(r == '_' || r == ' ' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127) {
			return false
		}
	}
	for _, w := range strings.Fields(name) {
		switch strings.ToUpper(w) {
		case "IS", "IN", "NOT", "NULL", "LIKE", "BETWEEN":
			return false
		}
	}
	return name != ""
}

// confusing says whether a name among these makes filters be cut in the wrong places.
func confusing(fields []types.Field) bool {
	for _, f := range fields {
		if strings.ContainsAny(f.Name, "'()") || strings.Contains(f.Name, " AND ") || strings.Contains(f.Name, " OR ") {
			return true
		}
	}
	return false
}

var comparisons = []struct {
	text string
	op   predicate.Op
}{
	{"!=", predicate.NotEq},
	{"<>", predicate.NotEq},
	{">=", predicate.GtEq},
	{"<=", predicate.LtEq},
	{"=", predicate.Eq},
	{">", predicate.Gt},
	{"<", predicate.Lt},
}

var functions = map[string]predicate.Op{
	"contains": predicate.Contains, "prefix": predicate.StartsWith, "starts_with": predicate.StartsWith,
	"suffix": predicate.EndsWith, "ends_with": predicate.EndsWith,
}

// leafOf reads a condition on one column, nil if it is something else.
func leafOf(text string, fields []types.Field) *predicate.Leaf {
	if name, args, ok := strings.Cut(text, "("); ok && strings.HasSuffix(args, ")") {
		if op, ok := functions[name]; ok {
			f, rest, ok := column(args[:len(args)-1], fields)
			if ok && (f.Type.Kind == types.Varchar || f.Type.Kind == types.Char) && strings.HasPrefix(rest, ", ") {
				return leafWith(op, f, rest[2:])
			}
			return nil
		}
	}
	if inner, ok := strings.CutPrefix(text, "NOT "); ok {
		if f, rest, ok := column(inner, fields); ok && rest == "" && f.Type.Kind == types.Boolean {
			return &predicate.Leaf{Op: predicate.Eq, Column: f.Name, Type: f.Type, Values: []types.Datum{false}}
		}
	}
	f, rest, ok := column(text, fields)
	if !ok {
		return nil
	}
	switch rest {
	case "":
		if f.Type.Kind != types.Boolean {
			return nil
		}
		return &predicate.Leaf{Op: predicate.Eq, Column: f.Name, Type: f.Type, Values: []types.Datum{true}}
	case " IS NULL":
		return &predicate.Leaf{Op: predicate.IsNull, Column: f.Name, Type: f.Type}
	case " IS NOT NULL":
		return &predicate.Leaf{Op: predicate.IsNotNull, Column: f.Name, Type: f.Type}
	}
	if list, ok := strings.CutPrefix(rest, " IN ("); ok && strings.HasSuffix(list, ")") {
		return leafWith(predicate.In, f, splitTop(list[:len(list)-1], ", ")...)
	}
	if list, ok := strings.CutPrefix(rest, " NOT IN ("); ok && strings.HasSuffix(list, ")") {
		return leafWith(predicate.NotIn, f, splitTop(list[:len(list)-1], ", ")...)
	}
	rest = strings.TrimPrefix(rest, " ")
	for _, c := range comparisons {
		if v, ok := strings.CutPrefix(rest, c.text); ok {
			return leafWith(c.op, f, strings.TrimPrefix(v, " "))
		}
	}
	return nil
}

func leafWith(op predicate.Op, f types.Field, literals ...string) *predicate.Leaf {
	l := &predicate.Leaf{Op: op, Column: f.Name, Type: f.Type}
	for _, text := range literals {
		v, ok := literal(text, f.Type)
		if !ok {
			return nil
		}
		l.Values = append(l.Values, v)
	}
	return l
}

// literal reads a constant of a column's type. FLOAT and DOUBLE are left alone: DuckDB holds NaN for
// the greatest value, which statistics do not tell of, and 0.0 and -0.0 for equal.
func literal(text string, t types.Type) (types.Datum, bool) {
	suffix := ""
	isText := strings.HasPrefix(text, "'")
	if isText {
		end := strings.LastIndexByte(text, '\'')
		if end == 0 {
			return nil, false
		}
		suffix = text[end+1:]
		text = strings.ReplaceAll(text[1:end], "''", "'")
	}
	parse := false
	switch t.Kind {
	case types.Char, types.Varchar:
		return text, isText && suffix == ""
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		parse = !isText && fraction(text) < 0
	case types.Decimal:
		parse = !isText && fraction(text) <= t.Scale
	case types.Boolean:
		parse = text == "true" || text == "false"
	case types.Date:
		parse = suffix == "::DATE"
	case types.Time:
		parse = suffix == "::TIME" && fraction(text) <= 3 // finer than any value of a column
	case types.Timestamp:
		parse = suffix == "::TIMESTAMP" || suffix == "::TIMESTAMP_NS"
	case types.TimestampLTZ:
		var utc bool
		text, utc = strings.CutSuffix(text, "+00")
		parse = utc && suffix == "::TIMESTAMP WITH TIME ZONE"
	}
	if !parse {
		return nil, false
	}
	// The constant may be finer than the column: it is read with all its digits.
	if t.Kind == types.Timestamp || t.Kind == types.TimestampLTZ {
		t.Precision = 9
	}
	v, err := types.ParseDatum(t, text)
	return v, err == nil && v != nil
}

// fraction is the number of digits behind the point, -1 without one.
func fraction(text string) int {
	i := strings.IndexByte(text, '.')
	if i < 0 {
		return -1
	}
	return len(text) - i - 1
}
