// Package open gives the file system of a warehouse or path, chosen by the scheme of its URI.
package open

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/s3"
)

// SyncOption switches off ("false") the flushing of files on local disks.
const SyncOption = "tarn.sync"

// opener makes the file system of a URI; rest is what follows the scheme and its colon.
type opener func(uri, rest string, opts map[string]string) (fs fileio.FS, root string, err error)

// schemes are the known ones. A new kind of store is one line here.
var schemes = map[string]opener{
	"file":   openFile,
	"s3":     openS3,
	"s3a":    openS3,
	"memory": openMemory,
}

// ErrConfig is what every error of FS is: the name of a place or an option for it is wrong, nothing was read yet.
var ErrConfig = errors.New("wrong place or option")

type configError struct{ error }

func (e configError) Unwrap() error        { return e.error }
func (e configError) Is(target error) bool { return target == ErrConfig }

// FS gives the file system of uri and the path, within it, that uri names, without a slash at its
// end. opts are those of a catalog; what a file system does not know it ignores. No request is sent and
// nothing needs to exist yet.
//
//	/path, path, file:/path, file:///path   local disk; nothing in it is unescaped
//	s3://bucket/key, s3a://bucket/key       object store; options of package s3
//	memory://name/path                      memory of this process, shared under its name
//	memory:/path                            memory of its own
func FS(_ context.Context, uri string, opts map[string]string) (fs fileio.FS, root string, err error) {
	if uri == "" {
		return nil, "", configError{errors.New("open: the path is empty")}
	}
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || len(scheme) < 2 || strings.ContainsAny(scheme, "/\\") {
		scheme, rest = "file", uri // a path, perhaps one with a drive letter
	}
	open := schemes[strings.ToLower(scheme)]
	if open == nil {
		return nil, "", configError{fmt.Errorf("open %s: the scheme %q is not known; known are %s, and paths without one (a local path with a colon is written file:/path or ./path)",
			uri, scheme, strings.Join(slices.Sorted(maps.Keys(schemes)), ", "))}
	}
	fs, root, err = open(uri, rest, opts)
	if err != nil {
		return nil, "", configError{fmt.Errorf("open %s: %w", uri, err)}
	}
	return fs, root, nil
}

func openFile(_, rest string, opts map[string]string) (fileio.FS, string, error) {
	if after, ok := strings.CutPrefix(rest, "//"); ok && after != "" {
		host, _, _ := strings.Cut(after, "/")
		if host != "" && host != "localhost" {
			return nil, "", fmt.Errorf("%q is another machine; a local path is written file:///path", host)
		}
		rest = after[len(host):]
	}
	if rest == "" {
		return nil, "", errors.New("there is no path behind the scheme")
	}
	sync := true
	if v, ok := opts[SyncOption]; ok {
		var err error
		if sync, err = strconv.ParseBool(v); err != nil {
			return nil, "", fmt.Errorf("option %s: %q is neither true nor false", SyncOption, v)
		}
	}
	return fileio.NewLocal(fileio.LocalOptions{Sync: sync}), path.Clean(rest), nil
}

func openS3(uri, rest string, opts map[string]string) (fileio.FS, string, error) {
	if bucket, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "/"); !strings.HasPrefix(rest, "//") || bucket == "" {
		return nil, "", errors.New("it names no bucket: s3://bucket/key is expected")
	}
	o, err := s3.FromMap(opts)
	if err != nil {
		return nil, "", err
	}
	fs, err := s3.New(o)
	if err != nil {
		return nil, "", err
	}
	return fs, strings.TrimRight(uri, "/"), nil
}

// named are the file systems in memory by their name, which live as long as the process.
var named mounts

func openMemory(_, rest string, _ map[string]string) (fileio.FS, string, error) {
	after, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return fileio.NewMem(fileio.MemOptions{}), path.Clean("/" + rest), nil
	}
	name, p, _ := strings.Cut(after, "/")
	if name == "" {
		return fileio.NewMem(fileio.MemOptions{}), path.Clean("/" + p), nil
	}
	named.Lock()
	defer named.Unlock()
	m, ok := named.at[name]
	if !ok {
		m = mounted{fs: fileio.NewMem(fileio.MemOptions{})}
		named.put(name, m)
	}
	return m.fs, m.root + path.Clean("/"+p), nil
}
