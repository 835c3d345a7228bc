package agg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/datasketches-go/hll"
)

// hllSketch unites HLL sketches of Apache DataSketches, of any size and type. What comes out is of the type HLL_4, of the
// size of the smallest of them that has its registers, and byte for byte what the reference makes of them.
type hllSketch struct{ all []byte }

// Bytes of an HLL sketch.
const (
	hllLgK       = 3  // log2 of the number of registers
	hllLgArray   = 4  // log2 of the numbers in an array that is a hash table, in the updatable form
	hllFlags     = 5  // 8: the compact form
	hllListCount = 6  // numbers of a list
	hllMode      = 7  // lower two bits: list, set, registers; the next two: HLL_4, HLL_6, HLL_8
	hllSetCount  = 8  // numbers of a set
	hllKxQ0      = 16 // sum of 2^-value of the registers up to 31
	hllKxQ1      = 24 // and of the others
	hllZeros     = 32 // in HLL_8: registers that are 0
	hllExtras    = 36 // values that are too large for HLL_4
	hllRegisters = 40

	hllCompact   = 8
	hllHasArray  = 2 // the mode of registers
	hllMinLgK    = 4
	hllMaxLgK    = 21
	hllListSlots = 8
)

func (s *hllSketch) add(v []byte, older bool) error {
	if err := checkHLL(v); err != nil {
		return err
	}
	// The library trusts what is behind the lengths.
	return guarded(func() error {
		one, err := hll.NewHllSketchFromSlice(v, true)
		if err != nil {
			return err
		}
		if s.all == nil {
			s.all = bytes.Clone(v)
			return nil
		}
		// Read anew each time, since the order of values in the tables of a sketch comes from how they got there.
		all, err := hll.NewHllSketchFromSlice(s.all, true)
		if err == nil && older {
			all, one = one, all
		}
		if err == nil {
			all, err = uniteHLL(all, one)
		}
		if err == nil {
			s.all, err = all.ToCompactSlice()
		}
		return err
	})
}

func (s *hllSketch) bytes() ([]byte, error) { return s.all, nil }

// checkHLL looks whether a sketch has the length that its head tells.
func checkHLL(v []byte) error {
	if len(v) < 8 {
		return errCut
	}
	if k := v[hllLgK]; k < hllMinLgK || k > hllMaxLgK {
		return fmt.Errorf("2^%d registers", k)
	}
	compact := v[hllFlags]&hllCompact != 0
	table := func(count uint32) int64 { // bytes of a hash table
		switch {
		case compact:
			return 4 * int64(count)
		case v[hllLgArray] > hllMaxLgK+5:
			return math.MaxInt32
		}
		return 4 << v[hllLgArray]
	}
	want := int64(hllRegisters)
	switch v[hllMode] & 3 {
	case 0:
		if v[hllListCount] > hllListSlots {
			return fmt.Errorf("a list of %d numbers", v[hllListCount])
		}
		want = 8 + 4*int64(v[hllListCount])
	case 1:
		if len(v) < 12 {
			return errCut
		}
		want = 12 + table(binary.LittleEndian.Uint32(v[hllSetCount:]))
	case hllHasArray:
		if len(v) < hllRegisters {
			return errCut
		}
		k := int64(1) << v[hllLgK]
		switch v[hllMode] >> 2 & 3 {
		case 0:
			want += k / 2
			if n := binary.LittleEndian.Uint32(v[hllExtras:]); n > 0 {
				want += table(n)
			}
		case 1:
			want += k*3/4 + 1
		default:
			want += k
		}
	default:
		return fmt.Errorf("mode %d", v[hllMode]&3)
	}
	if int64(len(v)) < want {
		return errCut
	}
	return nil
}

// uniteHLL unites the sketch so far with another. The order of the two shows in how later values are counted.
func uniteHLL(all, one hll.HllSketch) (hll.HllSketch, error) {
	// The library refuses registers of unequal numbers, or goes wrong with them.
	var err error
	if k := one.GetLgConfigK(); all.GetCurMode() == hllHasArray && all.GetLgConfigK() > k {
		all, err = foldHLL(all, k)
	} else if k := all.GetLgConfigK(); all.GetCurMode() == hllHasArray && one.GetCurMode() == hllHasArray && one.GetLgConfigK() > k {
		one, err = foldHLL(one, k)
	}
	if err != nil {
		return nil, err
	}
	u, err := hll.NewUnion(one.GetLgConfigK())
	if err == nil {
		err = u.UpdateSketch(one)
	}
	if err == nil {
		err = u.UpdateSketch(all)
	}
	if err != nil {
		return nil, err
	}
	return u.GetResult(hll.TgtHllTypeHll4)
}

// foldHLL gives a sketch of registers with fewer of them, 2^lgK.
func foldHLL(s hll.HllSketch, lgK int) (hll.HllSketch, error) {
	s, err := s.CopyAs(hll.TgtHllTypeHll8)
	if err != nil {
		return nil, err
	}
	from, err := s.ToUpdatableSlice()
	if err != nil {
		return nil, err
	}
	to := append([]byte(nil), from[:hllRegisters+1<<lgK]...)
	to[hllLgK] = byte(lgK)
	registers := to[hllRegisters:]
	clear(registers)
	for i, v := range from[hllRegisters:] {
		at := &registers[i&(1<<lgK-1)]
		*at = max(*at, v)
	}
	var sums [2]float64
	zeros := uint32(0)
	for _, v := range registers {
		sums[v>>5&1] += math.Ldexp(1, -int(v))
		if v == 0 {
			zeros++
		}
	}
	binary.LittleEndian.PutUint64(to[hllKxQ0:], math.Float64bits(sums[0]))
	binary.LittleEndian.PutUint64(to[hllKxQ1:], math.Float64bits(sums[1]))
	binary.LittleEndian.PutUint32(to[hllZeros:], zeros)
	return hll.NewHllSketchFromSlice(to, true)
}
