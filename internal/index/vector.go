// Package index reads and writes index files. A deletion vector says which rows of a data file are deleted; an index
// file holds those of several data files. Specification: concepts/spec/tableindex.
package index

import (
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/tarnlake/tarn/internal/format"
)

// Vector is a set of rows of a data file, by their number in the file from 0: those that are deleted. It is immutable;
// nil is the empty set.
type Vector struct {
	parts []part // by high, none empty
	count int64
}

// part holds the rows whose numbers have the same upper 32 bits.
type part struct {
	high uint32
	bits *roaring.Bitmap
}

var _ format.Rows = (*Vector)(nil)

// Count is the number of rows in the set.
func (v *Vector) Count() int64 {
	if v == nil {
		return 0
	}
	return v.count
}

// Has reports whether a row is in the set.
func (v *Vector) Has(row int64) bool {
	if v == nil || row < 0 {
		return false
	}
	for i := range v.parts {
		if p := &v.parts[i]; p.high == uint32(row>>32) {
			return p.bits.Contains(uint32(row))
		}
	}
	return false
}

// End is one more than the largest row of the set, 0 if it is empty.
func (v *Vector) End() int64 {
	if v.Count() == 0 {
		return 0
	}
	p := &v.parts[len(v.parts)-1]
	return int64(p.high)<<32 + int64(p.bits.Maximum()) + 1
}

// Runs appends the runs of rows in [from, to) that are in the set.
func (v *Vector) Runs(dst []format.Run, from, to int64) []format.Run {
	if v == nil {
		return dst
	}
	first := len(dst)
	for i := range v.parts {
		p := &v.parts[i]
		base := int64(p.high) << 32
		if base >= to || base+math.MaxUint32 < from {
			continue
		}
		var it roaring.IntIterator
		it.Initialize(p.bits)
		it.AdvanceIfNeeded(uint32(max(from-base, 0)))
		for it.HasNext() {
			row := base + int64(it.Next())
			if row >= to {
				break
			}
			if k := len(dst); k > first && dst[k-1].To == row {
				dst[k-1].To++
				continue
			}
			dst = append(dst, format.Run{From: row, To: row + 1})
		}
	}
	return dst
}

// Union is the set of the rows of both.
func (v *Vector) Union(w *Vector) *Vector {
	if w.Count() == 0 {
		return v
	}
	if v.Count() == 0 {
		return w
	}
	b := Builder{}
	for _, p := range slices.Concat(v.parts, w.parts) {
		b.part(p.high).Or(p.bits)
	}
	return b.Vector()
}

// Builder makes a Vector. The zero value is ready for use.
type Builder struct{ parts []part }

func (b *Builder) part(high uint32) *roaring.Bitmap {
	i, ok := slices.BinarySearchFunc(b.parts, high, func(p part, h uint32) int { return int(int64(p.high) - int64(h)) })
	if !ok {
		b.parts = slices.Insert(b.parts, i, part{high, roaring.New()})
	}
	return b.parts[i].bits
}

// Add adds a row, which is not negative. It reports whether it is a new one.
func (b *Builder) Add(row int64) bool { return b.part(uint32(row >> 32)).CheckedAdd(uint32(row)) }

// Union adds the rows of a Vector.
func (b *Builder) Union(v *Vector) {
	if v == nil {
		return
	}
	for i := range v.parts {
		b.part(v.parts[i].high).Or(v.parts[i].bits)
	}
}

// Count is the number of rows so far.
func (b *Builder) Count() int64 {
	var n int64
	for i := range b.parts {
		n += int64(b.parts[i].bits.GetCardinality())
	}
	return n
}

// Vector gives the set so far. The Builder may be used further.
func (b *Builder) Vector() *Vector {
	v := &Vector{}
	for _, p := range b.parts {
		if p.bits.IsEmpty() {
			continue
		}
		c := p.bits.Clone()
		c.RunOptimize() // as the reference does before it writes
		v.parts = append(v.parts, part{p.high, c})
		v.count += int64(c.GetCardinality())
	}
	return v
}
