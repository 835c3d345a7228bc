// Package read turns splits into batches: raw files are read as they are, others merged; the filter
// is applied to rows and the columns are those asked for.
package read

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// MergeFunc reads the files of a split whose rows have to be merged. The filter names key columns only.
type MergeFunc func(ctx context.Context, s *plan.Split, fields []types.Field, keyFilter predicate.Predicate) (batch.Reader, error)

// Config describes a table to a Reader.
type Config struct {
	Store  *datafile.Store
	Schema *schema.Schema
	Merge  MergeFunc // nil for tables without a key
	// Vectors reads deletion vectors of files.
	Vectors *index.Store
}

// Request says what is wanted of the splits.
type Request struct {
	Fields []types.Field       // columns of the table's schema, in the order wanted; may be none
	Filter predicate.Predicate // rows that do not match are left out; nil for none
	Limit  int64               // 0 for all
	// Inserts leaves out rows of kinds -U and -D.
	Inserts bool
	// Parallel is how many splits are read at the same time by Batches; 0 means one.
	Parallel int
	// Ordered makes Batches give the rows of one split after those of the one before.
	Ordered bool
	// BatchRows is the most rows of a batch, 0 for the default.
	BatchRows int
}

// Reader reads splits of one table. It is safe for concurrent use.
type Reader struct{ c Config }

// New makes a Reader.
func New(c Config) *Reader { return &Reader{c} }

// Split reads one split.
func (r *Reader) Split(ctx context.Context, s *plan.Split, req Request) (batch.Reader, error) {
	fields := slices.Clone(req.Fields)
	if req.Filter != nil {
		for _, col := range predicate.Columns(req.Filter) {
			if slices.ContainsFunc(fields, func(f types.Field) bool { return f.Name == col }) {
				continue
			}
			i := slices.IndexFunc(r.c.Schema.Fields, func(f types.Field) bool { return f.Name == col })
			if i < 0 {
				return nil, fmt.Errorf("read: filter names column %s, which the table does not have", col)
			}
			fields = append(fields, r.c.Schema.Fields[i])
		}
	}
	var in batch.Reader
	if s.Raw {
		o := datafile.ReadOptions{Fields: fields, Filter: req.Filter, BatchRows: req.BatchRows, Sparse: true}
		place := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == placeName })
		if place >= 0 {
			o.Fields, o.Sparse = slices.Delete(slices.Clone(fields), place, place+1), false
		}
		if s.Kinds {
			o.Fields = append(slices.Clone(fields), datafile.KindField())
		}
		in = &files{r: r, s: s, o: o, place: place, schema: types.WideArrowSchema(fields)}
		if s.Kinds {
			in = newKinds(in, fields)
		}
	} else {
		if r.c.Merge == nil {
			return nil, fmt.Errorf("read: bucket %d has files to merge but the table has no primary key", s.Bucket)
		}
		keys := r.c.Schema.TrimmedPrimaryKey()
		var keyFilter predicate.Predicate
		if req.Filter != nil {
			keyFilter = predicate.Only(req.Filter, func(col string) bool {
				return slices.ContainsFunc(keys, func(f types.Field) bool { return f.Name == col })
			})
		}
		var err error
		if in, err = r.c.Merge(ctx, s, fields, keyFilter); err != nil {
			return nil, err
		}
	}
	var out batch.Reader = &filtered{in: in, filter: req.Filter, fields: fields, want: len(req.Fields), inserts: req.Inserts, left: req.Limit, limited: req.Limit > 0}
	if req.BatchRows > 0 && !s.Raw {
		out = &cut{in: out, most: req.BatchRows} // merges have batches as they come
	}
	if s.Gone {
		out = &gone{Reader: out}
	}
	return out, nil
}

// cut makes batches of at most so many rows.
type cut struct {
	in   batch.Reader
	most int
	rest batch.Batch
}

func (c *cut) Next(ctx context.Context) (batch.Batch, error) {
	if c.rest.RecordBatch == nil {
		b, err := c.in.Next(ctx)
		if err != nil || int(b.NumRows()) <= c.most {
			return b, err
		}
		c.rest = b
	}
	b := c.rest
	if int(b.NumRows()) <= c.most {
		c.rest = batch.Batch{}
		return b, nil
	}
	c.rest = b.Slice(c.most, int(b.NumRows()))
	return b.Slice(0, c.most), nil
}

