package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/tarnlake/tarn/internal/paths"
)

// RangeError says that a snapshot is not there, and which ones are. It is an fs.ErrNotExist.
type RangeError struct {
	Path             string
	ID               int64
	Earliest, Latest int64 // 0: there is none at all
	Changes          bool  // Earliest counts changelogs that outlived their snapshots
}

func (e *RangeError) Error() string {
	are := "snapshots"
	if e.Changes {
		are = "the changes of snapshots"
	}
	switch {
	case e.Latest == 0:
		return fmt.Sprintf("snapshot %d of %s does not exist: the table has no snapshot", e.ID, e.Path)
	case e.ID > 0 && e.ID < e.Earliest:
		return fmt.Sprintf("snapshot %d of %s has expired: %s %d to %d are there", e.ID, e.Path, are, e.Earliest, e.Latest)
	}
	return fmt.Sprintf("snapshot %d of %s does not exist: %s %d to %d are there", e.ID, e.Path, are, e.Earliest, e.Latest)
}

func (e *RangeError) Unwrap() error { return fs.ErrNotExist }

// OutOfRange makes the error for a snapshot that is not there.
func (s *Store) OutOfRange(ctx context.Context, id int64) error {
	e := &RangeError{Path: s.root, ID: id}
	ids, err := s.List(ctx)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		e.Earliest, e.Latest = ids[0], ids[len(ids)-1]
	}
	return e
}

// Told reads what tells of the changes that a snapshot brought: the snapshot, or its changelog if only that is left. If
// neither is, or both are about to expire, the error is a *RangeError.
func (s *Store) Told(ctx context.Context, id int64) (*Snapshot, error) {
	snap, err := s.At(ctx, id)
	var gone *RangeError
	if !errors.As(err, &gone) {
		return snap, err
	}
	ids, err := s.Changelogs(ctx)
	if err != nil {
		return nil, err
	}
	hidden, err := readHint(ctx, s.fs, s.root+changelogDir+"/"+paths.Earliest)
	if err != nil {
		return nil, err
	}
	if at, there := slices.BinarySearch(ids, hidden); there { // those before are about to expire
		ids = ids[at:]
	}
	if _, there := slices.BinarySearch(ids, id); there {
		if c, err := s.Changelog(ctx, id); !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	if gone.Changes = true; len(ids) > 0 && gone.Latest > 0 {
		gone.Earliest = min(gone.Earliest, ids[0])
	}
	return nil, gone
}
