package binrow

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/types"
)

// Hasher computes the hashes of rows of batches: of the BinaryRow of some of their columns. It is used
// by one goroutine at a time.
type Hasher struct {
	cols []int
	ts   []types.Type
	null int32 // hash of one NULL, if there is one column
	cur  []column
	buf  []byte
}

// NewHasher makes a Hasher of the columns at cols of the batches, which have the types ts, in the
// order of the bucket key. Nested types are an error.
func NewHasher(cols []int, ts []types.Type) (*Hasher, error) {
	if len(cols) != len(ts) {
		return nil, fmt.Errorf("binrow: hash: %d columns of %d types", len(cols), len(ts))
	}
	for i, t := range ts {
		if !atomic(t.Kind) {
			return nil, fmt.Errorf("binrow: hash: key column %d is a %v: only atomic types can be part of a bucket key", i, t)
		}
	}
	h := &Hasher{cols: slices.Clone(cols), ts: slices.Clone(ts)}
	if len(ts) == 1 {
		w := h.row()
		w.null(0, &h.ts[0])
		h.null = Hash(w.buf)
	}
	return h, nil
}

func atomic(k types.Kind) bool { return k >= types.Boolean && k <= types.TimestampLTZ }

// Hash appends the hash of each row to out. The columns have the Arrow types of types.WideArrowType.
func (h *Hasher) Hash(rec arrow.RecordBatch, out []int32) []int32 {
	n := int(rec.NumRows())
	out = slices.Grow(out, n)
	h.cur = h.cur[:0]
	for i, c := range h.cols {
		h.cur = append(h.cur, bind(rec.Column(c), &h.ts[i]))
	}
	if len(h.cur) == 1 {
		if out, ok := h.one(&h.cur[0], n, out); ok {
			return out
		}
	}
	for row := range n {
		w := h.row()
		for i := range h.cur {
			h.cur[i].put(&w, i, row)
		}
		h.buf = w.buf
		out = append(out, Hash(w.buf))
	}
	return out
}

// row starts a row in the reused buffer.
func (h *Hasher) row() rowWriter {
	n := fixedSize(len(h.ts))
	h.buf = slices.Grow(h.buf[:0], n)[:n]
	clear(h.buf)
	return rowWriter{buf: h.buf, bits: bitsSize(len(h.ts))}
}

// one is the way of keys of one column: nothing is written anywhere.
func (h *Hasher) one(c *column, n int, out []int32) ([]int32, bool) {
	start := len(out)
	switch {
	case n == 0:
	case c.shape == shapeI64:
		head := mix64(seed, 0)
		for _, v := range c.i64 {
			out = append(out, finish(mix64(head, uint64(v)), 16))
		}
	case c.shape == shapeI32:
		head := mix64(seed, 0)
		for _, v := range c.i32 {
			out = append(out, finish(mix64(head, uint64(uint32(v))), 16))
		}
	case c.shape == shapeString:
		buf, offs := c.str.ValueBytes(), c.str.ValueOffsets()
		for i := range n {
			out = append(out, hashString(buf[offs[i]-offs[0]:offs[i+1]-offs[0]]))
		}
	case c.shape == shapeBytes:
		for i := range n {
			out = append(out, hashString(c.bin.Value(i)))
		}
	case c.shape > lastWord:
		return out, false
	default:
		head := mix64(seed, 0)
		for i := range n {
			out = append(out, finish(mix64(head, c.word(i)), 16))
		}
	}
	if c.nulls {
		for i := range n {
			if c.arr.IsNull(i) {
				out[start+i] = h.null
			}
		}
	}
	return out, true
}
