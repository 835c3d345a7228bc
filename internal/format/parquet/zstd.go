package parquet

import (
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Encoders are large, so that all files share them. One is taken for a page at a time.
var zstdEncoders [5]sync.Pool

// zstdSpeed maps a level of the reference library to one of ours that costs about the same.
func zstdSpeed(level int) zstd.EncoderLevel {
	switch {
	case level < 3:
		return zstd.SpeedFastest
	case level < 7:
		return zstd.SpeedDefault
	case level < 11:
		return zstd.SpeedBetterCompression
	}
	return zstd.SpeedBestCompression
}

func packZstd(dst, src []byte, level int) ([]byte, error) {
	speed := zstdSpeed(level)
	pool := &zstdEncoders[speed]
	e, _ := pool.Get().(*zstd.Encoder)
	if e == nil {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
		if err != nil {
			return nil, err
		}
	}
	defer pool.Put(e)
	return e.EncodeAll(src, dst), nil
}

// zstdBlock is the most that a block unpacks to.
const zstdBlock = 128 << 10

// unpackZstdPart unpacks at least the first need of the size bytes that a frame holds, as far as one can tell: the
// sizes of blocks are not written down, but all of them but the last have the same in what the usual encoders
// write. It gives nil if nothing is gained or if src is not one frame and no more. The result lies in buf if that is large
// enough for the whole; else buf is not to be used any more.
func unpackZstdPart(buf, src []byte, size, need int) []byte {
	if size <= zstdBlock || size > maxPage || size > maxPacked(len(src)) || need >= size {
		return nil
	}
	var h zstd.Header
	if h.Decode(src) != nil || h.Skippable || h.DictionaryID != 0 {
		return nil
	}
	blocks, ends := src[h.HeaderSize:], make([]int, 0, 64)
	for at := 0; ; {
		if len(blocks)-at < 3 {
			return nil
		}
		head := uint32(blocks[at]) | uint32(blocks[at+1])<<8 | uint32(blocks[at+2])<<16
		n := int(head >> 3)
		if head>>1&3 == 1 { // one byte, repeated
			n = 1
		}
		if at += 3 + n; at > len(blocks) {
			return nil
		}
		if n > 0 { // streams may end with an empty block
			ends = append(ends, at)
		}
		if head&1 != 0 {
			break
		}
	}
	each := zstdBlock
	if len(ends) != (size+zstdBlock-1)/zstdBlock {
		each = size / max(len(ends), 1)
	}
	if each == 0 {
		return nil
	}
	take := (need + each - 1) / each
	if take >= len(ends) {
		return nil
	}
	// A frame of just these blocks, of a length that is not written down.
	window := max(size, int(min(h.WindowSize, maxPage)), 1<<10)
	b := append(getBuffer(6 + ends[take-1])[:0], 0x28, 0xB5, 0x2F, 0xFD, 0, byte(bits.Len(uint(window-1))-10)<<3)
	last := len(b)
	if take > 1 {
		last += ends[take-2]
	}
	b = append(b, blocks[:ends[take-1]]...)
	b[last] |= 1
	defer putBuffer(b)
	d := zstdDecoders.Get().(*zstd.Decoder)
	defer zstdDecoders.Put(d)
	out, err := d.DecodeAll(b, sized(buf, size)[:0])
	if err != nil || len(out) < need || len(out) > size {
		return nil
	}
	return out
}
