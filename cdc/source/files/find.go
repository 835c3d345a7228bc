package files

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
)

// find lists the files of all paths in the order in which they are read.
func find(ctx context.Context, opts Options) ([]entry, error) {
	var out []entry
	for _, p := range opts.Paths {
		fs, root, err := open.FS(ctx, p, opts.FileSystem)
		if err != nil {
			return nil, fmt.Errorf("files: %w", err)
		}
		dir, pattern := path.Split(root)
		if strings.ContainsAny(pattern, "*?[") {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("files: %s: the pattern %q is not valid: %w", p, pattern, err)
			}
			if out, err = appendFolder(ctx, out, fs, strings.TrimSuffix(dir, "/"), pattern); err != nil {
				return nil, err
			}
			continue
		}
		info, err := fs.Stat(ctx, root)
		switch {
		case errors.Is(err, iofs.ErrNotExist) && opts.Follow: // it may come
			continue
		case errors.Is(err, iofs.ErrNotExist):
			return nil, missing{fmt.Errorf("files: %w", err)}
		case err != nil:
			return nil, fmt.Errorf("files: %w", err)
		case info.IsDir:
			if out, err = appendFolder(ctx, out, fs, root, "*"); err != nil {
				return nil, err
			}
		default:
			out = append(out, entry{fs, root})
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(e entry) bool { // what two patterns match is read once
		again := seen[e.path]
		seen[e.path] = true
		return again
	}), nil
}

// appendFolder appends the files of a folder that match, by name. Hidden ones are left out unless the
// pattern asks for them.
func appendFolder(ctx context.Context, out []entry, fs fileio.FS, dir, pattern string) ([]entry, error) {
	from := dir
	if from == "" {
		from = "."
	}
	for info, err := range fs.List(ctx, from) {
		if err != nil {
			return nil, fmt.Errorf("files: %w", err)
		}
		name := info.Name()
		if hidden := name[0] == '.' || name[0] == '_'; info.IsDir || (hidden && pattern[0] != name[0]) {
			continue
		}
		if ok, _ := path.Match(pattern, name); ok {
			out = append(out, entry{fs, info.Path})
		}
	}
	return out, nil
}
