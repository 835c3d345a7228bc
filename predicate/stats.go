package predicate

import (
	"math"
	"strings"
	"unicode/utf8"

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
		if stats == nil {
			return truth{true, true}
		}
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
	if checkCount(l) != nil {
		return truth{true, true} // whoever tests rows reports it
	}
	someNull := s.NullCount != 0
	allNull := s.NullCount >= 0 && s.NullCount == s.Rows && s.Rows > 0
	switch l.Op {
	case IsNull:
		return truth{someNull, !allNull}
	case IsNotNull:
		return truth{!allNull, someNull}
	case In, NotIn:
		if len(l.Values) == 0 { // true or false for NULL, too
			return truth{l.Op == NotIn, l.Op == In}
		}
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
	case StartsWith, EndsWith, Contains, Like:
		return l.possibleText(lo, hi)
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
	if lo != nil && l.cmp(v, lo) < 0 || hi != nil && l.beyond(v, hi) {
		out.t = false
	}
	// All values are this one if both bounds are. Of floats the bounds say nothing of NaN.
	float := l.Type.Kind == types.Float || l.Type.Kind == types.Double
	if lo != nil && hi != nil && l.cmp(lo, v) == 0 && l.cmp(hi, v) == 0 && !float && !isOpen(hi) {
		out.f = false
	}
	return out
}

// cutAt is the length in characters at which text in statistics is cut by default.
const cutAt = 16

// isOpen reports whether text as an upper bound may have been cut. Later releases raise its last character
// then, the first ones did not: there may be longer text that starts with it.
func isOpen(hi types.Datum) bool {
	s, ok := hi.(string)
	return ok && len(s) >= cutAt && utf8.RuneCountInString(s) >= cutAt
}

// beyond reports whether v is larger than all values of an upper bound.
func (l *Leaf) beyond(v, hi types.Datum) bool {
	if l.cmp(v, hi) <= 0 {
		return false
	}
	if isOpen(hi) {
		s, ok := v.(string)
		return !ok || !strings.HasPrefix(s, hi.(string))
	}
	return true
}

// less is v' < v, or v' <= v if orEqual, for values v' within the bounds.
func (l *Leaf) less(lo, hi, v types.Datum, orEqual bool) truth {
	out := truth{true, true}
	if lo != nil {
		if c := l.cmp(lo, v); c > 0 || c == 0 && !orEqual {
			out.t = false
		}
	}
	if hi != nil && (l.beyond(v, hi) || orEqual && !isOpen(hi) && l.cmp(v, hi) == 0) {
		out.f = false
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

// possibleText is for the operations on text.
func (l *Leaf) possibleText(lo, hi types.Datum) truth {
	a, okLo := lo.(string)
	b, okHi := hi.(string)
	want, ok := l.Values[0].(string)
	if !ok {
		return truth{true, true}
	}
	if okLo && okHi && a == b && !isOpen(hi) { // all values are this one
		holds := l.matcher(want)(a)
		return truth{holds, !holds}
	}
	switch l.Op {
	case StartsWith:
		return prefix(a, okLo, b, okHi, want, false)
	case Like:
		if p, exact, ok := l.likePrefix(); ok && p != "" {
			return prefix(a, okLo, b, okHi, p, !exact)
		}
	}
	return truth{true, true}
}

// prefix tests for text that starts with p; atLeast: it must, but more is demanded of it.
func prefix(lo string, okLo bool, hi string, okHi bool, p string, atLeast bool) truth {
	out := truth{true, true}
	if okHi && hi < p && !(isOpen(hi) && strings.HasPrefix(p, hi)) {
		out.t = false
	}
	if okLo && lo > p && !strings.HasPrefix(lo, p) {
		out.t = false
	}
	if okLo && okHi && strings.HasPrefix(lo, p) && strings.HasPrefix(hi, p) && !atLeast {
		out.f = false
	}
	return out
}
