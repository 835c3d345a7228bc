package parquet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

// Description tells what a file is made of.
type Description struct {
	Rows      int64          `json:"rows"`
	Bytes     int64          `json:"bytes"` // of the file
	CreatedBy string         `json:"createdBy,omitempty"`
	Columns   []ColumnInfo   `json:"columns"`
	RowGroups []RowGroupInfo `json:"rowGroups"`
}

// ColumnInfo is a node of the schema, with its depth below the root.
type ColumnInfo struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	ID         *int   `json:"id,omitempty"`
	Repetition string `json:"repetition"`
	Depth      int    `json:"depth"`
}

// RowGroupInfo is a row group.
type RowGroupInfo struct {
	Rows       int64       `json:"rows"`
	Compressed int64       `json:"compressedBytes"`
	Bytes      int64       `json:"bytes"`
	Chunks     []ChunkInfo `json:"chunks"`
}

// ChunkInfo is a column in a row group.
type ChunkInfo struct {
	Column     string     `json:"column"`
	Type       string     `json:"type"`
	Codec      string     `json:"codec"`
	Encodings  []string   `json:"encodings"`
	Values     int64      `json:"values"` // NULLs included
	Compressed int64      `json:"compressedBytes"`
	Bytes      int64      `json:"bytes"`
	Statistics StatsInfo  `json:"statistics"`
	Pages      []PageInfo `json:"pages"`
}

// StatsInfo are the statistics of a chunk or page: what it does not say is left out. Minimum and maximum are values as
// rows in JSON have them, and hexadecimal where their meaning is not known.
type StatsInfo struct {
	Nulls   *int64          `json:"nulls,omitempty"`
	Min     json.RawMessage `json:"min,omitempty"`
	Max     json.RawMessage `json:"max,omitempty"`
	Inexact bool            `json:"inexact,omitempty"` // a bound is cut
}

// PageInfo is a page of a chunk.
type PageInfo struct {
	Kind       string     `json:"kind"`
	Offset     int64      `json:"offset"`
	Compressed int64      `json:"compressedBytes"`
	Bytes      int64      `json:"bytes"`
	Values     int64      `json:"values"`
	Encoding   string     `json:"encoding"`
	Statistics *StatsInfo `json:"statistics,omitempty"` // of the page index
}

