package parquet

import "fmt"

// Physical types, by their numbers in files.
type physical int8

const (
	physGroup   physical = -1
	physBool    physical = 0
	physInt32   physical = 1
	physInt64   physical = 2
	physInt96   physical = 3
	physFloat   physical = 4
	physDouble  physical = 5
	physBytes   physical = 6
	physFixed   physical = 7
	physUnknown physical = 8
)

func (p physical) String() string {
	if p < 0 || p >= physUnknown {
		return fmt.Sprintf("type %d", int8(p))
	}
	return [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}[p]
}

// Repetition of a node of the schema.
type repetition int8

const (
	required repetition = 0
	optional repetition = 1
	repeated repetition = 2
)

// Encodings of pages.
type encoding int32

const (
	encPlain         encoding = 0
	encPlainDict     encoding = 2
	encRLE           encoding = 3
	encBitPacked     encoding = 4
	encDelta         encoding = 5
	encDeltaLength   encoding = 6
	encDeltaBytes    encoding = 7
	encRLEDict       encoding = 8
	encByteStreamSpl encoding = 9
)

func (e encoding) isDictionary() bool { return e == encPlainDict || e == encRLEDict }

func (e encoding) String() string {
	switch e {
	case encPlain:
		return "PLAIN"
	case encPlainDict:
		return "PLAIN_DICTIONARY"
	case encRLE:
		return "RLE"
	case encBitPacked:
		return "BIT_PACKED"
	case encDelta:
		return "DELTA_BINARY_PACKED"
	case encDeltaLength:
		return "DELTA_LENGTH_BYTE_ARRAY"
	case encDeltaBytes:
		return "DELTA_BYTE_ARRAY"
	case encRLEDict:
		return "RLE_DICTIONARY"
	case encByteStreamSpl:
		return "BYTE_STREAM_SPLIT"
	}
	return fmt.Sprintf("encoding %d", int32(e))
}

type fileMeta struct {
	schema    []schemaElement
	numRows   int64
	rowGroups []rowGroup
	createdBy string
	tail      []byte // what was read to find it, the end of the file; the bounds of statistics lie in it
	tailAt    int64
}

type rowGroup struct {
	columns  []columnChunk
	numRows  int64
	bytes    int64
	ordinal  int16
	fileOff  int64
	compress int64
}

type columnChunk struct {
	phys                physical
	codec               int32
	encodings           []encoding
	path                []string
	numValues           int64
	uncompressed        int64
	compressed          int64
	dataOff             int64
	dictOff             int64 // 0 if there is none
	stats               statistics
	encStats            []encodingStat
	encrypted           bool
	elsewhere           bool // the data are in another file
	colIndexOff, offOff int64
	colIndexLen, offLen int32
}

type encodingStat struct {
	page  int32
	enc   encoding
	count int32
}

// statistics of a chunk or page, values in PLAIN encoding without length.
type statistics struct {
	min, max       []byte
	hasMin, hasMax bool
	deprecated     bool // from the fields that compare bytes as signed
	nulls          int64
	hasNulls       bool
	inexactMin     bool
	inexactMax     bool
}

const (
	pageData   = 0
	pageIndex  = 1
	pageDict   = 2
	pageDataV2 = 3
)

type pageHeader struct {
	kind         int32
	uncompressed int32
	compressed   int32
	crc          uint32
	hasCRC       bool
	hasData      bool // the structure that belongs to the kind is there
	numValues    int32
	numNulls     int32 // -1 if unknown
	numRows      int32 // -1 if unknown
	enc          encoding
	defEnc       encoding
	repEnc       encoding
	defLen       int32
	repLen       int32
	isCompressed bool
}

type columnIndex struct {
	nullPages []bool
	min, max  [][]byte
	nulls     []int64
	order     int32
}

type pageLocation struct {
	off      int64
	size     int32
	firstRow int64
}

func parseFileMeta(b []byte) (*fileMeta, error) {
	r := &thriftReader{buf: b}
	m := &fileMeta{}
	r.structure(func(id int, typ byte) {
		switch id {
		case 2:
			n, elem := r.list(typ)
			m.schema = make([]schemaElement, 0, min(n, 1<<12))
			for i := 0; i < n && r.err == nil; i++ {
				m.schema = append(m.schema, readSchemaElement(r, elem))
			}
		case 3:
			m.numRows = r.integer(typ)
		case 4:
			n, elem := r.list(typ)
			m.rowGroups = make([]rowGroup, 0, min(n, 1<<10))
			for i := 0; i < n && r.err == nil; i++ {
				m.rowGroups = append(m.rowGroups, readRowGroup(r, elem))
			}
		case 6:
			m.createdBy = string(r.binary(typ))
		default:
			r.skip(typ)
		}
	})
	return m, r.err
}

func readRowGroup(r *thriftReader, elem byte) (g rowGroup) {
	r.sub(elem, func(id int, typ byte) {
		switch id {
		case 1:
			n, elem := r.list(typ)
			g.columns = make([]columnChunk, 0, min(n, 1<<12))
			for i := 0; i < n && r.err == nil; i++ {
				g.columns = append(g.columns, readColumnChunk(r, elem))
			}
		case 2:
			g.bytes = r.integer(typ)
		case 3:
			g.numRows = r.integer(typ)
		default:
			r.skip(typ)
		}
	})
	return g
}

func readColumnChunk(r *thriftReader, elem byte) (c columnChunk) {
	c.phys = physUnknown
	r.sub(elem, func(id int, typ byte) {
		switch id {
		case 1:
			c.elsewhere = len(r.binary(typ)) > 0
		case 3:
			readColumnMeta(r, typ, &c)
		case 4:
			c.offOff = r.integer(typ)
		case 5:
			c.offLen = r.i32(typ)
		case 6:
			c.colIndexOff = r.integer(typ)
		case 7:
			c.colIndexLen = r.i32(typ)
		case 8, 9:
			c.encrypted = true
			r.skip(typ)
		default:
			r.skip(typ)
		}
	})
	return c
}

