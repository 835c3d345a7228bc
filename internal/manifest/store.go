package manifest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/rescue"
	"github.com/tarnlake/tarn/types"
)

// Config describes the metadata files of a table.
type Config struct {
	FS fileio.FS
	// Dir is the folder of manifests: <table>/manifest.
	Dir string
	// Partition are the types of the partition columns, in their order.
	Partition []types.Type
	Encoding  Encoding
	// TargetSize is the option `manifest.target-file-size`; zero means 8 MB.
	TargetSize int64
	// Cache may be shared and may be nil.
	Cache *Cache
	// Parallel is how many manifests ReadAll reads at once; zero means as many as there are processors.
	Parallel int
}

// ErrCorrupt says that a metadata file is not what the format says it is.
var ErrCorrupt = errors.New("file is corrupt")

func corrupt(path string, err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, errVersion) {
		return fmt.Errorf("manifest: %s: %w", path, err)
	}
	return fmt.Errorf("manifest: %s: %w: %w", path, ErrCorrupt, err)
}

// Store reads and writes the metadata files of one table. It is safe for concurrent use.
type Store struct {
	c    Config
	id   string
	next atomic.Int64
}

// NewStore makes a Store.
func NewStore(c Config) *Store {
	if c.TargetSize <= 0 {
		c.TargetSize = 8 << 20
	}
	if c.Parallel <= 0 {
		c.Parallel = runtime.GOMAXPROCS(0)
	}
	return &Store{c: c, id: uuid.NewString()}
}

// WithEncoding gives a Store that writes otherwise. It shares the cache.
func (s *Store) WithEncoding(e Encoding) *Store {
	c := s.c
	c.Encoding = e
	return NewStore(c)
}

// Encoding is how the Store writes.
func (s *Store) Encoding() Encoding { return s.c.Encoding }

// WrittenBy reads the header of a manifest and tells the oldest version that can have written it.
func (s *Store) WrittenBy(ctx context.Context, name string) (Version, error) {
	data, err := s.readFile(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("manifest: %w", err)
	}
	c, err := openFile(data)
	if err != nil {
		return 0, fmt.Errorf("manifest: %s: %w", s.Path(name), err)
	}
	return writtenBy(c.Type()), nil
}

// Path is where a file is.
func (s *Store) Path(name string) string { return s.c.Dir + "/" + name }

// newName makes a name that nobody else uses: Java's pattern of a prefix, a UUID of the writer and a
// number.
func (s *Store) newName(prefix string) string {
	return prefix + s.id + "-" + strconv.FormatInt(s.next.Add(1)-1, 10)
}

// CheckName refuses names that would lead out of the folder that a file is in: who reads or deletes what a
// manifest or a snapshot names must not touch anything else.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is no name of a file of a table", name)
	}
	return nil
}

func (s *Store) readFile(ctx context.Context, name string) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return fileio.ReadFile(ctx, s.c.FS, s.Path(name))
}

func read[T any](ctx context.Context, s *Store, name string, decode func([]byte) ([]T, error), size int64) ([]T, error) {
	path := s.Path(name)
	if v, ok := s.c.Cache.get(path).([]T); ok {
		return v, nil
	}
	data, err := s.readFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	v, err := decode(data)
	if err != nil {
		return nil, corrupt(path, err)
	}
	v = v[:len(v):len(v)] // an append by a caller must not reach into what is shared
	s.c.Cache.put(path, v, int64(len(v))*size+4*int64(len(data))+256)
	return v, nil
}

// ReadList reads a manifest list; without a name there are no manifests. The result is shared: do not change it.
func (s *Store) ReadList(ctx context.Context, l List) ([]Meta, error) {
	if l.Name == "" {
		return nil, nil
	}
	return read(ctx, s, l.Name, func(data []byte) ([]Meta, error) {
		if l.Size == nil {
			return DecodeList(data)
		}
		return sized(data, *l.Size, "the snapshot", DecodeList)
	}, 256)
}

// sized decodes a file whose size somebody tells. It must not be cut off: it may end behind its header, and behind any
// of its blocks, so the decoder would not miss the others. What follows its end is no part of it.
func sized[T any](data []byte, size int64, who string, decode func([]byte) ([]T, error)) ([]T, error) {
	n := int64(len(data))
	switch {
	case size < int64(len(avro.Magic)):
		return nil, fmt.Errorf("%s says that it has %d bytes, which no such file has", who, size)
	case n < size:
		return nil, fmt.Errorf("has %d bytes, %s says %d: it is cut off", n, who, size)
	}
	v, err := decode(data)
	if err != nil && n > size {
		if v, e := decode(data[:size]); e == nil {
			return v, nil
		}
	}
	return v, err
}

// ReadIndex reads an index manifest. The result is shared: do not change it.
func (s *Store) ReadIndex(ctx context.Context, name string) ([]IndexEntry, error) {
	return read(ctx, s, name, DecodeIndex, 256)
}

