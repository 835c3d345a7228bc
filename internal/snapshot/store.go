package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/paths"
)

const snapshotDir = "/snapshot"

// MainBranch is the branch whose files lie in the table's own folder.
const MainBranch = paths.MainBranch

// Store finds and reads the snapshots of one branch of a table, and its tags, consumers and long-lived
// changelogs. It keeps no state: everything may change at any time by the hand of others. It is safe
// for concurrent use.
type Store struct {
	fs     fileio.FS
	table  string
	branch string
	root   string // folder of the branch
}

// NewStore makes a Store of a branch, "" or "main" for the main one.
func NewStore(fsys fileio.FS, tablePath, branch string) *Store {
	s := &Store{fs: fsys, table: strings.TrimSuffix(tablePath, "/"), branch: branch}
	s.root = paths.BranchDir(s.table, branch)
	if s.root == s.table {
		s.branch = MainBranch
	}
	return s
}

// Branch gives the Store of another branch of the table.
func (s *Store) Branch(name string) *Store { return NewStore(s.fs, s.table, name) }

// BranchName is the name of the branch, "main" for the main one.
func (s *Store) BranchName() string { return s.branch }

// Path is the file of a snapshot.
func (s *Store) Path(id int64) string {
	return s.root + snapshotDir + "/" + paths.SnapshotPrefix + strconv.FormatInt(id, 10)
}

// Dir is the folder of the snapshots.
func (s *Store) Dir() string { return s.root + snapshotDir }

// ErrNone says that a table has no snapshot yet. It is an fs.ErrNotExist.
var ErrNone = fmt.Errorf("table has no snapshot: %w", fs.ErrNotExist)

// waits are the pauses before a file that is half written is read again. Files of our own are never
// seen half written; those of others may be, for a moment.
var waits = []time.Duration{time.Millisecond, 4 * time.Millisecond, 16 * time.Millisecond}

