package cdc

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

// computed is a column made of another one: date_format(created_at, 'yyyy-MM-dd').
type computed struct {
	name    string
	fn      string
	column  string      // that it is made of; "" if it is made of none
	args    []string    // behind the column
	numbers []int       // those of substring and truncate
	unit    int         // decimal digits of a second in which numbers count time, -1: not told
	format  *dateFormat // of date_format
	typ     types.Type  // Invalid: that of its source
	value   types.Datum // of a constant
}

// functions of computed columns, by name: the number of arguments after the column, least and most.
var functions = map[string][2]int{
	"year": {0, 1}, "month": {0, 1}, "day": {0, 1}, "hour": {0, 1}, "minute": {0, 1}, "second": {0, 1}, "date_format": {1, 2},
	"substring": {1, 2}, "truncate": {1, 1}, "cast": {0, 1}, "upper": {0, 0}, "lower": {0, 0}, "trim": {0, 0},
}

// parseAllComputed reads expressions and puts those that others are made of before them.
func parseAllComputed(exprs map[string]string) ([]computed, error) {
	var out []computed
	state := map[string]int{} // 1: being read, 2: done
	var visit func(name string) error
	visit = func(name string) error {
		switch state[name] {
		case 1:
			return member("sink.computed."+name, "computed column %s is made of itself", name)
		case 2:
			return nil
		}
		state[name] = 1
		c, err := parseComputed(name, exprs[name])
		if err != nil {
			return member("sink.computed."+name, "%v", err)
		}
		for other := range exprs {
			if c.column != "" && strings.EqualFold(other, c.column) {
				if err := visit(other); err != nil {
					return err
				}
			}
		}
		state[name] = 2
		out = append(out, c)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var identifier = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_$]*$`)

// parseComputed reads an expression. Column names are looked up later, without regard to case.
func parseComputed(name, expr string) (computed, error) {
	c := computed{name: name, typ: types.StringType, unit: -1}
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
	parts, quoted := splitArgs(inner)
	if len(parts) < 1+n[0] || len(parts) > 1+n[1] || parts[0] == "" && !quoted {
		return c, fmt.Errorf("computed column %s: %q: %s takes a column and %d to %d more arguments", name, expr, c.fn, n[0], n[1])
	}
	c.column, c.args = parts[0], parts[1:]
	var err error
	switch c.fn {
	case "cast":
		err = c.parseCast(quoted)
	case "substring", "truncate":
		err = c.parseNumbers()
	case "upper", "lower", "trim":
	case "date_format":
		if c.format, err = parseDateFormat(c.args[0]); err == nil {
			err = c.parseUnit(c.args[1:])
		}
	default:
		c.typ = types.IntType
		err = c.parseUnit(c.args)
	}
	if err != nil {
		return c, fmt.Errorf("computed column %s: %w", name, err)
	}
	return c, nil
}

// parseCast takes cast(column, TYPE), and cast(value, TYPE) where the first argument is a constant.
func (c *computed) parseCast(quoted bool) error {
	if len(c.args) > 0 {
		t, err := types.Parse(strings.ToUpper(c.args[0]))
		if err != nil {
			return err
		}
		c.typ = t
	}
	if quoted || !identifier.MatchString(c.column) {
		v, err := types.ParseDatum(c.typ, c.column)
		if err != nil {
			return err
		}
		c.value, c.column = v, ""
	}
	return nil
}

func (c *computed) parseNumbers() error {
	for _, a := range c.args {
		v, err := strconv.Atoi(a)
		if err != nil || v < 0 {
			return fmt.Errorf("%q is no number", a)
		}
		c.numbers = append(c.numbers, v)
	}
	if c.fn == "truncate" {
		c.typ = types.Type{} // that of the column
		if c.numbers[0] == 0 {
			return fmt.Errorf("the width of truncate is 0")
		}
	}
	if len(c.numbers) == 2 && c.numbers[1] <= c.numbers[0] {
		return fmt.Errorf("substring to %d begins at %d", c.numbers[1], c.numbers[0])
	}
	return nil
}

func (c *computed) parseUnit(args []string) error {
	if len(args) == 0 {
		return nil
	}
	v, err := strconv.Atoi(args[0])
	if err != nil || !slices.Contains([]int{0, 3, 6, 9}, v) {
		return fmt.Errorf("precision %q of a time: there are 0 (seconds), 3, 6 and 9 (nanoseconds since 1970)", args[0])
	}
	c.unit = v
	return nil
}

// splitArgs separates arguments at commas outside of quotes. Quotes around an argument are dropped, two within them
// stand for one. It tells whether the first argument had them.
func splitArgs(s string) (out []string, quoted bool) {
	var cur strings.Builder
	var quote, inner rune // around the argument, and within one without
	end := func() {
		out = append(out, strings.TrimSpace(cur.String()))
		cur.Reset()
	}
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote != 0 && r == quote && i+1 < len(runes) && runes[i+1] == quote:
			cur.WriteRune(r)
			i++
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			cur.WriteRune(r)
		case (r == '\'' || r == '"') && strings.TrimSpace(cur.String()) == "":
			quote = r
			quoted = quoted || len(out) == 0
		case r == ',' && inner == 0:
			end()
		default:
			if r == inner {
				inner = 0
			} else if r == '\'' {
				inner = r
			}
			cur.WriteRune(r)
		}
	}
	end()
	return out, quoted
}

// made is a computed column of a table, bound to the columns of a shape.
type made struct {
	*computed
	at   int        // column of the lake
	of   int        // column of the shape, -1: none
	from int        // index of the computed column that it is made of, -1: none
	in   types.Type // of what it is made of
}

// bind finds what the computed columns of a table are made of. Those for which there is nothing are left out.
func (t *target) bind(s *decode.Shape) []made {
	var out []made
	for i := range t.w.computed {
		m := made{computed: &t.w.computed[i], of: -1, from: -1}
		if m.at = slices.IndexFunc(t.fields, func(f types.Field) bool { return f.Name == m.name }); m.at < 0 {
			continue
		}
		if m.column != "" {
			m.from = slices.IndexFunc(out, func(o made) bool { return strings.EqualFold(o.name, m.column) })
			if m.from >= 0 {
				m.in = out[m.from].out()
			} else {
				m.of = named(s.Columns, func(c *decode.Column) string { return c.Name }, m.column)
			}
			if m.of >= 0 {
				m.in = t.typeOf(&s.Columns[m.of])
				if k := named(t.fields, func(f *types.Field) string { return f.Name }, s.Columns[m.of].Name); k >= 0 {
					m.in = t.fields[k].Type
				}
			}
		}
		out = append(out, m)
	}
	return out
}

// named finds a name, as it is written if it is there so, else without regard to case.
func named[T any](list []T, name func(*T) string, want string) int {
	fold := -1
	for i := range list {
		switch n := name(&list[i]); {
		case n == want:
			return i
		case fold < 0 && strings.EqualFold(n, want):
			fold = i
		}
	}
	return fold
}

// out is the type of the values.
func (m *made) out() types.Type {
	if m.typ.Kind == types.Invalid {
		return m.in.AsNullable()
	}
	return m.typ
}

// compute gives the values of the computed columns of a row.
func (t *target) compute(plan *shapePlan, r *decode.Row, cols []decode.Column) ([]types.Datum, error) {
	t.made = t.made[:0]
	for i := range plan.made {
		m := &plan.made[i]
		var in types.Datum
		switch {
		case m.from >= 0:
			in = t.made[m.from]
		case m.of >= 0 && r.Values[m.of] != nil:
			b := array.NewBuilder(memory.DefaultAllocator, types.WideArrowType(m.in))
			if err := decode.AppendTo(b, m.in, r.Values[m.of], &cols[m.of]); err != nil {
				return nil, err
			}
			in = types.DatumAt(b.NewArray(), 0, m.in)
		}
		v, err := m.eval(in, t.w.o.Clock)
		if err != nil {
			return nil, fmt.Errorf("computed column %s: %w", m.name, err)
		}
		t.made = append(t.made, v)
	}
	return t.made, nil
}

// put appends a value to the column of the lake, whose type may be another one.
func (m *made) put(b array.Builder, lake types.Type, v types.Datum) error {
	out := m.out()
	if v == nil {
		b.AppendNull()
		return nil
	}
	if out.Kind != lake.Kind || out.Kind == types.Decimal && (out.Precision != lake.Precision || out.Scale != lake.Scale) {
		var err error
		if v, err = types.ParseDatum(lake, types.FormatDatum(out, v)); err != nil {
			return fmt.Errorf("computed column %s: %w", m.name, err)
		}
	}
	return types.AppendDatum(b, lake, v)
}

// eval makes a value.
func (m *made) eval(v types.Datum, clock func() time.Time) (types.Datum, error) {
	switch {
	case m.fn == "now":
		return types.Instant{Millis: clock().UnixMilli()}, nil
	case m.value != nil:
		return m.value, nil
	case v == nil:
		return nil, nil
	}
	switch m.fn {
	case "upper":
		return strings.ToUpper(types.FormatDatum(m.in, v)), nil
	case "lower":
		return strings.ToLower(types.FormatDatum(m.in, v)), nil
	case "trim":
		return strings.TrimSpace(types.FormatDatum(m.in, v)), nil
	case "cast":
		return types.ParseDatum(m.typ, types.FormatDatum(m.in, v))
	case "substring":
		r := []rune(types.FormatDatum(m.in, v))
		from, to := min(m.numbers[0], len(r)), len(r)
		if len(m.numbers) > 1 {
			to = min(m.numbers[1], to)
		}
		return string(r[from:max(from, to)]), nil
	case "truncate":
		return m.truncate(v)
	}
	at, err := m.time(v)
	if err != nil {
		return nil, err
	}
	switch m.fn {
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
	return m.format.text(at), nil
}

// truncate cuts a text, or rounds a number down to a multiple; of a decimal number, of its last digit.
func (m *made) truncate(v types.Datum) (types.Datum, error) {
	w := int64(m.numbers[0])
	switch v := v.(type) {
	case string:
		r := []rune(v)
		return string(r[:min(m.numbers[0], len(r))]), nil
	case int64:
		if m.in.Kind != types.Date && m.in.Kind != types.Time {
			return types.FloorDiv(v, w) * w, nil
		}
	case decimal128.Num:
		n := v.BigInt()
		n.Sub(n, new(big.Int).Mod(n, big.NewInt(w)))
		return decimal128.FromBigInt(n), nil
	}
	return nil, fmt.Errorf("truncate takes whole and decimal numbers and texts, and %s is of type %s", m.column, m.in)
}

// time reads a point in time, in UTC.
func (m *made) time(v types.Datum) (time.Time, error) {
	switch x := v.(type) {
	case types.Instant:
		return time.UnixMilli(x.Millis).Add(time.Duration(x.Nanos)).UTC(), nil
	case int64:
		switch m.in.Kind {
		case types.Date:
			return time.Unix(x*86400, 0).UTC(), nil
		case types.Time:
			return time.UnixMilli(x).UTC(), nil
		}
		return since1970(x, max(m.unit, 0)), nil
	case string:
		text := strings.TrimSpace(x)
		if m.unit >= 0 {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return time.Time{}, fmt.Errorf("%q is no number of a time", x)
			}
			return since1970(n, m.unit), nil
		}
		if d, err := types.ParseDatum(types.TimestampType(9), text); err == nil && strings.ContainsAny(text, "-:") {
			return m.time(d)
		}
	}
	return time.Time{}, fmt.Errorf("%q is no date or time", types.FormatDatum(m.in, v))
}

// since1970 is a time by its number of seconds, milli-, micro- or nanoseconds.
func since1970(n int64, unit int) time.Time {
	switch unit {
	case 0:
		return time.Unix(n, 0).UTC()
	case 3:
		return time.UnixMilli(n).UTC()
	case 6:
		return time.UnixMicro(n).UTC()
	}
	return time.Unix(0, n).UTC()
}
