package parquet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/predicate"
)

// prune narrows the rows of a row group to those that can match, by the statistics of the row group and
// then by those of its pages.
func (r *reader) prune(ctx context.Context, g *rowGroup) error {
	f := r.filter
	index := func(name string) int {
		return slices.IndexFunc(f.nodesNamed(), func(n string) bool { return n == name })
	}
	may := predicate.MayMatch(f.pred, func(name string) (predicate.Stats, bool) {
		i := index(name)
		if i < 0 {
			return predicate.Stats{}, false
		}
		var s statistics
		if n := f.nodes[i]; n != nil {
			s = g.columns[n.leaf].stats
		}
		return f.stats(i, &s, g.numRows), true
	})
	if !may {
		r.ranges = nil
		return nil
	}
	pages, err := r.pageStats(ctx, g)
	if err != nil || pages == nil {
		return err
	}
	r.ranges = f.spans(pages, g.numRows)
	return nil
}

func (f *filter) nodesNamed() []string {
	out := make([]string, len(f.fields))
	for i, fd := range f.fields {
		out[i] = fd.Name
	}
	return out
}

// pagesOf are the pages of one column, with statistics.
type pagesOf struct {
	first []int64 // first row of each, and the number of rows at the end
	stats []predicate.Stats
}

// pageStats reads the page index of the filter's columns; nil if there is nothing to win.
func (r *reader) pageStats(ctx context.Context, g *rowGroup) ([]pagesOf, error) {
	f := r.filter
	out := make([]pagesOf, len(f.fields))
	found := false
	for i, n := range f.nodes {
		if n == nil {
			continue
		}
		c := &g.columns[n.leaf]
		if c.colIndexLen <= 0 || c.offLen <= 0 {
			continue
		}
		x, locs, err := r.readIndex(ctx, c, g.numRows)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", n.name, err)
		}
		if x == nil || len(locs) < 2 {
			continue
		}
		found = true
		p := &out[i]
		for k, l := range locs {
			end := g.numRows
			if k+1 < len(locs) {
				end = locs[k+1].firstRow
			}
			rows := end - l.firstRow
			s := statistics{}
			if x.nullPages[k] {
				s.nulls, s.hasNulls = rows, true
			} else {
				s.min, s.max, s.hasMin, s.hasMax = x.min[k], x.max[k], true, true
				if len(x.nulls) == len(locs) {
					s.nulls, s.hasNulls = x.nulls[k], true
				}
			}
			p.first = append(p.first, l.firstRow)
			p.stats = append(p.stats, f.stats(i, &s, rows))
		}
		p.first = append(p.first, g.numRows)
	}
	if !found {
		return nil, nil
	}
	return out, nil
}

var errIndexShape = errors.New("the page index contradicts itself")

// readIndex reads the index of a column chunk; a nil columnIndex means that there is none of use.
func (r *reader) readIndex(ctx context.Context, c *columnChunk, rows int64) (*columnIndex, []pageLocation, error) {
	locs, err := r.readOffsets(ctx, c, rows)
	if err != nil || locs == nil {
		return nil, nil, err
	}
	b, err := r.readPart(ctx, c.colIndexOff, int64(c.colIndexLen))
	if err != nil {
		return nil, nil, fmt.Errorf("column index: %w", err)
	}
	x, err := parseColumnIndex(b)
	if err != nil {
		return nil, nil, fmt.Errorf("column index at offset %d: %w", c.colIndexOff, err)
	}
	if n := len(locs); len(x.nullPages) != n || len(x.min) != n || len(x.max) != n {
		return nil, nil, fmt.Errorf("column index at offset %d: %w", c.colIndexOff, errIndexShape)
	}
	return x, locs, nil
}

func (r *reader) readOffsets(ctx context.Context, c *columnChunk, rows int64) ([]pageLocation, error) {
	b, err := r.readPart(ctx, c.offOff, int64(c.offLen))
	if err != nil {
		return nil, fmt.Errorf("offset index: %w", err)
	}
	locs, err := parseOffsetIndex(b)
	if err != nil {
		return nil, fmt.Errorf("offset index at offset %d: %w", c.offOff, err)
	}
	last := int64(-1)
	for i, l := range locs {
		if l.firstRow <= last || l.firstRow >= rows || i == 0 && l.firstRow != 0 {
			return nil, fmt.Errorf("offset index at offset %d: %w", c.offOff, errIndexShape)
		}
		last = l.firstRow
	}
	return locs, nil
}

func (r *reader) readPart(ctx context.Context, off, n int64) ([]byte, error) {
	if off < 4 || n <= 0 || off > r.file.Size()-n {
		return nil, fmt.Errorf("%d bytes at offset %d lie outside of the file", n, off)
	}
	if i := off - r.meta.tailAt; i >= 0 && i+n <= int64(len(r.meta.tail)) {
		return r.meta.tail[i : i+n], nil
	}
	b, err := r.file.ReadRanges(ctx, []fileio.Range{{Offset: off, Length: n}})
	if err != nil {
		return nil, err
	}
	return b[0], nil
}

// locate reads where the pages of a column are, to go to the rows wanted without reading the pages before.
func (r *reader) locate(ctx context.Context, l *leafReader, c *columnChunk) error {
	if c.offLen <= 0 {
		return nil
	}
	locs, err := r.readOffsets(ctx, c, l.rows)
	if err != nil {
		return l.fail(err)
	}
	l.index = locs
	return nil
}

// spans are the rows that can match by the statistics of pages. The pages of columns need not begin at
// the same rows: each stretch between two beginnings is looked at on its own.
func (f *filter) spans(pages []pagesOf, rows int64) []rowSpan {
	var cuts []int64
	for i := range pages {
		cuts = append(cuts, pages[i].first...)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	at := make([]int, len(pages))
	var out []rowSpan
	for k := 0; k+1 < len(cuts); k++ {
		from, to := cuts[k], cuts[k+1]
		for i := range pages {
			for at[i]+1 < len(pages[i].stats) && pages[i].first[at[i]+1] <= from {
				at[i]++
			}
		}
		may := predicate.MayMatch(f.pred, func(name string) (predicate.Stats, bool) {
			for i, fd := range f.fields {
				if fd.Name != name {
					continue
				}
				if f.nodes[i] == nil {
					return predicate.Stats{NullCount: to - from, Rows: to - from}, true
				}
				if len(pages[i].stats) == 0 {
					return predicate.Stats{}, false
				}
				return pages[i].stats[at[i]], true
			}
			return predicate.Stats{}, false
		})
		if !may {
			continue
		}
		if n := len(out); n > 0 && out[n-1].to == from {
			out[n-1].to = to
			continue
		}
		out = append(out, rowSpan{from, to})
	}
	return out
}
