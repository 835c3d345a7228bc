package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
)

// Limits of pages, as the reference sets them.
const (
	defaultPageRows  = 20000
	defaultPageBytes = 1 << 20
)

// limits of the pages of one file.
type limits struct {
	rows  int
	bytes int
	dict  bool // dictionaries are allowed
}

// leafWriter encodes one leaf column: values go to the page being built, full pages are packed and
// kept until the row group ends.
type leafWriter struct {
	n     *node
	kind  boundKind
	limit limits
	pack  *packer

	// The page being built.
	rows    int     // rows, NULLs included
	entries int     // entries: more than rows in lists, also for empty ones
	nulls   int     // entries without a value
	def     []uint8 // nil while all levels are the highest
	rep     []uint8
	body    []byte   // PLAIN values
	bitsIn  int      // booleans in body
	idx     []uint32 // dictionary indexes instead of body
	page    bounds

	useDict bool
	proven  bool // the dictionary was worth it
	ints    intDict
	strs    bytesDict
	seen    []bool // values of the dictionary in this page
	dictLen int64  // bytes of the dictionary's values

	// The column chunk.
	packed     [][]byte // pages with their headers
	packedSize int64    // bytes of packed
	pages      []pageInfo
	chunk      bounds
	chunkNulls int64
	values     int64
	raw        int64 // bytes of the pages unpacked, with headers
	dictPages  int
	plainPages int
	body2      []byte // scratch: a page before packing
	head       thriftWriter
	row        int64 // rows of the chunk

	file      bounds // of the whole file
	fileNulls int64
}

type pageInfo struct {
	off    int64 // in packed
	size   int32
	row    int64
	nulls  int64
	values int64
	b      bounds
}

func newLeafWriter(n *node, kind boundKind, l limits, p *packer) *leafWriter {
	w := &leafWriter{n: n, kind: kind, limit: l, pack: p}
	w.startChunk()
	return w
}

func (w *leafWriter) startChunk() {
	w.packed, w.packedSize, w.pages = nil, 0, nil
	w.chunk, w.chunkNulls, w.values, w.raw, w.row = bounds{}, 0, 0, 0, 0
	w.dictPages, w.plainPages, w.dictLen, w.proven = 0, 0, 0, false
	// Not for bytes of fixed length, which are large decimals: the reference looks for x in a dictionary by bytes without leading
	// zeros, and would take the row group for one without x. Its own writer makes none for them either.
	w.useDict = w.limit.dict && w.n.phys != physBool && w.n.phys != physFixed
	if w.useDict {
		w.ints.reset()
		w.strs.reset()
	}
}

// width of a value in a PLAIN page, 0 if they differ.
func (n *node) width() int {
	v := values{phys: n.phys, width: n.typeLen}
	if n.phys == physBytes || n.phys == physBool {
		return 0
	}
	return v.size()
}

// addLevels notes n entries; def and rep are nil if all are at their highest (rep: at 0).
func (w *leafWriter) addLevels(n, nulls int, def, rep []uint8) {
	if def != nil && w.def == nil && nulls+w.nulls > 0 || w.n.maxRep > 0 && w.def == nil {
		w.def = make([]uint8, w.entries, w.entries+n+1024)
		for i := range w.def {
			w.def[i] = uint8(w.n.maxDef)
		}
	}
	if w.def != nil {
		if def != nil {
			w.def = append(w.def, def...)
		} else {
			for range n {
				w.def = append(w.def, uint8(w.n.maxDef))
			}
		}
	}
	w.rep = append(w.rep, rep...)
	w.entries += n
	w.nulls += nulls
}

// addInts adds values of a type of 4 or 8 bytes: the bits of a float or the number itself.
func (w *leafWriter) addInts(v []int64) {
	if w.useDict {
		w.idx = w.ints.index(w.idx, v)
		w.judge(len(w.ints.vals), int64(len(w.ints.vals)*w.n.width()))
		return
	}
	w.boundInts(&w.page, v)
	if w.n.phys == physInt64 || w.n.phys == physDouble {
		w.body = append(w.body, bytesOf(v)...)
		return
	}
	w.body = slices.Grow(w.body, 4*len(v))
	at := len(w.body)
	w.body = w.body[:at+4*len(v)]
	dst := w.body[at:]
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[i*4:], uint32(x))
	}
}

