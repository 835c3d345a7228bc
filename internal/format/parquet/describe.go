package parquet

import (
	"context"
	"fmt"

	"github.com/tarnlake/tarn/internal/fileio"
)

// Description tells what a file is made of.
type Description struct {
	Rows      int64          `json:"rows"`
	CreatedBy string         `json:"createdBy,omitempty"`
	Columns   []ColumnInfo   `json:"columns"`
	RowGroups []RowGroupInfo `json:"rowGroups"`
}

// ColumnInfo is a node of the schema, with its depth below the root.
type ColumnInfo struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	ID    int    `json:"id,omitempty"`
	Depth int    `json:"depth"`
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
	Column     string   `json:"column"`
	Codec      string   `json:"codec"`
	Encodings  []string `json:"encodings"`
	Values     int64    `json:"values"`
	Nulls      int64    `json:"nulls"`
	Compressed int64    `json:"compressedBytes"`
	Bytes      int64    `json:"bytes"`
}

// Describe reads the footer of a file.
func Describe(ctx context.Context, f fileio.File) (d *Description, err error) {
	defer guard(&err)
	meta, err := readFooter(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	root, _, err := parseSchema(meta.schema)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	d = &Description{Rows: meta.numRows, CreatedBy: meta.createdBy, Columns: []ColumnInfo{}, RowGroups: []RowGroupInfo{}}
	var walk func(n *node, depth int)
	walk = func(n *node, depth int) {
		for _, c := range n.children {
			d.Columns = append(d.Columns, ColumnInfo{c.name, c.describe(), c.id, depth})
			walk(c, depth+1)
		}
	}
	walk(root, 0)
	for i := range meta.rowGroups {
		g := &meta.rowGroups[i]
		x := RowGroupInfo{Rows: g.numRows, Compressed: g.compress, Bytes: g.bytes}
		for k := range g.columns {
			c := &g.columns[k]
			ch := ChunkInfo{Column: fmt.Sprint(c.path), Codec: codec(c.codec).String(), Values: c.numValues, Nulls: c.stats.nulls, Compressed: c.compressed, Bytes: c.uncompressed}
			for _, e := range c.encodings {
				ch.Encodings = append(ch.Encodings, e.String())
			}
			x.Chunks = append(x.Chunks, ch)
		}
		d.RowGroups = append(d.RowGroups, x)
	}
	return d, nil
}
