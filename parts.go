package tarn

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format/parquet"
	"github.com/tarnlake/tarn/types"
)

// BatchReader gives batches: Next(ctx) (Batch, error), whose error is io.EOF after the last one. It is used by one
// goroutine at a time, and has to be closed by Close() error, which may be called at any time and again.
type BatchReader = batch.Reader

// SplitRaw takes out of the plan the files that any reader of Parquet reads right: those without rows
// to merge or leave out, written with the table's present schema, compressed as every reader knows it. It returns the
// paths of those that accept takes, absolute on a local disk, and a plan of the rest. Filters of the plan are not applied to the files.
func (p *Plan) SplitRaw(ctx context.Context, accept func(path string) bool) (files []string, rest *Plan) {
	r := *p
	r.splits = nil
	for i := range p.splits {
		s := &p.splits[i]
		raw := s.Raw && !p.placed && !s.Kinds && !s.Gone && len(s.Vectors) == 0 && (p.view == nil || p.view.Plain())
		for _, f := range s.Files {
			raw = raw && f.SchemaID == p.t.schema.ID && strings.HasSuffix(f.Name, ".parquet")
		}
		paths := make([]string, 0, len(s.Files))
		for _, f := range s.Files {
			if !raw {
				break
			}
			fs, path, err := p.t.files.Path(ctx, datafile.Location{Partition: s.Partition, Bucket: s.Bucket}, f)
			if err != nil { // reading the split will tell
				raw = false
				break
			}
			name := path
			if _, local := fs.(*fileio.Local); local {
				if name, err = filepath.Abs(path); err != nil {
					raw = false
					break
				}
			}
			raw = accept(name) && p.t.env.portable(ctx, fs, path)
			paths = append(paths, name)
		}
		if raw {
			files = append(files, paths...)
		} else {
			r.splits = append(r.splits, *s)
		}
	}
	return files, &r
}

// maxPortable bounds how many files are remembered.
const maxPortable = 100_000

// portable tells whether a file can be left to another reader. A file that cannot be opened cannot: reading it here
// tells why. Data files never change, so it is found out once.
func (e *env) portable(ctx context.Context, fs fileio.FS, path string) bool {
	e.mu.Lock()
	ok, known := e.isPortable[path]
	e.mu.Unlock()
	if known {
		return ok
	}
	f, err := fs.Open(ctx, path)
	if err != nil {
		return false
	}
	ok, err = parquet.Portable(ctx, f)
	if errors.Join(err, f.Close()) != nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.isPortable) >= maxPortable {
		clear(e.isPortable)
	}
	e.isPortable[path] = ok
	return ok
}

// Parts is the number of pieces that OpenPart reads.
func (p *Plan) Parts() int {
	if p.system != nil {
		return 1
	}
	return len(p.splits)
}

// Rows is the number of rows of the plan's files, before merging and filters.
func (p *Plan) Rows() int64 {
	if p.system != nil {
		return p.system.NumRows()
	}
	var n int64
	for i := range p.splits {
		n += p.splits[i].Rows()
	}
	return n
}

// OpenPart reads one piece of the plan, 0 to Parts()-1, with these of its columns in this order; nil is all
// of them, and an empty list gives batches that only have a number of rows. Pieces may be opened and read by
// several goroutines at the same time, each reader by one. A Limit of the scan holds for each piece by itself.
// What is wrong with part or columns the first Next tells.
func (p *Plan) OpenPart(ctx context.Context, part int, columns []string) BatchReader {
	if part < 0 || part >= p.Parts() {
		return failed{invalid("table %s: there is no part %d of a plan with %d", p.t.id, part, p.Parts())}
	}
	q := *p
	q.req.Parallel = 1
	if columns != nil {
		q.req.Fields = make([]types.Field, len(columns))
		for i, c := range columns {
			k := slices.IndexFunc(p.req.Fields, func(f types.Field) bool { return f.Name == c })
			if k < 0 {
				return failed{fmt.Errorf("table %s: column %q %w in the plan", p.t.id, c, ErrNotExist)}
			}
			q.req.Fields[i] = p.req.Fields[k]
		}
	}
	if p.system == nil {
		q.splits = p.splits[part : part+1]
	}
	return q.Reader(ctx)
}

// failed is a reader that cannot read.
type failed struct{ err error }

func (f failed) Next(context.Context) (Batch, error) { return Batch{}, f.err }

func (f failed) Close() error { return nil }
