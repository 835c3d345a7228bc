package fileio

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
)

// Errors of Fault.
var (
	// ErrInjected is the error of a call that was told to fail.
	ErrInjected = errors.New("injected fault")
	// ErrCrashed is the error of every call from the one on which the process "died".
	ErrCrashed = errors.New("the process has crashed")
)

// Fate says what becomes of a call to Fault.
type Fate uint8

// The fates of a call.
const (
	Pass       Fate = iota // nothing is injected
	FailBefore             // ErrInjected, nothing was done
	FailAfter              // it was done, but the answer is ErrInjected: the caller cannot know
	FailHalf               // half of it was done (see Fault), then ErrInjected
	StopBefore             // as FailBefore, and all calls from then on are ErrCrashed
	StopAfter              // as FailAfter, and all calls from then on are ErrCrashed
	StopHalf               // as FailHalf, and all calls from then on are ErrCrashed
)

// String names the fate as in the constants.
func (f Fate) String() string {
	names := [...]string{"Pass", "FailBefore", "FailAfter", "FailHalf", "StopBefore", "StopAfter", "StopHalf"}
	if int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("Fate(%d)", f)
}

// Call is one call that Fault saw. Calls of files and writers count as well.
type Call struct {
	N       int    // its number, from 1, among those with the same Mutates
	Op      string // Open Create Write Close Abort PutIfAbsent Put Rename Stat List Delete Sync ReadAt ReadRanges
	Path    string // the first, if it has several
	Mutates bool   // Create Write Close Abort PutIfAbsent Put Rename Delete Sync
}

// Fault passes calls on to another file system and makes some of them fail. It is safe for
// concurrent use.
//
// Half of a call is: half of the bytes of a Write, of the paths of a Sync, of the files of a Delete
// (which may lie in one folder). PutIfAbsent, Put, Create, Close, Abort and local renames are atomic
// by the contract of FS, for them half is nothing; a rename on an object store is not, set CopyRename for
// that: half of the files are copied, none deleted. For calls that read, half and after are as before.
type Fault struct {
	inner FS
	// CopyRename makes half a Rename behave as on an object store. Set it before use.
	CopyRename bool
	// OnCrash is told, after the call, when the process "dies", and at every call from then on; nil is nobody.
	// Set it before use.
	OnCrash func()

	mu      sync.Mutex
	decide  func(Call) Fate
	mutates int
	reads   int
	crashed bool
}

// NewFault wraps a file system; nothing fails until it is told so.
func NewFault(inner FS) *Fault { return &Fault{inner: inner} }

// FailAt lets the k-th mutating call (from 1, counted since NewFault or the last Reset) meet its fate.
func (f *Fault) FailAt(k int, fate Fate) {
	f.Decide(func(c Call) Fate {
		if c.Mutates && c.N == k {
			return fate
		}
		return Pass
	})
}

// FailReadAt does the same for the k-th call that reads.
func (f *Fault) FailReadAt(k int, fate Fate) {
	f.Decide(func(c Call) Fate {
		if !c.Mutates && c.N == k {
			return fate
		}
		return Pass
	})
}

// Decide has fn choose the fate of each call; nil lets all pass. fn is called by one goroutine at a
// time and must not call the Fault.
func (f *Fault) Decide(fn func(Call) Fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = fn
}

// Reset sets the counts to zero, ends a crash and lets all calls pass.
func (f *Fault) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide, f.mutates, f.reads, f.crashed = nil, 0, 0, false
}

// Mutations is the count of mutating calls so far, those that failed included.
func (f *Fault) Mutations() int { f.mu.Lock(); defer f.mu.Unlock(); return f.mutates }

// Reads is the count of reading calls so far.
func (f *Fault) Reads() int { f.mu.Lock(); defer f.mu.Unlock(); return f.reads }

// Crashed tells whether a Stop fate was met.
func (f *Fault) Crashed() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.crashed }

// enter counts a call and gives its fate as Pass, FailBefore, FailAfter or FailHalf, and the error of
// the last three.
func (f *Fault) enter(op, path string, mutates bool) (Fate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return FailBefore, fmt.Errorf("%s %s: %w", op, path, ErrCrashed)
	}
	n := &f.reads
	if mutates {
		n = &f.mutates
	}
	*n++
	if f.decide == nil {
		return Pass, nil
	}
	fate := f.decide(Call{N: *n, Op: op, Path: path, Mutates: mutates})
	cause := ErrInjected
	if fate >= StopBefore {
		f.crashed = true
		cause = ErrCrashed
		fate -= StopBefore - FailBefore
	}
	if fate == Pass {
		return Pass, nil
	}
	return fate, fmt.Errorf("%s %s (call %d, %v): %w", op, path, *n, fate, cause)
}

// run does a mutating call with its fate; half may be nil, which is nothing.
func (f *Fault) run(op, path string, whole, half func() error) error {
	fate, injected := f.enter(op, path, true)
	defer f.tell(injected)
	switch fate {
	case Pass:
		return whole()
	case FailAfter:
		if err := whole(); err != nil {
			return err
		}
	case FailHalf:
		if half != nil {
			if err := half(); err != nil {
				return err
			}
		}
	default:
	}
	return injected
}

