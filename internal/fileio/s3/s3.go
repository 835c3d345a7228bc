// Package s3 is the file system of S3 and of stores that speak its protocol. Paths are
// s3://bucket/key (s3a:// is the same).
//
// The store must honour If-None-Match: * on PUT, as Amazon, MinIO, Ceph, R2 and versitygw do: it is
// what PutIfAbsent, and so every commit, rests on.
package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"iter"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/tarnlake/tarn/internal/fileio"
)

// parallel bounds the requests that one call has under way.
const parallel = 16

// FS is a file system on an object store. It is safe for concurrent use.
type FS struct {
	core      *minio.Core
	partSize  int
	retries   int
	retryWait time.Duration
	secure    bool
}

var _ fileio.FS = (*FS)(nil)

// New gives the file system of all buckets that the credentials open. It sends no request.
func New(opts Options) (*FS, error) {
	opts = opts.withEnv()
	core, err := opts.client()
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	return &FS{
		core:      core,
		partSize:  max(cmp.Or(opts.PartSize, 8<<20), 5<<20),
		retries:   cmp.Or(opts.Retries, 10),
		retryWait: cmp.Or(opts.RetryWait, 100*time.Millisecond),
		secure:    core.EndpointURL().Scheme == "https",
	}, nil
}

// location is a parsed path. key has no slash at its ends and is empty for the bucket itself.
type location struct{ path, scheme, bucket, key string }

// dir is the prefix of all keys below the location.
func (l location) dir() string {
	if l.key == "" {
		return ""
	}
	return l.key + "/"
}

func parse(op, p string) (location, error) {
	for _, scheme := range []string{"s3://", "s3a://"} {
		if rest, ok := strings.CutPrefix(p, scheme); ok {
			bucket, key, _ := strings.Cut(rest, "/")
			if bucket == "" {
				break
			}
			key = strings.Trim(key, "/")
			for strings.Contains(key, "//") {
				key = strings.ReplaceAll(key, "//", "/")
			}
			return location{p, scheme, bucket, key}, nil
		}
	}
	return location{}, &iofs.PathError{Op: op, Path: p, Err: errors.New("it is no path of an object store: s3://bucket/key is expected")}
}

// object parses a path that must name an object.
func object(op, p string) (location, error) {
	l, err := parse(op, p)
	if err == nil && l.key == "" {
		err = &iofs.PathError{Op: op, Path: p, Err: errors.New("it names a bucket, not a file")}
	}
	return l, err
}

// wrap makes an error of the store one of package fileio, with the path and, for the usual causes,
// what to do.
func wrap(op, p string, err error) error {
	if err == nil {
		return nil
	}
	var pe *iofs.PathError
	if errors.As(err, &pe) {
		return err
	}
	return &iofs.PathError{Op: op, Path: p, Err: explain(err)}
}

func explain(err error) error {
	var r minio.ErrorResponse
	switch {
	case !errors.As(err, &r):
		// Such as an answer that ended early.
		if cause := (*url.Error)(nil); !errors.As(err, &cause) && !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) {
			return err
		}
		return &unreachableError{err}
	case passing(err):
		return &unreachableError{err}
	case r.Code == "NoSuchBucket":
		return fmt.Errorf("%w: there is no bucket %q; make it first", iofs.ErrNotExist, r.BucketName)
	case isNotFound(err):
		return iofs.ErrNotExist
	case r.Code == "InvalidAccessKeyId" || r.Code == "SignatureDoesNotMatch":
		return fmt.Errorf("%w: the store does not accept the credentials (%s): check s3.access-key and s3.secret-key", iofs.ErrPermission, r.Code)
	case r.StatusCode == http.StatusForbidden || r.Code == "AccessDenied":
		return fmt.Errorf("%w: %s: the credentials may not do this; check the policy of the bucket", iofs.ErrPermission, cmp.Or(r.Message, r.Code, "403"))
	}
	return err
}

// unreachableError is a fileio.ErrUnreachable.
type unreachableError struct{ error }

func (e *unreachableError) Unwrap() error        { return e.error }
func (e *unreachableError) Is(target error) bool { return target == fileio.ErrUnreachable }

