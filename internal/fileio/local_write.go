package fileio

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Create implements FS. A name that is taken is fs.ErrExist: files are written once.
func (l *Local) Create(ctx context.Context, path string) (Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, osError("create", path, err)
	}
	f, err := l.createExclusive("create", path, path)
	if err != nil {
		return nil, err
	}
	buf := writeBuffers.Get().(*bufio.Writer)
	buf.Reset(f)
	return &localWriter{f: f, buf: buf, path: path}, nil
}

// createExclusive makes a new file at, with its folder if need be. Errors name path.
func (l *Local) createExclusive(op, at, path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := os.OpenFile(at, flags, 0o666)
	// Others may remove a folder that is empty right after it was made.
	for n := 0; n < 10 && errors.Is(err, iofs.ErrNotExist); n++ {
		if err := l.mkdirs(filepath.Dir(at)); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(at, flags, 0o666)
	}
	return f, osError(op, path, err)
}

// writeBuffers are shared by the writers: callers may write in small pieces.
var writeBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

type localWriter struct {
	f    *os.File // nil when closed or aborted
	buf  *bufio.Writer
	path string
}

func (w *localWriter) Write(p []byte) (int, error) {
	if w.f == nil {
		return 0, osError("write", w.path, iofs.ErrClosed)
	}
	n, err := w.buf.Write(p)
	return n, osError("write", w.path, err)
}

// Close ends the file; if that fails the file is removed.
func (w *localWriter) Close() error {
	if w.f == nil {
		return nil
	}
	err := w.buf.Flush()
	f := w.release()
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(w.path)
	}
	return osError("close", w.path, err)
}

func (w *localWriter) Abort() error {
	if w.f == nil {
		return nil
	}
	f := w.release()
	f.Close()
	err := os.Remove(w.path)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	return osError("abort", w.path, err)
}

func (w *localWriter) release() *os.File {
	f := w.f
	w.buf.Reset(nil)
	writeBuffers.Put(w.buf)
	w.f, w.buf = nil, nil
	return f
}

// Put implements FS: a hidden file is written, flushed and renamed.
func (l *Local) Put(ctx context.Context, path string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return osError("write", path, err)
	}
	temp, err := l.writeTemp(path, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return osError("write", path, err)
	}
	return l.syncDirs(filepath.Dir(path))
}

// PutIfAbsent implements FS: a file without a name, or where there is no such thing a hidden one, is
// written, flushed and then linked to its name, which the system does for one caller only.
func (l *Local) PutIfAbsent(ctx context.Context, path string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return osError("create", path, err)
	}
	if _, err := os.Lstat(path); err == nil { // spares the flush
		return Exist("create", path)
	}
	err := l.linkUnnamed(path, data)
	if linkUnsupported(err) || errors.Is(err, iofs.ErrNotExist) {
		err = l.linkNamed(path, data)
	}
	if linkUnsupported(err) {
		err = l.putExclusive(path, data)
	}
	if errors.Is(err, iofs.ErrExist) {
		return Exist("create", path)
	}
	if err != nil {
		return osError("create", path, err)
	}
	return l.syncDirs(filepath.Dir(path))
}

// linkNamed writes a hidden file and gives it the name path if that is free.
func (l *Local) linkNamed(path string, data []byte) error {
	temp, err := l.writeTemp(path, data)
	if err != nil {
		return err
	}
	err = claim(temp, path)
	os.Remove(temp) // gone already if it was renamed
	return err
}

// claim gives temp the name path if that is free: by a link, or where there are none (FAT, some
// network mounts) by a rename that does not replace.
func claim(temp, path string) error {
	err := os.Link(temp, path)
	if linkUnsupported(err) {
		err = exclusiveRename(temp, path)
	}
	return err
}

func linkUnsupported(err error) bool {
	for _, e := range []syscall.Errno{syscall.EPERM, syscall.ENOTSUP, syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.EINVAL, syscall.EMLINK, syscall.EXDEV} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// putExclusive is for file systems that can neither link nor rename without replacing. Of several
// callers one wins here too, but a reader may see the file while it is written.
func (l *Local) putExclusive(path string, data []byte) error {
	f, err := l.createExclusive("create", path, path)
	if err != nil {
		return err
	}
	if err := l.fill(f, data); err != nil {
		os.Remove(path) // ours: it was created exclusively
		return err
	}
	return nil
}

// writeTemp writes data to a hidden file in the folder of path.
func (l *Local) writeTemp(path string, data []byte) (string, error) {
	var r [8]byte
	rand.Read(r[:]) // never fails; need not be reproducible, the name is gone when the call returns
	temp := filepath.Join(filepath.Dir(path), TempPrefix+hex.EncodeToString(r[:]))
	f, err := l.createExclusive("write", temp, path)
	if err != nil {
		return "", err
	}
	if err := l.fill(f, data); err != nil {
		os.Remove(temp)
		return "", osError("write", path, err)
	}
	return temp, nil
}

// fill writes data to f, flushes if the option Sync is set, and closes f.
func (l *Local) fill(f *os.File, data []byte) error {
	err := l.flush(f, data)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// flush is fill without the closing.
func (l *Local) flush(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil && l.sync {
		err = f.Sync()
	}
	return err
}
