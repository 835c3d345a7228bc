package tarn

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/tarnlake/tarn/internal/metastore"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/write"
)

// Errors to test for with errors.Is. What a call returns wraps one of them with what failed and where.
var (
	// ErrNotExist: no such database, table, snapshot or column.
	ErrNotExist = metastore.ErrNotExist
	// ErrExist: the name is taken.
	ErrExist = metastore.ErrExist
	// ErrNotEmpty: a database that still has tables.
	ErrNotEmpty = metastore.ErrNotEmpty
	// ErrUnsupported: known to the format, not (yet) to this library.
	ErrUnsupported = errors.New("not supported")
	// ErrInvalid: a request that makes no sense, whatever the table holds.
	ErrInvalid = paths.ErrInvalid
)

// RowError is in the errors of Writer.Write that are about one row of the batch, and tells which: the first one that the
// table cannot take.
type RowError = write.RowError

// absentError makes the error of a file that is not there into an ErrNotExist, with the same words.
type absentError struct{ error }

func (e absentError) Unwrap() error        { return e.error }
func (e absentError) Is(target error) bool { return target == ErrNotExist }

// absent is for errors of what a caller named. A file that a table needs and does not have is no ErrNotExist.
func absent(err error) error {
	if errors.Is(err, iofs.ErrNotExist) {
		return absentError{err}
	}
	return err
}

// invalid makes an ErrInvalid.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
