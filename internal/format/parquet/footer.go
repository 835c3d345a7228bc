package parquet

import (
	"encoding/binary"

	"github.com/tarnlake/tarn/internal/format"
)

// finish writes the last row group, the indexes of all pages, and the footer.
func (w *writer) finish() error {
	if err := w.endGroup(); err != nil {
		return err
	}
	i := 0
	for g := range w.meta.rowGroups {
		cols := w.meta.rowGroups[g].columns
		for c := range cols {
			w.chunks[i].c = &cols[c]
			i++
		}
	}
	for i := range w.chunks {
		k := &w.chunks[i]
		b := k.columnIndex()
		if b == nil {
			continue
		}
		k.c.colIndexOff, k.c.colIndexLen = w.off, int32(len(b))
		if err := w.write(b); err != nil {
			return err
		}
	}
	for i := range w.chunks {
		k := &w.chunks[i]
		b := k.offsetIndex()
		k.c.offOff, k.c.offLen = w.off, int32(len(b))
		if err := w.write(b); err != nil {
			return err
		}
	}
	b := w.footer()
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	return w.write(append(b, "PAR1"...))
}

// maxIndexText is the most bytes of a text that the page index holds.
const maxIndexText = 64

// columnIndex has the bounds of each page; nil if those of a page cannot be told.
func (k *writtenChunk) columnIndex() []byte {
	if k.leaf.kind == boundNone {
		return nil
	}
	n := len(k.pages)
	mins, maxs := make([][]byte, n), make([][]byte, n)
	null := make([]bool, n)
	for i := range k.pages {
		p := &k.pages[i]
		if p.nulls == p.values {
			null[i], mins[i], maxs[i] = true, []byte{}, []byte{}
			continue
		}
		lo, hi, ok := p.b.plain(k.leaf.kind, k.leaf.n.phys)
		if !ok {
			return nil
		}
		if k.leaf.kind == boundBytes {
			if lo, hi, ok = k.cut(lo, hi); !ok {
				return nil
			}
		}
		mins[i], maxs[i] = lo, hi
	}
	t := &thriftWriter{}
	t.begin()
	t.list(1, tTrue, n)
	for _, x := range null {
		if x {
			t.buf = append(t.buf, tTrue)
		} else {
			t.buf = append(t.buf, tFalse)
		}
	}
	t.list(2, tBinary, n)
	for _, x := range mins {
		t.bytes(x)
	}
	t.list(3, tBinary, n)
	for _, x := range maxs {
		t.bytes(x)
	}
	t.i32(4, k.order())
	t.list(5, tI64, n)
	for i := range k.pages {
		t.zigzag(k.pages[i].nulls)
	}
	t.end()
	return t.buf
}

// cut shortens bounds of text; the upper one is raised then, which is not possible for all bytes.
func (k *writtenChunk) cut(lo, hi []byte) ([]byte, []byte, bool) {
	if len(lo) > maxIndexText {
		lo = wholeRunes(lo[:maxIndexText], lo)
	}
	if len(hi) > maxIndexText {
		up, ok := format.Raise(wholeRunes(hi[:maxIndexText], hi))
		return lo, up, ok
	}
	return lo, hi, true
}

// wholeRunes drops the part of a character at the end of a cut text.
func wholeRunes(cut, whole []byte) []byte {
	for n := len(cut); n > 0 && n > len(cut)-4; n-- {
		if n == len(whole) || whole[n]&0xC0 != 0x80 {
			return cut[:n]
		}
	}
	return cut
}

// Orders of the bounds of pages.
const (
	orderNone = 0
	orderUp   = 1
	orderDown = 2
)

// order tells whether the bounds of the pages ascend or descend.
func (k *writtenChunk) order() int32 {
	up, down := true, true
	var last *bounds
	for i := range k.pages {
		p := &k.pages[i]
		if p.nulls == p.values {
			continue
		}
		if last != nil {
			lo, hi := last.compare(&p.b, k.leaf.kind, 0), last.compare(&p.b, k.leaf.kind, 1)
			up = up && lo <= 0 && hi <= 0
			down = down && lo >= 0 && hi >= 0
		}
		last = &p.b
	}
	switch {
	case up:
		return orderUp
	case down:
		return orderDown
	}
	return orderNone
}

func (k *writtenChunk) offsetIndex() []byte {
	t := &thriftWriter{}
	t.begin()
	t.list(1, tStruct, len(k.pages))
	for i := range k.pages {
		p := &k.pages[i]
		t.begin()
		t.i64(1, k.start+p.off)
		t.i32(2, p.size)
		t.i64(3, p.row)
		t.end()
	}
	t.end()
	return t.buf
}

func (w *writer) footer() []byte {
	t := &thriftWriter{}
	t.begin()
	t.i32(1, 1)
	var nodes []*node
	var walk func(n *node)
	walk = func(n *node) {
		nodes = append(nodes, n)
		for _, c := range n.children {
			walk(c)
		}
	}
	walk(w.root)
	t.list(2, tStruct, len(nodes))
	for _, n := range nodes {
		n.write(t, n == w.root)
	}
	t.i64(3, w.meta.numRows)
	t.list(4, tStruct, len(w.meta.rowGroups))
	for i := range w.meta.rowGroups {
		w.meta.rowGroups[i].write(t)
	}
	t.binary(6, []byte(createdBy))
	t.list(7, tStruct, len(w.leaves))
	for range w.leaves { // all are ordered as their types define
		t.begin()
		t.empty(1)
		t.end()
	}
	t.end()
	return t.buf
}

