package fileio

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// exclusiveRename renames atomically if to is free, else the error is EEXIST.
func exclusiveRename(from, to string) error {
	for {
		err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
		return nil
	}
}

// linkUnnamed writes a file that has no name and links it to path if that is free. A crash leaves
// nothing behind. Not all file systems have it, and it needs /proc and the folder: then the error is one of
// linkUnsupported or fs.ErrNotExist.
func (l *Local) linkUnnamed(path string, data []byte) error {
	dir := filepath.Dir(path)
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
	if errors.Is(err, syscall.EISDIR) { // a kernel that does not know it
		err = syscall.ENOTSUP
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := l.flush(f, data); err != nil {
		return err
	}
	err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: dir, New: path, Err: err}
	}
	return nil
}
