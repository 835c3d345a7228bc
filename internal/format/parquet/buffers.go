package parquet

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Memory of pages, packed and unpacked, goes from reader to reader: most of what a lookup takes would
// be garbage right after it. It comes in eight sizes between one power of two and the next.
const (
	minBuffer = 4 << 10
	maxBuffer = 8 << 20
)

var buffers [8 * 24]sync.Pool // of *byte

// bufferClass is the least size of a buffer that holds n bytes, and where it is kept.
func bufferClass(n int) (class, size int) {
	k := bits.Len(uint(n-1)) - 4
	q := (n - 1) >> k // 8 to 15
	return k*8 + q - 8, (q + 1) << k
}

// getBuffer gives n bytes of any contents.
func getBuffer(n int) []byte {
	if n < minBuffer || n > maxBuffer {
		return rawSlice[byte](n)
	}
	class, size := bufferClass(n)
	if p, _ := buffers[class].Get().(*byte); p != nil {
		return unsafe.Slice(p, size)[:n]
	}
	return rawSlice[byte](size)[:n]
}

// putBuffer takes a buffer back that nobody uses any more. Others than those of getBuffer are left to the collector.
func putBuffer(b []byte) {
	if cap(b) < minBuffer || cap(b) > maxBuffer {
		return
	}
	if class, size := bufferClass(cap(b)); size == cap(b) {
		buffers[class].Put(unsafe.SliceData(b))
	}
}