// read counts a reading call; any fate but Pass is an error.
func (f *Fault) read(op, path string) error {
	_, err := f.enter(op, path, false)
	f.tell(err)
	return err
}

func (f *Fault) tell(err error) {
	if f.OnCrash != nil && errors.Is(err, ErrCrashed) {
		f.OnCrash()
	}
}

// Open implements FS.
func (f *Fault) Open(ctx context.Context, path string) (File, error) {
	if err := f.read("Open", path); err != nil {
		return nil, err
	}
	file, err := f.inner.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &faultFile{f, file, path}, nil
}

// Create implements FS. A writer whose Create failed after the effect leaves an empty file (local) or
// nothing (object stores).
func (f *Fault) Create(ctx context.Context, path string) (Writer, error) {
	var w Writer
	err := f.run("Create", path, func() (err error) {
		w, err = f.inner.Create(ctx, path)
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return &faultWriter{f, w, path}, nil
}

// PutIfAbsent implements FS.
func (f *Fault) PutIfAbsent(ctx context.Context, path string, data []byte) error {
	return f.run("PutIfAbsent", path, func() error { return f.inner.PutIfAbsent(ctx, path, data) }, nil)
}

// Put implements FS.
func (f *Fault) Put(ctx context.Context, path string, data []byte) error {
	return f.run("Put", path, func() error { return f.inner.Put(ctx, path, data) }, nil)
}

// Rename implements FS.
func (f *Fault) Rename(ctx context.Context, from, to string) error {
	var half func() error
	if f.CopyRename {
		half = func() error { return f.copyHalf(ctx, from, to) }
	}
	return f.run("Rename", from, func() error { return f.inner.Rename(ctx, from, to) }, half)
}

// copyHalf copies the first half of the files below from.
func (f *Fault) copyHalf(ctx context.Context, from, to string) error {
	files, err := f.files(ctx, from)
	if err != nil {
		return err
	}
	for _, p := range files[:len(files)/2] {
		data, err := ReadFile(ctx, f.inner, p)
		if err == nil {
			err = f.inner.Put(ctx, to+p[len(from):], data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// files lists all files at or below a path.
func (f *Fault) files(ctx context.Context, path string) ([]string, error) {
	info, err := f.inner.Stat(ctx, path)
	if err != nil || !info.IsDir {
		return []string{path}, nil //nolint:nilerr // it is up to the call itself to find it missing
	}
	var out []string
	err = Walk(ctx, f.inner, path, func(i Info) error {
		out = append(out, i.Path)
		return nil
	})
	return out, err
}

// Stat implements FS.
func (f *Fault) Stat(ctx context.Context, path string) (Info, error) {
	if err := f.read("Stat", path); err != nil {
		return Info{}, err
	}
	return f.inner.Stat(ctx, path)
}

// List implements FS; it counts when it is ranged over.
func (f *Fault) List(ctx context.Context, dir string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := f.read("List", dir); err != nil {
			yield(Info{}, err)
			return
		}
		f.inner.List(ctx, dir)(yield)
	}
}

// Delete implements FS.
func (f *Fault) Delete(ctx context.Context, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	return f.run("Delete", paths[0], func() error { return f.inner.Delete(ctx, paths...) }, func() error {
		var all []string
		for _, p := range paths {
			files, err := f.files(ctx, p)
			if err != nil {
				return err
			}
			all = append(all, files...)
		}
		return f.inner.Delete(ctx, all[:(len(all)+1)/2]...)
	})
}

// Sync implements FS.
func (f *Fault) Sync(ctx context.Context, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	return f.run("Sync", paths[0], func() error { return f.inner.Sync(ctx, paths...) }, func() error {
		return f.inner.Sync(ctx, paths[:len(paths)/2]...)
	})
}

// faultFile is a File of Fault.
type faultFile struct {
	f     *Fault
	inner File
	path  string
}

func (r *faultFile) Size() int64 { return r.inner.Size() }

// Close always closes: a dead process has no open files either.
func (r *faultFile) Close() error { return r.inner.Close() }

func (r *faultFile) ReadAt(p []byte, off int64) (int, error) {
	if err := r.f.read("ReadAt", r.path); err != nil {
		return 0, err
	}
	return r.inner.ReadAt(p, off)
}

func (r *faultFile) ReadRanges(ctx context.Context, ranges []Range) ([][]byte, error) {
	if err := r.f.read("ReadRanges", r.path); err != nil {
		return nil, err
	}
	return r.inner.ReadRanges(ctx, ranges)
}

// faultWriter is a Writer of Fault.
type faultWriter struct {
	f     *Fault
	inner Writer
	path  string
}

func (w *faultWriter) Write(p []byte) (n int, err error) {
	err = w.f.run("Write", w.path, func() (err error) {
		n, err = w.inner.Write(p)
		return err
	}, func() (err error) {
		n, err = w.inner.Write(p[:len(p)/2])
		return err
	})
	return n, err
}

func (w *faultWriter) Close() error {
	return w.f.run("Close", w.path, w.inner.Close, nil)
}

func (w *faultWriter) Abort() error {
	return w.f.run("Abort", w.path, w.inner.Abort, nil)
}
