package datafile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// WriterOptions say what kind of files to write.
type WriterOptions struct {
	// KeyValue files have the columns of KeyValueFields and rows ordered by key; others have the
	// table's columns.
	KeyValue bool
	Level    int
	Source   manifest.FileSource
	// Changelog files are named with the changelog's prefix.
	Changelog bool
	// NoRoll writes one file, however large.
	NoRoll bool
	// FirstSequence is the sequence number of the first row of a file that is no key-value file; the
	// others follow.
	FirstSequence int64
}

// Writer writes rows to data files of one bucket, starting a new one when the target size is
// reached. It is used by one goroutine.
type Writer struct {
	s      *Store
	ctx    context.Context // of the whole life of the writer: it has no other way to its files
	loc    Location
	o      WriterOptions
	fields []types.Field
	keys   []types.Field
	format format.Format
	opts   format.WriteOptions
	next   int64 // sequence number of the next row of an append table

	cur  *open
	done []*manifest.DataFile
}

// open is the file being written.
type open struct {
	name   string
	path   string
	out    fileio.Writer
	bytes  *counter
	w      format.Writer
	meta   manifest.DataFile
	maxKey []byte
}

type counter struct {
	w fileio.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// NewWriter starts to write to a bucket. Nothing is created before the first row. The context
// bounds all of the writer's work.
func (s *Store) NewWriter(ctx context.Context, loc Location, o WriterOptions) *Writer {
	w := &Writer{s: s, ctx: ctx, loc: loc, o: o, next: o.FirstSequence}
	w.fields = s.c.Schema.Fields
	if o.KeyValue {
		w.keys = s.c.Schema.TrimmedPrimaryKey()
		w.fields = KeyValueFields(w.keys, w.fields, s.c.ThinMode)
	}
	return w
}

// Fields are the columns that Write takes.
func (w *Writer) Fields() []types.Field { return w.fields }

// Write adds rows. The batch may be kept until the file is complete.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	if rec.NumRows() == 0 {
		return nil
	}
	if int(rec.NumCols()) != len(w.fields) {
		return fmt.Errorf("datafile: write to %s: batch has %d columns, files have %d", w.where(), rec.NumCols(), len(w.fields))
	}
	// A batch larger than this is cut, so that files end near their target size.
	const step = 1 << 16
	for from := int64(0); from < rec.NumRows(); from += step {
		part := rec
		if rec.NumRows() > step {
			part = rec.NewSlice(from, min(from+step, rec.NumRows()))
		}
		if err := w.write(part); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) write(rec arrow.RecordBatch) error {
	if w.cur == nil {
		if err := w.start(); err != nil {
			return err
		}
	}
	c := w.cur
	if err := w.note(c, rec); err != nil {
		return fmt.Errorf("datafile: write %s: %w", c.path, err)
	}
	if err := c.w.Write(rec); err != nil {
		return fmt.Errorf("datafile: write %s: %w", c.path, err)
	}
	if !w.o.NoRoll && c.w.Size() >= w.s.c.TargetFileSize {
		return w.finish()
	}
	return nil
}

// note keeps what the manifest wants to know of the rows.
func (w *Writer) note(c *open, rec arrow.RecordBatch) error {
	n := int(rec.NumRows())
	if !w.o.KeyValue {
		if c.meta.Rows == 0 {
			c.meta.MinSequence = w.next
		}
		w.next += int64(n)
		c.meta.Rows += int64(n)
		c.meta.MaxSequence = w.next - 1
		return nil
	}
	k := len(w.keys)
	if w.s.c.ThinMode {
		k = 0
	}
	seq, ok := rec.Column(k).(*array.Int64)
	if !ok {
		return fmt.Errorf("column %d must be %s", k, SequenceName)
	}
	kind, ok := rec.Column(k + 1).(*array.Int8)
	if !ok {
		return fmt.Errorf("column %d must be %s", k+1, KindName)
	}
	first := c.meta.Rows == 0
	s := seq.Int64Values()
	lo, hi := slices.Min(s), slices.Max(s)
	if first || lo < c.meta.MinSequence {
		c.meta.MinSequence = lo
	}
	if first || hi > c.meta.MaxSequence {
		c.meta.MaxSequence = hi
	}
	for _, v := range kind.Int8Values() {
		if types.RowKind(v).IsRetract() {
			c.meta.DeleteRows++
		}
	}
	var err error
	if first {
		if c.meta.MinKey, err = w.keyAt(rec, 0); err != nil {
			return err
		}
	}
	c.meta.Rows += int64(n)
	c.maxKey, err = w.keyAt(rec, n-1)
	return err
}

