package tarn

import (
	"errors"
	"fmt"

	"github.com/tarnlake/tarn/internal/metastore"
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
	ErrInvalid = errors.New("invalid request")
)

// invalid makes an ErrInvalid.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
