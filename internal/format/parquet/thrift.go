package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The structures of a Parquet file are in Thrift's compact protocol. What is needed of it is here:
// it is little, and a reader of one's own can bound what a hostile file makes it do.

// Types of the compact protocol.
const (
	tTrue   = 1
	tFalse  = 2
	tByte   = 3
	tI16    = 4
	tI32    = 5
	tI64    = 6
	tDouble = 7
	tBinary = 8
	tList   = 9
	tSet    = 10
	tMap    = 11
	tStruct = 12
)

const maxThriftDepth = 32

var (
	errThriftShort = errors.New("metadata ends too early")
	errThriftType  = errors.New("metadata field has an unexpected type")
	errThriftDeep  = errors.New("metadata is nested too deeply")
	errThriftSize  = errors.New("metadata names a size beyond its own")
)

// thriftReader reads one structure. The first error sticks: after it everything reads as zero, so
// callers look at err once, at the end.
type thriftReader struct {
	buf   []byte
	pos   int
	depth int
	err   error
}

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w (at byte %d)", err, r.pos)
	}
	r.pos = len(r.buf)
}

func (r *thriftReader) byte() byte {
	if r.pos >= len(r.buf) {
		r.fail(errThriftShort)
		return 0
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

func (r *thriftReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.buf[r.pos:])
	if n <= 0 {
		r.fail(errThriftShort)
		return 0
	}
	r.pos += n
	return v
}

func (r *thriftReader) zigzag() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// integer reads a field of one of the integer types.
func (r *thriftReader) integer(typ byte) int64 {
	switch typ {
	case tByte:
		return int64(int8(r.byte()))
	case tI16, tI32, tI64:
		return r.zigzag()
	}
	r.fail(errThriftType)
	return 0
}

func (r *thriftReader) i32(typ byte) int32 {
	v := r.integer(typ)
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.fail(errThriftSize)
		return 0
	}
	return int32(v)
}

func (r *thriftReader) boolean(typ byte) bool {
	if typ != tTrue && typ != tFalse {
		r.fail(errThriftType)
	}
	return typ == tTrue
}

