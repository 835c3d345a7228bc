package predicate

import (
	"slices"

	"github.com/tarnlake/tarn/types"
)

// Simplify gives a predicate that matches the same rows and is easier to test: NOT stands only before
// conditions that have no opposite, nested ANDs and ORs are flat, LIKE is a simpler test where it can be, and
// what can never match, or always does, is gone. Nil matches everything, an empty Or nothing.
func Simplify(p Predicate) Predicate {
	s := simplify(p, false)
	if isTrue(s) {
		return nil
	}
	return s
}

func isTrue(p Predicate) bool {
	a, ok := p.(*And)
	return ok && len(a.Args) == 0
}

func isFalse(p Predicate) bool {
	o, ok := p.(*Or)
	return ok && len(o.Args) == 0
}

// simplify moves NOTs down to the leaves. Above of them nothing tells unknown from false, so a
// condition that is never true is as good as false.
func simplify(p Predicate, negated bool) Predicate {
	switch x := p.(type) {
	case *Leaf:
		if checkCount(x) != nil {
			break // whoever tests it reports it
		}
		if negated {
			return negateLeaf(x)
		}
		return simplifyLeaf(x)
	case *And:
		return simplifyAll(x.Args, negated, !negated)
	case *Or:
		return simplifyAll(x.Args, negated, negated)
	case *Not:
		return simplify(x.Arg, !negated)
	case nil:
		if negated {
			return &Or{}
		}
		return &And{}
	}
	if negated {
		return &Not{p}
	}
	return p
}

// simplifyAll simplifies the parts of a conjunction (all) or disjunction.
func simplifyAll(args []Predicate, negated, all bool) Predicate {
	var out []Predicate
	for _, a := range args {
		s := simplify(a, negated)
		switch {
		case all && isFalse(s), !all && isTrue(s):
			return s
		case all && isTrue(s), !all && isFalse(s):
			continue
		}
		switch x := s.(type) {
		case *And:
			if all {
				out = append(out, x.Args...)
				continue
			}
		case *Or:
			if !all {
				out = append(out, x.Args...)
				continue
			}
		}
		out = append(out, s)
	}
	switch {
	case len(out) == 1:
		return out[0]
	case all:
		return &And{out}
	}
	return &Or{out}
}

var opposite = map[Op]Op{
	Eq: NotEq, NotEq: Eq, Lt: GtEq, GtEq: Lt, Gt: LtEq, LtEq: Gt, In: NotIn, NotIn: In, IsNull: IsNotNull, IsNotNull: IsNull,
}

func (l *Leaf) with(op Op, vs ...types.Datum) *Leaf {
	return &Leaf{Op: op, Column: l.Column, Type: l.Type, Values: vs}
}

func hasNull(vs []types.Datum) bool {
	return slices.ContainsFunc(vs, func(v types.Datum) bool { return v == nil })
}

func negateLeaf(l *Leaf) Predicate {
	if op, ok := opposite[l.Op]; ok {
		return simplifyLeaf(l.with(op, l.Values...))
	}
	if l.Op == Between {
		return simplifyAll([]Predicate{l.with(Lt, l.Values[0]), l.with(Gt, l.Values[1])}, false, false)
	}
	if hasNull(l.Values) {
		return &Or{}
	}
	if l.Op == Like {
		// The negation of a weaker test would be unknown where that of LIKE is: only for NULL.
		if s := likeLeaf(l); s != nil {
			if s.Op == Eq {
				return s.with(NotEq, s.Values...)
			}
			l = s
		}
	}
	return &Not{l}
}

func simplifyLeaf(l *Leaf) Predicate {
	switch l.Op {
	case IsNull, IsNotNull:
		return l
	case In:
		vs := slices.DeleteFunc(slices.Clone(l.Values), func(v types.Datum) bool { return v == nil })
		switch len(vs) {
		case 0:
			return &Or{}
		case 1:
			return l.with(Eq, vs...)
		}
		return l.with(In, vs...)
	case NotIn:
		switch {
		case len(l.Values) == 0:
			return &And{}
		case hasNull(l.Values):
			return &Or{}
		case len(l.Values) == 1:
			return l.with(NotEq, l.Values...)
		}
		return l
	}
	if hasNull(l.Values) {
		return &Or{}
	}
	if l.Op == Like {
		if s := likeLeaf(l); s != nil {
			l = s
		}
	}
	if l.Op == StartsWith || l.Op == EndsWith || l.Op == Contains {
		if s, ok := l.Values[0].(string); ok && s == "" {
			return l.with(IsNotNull)
		}
	}
	return l
}

// likeLeaf is the simpler test that a LIKE is the same as, nil if there is none.
func likeLeaf(l *Leaf) *Leaf {
	pattern, ok := l.Values[0].(string)
	if !ok {
		return nil
	}
	parts := parseLike(pattern, l.escape())
	for _, p := range parts {
		if p.one {
			return nil
		}
	}
	switch {
	case len(parts) == 0:
		return l.with(Eq, "")
	case len(parts) == 1 && parts[0].any:
		return l.with(StartsWith, "")
	case len(parts) == 1:
		return l.with(Eq, parts[0].text)
	case len(parts) == 2 && parts[1].any:
		return l.with(StartsWith, parts[0].text)
	case len(parts) == 2:
		return l.with(EndsWith, parts[1].text)
	case len(parts) == 3 && parts[0].any && parts[2].any:
		return l.with(Contains, parts[1].text)
	}
	return nil
}
