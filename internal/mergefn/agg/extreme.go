package agg

import (
	"bytes"
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// extreme gives the value that is before all others in an order. NULL is no value; rows cannot be taken back, since
// nothing is known of the values that lost.
type extreme struct {
	t    types.Type
	sign int // 1: the least, -1: the greatest
}

func (*extreme) Retracts() bool { return false }

func (f *extreme) Fold(in *Input) (Result, error) {
	valid, order := Validities(in.Column), orderOf(f.t, in.Column)
	out := make([]batch.Ref, len(in.Ends))
	from := int32(0)
	for i, end := range in.Ends {
		best := batch.NullRef
		for _, r := range in.Refs[from:end] {
			if valid[r.Src].At(r.Row) && (best == batch.NullRef || f.sign*order(r, best) < 0) {
				best = r
			}
		}
		out[i], from = best, end
	}
	return Result{Rows: out}, nil
}

// orderOf compares rows of a column, of a type that isOrdered, in the order of types.Compare; the rows are not NULL.
func orderOf(t types.Type, col []arrow.Array) func(a, b batch.Ref) int {
	switch t.Kind {
	case types.Boolean:
		return func(a, b batch.Ref) int { return cmp.Compare(bit(col, a), bit(col, b)) }
	case types.TinyInt:
		return compareIn(col, cmp.Compare[int8])
	case types.SmallInt:
		return compareIn(col, cmp.Compare[int16])
	case types.Int, types.Date, types.Time:
		return compareIn(col, cmp.Compare[int32])
	case types.Float:
		return compareIn(col, types.CompareFloat32)
	case types.Double:
		return compareIn(col, types.CompareFloat64)
	case types.Decimal:
		return compareIn(col, decimal128.Num.Cmp)
	case types.Char, types.Varchar, types.Binary, types.Varbinary:
		v := textsOf(col)
		return func(a, b batch.Ref) int { return bytes.Compare(v.at(a), v.at(b)) }
	case types.Timestamp, types.TimestampLTZ:
		if types.IsNanos(t) {
			return compareIn(col, decimal128.Num.Cmp)
		}
	}
	return compareIn(col, cmp.Compare[int64])
}

func compareIn[T arrow.FixedWidthType](col []arrow.Array, compare func(a, b T) int) func(a, b batch.Ref) int {
	v := vectorOf[T](col)
	return func(a, b batch.Ref) int { return compare(v.at(a), v.at(b)) }
}

func bit(col []arrow.Array, r batch.Ref) int {
	if col[r.Src].(*array.Boolean).Value(int(r.Row)) {
		return 1
	}
	return 0
}

// isOrdered tells whether values of a type have an order.
func isOrdered(t types.Type) bool {
	switch t.Kind {
	case types.Boolean, types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Float, types.Double, types.Decimal,
		types.Char, types.Varchar, types.Binary, types.Varbinary, types.Date, types.Time, types.Timestamp, types.TimestampLTZ:
		return true
	}
	return false
}

func newExtreme(name string, sign int) func(Config) (Func, error) {
	return func(c Config) (Func, error) {
		if !isOrdered(c.Field.Type) {
			return nil, wrongType(name, c, "of a type with an order")
		}
		return &extreme{c.Field.Type, sign}, nil
	}
}

// newBool makes the functions of truth: all are true is the least of the values, one is true the greatest.
func newBool(name string, sign int) func(Config) (Func, error) {
	return func(c Config) (Func, error) {
		if c.Field.Type.Kind != types.Boolean {
			return nil, wrongType(name, c, "BOOLEAN")
		}
		return &extreme{c.Field.Type, sign}, nil
	}
}
