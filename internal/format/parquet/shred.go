package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// shredder feeds the values of one top-level column to the leaf writers below it.
type shredder struct {
	n      *node
	leaves []*leafWriter // below n, in order
	ints   []int64
	offs   []int32
	data   []byte
	bools  []uint8
	flags  []uint8
	rows   []int32
}

var errNotNull = errors.New("is NOT NULL, but the value is NULL")

// flat adds rows [from, to) of a column that is a leaf itself.
func (s *shredder) flat(a arrow.Array, from, to int) error {
	w := s.leaves[0]
	for from < to {
		k := min(to-from, w.limit.rows-w.rows)
		k = s.fit(w, a, from, k)
		if err := s.flatPart(w, a, from, from+k); err != nil {
			return err
		}
		w.rows += k
		from += k
		if w.full() {
			if err := w.endPage(); err != nil {
				return err
			}
		}
	}
	return nil
}

// fit cuts a run of rows so that the page does not grow far beyond its limit.
func (s *shredder) fit(w *leafWriter, a arrow.Array, from, k int) int {
	var offs []int32
	switch a := a.(type) {
	case *array.String:
		offs = a.ValueOffsets()
	case *array.Binary:
		offs = a.ValueOffsets()
	default:
		per := w.n.width()
		if w.useDict {
			per = 1 // of an index, as size takes it
		}
		return min(k, max(1, (w.limit.bytes-w.size())/max(per, 1)))
	}
	room := int64(w.limit.bytes - w.size())
	for k > 1 && int64(offs[from+k]-offs[from])+4*int64(k) > room {
		if k > 64 {
			k /= 2
			continue
		}
		k--
	}
	return k
}

func (s *shredder) flatPart(w *leafWriter, a arrow.Array, from, to int) error {
	n := to - from
	if a.NullN() == 0 {
		w.addLevels(n, 0, nil, nil)
		return s.values(w, a, from, to, nil)
	}
	s.flags = sizedFlags(s.flags, n)
	s.rows = s.rows[:0]
	for i := range n {
		s.flags[i] = 0
		if a.IsValid(from + i) {
			s.flags[i] = 1
			s.rows = append(s.rows, int32(from+i))
		}
	}
	nulls := n - len(s.rows)
	if nulls == 0 {
		w.addLevels(n, 0, nil, nil)
		return s.values(w, a, from, to, nil)
	}
	if s.n.rep == required {
		return fmt.Errorf("column %s %w", s.n.name, errNotNull)
	}
	w.addLevels(n, nulls, s.flags, nil)
	return s.values(w, a, 0, 0, s.rows)
}

func sizedFlags(b []uint8, n int) []uint8 {
	if cap(b) < n {
		return make([]uint8, n, n+n/2)
	}
	return b[:n]
}

// values adds rows [from, to) of an array, or the given rows if there are any; none is NULL.
func (s *shredder) values(w *leafWriter, a arrow.Array, from, to int, rows []int32) error {
	if rows != nil && len(rows) == 0 || rows == nil && from == to {
		return nil
	}
	switch a := a.(type) {
	case *array.Int64:
		addNumbers(s, w, a.Int64Values(), from, to, rows)
	case *array.Timestamp:
		addNumbers(s, w, arrow.Int64Traits.CastFromBytes(arrow.TimestampTraits.CastToBytes(a.TimestampValues())), from, to, rows)
	case *array.Int32:
		addNumbers(s, w, a.Int32Values(), from, to, rows)
	case *array.Date32:
		addNumbers(s, w, a.Date32Values(), from, to, rows)
	case *array.Time32:
		addNumbers(s, w, a.Time32Values(), from, to, rows)
	case *array.Int16:
		addNumbers(s, w, a.Int16Values(), from, to, rows)
	case *array.Int8:
		addNumbers(s, w, a.Int8Values(), from, to, rows)
	case *array.Float64:
		addNumbers(s, w, arrow.Int64Traits.CastFromBytes(arrow.Float64Traits.CastToBytes(a.Float64Values())), from, to, rows)
	case *array.Float32:
		addNumbers(s, w, arrow.Int32Traits.CastFromBytes(arrow.Float32Traits.CastToBytes(a.Float32Values())), from, to, rows)
	case *array.Decimal128:
		if w.n.phys == physInt96 {
			return s.int96(w, a.Values(), from, to, rows)
		}
		return s.decimals(w, a, from, to, rows)
	case *array.Boolean:
		s.booleans(w, a, from, to, rows)
	case *array.String:
		s.strings(w, a.ValueOffsets(), allBytes(a), from, to, rows)
	case *array.Binary:
		s.strings(w, a.ValueOffsets(), allBytes(a), from, to, rows)
	default:
		return fmt.Errorf("column %s: arrays of type %s cannot be written", s.n.name, a.DataType())
	}
	return nil
}

