package cli

import (
	"context"
	"errors"
	iofs "io/fs"
	"syscall"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/sql"
)

// Exit codes; `tarn help exit-codes` tells them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitUnreachable = 5
	exitDamage      = 6
	exitSomeFailed  = 7
	exitInterrupted = 130
)

// codeError carries an exit code of its own.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// usage makes an error of the command line or a configuration.
func usage(err error) error { return &codeError{exitUsage, err} }

// hintError adds what to do.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

func hint(err error, text string) error { return &hintError{err, text} }

// missingFile makes the error of a file that was named and is not there.
func missingFile(err error) error {
	if errors.Is(err, iofs.ErrNotExist) {
		return &codeError{exitNotFound, err}
	}
	return err
}

// exitCode chooses the code of an error.
func exitCode(ctx context.Context, err error) int {
	var c *codeError
	var some *sql.PartialError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &c):
		return c.code
	case errors.Is(err, tarn.ErrUnknownOutcome): // whatever the cause: trying again may do it twice
		return exitFailed
	case errors.As(err, &some):
		return exitSomeFailed
	case errors.Is(err, tarn.ErrConflict), errors.Is(err, tarn.ErrExist), errors.Is(err, iofs.ErrExist), errors.Is(err, tarn.ErrNotEmpty), errors.Is(err, tarn.ErrFenced):
		return exitConflict
	case fileio.Unreachable(err):
		return exitUnreachable
	case errors.Is(err, tarn.ErrInvalid), errors.Is(err, tarn.ErrUnsupported), errors.Is(err, datafile.ErrFormat), errors.Is(err, paths.ErrName), errors.Is(err, open.ErrConfig):
		return exitUsage
	case errors.Is(err, tarn.ErrNotExist):
		return exitNotFound
	}
	return exitFailed
}

// damaged advises on an error of a table's files: those that are missing, or hold something else.
func damaged(table string, err error) error {
	var l *hintError
	if !isDamage(err) || errors.As(err, &l) {
		return err
	}
	return hint(err, "tarn check --explain "+table+" tells what else is wrong with the table and what to do; an older snapshot may be read by --at")
}

// isDamage tells errors of what the files of a table hold from those of reaching them.
func isDamage(err error) bool {
	var no syscall.Errno
	if exitCode(context.Background(), err) != exitFailed || errors.Is(err, context.Canceled) || errors.Is(err, tarn.ErrUnknownOutcome) {
		return false
	}
	return !errors.As(err, &no) || no == syscall.ENOENT
}
