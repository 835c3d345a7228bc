//go:build !linux

package fileio

import (
	"os"
	"syscall"
)

// exclusiveRename is not to be had on this system.
func exclusiveRename(from, to string) error {
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.ENOSYS}
}

// linkUnnamed is not to be had on this system.
func (l *Local) linkUnnamed(path string, _ []byte) error {
	return &os.PathError{Op: "open", Path: path, Err: syscall.ENOSYS}
}
