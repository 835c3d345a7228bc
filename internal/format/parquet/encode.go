package parquet

import (
	"encoding/binary"
)

// appendHybrid encodes levels or dictionary indexes of a bit width: repeated values as runs, the
// rest bit-packed in groups of eight.
func appendHybrid[T uint8 | uint32](dst []byte, v []T, width uint) []byte {
	for len(v) > 0 {
		n := runLength(v)
		if n >= 8 || n == len(v) {
			dst = appendRun(dst, n, uint32(v[0]), width)
			v = v[n:]
			continue
		}
		// Groups of eight, up to one that begins a long run.
		k := 0
		for k < len(v) && k < 63*8*64 {
			if k > 0 && runLength(v[k:min(len(v), k+16)]) >= 16 {
				break
			}
			k += 8
		}
		k = min(k, len(v))
		groups := (k + 7) / 8
		dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
		dst = appendPacked(dst, v[:k], width)
		for pad := groups*int(width) - (k*int(width)+7)/8; pad > 0; pad-- {
			dst = append(dst, 0)
		}
		v = v[k:]
	}
	return dst
}

func runLength[T comparable](v []T) int {
	n := 1
	for n < len(v) && v[n] == v[0] {
		n++
	}
	return n
}

func appendRun(dst []byte, n int, v uint32, width uint) []byte {
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	for w := uint(0); w < width; w += 8 {
		dst = append(dst, byte(v>>w))
	}
	return dst
}

// appendPacked packs values of at most 32 bits; the last byte is filled with zeros.
func appendPacked[T uint8 | uint32](dst []byte, v []T, width uint) []byte {
	var acc uint64
	var have uint
	for _, x := range v {
		acc |= uint64(x) << have
		have += width
		if have >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			have -= 32
		}
	}
	for ; have > 0; have -= min(have, 8) {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst
}

// appendLevels encodes levels as v1 pages hold them, with their length in front. A nil slice means
// n levels that are all the highest.
func appendLevels(dst []byte, lv []uint8, n, most int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if lv == nil {
		dst = appendRun(dst, n, uint32(most), levelWidth(most))
	} else {
		dst = appendHybrid(dst, lv, levelWidth(most))
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
