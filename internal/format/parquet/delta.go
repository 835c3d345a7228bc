package parquet

import (
	"encoding/binary"
	"errors"
)

var errDelta = errors.New("DELTA_BINARY_PACKED data are broken")

// delta decodes DELTA_BINARY_PACKED: blocks of mini blocks of differences to a block's least one.
type delta struct {
	buf      []byte
	pos      int
	mini     int // values of a mini block
	minis    int // mini blocks of a block
	total    int // values left, the pending first one included
	first    bool
	last     uint64
	least    uint64 // least difference of the block
	widths   []byte // of the mini blocks of the block that are left
	left     int    // values left in the mini block
	bit      int    // next bit of the mini block, counted from pos
	width    uint
	miniSize int // bytes of the mini block
}

func (d *delta) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.buf[d.pos:])
	if n <= 0 {
		return 0, errDelta
	}
	d.pos += n
	return v, nil
}

func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// reset reads the head.
func (d *delta) reset(buf []byte) error {
	*d = delta{buf: buf, first: true}
	var h [4]uint64
	for i := range h {
		v, err := d.uvarint()
		if err != nil {
			return err
		}
		h[i] = v
	}
	block, minis, total := h[0], h[1], h[2]
	if block == 0 || block > 1<<20 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 || total > 1<<31 {
		return errDelta
	}
	d.minis, d.mini, d.total = int(minis), int(block/minis), int(total)
	d.last = unzigzag(h[3])
	return nil
}

// next goes to the next mini block.
func (d *delta) next() error {
	d.pos += d.miniSize
	d.miniSize = 0
	if len(d.widths) == 0 {
		v, err := d.uvarint()
		if err != nil {
			return err
		}
		d.least = unzigzag(v)
		if d.minis > len(d.buf)-d.pos {
			return errDelta
		}
		d.widths = d.buf[d.pos : d.pos+d.minis]
		d.pos += d.minis
	}
	d.width = uint(d.widths[0])
	d.widths = d.widths[1:]
	if d.width > 64 {
		return errDelta
	}
	size := d.mini / 8 * int(d.width)
	d.left, d.bit, d.miniSize = d.mini, 0, size
	if rest := len(d.buf) - d.pos; size > rest {
		// The last mini block may be cut short after its last value.
		need := min(d.total, d.mini)
		if (need*int(d.width)+7)/8 > rest {
			return errDelta
		}
		d.miniSize = rest
	}
	return nil
}

// decode gives the next len(dst) values.
func (d *delta) decode(dst []int64) error {
	if len(dst) > d.total {
		return errShortValues
	}
	if len(dst) == 0 {
		return nil
	}
	if d.first {
		dst[0] = int64(d.last)
		dst = dst[1:]
		d.first = false
		d.total--
	}
	for len(dst) > 0 {
		if d.left == 0 {
			if err := d.next(); err != nil {
				return err
			}
		}
		k := min(len(dst), d.left)
		d.unpack(dst[:k])
		d.left -= k
		d.total -= k
		dst = dst[k:]
	}
	return nil
}

func (d *delta) unpack(dst []int64) {
	w, last, least := d.width, d.last, d.least
	if w == 0 {
		for i := range dst {
			last += least
			dst[i] = int64(last)
		}
		d.last = last
		return
	}
	b := d.buf[d.pos : d.pos+d.miniSize]
	bit := d.bit
	i := 0
	if w <= 56 {
		mask := uint64(1)<<w - 1
		for end := (len(b) - 8) * 8; i < len(dst) && bit <= end; i++ {
			last += least + binary.LittleEndian.Uint64(b[bit>>3:])>>(bit&7)&mask
			dst[i] = int64(last)
			bit += int(w)
		}
	}
	for ; i < len(dst); i++ {
		last += least + bitsAt(b, bit, w)
		dst[i] = int64(last)
		bit += int(w)
	}
	d.last, d.bit = last, bit
}

// bitsAt reads a value of up to 64 bits that may end at the end of b.
func bitsAt(b []byte, bit int, w uint) uint64 {
	var v uint64
	for got := uint(0); got < w; {
		c := uint64(b[bit>>3]) >> (bit & 7)
		v |= c << got
		n := 8 - bit&7
		got += uint(n)
		bit += n
	}
	if w < 64 {
		v &= uint64(1)<<w - 1
	}
	return v
}

// rest is what follows the values, all of which were decoded.
func (d *delta) rest() []byte { return d.buf[min(d.pos+d.miniSize, len(d.buf)):] }
