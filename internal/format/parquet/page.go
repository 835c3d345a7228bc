package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// errUnsupported is the error of what Parquet allows but is not read here.
var errUnsupported = errors.New("is not supported")

const maxPageHeader = 16 << 20

// page is a data page whose values are to be decoded.
type page struct {
	values int // entries, NULLs included
	rows   int // -1 if unknown
	enc    encoding

	off    int64 // of the header
	bodyAt int64
	head   pageHeader

	// Set by load.
	def, rep []byte // levels, still encoded; v2 and v1 are alike here
	data     []byte
	// more gives all of data if that is only its beginning; else it is nil.
	more func() ([]byte, error)
}

// pages gives the data pages of a column chunk.
type pages struct {
	win   window
	low   bool   // few rows or little memory: pages are read one by one
	buf   []byte // unpacked page, used again
	codec codec
	leaf  *node
	start int64
	pos   int64 // of the next header
	left  int64 // entries that pages still have to come
	toEnd bool  // left is not known
	dict  *pageHeader
	dictB []byte // the dictionary's values
}

// open starts a column chunk.
func (p *pages) open(c *columnChunk, leaf *node) error {
	start := c.dataOff
	if c.dictOff > 0 && c.dictOff < start {
		start = c.dictOff
	}
	switch {
	case c.encrypted:
		return fmt.Errorf("encryption %w", errUnsupported)
	case c.elsewhere:
		return fmt.Errorf("data in another file: %w", errUnsupported)
	case c.phys != leaf.phys:
		return fmt.Errorf("the chunk is of type %s, the schema says %s", c.phys, leaf.phys)
	case start < 4 || c.compressed < 0 || start > p.win.file.Size() || c.compressed > p.win.file.Size()-start:
		return fmt.Errorf("the chunk (offset %d, %d bytes) lies outside of the file", start, c.compressed)
	case c.numValues < 0:
		return fmt.Errorf("the chunk has %d values", c.numValues)
	}
	p.codec, p.leaf = codec(c.codec), leaf
	p.win.open(start+c.compressed, p.low)
	p.start, p.pos, p.left, p.toEnd = start, start, c.numValues, false
	p.dict, p.dictB = nil, nil
	return nil
}

// header reads the header at pos.
func (p *pages) header() (pageHeader, int, error) {
	for n := 1 << 10; ; n *= 4 {
		b, err := p.win.at(p.pos, n)
		if err != nil {
			return pageHeader{}, 0, err
		}
		h, k, err := parsePageHeader(b)
		if err == nil {
			return h, k, p.checkHeader(&h, k)
		}
		if len(b) < n || n >= maxPageHeader || !errors.Is(err, errThriftShort) && !errors.Is(err, errThriftSize) {
			return h, 0, fmt.Errorf("page header: %w", err)
		}
	}
}

func (p *pages) checkHeader(h *pageHeader, n int) error {
	switch {
	case h.compressed < 0 || int64(h.compressed) > p.win.end-p.pos-int64(n):
		return fmt.Errorf("page header: %d bytes do not fit into the column chunk", h.compressed)
	case h.uncompressed < 0 || h.uncompressed > maxPage:
		return fmt.Errorf("page header: unpacked size is %d", h.uncompressed)
	case h.numValues < 0:
		return fmt.Errorf("page header: %d values", h.numValues)
	case (h.kind == pageData || h.kind == pageDataV2 || h.kind == pageDict) && !h.hasData:
		return errors.New("page header: incomplete")
	case h.kind == pageDataV2 && (h.defLen < 0 || h.repLen < 0 || int64(h.defLen)+int64(h.repLen) > int64(min(h.compressed, h.uncompressed))):
		return errors.New("page header: levels are longer than the page")
	case h.kind == pageDataV2 && (h.numNulls < -1 || h.numNulls > h.numValues || h.numRows < -1 || h.numRows > h.numValues):
		return errors.New("page header: impossible counts")
	}
	return nil
}

