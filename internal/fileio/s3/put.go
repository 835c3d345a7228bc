package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/tarnlake/tarn/internal/fileio"
)

// writerMeta is the user metadata that tells who wrote an object: a random number of one call of
// PutIfAbsent.
const writerMeta = "Tarn-Writer"

// PutIfAbsent implements FS with a conditional PUT.
//
// Requests are repeated by this function, never by the client library: after a request whose answer
// was lost, "it exists" may mean that we wrote it. Then the object is looked at: it is ours if it bears
// the number that this call put on it, or, where the store drops that, the same bytes.
func (s *FS) PutIfAbsent(ctx context.Context, p string, data []byte) error {
	const op = "create"
	l, err := object(op, p)
	if err != nil {
		return err
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	opts := minio.PutObjectOptions{UserMetadata: map[string]string{writerMeta: hex.EncodeToString(id[:])}}
	opts.SetMatchETagExcept("*")
	sum := sha256.Sum256(data)
	unknown := false // an earlier request may have been carried out
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return wrap(op, p, err)
		}
		// Not a Seeker, so that the library sends it once.
		once := struct{ io.Reader }{bytes.NewReader(data)}
		_, err := s.core.PutObject(ctx, l.bucket, l.key, once, int64(len(data)), "", hex.EncodeToString(sum[:]), opts)
		if err == nil {
			return nil
		}
		retry := false
		switch code := status(err); {
		case code == http.StatusPreconditionFailed:
			if !unknown {
				return fileio.Exist(op, p)
			}
			ours, e := s.wroteIt(ctx, l, opts.UserMetadata[writerMeta], data)
			if e == nil && ours {
				return nil
			}
			if e == nil {
				return fileio.Exist(op, p)
			}
			if !isNotFound(e) { // if it is gone again, try again
				return wrap(op, p, fmt.Errorf("it exists after a request without an answer, and whether we wrote it cannot be seen: %w", e))
			}
			retry = true
		case code == http.StatusConflict && transient(err):
			retry = true // another request for the same key was under way: nothing was written
		case code == 0 || passing(err):
			unknown, retry = true, true
		}
		if !retry && !unknown { // as where a folder, or a file instead of one, is in the way
			return fileio.Refused(wrap(op, p, err))
		}
		if !retry || try >= s.retries {
			return wrap(op, p, err)
		}
		if err := s.wait(ctx, try); err != nil {
			return wrap(op, p, err)
		}
	}
}

// transient tells a conflict of requests from one of names.
func transient(err error) bool {
	var r minio.ErrorResponse
	return errors.As(err, &r) && slices.Contains([]string{"ConditionalRequestConflict", "OperationAborted", "ConcurrentModification", ""}, r.Code)
}

// wroteIt tells whether the object at l was written by the call with that number.
func (s *FS) wroteIt(ctx context.Context, l location, id string, data []byte) (bool, error) {
	o, err := s.core.StatObject(ctx, l.bucket, l.key, minio.StatObjectOptions{})
	if err != nil {
		return false, err
	}
	for name, value := range o.UserMetadata {
		if strings.EqualFold(name, writerMeta) {
			return value == id, nil
		}
	}
	if o.Size != int64(len(data)) {
		return false, nil
	}
	got, err := fileio.ReadFile(ctx, s, l.path)
	return err == nil && bytes.Equal(got, data), err
}

// wait sleeps before the next try: a random time below a bound that doubles, up to a second.
func (s *FS) wait(ctx context.Context, try int) error {
	bound := min(s.retryWait<<min(try-1, 10), time.Second)
	t := time.NewTimer(mrand.N(bound) + time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Put implements FS.
func (s *FS) Put(ctx context.Context, p string, data []byte) error {
	l, err := object("write", p)
	if err != nil {
		return err
	}
	return wrap("write", p, s.putWhole(ctx, l, data))
}

// putWhole writes an object with one request.
func (s *FS) putWhole(ctx context.Context, l location, data []byte) error {
	sum := sha256.Sum256(data)
	_, err := s.core.PutObject(ctx, l.bucket, l.key, bytes.NewReader(data), int64(len(data)), "", hex.EncodeToString(sum[:]), minio.PutObjectOptions{})
	return err
}
