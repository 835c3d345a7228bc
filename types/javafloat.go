package types

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// AppendJavaFloat appends a FLOAT (size 32) or DOUBLE (64) as the toString of Java 8 to 18 does, which is what casts to text and
// names of partition directories have in tables of those releases: mostly what [AppendFloat] gives, which is that of
// Java 19 and later, but some values get a digit more (2.0E-3 as 0.002, but 2.26796112E8 for the FLOAT 2.2679611E8).
//
// The digits are those of Steele and White, "How to print floating-point numbers accurately" (1990), with four
// habits of Java's: the exponent is estimated from a tangent to the logarithm; whole numbers below 2^63 are printed exactly, less the digits that
// their precision cannot tell; numbers that will be written with an exponent have two digits at least; and whether a bound
// belongs to the interval depends on the size of the numbers calculated with.
func AppendJavaFloat(b []byte, f float64, size int) []byte {
	abs := math.Abs(f)
	if f != f || abs == 0 || math.IsInf(f, 0) {
		return AppendFloat(b, f, size)
	}
	if math.Signbit(f) {
		b = append(b, '-')
	}
	var buf [32]byte
	digits, point := javaDigits(buf[:0], abs, size)
	switch n := len(digits); {
	case point > 0 && point < 8: // 12.3, 1200.0
		if n <= point {
			b = append(b, digits...)
			for ; n < point; n++ {
				b = append(b, '0')
			}
			return append(b, ".0"...)
		}
		b = append(append(b, digits[:point]...), '.')
		return append(b, digits[point:]...)
	case point <= 0 && point > -3: // 0.0012
		b = append(b, "0.00"[:2-point]...)
		return append(b, digits...)
	default:
		return appendExponent(b, digits, point-1)
	}
}

// javaDigits appends the decimal digits of f > 0, which is finite, without zeros at the end; the number is 0.DIGITS × 10^point.
func javaDigits(dst []byte, f float64, size int) (digits []byte, point int) {
	// f = mant × 2^(exp-52), 2^52 <= mant < 2^53. The type has significant bits, fewer for subnormal numbers.
	frac, e := math.Frexp(f)
	mant, exp := uint64(frac*(1<<53)), e-1
	significant, least := 53, -1022
	if size == 32 {
		significant, least = 24, -126
	}
	significant += min(0, exp-least)
	zeros := bits.TrailingZeros64(mant)
	used := 53 - zeros         // bits of mant
	tiny := max(0, used-exp-1) // bits behind the binary point
	if exp < 63 && tiny == 0 { // a whole number
		lost := 0 // digits that the type cannot tell
		if exp > significant {
			lost = (exp - significant - 1) * 30103 / 100000
		}
		return wholeDigits(dst, mant>>zeros<<(exp+1-used), lost)
	}
	return shortDigits(dst, mant, exp, used, significant, tiny)
}

// wholeDigits appends the digits of v, rounded to tens of the power lost.
func wholeDigits(dst []byte, v uint64, lost int) (digits []byte, point int) {
	if lost > 0 {
		pow := uint64(1)
		for range lost {
			pow *= 10
		}
		rest := v % pow
		if v /= pow; rest >= pow/2 {
			v++
		}
	}
	digits = strconv.AppendUint(dst, v, 10)
	point = len(digits) + lost
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return digits, point
}

