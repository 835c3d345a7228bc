// Package datafile opens and writes single data files: it joins a file format with the table's
// names, with schema evolution and with the metadata that manifests keep of a file.
package datafile

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// Schemas gives the schemas that data files were written with. *schema.Manager is one.
type Schemas interface {
	Get(ctx context.Context, id int64) (*schema.Schema, error)
}

// Config describes the data files of a table.
type Config struct {
	FS fileio.FS
	// External opens the file system of a file outside of the table (`_EXTERNAL_PATH`) and gives the
	// path there. Nil: such files are looked for in FS, without their scheme.
	External func(ctx context.Context, uri string) (fileio.FS, string, error)
	Paths    *paths.Table
	Schemas  Schemas
	Schema   *schema.Schema // what new files are written with
	KeyValue bool           // the table has a primary key

	Format           string // file.format
	Compression      string
	CompressionLevel int
	BlockSize        int64
	TargetFileSize   int64
	ThinMode         bool // data-file.thin-mode
	// SnapshotOrdering is sequence.snapshot-ordering: rows that were written have the sequence number of their file, which is the
	// number of its snapshot; compacted ones have that as their own.
	SnapshotOrdering bool
	DenseStats       bool // metadata.stats-dense-store and a version that knows it
	Stats            func(column string, level int) format.StatsMode
	FormatOptions    map[string]string
	// PerLevel overrides Format and Compression of files of a level; nil values mean no override.
	PerLevel func(level int) (format, compression string)
	// Changelog overrides all of these for changelog files; "" and nil mean no override.
	Changelog ChangelogFiles
	// Clock gives the creation time of files, in milliseconds of the wall clock as if in UTC.
	ClockMillis func() int64
}

// ChangelogFiles are how changelog files differ from others.
type ChangelogFiles struct {
	Format, Compression string                                          // changelog-file.format, .compression
	Stats               func(column string, level int) format.StatsMode // changelog-file.stats-mode
}

// Location is a bucket of a partition.
type Location struct {
	Partition []byte // BinaryRow with arity
	Bucket    int
}

// Store opens and writes the data files of one table. It is safe for concurrent use.
type Store struct{ c Config }

// NewStore makes a Store.
func NewStore(c Config) *Store {
	return &Store{c: c}
}

// Aside is the store of files of rows that have no bucket yet (bucket = -2). As in the reference they are in Avro, unless that cannot
// hold the columns, have no statistics, and their names say which writer made them: rows of one writer and partition are in the order
// of its files.
func (s *Store) Aside(user string, writer int32) *Store {
	c := s.c
	c.Paths = c.Paths.WithDataPrefix(fmt.Sprintf("%s-u-%s-s-%d-w-", c.Paths.DataPrefix(), strings.NewReplacer("/", "_", "-s-", "_s_").Replace(user), writer))
	if !slices.ContainsFunc(c.Schema.Fields, func(f types.Field) bool { return avro.CheckName(f.Name) != nil || avro.CheckType(f.Type) != nil }) {
		c.Format, c.PerLevel = "avro", nil
		c.Stats = func(string, int) format.StatsMode { return format.StatsMode{Kind: format.StatsNone} }
	}
	return NewStore(c)
}

// ReadOptions say what to read of a file.
type ReadOptions struct {
	// Fields are the columns wanted, of the table's read schema; SequenceField and KindField may be
	// among them if the table has a primary key.
	Fields    []types.Field
	Filter    predicate.Predicate // as format.ReadOptions.Filter, in terms of the read schema
	BatchRows int
	LowMemory bool
	Sparse    bool // as format.ReadOptions.Sparse
	Gone      format.Rows
}

