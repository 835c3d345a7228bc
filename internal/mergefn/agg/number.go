package agg

import (
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// arithmetic is a function of numbers. What does not fit into the column's type is an error, never a wrapped value
// (BUGS B025).
type arithmetic[T arrow.FixedWidthType] struct {
	t    types.Type
	add  step[T]
	take step[T]
	// negate gives what a row that is taken back leaves if there is nothing to take it from; nil: nothing.
	negate func(v T) (T, bool)
}

// step makes one value of two; ok is false if there is none.
type step[T any] struct {
	sign string
	do   func(a, b T) (c T, ok bool)
}

func (f *arithmetic[T]) Retracts() bool { return true }

func (f *arithmetic[T]) Fold(in *Input) (Result, error) {
	col := vectorOf[T](in.Column)
	out := newFixed[T](len(in.Ends))
	from := int32(0)
	for _, end := range in.Ends {
		var acc T
		some := false
		for i := from; i < end; i++ {
			r := in.Refs[i]
			if col.isNull(r) {
				continue
			}
			v, retract, ok := col.at(r), in.Ops != nil && in.Ops[i] == Retract, true
			old := acc
			switch {
			case some && retract:
				acc, ok = f.take.do(acc, v)
			case some:
				acc, ok = f.add.do(acc, v)
			case !retract:
				acc, some = v, true
			case f.negate != nil:
				some = true
				acc, ok = f.negate(v)
			}
			if !ok {
				return Result{}, f.noRoom(old, v, retract)
			}
		}
		from = end
		out.append(acc, some)
	}
	return Result{Values: out.array(types.WideArrowType(f.t))}, nil
}

func (f *arithmetic[T]) noRoom(a, b T, retract bool) error {
	s := f.add
	if retract {
		s = f.take
	}
	return fmt.Errorf("%s %s %s is no value of type %s; give the column a wider type", f.text(a), s.sign, f.text(b), f.t)
}

func (f *arithmetic[T]) text(v T) string {
	if d, ok := any(v).(decimal128.Num); ok {
		return d.ToString(int32(f.t.Scale))
	}
	return fmt.Sprint(v)
}

type integer interface{ int8 | int16 | int32 | int64 }

func addInts[T integer](a, b T) (T, bool) {
	c := a + b
	return c, (a^c)&(b^c) >= 0
}

func subInts[T integer](a, b T) (T, bool) {
	c := a - b
	return c, (a^b)&(a^c) >= 0
}

func mulInts[T integer](a, b T) (T, bool) {
	c := a * b
	return c, a == 0 || c/a == b && (a != -1 || c != b || b == 0)
}

func divInts[T integer](a, b T) (T, bool) {
	if b == 0 || b == -1 && a == -a && a != 0 {
		return 0, false
	}
	return a / b, true
}

func sumInts[T integer](t types.Type) Func {
	return &arithmetic[T]{t, step[T]{"+", addInts[T]}, step[T]{"-", subInts[T]}, func(v T) (T, bool) { return subInts(0, v) }}
}

func productInts[T integer](t types.Type) Func {
	return &arithmetic[T]{t, step[T]{"*", mulInts[T]}, step[T]{"/", divInts[T]}, nil}
}

func sumFloats[T float32 | float64](t types.Type) Func {
	return &arithmetic[T]{
		t,
		step[T]{"+", func(a, b T) (T, bool) { return a + b, true }},
		step[T]{"-", func(a, b T) (T, bool) { return a - b, true }},
		func(v T) (T, bool) { return -v, true },
	}
}

func productFloats[T float32 | float64](t types.Type) Func {
	return &arithmetic[T]{t, step[T]{"*", func(a, b T) (T, bool) { return a * b, true }}, step[T]{"/", func(a, b T) (T, bool) { return a / b, true }}, nil}
}

func sumDecimals(t types.Type) Func {
	p := int32(t.Precision)
	return &arithmetic[decimal128.Num]{
		t,
		step[decimal128.Num]{"+", func(a, b decimal128.Num) (decimal128.Num, bool) { c := a.Add(b); return c, c.FitsInPrecision(p) }},
		step[decimal128.Num]{"-", func(a, b decimal128.Num) (decimal128.Num, bool) { c := a.Sub(b); return c, c.FitsInPrecision(p) }},
		func(v decimal128.Num) (decimal128.Num, bool) { return v.Negate(), true },
	}
}

// productDecimals multiplies exactly and rounds half up to the column's scale.
func productDecimals(t types.Type) Func {
	one := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)
	return &arithmetic[decimal128.Num]{
		t,
		step[decimal128.Num]{"*", func(a, b decimal128.Num) (decimal128.Num, bool) {
			return types.RoundDecimal(new(big.Rat).SetFrac(new(big.Int).Mul(a.BigInt(), b.BigInt()), new(big.Int).Mul(one, one)), t)
		}},
		step[decimal128.Num]{"/", func(a, b decimal128.Num) (decimal128.Num, bool) {
			if b.Sign() == 0 {
				return b, false
			}
			return types.RoundDecimal(new(big.Rat).SetFrac(a.BigInt(), b.BigInt()), t)
		}},
		nil,
	}
}

func newSum(c Config) (Func, error) {
	switch t := c.Field.Type; t.Kind {
	case types.TinyInt:
		return sumInts[int8](t), nil
	case types.SmallInt:
		return sumInts[int16](t), nil
	case types.Int:
		return sumInts[int32](t), nil
	case types.BigInt:
		return sumInts[int64](t), nil
	case types.Float:
		return sumFloats[float32](t), nil
	case types.Double:
		return sumFloats[float64](t), nil
	case types.Decimal:
		return sumDecimals(t), nil
	}
	return nil, wrongType("sum", c, "a number")
}

func newProduct(c Config) (Func, error) {
	switch t := c.Field.Type; t.Kind {
	case types.TinyInt:
		return productInts[int8](t), nil
	case types.SmallInt:
		return productInts[int16](t), nil
	case types.Int:
		return productInts[int32](t), nil
	case types.BigInt:
		return productInts[int64](t), nil
	case types.Float:
		return productFloats[float32](t), nil
	case types.Double:
		return productFloats[float64](t), nil
	case types.Decimal:
		return productDecimals(t), nil
	}
	return nil, wrongType("product", c, "a number")
}

// wrongType is the error of a function that is not for columns of the type.
func wrongType(name string, c Config, want string) error {
	return fmt.Errorf("aggregate function %s is for columns that are %s, not for type %s", name, want, c.Field.Type)
}