// addNumbers adds numbers of up to 64 bits.
func addNumbers[T ~int8 | ~int16 | ~int32 | ~int64](s *shredder, w *leafWriter, v []T, from, to int, rows []int32) {
	if x, ok := any(v).([]int64); ok && rows == nil {
		w.addInts(x[from:to])
		return
	}
	out := s.ints[:0]
	if rows == nil {
		for _, x := range v[from:to] {
			out = append(out, int64(x))
		}
	}
	for _, r := range rows {
		out = append(out, int64(v[r]))
	}
	s.ints = out
	w.addInts(out)
}

func (s *shredder) booleans(w *leafWriter, a *array.Boolean, from, to int, rows []int32) {
	out := s.bools[:0]
	add := func(i int) {
		x := uint8(0)
		if a.Value(i) {
			x = 1
		}
		out = append(out, x)
	}
	for i := from; i < to && rows == nil; i++ {
		add(i)
	}
	for _, r := range rows {
		add(int(r))
	}
	s.bools = out
	w.addBools(out)
}

// allBytes is the buffer that an array's offsets point into.
func allBytes(a arrow.Array) []byte {
	if b := a.Data().Buffers()[2]; b != nil {
		return b.Bytes()
	}
	return nil
}

func (s *shredder) strings(w *leafWriter, offs []int32, data []byte, from, to int, rows []int32) {
	if rows == nil {
		w.addBytes(offs[from:to+1], data)
		return
	}
	o, d := append(s.offs[:0], 0), s.data[:0]
	for _, r := range rows {
		d = append(d, data[offs[r]:offs[r+1]]...)
		o = append(o, int32(len(d)))
	}
	s.offs, s.data = o, d
	w.addBytes(o, d)
}

func (s *shredder) decimals(w *leafWriter, a *array.Decimal128, from, to int, rows []int32) error {
	v := a.Values()
	precision := int32(w.n.logical.precision)
	tooLarge := func(x decimal128.Num) error {
		return fmt.Errorf("column %s: value %s does not fit into DECIMAL(%d,%d)", s.n.name, x.ToString(int32(w.n.logical.scale)), precision, w.n.logical.scale)
	}
	if w.n.phys == physFixed {
		o, d, width := append(s.offs[:0], 0), s.data[:0], w.n.typeLen
		add := func(x decimal128.Num) error {
			if !x.FitsInPrecision(precision) {
				return tooLarge(x)
			}
			var b [16]byte
			binary.BigEndian.PutUint64(b[:], uint64(x.HighBits()))
			binary.BigEndian.PutUint64(b[8:], x.LowBits())
			d = append(d, b[16-width:]...)
			o = append(o, int32(len(d)))
			return nil
		}
		if rows == nil {
			for _, x := range v[from:to] {
				if err := add(x); err != nil {
					return err
				}
			}
		}
		for _, r := range rows {
			if err := add(v[r]); err != nil {
				return err
			}
		}
		s.offs, s.data = o, d
		w.addBytes(o, d)
		return nil
	}
	most := int64(1)
	for range precision {
		most *= 10
	}
	out := s.ints[:0]
	if rows == nil {
		for _, x := range v[from:to] {
			out = append(out, int64(x.LowBits()))
		}
		for i, x := range out {
			if x >= most || x <= -most || v[from+i].HighBits() != x>>63 {
				return tooLarge(v[from+i])
			}
		}
	}
	for _, r := range rows {
		x := int64(v[r].LowBits())
		if x >= most || x <= -most || v[r].HighBits() != x>>63 {
			return tooLarge(v[r])
		}
		out = append(out, x)
	}
	s.ints = out
	w.addInts(out)
	return nil
}

func (s *shredder) int96(w *leafWriter, v []decimal128.Num, from, to int, rows []int32) error {
	o, d := append(s.offs[:0], 0), s.data[:0]
	add := func(x decimal128.Num) error {
		at, ok := types.InstantOfNanos(x)
		days := types.FloorDiv(at.Millis, millisOfDay)
		julian := days + julianEpoch
		if !ok || julian != int64(int32(julian)) {
			return fmt.Errorf("column %s: timestamp of %s s since 1970 is beyond what a file can hold", s.n.name, x.ToString(9))
		}
		d = binary.LittleEndian.AppendUint64(d, uint64((at.Millis-days*millisOfDay)*1_000_000+int64(at.Nanos)))
		d = binary.LittleEndian.AppendUint32(d, uint32(julian))
		o = append(o, int32(len(d)))
		return nil
	}
	if rows == nil {
		for _, x := range v[from:to] {
			if err := add(x); err != nil {
				return err
			}
		}
	}
	for _, r := range rows {
		if err := add(v[r]); err != nil {
			return err
		}
	}
	s.offs, s.data = o, d
	w.addBytes(o, d)
	return nil
}