// Path is where a data file is.
func (s *Store) Path(ctx context.Context, loc Location, f *manifest.DataFile) (fileio.FS, string, error) {
	if f.ExternalPath != "" {
		if s.c.External != nil {
			return s.external(ctx, f.ExternalPath)
		}
		_, path, ok := strings.Cut(f.ExternalPath, "://")
		if !ok {
			path = strings.TrimPrefix(f.ExternalPath, "file:")
		}
		return s.c.FS, path, nil
	}
	dir, err := s.c.Paths.BucketDir(loc.Partition, loc.Bucket)
	if err != nil {
		return nil, "", fmt.Errorf("datafile: %s: %w", f.Name, err)
	}
	return s.c.FS, dir + "/" + f.Name, nil
}

// IndexPath is where an index file of a bucket is.
func (s *Store) IndexPath(ctx context.Context, loc Location, e *manifest.IndexEntry) (fileio.FS, string, error) {
	if e.External != "" {
		return s.Path(ctx, loc, &manifest.DataFile{Name: e.Name, ExternalPath: e.External})
	}
	path, err := s.c.Paths.Index(loc.Partition, loc.Bucket, e.Name)
	if err != nil {
		return nil, "", fmt.Errorf("datafile: %s: %w", e.Name, err)
	}
	return s.c.FS, path, nil
}

// NewIndex is a new index file of a bucket: its name and where it goes.
func (s *Store) NewIndex(loc Location) (fs fileio.FS, name, path string, err error) {
	name = s.c.Paths.NewIndexName()
	path, err = s.c.Paths.Index(loc.Partition, loc.Bucket, name)
	return s.c.FS, name, path, err
}

func (s *Store) external(ctx context.Context, uri string) (fileio.FS, string, error) {
	fs, path, err := s.c.External(ctx, uri)
	if err != nil {
		return nil, "", fmt.Errorf("datafile: external file %s: %w", uri, err)
	}
	return fs, path, nil
}

// Open opens a data file for reading, whatever schema it was written with. The reader gives exactly
// the wanted columns. Positions are those of the file.
func (s *Store) Open(ctx context.Context, loc Location, f *manifest.DataFile, o ReadOptions) (format.Reader, error) {
	fs, path, err := s.Path(ctx, loc, f)
	if err != nil {
		return nil, err
	}
	fm, err := formatOf(f.Name)
	if err != nil {
		return nil, fmt.Errorf("datafile: open %s: %w", path, err)
	}
	if err := s.CheckKey(ctx, f); err != nil {
		return nil, err
	}
	if s.c.SnapshotOrdering && f.Source == manifest.SourceUnknown {
		return nil, fmt.Errorf("datafile: open %s: sequence.snapshot-ordering needs files whose manifests tell what made them, as releases since 0.9 write them", path)
	}
	have, err := s.fileFields(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("datafile: open %s: %w", path, err)
	}
	m, err := schema.NewMapping(have, o.Fields)
	if err != nil {
		return nil, fmt.Errorf("datafile: open %s: schema %d: %w", path, f.SchemaID, err)
	}
	file, err := fs.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("datafile: %w", err)
	}
	var filter predicate.Predicate
	if o.Filter != nil {
		filter = m.Devolve(o.Filter)
	}
	r, err := fm.NewReader(ctx, file, format.ReadOptions{
		Fields: m.Fields(), Filter: filter, BatchRows: o.BatchRows, LowMemory: o.LowMemory, Sparse: o.Sparse, Gone: o.Gone,
	})
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("datafile: open %s: %w", path, err)
	}
	out := &reader{Reader: r, file: file, mapping: m, path: path, rows: f.Rows}
	if s.c.SnapshotOrdering && f.Source == manifest.SourceAppend {
		out.number = &f.MinSequence
	}
	return out, nil
}

// fileFields are the columns that a file can have, by the schema it was written with.
func (s *Store) fileFields(ctx context.Context, f *manifest.DataFile) ([]types.Field, error) {
	sc, err := s.schemaOf(ctx, f)
	if err != nil {
		return nil, err
	}
	if !s.c.KeyValue {
		return sc.Fields, nil
	}
	return append([]types.Field{SequenceField(), KindField()}, sc.Fields...), nil
}

