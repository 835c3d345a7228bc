package types

import (
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// FormatDate writes days since 1970-01-01 as 2024-02-29; years outside of 0..9999 have a sign.
func FormatDate(days int64) string { return string(AppendDate(nil, days)) }

// RoundDecimal rounds a number to the scale of a DECIMAL, halves away from zero; false if it has more
// digits than the type.
func RoundDecimal(v *big.Rat, t Type) (decimal128.Num, bool) {
	num := new(big.Int).Mul(v.Num(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil))
	den := v.Denom()
	neg := num.Sign() < 0
	num.Abs(num)
	num.Mul(num, big.NewInt(2)).Add(num, den)
	num.Quo(num, new(big.Int).Mul(den, big.NewInt(2)))
	if len(num.String()) > t.Precision && num.Sign() != 0 {
		return decimal128.Num{}, false
	}
	if neg {
		num.Neg(num)
	}
	return decimal128.FromBigInt(num), true
}
