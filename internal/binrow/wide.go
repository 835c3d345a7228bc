package binrow

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"
)

// Wide appends a hash of 128 bits of each row to out, high bits first. With a seed that nobody knows, different rows have
// different ones for all that happens.
func (h *Hasher) Wide(rec arrow.RecordBatch, seed uint64, out [][2]uint64) [][2]uint64 {
	n := int(rec.NumRows())
	out = slices.Grow(out, n)
	h.cur = h.cur[:0]
	for i, c := range h.cols {
		h.cur = append(h.cur, bind(rec.Column(c), &h.ts[i]))
	}
	for row := range n {
		w := h.row()
		for i := range h.cur {
			h.cur[i].put(&w, i, row)
		}
		h.buf = w.buf
		x := xxh3.Hash128Seed(w.buf, seed)
		out = append(out, [2]uint64{x.Hi, x.Lo})
	}
	return out
}