func (s *Store) schemaOf(ctx context.Context, f *manifest.DataFile) (*schema.Schema, error) {
	if f.SchemaID == s.c.Schema.ID {
		return s.c.Schema, nil
	}
	return s.c.Schemas.Get(ctx, f.SchemaID)
}

// CheckKey makes sure that a file was written with the primary key that the table has, which never changes: else its
// rows would be merged by another key, or not at all.
func (s *Store) CheckKey(ctx context.Context, f *manifest.DataFile) error {
	sc, err := s.schemaOf(ctx, f)
	if err != nil {
		return fmt.Errorf("datafile: %s: %w", f.Name, err)
	}
	// A row of no columns stands for no key.
	if n, err := binrow.Arity(f.MinKey); err == nil && n > 0 && !s.c.KeyValue {
		return fmt.Errorf("datafile: %s has a primary key of %d columns, schema %d has none: the schema file is damaged", f.Name, n, s.c.Schema.ID)
	}
	// A key of more or fewer columns than the file has is not the one that it was written with.
	if was, is := s.keyIDs(sc), s.keyIDs(s.c.Schema); sc != s.c.Schema && len(was) == len(is) && !slices.Equal(was, is) {
		return fmt.Errorf("datafile: %s was written with schema %d, whose primary key is %q, schema %d has the primary key %q: one of the two schema files is damaged",
			f.Name, sc.ID, sc.PrimaryKeys, s.c.Schema.ID, s.c.Schema.PrimaryKeys)
	}
	return nil
}

// keyIDs are the ids of the primary key by a schema, without the partition columns that the table has.
func (s *Store) keyIDs(sc *schema.Schema) []int {
	var ids []int
	for _, f := range sc.FieldsNamed(sc.PrimaryKeys) {
		if !slices.ContainsFunc(s.c.Schema.FieldsNamed(s.c.Schema.PartitionKeys), func(p types.Field) bool { return p.ID == f.ID }) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// Delete removes data files and what belongs to them.
func (s *Store) Delete(ctx context.Context, loc Location, files ...*manifest.DataFile) error {
	for _, f := range files {
		fs, path, err := s.Path(ctx, loc, f)
		if err != nil {
			return err
		}
		all := []string{path}
		dir := path[:strings.LastIndexByte(path, '/')+1]
		for _, x := range f.ExtraFiles {
			all = append(all, dir+x)
		}
		if err := fs.Delete(ctx, all...); err != nil {
			return fmt.Errorf("datafile: delete %s: %w", path, err)
		}
	}
	return nil
}

// reader applies schema evolution to what the format reads.
type reader struct {
	format.Reader
	file    fileio.File
	mapping *schema.Mapping
	path    string
	rows    int64  // that the manifest says
	number  *int64 // sequence number of all rows; nil: they have their own
}

func (r *reader) Next(ctx context.Context) (batch.Batch, error) {
	b, err := r.Reader.Next(ctx)
	if err == io.EOF {
		if n := r.Reader.NumRows(); n != r.rows {
			return b, fmt.Errorf("datafile: read %s: it has %d rows, its manifest says %d: the file is cut off, or its manifest is damaged", r.path, n, r.rows)
		}
	}
	if err != nil {
		return b, wrapRead(r.path, err)
	}
	var rec arrow.RecordBatch
	if rec, err = r.mapping.Apply(b.RecordBatch); err != nil {
		return batch.Batch{}, fmt.Errorf("datafile: read %s: %w", r.path, err)
	}
	if r.number != nil {
		rec = numbered(rec, *r.number)
	}
	b.RecordBatch = rec
	return b, nil
}

func (r *reader) Close() error {
	err := r.Reader.Close()
	if e := r.file.Close(); err == nil {
		err = e
	}
	return err
}