// shortDigits generates digits of v = mant × 2^(exp-52) until what is left is less than half the distance to the next number.
func shortDigits(dst []byte, mant uint64, exp, used, significant, tiny int) (digits []byte, point int) {
	// The logarithm by its tangent at 1.5: never too low, one too high at most.
	d := float64(mant) / (1 << 52)
	dec := int(math.Floor((d-1.5)*0.289529654 + 0.176091259 + float64(exp)*0.301029995663981))

	// v / 10^dec = rest/scale, half the distance to the neighbours = half/scale, in whole numbers without common factors of two.
	rest5, scale5 := max(0, -dec), max(0, dec)
	rest2, scale2 := rest5+tiny+exp, scale5+tiny
	half2 := rest2 - significant
	rest2 -= used - 1
	common := min(rest2, scale2)
	rest2, scale2, half2 = rest2-common, scale2-common, half2-common
	if used == 1 {
		half2-- // the neighbour below a power of two is nearer
	}
	if half2 < 0 {
		rest2, scale2, half2 = rest2-half2, scale2-half2, 0
	}
	g := generator{digits: dst, dec: dec}
	switch size := max(used+rest2+bits5(rest5), scale2+1+bits5(scale5+1)); {
	case size < 32:
		inWord[int32](&g, mant>>(53-used)*power5(rest5)<<rest2, power5(rest5)<<half2, power5(scale5)<<scale2)
	case size < 64:
		inWord[int64](&g, mant>>(53-used)*power5(rest5)<<rest2, power5(rest5)<<half2, power5(scale5)<<scale2)
	default:
		rest := new(big.Int).SetUint64(mant >> (53 - used))
		five := new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(rest5)), nil)
		scale := new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(scale5)), nil)
		inBig(&g, rest.Lsh(rest.Mul(rest, five), uint(rest2)), five.Lsh(five, uint(half2)), scale.Lsh(scale, uint(scale2)))
	}
	return g.digits, g.dec + 1
}

// A generator collects digits.
type generator struct {
	digits  []byte
	dec     int // exponent of the first digit
	started bool
}

// next takes a digit and says whether it is the last one: what is left is less than half the distance to the next number, or so is
// what is missing to the next digit.
func (g *generator) next(q int, low, high bool) bool {
	if g.started {
		g.digits = append(g.digits, '0'+byte(q))
		return low || high
	}
	g.started = true
	if q == 0 && !high {
		g.dec-- // the estimate was too high
	} else {
		g.digits = append(g.digits, '0'+byte(q))
	}
	return (low || high) && g.dec >= -3 && g.dec < 8
}

// finish rounds the last digit; side says whether the rest is less than half of it, more, or just half.
func (g *generator) finish(low, high bool, side int) {
	last := len(g.digits) - 1
	if !high || low && (side < 0 || side == 0 && g.digits[last]&1 == 0) {
		return
	}
	for ; last > 0 && g.digits[last] == '9'; last-- {
		g.digits[last] = '0'
	}
	if g.digits[last] == '9' {
		g.digits[last] = '1'
		g.dec++
	} else {
		g.digits[last]++
	}
}

// inWord generates digits in integers that may run over, as those of Java do: half the distance is noticed when it does,
// its sum with the rest is not. Both bounds lie outside the interval.
func inWord[T int32 | int64](g *generator, restBits, halfBits, scaleBits uint64) {
	rest, half, scale := T(restBits), T(halfBits), T(scaleBits)
	for first := true; ; first = false {
		q := int(rest / scale)
		rest = 10 * (rest % scale)
		half *= 10
		low, high := rest < half, rest+half > 10*scale
		if half <= 0 && !first {
			low, high = true, true
		}
		if g.next(q, low, high) {
			side := 2*rest - 10*scale
			g.finish(low, high, cmp.Compare(side, 0))
			return
		}
	}
}

// inBig is inWord for numbers of any size, with the upper bound inside of the interval.
func inBig(g *generator, rest, half, scale *big.Int) {
	ten, q, sum := big.NewInt(10), new(big.Int), new(big.Int)
	tens := new(big.Int).Mul(scale, ten)
	for {
		q.QuoRem(rest, scale, rest)
		rest.Mul(rest, ten)
		half.Mul(half, ten)
		low, high := rest.Cmp(half) < 0, sum.Add(rest, half).Cmp(tens) >= 0
		if g.next(int(q.Int64()), low, high) {
			g.finish(low, high, sum.Lsh(rest, 1).Cmp(tens))
			return
		}
	}
}

func power5(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 5
	}
	return p
}

// bits5 is the length of 5^n, as Java estimates it.
func bits5(n int) int {
	switch {
	case n == 0:
		return 0
	case n < 27:
		return bits.Len64(power5(n))
	}
	return 3 * n
}