// write writes a node as an element of the schema.
func (n *node) write(t *thriftWriter, root bool) {
	t.begin()
	if n.isLeaf() {
		t.i32(1, int32(n.phys))
		if n.phys == physFixed {
			t.i32(2, int32(n.typeLen))
		}
	}
	if !root {
		t.i32(3, int32(n.rep))
	}
	t.binary(4, []byte(n.name))
	if !n.isLeaf() {
		t.i32(5, int32(len(n.children)))
	}
	if c, ok := n.converted(); ok {
		t.i32(6, c)
	}
	if n.logical.kind == logDecimal {
		t.i32(7, int32(n.logical.scale))
		t.i32(8, int32(n.logical.precision))
	}
	if n.hasID {
		t.i32(9, int32(n.id))
	}
	n.logical.write(t)
	t.end()
}

// converted is the older way to tell what values mean.
func (n *node) converted() (int32, bool) {
	if n.rep == repeated && len(n.children) == 2 { // the entries of a map
		return 2, true
	}
	switch l := n.logical; l.kind {
	case logString:
		return 0, true
	case logMap:
		return 1, true
	case logList:
		return 3, true
	case logDecimal:
		return 5, true
	case logDate:
		return 6, true
	case logTime:
		return 7, l.unit == unitMillis
	case logTimestamp:
		// The older form means points in time only; the reference writes it for wall clocks too.
		if l.unit == unitMillis {
			return 9, true
		}
		return 10, l.unit == unitMicros
	case logInt:
		switch l.bits {
		case 8:
			return 15, true
		case 16:
			return 16, true
		}
	}
	return 0, false
}

func (l logical) write(t *thriftWriter) {
	id := map[logicalKind]int{logString: 1, logMap: 2, logList: 3, logDecimal: 5, logDate: 6, logTime: 7, logTimestamp: 8, logInt: 10}[l.kind]
	if id == 0 {
		return
	}
	t.field(10, tStruct)
	t.begin()
	t.field(id, tStruct)
	t.begin()
	switch l.kind {
	case logDecimal:
		t.i32(1, int32(l.scale))
		t.i32(2, int32(l.precision))
	case logTime, logTimestamp:
		t.boolean(1, l.utc)
		t.field(2, tStruct)
		t.begin()
		t.empty(int(l.unit))
		t.end()
	case logInt:
		t.field(1, tByte)
		t.buf = append(t.buf, byte(l.bits))
		t.boolean(2, !l.unsigned)
	}
	t.end()
	t.end()
}

func (g *rowGroup) write(t *thriftWriter) {
	t.begin()
	t.list(1, tStruct, len(g.columns))
	for i := range g.columns {
		g.columns[i].write(t)
	}
	t.i64(2, g.bytes)
	t.i64(3, g.numRows)
	t.i64(5, g.fileOff)
	t.i64(6, g.compress)
	t.i16(7, g.ordinal)
	t.end()
}

func (c *columnChunk) write(t *thriftWriter) {
	t.begin()
	first := c.dataOff
	if c.dictOff > 0 {
		first = c.dictOff
	}
	t.i64(2, first)
	t.field(3, tStruct)
	t.begin()
	t.i32(1, int32(c.phys))
	t.list(2, tI32, len(c.encodings))
	for _, e := range c.encodings {
		t.zigzag(int64(e))
	}
	t.list(3, tBinary, len(c.path))
	for _, p := range c.path {
		t.bytes([]byte(p))
	}
	t.i32(4, c.codec)
	t.i64(5, c.numValues)
	t.i64(6, c.uncompressed)
	t.i64(7, c.compressed)
	t.i64(9, c.dataOff)
	if c.dictOff > 0 {
		t.i64(11, c.dictOff)
	}
	t.field(12, tStruct)
	c.stats.write(t, c.phys)
	t.list(13, tStruct, len(c.encStats))
	for _, e := range c.encStats {
		t.begin()
		t.i32(1, e.page)
		t.i32(2, int32(e.enc))
		t.i32(3, e.count)
		t.end()
	}
	t.end()
	t.i64(4, c.offOff)
	t.i32(5, c.offLen)
	if c.colIndexLen > 0 {
		t.i64(6, c.colIndexOff)
		t.i32(7, c.colIndexLen)
	}
	t.end()
}

func (s *statistics) write(t *thriftWriter, phys physical) {
	t.begin()
	// Numbers are ordered alike in the old fields; readers of old releases look there.
	old := s.hasMin && phys != physBytes && phys != physFixed
	if old {
		t.binary(1, s.max)
		t.binary(2, s.min)
	}
	t.i64(3, s.nulls)
	if s.hasMax {
		t.binary(5, s.max)
	}
	if s.hasMin {
		t.binary(6, s.min)
	}
	t.end()
}
