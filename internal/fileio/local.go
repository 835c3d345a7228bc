package fileio

import (
	"context"
	"errors"
	iofs "io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// TempPrefix starts the names of files that Put and PutIfAbsent of Local write before they have
// their final name. List passes over them; a crash may leave one behind.
const TempPrefix = ".tarn-tmp-"

// syncParallel bounds how many files Sync works on at once: enough for the device to join flushes.
const syncParallel = 16

// LocalOptions are the options of NewLocal.
type LocalOptions struct {
	// Sync makes Put, PutIfAbsent, Rename and Sync wait until files and folders are on the device. Without
	// it they are atomic, but a power failure may lose what was written last.
	Sync bool
}

// Local is the file system of the machine. Paths are as the os package takes them, with slashes.
// A path is created with mode 0666 (files) or 0777 (folders), less the umask.
type Local struct {
	sync bool

	mu sync.Mutex
	// newDirs are folders made by this process whose entry in their parent was not synced yet.
	newDirs map[string]bool
}

// NewLocal gives the file system of the machine.
func NewLocal(opts LocalOptions) *Local {
	return &Local{sync: opts.Sync, newDirs: map[string]bool{}}
}

// Open implements FS. The file must not be a folder.
func (l *Local) Open(ctx context.Context, path string) (File, error) {
	if err := ctx.Err(); err != nil {
		return nil, osError("open", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, osError("open", path, err)
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = ErrFolder
	}
	if err != nil {
		f.Close()
		return nil, osError("open", path, err)
	}
	return &localFile{f: f, path: path, size: st.Size()}, nil
}

// Stat implements FS.
func (l *Local) Stat(ctx context.Context, path string) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, osError("stat", path, err)
	}
	st, err := os.Stat(path)
	if err != nil {
		return Info{}, osError("stat", path, err)
	}
	return localInfo(path, st), nil
}

func localInfo(path string, st os.FileInfo) Info {
	info := Info{Path: path, ModTime: st.ModTime(), IsDir: st.IsDir()}
	if !info.IsDir {
		info.Size = st.Size()
	}
	return info
}

// List implements FS. Links are followed, and given as they are if they lead nowhere; what vanishes while the listing
// runs is left out.
func (l *Local) List(ctx context.Context, dir string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(Info{}, osError("list", dir, err))
			return
		}
		entries, err := os.ReadDir(dir) // ordered by name
		if errors.Is(err, iofs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Info{}, osError("list", dir, err))
			return
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), TempPrefix) {
				continue
			}
			path := join(dir, e.Name())
			st, err := e.Info()
			if err == nil && e.Type()&os.ModeSymlink != 0 {
				if to, e := os.Stat(path); e == nil {
					st = to
				}
			}
			if errors.Is(err, iofs.ErrNotExist) {
				continue
			}
			if err != nil {
				yield(Info{}, osError("list", path, err))
				return
			}
			if !yield(localInfo(path, st), nil) {
				return
			}
		}
	}
}

// join puts a name behind a folder as given, without cleaning it: what List gives is what the
// caller's own concatenation gives.
func join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// Delete implements FS. All paths are tried; the error tells of those that failed.
func (l *Local) Delete(ctx context.Context, paths ...string) error {
	var errs []error
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, osError("delete", p, err))...)
		}
		err := os.Remove(p) // a file or an empty folder: one call
		if err == nil || errors.Is(err, iofs.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(p); err != nil {
			errs = append(errs, osError("delete", p, err))
		}
	}
	return errors.Join(errs...)
}

// Rename implements FS: atomic, and refused if the new name is taken. Missing parents are made.
func (l *Local) Rename(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return osError("rename", from, err)
	}
	err := renameNoReplace(from, to)
	if errors.Is(err, iofs.ErrNotExist) {
		if _, e := os.Lstat(from); e == nil { // so the folder of the new name is missing
			if err := l.mkdirs(filepath.Dir(to)); err != nil {
				return err
			}
			err = renameNoReplace(from, to)
		}
	}
	if errors.Is(err, iofs.ErrExist) {
		return Exist("rename to", to)
	}
	if err != nil {
		return osError("rename", from, err)
	}
	return l.syncDirs(filepath.Dir(to), filepath.Dir(from))
}

// mkdirs makes a folder with its parents and remembers those that are new.
func (l *Local) mkdirs(dir string) error {
	if l.sync {
		l.mu.Lock()
		for d := dir; ; d = filepath.Dir(d) {
			if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
				break
			}
			l.newDirs[d] = true
		}
		l.mu.Unlock()
	}
	return osError("make folder", dir, os.MkdirAll(dir, 0o777))
}

// Sync implements FS; it does nothing unless the option Sync is set.
func (l *Local) Sync(ctx context.Context, paths ...string) error {
	if !l.sync || len(paths) == 0 {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(syncParallel)
	dirs := map[string]bool{}
	for _, p := range paths {
		dirs[filepath.Dir(p)] = true
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return osError("sync", p, err)
			}
			return syncPath(p)
		})
	}
	for _, d := range l.withNewParents(dirs) {
		g.Go(func() error { return syncPath(d) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	l.forget(dirs)
	return nil
}

// syncDirs makes the entries of folders durable, if the option Sync is set.
func (l *Local) syncDirs(dirs ...string) error {
	if !l.sync {
		return nil
	}
	set := map[string]bool{}
	for _, d := range dirs {
		set[d] = true
	}
	for _, d := range l.withNewParents(set) {
		if err := syncPath(d); err != nil {
			return err
		}
	}
	l.forget(set)
	return nil
}

// withNewParents lists dirs and the folders that hold the entries of those of their parents that
// are new.
func (l *Local) withNewParents(dirs map[string]bool) []string {
	all := map[string]bool{}
	l.mu.Lock()
	for d := range dirs {
		all[d] = true
		for l.newDirs[d] {
			d = filepath.Dir(d)
			all[d] = true
		}
	}
	l.mu.Unlock()
	out := make([]string, 0, len(all))
	for d := range all {
		out = append(out, d)
	}
	return out
}

// forget notes that the entries of dirs, and of their parents, are durable.
func (l *Local) forget(dirs map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for d := range dirs {
		for l.newDirs[d] {
			delete(l.newDirs, d)
			d = filepath.Dir(d)
		}
	}
}

// syncPath flushes a file or the entries of a folder to the device.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return osError("sync", path, err)
	}
	err = f.Sync()
	if st, e := f.Stat(); err != nil && e == nil && st.IsDir() && runtime.GOOS == "windows" {
		err = nil // folders cannot be flushed there
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return osError("sync", path, err)
}
