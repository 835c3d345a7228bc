package predicate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// The truth of a condition for a row.
const (
	no uint8 = iota
	yes
	unknown
)

// Eval gives the rows of a batch that match, ascending. The columns of the batch are fields, in
// their order.
func Eval(p Predicate, rec arrow.RecordBatch, fields []types.Field) ([]int32, error) {
	if rec == nil || int(rec.NumCols()) < len(fields) {
		return nil, fmt.Errorf("predicate: the batch does not have the %d columns that it is said to have", len(fields))
	}
	n := int(rec.NumRows())
	out := make([]uint8, n)
	if err := eval(p, rec, fields, out); err != nil {
		return nil, err
	}
	count := 0
	for _, v := range out {
		if v == yes {
			count++
		}
	}
	sel := make([]int32, 0, count)
	for i, v := range out {
		if v == yes {
			sel = append(sel, int32(i))
		}
	}
	return sel, nil
}

func eval(p Predicate, rec arrow.RecordBatch, fields []types.Field, out []uint8) error {
	switch x := p.(type) {
	case *Leaf:
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == x.Column })
		if i < 0 {
			return fmt.Errorf("predicate: column %q is not among the columns of the batch", x.Column)
		}
		if err := checkCount(x); err != nil {
			return fmt.Errorf("predicate: %w", err)
		}
		return x.eval(rec.Column(i), fields[i].Type, out)
	case *And:
		fill(out, yes)
		part := make([]uint8, len(out))
		for _, a := range x.Args {
			if err := eval(a, rec, fields, part); err != nil {
				return err
			}
			for i, v := range part {
				if v == no || v == unknown && out[i] == yes {
					out[i] = v
				}
			}
		}
		return nil
	case *Or:
		fill(out, no)
		part := make([]uint8, len(out))
		for _, a := range x.Args {
			if err := eval(a, rec, fields, part); err != nil {
				return err
			}
			for i, v := range part {
				if v == yes || v == unknown && out[i] == no {
					out[i] = v
				}
			}
		}
		return nil
	case *Not:
		if err := eval(x.Arg, rec, fields, out); err != nil {
			return err
		}
		for i, v := range out {
			if v != unknown {
				out[i] = 1 - v
			}
		}
		return nil
	}
	return fmt.Errorf("predicate: %T is no predicate", p)
}

func fill(out []uint8, v uint8) {
	for i := range out {
		out[i] = v
	}
}

func (l *Leaf) eval(a arrow.Array, t types.Type, out []uint8) error {
	switch l.Op {
	case IsNull, IsNotNull:
		for i := range out {
			out[i] = no
			if a.IsNull(i) == (l.Op == IsNull) {
				out[i] = yes
			}
		}
		return nil
	case In, NotIn:
		return l.evalIn(a, t, out)
	case Between:
		return l.evalBetween(a, t, out)
	}
	if hasNull(l.Values) {
		fill(out, unknown)
		return nil
	}
	if err := l.evalValue(a, t, out); err != nil {
		return err
	}
	if a.NullN() > 0 {
		for i := range out {
			if a.IsNull(i) {
				out[i] = unknown
			}
		}
	}
	return nil
}

// fewValues is up to how many values an IN is cheaper as so many comparisons.
const fewValues = 4

// evalIn: with NULL in the list, what is not found is unknown.
func (l *Leaf) evalIn(a arrow.Array, t types.Type, out []uint8) error {
	if err := l.find(a, t, out); err != nil {
		return err
	}
	if hasNull(l.Values) {
		for i, v := range out {
			if v == no {
				out[i] = unknown
			}
		}
	}
	if len(l.Values) > 0 && a.NullN() > 0 {
		for i := range out {
			if a.IsNull(i) {
				out[i] = unknown
			}
		}
	}
	if l.Op == NotIn {
		for i, v := range out {
			if v != unknown {
				out[i] = 1 - v
			}
		}
	}
	return nil
}

