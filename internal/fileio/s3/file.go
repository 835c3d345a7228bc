package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/fileio"
)

const (
	// tailSize is how much of the end of a file Open reads: all of a small file, the footer of a large one.
	tailSize = 64 << 10
	// maxGap is how many unwanted bytes are read rather than sending one more request.
	maxGap = 512 << 10
	// maxSpan is the most that one request reads.
	maxSpan = 8 << 20
	// readAhead is the least that ReadAt fetches: those who read bit by bit come back for what follows.
	readAhead = 1 << 20
)

// Open implements FS. One request tells the size and brings the end of the file, which is all that a
// small file or the footer of a large one needs.
func (s *FS) Open(ctx context.Context, p string) (fileio.File, error) {
	l, err := object("open", p)
	if err != nil {
		return nil, err
	}
	f, err := s.open(ctx, l)
	if err != nil {
		return nil, wrap("open", p, err)
	}
	return f, nil
}

func (s *FS) open(ctx context.Context, l location) (*file, error) {
	f := &file{s: s, ctx: context.WithoutCancel(ctx), l: l}
	var last error
	for try := 1; try <= s.retries; try++ {
		var opts minio.GetObjectOptions
		if err := opts.SetRange(0, -tailSize); err != nil {
			return nil, err
		}
		body, o, header, err := s.core.GetObject(ctx, l.bucket, l.key, opts)
		if status(err) == http.StatusRequestedRangeNotSatisfiable { // an empty file has no end to read
			o, err = s.core.StatObject(ctx, l.bucket, l.key, minio.StatObjectOptions{})
			f.size, f.etag = o.Size, o.ETag
			f.tailOff = f.size
			return f, err
		}
		if err != nil {
			return nil, err
		}
		f.etag = o.ETag
		f.tail, err = io.ReadAll(io.LimitReader(body, max(o.Size, 0)))
		body.Close()
		if err == nil && int64(len(f.tail)) == o.Size {
			f.size, err = total(header, o.Size)
			f.tailOff = f.size - o.Size
			return f, err
		}
		if last = err; last == nil {
			last = io.ErrUnexpectedEOF
		}
		if err := s.wait(ctx, try); err != nil {
			return nil, err
		}
	}
	return nil, last
}

// total is the size of the whole object by the header of an answer of length n.
func total(header http.Header, n int64) (int64, error) {
	r := header.Get("Content-Range") // bytes 0-9/10
	if r == "" {
		return n, nil // the store gave all of it
	}
	_, size, _ := strings.Cut(r, "/")
	v, err := strconv.ParseInt(size, 10, 64)
	if err != nil || v < n {
		return 0, fmt.Errorf("the store's answer has the odd header Content-Range: %q", r)
	}
	return v, nil
}

// file is an open object. The store is asked for the version that was opened.
type file struct {
	s    *FS
	ctx  context.Context //nolint:containedctx // io.ReaderAt has none; this one is never cancelled
	l    location
	etag string
	size int64

	tail    []byte // the end of the file
	tailOff int64
	ahead   atomic.Pointer[block] // what ReadAt fetched last
}

// block is a piece of a file in memory.
type block struct {
	off  int64
	data []byte
}

// take copies what the block has at off and tells whether that was all that p wants.
func (b *block) take(p []byte, off int64) bool {
	if b == nil || off < b.off || off+int64(len(p)) > b.off+int64(len(b.data)) {
		return false
	}
	copy(p, b.data[off-b.off:])
	return true
}

func (f *file) Size() int64 { return f.size }

// Close frees what was read ahead.
func (f *file) Close() error {
	f.ahead.Store(nil)
	return nil
}

// ReadAt implements io.ReaderAt. Short reads fetch what follows, too.
func (f *file) ReadAt(p []byte, off int64) (int, error) { return f.ReadAtContext(f.ctx, p, off) }

// ReadAtContext implements fileio.ContextReaderAt.
func (f *file) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, wrap("read", f.l.path, iofs.ErrInvalid)
	}
	var eof error
	if off+int64(len(p)) > f.size {
		p, eof = p[:max(0, f.size-off)], io.EOF
	}
	if len(p) == 0 {
		return 0, eof
	}
	tail := &block{f.tailOff, f.tail}
	if tail.take(p, off) || f.ahead.Load().take(p, off) {
		return len(p), eof
	}
	if len(p) < readAhead {
		b := &block{off, make([]byte, min(readAhead, f.size-off))}
		if err := f.fetch(ctx, b.data, off); err != nil {
			return 0, wrap("read", f.l.path, err)
		}
		f.ahead.Store(b)
		b.take(p, off)
		return len(p), eof
	}
	if err := f.fetch(ctx, p, off); err != nil {
		return 0, wrap("read", f.l.path, err)
	}
	return len(p), eof
}

// ReadRanges implements File.
func (f *file) ReadRanges(ctx context.Context, ranges []fileio.Range) ([][]byte, error) {
	spans, err := fileio.Coalesce(ranges, f.size, maxGap, maxSpan)
	if err != nil {
		return nil, wrap("read", f.l.path, err)
	}
	out := make([][]byte, len(ranges))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	buffers := make([][]byte, len(spans))
	for i, span := range spans {
		buffers[i] = make([]byte, span.Length)
		if (&block{f.tailOff, f.tail}).take(buffers[i], span.Offset) {
			continue
		}
		for from := int64(0); from < span.Length; from += maxSpan {
			piece := buffers[i][from:min(from+maxSpan, span.Length)]
			g.Go(func() error { return f.fetch(gctx, piece, span.Offset+from) })
		}
	}
	if err := g.Wait(); err != nil {
		return nil, wrap("read", f.l.path, err)
	}
	for i, span := range spans {
		span.Cut(buffers[i], ranges, out)
	}
	return out, nil
}

// fetch fills p from off. A connection that breaks is taken up again where it broke.
func (f *file) fetch(ctx context.Context, p []byte, off int64) error {
	var last error
	for try := 1; try <= f.s.retries; try++ {
		n, err := f.fetchOnce(ctx, p, off)
		p, off = p[n:], off+int64(n)
		if len(p) == 0 {
			return nil
		}
		if code := status(err); code != 0 || ctx.Err() != nil { // the library has retried already
			if code == http.StatusPreconditionFailed {
				return errors.New("the file was replaced while it was read; open it again")
			}
			return err
		}
		if last = err; last == nil || errors.Is(last, io.EOF) {
			last = io.ErrUnexpectedEOF
		}
		if err := f.s.wait(ctx, try); err != nil {
			return err
		}
	}
	return last
}

func (f *file) fetchOnce(ctx context.Context, p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var opts minio.GetObjectOptions
	if f.etag != "" {
		if err := opts.SetMatchETag(f.etag); err != nil {
			return 0, err
		}
	}
	if err := opts.SetRange(off, off+int64(len(p))-1); err != nil {
		return 0, err
	}
	body, _, _, err := f.s.core.GetObject(ctx, f.l.bucket, f.l.key, opts)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	return io.ReadFull(body, p)
}