// binary reads bytes that stay part of the buffer.
func (r *thriftReader) binary(typ byte) []byte {
	if typ != tBinary {
		r.fail(errThriftType)
		return nil
	}
	n := r.uvarint()
	if n > uint64(len(r.buf)-r.pos) {
		r.fail(errThriftShort)
		return nil
	}
	b := r.buf[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// list reads the head of a list: each element has at least one byte, which bounds its size.
func (r *thriftReader) list(typ byte) (n int, elem byte) {
	if typ != tList && typ != tSet {
		r.fail(errThriftType)
		return 0, 0
	}
	h := r.byte()
	n64 := uint64(h >> 4)
	if n64 == 15 {
		n64 = r.uvarint()
	}
	if n64 > uint64(len(r.buf)-r.pos) {
		r.fail(errThriftSize)
		return 0, 0
	}
	return int(n64), h & 15
}

// structure calls f for each field. f reads the value or calls skip.
func (r *thriftReader) structure(f func(id int, typ byte)) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxThriftDepth {
		r.fail(errThriftDeep)
		return
	}
	id := 0
	for r.err == nil {
		h := r.byte()
		if h == 0 {
			return
		}
		if d := int(h >> 4); d != 0 {
			id += d
		} else {
			id = int(r.zigzag())
		}
		f(id, h&15)
	}
}

// sub reads a field that is a structure.
func (r *thriftReader) sub(typ byte, f func(id int, typ byte)) {
	if typ != tStruct {
		r.fail(errThriftType)
		return
	}
	r.structure(f)
}

// each calls f for each element of a list.
func (r *thriftReader) each(typ byte, f func(elem byte)) {
	n, elem := r.list(typ)
	for i := 0; i < n && r.err == nil; i++ {
		f(elem)
	}
}

// listBool reads an element of a list of booleans, which takes a byte there.
func (r *thriftReader) listBool(elem byte) bool {
	if elem != tTrue && elem != tFalse {
		r.fail(errThriftType)
		return false
	}
	return r.byte() == tTrue
}

func (r *thriftReader) skip(typ byte) {
	switch typ {
	case tTrue, tFalse:
	case tByte:
		r.byte()
	case tI16, tI32, tI64:
		r.uvarint()
	case tDouble:
		r.advance(8)
	case tBinary:
		r.binary(typ)
	case tList, tSet:
		r.depth++
		if r.depth > maxThriftDepth {
			r.fail(errThriftDeep)
			return
		}
		r.each(typ, r.skipElem)
		r.depth--
	case tMap:
		r.skipMap()
	case tStruct:
		r.structure(func(_ int, typ byte) { r.skip(typ) })
	default:
		r.fail(errThriftType)
	}
}

func (r *thriftReader) skipElem(typ byte) {
	if typ == tTrue || typ == tFalse {
		r.byte()
		return
	}
	r.skip(typ)
}

func (r *thriftReader) skipMap() {
	n := r.uvarint()
	if n == 0 {
		return
	}
	if n > uint64(len(r.buf)-r.pos) {
		r.fail(errThriftSize)
		return
	}
	r.depth++
	if r.depth > maxThriftDepth {
		r.fail(errThriftDeep)
		return
	}
	kv := r.byte()
	for i := uint64(0); i < n && r.err == nil; i++ {
		r.skipElem(kv >> 4)
		r.skipElem(kv & 15)
	}
	r.depth--
}

func (r *thriftReader) advance(n int) {
	if n > len(r.buf)-r.pos {
		r.fail(errThriftShort)
		return
	}
	r.pos += n
}

// thriftWriter appends structures to buf. Fields of a structure have to come in the order of their
// numbers.
type thriftWriter struct {
	buf  []byte
	last []int // number of the last field of each open structure
}

func (w *thriftWriter) begin() { w.last = append(w.last, 0) }

func (w *thriftWriter) end() {
	w.last = w.last[:len(w.last)-1]
	w.buf = append(w.buf, 0)
}

func (w *thriftWriter) field(id int, typ byte) {
	l := &w.last[len(w.last)-1]
	if d := id - *l; d > 0 && d < 16 {
		w.buf = append(w.buf, byte(d)<<4|typ)
	} else {
		w.buf = append(w.buf, typ)
		w.zigzag(int64(id))
	}
	*l = id
}

func (w *thriftWriter) uvarint(v uint64) { w.buf = binary.AppendUvarint(w.buf, v) }
func (w *thriftWriter) zigzag(v int64)   { w.uvarint(uint64(v)<<1 ^ uint64(v>>63)) }

func (w *thriftWriter) i16(id int, v int16) { w.field(id, tI16); w.zigzag(int64(v)) }
func (w *thriftWriter) i32(id int, v int32) { w.field(id, tI32); w.zigzag(int64(v)) }
func (w *thriftWriter) i64(id int, v int64) { w.field(id, tI64); w.zigzag(v) }

func (w *thriftWriter) boolean(id int, v bool) {
	if v {
		w.field(id, tTrue)
	} else {
		w.field(id, tFalse)
	}
}

func (w *thriftWriter) bytes(b []byte) {
	w.uvarint(uint64(len(b)))
	w.buf = append(w.buf, b...)
}

func (w *thriftWriter) binary(id int, b []byte) { w.field(id, tBinary); w.bytes(b) }

func (w *thriftWriter) list(id int, elem byte, n int) {
	w.field(id, tList)
	if n < 15 {
		w.buf = append(w.buf, byte(n)<<4|elem)
		return
	}
	w.buf = append(w.buf, 15<<4|elem)
	w.uvarint(uint64(n))
}

// empty writes a field that is a structure without fields.
func (w *thriftWriter) empty(id int) {
	w.field(id, tStruct)
	w.buf = append(w.buf, 0)
}
