package s3

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"unicode/utf8"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/fileio"
)

// copyLimit is the largest object that one copy request takes.
const copyLimit = 5 << 30

// Rename implements FS: every object is copied, then the old ones are deleted. Readers may see both
// folders; if it breaks off, what is under the old name is whole until everything is copied.
func (s *FS) Rename(ctx context.Context, from, to string) error {
	src, err := object("rename", from)
	if err != nil {
		return err
	}
	dst, err := object("rename to", to)
	if err != nil {
		return err
	}
	if src.bucket == dst.bucket && strings.HasPrefix(dst.key, src.dir()) {
		return wrap("rename", from, errors.New("a folder cannot move into itself"))
	}
	if _, err := s.stat(ctx, dst); err == nil {
		return fileio.Exist("rename to", to)
	} else if !errors.Is(err, iofs.ErrNotExist) {
		return wrap("rename to", to, err)
	}
	objects, err := s.below(ctx, src)
	if err != nil {
		return wrap("rename", from, err)
	}
	if len(objects) == 0 {
		return fileio.NotExist("rename", from)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, o := range objects {
		g.Go(func() error {
			return s.copyObject(gctx, src.bucket, o, dst.bucket, dst.key+strings.TrimPrefix(o.Key, src.key))
		})
	}
	if err := g.Wait(); err != nil {
		return wrap("rename", from, fmt.Errorf("copy to %s: %w", to, explain(err)))
	}
	return wrap("rename", from, s.remove(ctx, src.bucket, objects))
}

func (s *FS) copyObject(ctx context.Context, bucket string, o minio.ObjectInfo, toBucket, toKey string) error {
	src := minio.CopySrcOptions{Bucket: bucket, Object: o.Key}
	dst := minio.CopyDestOptions{Bucket: toBucket, Object: toKey}
	var err error
	if o.Size > copyLimit {
		_, err = s.core.ComposeObject(ctx, dst, src)
	} else {
		_, err = s.core.Client.CopyObject(ctx, dst, src)
	}
	return err
}

// below lists the object at l and all objects in the folder l.
func (s *FS) below(ctx context.Context, l location) ([]minio.ObjectInfo, error) {
	var out []minio.ObjectInfo
	if l.key != "" {
		o, err := s.core.StatObject(ctx, l.bucket, l.key, minio.StatObjectOptions{})
		if err == nil {
			out = append(out, minio.ObjectInfo{Key: l.key, Size: o.Size})
		} else if !isNotFound(err) {
			return nil, err
		}
	}
	for o, err := range s.keys(ctx, l.bucket, l.dir(), true, 0) {
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// Delete implements FS. Objects are deleted in batches; folders are listed first.
func (s *FS) Delete(ctx context.Context, paths ...string) error {
	if err := ctx.Err(); err != nil && len(paths) > 0 {
		return wrap("delete", paths[0], err)
	}
	locations := make([]location, len(paths))
	for i, p := range paths {
		l, err := parse("delete", p)
		if err != nil {
			return err
		}
		locations[i] = l
	}
	folders, err := s.maybeFolders(ctx, locations)
	if err != nil {
		return err
	}
	below := make([][]minio.ObjectInfo, len(folders))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, l := range folders {
		g.Go(func() error {
			for o, err := range s.keys(gctx, l.bucket, l.dir(), true, 0) {
				if isNotFound(err) {
					return nil // not even the bucket is there
				}
				if err != nil {
					return wrap("delete", l.path, err)
				}
				below[i] = append(below[i], o)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	buckets := map[string][]minio.ObjectInfo{}
	for _, l := range locations {
		if l.key != "" {
			buckets[l.bucket] = append(buckets[l.bucket], minio.ObjectInfo{Key: l.key})
		}
	}
	for i, l := range folders {
		buckets[l.bucket] = append(buckets[l.bucket], below[i]...)
	}
	for bucket, objects := range buckets {
		if err := s.remove(ctx, bucket, objects); err != nil {
			return err
		}
	}
	return nil
}

// maybeFolders gives those locations below which there may be something. A path does not tell whether
// it is a file or a folder, and to ask for each costs a request. Of many files in one folder, as expiry
// deletes them, a listing of what is beside them tells at once.
func (s *FS) maybeFolders(ctx context.Context, all []location) ([]location, error) {
	const few = 4 // below this each one is asked for
	type parent struct{ bucket, dir string }
	groups := map[parent][]location{}
	for _, l := range all {
		k := parent{l.bucket, l.key[:strings.LastIndexByte(l.key, '/')+1]}
		groups[k] = append(groups[k], l)
	}
	var out []location
	for k, group := range groups {
		if len(group) < few {
			out = append(out, group...)
			continue
		}
		dirs := map[string]bool{}
		left := 1000 * len(group) / 2 // entries that may be looked at: pages cost requests, too
		for o, err := range s.keys(ctx, k.bucket, k.dir+commonStart(group, len(k.dir)), false, 0) {
			if isNotFound(err) {
				break
			}
			if err != nil {
				return nil, wrap("delete", group[0].path, err)
			}
			if key, ok := strings.CutSuffix(o.Key, "/"); ok {
				dirs[key] = true
			}
			if left--; left == 0 {
				break
			}
		}
		for _, l := range group {
			if left == 0 || dirs[l.key] {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// commonStart is what the keys have in common behind skip bytes.
func commonStart(group []location, skip int) string {
	start := group[0].key[skip:]
	for _, l := range group[1:] {
		for !strings.HasPrefix(l.key[skip:], start) {
			start = start[:len(start)-1]
		}
	}
	for !utf8.ValidString(start) {
		start = start[:len(start)-1]
	}
	return start
}

// remove deletes objects; those that are gone are no error.
func (s *FS) remove(ctx context.Context, bucket string, objects []minio.ObjectInfo) error {
	var errs []error
	fail := func(key string, err error) {
		if err != nil && !isNotFound(err) {
			errs = append(errs, wrap("delete", "s3://"+bucket+"/"+key, err))
		}
	}
	if len(objects) == 1 {
		fail(objects[0].Key, s.core.RemoveObject(ctx, bucket, objects[0].Key, minio.RemoveObjectOptions{}))
		return errors.Join(errs...)
	}
	queue := make(chan minio.ObjectInfo, len(objects)) // holds all, so nobody has to feed it
	for _, o := range objects {
		queue <- minio.ObjectInfo{Key: o.Key}
	}
	close(queue)
	for r := range s.core.RemoveObjectsWithResult(ctx, bucket, queue, minio.RemoveObjectsOptions{}) {
		fail(r.ObjectName, r.Err)
	}
	if err := ctx.Err(); err != nil && len(errs) == 0 {
		return wrap("delete", "s3://"+bucket, err)
	}
	return errors.Join(errs...)
}
