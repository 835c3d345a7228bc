package fileio

import (
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"syscall"
)

// FolderRemover is an FS that has folders, which object stores have not.
type FolderRemover interface {
	// RemoveEmpty removes a folder if nothing is in it, and tells whether it did. A folder that has something
	// in it, or that is not there, is no error.
	RemoveEmpty(ctx context.Context, dir string) (bool, error)
}

// RemoveEmpty removes a folder if nothing is in it, where there are folders.
func RemoveEmpty(ctx context.Context, fs FS, dir string) (bool, error) {
	if r, ok := fs.(FolderRemover); ok {
		return r.RemoveEmpty(ctx, dir)
	}
	return false, nil
}

// RemoveEmpty implements FolderRemover.
func (l *Local) RemoveEmpty(ctx context.Context, dir string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, osError("remove folder", dir, err)
	}
	info, err := os.Lstat(dir)
	if err == nil && info.IsDir() {
		err = os.Remove(dir)
	}
	switch {
	case err == nil:
		return info.IsDir(), nil
	case errors.Is(err, iofs.ErrNotExist), errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST):
		return false, nil
	}
	return false, osError("remove folder", dir, err)
}

// RemoveEmpty implements FolderRemover.
func (m *Mem) RemoveEmpty(ctx context.Context, dir string) (bool, error) {
	if err := memErr(ctx, "remove folder", dir); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.find(dir)
	if n == nil || n == m.root || n.children == nil || len(n.children) > 0 {
		return false, nil
	}
	up, name, err := m.parent("remove folder", dir)
	if err != nil {
		return false, err
	}
	delete(up.children, name)
	return true, nil
}

// RemoveEmpty implements FolderRemover.
func (f *Fault) RemoveEmpty(ctx context.Context, dir string) (removed bool, err error) {
	err = f.run("RemoveEmpty", dir, func() (err error) {
		removed, err = RemoveEmpty(ctx, f.inner, dir)
		return err
	}, nil)
	return removed, err
}