func isNotFound(err error) bool {
	var r minio.ErrorResponse
	return errors.As(err, &r) && (r.StatusCode == http.StatusNotFound || r.Code == "NoSuchKey" || r.Code == "NotFound")
}

// passing reports whether a store could not carry out a request just now, or may have done so and not said it. Some of these answers
// have the status of a bad request: the body did not arrive, or not whole.
func passing(err error) bool {
	var r minio.ErrorResponse
	if !errors.As(err, &r) {
		return false
	}
	return r.StatusCode >= 499 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusRequestTimeout ||
		slices.Contains([]string{"RequestTimeout", "IncompleteBody", "BadDigest"}, r.Code)
}

func status(err error) int {
	var r minio.ErrorResponse
	if errors.As(err, &r) {
		return r.StatusCode
	}
	return 0
}

// Stat implements FS. A folder is where there is something below it.
func (s *FS) Stat(ctx context.Context, p string) (fileio.Info, error) {
	l, err := parse("stat", p)
	if err != nil {
		return fileio.Info{}, err
	}
	info, err := s.stat(ctx, l)
	return info, wrap("stat", p, err)
}

func (s *FS) stat(ctx context.Context, l location) (fileio.Info, error) {
	if l.key != "" {
		o, err := s.core.StatObject(ctx, l.bucket, l.key, minio.StatObjectOptions{})
		if err == nil {
			return fileio.Info{Path: l.path, Size: o.Size, ModTime: o.LastModified}, nil
		}
		if !isNotFound(err) {
			return fileio.Info{}, err
		}
	}
	for o, err := range s.keys(ctx, l.bucket, l.dir(), true, 1) {
		if err != nil {
			return fileio.Info{}, err
		}
		return fileio.Info{Path: l.path, ModTime: o.LastModified, IsDir: true}, nil
	}
	if l.key == "" {
		ok, err := s.core.BucketExists(ctx, l.bucket)
		if err != nil {
			return fileio.Info{}, err
		}
		if ok {
			return fileio.Info{Path: l.path, IsDir: true}, nil
		}
	}
	return fileio.Info{}, iofs.ErrNotExist
}

// keys lists objects, and with recursive false the folders between them, whose keys end in a slash.
func (s *FS) keys(ctx context.Context, bucket, prefix string, recursive bool, page int) iter.Seq2[minio.ObjectInfo, error] {
	return func(yield func(minio.ObjectInfo, error) bool) {
		// The listing ends with its context, also when the caller leaves early.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		noOwner := false
		for o := range s.core.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: recursive, MaxKeys: page, FetchOwner: &noOwner}) {
			if o.Err != nil {
				yield(o, o.Err)
				return
			}
			if !yield(o, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(minio.ObjectInfo{}, err)
		}
	}
}

// List implements FS. The whole listing is read before the first entry is given, since the store
// orders folders otherwise than names do.
func (s *FS) List(ctx context.Context, dir string) iter.Seq2[fileio.Info, error] {
	return func(yield func(fileio.Info, error) bool) {
		infos, err := s.list(ctx, dir)
		if err != nil {
			yield(fileio.Info{}, wrap("list", dir, err))
			return
		}
		for _, i := range infos {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func (s *FS) list(ctx context.Context, dir string) ([]fileio.Info, error) {
	l, err := parse("list", dir)
	if err != nil {
		return nil, err
	}
	base := strings.TrimRight(dir, "/") + "/"
	var infos []fileio.Info
	for o, err := range s.keys(ctx, l.bucket, l.dir(), false, 0) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(o.Key, l.dir())
		if name == "" {
			continue // the marker of the folder itself
		}
		if folder, ok := strings.CutSuffix(name, "/"); ok {
			infos = append(infos, fileio.Info{Path: base + folder, IsDir: true})
			continue
		}
		infos = append(infos, fileio.Info{Path: base + name, Size: o.Size, ModTime: o.LastModified})
	}
	byName := func(a, b fileio.Info) int { return cmp.Compare(path.Base(a.Path), path.Base(b.Path)) }
	if !slices.IsSortedFunc(infos, byName) {
		slices.SortStableFunc(infos, byName)
	}
	return infos, nil
}

// Sync implements FS: what an object store has taken is durable.
func (s *FS) Sync(context.Context, ...string) error { return nil }