func (c *cut) Close() error { return c.in.Close() }

// files reads raw files one after the other.
type files struct {
	r   *Reader
	s   *plan.Split
	o   datafile.ReadOptions
	i   int
	cur batch.Reader

	place  int           // the column of places, -1: there is none
	schema *arrow.Schema // of the batches, with it
}

func (f *files) Next(ctx context.Context) (batch.Batch, error) {
	for {
		if f.cur == nil {
			if f.i >= len(f.s.Files) {
				return batch.Batch{}, io.EOF
			}
			loc := datafile.Location{Partition: f.s.Partition, Bucket: f.s.Bucket}
			o := f.o
			gone, err := f.r.gone(ctx, f.s, f.i)
			if err != nil {
				return batch.Batch{}, err
			}
			if f.place < 0 {
				o.Gone = gone
			}
			file, err := f.r.c.Store.Open(ctx, loc, f.s.Files[f.i], o)
			if err != nil {
				return batch.Batch{}, err
			}
			if f.cur = file; f.place >= 0 {
				f.cur = &placed{Reader: file, first: int64(f.s.FirstFile+f.i) << placeBits, at: f.place, gone: gone, schema: f.schema}
			}
			f.i++
		}
		b, err := f.cur.Next(ctx)
		if err != io.EOF {
			return b, err
		}
		err = f.cur.Close()
		f.cur = nil
		if err != nil {
			return batch.Batch{}, err
		}
	}
}

// gone gives the rows of a file of a split that are deleted, nil for none.
func (r *Reader) gone(ctx context.Context, s *plan.Split, i int) (format.Rows, error) {
	if len(s.Vectors) == 0 || s.Vectors[i] == nil {
		return nil, nil
	}
	v, err := r.c.Vectors.Vector(ctx, s.Vectors[i], s.Files[i].Rows)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return v, nil
}

func (f *files) Close() error {
	if f.cur == nil {
		return nil
	}
	err := f.cur.Close()
	f.cur = nil
	return err
}

// filtered applies filter, projection and limit.
type filtered struct {
	in      batch.Reader
	filter  predicate.Predicate
	fields  []types.Field
	want    int // the first so many columns are given out
	left    int64
	limited bool
	inserts bool
	schema  *arrow.Schema
}

func (f *filtered) Next(ctx context.Context) (batch.Batch, error) {
	for {
		if f.limited && f.left <= 0 {
			return batch.Batch{}, io.EOF
		}
		b, err := f.in.Next(ctx)
		if err != nil {
			return b, err
		}
		if f.filter != nil {
			sel, err := predicate.Eval(f.filter, b.RecordBatch, f.fields)
			if err != nil {
				return batch.Batch{}, fmt.Errorf("read: filter: %w", err)
			}
			b = f.project(b)
			if b, err = take(b, sel); err != nil {
				return batch.Batch{}, fmt.Errorf("read: filter: %w", err)
			}
		}
		if f.inserts && b.Kinds != nil {
			if b, err = onlyInserts(b); err != nil {
				return batch.Batch{}, err
			}
		}
		if b.NumRows() == 0 {
			continue
		}
		if f.limited {
			if b.NumRows() > f.left {
				b.RecordBatch = b.NewSlice(0, f.left)
				if b.Kinds != nil {
					b.Kinds = b.Kinds[:f.left]
				}
			}
			f.left -= b.NumRows()
		}
		return b, nil
	}
}

// project drops the columns that only the filter needed.
func (f *filtered) project(b batch.Batch) batch.Batch {
	if int(b.NumCols()) == f.want {
		return b
	}
	if f.schema == nil {
		f.schema = types.WideArrowSchema(f.fields[:f.want])
	}
	b.RecordBatch = array.NewRecordBatch(f.schema, b.Columns()[:f.want], b.NumRows())
	return b
}

func (f *filtered) Close() error { return f.in.Close() }
