package avro

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/types"
)

const (
	defaultBatchRows = 8192
	// batchBytes is about the most bytes of a batch, as long as it has more than a row.
	batchBytes = 32 << 20
)

// reader reads one file. See format.Reader. Filters are not used: a block is read as a whole, and nothing tells what it holds.
type reader struct {
	ctx    context.Context // of the call at hand
	file   fileio.File
	in     *avro.Container
	typ    *avro.Type
	nullAt int // of the record itself, as releases before 0.9 write it
	schema *arrow.Schema

	build   *array.RecordBuilder
	decode  decode
	missing []array.Builder
	gone    format.Rows
	sparse  bool
	most    int // rows of a batch

	cur   avro.Cursor
	left  int64 // records of the block at hand
	row   int64 // number of the next record
	pos   int64
	total int64 // records of the file; -1: not known yet
	err   error // an error is final
}

// NewReader opens a file: it reads the header and matches the wanted columns to the file's.
func (Format) NewReader(ctx context.Context, f fileio.File, o format.ReadOptions) (rd format.Reader, err error) {
	defer guard(&err)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, file: f, gone: o.Gone, sparse: o.Sparse, most: o.BatchRows, schema: types.WideArrowSchema(o.Fields), total: -1}
	if r.most <= 0 {
		r.most = defaultBatchRows
	}
	if r.in, err = r.open(); err != nil {
		return nil, fmt.Errorf("avro: %w", err)
	}
	r.typ, r.nullAt = r.in.Type().Nullable()
	if r.typ.Kind != avro.Record {
		return nil, errors.New("avro: the file has no records")
	}
	r.build = array.NewRecordBuilder(memory.DefaultAllocator, r.schema)
	if r.decode, r.missing, err = decodeFields(r.typ, o.Fields, r.build.Fields()); err != nil {
		return nil, fmt.Errorf("avro: %w", err)
	}
	return r, nil
}

func (r *reader) open() (*avro.Container, error) {
	return avro.OpenAt(r.file.Size(), func(b []byte, off int64) (int, error) { return fileio.ReadAt(r.ctx, r.file, b, off) })
}

// NumRows is the number of rows of the file. Nothing but its blocks tells it: before the last row was read, they are counted.
func (r *reader) NumRows() int64 {
	if r.total >= 0 {
		return r.total
	}
	r.total = 0
	in, err := r.open()
	for err == nil {
		var n int64
		if n, err = in.Skip(); err == nil {
			r.total += n
		}
	}
	return r.total
}

// Position is the number in the file of the first row of the last batch.
func (r *reader) Position() int64 { return r.pos }

// Close ends reading. The file stays open.
func (r *reader) Close() error {
	r.err = errors.New("avro: read of a closed reader")
	r.cur, r.build, r.missing, r.decode = avro.Cursor{}, nil, nil, nil
	return nil
}

// Next gives the next rows.
func (r *reader) Next(ctx context.Context) (b batch.Batch, err error) {
	if r.err != nil {
		return batch.Batch{}, r.err
	}
	defer func() {
		if err != nil {
			r.err = err
		}
	}()
	defer guard(&err)
	if err := ctx.Err(); err != nil {
		return batch.Batch{}, err
	}
	r.ctx = ctx
	rec, err := r.next()
	if err != nil && err != io.EOF {
		return batch.Batch{}, fmt.Errorf("avro: %w", err)
	}
	return batch.Batch{RecordBatch: rec}, err
}

func (r *reader) next() (arrow.RecordBatch, error) {
	rows, bytes := 0, 0
	var gone []format.Run
	for rows < r.most && (rows == 0 || bytes < batchBytes) {
		if r.left == 0 {
			switch err := r.block(); {
			case err == io.EOF && rows > 0:
				return r.batch(rows), nil
			case err != nil:
				return nil, err
			}
			if r.gone != nil {
				gone = r.gone.Runs(gone[:0], r.row, r.row+r.left)
			}
			bytes += len(r.cur.B)
			continue
		}
		if r.gone != nil && gone == nil { // a block that a batch before began
			gone = r.gone.Runs([]format.Run{}, r.row, r.row+r.left)
		}
		for len(gone) > 0 && gone[0].To <= r.row {
			gone = gone[1:]
		}
		if len(gone) > 0 && gone[0].From <= r.row {
			if rows > 0 && !r.sparse {
				break
			}
			if err := r.skip(); err != nil {
				return nil, err
			}
			continue
		}
		if rows == 0 {
			r.pos = r.row
		}
		if err := r.read(r.decode); err != nil {
			return nil, err
		}
		rows++
	}
	return r.batch(rows), nil
}

// block goes on to the next block.
func (r *reader) block() error {
	if err := r.cur.End(); err != nil {
		return err
	}
	at := r.in.Offset()
	b, n, err := r.in.Next()
	if err == io.EOF {
		r.total = r.row
	}
	if err != nil {
		return err
	}
	// Each column has a byte at least. A file without columns has records of none.
	if len(r.typ.Fields) > 0 && n > int64(len(b)) {
		return fmt.Errorf("block at offset %d: %d records in %d bytes", at, n, len(b))
	}
	r.cur, r.left = avro.Cursor{B: b}, n
	return nil
}

func (r *reader) skip() error {
	return r.read(func(c *avro.Cursor) { c.SkipValue(r.typ, 0) })
}

func (r *reader) read(d decode) error {
	if r.nullAt >= 0 && r.cur.IsNull(r.nullAt) {
		r.cur.Fail(errors.New("the record is null"))
	}
	if r.cur.Err == nil {
		d(&r.cur)
	}
	if r.cur.Err != nil {
		return fmt.Errorf("row %d: %w", r.row, r.cur.Err)
	}
	r.row++
	r.left--
	return nil
}

func (r *reader) batch(rows int) arrow.RecordBatch {
	for _, b := range r.missing {
		b.AppendNulls(rows)
	}
	if r.schema.NumFields() == 0 {
		return array.NewRecordBatch(r.schema, nil, int64(rows))
	}
	return r.build.NewRecordBatch()
}