// find says for each row whether its value is in the list; what it says of NULLs does not matter.
func (l *Leaf) find(a arrow.Array, t types.Type, out []uint8) error {
	if len(l.Values) > fewValues {
		switch x := a.(type) {
		case *array.Int64:
			return member(l, t, out, func(i int) int64 { return x.Value(i) })
		case *array.Int32:
			return member(l, t, out, func(i int) int64 { return int64(x.Value(i)) })
		case *array.Date32:
			return member(l, t, out, func(i int) int64 { return int64(x.Value(i)) })
		case *array.String:
			return member(l, t, out, x.Value)
		}
	}
	fill(out, no)
	part := make([]uint8, len(out))
	one := Leaf{Op: Eq, Column: l.Column, Type: l.Type, Values: make([]types.Datum, 1)}
	for _, v := range l.Values {
		if v == nil {
			continue
		}
		one.Values[0] = v
		if err := one.evalValue(a, t, part); err != nil {
			return err
		}
		for i, r := range part {
			if r == yes {
				out[i] = yes
			}
		}
	}
	return nil
}

func member[T comparable](l *Leaf, t types.Type, out []uint8, at func(int) T) error {
	set := make(map[T]struct{}, len(l.Values))
	for _, v := range l.Values {
		if v == nil {
			continue
		}
		x, ok := v.(T)
		if !ok {
			return fmt.Errorf("predicate: column %q of type %s cannot be compared with %v by %s", l.Column, t, v, l.Op)
		}
		set[x] = struct{}{}
	}
	for i := range out {
		_, ok := set[at(i)]
		out[i] = b2u(ok)
	}
	return nil
}

func (l *Leaf) evalBetween(a arrow.Array, t types.Type, out []uint8) error {
	low := Leaf{Op: GtEq, Column: l.Column, Type: l.Type, Values: l.Values[:1]}
	high := Leaf{Op: LtEq, Column: l.Column, Type: l.Type, Values: l.Values[1:2]}
	part := make([]uint8, len(out))
	if err := low.eval(a, t, out); err != nil {
		return err
	}
	if err := high.eval(a, t, part); err != nil {
		return err
	}
	for i, v := range part {
		if v == no || v == unknown && out[i] == yes {
			out[i] = v
		}
	}
	return nil
}

// evalValue compares with one value that is not NULL; what it says of NULLs does not matter.
func (l *Leaf) evalValue(a arrow.Array, t types.Type, out []uint8) error {
	bad := func() error {
		return fmt.Errorf("predicate: column %q of type %s cannot be compared with %v by %s", l.Column, t, l.Values[0], l.Op)
	}
	switch x := a.(type) {
	case *array.String:
		v, ok := l.Values[0].(string)
		if !ok {
			return bad()
		}
		return l.evalText(x, v, out)
	case *array.Binary:
		v, ok := l.Values[0].([]byte)
		if !ok || l.textOnly() {
			return bad()
		}
		for i := range out {
			out[i] = l.holds(bytes.Compare(x.Value(i), v))
		}
		return nil
	case *array.Boolean:
		v, ok := l.Values[0].(bool)
		if !ok {
			return bad()
		}
		for i := range out {
			out[i] = l.holds(types.Compare(t, x.Value(i), v))
		}
		return nil
	case *array.Float32:
		v, ok := l.Values[0].(float32)
		if !ok {
			return bad()
		}
		vals := x.Float32Values()
		for i := range out {
			out[i] = l.holds(types.CompareFloat32(vals[i], v))
		}
		return nil
	case *array.Float64:
		v, ok := l.Values[0].(float64)
		if !ok {
			return bad()
		}
		l.evalFloat(x.Float64Values(), v, out)
		return nil
	case *array.Decimal128:
		v, ok := l.Values[0].(decimal128.Num)
		if at, is := l.Values[0].(types.Instant); is && types.IsNanos(t) {
			v, ok = at.Nanoseconds(), true
		}
		if !ok {
			return bad()
		}
		for i, y := range x.Values()[:len(out)] {
			out[i] = l.holds(y.Cmp(v))
		}
		return nil
	case *array.Timestamp:
		v, ok := l.Values[0].(types.Instant)
		if !ok {
			return bad()
		}
		unit := x.DataType().(*arrow.TimestampType).Unit
		n, fits := v.In(unit)
		if !fits || types.InstantOf(n, unit) != v {
			for i := range out {
				out[i] = l.holds(types.Compare(t, types.InstantOf(int64(x.Value(i)), unit), v))
			}
			return nil
		}
		for i := range out {
			out[i] = l.holds(cmp.Compare(int64(x.Value(i)), n))
		}
		return nil
	}
	v, ok := l.Values[0].(int64)
	if !ok || l.textOnly() {
		return bad()
	}
	switch x := a.(type) {
	case *array.Int64:
		compare(l, x.Int64Values(), v, out)
	case *array.Int32:
		narrow(l, x.Int32Values(), v, out)
	case *array.Int16:
		narrow(l, x.Int16Values(), v, out)
	case *array.Int8:
		narrow(l, x.Int8Values(), v, out)
	case *array.Date32:
		for i := range out {
			out[i] = l.holds(cmp.Compare(int64(x.Value(i)), v))
		}
	case *array.Time32:
		for i := range out {
			out[i] = l.holds(cmp.Compare(int64(x.Value(i)), v))
		}
	default:
		return bad()
	}
	return nil
}

