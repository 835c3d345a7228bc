package parquet

import (
	"encoding/binary"
	"errors"
)

var (
	errShortLevels = errors.New("run-length data end too early")
	errRunWidth    = errors.New("run-length data have an impossible bit width")
)

// hybrid decodes the RLE / bit-packed hybrid of levels and dictionary indexes. The buffer's
// capacity may reach beyond its length; those bytes are never used as data.
type hybrid struct {
	buf   []byte
	pos   int
	width uint

	rle    int    // values left of a repeated value
	val    uint32 // that value
	packed int    // values left of a bit-packed run
	bit    int    // next bit of that run, counted from pos
	end    int    // first byte after that run
}

func (h *hybrid) reset(buf []byte, width uint) error {
	*h = hybrid{buf: buf, width: width}
	if width > 32 {
		return errRunWidth
	}
	return nil
}

// head reads the head of the next run.
func (h *hybrid) head() error {
	v, n := binary.Uvarint(h.buf[h.pos:])
	if n <= 0 {
		return errShortLevels
	}
	h.pos += n
	if v&1 == 0 {
		w := int(h.width+7) / 8
		if v>>1 == 0 || v>>1 > 1<<31 || w > len(h.buf)-h.pos {
			return errShortLevels
		}
		h.val = 0
		for i := range w {
			h.val |= uint32(h.buf[h.pos+i]) << (8 * i)
		}
		h.pos += w
		h.rle = int(v >> 1)
		return nil
	}
	groups := v >> 1
	if groups == 0 || groups > 1<<28 {
		return errShortLevels
	}
	size := int(groups) * int(h.width)
	h.packed = int(groups) * 8
	if size > len(h.buf)-h.pos {
		// The last run may be cut short after its last value.
		size = len(h.buf) - h.pos
		if h.width > 0 {
			h.packed = size * 8 / int(h.width)
		}
		if h.packed == 0 {
			return errShortLevels
		}
	}
	h.bit, h.end = 0, h.pos+size
	return nil
}

// run gives the length of the repeated value at hand (at least 1) and the value, or 0 if a
// bit-packed run is at hand.
func (h *hybrid) run() (int, uint32, error) {
	if h.rle == 0 && h.packed == 0 {
		if err := h.head(); err != nil {
			return 0, 0, err
		}
	}
	return h.rle, h.val, nil
}

func (h *hybrid) endPacked(n int) {
	h.packed -= n
	h.bit += n * int(h.width)
	if h.packed == 0 {
		h.pos = h.end
	}
}

// skip passes over n values.
func (h *hybrid) skip(n int) error {
	for n > 0 {
		r, _, err := h.run()
		if err != nil {
			return err
		}
		if r > 0 {
			k := min(n, r)
			h.rle -= k
			n -= k
			continue
		}
		k := min(n, h.packed)
		h.endPacked(k)
		n -= k
	}
	return nil
}

// indexes decodes len(dst) values.
func (h *hybrid) indexes(dst []uint32) error {
	for len(dst) > 0 {
		r, v, err := h.run()
		if err != nil {
			return err
		}
		if r > 0 {
			k := min(len(dst), r)
			for i := range dst[:k] {
				dst[i] = v
			}
			h.rle -= k
			dst = dst[k:]
			continue
		}
		k := min(len(dst), h.packed)
		unpackBits(dst[:k], h.buf[h.pos:h.end], h.bit, h.width)
		h.endPacked(k)
		dst = dst[k:]
	}
	return nil
}

// levels decodes len(dst) values that are at most max.
func (h *hybrid) levels(dst []uint8, most uint8) error {
	for len(dst) > 0 {
		r, v, err := h.run()
		if err != nil {
			return err
		}
		if r > 0 {
			if v > uint32(most) {
				return errLevel
			}
			k := min(len(dst), r)
			for i := range dst[:k] {
				dst[i] = uint8(v)
			}
			h.rle -= k
			dst = dst[k:]
			continue
		}
		k := min(len(dst), h.packed)
		if err := unpackLevels(dst[:k], h.buf[h.pos:h.end], h.bit, h.width, most); err != nil {
			return err
		}
		h.endPacked(k)
		dst = dst[k:]
	}
	return nil
}

var errLevel = errors.New("level is higher than the schema allows")

func unpackLevels(dst []uint8, b []byte, bit int, width uint, most uint8) error {
	mask := uint32(1)<<width - 1
	var worst uint32
	for i := range dst {
		p := bit >> 3
		v := uint32(b[p])
		if p+1 < len(b) {
			v |= uint32(b[p+1]) << 8
		}
		v = v >> (bit & 7) & mask
		worst = max(worst, v)
		dst[i] = uint8(v)
		bit += int(width)
	}
	if worst > uint32(most) {
		return errLevel
	}
	return nil
}

// unpackBits unpacks len(dst) values of width bits, beginning at a bit of b. All of them are in b.
func unpackBits(dst []uint32, b []byte, bit int, width uint) {
	if width == 0 {
		clear(dst)
		return
	}
	mask := uint64(1)<<width - 1
	i := 0
	// Eight bytes are read for each value, as long as there are so many.
	for last := (len(b) - 8) * 8; i < len(dst) && bit <= last; i++ {
		dst[i] = uint32(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask)
		bit += int(width)
	}
	if i == len(dst) {
		return
	}
	var tail [16]byte
	from := bit >> 3
	copy(tail[:], b[from:])
	bit -= from * 8
	for ; i < len(dst); i++ {
		dst[i] = uint32(binary.LittleEndian.Uint64(tail[bit>>3:]) >> (bit & 7) & mask)
		bit += int(width)
	}
}