// next gives the next data page, not loaded; io.EOF after the last.
func (p *pages) next() (page, error) {
	for p.left > 0 && (!p.toEnd || p.pos < p.win.end) {
		h, n, err := p.header()
		if err != nil {
			return page{}, fmt.Errorf("offset %d: %w", p.pos, err)
		}
		at := p.pos
		body := at + int64(n)
		p.pos = body + int64(h.compressed)
		switch h.kind {
		case pageDict:
			if p.dict != nil {
				return page{}, fmt.Errorf("offset %d: a second dictionary", at)
			}
			if err := p.loadDict(h, body); err != nil {
				return page{}, fmt.Errorf("offset %d: dictionary page: %w", at, err)
			}
		case pageData, pageDataV2:
			pg := page{values: int(h.numValues), rows: int(h.numRows), enc: h.enc, off: at, bodyAt: body, head: h}
			if p.leaf.maxRep == 0 {
				pg.rows = pg.values
			}
			if int64(pg.values) > p.left {
				return page{}, fmt.Errorf("offset %d: page header: %d values, the column chunk has only %d left", at, pg.values, p.left)
			}
			if !p.toEnd {
				p.left -= int64(pg.values)
			}
			return pg, nil
		}
		if p.pos >= p.win.end {
			break
		}
	}
	if p.left > 0 && !p.toEnd {
		return page{}, fmt.Errorf("offset %d: %d values are missing at the end of the column chunk", p.pos, p.left)
	}
	return page{}, io.EOF
}

// seek goes to a page found in the offset index, of which first is the first; rows is the number of rows
// from there on.
func (p *pages) seek(to, first pageLocation, rows int64) error {
	off := to.off
	if off < p.pos || off >= p.win.end {
		return fmt.Errorf("the page index names offset %d, outside of the column chunk", off)
	}
	if p.pos == p.start && first.off > p.pos { // a dictionary stands before the first page
		p.win.expect(first.off - p.pos)
		h, n, err := p.header()
		if err == nil && h.kind == pageDict {
			err = p.loadDict(h, p.pos+int64(n))
		}
		if err != nil {
			return fmt.Errorf("offset %d: %w", p.pos, err)
		}
	}
	p.pos, p.left = off, rows
	p.win.expect(int64(to.size))
	if p.leaf.maxRep > 0 { // rows are not entries here: the end of the chunk is the end
		p.left, p.toEnd = math.MaxInt64, true
	}
	return nil
}

func (p *pages) body(h *pageHeader, at int64) ([]byte, error) {
	b, err := p.win.at(at, int(h.compressed))
	if err != nil {
		return nil, err
	}
	if len(b) < int(h.compressed) {
		return nil, io.ErrUnexpectedEOF
	}
	if h.hasCRC && crc32.ChecksumIEEE(b) != h.crc {
		return nil, errors.New("the page's checksum does not match: its bytes were changed")
	}
	return b, nil
}

func (p *pages) loadDict(h pageHeader, at int64) error {
	if h.enc != encPlain && h.enc != encPlainDict {
		return fmt.Errorf("encoding %s %w", h.enc, errUnsupported)
	}
	b, err := p.body(&h, at)
	if err != nil {
		return err
	}
	if p.codec == codecNone {
		b = append([]byte(nil), b...)
	} else if b, err = p.codec.unpack(nil, b, int(h.uncompressed)); err != nil {
		return fmt.Errorf("%s data: %w", p.codec, err)
	}
	p.dict, p.dictB = &h, b
	return nil
}

// load reads and unpacks a page. Its slices stay valid until the next load or next. If no more than the
// first entries of it are wanted, it may unpack no more than those take.
func (p *pages) load(g *page, entries int) error {
	b, err := p.body(&g.head, g.bodyAt)
	if err != nil {
		return fmt.Errorf("offset %d: %w", g.off, err)
	}
	if g.head.kind == pageDataV2 {
		err = p.loadV2(g, b, entries)
	} else {
		err = p.loadV1(g, b, entries)
	}
	if err != nil {
		return fmt.Errorf("offset %d: %w", g.off, err)
	}
	if p.codec != codecNone && g.head.kind == pageData && g.more == nil {
		p.win.passed(p.pos, p.pos-g.off)
	}
	return nil
}

