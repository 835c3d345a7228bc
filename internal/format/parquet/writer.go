package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/types"
)

const (
	defaultBlockSize = 128 << 20
	createdBy        = "tarn"
)

// writer writes one file. See format.Writer.
type writer struct {
	out    io.Writer
	off    int64
	fields []types.Field
	modes  []format.StatsMode
	root   *node
	schema *arrow.Schema
	given  *arrow.Schema // the last schema of a batch that was looked at
	leaves []*leafWriter
	cols   []*shredder
	codec  codec
	block  int64

	// twin is, for a column whose arrays have always been those of an earlier column, the number of
	// that column, else -1: its pages are the same bytes and are made once.
	twin    []int
	started bool
	rows    int64 // of the row group at hand
	meta    fileMeta
	chunks  []writtenChunk
	err     error
}

// writtenChunk is a column chunk in the file, whose indexes follow after all row groups.
type writtenChunk struct {
	leaf  *leafWriter
	start int64 // of the first data page
	pages []pageInfo
	c     *columnChunk
}

// NewWriter starts a file.
func (Format) NewWriter(out io.Writer, fields []types.Field, o format.WriteOptions) (format.Writer, error) {
	root, leaves, err := buildSchema(fields)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	s, err := settingsOf(o)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	w := &writer{out: out, fields: fields, schema: types.WideArrowSchema(fields), modes: o.Stats, root: root, codec: s.codec, block: s.block}
	p := &packer{codec: s.codec, level: s.level}
	for _, n := range leaves {
		l := s.limits
		if on, ok := s.dicts[strings.Join(w.pathOf(n), ".")]; ok {
			l.dict = on
		}
		w.leaves = append(w.leaves, newLeafWriter(n, boundsOf(n), l, p))
	}
	rest := w.leaves
	for _, n := range root.children {
		k := countLeaves(n)
		w.cols = append(w.cols, &shredder{n: n, leaves: rest[:k]})
		rest = rest[k:]
		w.twin = append(w.twin, -1)
	}
	return w, w.write([]byte("PAR1"))
}

func countLeaves(n *node) int {
	if n.isLeaf() {
		return 1
	}
	k := 0
	for _, c := range n.children {
		k += countLeaves(c)
	}
	return k
}

func boundsOf(n *node) boundKind {
	switch n.phys {
	case physBool, physInt32, physInt64:
		return boundInt
	case physFloat, physDouble:
		return boundFloat
	case physBytes:
		return boundBytes
	case physFixed:
		return boundDecimal
	}
	return boundNone
}

func (w *writer) write(b []byte) error {
	n, err := w.out.Write(b)
	w.off += int64(n)
	return err
}

// Write adds rows.
func (w *writer) Write(rec arrow.RecordBatch) error {
	if w.err != nil {
		return w.err
	}
	if err := w.checkSchema(rec.Schema()); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	if rec.NumRows() == 0 {
		return nil
	}
	if err := w.add(rec); err != nil {
		w.err = fmt.Errorf("parquet: %w", err)
		return w.err
	}
	return nil
}

// checkSchema refuses batches whose columns are of other types.
func (w *writer) checkSchema(sc *arrow.Schema) error {
	if sc == w.given {
		return nil
	}
	if err := format.CheckBatch(w.fields, w.schema, sc); err != nil {
		return err
	}
	w.given = sc
	return nil
}

func (w *writer) add(rec arrow.RecordBatch) error {
	if err := w.findTwins(rec); err != nil {
		return err
	}
	n := int(rec.NumRows())
	for i, s := range w.cols {
		if w.twin[i] >= 0 {
			continue
		}
		var err error
		if s.n.isLeaf() {
			err = s.flat(rec.Column(i), 0, n)
		} else {
			err = s.nested(rec.Column(i), 0, n)
		}
		if err != nil {
			return err
		}
	}
	w.rows += int64(n)
	if w.Buffered() >= w.block {
		return w.endGroup()
	}
	return nil
}

// sameArray reports whether two arrays are the same memory, slices of it included.
func sameArray(a, b arrow.Array) bool {
	if a == b {
		return true
	}
	x, y := a.Data(), b.Data()
	if x.Offset() != y.Offset() || x.Len() != y.Len() || len(x.Children()) > 0 || !arrow.TypeEqual(x.DataType(), y.DataType()) {
		return false
	}
	return slices.EqualFunc(x.Buffers(), y.Buffers(), func(p, q *memory.Buffer) bool {
		return p == q || p != nil && q != nil && p.Len() > 0 && p.Len() == q.Len() && &p.Bytes()[0] == &q.Bytes()[0]
	})
}

// findTwins looks for columns that are the same array as an earlier one of the same shape. If one no
// longer is, the row group ends and the column goes its own way.
func (w *writer) findTwins(rec arrow.RecordBatch) error {
	if w.started {
		for i, t := range w.twin {
			if t < 0 || sameArray(rec.Column(i), rec.Column(t)) {
				continue
			}
			if err := w.endGroup(); err != nil {
				return err
			}
			w.twin[i] = -1
		}
		return nil
	}
	w.started = true
	for i, s := range w.cols {
		for k := range i {
			o := w.cols[k]
			if w.twin[k] < 0 && sameArray(rec.Column(i), rec.Column(k)) && s.n.isLeaf() && o.n.isLeaf() && s.n.rep == o.n.rep &&
				s.n.phys == o.n.phys && s.n.typeLen == o.n.typeLen {
				w.twin[i] = k
				break
			}
		}
	}
	return nil
}

