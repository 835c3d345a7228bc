package fileio

import (
	"context"
	"errors"
	"hash/fnv"
	iofs "io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// MemOptions are the options of NewMem.
type MemOptions struct {
	// Now gives modification times; time.Now if nil.
	Now func() time.Time
}

// Mem is a file system in memory that knows what would survive a power failure: what Put,
// PutIfAbsent and Rename wrote, and what was written by Create and then given to Sync. See
// CrashClone. Paths are any names separated by slashes; empty parts and a leading slash don't count,
// "." and ".." have no meaning of their own.
type Mem struct {
	now func() time.Time

	mu   sync.RWMutex
	root *memNode
}

// memNode is a folder (children is not nil) or a file.
type memNode struct {
	children map[string]*memNode
	data     []byte // only ever appended to, or replaced
	mod      time.Time
	durable  bool // files: content and name are synced
}

// NewMem gives an empty file system.
func NewMem(opts MemOptions) *Mem {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Mem{now: opts.Now, root: &memNode{children: map[string]*memNode{}}}
}

// CrashClone gives the file system as it would be found after a power failure now; m itself is not
// changed. Files that were not synced are gone, empty or cut in half: which of the three follows
// from their path, so a run can be repeated. Deleted and renamed files stay so.
func (m *Mem) CrashClone() *Mem {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return &Mem{now: m.now, root: m.root.crash("")}
}

func (n *memNode) crash(path string) *memNode {
	if n.children == nil {
		c := &memNode{data: slices.Clip(n.data), mod: n.mod, durable: true}
		if n.durable {
			return c
		}
		h := fnv.New32a()
		h.Write([]byte(path))
		switch h.Sum32() % 3 {
		case 0:
			return nil
		case 1:
			c.data = nil
		default:
			c.data = slices.Clip(n.data[:len(n.data)/2])
		}
		return c
	}
	c := &memNode{children: make(map[string]*memNode, len(n.children)), mod: n.mod}
	for name, child := range n.children {
		if cc := child.crash(path + "/" + name); cc != nil {
			c.children[name] = cc
		}
	}
	return c
}

// parts splits a path into its names.
func parts(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

// find gives the node of a path, nil if there is none.
func (m *Mem) find(path string) *memNode {
	n := m.root
	for _, p := range parts(path) {
		if n = n.children[p]; n == nil {
			return nil
		}
	}
	return n
}

var errNotFolder = errors.New("a part of the path is a file, not a folder")

// parent gives the folder that holds path and the last name, making folders as needed.
func (m *Mem) parent(op, path string) (*memNode, string, error) {
	ps := parts(path)
	if len(ps) == 0 {
		return nil, "", &iofs.PathError{Op: op, Path: path, Err: errors.New("the path names no file")}
	}
	n := m.root
	for _, p := range ps[:len(ps)-1] {
		c := n.children[p]
		if c == nil {
			c = &memNode{children: map[string]*memNode{}, mod: m.now()}
			n.children[p] = c
		} else if c.children == nil {
			return nil, "", &iofs.PathError{Op: op, Path: path, Err: errNotFolder}
		}
		n = c
	}
	return n, ps[len(ps)-1], nil
}

func memErr(ctx context.Context, op, path string) error {
	if err := ctx.Err(); err != nil {
		return &iofs.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// Open implements FS. The file is read as it was when it was opened.
func (m *Mem) Open(ctx context.Context, path string) (File, error) {
	if err := memErr(ctx, "open", path); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := m.find(path)
	if n == nil {
		return nil, NotExist("open", path)
	}
	if n.children != nil {
		return nil, &iofs.PathError{Op: "open", Path: path, Err: ErrFolder}
	}
	return &memFile{path: path, data: n.data}, nil
}

// Create implements FS. A name that is taken is fs.ErrExist, as on local disks. The file is seen
// unfinished while it is written.
func (m *Mem) Create(ctx context.Context, path string) (Writer, error) {
	n, err := m.add(ctx, "create", path, nil, false)
	if err != nil {
		return nil, err
	}
	return &memWriter{m: m, n: n, path: path}, nil
}

// add makes a new file.
func (m *Mem) add(ctx context.Context, op, path string, data []byte, durable bool) (*memNode, error) {
	if err := memErr(ctx, op, path); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, name, err := m.parent(op, path)
	if err != nil {
		return nil, err
	}
	if dir.children[name] != nil {
		return nil, Exist(op, path)
	}
	n := &memNode{data: data, mod: m.now(), durable: durable}
	dir.children[name] = n
	return n, nil
}

// PutIfAbsent implements FS.
func (m *Mem) PutIfAbsent(ctx context.Context, path string, data []byte) error {
	_, err := m.add(ctx, "create", path, slices.Clone(data), true)
	return err
}

// Put implements FS.
func (m *Mem) Put(ctx context.Context, path string, data []byte) error {
	if err := memErr(ctx, "write", path); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, name, err := m.parent("write", path)
	if err != nil {
		return err
	}
	if n := dir.children[name]; n != nil && n.children != nil {
		return &iofs.PathError{Op: "write", Path: path, Err: errors.New("there is a folder of that name")}
	}
	dir.children[name] = &memNode{data: slices.Clone(data), mod: m.now(), durable: true}
	return nil
}

// Rename implements FS.
func (m *Mem) Rename(ctx context.Context, from, to string) error {
	if err := memErr(ctx, "rename", from); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.find(from)
	if n == nil || n == m.root {
		return NotExist("rename", from)
	}
	if m.find(to) != nil {
		return Exist("rename to", to)
	}
	if src, dst := parts(from), parts(to); len(dst) > len(src) && slices.Equal(src, dst[:len(src)]) {
		return &iofs.PathError{Op: "rename", Path: from, Err: errors.New("a folder cannot move into itself")}
	}
	dir, name, err := m.parent("rename to", to)
	if err != nil {
		return err
	}
	old, oldName, err := m.parent("rename", from)
	if err != nil {
		return err
	}
	dir.children[name] = n
	delete(old.children, oldName)
	return nil
}

// Stat implements FS.
func (m *Mem) Stat(ctx context.Context, path string) (Info, error) {
	if err := memErr(ctx, "stat", path); err != nil {
		return Info{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := m.find(path)
	if n == nil {
		return Info{}, NotExist("stat", path)
	}
	return n.info(path), nil
}

func (n *memNode) info(path string) Info {
	return Info{Path: path, Size: int64(len(n.data)), ModTime: n.mod, IsDir: n.children != nil}
}

// List implements FS. The listing is of the moment it begins.
func (m *Mem) List(ctx context.Context, dir string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		infos, err := m.list(ctx, dir)
		if err != nil {
			yield(Info{}, err)
			return
		}
		for _, i := range infos {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func (m *Mem) list(ctx context.Context, dir string) ([]Info, error) {
	if err := memErr(ctx, "list", dir); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := m.find(dir)
	if n == nil {
		return nil, nil
	}
	if n.children == nil {
		return nil, &iofs.PathError{Op: "list", Path: dir, Err: errNotFolder}
	}
	infos := make([]Info, 0, len(n.children))
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		infos = append(infos, n.children[name].info(join(dir, name)))
	}
	return infos, nil
}

// Delete implements FS.
func (m *Mem) Delete(ctx context.Context, paths ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range paths {
		if err := memErr(ctx, "delete", p); err != nil {
			return err
		}
		ps := parts(p)
		if len(ps) == 0 {
			m.root.children = map[string]*memNode{}
			continue
		}
		if dir := m.find(strings.Join(ps[:len(ps)-1], "/")); dir != nil {
			delete(dir.children, ps[len(ps)-1])
		}
	}
	return nil
}

// Sync implements FS.
func (m *Mem) Sync(ctx context.Context, paths ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range paths {
		if err := memErr(ctx, "sync", p); err != nil {
			return err
		}
		n := m.find(p)
		if n == nil {
			return NotExist("sync", p)
		}
		n.durable = true
	}
	return nil
}
