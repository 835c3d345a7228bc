package jsonrow

import (
	"fmt"
	"math"
	"slices"

	"github.com/tarnlake/tarn/types"
)

// Equal compares two rows that are written as objects, by value: floats as numbers of their type with
// the sign of zero, NaN equal to NaN, maps without order, members in any order and those that are
// missing as NULL. The error says where text cannot be read, or names the first column that differs
// (ErrDiffer).
func Equal(fields []types.Field, a, b []byte) error {
	da, db := NewDecoder(nullable(fields)), NewDecoder(nullable(fields))
	if _, err := da.parse(a); err != nil {
		return fmt.Errorf("first row: %w", err)
	}
	if _, err := db.parse(b); err != nil {
		return fmt.Errorf("second row: %w", err)
	}
	for i, f := range fields {
		if !same(f.Type, da.row[i], db.row[i]) {
			return &DifferError{f.Name, a, b}
		}
	}
	return nil
}

// DifferError says that two rows differ in a column.
type DifferError struct {
	Column        string
	First, Second []byte
}

func (e *DifferError) Error() string {
	return fmt.Sprintf("column %s differs: %s and %s", e.Column, e.First, e.Second)
}

func nullable(fields []types.Field) []types.Field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].Type.NotNull = false
	}
	return out
}

func same(t types.Type, a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	switch t.Kind {
	case types.Array:
		return slices.EqualFunc(a.([]any), b.([]any), func(x, y any) bool { return same(*t.Elem, x, y) })
	case types.Row:
		x, y := a.([]any), b.([]any)
		for i, f := range t.Fields {
			if !same(f.Type, x[i], y[i]) {
				return false
			}
		}
		return true
	case types.Variant:
		bt := types.Type{Kind: types.Varbinary}
		x, y := a.([]any), b.([]any)
		return same(bt, x[0], y[0]) && same(bt, x[1], y[1])
	case types.Map:
		return samePairs(*t.Key, *t.Elem, a.([]any), b.([]any))
	case types.Multiset:
		return samePairs(*t.Elem, types.Type{Kind: types.Int}, a.([]any), b.([]any))
	case types.Float:
		return math.Float32bits(a.(float32)) == math.Float32bits(b.(float32)) || a != a && b != b
	case types.Double:
		return math.Float64bits(a.(float64)) == math.Float64bits(b.(float64)) || a != a && b != b
	}
	return types.Compare(t, a, b) == 0
}

// samePairs finds for each pair an equal one that is not yet taken.
func samePairs(kt, vt types.Type, a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	taken := make([]bool, len(b))
	for _, x := range a {
		p := x.([2]any)
		i := slices.IndexFunc(b, func(y any) bool { q := y.([2]any); return same(kt, p[0], q[0]) && same(vt, p[1], q[1]) })
		for i >= 0 && taken[i] {
			n := slices.IndexFunc(b[i+1:], func(y any) bool { q := y.([2]any); return same(kt, p[0], q[0]) && same(vt, p[1], q[1]) })
			if n < 0 {
				return false
			}
			i += 1 + n
		}
		if i < 0 {
			return false
		}
		taken[i] = true
	}
	return true
}
