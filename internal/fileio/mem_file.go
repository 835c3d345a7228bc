package fileio

import (
	"context"
	"io"
	iofs "io/fs"
	"slices"
)

// memFile is an open file of Mem.
type memFile struct {
	path string
	data []byte
}

func (f *memFile) Size() int64  { return int64(len(f.data)) }
func (f *memFile) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &iofs.PathError{Op: "read", Path: f.path, Err: iofs.ErrInvalid}
	}
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// ReadRanges implements File.
func (f *memFile) ReadRanges(ctx context.Context, ranges []Range) ([][]byte, error) {
	if err := memErr(ctx, "read", f.path); err != nil {
		return nil, err
	}
	if _, err := Coalesce(ranges, f.Size(), 0, 0); err != nil {
		return nil, &iofs.PathError{Op: "read", Path: f.path, Err: err}
	}
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		out[i] = slices.Clone(f.data[r.Offset : r.Offset+r.Length])
		if out[i] == nil {
			out[i] = []byte{}
		}
	}
	return out, nil
}

// memWriter writes a file of Mem.
type memWriter struct {
	m    *Mem
	n    *memNode
	path string
	done bool
}

func (w *memWriter) Write(p []byte) (int, error) {
	if w.done {
		return 0, &iofs.PathError{Op: "write", Path: w.path, Err: iofs.ErrClosed}
	}
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	w.n.data = append(w.n.data, p...)
	w.n.durable = false // a Sync before this write does not cover it
	w.n.mod = w.m.now()
	return len(p), nil
}

func (w *memWriter) Close() error {
	w.done = true
	return nil
}

func (w *memWriter) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	ps := parts(w.path)
	dir := w.m.root
	for _, p := range ps[:len(ps)-1] {
		if dir = dir.children[p]; dir == nil {
			return nil
		}
	}
	if name := ps[len(ps)-1]; dir.children[name] == w.n {
		delete(dir.children, name)
	}
	return nil
}
