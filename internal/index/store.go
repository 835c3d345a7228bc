package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
)

// DeletionVectors is the type of index files of deletion vectors.
const DeletionVectors = "DELETION_VECTORS"

// version is the first byte of a file of deletion vectors.
const version = 1

// ErrCorrupt says that an index file is not what the format, or the index manifest, says it is.
var ErrCorrupt = errors.New("index file is damaged")

// Config describes the index files of a table.
type Config struct {
	FS fileio.FS
	// Path is where an index file of a bucket is.
	Path func(partition []byte, bucket int, name string) (string, error)
	// External opens the file system of a file outside of the table, and gives its path there.
	External func(ctx context.Context, uri string) (fileio.FS, string, error)
	// NewName gives names for new files.
	NewName func() string
	// Bitmap64 is the option `deletion-vectors.bitmap64`.
	Bitmap64 bool
	// TargetSize is the option `deletion-vector.index-file.target-size`; zero: all vectors of a bucket are in one file, as
	// they must be where there are buckets of numbers, as the reference keeps one file for each of them.
	TargetSize int64
}

// Store reads and writes the index files of one table. It is safe for concurrent use.
type Store struct{ c Config }

// NewStore makes a Store.
func NewStore(c Config) *Store { return &Store{c} }

// Place is where the deletion vector of a data file is. It is plain data.
type Place struct {
	Partition []byte
	Bucket    int
	Name      string // of the index file
	External  string // its path, if it is outside of the table
	manifest.VectorRange
}

// Same reports whether two places are one, or both nil: a file of deletion vectors never changes.
func (p *Place) Same(q *Place) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.Name == q.Name && p.External == q.External && p.VectorRange == q.VectorRange
}

// Places gives the deletion vectors of a snapshot by bucket and name of data file.
type Places map[bucketFile]*Place

type bucketFile struct {
	partition string
	bucket    int
	file      string
}

// PlacesOf finds the deletion vectors among the entries of an index manifest, those that are wanted: nil is all.
func PlacesOf(entries []manifest.IndexEntry, wanted func(e *manifest.IndexEntry) bool) (Places, error) {
	var all Places
	for i := range entries {
		e := &entries[i]
		if e.Type != DeletionVectors || wanted != nil && !wanted(e) {
			continue
		}
		if all == nil {
			all = Places{}
		}
		for _, v := range e.Vectors {
			k := bucketFile{string(e.Partition), e.Bucket, v.File}
			if was := all[k]; was != nil {
				return nil, fmt.Errorf("index: data file %s has two deletion vectors, in %s and in %s: %w", v.File, was.Name, e.Name, ErrCorrupt)
			}
			all[k] = &Place{e.Partition, e.Bucket, e.Name, e.External, v}
		}
	}
	return all, nil
}

// Of gives the place of the vector of a data file, nil if it has none.
func (p Places) Of(partition []byte, bucket int, file string) *Place {
	if p == nil {
		return nil
	}
	return p[bucketFile{string(partition), bucket, file}]
}

// path finds an index file.
func (s *Store) path(ctx context.Context, partition []byte, bucket int, name, external string) (fileio.FS, string, error) {
	if external != "" {
		if s.c.External != nil {
			return s.c.External(ctx, external)
		}
		_, path, ok := strings.Cut(external, "://")
		if !ok {
			path = strings.TrimPrefix(external, "file:")
		}
		return s.c.FS, path, nil
	}
	if err := manifest.CheckName(name); err != nil {
		return nil, "", err
	}
	path, err := s.c.Path(partition, bucket, name)
	return s.c.FS, path, err
}

// Vector reads the deletion vector of a data file that has so many rows.
func (s *Store) Vector(ctx context.Context, p *Place, rows int64) (*Vector, error) {
	fs, path, err := s.path(ctx, p.Partition, p.Bucket, p.Name, p.External)
	if err != nil {
		return nil, fmt.Errorf("index: deletion vector of %s: %w", p.File, err)
	}
	f, err := fs.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("index: deletion vector of %s, without which its deleted rows cannot be told: %w", p.File, err)
	}
	defer f.Close()
	size := f.Size()
	if p.Offset < 1 || p.Length < 4 || p.Offset > size-8 || p.Length > size-p.Offset {
		return nil, corrupt(path, p.File, fmt.Errorf("%d bytes at offset %d lie outside of the file, which has %d", p.Length, p.Offset, size))
	}
	end := min(size, p.Offset+p.Length+8) // Length leaves out length and checksum, but not in the second version
	b, err := f.ReadRanges(ctx, []fileio.Range{{Offset: 0, Length: 1}, {Offset: p.Offset, Length: end - p.Offset}})
	if err != nil {
		return nil, fmt.Errorf("index: read deletion vector of %s from %s: %w", p.File, path, err)
	}
	if b[0][0] != version {
		return nil, corrupt(path, p.File, fmt.Errorf("it is of version %d, this library knows %d", b[0][0], version))
	}
	v, err := p.decode(b[1], rows)
	if err != nil {
		return nil, corrupt(path, p.File, err)
	}
	return v, nil
}