// Read reads a manifest. The filter may be nil. The result is shared, the slice and the files: do not
// change them.
func (s *Store) Read(ctx context.Context, m *Meta, f *Filter) ([]Entry, error) {
	path := s.Path(m.Name)
	if f != nil && f.Manifest != nil && !f.Manifest(m) {
		return nil, nil
	}
	if v, ok := s.c.Cache.get(path).([]Entry); ok {
		return f.apply(v), nil
	}
	data, err := s.readFile(ctx, m.Name)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	decode := func(f *Filter) ([]Entry, error) {
		v, err := sized(data, m.Size, "its list", func(b []byte) ([]Entry, error) { return Decode(b, f) })
		if err != nil {
			return nil, corrupt(path, err)
		}
		return v, nil
	}
	cost := entriesCost(m.Added+m.Deleted, int64(len(data)))
	if !s.c.Cache.fits(cost) {
		return decode(f)
	}
	v, err := decode(nil)
	if err != nil {
		return nil, err
	}
	v = v[:len(v):len(v)]
	s.c.Cache.put(path, v, entriesCost(int64(len(v)), int64(len(data))))
	return f.apply(v), nil
}

// apply filters entries that are decoded already.
func (f *Filter) apply(entries []Entry) []Entry {
	if f == nil || f.Partition == nil && f.Bucket == nil && f.Entry == nil {
		return entries
	}
	var out []Entry
	var parts partitions
	for i := range entries {
		e := &entries[i]
		if f.Partition != nil && !parts.get(e.Partition, f.Partition).wanted {
			continue
		}
		if f.Bucket != nil && !f.Bucket(e.Partition, e.Bucket, e.TotalBuckets) {
			continue
		}
		if f.Entry != nil && !f.Entry(e) {
			continue
		}
		out = append(out, *e)
	}
	return out
}

// ReadAll reads several manifests, some at the same time, and joins their entries in the order of the
// manifests. The filter's functions are called by several goroutines. The slice is the caller's, the
// files are shared.
func (s *Store) ReadAll(ctx context.Context, metas []Meta, f *Filter) ([]Entry, error) {
	parts := make([][]Entry, len(metas))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(s.c.Parallel)
	n := 0
	for i := range metas {
		m := &metas[i]
		// What is in the cache is not worth a goroutine.
		if s.c.Parallel == 1 || s.c.Cache.get(s.Path(m.Name)) != nil || len(metas) == 1 {
			var err error
			if parts[i], err = s.Read(ctx, m, f); err != nil {
				_ = g.Wait()
				return nil, err
			}
			continue
		}
		g.Go(func() error {
			return rescue.Do("manifest: read "+s.Path(m.Name), func() (err error) {
				parts[i], err = s.Read(gctx, m, f)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, p := range parts {
		n += len(p)
	}
	out := make([]Entry, 0, n)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out, nil
}

func (s *Store) writeFile(ctx context.Context, name string, data []byte) error {
	path := s.Path(name)
	w, err := s.c.FS.Create(ctx, path)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if _, err = w.Write(data); err == nil {
		err = w.Close()
	}
	if err != nil {
		_ = w.Abort()
		return fmt.Errorf("manifest: write %s: %w", path, err)
	}
	return nil
}

// WriteList writes a manifest list and gives its name and size.
func (s *Store) WriteList(ctx context.Context, metas []Meta) (string, int64, error) {
	data, err := EncodeList(metas, s.c.Encoding)
	if err != nil {
		return "", 0, err
	}
	name := s.newName(paths.ManifestListPrefix)
	if err := s.writeFile(ctx, name, data); err != nil {
		return "", 0, err
	}
	s.c.Cache.put(s.Path(name), metas[:len(metas):len(metas)], int64(len(metas))*256+4*int64(len(data))+256)
	return name, int64(len(data)), nil
}

// WriteIndex writes an index manifest and gives its name.
func (s *Store) WriteIndex(ctx context.Context, entries []IndexEntry) (string, error) {
	data, err := EncodeIndex(entries, s.c.Encoding)
	if err != nil {
		return "", err
	}
	name := s.newName(paths.IndexManifestPrefix)
	if err := s.writeFile(ctx, name, data); err != nil {
		return "", err
	}
	s.c.Cache.put(s.Path(name), entries[:len(entries):len(entries)], int64(len(entries))*256+4*int64(len(data))+256)
	return name, nil
}

// Write writes entries to one or more manifests, starting a new one at the target size. After an error
// the names of what was written are still given, to be deleted. Without entries there is no manifest.
func (s *Store) Write(ctx context.Context, entries []Entry) ([]Meta, error) {
	var metas []Meta
	for from := 0; from < len(entries); {
		w, err := newEntryWriter(entries[from:], s.c.Encoding)
		if err != nil {
			return metas, err
		}
		to := from
		for to < len(entries) && (to == from || w.Size() < s.c.TargetSize) {
			if err := w.add(&entries[to]); err != nil {
				return metas, err
			}
			to++
		}
		data, err := w.Finish()
		if err != nil {
			return metas, err
		}
		m, err := s.describe(entries[from:to])
		if err != nil {
			return metas, err
		}
		m.Name, m.Size = s.newName(paths.ManifestPrefix), int64(len(data))
		metas = append(metas, m)
		if err := s.writeFile(ctx, m.Name, data); err != nil {
			return metas, err
		}
		s.c.Cache.put(s.Path(m.Name), entries[from:to:to], entriesCost(int64(to-from), int64(len(data))))
		from = to
	}
	return metas, nil
}

// Delete removes files by name and forgets them.
func (s *Store) Delete(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	files := make([]string, len(names))
	for i, n := range names {
		if err := CheckName(n); err != nil {
			return fmt.Errorf("manifest: delete: %w", err)
		}
		files[i] = s.Path(n)
	}
	s.c.Cache.Drop(files...)
	if err := s.c.FS.Delete(ctx, files...); err != nil {
		return fmt.Errorf("manifest: delete: %w", err)
	}
	return nil
}
