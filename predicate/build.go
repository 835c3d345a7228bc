package predicate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// Conjuncts takes a predicate apart into conditions that must all hold.
func Conjuncts(p Predicate) []Predicate {
	switch x := p.(type) {
	case nil:
		return nil
	case *And:
		var out []Predicate
		for _, a := range x.Args {
			out = append(out, Conjuncts(a)...)
		}
		return out
	}
	return []Predicate{p}
}

// Join makes one predicate of conditions that must all hold; nil if there are none.
func Join(args ...Predicate) Predicate {
	args = slices.DeleteFunc(slices.Clone(args), func(p Predicate) bool { return p == nil })
	switch len(args) {
	case 0:
		return nil
	case 1:
		return args[0]
	}
	return &And{args}
}

// Columns lists the columns that a predicate names, each once.
func Columns(p Predicate) []string {
	var out []string
	leaves(p, func(l *Leaf) {
		if !slices.Contains(out, l.Column) {
			out = append(out, l.Column)
		}
	})
	return out
}

func leaves(p Predicate, visit func(*Leaf)) {
	switch x := p.(type) {
	case *Leaf:
		visit(x)
	case *And:
		for _, a := range x.Args {
			leaves(a, visit)
		}
	case *Or:
		for _, a := range x.Args {
			leaves(a, visit)
		}
	case *Not:
		leaves(x.Arg, visit)
	}
}

// Only gives the part of a predicate that names no other columns than those kept: conditions of which
// all columns are kept. It matches whatever the predicate matches. Nil if nothing is left.
func Only(p Predicate, keep func(column string) bool) Predicate {
	var out []Predicate
	for _, c := range Conjuncts(p) {
		if !slices.ContainsFunc(Columns(c), func(col string) bool { return !keep(col) }) {
			out = append(out, c)
		}
	}
	return Join(out...)
}

// Rewrite replaces leaves. A leaf that becomes nil may match anything; so does, then, what it stands in.
// The result matches whatever the predicate matches, and is nil if that is anything.
func Rewrite(p Predicate, leaf func(*Leaf) Predicate) Predicate {
	switch x := p.(type) {
	case *Leaf:
		return leaf(x)
	case *And:
		out := make([]Predicate, 0, len(x.Args))
		for _, a := range x.Args {
			if r := Rewrite(a, leaf); r != nil {
				out = append(out, r)
			}
		}
		if len(out) == 0 && len(x.Args) > 0 {
			return nil
		}
		return &And{out}
	case *Or:
		out := make([]Predicate, 0, len(x.Args))
		for _, a := range x.Args {
			r := Rewrite(a, leaf)
			if r == nil {
				return nil
			}
			out = append(out, r)
		}
		return &Or{out}
	case *Not:
		// Under a NOT a weaker part would make a stronger whole: all of it has to be there.
		whole := true
		r := Rewrite(x.Arg, func(l *Leaf) Predicate {
			n := leaf(l)
			whole = whole && n != nil
			return n
		})
		if !whole || r == nil {
			return nil
		}
		return &Not{r}
	}
	return nil
}

// Bind checks a predicate against the columns of a table and gives it, simplified, with their types and
// with values of these. Nil matches everything. A column that does not exist and a value of another type are
// errors.
func Bind(p Predicate, fields []types.Field) (Predicate, error) {
	bad := checkParts(p)
	if bad != nil {
		return nil, bad
	}
	out := Rewrite(p, func(l *Leaf) Predicate {
		b, err := bindLeaf(l, fields)
		if err != nil {
			bad = cmp.Or(bad, err)
			return l
		}
		return b
	})
	if bad != nil {
		return nil, bad
	}
	return Simplify(out), nil
}

// checkParts finds nil where a condition has to be. Nil stands for any row only as the whole and within And.
func checkParts(p Predicate) error {
	all := func(args []Predicate, may bool) error {
		for _, a := range args {
			if a == nil && !may {
				return errors.New("filter: a part of an Or or Not is nil")
			}
			if err := checkParts(a); err != nil {
				return err
			}
		}
		return nil
	}
	switch x := p.(type) {
	case *Leaf:
		if x != nil {
			return nil
		}
	case *And:
		if x != nil {
			return all(x.Args, true)
		}
	case *Or:
		if x != nil {
			return all(x.Args, false)
		}
	case *Not:
		if x != nil {
			return all([]Predicate{x.Arg}, false)
		}
	case nil:
		return nil
	}
	return fmt.Errorf("filter: a part of it is a nil %T", p)
}

