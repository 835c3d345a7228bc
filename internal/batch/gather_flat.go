package batch

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// word16 is a 16-byte value: a decimal128.
type word16 [2]uint64

// view reads bytes as values of a fixed width.
func view[T any](b []byte) []T {
	var z T
	n := len(b) / int(unsafe.Sizeof(z))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// raw is the inverse of view.
func raw[T any](v []T) []byte {
	if len(v) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

func buffer(a arrow.Array, i int) []byte {
	if b := a.Data().Buffers()[i]; b != nil {
		return b.Bytes()
	}
	return nil
}

func gatherFixed(arrs []arrow.Array, s *Selection, bits int) (*array.Data, error) {
	var out []byte
	switch bits {
	case 8:
		out = raw(gatherWidth[uint8](arrs, s))
	case 16:
		out = raw(gatherWidth[uint16](arrs, s))
	case 32:
		out = raw(gatherWidth[uint32](arrs, s))
	case 64:
		out = raw(gatherWidth[uint64](arrs, s))
	case 128:
		out = raw(gatherWidth[word16](arrs, s))
	default:
		return nil, fmt.Errorf("rows of type %s cannot be gathered", arrs[0].DataType())
	}
	return makeData(arrs[0].DataType(), s, arrs, nil, out), nil
}

func gatherWidth[T any](arrs []arrow.Array, s *Selection) []T {
	srcs := make([][]T, len(arrs))
	for i, a := range arrs {
		if a.Len() > 0 {
			srcs[i] = view[T](buffer(a, 1))[a.Data().Offset():][:a.Len()]
		}
	}
	out := make([]T, s.n)
	switch {
	case s.runs != nil:
		at := out
		for _, r := range s.runs {
			copy(at, srcs[r.src][r.from:r.from+r.n])
			at = at[r.n:]
		}
	case s.nulls:
		for i, r := range s.refs {
			if r.Src >= 0 {
				out[i] = srcs[r.Src][r.Row]
			}
		}
	default:
		refs := s.refs[:len(out)]
		for i := range out {
			r := refs[i]
			out[i] = srcs[r.Src][r.Row]
		}
	}
	return out
}

func gatherBool(arrs []arrow.Array, s *Selection) *array.Data {
	srcs := make([]bitmap, len(arrs))
	for i, a := range arrs {
		srcs[i] = bitmap{buffer(a, 1), a.Data().Offset()}
	}
	bits := make([]byte, bitutil.BytesForBits(int64(s.n)))
	if s.runs != nil {
		at := 0
		for _, r := range s.runs {
			m := srcs[r.src]
			for j := r.from; j < r.from+r.n; j++ {
				if bitutil.BitIsSet(m.bits, m.off+int(j)) {
					bits[at>>3] |= 1 << (at & 7)
				}
				at++
			}
		}
	} else {
		for i, r := range s.refs {
			if r.Src >= 0 && bitutil.BitIsSet(srcs[r.Src].bits, srcs[r.Src].off+int(r.Row)) {
				bits[i>>3] |= 1 << (i & 7)
			}
		}
	}
	return makeData(arrs[0].DataType(), s, arrs, nil, bits)
}

// bytesSrc is a string or binary column: value i is data[off[i]:off[i+1]].
type bytesSrc struct {
	off  []int32
	data []byte
}

func bytesOf(a arrow.Array) bytesSrc {
	if a.Len() == 0 {
		return bytesSrc{}
	}
	o := a.Data().Offset()
	return bytesSrc{view[int32](buffer(a, 1))[o:][:a.Len()+1], buffer(a, 2)}
}

// slack is up to how many bytes may be copied where fewer are meant.
const slack = 64

// gatherBytes sums up the lengths, then copies once.
func gatherBytes(arrs []arrow.Array, s *Selection) (*array.Data, error) {
	srcs := make([]bytesSrc, len(arrs))
	for i, a := range arrs {
		srcs[i] = bytesOf(a)
	}
	off := make([]int32, s.n+1)
	if s.runs != nil {
		return gatherByteRuns(arrs, srcs, s, off)
	}
	total := int64(0)
	dst := off[1:]
	from := make([]int32, s.n)
	for i, r := range s.refs {
		if r.Src >= 0 {
			o := srcs[r.Src].off
			lo := o[r.Row]
			from[i] = lo
			total += int64(o[r.Row+1] - lo)
		}
		dst[i] = int32(total)
	}
	if total > math.MaxInt32 {
		return nil, ErrTooLarge
	}
	buf := make([]byte, total+slack)
	copyBytes(buf, srcs, s.refs, from, off)
	return makeData(arrs[0].DataType(), s, arrs, nil, raw(off), buf[:total:total]), nil
}

// copyBytes copies value i of refs to buf[off[i]:]. Short values are copied in pieces of 16 bytes, of
// which the last may be too long: the next value is written over what is too much.
func copyBytes(buf []byte, srcs []bytesSrc, refs []Ref, from, off []int32) {
	from = from[:len(refs)]
	off = off[:len(refs)+1]
	for i, r := range refs {
		if r.Src < 0 {
			continue
		}
		data := srcs[r.Src].data
		lo, at := int(from[i]), int(off[i])
		n := int(off[i+1]) - at
		if lo+slack > len(data) || n > slack {
			copy(buf[at:], data[lo:lo+n])
			continue
		}
		src, dst := unsafe.Pointer(unsafe.SliceData(data[lo:lo+slack])), unsafe.Pointer(unsafe.SliceData(buf[at:at+slack]))
		*(*word16)(dst) = *(*word16)(src)
		if n > 16 {
			*(*word16)(unsafe.Add(dst, 16)) = *(*word16)(unsafe.Add(src, 16))
			if n > 32 {
				*(*word16)(unsafe.Add(dst, 32)) = *(*word16)(unsafe.Add(src, 32))
				*(*word16)(unsafe.Add(dst, 48)) = *(*word16)(unsafe.Add(src, 48))
			}
		}
	}
}

func gatherByteRuns(arrs []arrow.Array, srcs []bytesSrc, s *Selection, off []int32) (*array.Data, error) {
	total := int64(0)
	dst := off[1:]
	for _, r := range s.runs {
		if r.n == 0 {
			continue
		}
		o := srcs[r.src].off[r.from : r.from+r.n+1]
		shift := total - int64(o[0])
		total += int64(o[r.n] - o[0])
		if total > math.MaxInt32 {
			return nil, ErrTooLarge
		}
		for i, x := range o[1:] {
			dst[i] = int32(int64(x) + shift)
		}
		dst = dst[r.n:]
	}
	buf := make([]byte, 0, total)
	for _, r := range s.runs {
		if r.n > 0 {
			src := srcs[r.src]
			buf = append(buf, src.data[src.off[r.from]:src.off[r.from+r.n]]...)
		}
	}
	return makeData(arrs[0].DataType(), s, arrs, nil, raw(off), buf), nil
}