// Buffered is the memory held for the row group at hand.
func (w *writer) Buffered() int64 {
	var n int64
	for _, l := range w.leaves {
		n += l.packedSize + int64(len(l.body)+4*len(l.idx)) + l.dictLen
	}
	return n
}

// Size is the size of the file so far, about.
func (w *writer) Size() int64 { return w.off + w.Buffered() }

// endGroup writes the row group at hand.
func (w *writer) endGroup() error {
	if w.rows == 0 {
		return nil
	}
	g := rowGroup{numRows: w.rows, fileOff: w.off, ordinal: int16(len(w.meta.rowGroups))}
	for i, s := range w.cols {
		if t := w.twin[i]; t >= 0 {
			if err := w.chunk(&g, s.leaves[0].n, w.cols[t].leaves[0]); err != nil {
				return err
			}
			continue
		}
		for _, l := range s.leaves {
			if err := l.endPage(); err != nil {
				return err
			}
			if err := w.chunk(&g, l.n, l); err != nil {
				return err
			}
		}
	}
	for i, s := range w.cols {
		if w.twin[i] >= 0 {
			// The statistics of the whole file are those of the twin: keep them for the manifest.
			l, o := s.leaves[0], w.cols[w.twin[i]].leaves[0]
			l.file.merge(&o.chunk, o.kind)
			l.fileNulls += o.chunkNulls
		}
	}
	for i, s := range w.cols {
		if w.twin[i] >= 0 {
			continue
		}
		for _, l := range s.leaves {
			l.file.merge(&l.chunk, l.kind)
			l.startChunk()
		}
	}
	w.meta.numRows += w.rows
	w.rows = 0
	w.meta.rowGroups = append(w.meta.rowGroups, g)
	return nil
}

// chunk writes the pages of a leaf as the column chunk of a node.
func (w *writer) chunk(g *rowGroup, n *node, l *leafWriter) error {
	c := columnChunk{
		phys: n.phys, codec: int32(w.codec), path: w.pathOf(n), numValues: l.values, uncompressed: l.raw,
		encodings: []encoding{encRLE},
	}
	dict, raw, err := l.dictPage()
	if err != nil {
		return err
	}
	start := w.off
	if dict != nil {
		c.dictOff = w.off
		c.uncompressed += raw
		c.encodings = append(c.encodings, encPlainDict)
		c.encStats = append(c.encStats, encodingStat{pageDict, encPlainDict, 1}, encodingStat{pageData, encPlainDict, int32(l.dictPages)})
		if err := w.write(dict); err != nil {
			return err
		}
	}
	if l.plainPages > 0 || dict == nil {
		c.encodings = append(c.encodings, encPlain)
		c.encStats = append(c.encStats, encodingStat{pageData, encPlain, int32(l.plainPages)})
	}
	c.dataOff = w.off
	for _, page := range l.packed {
		if err := w.write(page); err != nil {
			return err
		}
	}
	c.compressed = w.off - start
	c.stats = statistics{nulls: l.chunkNulls, hasNulls: true}
	if lo, hi, ok := l.chunk.plain(l.kind, n.phys); ok && len(lo) <= 4096 && len(hi) <= 4096 {
		c.stats.min, c.stats.max, c.stats.hasMin, c.stats.hasMax = lo, hi, true, true
	}
	g.bytes += c.uncompressed
	g.compress += c.compressed
	g.columns = append(g.columns, c)
	w.chunks = append(w.chunks, writtenChunk{leaf: l, start: c.dataOff, pages: slices.Clone(l.pages)})
	return nil
}

// pathOf names a leaf from the top.
func (w *writer) pathOf(leaf *node) []string {
	var find func(n *node, path []string) []string
	find = func(n *node, path []string) []string {
		for _, c := range n.children {
			p := append(slices.Clone(path), c.name)
			if c == leaf {
				return p
			}
			if out := find(c, p); out != nil {
				return out
			}
		}
		return nil
	}
	return find(w.root, nil)
}

// Close ends the file and gives the statistics of its columns.
func (w *writer) Close() ([]format.ColumnStats, error) {
	if w.err != nil {
		return nil, w.err
	}
	if err := w.finish(); err != nil {
		w.err = fmt.Errorf("parquet: %w", err)
		return nil, w.err
	}
	w.err = errors.New("parquet: the file is complete")
	out := make([]format.ColumnStats, len(w.cols))
	for i, s := range w.cols {
		if !s.n.isLeaf() {
			out[i] = format.ColumnStats{NullCount: -1}
			continue
		}
		m := format.StatsMode{}
		if w.modes != nil {
			m = w.modes[i]
		}
		l := s.leaves[0]
		out[i] = l.file.columnStats(w.fields[i].Type, m, l.fileNulls)
	}
	return out, nil
}