// keyAt is the key of a row as manifests hold it. The key's columns are taken from the values,
// which thin files have too.
func (w *Writer) keyAt(rec arrow.RecordBatch, row int) ([]byte, error) {
	ts := make([]types.Type, len(w.keys))
	vals := make([]types.Datum, len(w.keys))
	for i, k := range w.keys {
		col := slices.IndexFunc(w.fields, func(f types.Field) bool { return f.ID == k.ID })
		ts[i] = k.Type
		vals[i] = types.DatumAt(rec.Column(col), row, k.Type)
	}
	return binrow.EncodeWithArity(ts, vals)
}

func (w *Writer) where() string {
	dir, err := w.s.c.Paths.BucketDir(w.loc.Partition, w.loc.Bucket)
	if err != nil {
		return fmt.Sprintf("bucket %d", w.loc.Bucket)
	}
	return dir
}

func (w *Writer) start() error {
	c := w.s.c
	name, compression := c.Format, c.Compression
	if c.PerLevel != nil && w.o.KeyValue {
		if f, z := c.PerLevel(w.o.Level); f != "" || z != "" {
			name, compression = orElse(f, name), orElse(z, compression)
		}
	}
	if w.o.Changelog {
		name, compression = orElse(c.Changelog.Format, name), orElse(c.Changelog.Compression, compression)
	}
	if w.format == nil {
		f, err := FormatByName(name)
		if err != nil {
			return fmt.Errorf("datafile: write to %s: %w", w.where(), err)
		}
		w.format = f
		w.opts = format.WriteOptions{
			Compression: compression, CompressionLevel: c.CompressionLevel, BlockSize: c.BlockSize,
			Options: c.FormatOptions, Stats: w.statsModes(),
		}
	}
	dir, err := c.Paths.BucketDir(w.loc.Partition, w.loc.Bucket)
	if err != nil {
		return fmt.Errorf("datafile: %w", err)
	}
	o := &open{name: c.Paths.NewDataFileName(w.format.Name(), compression, w.o.Changelog)}
	o.path = dir + "/" + o.name
	if o.out, err = c.FS.Create(w.ctx, o.path); err != nil {
		return fmt.Errorf("datafile: %w", err)
	}
	o.bytes = &counter{w: o.out}
	if o.w, err = w.format.NewWriter(o.bytes, w.fields, w.opts); err != nil {
		o.out.Abort()
		return fmt.Errorf("datafile: write %s: %w", o.path, err)
	}
	w.cur = o
	return nil
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (w *Writer) statsModes() []format.StatsMode {
	modes := make([]format.StatsMode, len(w.fields))
	stats := w.s.c.Stats
	if w.o.Changelog && w.s.c.Changelog.Stats != nil {
		stats = w.s.c.Changelog.Stats
	}
	for i, f := range w.fields {
		switch {
		case w.s.c.ThinMode && w.isKey(f), schema.IsSystem(f.Name):
			modes[i] = format.StatsMode{Kind: format.StatsTruncate, Length: 128}
		case stats != nil:
			modes[i] = stats(f.Name, w.o.Level)
		}
	}
	return modes
}

func (w *Writer) isKey(f types.Field) bool {
	return slices.ContainsFunc(w.keys, func(k types.Field) bool { return k.ID == f.ID })
}

// finish completes the current file.
func (w *Writer) finish() error {
	c := w.cur
	if c == nil {
		return nil
	}
	stats, err := c.w.Close()
	if err == nil {
		err = c.out.Close()
	}
	if err != nil {
		c.out.Abort()
		return fmt.Errorf("datafile: write %s: %w", c.path, err)
	}
	w.cur = nil
	m := c.meta
	m.Name, m.Size, m.MaxKey = c.name, c.bytes.n, c.maxKey
	m.SchemaID, m.Level, m.Source = w.s.c.Schema.ID, w.o.Level, w.o.Source
	m.FirstRowID = -1
	if w.s.c.ClockMillis != nil {
		m.CreationMillis = w.s.c.ClockMillis()
	}
	// The file is there from here on: if its metadata cannot be made, Abort has to find it.
	w.done = append(w.done, &m)
	if err := w.setStats(&m, stats); err != nil {
		return fmt.Errorf("datafile: statistics of %s: %w", c.path, err)
	}
	return nil
}

func (w *Writer) setStats(m *manifest.DataFile, stats []format.ColumnStats) error {
	empty, err := binrow.EncodeWithArity(nil, nil)
	if err != nil {
		return err
	}
	m.KeyStats = manifest.Stats{Min: empty, Max: empty, NullCounts: []int64{}}
	values, fields := stats, w.fields
	if w.o.KeyValue {
		skip := 2
		if !w.s.c.ThinMode {
			skip += len(w.keys)
		}
		values, fields = stats[skip:], w.fields[skip:]
		keyStats := make([]format.ColumnStats, len(w.keys))
		for i, k := range w.keys {
			at := i
			if w.s.c.ThinMode {
				at = slices.IndexFunc(w.fields, func(f types.Field) bool { return f.ID == k.ID })
			}
			keyStats[i] = stats[at]
		}
		if m.KeyStats, err = encodeStats(w.keys, keyStats); err != nil {
			return err
		}
	} else {
		m.MinKey, m.MaxKey = empty, empty
	}
	if w.s.c.DenseStats {
		var keep []format.ColumnStats
		var cols []types.Field
		var names []string
		for i, st := range values {
			if st.NullCount >= 0 {
				keep, cols, names = append(keep, st), append(cols, fields[i]), append(names, fields[i].Name)
			}
		}
		if len(keep) < len(values) {
			m.HasValueStatsCols, m.ValueStatsCols = true, names
			if names == nil {
				m.ValueStatsCols = []string{}
			}
		}
		values, fields = keep, cols
	}
	m.ValueStats, err = encodeStats(fields, values)
	return err
}

// encodeStats makes the statistics of a manifest. Columns whose types have no BinaryRow form here
// (nested ones) never have bounds, so they are encoded as NULLs of any type.
func encodeStats(fields []types.Field, stats []format.ColumnStats) (manifest.Stats, error) {
	ts := make([]types.Type, len(fields))
	lo, hi := make([]types.Datum, len(fields)), make([]types.Datum, len(fields))
	nulls := make([]int64, len(fields))
	for i, f := range fields {
		ts[i], lo[i], hi[i], nulls[i] = f.Type, stats[i].Min, stats[i].Max, stats[i].NullCount
	}
	a, err := binrow.EncodeWithArity(ts, lo)
	if err != nil {
		return manifest.Stats{}, err
	}
	b, err := binrow.EncodeWithArity(ts, hi)
	return manifest.Stats{Min: a, Max: b, NullCounts: nulls}, err
}

// Buffered is the memory held for the file being written, in bytes.
func (w *Writer) Buffered() int64 {
	if w.cur == nil {
		return 0
	}
	return w.cur.w.Buffered()
}

// Close completes the last file and gives the metadata of all files, in the order written. After an
// error the caller calls Abort.
func (w *Writer) Close() ([]*manifest.DataFile, error) {
	if err := w.finish(); err != nil {
		return nil, err
	}
	return w.done, nil
}

// Abort removes all files of this writer. It is of no use after Close gave them away.
func (w *Writer) Abort(ctx context.Context) error {
	var errs []error
	if w.cur != nil {
		errs = append(errs, w.cur.out.Abort())
		// A local file may be seen under its name before it is whole.
		errs = append(errs, w.s.c.FS.Delete(ctx, w.cur.path))
		w.cur = nil
	}
	errs = append(errs, w.s.Delete(ctx, w.loc, w.done...))
	w.done = nil
	return errors.Join(errs...)
}