func (p *pages) unpack(b []byte, size int) ([]byte, error) {
	if p.codec == codecZstd && !p.low && size >= minBuffer && size <= maxPacked(len(b)) {
		p.buf = sized(p.buf, size+zstdRoom)
	}
	out, err := p.codec.unpack(p.buf, b, size)
	if err != nil {
		return nil, fmt.Errorf("%s data: %w", p.codec, err)
	}
	p.buf = out
	return out, nil
}

// unpackPart unpacks the beginning of a page, long enough for so many entries as far as one can tell. It gives nil
// where that is not possible or gains nothing.
func (p *pages) unpackPart(g *page, b []byte, size, entries int) []byte {
	if entries >= g.values || p.codec != codecZstd || g.enc != encPlain || p.leaf.phys == physBool || p.leaf.maxRep > 0 {
		return nil
	}
	need := size
	if p.leaf.maxDef == 0 && p.leaf.phys != physBytes {
		v := values{phys: p.leaf.phys, width: p.leaf.typeLen}
		need = entries * v.size()
	} else {
		need = int(int64(size)*int64(entries)/int64(g.values)) + size/32 + 64
	}
	out := unpackZstdPart(p.buf, b, size, need)
	if out != nil {
		p.buf = out
	}
	return out
}

func (p *pages) loadV1(g *page, b []byte, entries int) (err error) {
	if p.codec == codecNone {
		return p.cut(g, b)
	}
	size := int(g.head.uncompressed)
	if part := p.unpackPart(g, b, size, entries); part != nil && p.cut(g, part) == nil {
		g.more = func() ([]byte, error) {
			all, err := p.unpack(b, size)
			if err != nil {
				return nil, err
			}
			whole := page{head: g.head}
			err = p.cut(&whole, all)
			return whole.data, err
		}
		return nil
	}
	if b, err = p.unpack(b, size); err != nil {
		return err
	}
	return p.cut(g, b)
}

// cut finds levels and values in the unpacked bytes of a page.
func (p *pages) cut(g *page, b []byte) (err error) {
	if p.leaf.maxRep > 0 {
		if g.rep, b, err = cutLevels(b, g.head.repEnc); err != nil {
			return fmt.Errorf("repetition levels: %w", err)
		}
	}
	if p.leaf.maxDef > 0 {
		if g.def, b, err = cutLevels(b, g.head.defEnc); err != nil {
			return fmt.Errorf("definition levels: %w", err)
		}
	}
	g.data = b
	return nil
}

func cutLevels(b []byte, enc encoding) (levels, rest []byte, err error) {
	if enc != encRLE {
		return nil, nil, fmt.Errorf("encoding %s %w", enc, errUnsupported)
	}
	if len(b) < 4 {
		return nil, nil, errShortLevels
	}
	n := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, errShortLevels
	}
	return b[4 : 4+n], b[4+n:], nil
}

func (p *pages) loadV2(g *page, b []byte, entries int) (err error) {
	h := &g.head
	levels := int(h.repLen) + int(h.defLen)
	g.rep, g.def = b[:h.repLen], b[h.repLen:levels]
	b = b[levels:]
	g.data = b
	if p.codec == codecNone || !h.isCompressed {
		return nil
	}
	size := int(h.uncompressed) - levels
	if size == 0 && len(b) == 0 {
		return nil
	}
	if part := p.unpackPart(g, b, size, entries); part != nil {
		g.data, g.more = part, func() ([]byte, error) { return p.unpack(b, size) }
		return nil
	}
	g.data, err = p.unpack(b, size)
	return err
}

// release hands the memory on; nothing that was read may be used any more.
func (p *pages) release() {
	p.win.release()
	putBuffer(p.buf)
	p.buf = nil
}
