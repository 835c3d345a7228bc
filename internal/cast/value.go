package cast

import (
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// Value converts one value of an atomic type; see Cast.
func Value(v types.Datum, from, to types.Type) (types.Datum, error) {
	b := array.NewBuilder(memory.DefaultAllocator, types.WideArrowType(from))
	if err := types.AppendDatum(b, from, v); err != nil {
		return nil, err
	}
	a, err := Cast(b.NewArray(), from, to)
	if err != nil {
		return nil, err
	}
	return types.DatumAt(a, 0, to), nil
}
