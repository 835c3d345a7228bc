// Package parquet reads and writes Parquet data files as the reference implementation lays them
// out. Both sides are written for columns of Arrow arrays, page by page.
package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/types"
)

// Format is the Parquet format. The zero value is ready for use.
type Format struct{}

var _ format.Format = Format{}

// Name is "parquet".
func (Format) Name() string { return "parquet" }

const defaultBatchRows = 8192

const (
	// batchBytes is about the most bytes of a batch, as long as it has more than a row.
	batchBytes = 32 << 20
	// columnBytes is the most that a dictionary may make of a column of a batch: Arrow's offsets have 32 bits.
	columnBytes = 1 << 30
	// probeRows are read of a row group before it is known how long the texts of its dictionaries are.
	probeRows = 1024
)

// reader reads one file. See format.Reader.
type reader struct {
	file   fileio.File
	meta   *fileMeta
	schema *arrow.Schema
	cols   []*column
	leaves []*leafReader
	batch  int

	most    int64 // rows of a batch of the row group at hand, see fit
	probing bool  // a dictionary that most depends on is not read yet

	filter *filter // nil: all rows are wanted
	sparse bool
	low    bool
	gone   format.Rows // nil: none

	group  int       // row group at hand
	first  int64     // number of its first row in the file
	row    int64     // next row in it
	ranges []rowSpan // rows of it that are still to be read
	open   bool
	whole  bool // most rows of it are to be read
	block  block
	pos    int64
	err    error // an error is final
}

// NewReader opens a file: it reads the footer and matches the wanted columns to the file's.
func (Format) NewReader(ctx context.Context, f fileio.File, o format.ReadOptions) (rd format.Reader, err error) {
	defer guard(&err)
	meta, err := readFooter(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	root, leaves, err := parseSchema(meta.schema)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	if err := checkGroups(meta, len(leaves)); err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	r := &reader{file: f, meta: meta, batch: o.BatchRows, schema: types.WideArrowSchema(o.Fields), sparse: o.Sparse, low: o.LowMemory, gone: o.Gone}
	if r.batch <= 0 {
		r.batch = defaultBatchRows
	}
	p := &planner{}
	for i, fd := range o.Fields {
		c, err := p.top(root, fd, r.schema.Field(i).Type)
		if err != nil {
			return nil, fmt.Errorf("parquet: %w", err)
		}
		r.cols = append(r.cols, c)
	}
	r.leaves = p.leaves
	if o.Filter != nil {
		r.filter = newFilter(root, o, r.cols)
		r.dropShared()
	}
	for _, l := range r.all() {
		l.pages.win.file = f
	}
	return r, nil
}

// guard turns a panic over a broken file into an error: nothing a file holds may end the process.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("parquet: the file is broken in a way that was not foreseen: %v", p)
	}
}

func readFooter(ctx context.Context, f fileio.File) (*fileMeta, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	size := f.Size()
	if size < 12 {
		return nil, fmt.Errorf("the file has %d bytes, too few for a Parquet file: it is truncated or not Parquet", size)
	}
	n := min(size, 64<<10)
	b := getBuffer(int(n))
	if k, err := fileio.ReadAt(ctx, f, b, size-n); int64(k) < n {
		return nil, fmt.Errorf("read footer: %w", noEOF(err))
	}
	tail := b[n-8:]
	if string(tail[4:]) == "PARE" {
		return nil, fmt.Errorf("an encrypted file %w", errUnsupported)
	}
	if string(tail[4:]) != "PAR1" {
		return nil, fmt.Errorf("the file does not end with PAR1 (at byte %d): it is truncated or not Parquet", size-4)
	}
	foot := int64(binary.LittleEndian.Uint32(tail))
	if foot > size-12 {
		return nil, fmt.Errorf("the footer's length (at byte %d) is %d, more than the file has", size-8, foot)
	}
	if foot+8 > n {
		b = make([]byte, foot+8)
		if k, err := fileio.ReadAt(ctx, f, b, size-foot-8); int64(k) < foot+8 {
			return nil, fmt.Errorf("read footer: %w", noEOF(err))
		}
	}
	m, err := parseFileMeta(b[int64(len(b))-8-foot : len(b)-8])
	if err != nil {
		return nil, fmt.Errorf("footer (at byte %d): %w", size-8-foot, err)
	}
	m.tail, m.tailAt = b, size-int64(len(b))
	return m, nil
}

func noEOF(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func checkGroups(m *fileMeta, columns int) error {
	var rows int64
	for i := range m.rowGroups {
		g := &m.rowGroups[i]
		if len(g.columns) != columns {
			return fmt.Errorf("row group %d has %d columns, the schema %d", i, len(g.columns), columns)
		}
		if g.numRows < 0 || rows+g.numRows < rows {
			return fmt.Errorf("row group %d has %d rows", i, g.numRows)
		}
		rows += g.numRows
	}
	if rows != m.numRows {
		return fmt.Errorf("the footer says %d rows, the row groups have %d", m.numRows, rows)
	}
	return nil
}

// NumRows is the number of rows of the file.
func (r *reader) NumRows() int64 { return r.meta.numRows }

// Position is the number in the file of the first row of the last batch.
func (r *reader) Position() int64 { return r.pos }

// Close ends reading. The file stays open.
func (r *reader) Close() error {
	r.err = errors.New("parquet: read of a closed reader")
	for _, l := range r.all() {
		l.pages.release()
	}
	putBuffer(r.meta.tail)
	r.meta.tail = nil
	r.leaves, r.cols, r.filter = nil, nil, nil
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
	for _, l := range r.all() {
		l.pages.win.ctx = ctx
	}
	rec, err := r.next(ctx)
	if err != nil {
		if err != io.EOF {
			err = fmt.Errorf("parquet: %w", err)
		}
		return batch.Batch{}, err
	}
	return batch.Batch{RecordBatch: rec}, nil
}

// fit decides on the rows of a batch, by what the rows of a row group take on average: wide ones come in smaller
// batches. Of texts in a dictionary the footer does not tell that, the dictionary does.
func (r *reader) fit(g *rowGroup) {
	width, limit := int64(1), int64(r.batch)
	r.probing = false
	for _, l := range r.all() {
		c := &g.columns[l.n.leaf]
		width += max(c.uncompressed, 0) / g.numRows
		s, ok := l.sink.(*bytesSink)
		if !ok || c.uncompressed < batchBytes/probeRows || !slices.ContainsFunc(c.encodings, encoding.isDictionary) {
			continue
		}
		if !l.ready {
			r.probing, limit = true, min(limit, probeRows)
			continue
		}
		each := c.numValues/g.numRows + 1 // in lists
		width += each * int64(len(s.dictData)/max(len(s.dictOffs)-1, 1))
		limit = min(limit, columnBytes/(each*int64(s.longest)+1))
	}
	r.most = max(min(limit, batchBytes/width), 1)
}