func readColumnMeta(r *thriftReader, typ byte, c *columnChunk) {
	r.sub(typ, func(id int, typ byte) {
		switch id {
		case 1:
			c.phys = physical(min(max(r.i32(typ), 0), int32(physUnknown)))
		case 2:
			r.each(typ, func(e byte) { c.encodings = append(c.encodings, encoding(r.integer(e))) })
		case 3:
			r.each(typ, func(e byte) { c.path = append(c.path, string(r.binary(e))) })
		case 4:
			c.codec = r.i32(typ)
		case 5:
			c.numValues = r.integer(typ)
		case 6:
			c.uncompressed = r.integer(typ)
		case 7:
			c.compressed = r.integer(typ)
		case 9:
			c.dataOff = r.integer(typ)
		case 11:
			c.dictOff = r.integer(typ)
		case 12:
			c.stats = readStatistics(r, typ)
		default:
			r.skip(typ)
		}
	})
}

func readStatistics(r *thriftReader, typ byte) (s statistics) {
	var oldMin, oldMax []byte
	var hasOldMin, hasOldMax bool
	r.sub(typ, func(id int, typ byte) {
		switch id {
		case 1:
			oldMax, hasOldMax = r.binary(typ), true
		case 2:
			oldMin, hasOldMin = r.binary(typ), true
		case 3:
			s.nulls, s.hasNulls = r.integer(typ), true
		case 5:
			s.max, s.hasMax = r.binary(typ), true
		case 6:
			s.min, s.hasMin = r.binary(typ), true
		case 7:
			s.inexactMax = !r.boolean(typ)
		case 8:
			s.inexactMin = !r.boolean(typ)
		default:
			r.skip(typ)
		}
	})
	if !s.hasMin && !s.hasMax && hasOldMin && hasOldMax {
		s.min, s.max, s.hasMin, s.hasMax, s.deprecated = oldMin, oldMax, true, true, true
	}
	return s
}

// parsePageHeader gives the header and its length. errThriftShort (wrapped) says that more bytes may help.
func parsePageHeader(b []byte) (pageHeader, int, error) {
	r := &thriftReader{buf: b}
	h := pageHeader{kind: -1, numNulls: -1, numRows: -1, isCompressed: true, defEnc: encRLE, repEnc: encRLE}
	r.structure(func(id int, typ byte) {
		switch id {
		case 1:
			h.kind = r.i32(typ)
		case 2:
			h.uncompressed = r.i32(typ)
		case 3:
			h.compressed = r.i32(typ)
		case 4:
			h.crc, h.hasCRC = uint32(r.i32(typ)), true
		case 5, 7:
			h.hasData = true
			r.sub(typ, func(f int, typ byte) {
				switch f {
				case 1:
					h.numValues = r.i32(typ)
				case 2:
					h.enc = encoding(r.i32(typ))
				case 3:
					if id == 5 {
						h.defEnc = encoding(r.i32(typ))
						return
					}
					r.skip(typ)
				case 4:
					h.repEnc = encoding(r.i32(typ))
				case 5:
					s := readStatistics(r, typ)
					if s.hasNulls && s.nulls >= 0 && s.nulls <= int64(h.numValues) {
						h.numNulls = int32(s.nulls)
					}
				default:
					r.skip(typ)
				}
			})
		case 8:
			h.hasData = true
			readV2Header(r, typ, &h)
		default:
			r.skip(typ)
		}
	})
	return h, r.pos, r.err
}

func readV2Header(r *thriftReader, typ byte, h *pageHeader) {
	r.sub(typ, func(f int, typ byte) {
		switch f {
		case 1:
			h.numValues = r.i32(typ)
		case 2:
			h.numNulls = r.i32(typ)
		case 3:
			h.numRows = r.i32(typ)
		case 4:
			h.enc = encoding(r.i32(typ))
		case 5:
			h.defLen = r.i32(typ)
		case 6:
			h.repLen = r.i32(typ)
		case 7:
			h.isCompressed = r.boolean(typ)
		default:
			r.skip(typ)
		}
	})
}

func parseColumnIndex(b []byte) (*columnIndex, error) {
	r := &thriftReader{buf: b}
	x := &columnIndex{}
	r.structure(func(id int, typ byte) {
		switch id {
		case 1:
			r.each(typ, func(e byte) { x.nullPages = append(x.nullPages, r.listBool(e)) })
		case 2:
			r.each(typ, func(e byte) { x.min = append(x.min, r.binary(e)) })
		case 3:
			r.each(typ, func(e byte) { x.max = append(x.max, r.binary(e)) })
		case 4:
			x.order = r.i32(typ)
		case 5:
			r.each(typ, func(e byte) { x.nulls = append(x.nulls, r.integer(e)) })
		default:
			r.skip(typ)
		}
	})
	return x, r.err
}

func parseOffsetIndex(b []byte) ([]pageLocation, error) {
	r := &thriftReader{buf: b}
	var out []pageLocation
	r.structure(func(id int, typ byte) {
		if id != 1 {
			r.skip(typ)
			return
		}
		r.each(typ, func(e byte) {
			var p pageLocation
			r.sub(e, func(id int, typ byte) {
				switch id {
				case 1:
					p.off = r.integer(typ)
				case 2:
					p.size = r.i32(typ)
				case 3:
					p.firstRow = r.integer(typ)
				default:
					r.skip(typ)
				}
			})
			out = append(out, p)
		})
	})
	return out, r.err
}
