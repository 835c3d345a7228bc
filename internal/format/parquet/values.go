package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

var (
	errShortValues = errors.New("the page has too few values")
	errBadLength   = errors.New("a value's length reaches beyond the page")
)

// bytesOf is the memory of numbers as bytes. Files are little-endian, as are the machines that
// this runs on (and Arrow's buffers).
func bytesOf[T any](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// rawSlice is memory that is not cleared: all of it is written before anybody reads it. T holds no
// pointers. The builder of strings is the one way that the standard library offers.
func rawSlice[T any](n int) []T {
	var zero T
	size := n * int(unsafe.Sizeof(zero))
	if size < 1<<10 {
		return make([]T, n)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteByte(0) // an empty string need not have an address
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.StringData(b.String()))), n)
}

// roomFor lengthens b by n bytes of any value.
func roomFor(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	out := rawSlice[byte](len(b) + n + n/8)
	return out[:copy(out, b)+n]
}

// values decodes the values of a page (without NULLs) in their physical type, for all encodings
// but dictionaries.
type values struct {
	phys  physical
	width int // of FIXED_LEN_BYTE_ARRAY
	enc   encoding
	data  []byte
	left  int // an upper bound of the values left

	more  func() ([]byte, error) // PLAIN: all of data, if that is the beginning of the page; else nil
	pos   int                    // PLAIN: next byte; BOOLEAN: next bit; BYTE_STREAM_SPLIT: next value
	delta delta
	rle   hybrid

	lengths, prefixes []int64 // DELTA_(LENGTH_)BYTE_ARRAY, those to come
	lenBuf, preBuf    []int64
	last              []byte // DELTA_BYTE_ARRAY: the value before
	scratch           []int64
}

// reset starts a page.
func (v *values) reset(enc encoding, data []byte, n int) error {
	v.enc, v.data, v.left, v.pos, v.more = enc, data, n, 0, nil
	switch {
	case enc == encPlain:
		return nil
	case enc == encRLE && v.phys == physBool:
		levels, _, err := cutLevels(data, encRLE)
		if err != nil {
			return err
		}
		return v.rle.reset(levels, 1)
	case enc == encDelta && (v.phys == physInt32 || v.phys == physInt64):
		return v.delta.reset(data)
	case enc == encByteStreamSpl && v.phys != physBool && v.phys != physBytes:
		v.left = len(data) / v.size()
		return nil
	case enc == encDeltaLength && v.phys == physBytes:
		return v.resetLengths(data, false, n)
	case enc == encDeltaBytes && (v.phys == physBytes || v.phys == physFixed):
		return v.resetLengths(data, true, n)
	}
	return fmt.Errorf("encoding %s of %s %w", enc, v.phys, errUnsupported)
}

func (v *values) resetLengths(data []byte, prefixed bool, n int) (err error) {
	v.last = v.last[:0]
	v.prefixes = nil
	if prefixed {
		if v.preBuf, data, err = v.readLengths(v.preBuf, data, n); err != nil {
			return err
		}
		v.prefixes = v.preBuf
	}
	if v.lenBuf, data, err = v.readLengths(v.lenBuf, data, n); err != nil {
		return err
	}
	v.lengths, v.data = v.lenBuf, data
	if prefixed && len(v.prefixes) != len(v.lengths) {
		return errDelta
	}
	return nil
}

func (v *values) readLengths(buf []int64, data []byte, n int) ([]int64, []byte, error) {
	if err := v.delta.reset(data); err != nil {
		return buf, nil, err
	}
	if v.delta.total > n {
		return buf, nil, errDelta
	}
	if cap(buf) < v.delta.total {
		buf = make([]int64, v.delta.total)
	}
	buf = buf[:v.delta.total]
	if err := v.delta.decode(buf); err != nil {
		return buf, nil, err
	}
	return buf, v.delta.rest(), nil
}

