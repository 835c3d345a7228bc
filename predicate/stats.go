package predicate

import (
	"math"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// Stats are what is known of the values of a column in some rows.
type Stats struct {
	// Min and Max bound the values that are not NULL, NaN aside; nil if unknown. They need not be values
	// themselves: text may be cut.
	Min, Max  types.Datum
	NullCount int64 // -1 if unknown
	Rows      int64
}

// truth is what may come out of a condition for some rows.
type truth struct{ t, f bool } // it may be true, it may be false (unknown is neither)

// MayMatch reports whether a row can match, by statistics of columns. It never denies a row that
// matches: what is not known (no statistics for a column, no bounds, no null count) may be anything.
func MayMatch(p Predicate, stats func(column string) (Stats, bool)) bool {
	return possible(p, stats).t
}

func possible(p Predicate, stats func(string) (Stats, bool)) truth {
	switch x := p.(type) {
	case *Leaf:
		s, ok := stats(x.Column)
		if !ok {
			return truth{true, true}
		}
		return x.possible(s)
	case *And:
		out := truth{t: true}
		for _, a := range x.Args {
			r := possible(a, stats)
			out.t, out.f = out.t && r.t, out.f || r.f
		}
		return out
	case *Or:
		out := truth{f: true}
		for _, a := range x.Args {
			r := possible(a, stats)
			out.t, out.f = out.t || r.t, out.f && r.f
		}
		return out
	case *Not:
		r := possible(x.Arg, stats)
		return truth{r.f, r.t}
	}
	return truth{true, true}
}

func (l *Leaf) possible(s Stats) truth {
	someNull := s.NullCount != 0
	allNull := s.NullCount >= 0 && s.NullCount == s.Rows && s.Rows > 0
	switch l.Op {
	case IsNull:
		return truth{someNull, !allNull}
	case IsNotNull:
		return truth{!allNull, someNull}
	}
	if allNull {
		return truth{} // unknown for each row
	}
	switch l.Op {
	case In:
		return l.possibleIn(s)
	case NotIn:
		r := l.possibleIn(s)
		return truth{r.f, r.t}
	}
	for _, v := range l.Values {
		if v == nil && l.Op != Between {
			return truth{}
		}
	}
	lo, hi := s.Min, s.Max
	if l.Type.Kind == types.Float || l.Type.Kind == types.Double {
		// NaN, larger than all else, may be there beside the bounds: it equals nothing but itself, so an
		// upper bound helps with equality only.
		if isNaN(lo) || isNaN(hi) {
			lo, hi = nil, nil
		}
		lo, hi = widenZero(lo, -1), widenZero(hi, 1)
		if l.Op != Eq && l.Op != NotEq || isNaN(l.Values[0]) {
			hi = nil
		}
	}
	switch l.Op {
	case Eq:
		return l.equal(lo, hi, l.Values[0])
	case NotEq:
		r := l.equal(lo, hi, l.Values[0])
		return truth{r.f, r.t}
	case Lt:
		return l.less(lo, hi, l.Values[0], false)
	case LtEq:
		return l.less(lo, hi, l.Values[0], true)
	case Gt:
		r := l.less(lo, hi, l.Values[0], true)
		return truth{r.f, r.t}
	case GtEq:
		r := l.less(lo, hi, l.Values[0], false)
		return truth{r.f, r.t}
	case Between:
		a, b := truth{true, true}, truth{true, true}
		if l.Values[0] == nil && l.Values[1] == nil {
			return truth{}
		}
		if l.Values[0] != nil {
			r := l.less(lo, hi, l.Values[0], false)
			a = truth{r.f, r.t}
		}
		if l.Values[1] != nil {
			b = l.less(lo, hi, l.Values[1], true)
		}
		out := truth{a.t && b.t, a.f || b.f}
		if l.Values[0] == nil || l.Values[1] == nil {
			out.t = false // one side is unknown
		}
		return out
	case StartsWith:
		return l.prefix(lo, hi, l.Values[0].(string), false)
	case Like:
		p, exact, ok := l.likePrefix()
		if ok && p != "" {
			return l.prefix(lo, hi, p, !exact)
		}
	}
	return truth{true, true}
}

func isNaN(v types.Datum) bool {
	switch x := v.(type) {
	case float32:
		return x != x
	case float64:
		return x != x
	}
	return false
}

// widenZero makes a bound of zero one of the sign: writers differ in which zero they note.
func widenZero(v types.Datum, sign float64) types.Datum {
	switch x := v.(type) {
	case float32:
		if x == 0 {
			return float32(math.Copysign(0, sign))
		}
	case float64:
		if x == 0 {
			return math.Copysign(0, sign)
		}
	}
	return v
}

func (l *Leaf) cmp(a, b types.Datum) int { return types.Compare(l.Type, a, b) }

func (l *Leaf) equal(lo, hi, v types.Datum) truth {
	out := truth{true, true}
	if lo != nil && l.cmp(v, lo) < 0 || hi != nil && l.cmp(v, hi) > 0 {
		out.t = false
	}
	// All values are this one if both bounds are, which cut text cannot tell; text that short is not cut.
	if lo != nil && hi != nil && l.cmp(lo, v) == 0 && l.cmp(hi, v) == 0 && l.exactBounds() {
		out.f = false
	}
	return out
}

// exactBounds: bounds of text may be cut: equal ones still bound exactly, as the upper one would have
// been raised if it had been cut. Of floats the bounds say nothing of NaN.
func (l *Leaf) exactBounds() bool { return l.Type.Kind != types.Float && l.Type.Kind != types.Double }

// less is v' < v, or v' <= v if orEqual, for values v' within the bounds.
func (l *Leaf) less(lo, hi, v types.Datum, orEqual bool) truth {
	out := truth{true, true}
	if lo != nil {
		if c := l.cmp(lo, v); c > 0 || c == 0 && !orEqual {
			out.t = false
		}
	}
	if hi != nil {
		if c := l.cmp(hi, v); c < 0 || c == 0 && orEqual {
			out.f = false
		}
	}
	return out
}

// possibleIn: NULL in the list makes what does not match unknown.
func (l *Leaf) possibleIn(s Stats) truth {
	out := truth{f: true}
	one := Leaf{Op: Eq, Column: l.Column, Type: l.Type, Values: make([]types.Datum, 1)}
	null := false
	for _, v := range l.Values {
		if v == nil {
			null = true
			continue
		}
		one.Values[0] = v
		r := one.possible(s)
		out.t, out.f = out.t || r.t, out.f && r.f
	}
	if null {
		out.f = false
	}
	return out
}

// prefix tests for text that starts with p; atLeast: it must, but more is demanded of it.
func (l *Leaf) prefix(lo, hi types.Datum, p string, atLeast bool) truth {
	out := truth{true, true}
	a, okLo := lo.(string)
	b, okHi := hi.(string)
	if okHi && b < p {
		out.t = false
	}
	if okLo && a > p && !strings.HasPrefix(a, p) {
		out.t = false
	}
	if okLo && okHi && strings.HasPrefix(a, p) && strings.HasPrefix(b, p) && !atLeast {
		out.f = false
	}
	return out
}