func (w *leafWriter) boundInts(b *bounds, v []int64) {
	switch {
	case w.kind == boundInt:
		b.addInts(v)
	case w.kind == boundFloat && w.n.phys == physFloat:
		for _, x := range v {
			b.addFloats([]int64{int64(math.Float64bits(float64(math.Float32frombits(uint32(x)))))})
		}
	case w.kind == boundFloat:
		b.addFloats(v)
	}
}

// addBools adds booleans as 0 and 1.
func (w *leafWriter) addBools(v []uint8) {
	for _, x := range v {
		if w.bitsIn&7 == 0 {
			w.body = append(w.body, 0)
		}
		w.body[len(w.body)-1] |= x << (w.bitsIn & 7)
		w.bitsIn++
		w.page.addRange(int64(x), int64(x))
	}
}

// addBytes adds the values between offsets; those of a FIXED_LEN_BYTE_ARRAY or INT96 have its size.
func (w *leafWriter) addBytes(offs []int32, data []byte) {
	if w.useDict {
		w.indexBytes(offs, data)
		w.judge(w.strs.len(), int64(len(w.strs.data)+4*w.strs.len()))
		return
	}
	w.boundBytes(&w.page, offs, data)
	if w.n.phys != physBytes {
		w.body = append(w.body, data[offs[0]:offs[len(offs)-1]]...)
		return
	}
	total := int(offs[len(offs)-1]-offs[0]) + 4*(len(offs)-1)
	w.body = slices.Grow(w.body, total)
	at := len(w.body)
	w.body = w.body[:at+total]
	dst := w.body
	for i := range len(offs) - 1 {
		v := data[offs[i]:offs[i+1]]
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(v)))
		at += 4
		at += copy(dst[at:], v)
	}
}

func (w *leafWriter) indexBytes(offs []int32, data []byte) {
	var last []byte
	ix := uint32(0)
	for i := range len(offs) - 1 {
		v := data[offs[i]:offs[i+1]]
		if i == 0 || !bytes.Equal(v, last) {
			last, ix = v, w.strs.put(v)
		}
		w.idx = append(w.idx, ix)
	}
}

func (w *leafWriter) boundBytes(b *bounds, offs []int32, data []byte) {
	switch w.kind {
	case boundBytes:
		b.addStrings(offs, data)
	case boundDecimal:
		b.addDecimals(data[offs[0]:offs[len(offs)-1]], w.n.typeLen)
	}
}

// judge decides whether the dictionary goes on.
func (w *leafWriter) judge(distinct int, size int64) {
	w.dictLen = size
	if size > maxDictBytes || distinct > maxDictValues {
		w.endDict()
		return
	}
	n := int(w.values) + len(w.idx)
	if n < dictSample || w.proven && len(w.idx) < w.limit.rows/2 {
		return
	}
	// What the values take with a dictionary, against what they take without. Indexes hardly shrink
	// any more when pages are packed, values may: a dictionary has to save half.
	ixBits := int64(bits.Len(uint(max(distinct-1, 0))))
	avg := size / int64(max(distinct, 1))
	if size+int64(n)*ixBits/8 > int64(n)*avg/2 {
		w.endDict()
		return
	}
	w.proven = true
}

// endDict turns the page at hand into a PLAIN one; earlier pages keep the dictionary.
func (w *leafWriter) endDict() {
	w.useDict = false
	idx := w.idx
	w.idx = w.idx[:0]
	if w.n.phys == physBytes || w.n.width() > 8 {
		offs := make([]int32, 1, len(idx)+1)
		var data []byte
		for _, x := range idx {
			data = append(data, w.strs.at(x)...)
			offs = append(offs, int32(len(data)))
		}
		if len(idx) > 0 {
			w.addBytes(offs, data)
		}
		return
	}
	v := make([]int64, len(idx))
	for i, x := range idx {
		v[i] = w.ints.vals[x]
	}
	w.addInts(v)
}

// size is about how many bytes the page at hand will have unpacked.
func (w *leafWriter) size() int { return len(w.body) + len(w.idx) + w.entries/8 }

// full reports whether the page has reached its limits.
func (w *leafWriter) full() bool {
	return w.rows >= w.limit.rows || w.size() >= w.limit.bytes
}