// want sees to it that n more bytes of a PLAIN page are there.
func (v *values) want(n int) error {
	if n > len(v.data)-v.pos && v.more != nil {
		data, err := v.more()
		if err != nil {
			return err
		}
		v.data, v.more = data, nil
	}
	if n > len(v.data)-v.pos {
		return errShortValues
	}
	return nil
}

// wantLength is want for a length that the page itself names.
func (v *values) wantLength(n int) error {
	err := v.want(n)
	if errors.Is(err, errShortValues) {
		return errBadLength
	}
	return err
}

// size is the width of a value of a type of fixed width.
func (v *values) size() int {
	switch v.phys {
	case physInt32, physFloat:
		return 4
	case physInt64, physDouble:
		return 8
	case physInt96:
		return 12
	case physFixed:
		return v.width
	}
	return 1
}

// fixed gives the next values of a type of fixed width as they lie in a PLAIN page.
func (v *values) fixed(dst []byte) error {
	w := v.size()
	switch v.enc {
	case encPlain:
		if err := v.want(len(dst)); err != nil {
			return err
		}
		v.pos += copy(dst, v.data[v.pos:])
		return nil
	case encByteStreamSpl:
		n := len(dst) / w
		if n > v.left-v.pos {
			return errShortValues
		}
		for b := range w {
			src := v.data[b*v.left+v.pos : b*v.left+v.pos+n]
			for i, x := range src {
				dst[i*w+b] = x
			}
		}
		v.pos += n
		return nil
	case encDeltaBytes:
		for ; len(dst) > 0; dst = dst[w:] {
			if err := v.step(); err != nil {
				return err
			}
			if len(v.last) != w {
				return errBadLength
			}
			copy(dst, v.last)
		}
		return nil
	}
	return errUnsupported
}

func (v *values) int32s(dst []int32) error {
	if v.enc != encDelta {
		return v.fixed(bytesOf(dst))
	}
	if cap(v.scratch) < len(dst) {
		v.scratch = make([]int64, len(dst))
	}
	s := v.scratch[:len(dst)]
	if err := v.delta.decode(s); err != nil {
		return err
	}
	for i, x := range s {
		dst[i] = int32(x) // differences of INT32 wrap at 32 bits
	}
	return nil
}

func (v *values) int64s(dst []int64) error {
	if v.enc == encDelta {
		return v.delta.decode(dst)
	}
	return v.fixed(bytesOf(dst))
}

// bools gives the next values as 0 and 1.
func (v *values) bools(dst []uint8) error {
	if v.enc == encRLE {
		return v.rle.levels(dst, 1)
	}
	if v.pos+len(dst) > len(v.data)*8 {
		return errShortValues
	}
	for i := range dst {
		dst[i] = v.data[v.pos>>3] >> (v.pos & 7) & 1
		v.pos++
	}
	return nil
}

// step decodes the next value of DELTA_BYTE_ARRAY into last.
func (v *values) step() error {
	if len(v.lengths) == 0 {
		return errShortValues
	}
	p, n := v.prefixes[0], v.lengths[0]
	v.prefixes, v.lengths = v.prefixes[1:], v.lengths[1:]
	if p < 0 || p > int64(len(v.last)) || n < 0 || n > int64(len(v.data)-v.pos) {
		return errBadLength
	}
	v.last = append(v.last[:p], v.data[v.pos:v.pos+int(n)]...)
	v.pos += int(n)
	return nil
}

// maxStrings bounds the bytes of one column of a batch: Arrow's offsets have 32 bits.
const maxStrings = 1<<31 - 1

var errStrings = errors.New("the values of one batch take more than 2 GB; ask for fewer rows a batch")

