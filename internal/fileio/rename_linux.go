package fileio

import (
	"errors"
	"os"
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