// Describe reads the footer and the headers of all pages. What could be read before an error is given beside it.
func Describe(ctx context.Context, f fileio.File) (d *Description, err error) {
	defer guard(&err)
	meta, err := readFooter(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	root, leaves, err := parseSchema(meta.schema)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	d = &Description{Rows: meta.numRows, Bytes: f.Size(), CreatedBy: meta.createdBy, Columns: []ColumnInfo{}, RowGroups: []RowGroupInfo{}}
	var walk func(n *node, depth int)
	walk = func(n *node, depth int) {
		for _, c := range n.children {
			x := ColumnInfo{Name: c.name, Type: c.describe(), Depth: depth, Repetition: [...]string{"REQUIRED", "OPTIONAL", "REPEATED"}[min(c.rep, repeated)]}
			if c.hasID {
				x.ID = &c.id
			}
			d.Columns = append(d.Columns, x)
			walk(c, depth+1)
		}
	}
	walk(root, 0)
	if err := checkGroups(meta, len(leaves)); err != nil {
		return d, fmt.Errorf("parquet: %w", err)
	}
	r := &reader{file: f, meta: meta}
	for i := range meta.rowGroups {
		g := &meta.rowGroups[i]
		x := RowGroupInfo{Rows: g.numRows, Bytes: g.bytes, Chunks: []ChunkInfo{}}
		for k := range g.columns {
			ch, e := r.describeChunk(ctx, &g.columns[k], leaves[k], g.numRows)
			if e != nil && err == nil {
				err = fmt.Errorf("parquet: row group %d: column %s: %w", i, ch.Column, e)
			}
			x.Compressed += ch.Compressed
			x.Chunks = append(x.Chunks, ch)
		}
		d.RowGroups = append(d.RowGroups, x)
	}
	return d, err
}

func (r *reader) describeChunk(ctx context.Context, c *columnChunk, leaf *node, rows int64) (ChunkInfo, error) {
	x := ChunkInfo{
		Column: strings.Join(c.path, "."), Type: leaf.describe(), Codec: codec(c.codec).String(), Encodings: []string{}, Values: c.numValues,
		Compressed: c.compressed, Bytes: c.uncompressed, Statistics: leaf.statsInfo(&c.stats), Pages: []PageInfo{},
	}
	for _, e := range c.encodings {
		x.Encodings = append(x.Encodings, e.String())
	}
	p := &pages{win: window{ctx: ctx, file: r.file}}
	if err := p.open(c, leaf); err != nil {
		return x, err
	}
	p.win.size = 1 << 12 // headers only: what lies between them is not read
	var index *columnIndex
	var locs []pageLocation
	if c.colIndexLen > 0 && c.offLen > 0 {
		var err error
		if index, locs, err = r.readIndex(ctx, c, rows); err != nil {
			return x, err
		}
	}
	data := 0
	for p.pos < p.win.end {
		if err := ctx.Err(); err != nil {
			return x, err
		}
		h, n, err := p.header()
		if err != nil {
			return x, fmt.Errorf("offset %d: %w", p.pos, err)
		}
		pg := PageInfo{
			Kind: h.kindName(), Offset: p.pos, Compressed: int64(h.compressed) + int64(n), Bytes: int64(h.uncompressed) + int64(n),
			Values: int64(h.numValues), Encoding: h.enc.String(),
		}
		if h.kind == pageData || h.kind == pageDataV2 {
			if data < len(locs) && locs[data].off == p.pos {
				pg.Statistics = leaf.indexInfo(index, data)
			}
			data++
		}
		x.Pages = append(x.Pages, pg)
		p.pos += int64(n) + int64(h.compressed)
	}
	return x, nil
}

func (h *pageHeader) kindName() string {
	switch h.kind {
	case pageData:
		return "DATA_PAGE"
	case pageIndex:
		return "INDEX_PAGE"
	case pageDict:
		return "DICTIONARY_PAGE"
	case pageDataV2:
		return "DATA_PAGE_V2"
	}
	return fmt.Sprintf("page %d", h.kind)
}

// indexInfo is what the page index says about a page.
func (n *node) indexInfo(x *columnIndex, page int) *StatsInfo {
	s := statistics{}
	if !x.nullPages[page] {
		s.min, s.max, s.hasMin, s.hasMax = x.min[page], x.max[page], true, true
	}
	if page < len(x.nulls) {
		s.nulls, s.hasNulls = x.nulls[page], true
	}
	i := n.statsInfo(&s)
	return &i
}

func (n *node) statsInfo(s *statistics) StatsInfo {
	x := StatsInfo{Inexact: s.inexactMin || s.inexactMax}
	if s.hasNulls {
		x.Nulls = &s.nulls
	}
	if s.hasMin {
		x.Min = n.boundJSON(s.min)
	}
	if s.hasMax {
		x.Max = n.boundJSON(s.max)
	}
	return x
}

// boundJSON writes a bound as a value of the leaf's type.
func (n *node) boundJSON(b []byte) []byte {
	if t, ok := n.valueType(); ok {
		f := &filter{fields: []types.Field{{Name: n.name, Type: t}}, nodes: []*node{n}}
		f.schema = types.WideArrowSchema(f.fields)
		if v, ok := f.datum(0, b); ok {
			return jsonrow.AppendDatum(nil, t, v)
		}
	}
	return jsonrow.AppendDatum(nil, types.VarbinaryType(types.MaxLength), b)
}

// valueType is the type of a leaf's values, without a table that says it.
func (n *node) valueType() (types.Type, bool) {
	switch l := n.logical; l.kind {
	case logDecimal:
		return types.DecimalType(l.precision, l.scale), l.precision > 0 && l.precision <= 38 && l.scale >= 0 && l.scale <= l.precision
	case logDate:
		return types.Type{Kind: types.Date}, n.phys == physInt32
	case logTime:
		return types.TimeType(3), l.unit == unitMillis && n.phys == physInt32
	case logTimestamp:
		t := types.TimestampType(3 * int(l.unit))
		if l.utc {
			t.Kind = types.TimestampLTZ
		}
		return t, n.phys == physInt64 && l.unit >= unitMillis && l.unit <= unitNanos
	case logString, logEnum, logJSON:
		return types.VarcharType(types.MaxLength), n.phys == physBytes
	case logInt:
		if l.unsigned {
			return types.Type{}, false
		}
	}
	switch n.phys {
	case physBool:
		return types.Type{Kind: types.Boolean}, true
	case physInt32:
		return types.Type{Kind: types.Int}, true
	case physInt64:
		return types.Type{Kind: types.BigInt}, true
	case physFloat:
		return types.Type{Kind: types.Float}, true
	case physDouble:
		return types.Type{Kind: types.Double}, true
	}
	return types.Type{}, false
}