// strings appends the next n values to data and the ends of them to offs.
func (v *values) strings(offs []int32, data []byte, n int) ([]int32, []byte, error) {
	switch v.enc {
	case encPlain:
		return v.plainStrings(offs, data, n)
	case encDeltaLength:
		if n > len(v.lengths) {
			return offs, data, errShortValues
		}
		from, end := v.pos, int64(v.pos)
		base := int64(len(data)) - int64(v.pos)
		for _, l := range v.lengths[:n] {
			end += l
			if l < 0 || end > int64(len(v.data)) {
				return offs, data, errBadLength
			}
			if base+end > maxStrings {
				return offs, data, errStrings
			}
			offs = append(offs, int32(base+end))
		}
		v.lengths = v.lengths[n:]
		v.pos = int(end)
		return offs, append(data, v.data[from:end]...), nil
	case encDeltaBytes:
		for range n {
			if err := v.step(); err != nil {
				return offs, data, err
			}
			if len(data)+len(v.last) > maxStrings {
				return offs, data, errStrings
			}
			data = append(data, v.last...)
			offs = append(offs, int32(len(data)))
		}
		return offs, data, nil
	}
	return offs, data, errUnsupported
}

func (v *values) plainStrings(offs []int32, data []byte, n int) ([]int32, []byte, error) {
	b, pos := v.data, v.pos
	// The bytes that the values take at most, less if the page goes on behind them: the first
	// guess is their share of the page.
	if need := len(b) - pos; v.left > 0 && n > 0 {
		guess := int(int64(need)*int64(n)/int64(max(v.left, n))) + 64
		data = roomFor(data, guess)[:len(data)]
	}
	for range n {
		if len(b)-pos < 4 {
			v.pos = pos
			if err := v.want(4); err != nil {
				return offs, data, err
			}
			b = v.data
		}
		l := int(binary.LittleEndian.Uint32(b[pos:]))
		pos += 4
		if l > len(b)-pos {
			v.pos = pos
			if err := v.wantLength(l); err != nil {
				return offs, data, err
			}
			b = v.data
		}
		data = appendShort(data, b, pos, l)
		pos += l
		offs = append(offs, int32(len(data)))
	}
	if len(data) > maxStrings {
		return offs, data, errStrings
	}
	v.left -= n
	v.pos = pos
	return offs, data, nil
}

// appendShort appends the n bytes at an offset of src, faster than append if they are few and there is room behind
// them, here and there.
func appendShort(dst, src []byte, at, n int) []byte {
	k := len(dst)
	if n > 64 || cap(dst)-k < 64 || cap(src)-at < 64 {
		return append(dst, src[at:at+n]...)
	}
	to, from := dst[k:k+64], src[at:at+64]
	*(*[32]byte)(to) = *(*[32]byte)(from)
	if n > 32 {
		*(*[32]byte)(to[32:]) = *(*[32]byte)(from[32:])
	}
	return dst[:k+n]
}

// skip passes over n values.
func (v *values) skip(n int) error {
	switch v.enc {
	case encPlain:
		switch v.phys {
		case physBytes:
			for range n {
				if len(v.data)-v.pos < 4 {
					if err := v.want(4); err != nil {
						return err
					}
				}
				l := int(binary.LittleEndian.Uint32(v.data[v.pos:]))
				v.pos += 4
				if l > len(v.data)-v.pos {
					if err := v.wantLength(l); err != nil {
						return err
					}
				}
				v.pos += l
			}
			v.left -= n
		case physBool:
			v.pos += n
			if v.pos > len(v.data)*8 {
				return errShortValues
			}
		default:
			if err := v.want(n * v.size()); err != nil {
				return err
			}
			v.pos += n * v.size()
		}
	case encRLE:
		return v.rle.skip(n)
	case encByteStreamSpl:
		v.pos += n
		if v.pos > v.left {
			return errShortValues
		}
	case encDelta:
		return v.skipDelta(n)
	case encDeltaLength:
		if n > len(v.lengths) {
			return errShortValues
		}
		for _, l := range v.lengths[:n] {
			if l < 0 || l > int64(len(v.data)-v.pos) {
				return errBadLength
			}
			v.pos += int(l)
		}
		v.lengths = v.lengths[n:]
	case encDeltaBytes:
		for range n {
			if err := v.step(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *values) skipDelta(n int) error {
	var s [256]int64
	for n > 0 {
		k := min(n, len(s))
		if err := v.delta.decode(s[:k]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}
