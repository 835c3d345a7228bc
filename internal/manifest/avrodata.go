package manifest

import (
	"errors"
	"fmt"
)

// reader walks through bytes of Avro data. After the first error all reads give zero values.
type reader struct {
	b     []byte
	p     int
	err   error
	steps int // values skipped
}

var (
	errShort  = errors.New("data ends early")
	errVarint = errors.New("number has more than 64 bits")
)

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
		r.p = len(r.b)
	}
}

// long reads an int or long: a zigzag varint.
func (r *reader) long() int64 {
	if p := r.p; p < len(r.b) && r.b[p] < 0x80 {
		r.p = p + 1
		u := uint64(r.b[p])
		return int64(u>>1) ^ -int64(u&1)
	}
	return r.longSlow()
}

func (r *reader) longSlow() int64 {
	var u uint64
	b := r.b[r.p:]
	for i, c := range b {
		if i == 9 && c > 1 || i > 9 {
			r.fail(errVarint)
			return 0
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.p += i + 1
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	r.fail(errShort)
	return 0
}

// bytes reads bytes or a string; the result is a piece of the data.
func (r *reader) bytes() []byte {
	if p := r.p; p < len(r.b) && r.b[p]&0x81 == 0 { // up to 63 bytes
		if from, to := p+1, p+1+int(r.b[p]>>1); to <= len(r.b) {
			r.p = to
			return r.b[from:to:to]
		}
	}
	return r.bytesSlow()
}

func (r *reader) bytesSlow() []byte {
	n := r.long()
	if n < 0 || n > int64(len(r.b)-r.p) {
		r.fail(errShort)
		return nil
	}
	from := r.p
	r.p += int(n)
	return r.b[from:r.p:r.p]
}

func (r *reader) skip(n int64) {
	if n < 0 || n > int64(len(r.b)-r.p) {
		r.fail(errShort)
		return
	}
	r.p += int(n)
}

// blockLen reads the head of a block of an array or map: how many items follow, 0 at the end.
func (r *reader) blockLen() int64 {
	n := r.long()
	if n < 0 {
		r.long() // the size of the block, which is not needed
		n = -n
	}
	// An item of zero bytes occurs in no schema of the format, and no reader has to believe a count
	// that the data cannot hold.
	if n < 0 || n > int64(len(r.b)-r.p) {
		r.fail(errShort)
		return 0
	}
	return n
}

// skipValue passes over a value.
func (r *reader) skipValue(t *atype, depth int) {
	if depth > 64 {
		r.fail(errNesting)
		return
	}
	// Values of no bytes cost time all the same: arrays of them could say that they have millions.
	if r.steps++; r.steps > 8*len(r.b)+1024 {
		r.fail(errShort)
		return
	}
	switch t.kind {
	case aNull:
	case aBool:
		r.skip(1)
	case aLong, aEnum:
		r.long()
	case aFloat:
		r.skip(4)
	case aDouble:
		r.skip(8)
	case aBytes:
		r.bytes()
	case aFixed:
		r.skip(int64(t.size))
	case aArray, aMap:
		for n := r.blockLen(); n > 0 && r.err == nil; n = r.blockLen() {
			for ; n > 0 && r.err == nil; n-- {
				if t.kind == aMap {
					r.bytes()
				}
				r.skipValue(t.items, depth+1)
			}
		}
	case aRecord:
		for i := range t.fields {
			r.skipValue(t.fields[i].typ, depth+1)
			if r.err != nil {
				return
			}
		}
	case aUnion:
		i := r.long()
		if i < 0 || i >= int64(len(t.union)) {
			r.fail(fmt.Errorf("union has no branch %d", i))
			return
		}
		r.skipValue(t.union[i], depth+1)
	}
}

// isNull reads the branch of a union with one other type, if the value is one.
func (r *reader) isNull(nullAt int) bool {
	if nullAt < 0 {
		return false
	}
	if p := r.p; p < len(r.b) && r.b[p]&^2 == 0 { // branch 0 or 1
		r.p = p + 1
		return int(r.b[p]>>1) == nullAt
	}
	i := r.long()
	if i != 0 && i != 1 {
		r.fail(fmt.Errorf("union has no branch %d", i))
		return true
	}
	return i == int64(nullAt)
}

func appendLong(b []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for u >= 0x80 {
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

func appendBytes[T ~string | ~[]byte](b []byte, v T) []byte {
	b = appendLong(b, int64(len(v)))
	return append(b, v...)
}

func appendStrings(b []byte, v []string) []byte {
	if len(v) > 0 {
		b = appendLong(b, int64(len(v)))
		for _, s := range v {
			b = appendBytes(b, s)
		}
	}
	return append(b, 0)
}
