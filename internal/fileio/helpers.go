package fileio

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
)

// ReadFile reads a whole file into memory of the caller's own.
func ReadFile(ctx context.Context, fs FS, path string) ([]byte, error) {
	f, err := fs.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() == 0 {
		return []byte{}, nil
	}
	data, err := f.ReadRanges(ctx, []Range{{0, f.Size()}})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data[0], nil
}

// ContextReaderAt is what files are whose reading ends with a context, as those of stores that may not answer.
type ContextReaderAt interface {
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// ReadAt is f.ReadAt that ends with ctx, if the file can.
func ReadAt(ctx context.Context, f File, p []byte, off int64) (int, error) {
	if r, ok := f.(ContextReaderAt); ok {
		return r.ReadAtContext(ctx, p, off)
	}
	return f.ReadAt(p, off)
}

// Exists tells whether there is a file or folder of that name.
func Exists(ctx context.Context, fs FS, path string) (bool, error) {
	_, err := fs.Stat(ctx, path)
	if errors.Is(err, iofs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Walk calls fn for every file, not folder, below dir, folder by folder and in the order of List.
// It ends with the first error, of the file system or of fn.
func Walk(ctx context.Context, fs FS, dir string, fn func(Info) error) error {
	for info, err := range fs.List(ctx, dir) {
		if err != nil {
			return err
		}
		if info.IsDir {
			err = Walk(ctx, fs, info.Path, fn)
		} else {
			err = fn(info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Name is the last part of the path of i.
func (i Info) Name() string { return path.Base(i.Path) }
