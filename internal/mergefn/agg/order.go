package agg

import (
	"cmp"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/types"
)

// The reference keeps sets of elements in hash tables of Java, and writes them in the order of those. It says nothing, but rows
// that are the same are to look the same whoever has written them. The order is that of the places in the table (the hash with its
// upper half added to the lower one, modulo the size of the table, a power of two that leaves a quarter free), in a place that of arrival.

// hashed gives the hash that the reference has of an element, false if it has none that says anything.
type hashed func(r batch.Ref) (int32, bool)

// spread mixes a hash as the table does before it takes the lower bits.
func spread(h int32) uint32 { return uint32(h) ^ uint32(h)>>16 }

// places is the size of a table of n elements.
func places(n int) uint32 {
	size := 16
	for n > size/4*3 {
		size *= 2
	}
	return uint32(size)
}

// arrange gives the order of entries in a table of that size, as indexes of entries; those that were taken away are left out. It is the
// order of arrival if the hash of one is not known, or if there is no table (size 0).
func arrange(entries []batch.Ref, hash hashed, size uint32) []int32 {
	order := make([]int32, 0, len(entries))
	place := make([]uint32, len(entries))
	known := hash != nil && size > 0 && len(entries) > 1
	for i, r := range entries {
		if r == batch.NullRef {
			continue
		}
		order = append(order, int32(i))
		if !known {
			continue
		}
		h, ok := hash(r)
		known = ok
		place[i] = spread(h) & (size - 1)
	}
	if known {
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(place[a], place[b]) })
	}
	return order
}

// hashOfElements is the hash of values of an atomic type as Java's objects have it.
func hashOfElements(t types.Type, arrs []arrow.Array) hashed {
	switch {
	case t.IsNested(), t.Kind == types.Binary, t.Kind == types.Varbinary, t.Kind == types.Variant:
		return nil // compared one by one, without a table
	}
	return func(r batch.Ref) (int32, bool) {
		d := types.DatumAt(arrs[r.Src], int(r.Row), t)
		if d == nil {
			return 0, arrs[r.Src].IsNull(int(r.Row))
		}
		return javaHash(t, d)
	}
}

// hashOfKeys is the hash of a BinaryRow of some columns.
func hashOfKeys(ts []types.Type, cols [][]arrow.Array) hashed {
	vals := make([]types.Datum, len(ts))
	if slices.ContainsFunc(ts, types.Type.IsNested) {
		return nil
	}
	return func(r batch.Ref) (int32, bool) {
		for i, c := range cols {
			vals[i] = types.DatumAt(c[r.Src], int(r.Row), ts[i])
		}
		b, err := binrow.Encode(ts, vals)
		if err != nil {
			return 0, false
		}
		return binrow.Hash(b), true
	}
}

func javaHash(t types.Type, d types.Datum) (int32, bool) {
	switch v := d.(type) {
	case bool:
		if v {
			return 1231, true
		}
		return 1237, true
	case int64:
		if t.Kind == types.BigInt {
			return int32(v ^ int64(uint64(v)>>32)), true
		}
		return int32(v), true
	case float32:
		if v != v {
			return 0x7fc00000, true
		}
		return int32(math.Float32bits(v)), true
	case float64:
		b := math.Float64bits(v)
		if v != v {
			b = 0x7ff8000000000000
		}
		return int32(b ^ b>>32), true
	case string:
		return binrow.Hash([]byte(v)), true
	case types.Instant:
		return 31*(int32(v.Millis)^int32(v.Millis>>32)) + v.Nanos, true
	case decimal128.Num:
		// BigDecimal: the words of the absolute value as digits of a number of base 31, with the sign, and the scale.
		neg := v.Sign() < 0
		if neg {
			v = v.Negate()
		}
		h := int32(0)
		words := []uint32{uint32(v.HighBits() >> 32), uint32(v.HighBits()), uint32(v.LowBits() >> 32), uint32(v.LowBits())}
		for len(words) > 1 && words[0] == 0 {
			words = words[1:]
		}
		for _, w := range words {
			h = 31*h + int32(w)
		}
		if neg {
			h = -h
		}
		return 31*h + int32(t.Scale), true
	}
	return 0, false
}
