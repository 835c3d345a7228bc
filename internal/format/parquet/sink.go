package parquet

import (
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// sink collects decoded values of one column into an Arrow array. Values come in runs: dense or
// indexed appends values that are not NULL, spread then makes room for NULLs between them.
type sink interface {
	// reset empties the sink. The memory of the last array is not touched, unless keep says that
	// nobody has it.
	reset(rows int, keep bool)
	// dictionary takes the n values of a dictionary page.
	dictionary(v *values, n int) error
	dense(v *values, n int) error
	indexed(ix []uint32) error
	// spread distributes the last values over len(valid) slots, those with 1.
	spread(valid []uint8, n int)
	// valid counts n values appended as not NULL.
	valid(n int)
	nulls(n int)
	// array is what there is. It shares the sink's memory: it is valid until a reset that keeps it.
	array() arrow.Array
}

var errIndex = errors.New("a value points beyond the dictionary")

// validity is the bitmap of a sink, made when the first NULL comes.
type validity struct {
	bits []byte
	n    int
	null int
	rows int
}

func (b *validity) reset(rows int) { *b = validity{rows: rows} }

func (b *validity) need() {
	if b.bits == nil {
		b.bits = make([]byte, 0, (b.rows+7)/8+8)
		k := b.n
		b.n = 0
		b.set(k)
	}
}

func (b *validity) room(n int) {
	for len(b.bits)*8 < b.n+n {
		b.bits = append(b.bits, 0)
	}
}

// set appends n ones.
func (b *validity) set(n int) {
	b.room(n)
	for i := b.n; i < b.n+n; {
		if i&7 == 0 && i+8 <= b.n+n {
			b.bits[i>>3] = 0xff
			i += 8
			continue
		}
		b.bits[i>>3] |= 1 << (i & 7)
		i++
	}
	b.n += n
}

func (b *validity) valid(n int) {
	if b.bits == nil {
		b.n += n
		return
	}
	b.set(n)
}

func (b *validity) nulls(n int) {
	if n == 0 {
		return
	}
	b.need()
	b.room(n)
	b.n += n
	b.null += n
}

func (b *validity) flags(f []uint8, valid int) {
	if valid == len(f) {
		b.valid(valid)
		return
	}
	b.need()
	b.room(len(f))
	for i, x := range f {
		b.bits[(b.n+i)>>3] |= x << ((b.n + i) & 7)
	}
	b.n += len(f)
	b.null += len(f) - valid
}

func (b *validity) buffer() *memory.Buffer {
	if b.null == 0 {
		return nil
	}
	return memory.NewBufferBytes(b.bits)
}

// fixedSink is the sink of types whose Arrow values have a fixed width.
type fixedSink[T any] struct {
	dt   arrow.DataType
	load func(v *values, dst []T) error
	buf  []T
	dict []T
	validity
}

func (s *fixedSink[T]) reset(rows int, keep bool) {
	s.validity.reset(rows)
	if keep && cap(s.buf) >= rows {
		s.buf = s.buf[:0]
		return
	}
	s.buf = rawSlice[T](rows)[:0]
}

func (s *fixedSink[T]) extend(n int) []T {
	k := len(s.buf)
	if k+n > cap(s.buf) {
		b := rawSlice[T](max(k+n, 2*k))
		copy(b, s.buf)
		s.buf = b
	}
	s.buf = s.buf[:k+n]
	return s.buf[k:]
}

func (s *fixedSink[T]) dictionary(v *values, n int) error {
	s.dict = make([]T, n)
	return s.load(v, s.dict)
}

func (s *fixedSink[T]) dense(v *values, n int) error { return s.load(v, s.extend(n)) }

func (s *fixedSink[T]) indexed(ix []uint32) error {
	dst, dict := s.extend(len(ix)), s.dict
	for i, x := range ix {
		if int(x) >= len(dict) {
			return errIndex
		}
		dst[i] = dict[x]
	}
	return nil
}

func (s *fixedSink[T]) spread(valid []uint8, n int) {
	s.flags(valid, n)
	if n == len(valid) {
		return
	}
	s.extend(len(valid) - n)
	b := s.buf[len(s.buf)-len(valid):]
	var zero T
	j := n
	for i := len(valid) - 1; i >= 0; i-- {
		if valid[i] != 0 {
			j--
			b[i] = b[j]
		} else {
			b[i] = zero
		}
	}
}

func (s *fixedSink[T]) nulls(n int) {
	s.validity.nulls(n)
	clear(s.extend(n))
}

func (s *fixedSink[T]) array() arrow.Array {
	bufs := []*memory.Buffer{s.buffer(), memory.NewBufferBytes(bytesOf(s.buf))}
	return array.MakeFromData(array.NewData(s.dt, len(s.buf), bufs, nil, s.null, 0))
}

// boolSink packs booleans; they are collected a byte each.
type boolSink struct {
	fixedSink[uint8]
}

func newBoolSink(dt arrow.DataType) *boolSink {
	s := &boolSink{}
	s.dt = dt
	s.load = func(v *values, dst []uint8) error { return v.bools(dst) }
	return s
}

func packBools(v []uint8) *memory.Buffer {
	bits := make([]byte, (len(v)+7)/8)
	for i, x := range v {
		bits[i>>3] |= x << (i & 7)
	}
	return memory.NewBufferBytes(bits)
}

func (s *boolSink) array() arrow.Array {
	bufs := []*memory.Buffer{s.buffer(), packBools(s.buf)}
	return array.MakeFromData(array.NewData(s.dt, len(s.buf), bufs, nil, s.null, 0))
}

// shortValue is a value of up to 16 bytes.
type shortValue struct {
	b [16]byte
	n uint8
}

// bytesSink is the sink of strings and bytes.
type bytesSink struct {
	dt    arrow.DataType
	width int // of values in the file if they have a fixed width, else 0
	offs  []int32
	data  []byte
	most  int // bytes of the largest batch so far

	dictOffs  []int32
	dictData  []byte
	longest   int  // bytes of its longest value
	short     bool // no value is longer than 16 bytes, and all of them are in dictShort
	dictShort []shortValue
	validity
}

func (s *bytesSink) reset(rows int, keep bool) {
	s.validity.reset(rows)
	s.most = max(s.most, len(s.data))
	if keep && s.offs != nil {
		s.offs, s.data = s.offs[:1], s.data[:0]
		return
	}
	s.offs = append(rawSlice[int32](rows + 1)[:0], 0)
	s.data = rawSlice[byte](s.most + s.most/16)[:0]
}

func (s *bytesSink) dictionary(v *values, n int) (err error) {
	s.dictOffs, s.dictData, err = s.load(v, make([]int32, 1, n+1), nil, n)
	if err != nil {
		return err
	}
	s.longest = 0
	for i := range n {
		s.longest = max(s.longest, int(s.dictOffs[i+1]-s.dictOffs[i]))
	}
	if s.short = s.longest <= 16; s.short {
		s.dictShort = make([]shortValue, n)
		for i := range s.dictShort {
			s.dictShort[i].n = uint8(copy(s.dictShort[i].b[:], s.dictData[s.dictOffs[i]:s.dictOffs[i+1]]))
		}
	}
	return nil
}

func (s *bytesSink) load(v *values, offs []int32, data []byte, n int) ([]int32, []byte, error) {
	if s.width == 0 {
		return v.strings(offs, data, n)
	}
	k := len(data)
	if k+n*s.width > maxStrings {
		return offs, data, errStrings
	}
	data = grow(data, n*s.width)
	for i := range n {
		offs = append(offs, int32(k+(i+1)*s.width))
	}
	return offs, data, v.fixed(data[k:])
}

func (s *bytesSink) dense(v *values, n int) (err error) {
	s.offs, s.data, err = s.load(v, s.offs, s.data, n)
	return err
}

func (s *bytesSink) indexed(ix []uint32) error {
	if s.short {
		return s.shortIndexed(ix)
	}
	offs, last := s.dictOffs, uint32(len(s.dictOffs)-1)
	var total int64
	for _, x := range ix {
		if x >= last {
			return errIndex
		}
		total += int64(offs[x+1] - offs[x])
	}
	k := len(s.data)
	if int64(k)+total > maxStrings {
		return errStrings
	}
	s.data = roomFor(s.data, int(total))
	for _, x := range ix {
		k += copy(s.data[k:], s.dictData[offs[x]:offs[x+1]])
		s.offs = append(s.offs, int32(k))
	}
	return nil
}

// shortIndexed copies sixteen bytes of each value, whatever its length: the next one overwrites what is too much.
func (s *bytesSink) shortIndexed(ix []uint32) error {
	k, at := len(s.data), len(s.offs)
	if int64(k)+int64(len(ix))*int64(s.longest) > maxStrings {
		return errStrings
	}
	dst := roomFor(s.data, len(ix)*s.longest+slack)
	s.offs = slices.Grow(s.offs, len(ix))
	offs := s.offs[at : at+len(ix)]
	dict := s.dictShort
	for i, x := range ix {
		if int(x) >= len(dict) {
			return errIndex
		}
		v := &dict[x]
		*(*[16]byte)(dst[k:]) = v.b
		k += int(v.n)
		offs[i] = int32(k)
	}
	s.data, s.offs = dst[:k], s.offs[:at+len(ix)]
	return nil
}

func (s *bytesSink) spread(valid []uint8, n int) {
	s.flags(valid, n)
	if n == len(valid) {
		return
	}
	base := len(s.offs) - 1 - n
	for range len(valid) - n {
		s.offs = append(s.offs, 0)
	}
	j := n
	for i := len(valid) - 1; i >= 0; i-- {
		s.offs[base+1+i] = s.offs[base+j]
		j -= int(valid[i])
	}
}

func (s *bytesSink) nulls(n int) {
	s.validity.nulls(n)
	end := s.offs[len(s.offs)-1]
	for range n {
		s.offs = append(s.offs, end)
	}
}

func (s *bytesSink) array() arrow.Array {
	bufs := []*memory.Buffer{s.buffer(), memory.NewBufferBytes(bytesOf(s.offs)), memory.NewBufferBytes(s.data)}
	return array.MakeFromData(array.NewData(s.dt, len(s.offs)-1, bufs, nil, s.null, 0))
}