// readWhole reads a file and decodes it, again if it looks half written.
func readWhole[T any](ctx context.Context, fsys fileio.FS, path string, decode func([]byte) (T, error)) (T, error) {
	var zero T
	for try := 0; ; try++ {
		data, err := readFile(ctx, fsys, path)
		if err != nil {
			return zero, err
		}
		v, err := decode(data)
		if err == nil {
			return v, nil
		}
		if !errors.Is(err, errIncomplete) || try >= len(waits) {
			return zero, fmt.Errorf("snapshot: %s: %w", path, err)
		}
		if err := pause(ctx, waits[try]); err != nil {
			return zero, fmt.Errorf("snapshot: %s: %w", path, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// maxFile bounds snapshot files and hints; real ones have one or two kB, properties included.
const maxFile = 16 << 20

func readFile(ctx context.Context, fsys fileio.FS, path string) ([]byte, error) {
	f, err := fsys.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	defer f.Close()
	if f.Size() > maxFile {
		return nil, fmt.Errorf("snapshot: %s has %d bytes, which is too much", path, f.Size())
	}
	b := make([]byte, f.Size())
	n, err := fileio.ReadAt(ctx, f, b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("snapshot: read %s: %w", path, err)
	}
	return b[:n], nil
}

// Get reads a snapshot. The error is fs.ErrNotExist if there is none of that number.
func (s *Store) Get(ctx context.Context, id int64) (*Snapshot, error) {
	return readWhole(ctx, s.fs, s.Path(id), Decode)
}

// Exists reports whether a snapshot is there.
func (s *Store) Exists(ctx context.Context, id int64) (bool, error) {
	return exists(ctx, s.fs, s.Path(id))
}

func exists(ctx context.Context, fsys fileio.FS, path string) (bool, error) {
	_, err := fsys.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("snapshot: %w", err)
	}
	return true, nil
}

// At is Get for a number that a user gave: if the snapshot is not there, the error is a *RangeError.
func (s *Store) At(ctx context.Context, id int64) (*Snapshot, error) {
	snap, err := s.Get(ctx, id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		hidden, err := s.hidden(ctx)
		if err != nil || id >= hidden {
			return snap, err
		}
	}
	return nil, s.OutOfRange(ctx, id)
}

// hidden is the EARLIEST hint if its snapshot is there: what is older is about to expire, its files may
// be gone already.
func (s *Store) hidden(ctx context.Context) (int64, error) {
	hint, err := s.earliestHint(ctx)
	if err != nil || hint == 0 {
		return 0, err
	}
	if there, err := s.Exists(ctx, hint); err != nil || !there {
		return 0, err
	}
	return hint, nil
}

// List gives the numbers of all snapshots, in order, but for those that are just expiring.
func (s *Store) List(ctx context.Context) ([]int64, error) {
	// The hint first: it only moves up, and there is always a snapshot at or after it.
	hidden, err := s.hidden(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := s.All(ctx)
	if err != nil || len(ids) == 0 {
		return ids, err
	}
	at, _ := slices.BinarySearch(ids, hidden)
	return ids[at:], nil
}

// All is List with the expiring snapshots.
func (s *Store) All(ctx context.Context) ([]int64, error) {
	return listIDs(ctx, s.fs, s.Dir(), paths.SnapshotPrefix)
}

func listIDs(ctx context.Context, fsys fileio.FS, dir, prefix string) ([]int64, error) {
	var ids []int64
	for info, err := range fsys.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		name := info.Path[strings.LastIndexByte(info.Path, '/')+1:]
		n, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		// A folder of that name is told when it is read: without it an older snapshot would be the newest. Temporary files of writers carry other names; a name that is no number is not ours to judge.
		if id, err := strconv.ParseInt(n, 10, 64); err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// readHint reads a hint file: 0 if there is none or it is no number. It is half written for a moment
// with writers that truncate and write.
func readHint(ctx context.Context, fsys fileio.FS, path string) (int64, error) {
	for try := 0; ; try++ {
		data, err := readFile(ctx, fsys, path)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err == nil {
			// A hint that was cut off is a smaller number, which the callers recognize as stale.
			if id, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && id > 0 {
				return id, nil
			}
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if try >= 2 {
			return 0, nil // only a hint: the listing is always right
		}
		if err := pause(ctx, waits[0]); err != nil {
			return 0, err
		}
	}
}

// LatestID is the number of the newest snapshot, 0 if there is none.
func (s *Store) LatestID(ctx context.Context) (int64, error) {
	hint, err := s.latestHint(ctx)
	if err != nil {
		return 0, err
	}
	return s.LatestFrom(ctx, hint)
}

// probes bounds how many snapshots are looked for one by one: a hint is written after the snapshot, so it may be behind by a few.
const probes = 8

func (s *Store) latestHint(ctx context.Context) (int64, error) {
	return readHint(ctx, s.fs, s.Dir()+"/"+paths.Latest)
}

func (s *Store) earliestHint(ctx context.Context) (int64, error) {
	return readHint(ctx, s.fs, s.Dir()+"/"+paths.Earliest)
}

// LatestFrom is LatestID for callers that know a snapshot that was there: if it still is, only newer
// ones are looked for.
func (s *Store) LatestFrom(ctx context.Context, known int64) (int64, error) {
	if known > 0 {
		for probe := 0; probe < probes; probe++ {
			there, err := s.Exists(ctx, known+1)
			if err != nil {
				return 0, err
			}
			if there {
				known++
				continue
			}
			if there, err = s.Exists(ctx, known); err != nil {
				return 0, err
			}
			if there {
				if there, err = s.stays(ctx, known); err != nil || there {
					return known, err
				}
			}
			break
		}
	}
	ids, err := s.List(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[len(ids)-1], nil
}

// stays reports whether a snapshot is not about to expire. Where two expire snapshots at once, newer ones may be gone before this one
// is: those that go are hidden first.
func (s *Store) stays(ctx context.Context, id int64) (bool, error) {
	first, err := s.earliestHint(ctx)
	return first <= id, err
}

// Latest reads the newest snapshot. The error is ErrNone if there is none.
func (s *Store) Latest(ctx context.Context) (*Snapshot, error) {
	hint, err := s.latestHint(ctx)
	if err != nil {
		return nil, err
	}
	if snap, err := s.latestFrom(ctx, hint); !errors.Is(err, fs.ErrNotExist) {
		return snap, err
	}
	id, err := s.LatestFrom(ctx, 0)
	for n := 0; err == nil; n++ {
		if id == 0 {
			return nil, fmt.Errorf("snapshot: %s: %w", s.root, ErrNone)
		}
		snap, gerr := s.Get(ctx, id)
		if !errors.Is(gerr, fs.ErrNotExist) || n == 10 {
			return snap, gerr
		}
		// Others commit and expire: by now another one is the newest.
		tried := id
		if id, err = s.LatestID(ctx); err == nil && id == tried {
			return nil, gerr
		}
	}
	return nil, err
}

// latestFrom reads the newest snapshot if it is known, or one of the few next: reading a file takes no more than asking for it. The
// error is fs.ErrNotExist if that cannot be told.
func (s *Store) latestFrom(ctx context.Context, known int64) (*Snapshot, error) {
	var found *Snapshot
	for probe := 0; known > 0 && probe < probes; probe++ {
		next, err := s.Get(ctx, known+1)
		if errors.Is(err, fs.ErrNotExist) {
			if found == nil {
				if found, err = s.Get(ctx, known); err != nil {
					return nil, err
				}
			}
			if stays, err := s.stays(ctx, known); err != nil || !stays {
				return nil, cmp.Or(err, fs.ErrNotExist)
			}
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		known, found = known+1, next
	}
	return nil, fs.ErrNotExist
}

// EarliestID is the number of the oldest snapshot, 0 if there is none.
func (s *Store) EarliestID(ctx context.Context) (int64, error) {
	if id, err := s.hidden(ctx); err != nil || id > 0 {
		return id, err
	}
	ids, err := s.List(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

// Earliest reads the oldest snapshot. One that expires meanwhile is passed over. The error is ErrNone
// if there is none.
func (s *Store) Earliest(ctx context.Context) (*Snapshot, error) {
	id, err := s.EarliestID(ctx)
	for err == nil && id > 0 {
		var snap *Snapshot
		if snap, err = s.Get(ctx, id); !errors.Is(err, fs.ErrNotExist) {
			return snap, err
		}
		var ids []int64
		if ids, err = s.List(ctx); err != nil {
			break
		}
		at, _ := slices.BinarySearch(ids, id+1)
		id = 0
		if at < len(ids) {
			id = ids[at]
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("snapshot: %s: %w", s.root, ErrNone)
}

// Passed reports whether a snapshot belongs to those that have expired, or are just expiring: its number was used, whether
// the file is there or not.
func (s *Store) Passed(ctx context.Context, id int64) (bool, error) {
	first, err := s.earliestHint(ctx)
	if err != nil {
		return false, err
	}
	// Of two others that expire snapshots the slower one sets the hint back. But they go in order: where the one before is there, this one has not gone.
	if first <= id && id > 1 {
		if there, err := s.Exists(ctx, id-1); err != nil || there {
			return false, err
		}
	}
	ids, err := s.All(ctx) // a hint alone may be wrong
	return err == nil && len(ids) > 0 && ids[len(ids)-1] > id, err
}

// HintLatest writes the LATEST hint, unless it names a newer snapshot already: the reference takes a snapshot that the hint names for
// the newest if the next one is gone, expired or not. An error is no reason to fail a commit.
func (s *Store) HintLatest(ctx context.Context, id int64) error {
	if hint, err := s.latestHint(ctx); err == nil && hint > id {
		if there, err := s.Exists(ctx, hint); err == nil && there {
			return nil
		}
	}
	return putHint(ctx, s.fs, s.Dir()+"/"+paths.Latest, id)
}

// HintEarliest writes the EARLIEST hint, unless others that expired meanwhile have set it to a newer snapshot.
func (s *Store) HintEarliest(ctx context.Context, id int64) error {
	if hidden, err := s.hidden(ctx); err == nil && hidden > id {
		return nil
	}
	return putHint(ctx, s.fs, s.Dir()+"/"+paths.Earliest, id)
}

func putHint(ctx context.Context, fsys fileio.FS, path string, id int64) error {
	if err := fsys.Put(ctx, path, strconv.AppendInt(nil, id, 10)); err != nil {
		return fmt.Errorf("snapshot: hint: %w", err)
	}
	return nil
}

// Delete removes snapshot files.
func (s *Store) Delete(ctx context.Context, ids ...int64) error {
	files := make([]string, len(ids))
	for i, id := range ids {
		files[i] = s.Path(id)
	}
	if err := s.fs.Delete(ctx, files...); err != nil {
		return fmt.Errorf("snapshot: delete: %w", err)
	}
	return nil
}

// Branches lists the branches of the table, without main.
func (s *Store) Branches(ctx context.Context) ([]string, error) {
	var out []string
	dir := s.table + "/branch"
	for info, err := range s.fs.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		name := info.Path[strings.LastIndexByte(info.Path, '/')+1:]
		if b, ok := strings.CutPrefix(name, paths.BranchPrefix); ok && info.IsDir {
			out = append(out, b)
		}
	}
	return out, nil
}

// BranchTime is when the folder of a branch was last changed. Object stores know no times of folders: there it
// is when its oldest schema was written.
func (s *Store) BranchTime(ctx context.Context, name string) (time.Time, error) {
	dir := paths.BranchDir(s.table, name)
	info, err := s.fs.Stat(ctx, dir)
	if err != nil {
		return time.Time{}, fmt.Errorf("snapshot: branch %s: %w", name, err)
	}
	t := info.ModTime
	if !t.IsZero() {
		return t, nil
	}
	for info, err := range s.fs.List(ctx, dir+"/schema") {
		if err != nil {
			return t, fmt.Errorf("snapshot: branch %s: %w", name, err)
		}
		if t.IsZero() || info.ModTime.Before(t) {
			t = info.ModTime
		}
	}
	return t, nil
}
