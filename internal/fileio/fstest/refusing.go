package fstest

import (
	"context"
	"errors"
	iofs "io/fs"
	"sync"
	"syscall"

	"github.com/tarnlake/tarn/internal/fileio"
)

// Refusing is a file system that refuses, from some moment on, calls that change it: a disk that is full, or that
// may not be written.
type Refusing struct {
	fileio.FS
	mu    sync.Mutex
	cause error
	room  int
}

// Refuse lets as many calls as there is room for succeed, and the others fail of a cause: nil, and all is well.
func (r *Refusing) Refuse(cause error, room int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cause, r.room = cause, room
}

func (r *Refusing) refuse(op, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == nil {
		return nil
	}
	if r.room > 0 {
		r.room--
		return nil
	}
	return &iofs.PathError{Op: op, Path: path, Err: r.cause}
}

// Create implements fileio.FS.
func (r *Refusing) Create(ctx context.Context, path string) (fileio.Writer, error) {
	if err := r.refuse("create", path); err != nil {
		return nil, err
	}
	w, err := r.FS.Create(ctx, path)
	if err != nil {
		return nil, err
	}
	return &refusingWriter{w, r, path}, nil
}

// PutIfAbsent implements fileio.FS.
func (r *Refusing) PutIfAbsent(ctx context.Context, path string, data []byte) error {
	if err := r.refuse("write", path); err != nil {
		return err
	}
	return r.FS.PutIfAbsent(ctx, path, data)
}

// Put implements fileio.FS.
func (r *Refusing) Put(ctx context.Context, path string, data []byte) error {
	if err := r.refuse("write", path); err != nil {
		return err
	}
	return r.FS.Put(ctx, path, data)
}

// Delete implements fileio.FS. A full disk lets files be deleted.
func (r *Refusing) Delete(ctx context.Context, paths ...string) error {
	r.mu.Lock()
	full := errors.Is(r.cause, syscall.ENOSPC) || errors.Is(r.cause, syscall.EDQUOT)
	r.mu.Unlock()
	if !full && len(paths) > 0 {
		if err := r.refuse("delete", paths[0]); err != nil {
			return err
		}
	}
	return r.FS.Delete(ctx, paths...)
}

// Sync implements fileio.FS.
func (r *Refusing) Sync(ctx context.Context, paths ...string) error {
	if err := r.refuse("sync", paths[0]); err != nil {
		return err
	}
	return r.FS.Sync(ctx, paths...)
}

type refusingWriter struct {
	fileio.Writer
	r    *Refusing
	path string
}

func (w *refusingWriter) Write(p []byte) (int, error) {
	if err := w.r.refuse("write", w.path); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
