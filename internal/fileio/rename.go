package fileio

import (
	"os"
	"syscall"
)

// renameNoReplace renames if to is free. Where the system cannot do both in one step, a racing
// creation of to may be replaced (a file) or makes it fail (a folder with something in it).
func renameNoReplace(from, to string) error {
	err := exclusiveRename(from, to)
	if !linkUnsupported(err) {
		return err
	}
	if _, e := os.Lstat(to); e == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EEXIST}
	}
	return os.Rename(from, to)
}
