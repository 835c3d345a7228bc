package schema

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tarnlake/tarn/internal/fileio"
)

// Manager reads and writes the schema files of a table. It is safe for concurrent use.
type Manager struct {
	fs  fileio.FS
	dir string

	mu    sync.Mutex
	cache map[int64]*Schema // files never change
}

// NewManager makes a Manager of the table, or branch of a table, at a path.
func NewManager(fs fileio.FS, tablePath string) *Manager {
	return &Manager{fs: fs, dir: strings.TrimRight(tablePath, "/") + "/schema", cache: map[int64]*Schema{}}
}

// Path is the file of a schema.
func (m *Manager) Path(id int64) string { return m.dir + "/schema-" + strconv.FormatInt(id, 10) }

// Get reads a schema. The error is fs.ErrNotExist if there is none of that number.
func (m *Manager) Get(ctx context.Context, id int64) (*Schema, error) {
	m.mu.Lock()
	s := m.cache[id]
	m.mu.Unlock()
	if s != nil {
		return s, nil
	}
	p := m.Path(id)
	data, err := fileio.ReadFile(ctx, m.fs, p)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if s, err = Decode(data); err != nil {
		return nil, fmt.Errorf("schema: %s: %w", p, err)
	}
	if s.ID != id {
		return nil, fmt.Errorf("schema: %s: the schema in it has number %d", p, s.ID)
	}
	m.mu.Lock()
	m.cache[id] = s
	m.mu.Unlock()
	return s, nil
}

// List gives the numbers of all schemas, in order.
func (m *Manager) List(ctx context.Context) ([]int64, error) {
	var out []int64
	for info, err := range m.fs.List(ctx, m.dir) {
		if err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
		if s, ok := strings.CutPrefix(path.Base(info.Path), "schema-"); ok {
			if id, err := strconv.ParseInt(s, 10, 64); err == nil && id >= 0 {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// LatestID is the number of the newest schema, -1 if there is none.
func (m *Manager) LatestID(ctx context.Context) (int64, error) {
	ids, err := m.List(ctx)
	if err != nil || len(ids) == 0 {
		return -1, err
	}
	return ids[len(ids)-1], nil
}

// Latest reads the newest schema. The error is fs.ErrNotExist if there is none.
func (m *Manager) Latest(ctx context.Context) (*Schema, error) {
	id, err := m.LatestID(ctx)
	if err != nil {
		return nil, err
	}
	if id < 0 {
		return nil, fmt.Errorf("schema: no schema in %s: %w", m.dir, iofs.ErrNotExist)
	}
	s, err := m.Get(ctx, id)
	if errors.Is(err, iofs.ErrNotExist) {
		// A table that is just dropped has none any more.
		if again, lerr := m.LatestID(ctx); lerr == nil && again >= id {
			return nil, fmt.Errorf("schema: %s is no file that can be read: it is a folder, or a link that leads nowhere", m.Path(id))
		}
	}
	return s, err
}

// Commit writes a schema file. The error is fs.ErrExist if there is one of that number: somebody else
// was faster.
func (m *Manager) Commit(ctx context.Context, s *Schema) error {
	p := m.Path(s.ID)
	data := s.Encode()
	err := m.fs.PutIfAbsent(ctx, p, data)
	if err != nil && !errors.Is(err, iofs.ErrExist) {
		// Whether it was written is open: look.
		if have, rerr := fileio.ReadFile(context.WithoutCancel(ctx), m.fs, p); rerr == nil {
			if string(have) == string(data) {
				err = nil
			} else {
				err = fmt.Errorf("%s: %w", p, iofs.ErrExist)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

// ApplyOptions of Apply.
type ApplyOptions struct {
	// HasSnapshots: the table holds rows, so that options on which these rest cannot change.
	HasSnapshots bool
	// Idempotent takes a change for done that is there already: a column added with the same type, dropped,
	// or renamed. Options, types, comments and the like that are as they should be are never an error.
	Idempotent bool
	// Check, if not nil, tells of faults of a schema that are not known here. It is not asked if the schema before the changes has
	// some already.
	Check func(*Schema) error
	// TimeMillis is when the new schema is made.
	TimeMillis int64
}

// ErrRefused is what errors of Apply are that come from the changes themselves, not from the storage.
var ErrRefused = errors.New("the change is refused")

type refusedError struct{ error }

func (e refusedError) Unwrap() error        { return e.error }
func (e refusedError) Is(target error) bool { return target == ErrRefused }

// Apply makes the next schema out of the newest one, all changes or none. If another change was
// faster, the changes are applied to what it left. The schema that results is given; without any
// difference it is the newest one there is.
func (m *Manager) Apply(ctx context.Context, changes []Change, o ApplyOptions) (*Schema, error) {
	const attempts = 100
	for range attempts {
		base, err := m.Latest(ctx)
		if err != nil {
			return nil, err
		}
		next, err := base.Apply(changes, o)
		if err != nil {
			return nil, refusedError{err}
		}
		if next == base {
			return base, nil
		}
		err = m.Commit(ctx, next)
		if err == nil {
			return next, nil
		}
		if !errors.Is(err, iofs.ErrExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("schema: %s: other changes were faster %d times: try again later", m.dir, attempts)
}
