package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	iofs "io/fs"
	"sync"

	"github.com/minio/minio-go/v7"

	"github.com/tarnlake/tarn/internal/fileio"
)

const (
	// growAfter is after how many parts their size doubles: stores take 10,000 parts.
	growAfter = 1000
)

// Create implements FS. What is written is kept until there is enough for a part; parts are uploaded
// while the next one is filled. A small file is one PUT. An object of that name is replaced by Close.
// ctx holds until Close.
func (s *FS) Create(ctx context.Context, p string) (fileio.Writer, error) {
	l, err := object("create", p)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, wrap("create", p, err)
	}
	return &writer{s: s, ctx: ctx, l: l, partSize: s.partSize}, nil
}

// partBuffers hold the buffers of full parts between uploads.
var partBuffers sync.Pool

type writer struct {
	s        *FS
	ctx      context.Context //nolint:containedctx // io.Writer has none
	l        location
	partSize int
	size     int64

	buf      []byte // of the part that is being filled
	uploadID string // "" while there is one part only
	parts    []minio.CompletePart
	inFlight chan error // of the part that is being uploaded, nil if none

	err  error // what broke the writer
	done bool
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, wrap("write", w.l.path, iofs.ErrClosed)
	}
	n := 0
	for len(p) > 0 && w.err == nil {
		if len(w.buf) == w.partSize {
			w.err = w.flush()
			continue
		}
		if w.buf == nil && len(p) > w.partSize/2 {
			w.buf = takeBuffer(w.partSize)
		}
		k := min(len(p), w.partSize-len(w.buf))
		w.buf = append(w.buf, p[:k]...)
		p = p[k:]
		n += k
	}
	w.size += int64(n)
	return n, wrap("write", w.l.path, w.err)
}

func takeBuffer(size int) []byte {
	if b, ok := partBuffers.Get().(*[]byte); ok && cap(*b) >= size {
		return (*b)[:0]
	}
	return make([]byte, 0, size)
}

// flush starts the upload of the buffer as the next part, once the one before it is through.
func (w *writer) flush() error {
	if w.uploadID == "" {
		id, err := w.s.core.NewMultipartUpload(w.ctx, w.l.bucket, w.l.key, minio.PutObjectOptions{})
		if err != nil {
			return err
		}
		w.uploadID = id
	}
	if err := w.await(); err != nil {
		return err
	}
	buf, number := w.buf, len(w.parts)+1
	w.parts = append(w.parts, minio.CompletePart{PartNumber: number})
	if number%growAfter == 0 {
		w.partSize *= 2
	}
	w.buf = takeBuffer(w.partSize)
	result := make(chan error, 1)
	w.inFlight = result
	go func() {
		part, err := w.putPart(number, buf)
		w.parts[number-1] = part // read after result only
		buf = buf[:0]
		partBuffers.Put(&buf)
		result <- err
	}()
	return nil
}

func (w *writer) putPart(number int, data []byte) (minio.CompletePart, error) {
	opts := minio.PutObjectPartOptions{}
	if !w.s.secure { // over TLS the store checks enough
		sum := sha256.Sum256(data)
		opts.Sha256Hex = hex.EncodeToString(sum[:])
	} else {
		opts.DisableContentSha256 = true
	}
	part, err := w.s.core.PutObjectPart(w.ctx, w.l.bucket, w.l.key, w.uploadID, number, bytes.NewReader(data), int64(len(data)), opts)
	return minio.CompletePart{PartNumber: number, ETag: part.ETag}, err
}

// await waits for the part that is being uploaded.
func (w *writer) await() error {
	if w.inFlight == nil {
		return nil
	}
	err := <-w.inFlight
	w.inFlight = nil
	return err
}

// Close implements Writer: the object is there, whole, when it returns without an error. If it fails
// the upload is dropped; the object may be there all the same.
func (w *writer) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	if w.err == nil {
		w.err = w.finish()
	}
	if w.err != nil {
		return wrap("close", w.l.path, errors.Join(w.err, w.drop()))
	}
	w.buf = nil
	return nil
}

func (w *writer) finish() error {
	if w.uploadID == "" {
		return w.s.putWhole(w.ctx, w.l, w.buf)
	}
	if err := w.await(); err != nil {
		return err
	}
	if len(w.buf) > 0 {
		part, err := w.putPart(len(w.parts)+1, w.buf)
		if err != nil {
			return err
		}
		w.parts = append(w.parts, part)
	}
	_, err := w.s.core.CompleteMultipartUpload(w.ctx, w.l.bucket, w.l.key, w.uploadID, w.parts, minio.PutObjectOptions{})
	if err == nil {
		return nil
	}
	// The library repeats the request; if the first one did it, the second finds no upload.
	o, e := w.s.core.StatObject(w.ctx, w.l.bucket, w.l.key, minio.StatObjectOptions{})
	if e == nil && isNotFound(err) && o.Size == w.size {
		return nil
	}
	return fmt.Errorf("complete the upload: %w", err)
}

// Abort implements Writer.
func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	return wrap("abort", w.l.path, w.drop())
}

// drop ends the upload without an object.
func (w *writer) drop() error {
	_ = w.await() // the upload is given up whatever became of its last part
	w.buf = nil
	if w.uploadID == "" {
		return nil
	}
	ctx, cancel := fileio.Outlast(w.ctx)
	defer cancel()
	err := w.s.core.AbortMultipartUpload(ctx, w.l.bucket, w.l.key, w.uploadID)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("drop the unfinished upload: %w", explain(err))
	}
	return nil
}
