package files

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tarnlake/tarn/internal/fileio"
)

// unpack gives what is in a file: itself, or what was packed by gzip.
func unpack(f fileio.File) (fileio.File, error) {
	magic := make([]byte, 2)
	if n, err := f.ReadAt(magic, 0); n < 2 || !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return f, nil
	}
	return &packed{File: f, size: math.MaxInt64}, nil
}

// packed is a file of gzip, read from front to back. Places count what is unpacked.
type packed struct {
	fileio.File
	r    *gzip.Reader
	at   int64 // of r
	size int64 // once the end was seen
}

// Size implements fileio.File: the largest number until the end was read.
func (p *packed) Size() int64 { return p.size }

// ReadAt implements fileio.File. Going back begins at the front.
func (p *packed) ReadAt(b []byte, off int64) (int, error) {
	if p.r == nil || off < p.at {
		r, err := gzip.NewReader(io.NewSectionReader(p.File, 0, p.File.Size()))
		if err != nil {
			return 0, fmt.Errorf("unpack gzip: %w", err)
		}
		p.r, p.at = r, 0
	}
	if off > p.at {
		n, err := io.CopyN(io.Discard, p.r, off-p.at)
		if p.at += n; err != nil {
			return 0, p.ended(err)
		}
	}
	n, err := io.ReadFull(p.r, b)
	p.at += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) && n > 0 { // of ReadFull, or a file that is cut off: the next read tells
		err = nil
	}
	return n, p.ended(err)
}

func (p *packed) ended(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		p.size = p.at
		return io.EOF
	}
	return fmt.Errorf("unpack gzip: %w", err)
}

// ReadRanges implements fileio.File; nobody asks for it here.
func (p *packed) ReadRanges(context.Context, []fileio.Range) ([][]byte, error) {
	return nil, errors.ErrUnsupported
}
