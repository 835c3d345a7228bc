package commit

import (
	"errors"
	"fmt"

	"github.com/tarnlake/tarn/internal/snapshot"
)

var (
	// ErrConflict says that the table has changed in a way with which the commit does not go together:
	// nothing was committed, and what it rests on has to be read and computed again.
	ErrConflict = errors.New("conflict with another commit")
	// ErrOverwritten says that a writer without a lock has replaced a snapshot after it was committed:
	// the commit has to be done again. No file was removed.
	ErrOverwritten = errors.New("snapshot was replaced by another writer")
	// ErrUnknown says that nobody can tell whether the commit was done: the file system neither
	// confirmed nor denied. No file was removed. Commit the same again under the same identifier.
	ErrUnknown = errors.New("outcome of the commit is unknown")
	// ErrUndecided says that the snapshots that would tell whether the commit was done before have
	// expired.
	ErrUndecided = errors.New("cannot tell whether this was committed before")
	// ErrBusy says that others were faster too many times.
	ErrBusy = errors.New("gave up after too many attempts")
)

// ConflictError is an ErrConflict with its details.
type ConflictError struct {
	Table    string
	Kind     snapshot.CommitKind // which of the two snapshots of the commit
	Snapshot int64               // the newest snapshot at that time
	By       string              // its user
	Reason   string
	Err      error // may be nil
}

func (e *ConflictError) Error() string {
	s := fmt.Sprintf("commit: %s: %s: %s (newest snapshot is %d of user %s): nothing was committed; read the table again and repeat",
		e.Table, e.Kind, e.Reason, e.Snapshot, e.By)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes it an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

func (e *ConflictError) Unwrap() error { return e.Err }
