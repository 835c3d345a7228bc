package parquet

import (
	"context"
	"fmt"
	"io"

	"github.com/tarnlake/tarn/internal/fileio"
)

const (
	windowSize    = 1 << 20  // bytes read ahead of each column
	windowSizeLow = 64 << 10 // the same with ReadOptions.LowMemory, and where few rows are read
)

// window reads a range of a file front to back in large pieces.
type window struct {
	ctx  context.Context //nolint:containedctx // of the call that reads at the moment
	file fileio.File
	end  int64 // of the range
	size int   // of a piece
	low  bool  // memory is given back as soon as what it holds was used
	buf  []byte
	off  int64 // of buf in the file
	lent bool  // buf is not ours to write to
}

// open starts a range that ends at end.
func (w *window) open(end int64, low bool) {
	w.end, w.size, w.low = end, windowSize, low
	if low {
		w.size = windowSizeLow
	}
	w.buf = w.buf[:0]
}

// give hands over what is at an offset already.
func (w *window) give(b []byte, off int64) {
	w.release()
	w.buf, w.off, w.lent = b, off, true
}

// at gives n bytes at an offset, or what the range has of them. They stay valid until the next call.
func (w *window) at(off int64, n int) ([]byte, error) {
	n = int(max(0, min(int64(n), w.end-off)))
	i := off - w.off
	if i >= 0 && i+int64(n) <= int64(len(w.buf)) {
		return w.buf[i : i+int64(n)], nil
	}
	size := int(min(int64(max(n, w.size)), w.end-off))
	var have []byte
	if i >= 0 && i < int64(len(w.buf)) {
		have = w.buf[i:]
	}
	old, to := w.buf, w.buf[:0]
	if w.lent || cap(old) < size {
		to = getBuffer(size)
	}
	to = to[:size]
	k := copy(to, have)
	if !w.lent && cap(old) < size {
		putBuffer(old)
	}
	w.buf, w.off, w.lent = to, off, false
	if m, err := fileio.ReadAt(w.ctx, w.file, to[k:], off+int64(k)); m < size-k {
		w.buf = w.buf[:0]
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read %d bytes at offset %d: %w", size, off, err)
	}
	return w.buf[:n], nil
}

// expect says how long the page is that will be read next.
func (w *window) expect(n int64) {
	if w.low {
		w.size = int(max(1<<10, min(n, windowSize)))
	}
}

// passed says that the bytes before next, those of a page of so many bytes, are not needed any more, and that
// the page that follows is likely to be of that size.
func (w *window) passed(next, page int64) {
	if !w.low {
		return
	}
	if w.size = windowSizeLow; page > windowSizeLow/2 {
		w.size = int(min(page+1<<10, windowSize))
	}
	if w.off+int64(len(w.buf)) < min(next+page, w.end) || next >= w.end {
		w.release()
	}
}

// release gives the memory back.
func (w *window) release() {
	if !w.lent {
		putBuffer(w.buf)
	}
	w.buf, w.lent = nil, false
}