// textOnly: the operation is one on text.
func (l *Leaf) textOnly() bool { return l.Op >= StartsWith && l.Op <= Like }

// holds turns a comparison of a row's value with the constant into the truth of the condition.
func (l *Leaf) holds(c int) uint8 {
	var ok bool
	switch l.Op {
	case Eq:
		ok = c == 0
	case NotEq:
		ok = c != 0
	case Lt:
		ok = c < 0
	case LtEq:
		ok = c <= 0
	case Gt:
		ok = c > 0
	case GtEq:
		ok = c >= 0
	}
	if ok {
		return yes
	}
	return no
}

func b2u(b bool) uint8 {
	if b {
		return yes
	}
	return no
}

func compare[T cmp.Ordered](l *Leaf, vals []T, v T, out []uint8) {
	vals = vals[:len(out)]
	switch l.Op {
	case Eq:
		for i, x := range vals {
			out[i] = b2u(x == v)
		}
	case NotEq:
		for i, x := range vals {
			out[i] = b2u(x != v)
		}
	case Lt:
		for i, x := range vals {
			out[i] = b2u(x < v)
		}
	case LtEq:
		for i, x := range vals {
			out[i] = b2u(x <= v)
		}
	case Gt:
		for i, x := range vals {
			out[i] = b2u(x > v)
		}
	case GtEq:
		for i, x := range vals {
			out[i] = b2u(x >= v)
		}
	}
}

// narrow compares integers of fewer bits; the constant may be outside of their range.
func narrow[T int8 | int16 | int32](l *Leaf, vals []T, v int64, out []uint8) {
	if int64(T(v)) == v {
		compare(l, vals, T(v), out)
		return
	}
	for i, x := range vals[:len(out)] {
		out[i] = l.holds(cmp.Compare(int64(x), v))
	}
}

// evalFloat compares by machine order where it is the order of the format: not at zero and NaN.
func (l *Leaf) evalFloat(vals []float64, v float64, out []uint8) {
	if v != v || v == 0 {
		for i := range out {
			out[i] = l.holds(types.CompareFloat64(vals[i], v))
		}
		return
	}
	vals = vals[:len(out)]
	switch l.Op {
	case Gt:
		for i, x := range vals {
			out[i] = b2u(!(x <= v)) // NaN is larger
		}
	case GtEq:
		for i, x := range vals {
			out[i] = b2u(!(x < v))
		}
	default:
		compare(l, vals, v, out)
	}
}

func (l *Leaf) evalText(x *array.String, v string, out []uint8) error {
	switch l.Op {
	case StartsWith, EndsWith, Contains, Like:
		match := l.matcher(v)
		for i := range out {
			out[i] = b2u(match(x.Value(i)))
		}
	case Eq:
		for i := range out {
			out[i] = b2u(x.Value(i) == v)
		}
	default:
		for i := range out {
			out[i] = l.holds(cmp.Compare(x.Value(i), v))
		}
	}
	return nil
}

// matcher is the test of an operation on text.
func (l *Leaf) matcher(want string) func(string) bool {
	switch l.Op {
	case StartsWith:
		return func(s string) bool { return strings.HasPrefix(s, want) }
	case EndsWith:
		return func(s string) bool { return strings.HasSuffix(s, want) }
	case Contains:
		return func(s string) bool { return strings.Contains(s, want) }
	}
	parts := parseLike(want, l.escape())
	return func(s string) bool { return matchLike(parts, s) }
}
