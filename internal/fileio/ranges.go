package fileio

import (
	"cmp"
	"fmt"
	"slices"
)

// Span is a stretch of a file that is read with one request, and the ranges that lie in it.
type Span struct {
	Range
	Members []int // indexes into the ranges given to Coalesce
}

// Coalesce joins ranges into spans: two whose gap is at most maxGap bytes are read together, as long
// as the span stays within maxSpan bytes (a single longer range is one span; 0 means no limit).
// Ranges may come in any order and may overlap. A range that is not within 0..size is an error.
func Coalesce(ranges []Range, size, maxGap, maxSpan int64) ([]Span, error) {
	for i, r := range ranges {
		if r.Offset < 0 || r.Length < 0 || r.Offset > size || r.Length > size-r.Offset {
			return nil, fmt.Errorf("range %d (offset %d, length %d) is outside of the file of %d bytes", i, r.Offset, r.Length, size)
		}
	}
	order := make([]int, len(ranges))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranges[a].Offset, ranges[b].Offset) })
	var spans []Span
	for _, i := range order {
		r := ranges[i]
		if n := len(spans) - 1; n >= 0 {
			s := &spans[n]
			end := max(s.Offset+s.Length, r.Offset+r.Length)
			if r.Offset-(s.Offset+s.Length) <= maxGap && (maxSpan <= 0 || end-s.Offset <= maxSpan) {
				s.Length = end - s.Offset
				s.Members = append(s.Members, i)
				continue
			}
		}
		spans = append(spans, Span{Range: r, Members: []int{i}})
	}
	return spans, nil
}

// Cut hands each member of the span its part of data, the bytes of the span.
func (s Span) Cut(data []byte, ranges []Range, out [][]byte) {
	for _, i := range s.Members {
		from := ranges[i].Offset - s.Offset
		to := from + ranges[i].Length
		out[i] = data[from:to:to]
	}
}