func bindLeaf(l *Leaf, fields []types.Field) (*Leaf, error) {
	i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == l.Column })
	if i < 0 {
		names := make([]string, len(fields))
		for k, f := range fields {
			names[k] = f.Name
		}
		return nil, fmt.Errorf("filter names column %q, which does not exist; there are %s", l.Column, strings.Join(names, ", "))
	}
	t := fields[i].Type
	text := t.Kind == types.Char || t.Kind == types.Varchar
	switch l.Op {
	case IsNull, IsNotNull:
	case StartsWith, EndsWith, Contains, Like:
		if !text {
			return nil, fmt.Errorf("filter on column %q: %s is for text, not for type %s", l.Column, l.Op, t)
		}
	default:
		if t.IsNested() || t.Kind == types.Variant || t.Kind == types.Blob || t.Kind == types.Vector {
			return nil, fmt.Errorf("filter on column %q: values of type %s cannot be compared", l.Column, t)
		}
	}
	if err := checkCount(l); err != nil {
		return nil, err
	}
	b := *l
	b.Type = t
	b.Values = make([]types.Datum, len(l.Values))
	for k, v := range l.Values {
		var err error
		if b.Values[k], err = literal(t, v); err != nil {
			return nil, fmt.Errorf("filter on column %q: %w", l.Column, err)
		}
	}
	return &b, nil
}

func checkCount(l *Leaf) error {
	least, most := 1, 1
	switch l.Op {
	case IsNull, IsNotNull:
		least, most = 0, 0
	case In, NotIn:
		least, most = 0, len(l.Values)
	case Between:
		least, most = 2, 2
	case Like:
		most = 2
	case Eq, NotEq, Lt, LtEq, Gt, GtEq, StartsWith, EndsWith, Contains:
	default:
		return fmt.Errorf("filter on column %q: unknown operation %d", l.Column, l.Op)
	}
	if n := len(l.Values); n < least || n > most {
		return fmt.Errorf("filter on column %q: %s with %d values", l.Column, l.Op, n)
	}
	return nil
}

var opNames = map[Op]string{
	Eq: "=", NotEq: "<>", Lt: "<", LtEq: "<=", Gt: ">", GtEq: ">=", In: "IN", NotIn: "NOT IN", IsNull: "IS NULL", IsNotNull: "IS NOT NULL",
	StartsWith: "STARTS WITH", EndsWith: "ENDS WITH", Contains: "CONTAINS", Like: "LIKE", Between: "BETWEEN",
}

// String is the operation as SQL writes it, about.
func (o Op) String() string { return opNames[o] }

// text is a constant as SQL writes it.
func (l *Leaf) text(v types.Datum) string {
	s := fmt.Sprint(v)
	switch v.(type) {
	case int64, decimal128.Num, types.Instant:
		if l.Type.Kind != types.Invalid {
			s = types.FormatDatum(l.Type, v)
		}
	case []byte:
		return fmt.Sprintf("X'%x'", v)
	}
	switch l.Type.Kind {
	case types.Boolean, types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Float, types.Double, types.Decimal:
		return s
	case types.Invalid:
		if _, ok := v.(string); !ok {
			return s
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// String is the condition as SQL writes it, about.
func (l *Leaf) String() string {
	vals := make([]string, len(l.Values))
	for i, v := range l.Values {
		vals[i] = "NULL"
		if v != nil {
			vals[i] = l.text(v)
		}
	}
	switch l.Op {
	case IsNull, IsNotNull:
		return l.Column + " " + l.Op.String()
	case In, NotIn:
		return l.Column + " " + l.Op.String() + " (" + strings.Join(vals, ", ") + ")"
	case Between:
		return l.Column + " BETWEEN " + strings.Join(vals, " AND ")
	}
	return l.Column + " " + l.Op.String() + " " + strings.Join(vals, " ESCAPE ")
}

func join(args []Predicate, with, none string) string {
	if len(args) == 0 {
		return none
	}
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = fmt.Sprint(a)
	}
	return "(" + strings.Join(parts, with) + ")"
}

// String is the condition as SQL writes it, about.
func (a *And) String() string { return join(a.Args, " AND ", "TRUE") }

// String is the condition as SQL writes it, about.
func (o *Or) String() string { return join(o.Args, " OR ", "FALSE") }

// String is the condition as SQL writes it, about.
func (n *Not) String() string { return "NOT " + fmt.Sprint(n.Arg) }