// endPage packs the page at hand.
func (w *leafWriter) endPage() error {
	if w.entries == 0 {
		return nil
	}
	b := w.body2[:0]
	if w.n.maxRep > 0 {
		b = appendLevels(b, w.rep, w.entries, w.n.maxRep)
	}
	if w.n.maxDef > 0 {
		b = appendLevels(b, w.def, w.entries, w.n.maxDef)
	}
	enc := encPlain
	if w.useDict {
		enc = encPlainDict
		width := uint(bits.Len(uint(max(w.dictValues()-1, 0))))
		b = append(b, byte(width))
		b = appendHybrid(b, w.idx, width)
		w.boundSeen()
		w.dictPages++
	} else {
		b = append(b, w.body...)
		w.plainPages++
	}
	w.body2 = b
	if err := w.emit(b, enc); err != nil {
		return err
	}
	w.fileNulls += int64(w.nulls)
	w.chunkNulls += int64(w.nulls)
	w.values += int64(w.entries)
	w.row += int64(w.rows)
	w.chunk.merge(&w.page, w.kind)
	w.page = bounds{}
	w.rows, w.entries, w.nulls, w.bitsIn = 0, 0, 0, 0
	w.def, w.rep, w.body, w.idx = nil, w.rep[:0], w.body[:0], w.idx[:0]
	return nil
}

func (w *leafWriter) dictValues() int {
	if w.n.phys == physBytes || w.n.width() > 8 {
		return w.strs.len()
	}
	return len(w.ints.vals)
}

// boundSeen takes the bounds of a page from the values of the dictionary that it uses.
func (w *leafWriter) boundSeen() {
	n := w.dictValues()
	if cap(w.seen) < n {
		w.seen = make([]bool, n, 2*n)
	}
	w.seen = w.seen[:n]
	clear(w.seen)
	for _, x := range w.idx {
		w.seen[x] = true
	}
	byBytes := w.n.phys == physBytes || w.n.width() > 8
	for i, ok := range w.seen {
		switch {
		case !ok:
		case byBytes:
			w.boundBytes(&w.page, w.strs.offs[i:i+2], w.strs.data)
		default:
			w.boundInts(&w.page, w.ints.vals[i:i+1])
		}
	}
}

// emit packs a data page and notes it.
func (w *leafWriter) emit(b []byte, enc encoding) error {
	page, n, err := w.emitPage(b, func(h *thriftWriter) {
		h.field(5, tStruct)
		h.begin()
		h.i32(1, int32(w.entries))
		h.i32(2, int32(enc))
		h.i32(3, int32(encRLE))
		h.i32(4, int32(encRLE))
		h.end()
	}, pageData)
	if err != nil {
		return err
	}
	w.raw += n
	w.pages = append(w.pages, pageInfo{
		off: w.packedSize, size: int32(len(page)), row: w.row, nulls: int64(w.nulls),
		values: int64(w.entries), b: w.page,
	})
	w.packed = append(w.packed, page)
	w.packedSize += int64(len(page))
	return nil
}

// emitPage gives a page, packed, with its header, and its size unpacked.
func (w *leafWriter) emitPage(b []byte, describe func(h *thriftWriter), kind int32) ([]byte, int64, error) {
	body, err := w.pack.pack(w.pack.page[:0], b)
	if err != nil {
		return nil, 0, err
	}
	w.pack.page = body
	h := &w.head
	h.buf = h.buf[:0]
	h.begin()
	h.i32(1, kind)
	h.i32(2, int32(len(b)))
	h.i32(3, int32(len(body)))
	h.i32(4, int32(crc32.ChecksumIEEE(body)))
	describe(h)
	h.end()
	// The row group keeps its pages until it ends, each in memory of its size.
	return slices.Concat(h.buf, body), int64(len(h.buf) + len(b)), nil
}

// dictPage packs the dictionary page.
func (w *leafWriter) dictPage() ([]byte, int64, error) {
	if w.dictPages == 0 {
		return nil, 0, nil
	}
	n := w.dictValues()
	var b []byte
	switch {
	case w.n.phys == physBytes:
		for i := range n {
			v := w.strs.at(uint32(i))
			b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
			b = append(b, v...)
		}
	case w.n.width() > 8:
		b = w.strs.data
	case w.n.width() == 8:
		b = bytesOf(w.ints.vals)
	default:
		for _, x := range w.ints.vals {
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		}
	}
	return w.emitPage(b, func(h *thriftWriter) {
		h.field(7, tStruct)
		h.begin()
		h.i32(1, int32(n))
		h.i32(2, int32(encPlainDict))
		h.end()
	}, pageDict)
}
