package types

import (
	"bytes"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// anyDatum is DatumAt for the Arrow types that FromArrow knows beside those of ArrowType.
func anyDatum(arr arrow.Array, i int) Datum {
	switch a := arr.(type) {
	case *array.StringView:
		return strings.Clone(a.Value(i))
	case *array.BinaryView:
		return bytes.Clone(a.Value(i))
	case *array.Date64:
		const day = 86_400_000
		return FloorDiv(int64(a.Value(i)), day)
	case *array.Time64:
		if a.DataType().(*arrow.Time64Type).Unit == arrow.Microsecond {
			return FloorDiv(int64(a.Value(i)), 1000)
		}
		return FloorDiv(int64(a.Value(i)), 1_000_000)
	case *array.Uint8:
		return int64(a.Value(i))
	case *array.Uint16:
		return int64(a.Value(i))
	case *array.Uint32:
		return int64(a.Value(i))
	case *array.Uint64:
		return decimal128.FromU64(a.Value(i))
	case *array.Float16:
		return a.Value(i).Float32()
	case *array.Decimal32:
		return decimal128.FromI64(int64(a.Value(i)))
	case *array.Decimal64:
		return decimal128.FromI64(int64(a.Value(i)))
	case *array.Decimal256:
		v := a.Value(i).BigInt()
		if limit := new(big.Int).Lsh(big.NewInt(1), 127); v.CmpAbs(limit) >= 0 {
			return nil // no DECIMAL of the format has it; its precision is told by the type
		}
		return decimal128.FromBigInt(v)
	}
	return nil
}
