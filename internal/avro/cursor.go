package avro

import (
	"errors"
	"fmt"
)

// Cursor walks through bytes of Avro data. After the first error all reads give zero values. It is for one goroutine;
// what it gives are pieces of its data.
type Cursor struct {
	B     []byte // the data
	P     int    // where the next value begins
	Err   error  // the first error
	steps int    // values skipped
}

var (
	// ErrShort says that data ends within a value.
	ErrShort  = errors.New("data ends early")
	errVarint = errors.New("number has more than 64 bits")
)

func (r *Cursor) Fail(err error) {
	if r.Err == nil {
		r.Err = err
		r.P = len(r.B)
	}
}

// Long reads an int or long: a zigzag varint.
func (r *Cursor) Long() int64 {
	if p := r.P; p < len(r.B) && r.B[p] < 0x80 {
		r.P = p + 1
		u := uint64(r.B[p])
		return int64(u>>1) ^ -int64(u&1)
	}
	return r.longSlow()
}

func (r *Cursor) longSlow() int64 {
	var u uint64
	b := r.B[r.P:]
	for i, c := range b {
		if i == 9 && c > 1 || i > 9 {
			r.Fail(errVarint)
			return 0
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.P += i + 1
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	r.Fail(ErrShort)
	return 0
}

// Bytes reads bytes or a string; the result is a piece of the data.
func (r *Cursor) Bytes() []byte {
	if p := r.P; p < len(r.B) && r.B[p]&0x81 == 0 { // up to 63 bytes
		if from, to := p+1, p+1+int(r.B[p]>>1); to <= len(r.B) {
			r.P = to
			return r.B[from:to:to]
		}
	}
	return r.bytesSlow()
}

func (r *Cursor) bytesSlow() []byte {
	n := r.Long()
	if n < 0 || n > int64(len(r.B)-r.P) {
		r.Fail(ErrShort)
		return nil
	}
	from := r.P
	r.P += int(n)
	return r.B[from:r.P:r.P]
}

func (r *Cursor) Skip(n int64) {
	if n < 0 || n > int64(len(r.B)-r.P) {
		r.Fail(ErrShort)
		return
	}
	r.P += int(n)
}

// Take reads n bytes.
func (r *Cursor) Take(n int64) []byte {
	from := r.P
	if r.Skip(n); r.Err != nil {
		return nil
	}
	return r.B[from:r.P:r.P]
}

// End says whether all went well and all was read.
func (r *Cursor) End() error {
	if r.Err == nil && r.P != len(r.B) {
		return fmt.Errorf("%d bytes too many", len(r.B)-r.P)
	}
	return r.Err
}

// BlockLen reads the head of a block of an array or map: how many items follow, 0 at the end.
func (r *Cursor) BlockLen() int64 {
	n := r.Long()
	if n < 0 {
		r.Long() // the size of the block, which is not needed
		n = -n
	}
	// An item of zero bytes occurs in no schema of the format, and no Cursor has to believe a count
	// that the data cannot hold.
	if n < 0 || n > int64(len(r.B)-r.P) {
		r.Fail(ErrShort)
		return 0
	}
	return n
}

// Step counts a value that may take no bytes: values of no bytes cost time all the same, and arrays of them could say
// that they have millions. It reports whether there may be so many in this data.
func (r *Cursor) Step() bool {
	if r.steps++; r.steps > 8*len(r.B)+1024 {
		r.Fail(ErrShort)
		return false
	}
	return true
}

// SkipValue passes over a value.
func (r *Cursor) SkipValue(t *Type, depth int) {
	if depth > 64 {
		r.Fail(ErrNesting)
		return
	}
	if !r.Step() {
		return
	}
	switch t.Kind {
	case Null:
	case Boolean:
		r.Skip(1)
	case Long, Enum:
		r.Long()
	case Float:
		r.Skip(4)
	case Double:
		r.Skip(8)
	case Bytes:
		r.Bytes()
	case Fixed:
		r.Skip(int64(t.Size))
	case Array, Map:
		for n := r.BlockLen(); n > 0 && r.Err == nil; n = r.BlockLen() {
			for ; n > 0 && r.Err == nil; n-- {
				if t.Kind == Map {
					r.Bytes()
				}
				r.SkipValue(t.Items, depth+1)
			}
		}
	case Record:
		for i := range t.Fields {
			r.SkipValue(t.Fields[i].Type, depth+1)
			if r.Err != nil {
				return
			}
		}
	case Union:
		i := r.Long()
		if i < 0 || i >= int64(len(t.Union)) {
			r.Fail(fmt.Errorf("union has no branch %d", i))
			return
		}
		r.SkipValue(t.Union[i], depth+1)
	}
}

// IsNull reads the branch of a union with one other type, if the value is one.
func (r *Cursor) IsNull(nullAt int) bool {
	if nullAt < 0 {
		return false
	}
	if p := r.P; p < len(r.B) && r.B[p]&^2 == 0 { // branch 0 or 1
		r.P = p + 1
		return int(r.B[p]>>1) == nullAt
	}
	i := r.Long()
	if i != 0 && i != 1 {
		r.Fail(fmt.Errorf("union has no branch %d", i))
		return true
	}
	return i == int64(nullAt)
}

// AppendLong appends an int or long.
func AppendLong(b []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for u >= 0x80 {
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// AppendBytes appends bytes or a string.
func AppendBytes[T ~string | ~[]byte](b []byte, v T) []byte {
	b = AppendLong(b, int64(len(v)))
	return append(b, v...)
}

// AppendStrings appends an array of strings.
func AppendStrings(b []byte, v []string) []byte {
	if len(v) > 0 {
		b = AppendLong(b, int64(len(v)))
		for _, s := range v {
			b = AppendBytes(b, s)
		}
	}
	return append(b, 0)
}
