package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
)

// A payload begins with a magic number that tells its version: the first one, of rows below 2^31, as a big-endian number,
// the second one, of 64 bits, as a little-endian one.
const (
	magic32 = 1581511376
	magic64 = 1681511377
)

// maxHigh is the largest upper half of a row that the reference takes.
const maxHigh = math.MaxInt32 - 1

// encode gives the payload of a vector, without length and checksum.
func (v *Vector) encode(bitmap64 bool) ([]byte, error) {
	if !bitmap64 {
		if v.End() > math.MaxInt32+1 {
			return nil, fmt.Errorf("row %d of a data file cannot be in a deletion vector of 32 bits: set deletion-vectors.bitmap64", v.End()-1)
		}
		bits := roaring.New()
		if v.Count() > 0 {
			bits = v.parts[0].bits
		}
		body, err := bits.ToBytes()
		if err != nil {
			return nil, err
		}
		return append(binary.BigEndian.AppendUint32(nil, magic32), body...), nil
	}
	var parts []part
	if v != nil {
		parts = v.parts
	}
	out := binary.LittleEndian.AppendUint32(nil, magic64)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(parts)))
	for _, p := range parts {
		body, err := p.bits.ToBytes()
		if err != nil {
			return nil, err
		}
		out = append(binary.LittleEndian.AppendUint32(out, p.high), body...)
	}
	return out, nil
}

var errEnds = errors.New("the vector ends too early")

// decode reads a payload of either version. It keeps no reference to b.
func decode(b []byte) (v *Vector, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("the bitmap is broken: %v", p)
		}
	}()
	if len(b) < 4 {
		return nil, errEnds
	}
	v = &Vector{}
	switch {
	case binary.BigEndian.Uint32(b) == magic32:
		if b, err = v.read(0, b[4:]); err != nil {
			return nil, err
		}
		if v.End() > math.MaxInt32+1 {
			return nil, fmt.Errorf("row %d is none that a vector of 32 bits can hold", v.End()-1)
		}
	case binary.LittleEndian.Uint32(b) == magic64:
		if len(b) < 12 {
			return nil, errEnds
		}
		n := binary.LittleEndian.Uint64(b[4:])
		b = b[12:]
		for last := int64(-1); n > 0; n-- {
			if len(b) < 4 {
				return nil, errEnds
			}
			high := binary.LittleEndian.Uint32(b)
			if int64(high) <= last || high > maxHigh {
				return nil, fmt.Errorf("the bitmap of upper half %d is out of order", high)
			}
			last = int64(high)
			if b, err = v.read(high, b[4:]); err != nil {
				return nil, err
			}
		}
	default:
		return nil, fmt.Errorf("it begins with % x, which is no version of deletion vectors that is known", b[:4])
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes follow the bitmap", len(b))
	}
	return v, nil
}

// read adds the bitmap at the beginning of b, and gives what follows it.
func (v *Vector) read(high uint32, b []byte) ([]byte, error) {
	bits, r := roaring.New(), bytes.NewReader(b)
	if _, err := bits.ReadFrom(r); err != nil {
		return nil, fmt.Errorf("the bitmap is broken: %w", err)
	}
	if !bits.IsEmpty() {
		if err := bits.Validate(); err != nil {
			return nil, fmt.Errorf("the bitmap is broken: %w", err)
		}
		v.parts = append(v.parts, part{high, bits})
		v.count += int64(bits.GetCardinality())
	}
	return b[len(b)-r.Len():], nil
}
