package fileio

import (
	"context"
	"errors"
	"io"
	"os"
)

const (
	// localGap is how many unwanted bytes are read rather than asking the system once more.
	localGap = 32 << 10
	// localSpan bounds one read, and so what a kept small range holds on to.
	localSpan = 8 << 20
)

// localFile is an open file of Local.
type localFile struct {
	f    *os.File
	path string
	size int64
}

func (f *localFile) Size() int64 { return f.size }

func (f *localFile) Close() error {
	err := f.f.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return osError("close", f.path, err)
}

// ReadAt implements io.ReaderAt.
func (f *localFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.f.ReadAt(p, off)
	if err != nil && err != io.EOF { //nolint:errorlint // os.File gives io.EOF as it is
		err = osError("read", f.path, err)
	}
	return n, err
}

// ReadRanges implements File.
func (f *localFile) ReadRanges(ctx context.Context, ranges []Range) ([][]byte, error) {
	spans, err := Coalesce(ranges, f.size, localGap, localSpan)
	if err != nil {
		return nil, osError("read", f.path, err)
	}
	out := make([][]byte, len(ranges))
	for _, s := range spans {
		if err := ctx.Err(); err != nil {
			return nil, osError("read", f.path, err)
		}
		data := make([]byte, s.Length)
		if n, err := f.f.ReadAt(data, s.Offset); n < len(data) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // it was truncated after it was opened
			}
			return nil, osError("read", f.path, err)
		}
		s.Cut(data, ranges, out)
	}
	return out, nil
}
