package check

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/rescue"
	"github.com/tarnlake/tarn/types"
)

// parallel is how many data files are looked at at once.
const parallel = 8

// dataFiles looks at the data files of a snapshot and gives the number of their rows.
func (c *checker) dataFiles(ctx context.Context, live []manifest.Entry, path string) (int64, error) {
	var rows int64
	type job struct {
		e    *manifest.Entry
		fs   fileio.FS
		path string
		what string
	}
	var todo []*job
	for i := range live {
		e := &live[i]
		rows += e.File.Rows
		fs, p, err := c.t.Files.Path(ctx, location(e), e.File)
		if err != nil {
			c.problem(true, path, err.Error(), "roll back to an older snapshot")
			continue
		}
		if !c.files[p] {
			c.files[p] = true
			todo = append(todo, &job{e: e, fs: fs, path: p})
		}
	}
	c.r.Files += len(todo)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, j := range todo {
		g.Go(func() error {
			return rescue.Do("look at "+j.path, func() (err error) {
				j.what, err = c.dataFile(gctx, j.e, j.fs, j.path)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return 0, fmt.Errorf("check: %w", err)
	}
	for _, j := range todo {
		if err := c.schema(ctx, j.e.File.SchemaID, path, "data file "+j.e.File.Name); err != nil {
			return 0, err
		}
		if j.what != "" {
			c.problem(true, j.path, j.what, "restore it, roll back to a snapshot without it, or remove it from the table and lose its rows")
		}
		if f := j.e.File; f.Level < 0 || f.Level > manifest.MaxLevel || f.MaxSequence == math.MaxInt64 {
			what := fmt.Sprintf("the manifest says level %d and sequence number %d: its bucket cannot be written", f.Level, f.MaxSequence)
			c.problem(true, j.path, what, "roll back to a snapshot without this file")
		}
		if what := c.keys(j.e.File); what != "" && j.e.Bucket != paths.PostponeBucket { // whose rows stand as they came
			c.problem(true, j.path, what, "roll back to a snapshot without this file")
		}
		if f := j.e.File; f.MinSequence > f.MaxSequence || f.DeleteRows > f.Rows {
			what := fmt.Sprintf("the manifest says sequence numbers %d to %d, which are out of order", f.MinSequence, f.MaxSequence)
			if f.DeleteRows > f.Rows {
				what = fmt.Sprintf("the manifest says %d rows and %d deletes among them", f.Rows, f.DeleteRows)
			}
			c.problem(true, j.path, what, "roll back to a snapshot without this file; a merge may take an older row for a newer one until then")
		}
	}
	return rows, nil
}

// dataFile says what is wrong with a data file: it has to be there, with the size and rows that the manifest says.
func (c *checker) dataFile(ctx context.Context, e *manifest.Entry, fs fileio.FS, path string) (string, error) {
	info, err := fs.Stat(ctx, path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return "data file is missing", nil
	case err != nil:
		return "", err
	case info.Size != e.File.Size:
		return fmt.Sprintf("data file has %d bytes, the manifest says %d", info.Size, e.File.Size), nil
	}
	r, err := c.t.Files.Open(ctx, location(e), e.File, datafile.ReadOptions{Fields: c.fields, LowMemory: true})
	switch {
	case errors.Is(err, datafile.ErrFormat), errors.Is(err, iofs.ErrNotExist): // not ours to read; expired, or its schema is missing
		return "", nil
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return err.Error(), nil
	}
	rows := r.NumRows()
	if err := r.Close(); err != nil {
		return "", err
	}
	if rows != e.File.Rows {
		return fmt.Sprintf("data file has %d rows, the manifest says %d", rows, e.File.Rows), nil
	}
	return "", nil
}

// bucketOf tells the bucket of keys, where the bucket key is a part of the primary key.
type bucketOf struct {
	keys []types.Field
	f    binrow.BucketFunction
}

func newBucketOf(t Table) *bucketOf {
	b := &bucketOf{}
	if t.Order == nil {
		return b
	}
	b.keys = t.Schema.TrimmedPrimaryKey()
	var cols []int
	var ts []types.Type
	for _, name := range t.Schema.BucketKeys() {
		i := slices.IndexFunc(b.keys, func(f types.Field) bool { return f.Name == name })
		if i < 0 {
			return b
		}
		cols, ts = append(cols, i), append(ts, b.keys[i].Type)
	}
	if f, err := binrow.NewBucketFunction(t.BucketFunction, cols, ts); err == nil {
		b.f = f
	}
	return b
}

func (b *bucketOf) of(key []byte, n int) (int, bool) {
	if b.f == nil {
		return 0, false
	}
	ts := types.TypesOf(b.keys)
	vals, err := binrow.DecodeWithArity(key, ts)
	if err != nil {
		return 0, false // levels tells it
	}
	rec := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(b.keys))
	for i, v := range vals {
		if types.AppendDatum(rec.Field(i), ts[i], v) != nil {
			return 0, false
		}
	}
	return int(b.f.Buckets(rec.NewRecordBatch(), n, nil)[0]), true
}

// keys says what is wrong with the range of keys that a manifest gives a file.
func (c *checker) keys(f *manifest.DataFile) string {
	if c.t.Order == nil {
		return ""
	}
	r, err := c.t.Order.Ranges([]*manifest.DataFile{f})
	switch {
	case err != nil:
		return err.Error()
	case c.t.Order.Backwards(r[0]):
		return "the manifest says a smallest key that is larger than the largest"
	}
	return ""
}
