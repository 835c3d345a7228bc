package cdc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// computed is a column made of another one: date_format(created_at, 'yyyy-MM-dd').
type computed struct {
	name   string
	fn     string
	column string // "" for now()
	args   []string
	typ    types.Type
}

// functions of computed columns, by name: the number of arguments after the column, least and most.
var functions = map[string][2]int{
	"year": {0, 0}, "month": {0, 0}, "day": {0, 0}, "hour": {0, 0}, "minute": {0, 0}, "second": {0, 0}, "date_format": {1, 1}, "substring": {1, 2},
	"truncate": {1, 1}, "cast": {1, 1}, "upper": {0, 0}, "lower": {0, 0}, "trim": {0, 0},
}

// parseComputed reads an expression. Column names are looked up later, without regard to case.
func parseComputed(name, expr string) (computed, error) {
	c := computed{name: name, typ: types.VarcharType(types.MaxLength)}
	fn, rest, ok := strings.Cut(strings.TrimSpace(expr), "(")
	c.fn = strings.ToLower(strings.TrimSpace(fn))
	if !ok || !strings.HasSuffix(rest, ")") {
		return c, fmt.Errorf("computed column %s: %q: want function(column, …)", name, expr)
	}
	inner := strings.TrimSuffix(rest, ")")
	if c.fn == "now" && strings.TrimSpace(inner) == "" {
		c.typ = types.TimestampType(3)
		return c, nil
	}
	n, ok := functions[c.fn]
	if !ok {
		return c, fmt.Errorf("computed column %s: unknown function %s; there are year, month, day, hour, minute, second, date_format, substring, truncate, cast, upper, lower, trim, now", name, c.fn)
	}
	parts := splitArgs(inner)
	if len(parts) < 1+n[0] || len(parts) > 1+n[1] || parts[0] == "" {
		return c, fmt.Errorf("computed column %s: %q: %s takes a column and %d to %d more arguments", name, expr, c.fn, n[0], n[1])
	}
	c.column, c.args = parts[0], parts[1:]
	switch c.fn {
	case "year", "month", "day", "hour", "minute", "second":
		c.typ = types.Type{Kind: types.Int}
	case "cast":
		t, err := types.Parse(strings.ToUpper(c.args[0]))
		if err != nil {
			return c, fmt.Errorf("computed column %s: %w", name, err)
		}
		c.typ = t
	case "substring", "truncate":
		for _, a := range c.args {
			if v, err := strconv.Atoi(a); err != nil || v < 0 {
				return c, fmt.Errorf("computed column %s: %q is no number", name, a)
			}
		}
	}
	return c, nil
}

// splitArgs separates arguments at commas outside of quotes; quotes around an argument are dropped.
func splitArgs(s string) []string {
	var out []string
	var cur strings.Builder
	var quote rune
	for _, r := range s {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				cur.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote = r
		case r == ',':
			out = append(out, strings.TrimSpace(cur.String()))
			cur.Reset()
		default:
			cur.WriteRune(r)
		}
	}
	return append(out, strings.TrimSpace(cur.String()))
}

// source finds the column that a computed one is made of.
func (c *computed) source(fields []types.Field) int {
	return slices.IndexFunc(fields, func(f types.Field) bool { return strings.EqualFold(f.Name, c.column) })
}

// eval makes the column.
func (c *computed) eval(a arrow.Array, t types.Type, n int, now time.Time) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, types.ArrowType(c.typ))
	for i := range n {
		if c.fn == "now" {
			if err := types.AppendDatum(b, c.typ, types.Instant{Millis: now.UnixMilli()}); err != nil {
				return nil, err
			}
			continue
		}
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		v, err := c.value(types.DatumAt(a, i, t), t)
		if err == nil {
			err = types.AppendDatum(b, c.typ, v)
		}
		if err != nil {
			return nil, fmt.Errorf("computed column %s: %w", c.name, err)
		}
	}
	return b.NewArray(), nil
}

func (c *computed) value(v types.Datum, t types.Type) (types.Datum, error) {
	s := types.FormatDatum(t, v)
	switch c.fn {
	case "upper":
		return strings.ToUpper(s), nil
	case "lower":
		return strings.ToLower(s), nil
	case "trim":
		return strings.TrimSpace(s), nil
	case "cast":
		return types.ParseDatum(c.typ, s)
	case "substring":
		r := []rune(s)
		from, _ := strconv.Atoi(c.args[0])
		to := len(r)
		if len(c.args) > 1 {
			to, _ = strconv.Atoi(c.args[1])
		}
		from, to = min(from, len(r)), min(to, len(r))
		return string(r[from:max(from, to)]), nil
	case "truncate":
		w, _ := strconv.Atoi(c.args[0])
		if n, ok := v.(int64); ok && w > 0 {
			return strconv.FormatInt(types.FloorDiv(n, int64(w))*int64(w), 10), nil
		}
		r := []rune(s)
		return string(r[:min(w, len(r))]), nil
	}
	at, err := timeOf(v, t, s)
	if err != nil {
		return nil, err
	}
	switch c.fn {
	case "year":
		return int64(at.Year()), nil
	case "month":
		return int64(at.Month()), nil
	case "day":
		return int64(at.Day()), nil
	case "hour":
		return int64(at.Hour()), nil
	case "minute":
		return int64(at.Minute()), nil
	case "second":
		return int64(at.Second()), nil
	}
	return at.Format(goLayout(c.args[0])), nil
}

// timeOf reads a point in time, in UTC.
func timeOf(v types.Datum, t types.Type, text string) (time.Time, error) {
	switch x := v.(type) {
	case types.Instant:
		return time.UnixMilli(x.Millis).Add(time.Duration(x.Nanos)).UTC(), nil
	case int64:
		if t.Kind == types.Date {
			return time.Unix(x*86400, 0).UTC(), nil
		}
	}
	d, err := types.ParseDatum(types.TimestampType(9), text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no date or time", text)
	}
	return timeOf(d, types.TimestampType(9), text)
}

// goLayout turns the letters of Java's patterns into Go's.
func goLayout(pattern string) string {
	return strings.NewReplacer("yyyy", "2006", "yy", "06", "MM", "01", "dd", "02", "HH", "15", "hh", "03", "mm", "04", "ss", "05", "SSS", "000").Replace(pattern)
}
