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
