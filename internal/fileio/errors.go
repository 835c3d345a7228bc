package fileio

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"net"
	"os"
	"syscall"
)

// ErrNoSpace means that the disk, or the quota on it, is used up.
var ErrNoSpace = errors.New("no space left on the disk")

// ErrFolder is the error of opening a folder as a file.
var ErrFolder = errors.New("it is a folder, not a file")

// ErrUnreachable means that a store does not answer, or that it cannot do what it is asked to at the moment.
var ErrUnreachable = errors.New("the store cannot be reached")

// ErrRefused is what errors of PutIfAbsent are after which nothing was written for certain.
var ErrRefused = errors.New("the store refuses it")

// Refused makes an error an ErrRefused.
func Refused(err error) error { return &refusedError{err} }

type refusedError struct{ error }

func (e *refusedError) Unwrap() error        { return e.error }
func (e *refusedError) Is(target error) bool { return target == ErrRefused }

// Unreachable tells errors of reaching a store from those of what it holds: trying again later helps.
func Unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.Is(err, ErrUnreachable) || errors.As(err, &op) || errors.As(err, &dns)
}

// NotExist is the error of an operation on a path that is not there.
func NotExist(op, path string) error {
	return &iofs.PathError{Op: op, Path: path, Err: iofs.ErrNotExist}
}

// Exist is the error of an operation that needs a free name and found path taken.
func Exist(op, path string) error {
	return &iofs.PathError{Op: op, Path: path, Err: iofs.ErrExist}
}

// causeError says something clearer than the error of the system below it, which it still is.
type causeError struct {
	text     string
	is, base error
}

func (e *causeError) Error() string   { return e.text }
func (e *causeError) Unwrap() []error { return []error{e.is, e.base} }

// osError turns an error of the os package into one that names operation and path as the caller
// knows them (not those of a temporary file) and, for the usual causes, what to do.
func osError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var pe *iofs.PathError
	var le *os.LinkError
	var se *os.SyscallError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	case errors.As(err, &se):
		err = se.Err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		err = &causeError{"no space left on the disk (or quota used up): free some and try again", ErrNoSpace, err}
	case errors.Is(err, syscall.EROFS):
		err = &causeError{"the file system is mounted read-only", iofs.ErrPermission, err}
	case errors.Is(err, iofs.ErrPermission):
		err = &causeError{fmt.Sprintf("permission denied for user id %d: check owner and mode of the file and its folders", os.Getuid()), iofs.ErrPermission, err}
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		err = &causeError{"too many open files: raise the limit (ulimit -n)", err, err}
	case errors.Is(err, syscall.ENAMETOOLONG):
		err = &causeError{"a name in the path is too long for the file system, which takes 255 bytes; is it a value of a partition column?", err, err}
	case errors.Is(err, syscall.ENOTDIR):
		// A part of the path is a file, so there is nothing below it.
		if op == "open" || op == "stat" || op == "list" {
			err = &causeError{"no such file: a part of the path is not a folder", iofs.ErrNotExist, err}
		} else {
			err = &causeError{"a part of the path is a file where a folder has to be", err, err}
		}
	}
	return &iofs.PathError{Op: op, Path: path, Err: err}
}