func corrupt(path, file string, err error) error {
	return fmt.Errorf("index: %s: deletion vector of %s: %w: %w", path, file, ErrCorrupt, err)
}

// decode reads a vector out of what begins with its length.
func (p *Place) decode(b []byte, rows int64) (*Vector, error) {
	n := int64(binary.BigEndian.Uint32(b))
	if n != p.Length && n != p.Length-8 {
		return nil, fmt.Errorf("it has %d bytes, the index manifest says %d", n, p.Length)
	}
	if n > int64(len(b))-8 {
		return nil, errEnds
	}
	body, sum := b[4:4+n], binary.BigEndian.Uint32(b[4+n:])
	if got := crc32.ChecksumIEEE(body); got != sum {
		return nil, fmt.Errorf("its checksum is %08x, not %08x", got, sum)
	}
	v, err := decode(body)
	if err != nil {
		return nil, err
	}
	switch {
	case p.Cardinality >= 0 && p.Cardinality != v.Count():
		return nil, fmt.Errorf("it has %d rows, the index manifest says %d", v.Count(), p.Cardinality)
	case rows >= 0 && v.End() > rows:
		return nil, fmt.Errorf("it names row %d, the data file has %d", v.End()-1, rows)
	}
	return v, nil
}

// FileVector is the deletion vector of a data file.
type FileVector struct {
	File   string
	Vector *Vector
}

// Write writes the deletion vectors of a bucket, and gives the entries that say so. After an error the entries of what
// was written are still given, to be deleted. Empty vectors are left out.
func (s *Store) Write(ctx context.Context, partition []byte, bucket int, vectors []FileVector) ([]manifest.IndexEntry, error) {
	var out []manifest.IndexEntry
	vectors = slices.DeleteFunc(slices.Clone(vectors), func(v FileVector) bool { return v.Vector.Count() == 0 })
	for len(vectors) > 0 {
		data := []byte{version}
		e := manifest.IndexEntry{Kind: manifest.Add, Partition: partition, Bucket: bucket, Type: DeletionVectors, Name: s.c.NewName()}
		for len(vectors) > 0 && (s.c.TargetSize <= 0 || len(e.Vectors) == 0 || int64(len(data)) <= s.c.TargetSize) {
			v := vectors[0]
			body, err := v.Vector.encode(s.c.Bitmap64)
			if err != nil {
				return out, fmt.Errorf("index: data file %s: %w", v.File, err)
			}
			r := manifest.VectorRange{File: v.File, Offset: int64(len(data)), Length: int64(len(body)), Cardinality: v.Vector.Count()}
			if s.c.Bitmap64 {
				r.Length += 8
			}
			data = binary.BigEndian.AppendUint32(data, uint32(len(body)))
			data = append(data, body...)
			data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(body))
			e.Vectors = append(e.Vectors, r)
			vectors = vectors[1:]
		}
		e.Size, e.Rows = int64(len(data)), int64(len(e.Vectors))
		path, err := s.c.Path(partition, bucket, e.Name)
		if err != nil {
			return out, fmt.Errorf("index: %w", err)
		}
		out = append(out, e)
		if err := s.write(ctx, path, data); err != nil {
			return out, fmt.Errorf("index: write %s: %w", path, err)
		}
	}
	return out, nil
}

func (s *Store) write(ctx context.Context, path string, data []byte) error {
	w, err := s.c.FS.Create(ctx, path)
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err == nil {
		err = w.Close()
	}
	if err != nil {
		_ = w.Abort()
	}
	return err
}

// Delete removes index files.
func (s *Store) Delete(ctx context.Context, entries ...manifest.IndexEntry) error {
	for i := range entries {
		e := &entries[i]
		fs, path, err := s.path(ctx, e.Partition, e.Bucket, e.Name, e.External)
		if err == nil {
			err = fs.Delete(ctx, path)
		}
		if err != nil {
			return fmt.Errorf("index: delete %s: %w", e.Name, err)
		}
	}
	return nil
}
