package manifest

import (
	"errors"
	"fmt"

	"github.com/tarnlake/tarn/internal/avro"
)

// Encoding says how metadata files are written.
type Encoding struct {
	Version     Version // zero: Latest
	Compression string  // option manifest.compression; empty: the version's default
}

func (o Encoding) codec() (avro.Codec, error) {
	name, err := CodecName(o.Compression, o.Version)
	return avro.Codec{Name: name}, err
}

// Encode writes a manifest as Java does at that version. The version is raised if the entries say what
// it cannot hold.
func Encode(entries []Entry, o Encoding) ([]byte, error) {
	w, err := newEntryWriter(entries, o)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if err := w.add(&entries[i]); err != nil {
			return nil, err
		}
	}
	return w.Finish()
}

// entryWriter writes one manifest.
type entryWriter struct {
	*avro.Writer
	v Version
	x extras
}

// newEntryWriter starts a manifest for some of the entries.
func newEntryWriter(entries []Entry, o Encoding) (*entryWriter, error) {
	w := &entryWriter{v: max(o.Version.orLatest(), VersionOf(entries))}
	for i := range entries {
		if u := entries[i].File.Unknown; u != nil {
			if err := w.x.add(u); err != nil {
				return nil, err
			}
		}
	}
	codec, err := o.codec()
	if err != nil {
		return nil, err
	}
	w.start(codec)
	return w, nil
}

func (w *entryWriter) start(codec avro.Codec) {
	var schema string
	if w.x.index == nil {
		schema = schemaText("entry", w.v, func(v Version) string { return entrySchema(v, &extras{}) })
	} else {
		schema = entrySchema(w.v, &w.x)
	}
	w.Writer = avro.NewWriter(schema, codec, nil)
}

func (w *entryWriter) add(e *Entry) error {
	b := w.Block
	nullable := w.v < V09
	if nullable {
		b = append(b, 2)
	}
	b = append(b, 4) // version 2
	b = avro.AppendLong(b, int64(e.Kind))
	b = avro.AppendBytes(b, e.Partition)
	b = avro.AppendLong(b, int64(e.Bucket))
	b = avro.AppendLong(b, int64(e.TotalBuckets))
	if nullable {
		b = append(b, 2)
	}
	b = w.file(b, e.File)
	var err error
	if w.x.index != nil {
		if b, err = w.x.write(b, inFile, e.File.Unknown); err == nil {
			b, err = w.x.write(b, inEntry, e.File.Unknown)
		}
		if err != nil {
			return fmt.Errorf("manifest: encode %s: %w", e.File.Name, err)
		}
	}
	w.Block = b
	_ = w.End()
	return nil
}

func (w *entryWriter) file(b []byte, f *DataFile) []byte {
	v := w.v
	b = avro.AppendBytes(b, f.Name)
	b = avro.AppendLong(b, f.Size)
	b = avro.AppendLong(b, f.Rows)
	b = avro.AppendBytes(b, f.MinKey)
	b = avro.AppendBytes(b, f.MaxKey)
	b = appendStats(b, &f.KeyStats, v)
	b = appendStats(b, &f.ValueStats, v)
	b = avro.AppendLong(b, f.MinSequence)
	b = avro.AppendLong(b, f.MaxSequence)
	b = avro.AppendLong(b, f.SchemaID)
	b = avro.AppendLong(b, int64(f.Level))
	b = avro.AppendStrings(b, f.ExtraFiles)
	b = appendOptional(b, f.CreationMillis, true)
	if v >= V08 {
		b = appendOptional(b, f.DeleteRows, f.DeleteRows >= 0)
		b = appendOptionalBytes(b, f.EmbeddedIndex, f.EmbeddedIndex != nil)
	}
	if v >= V09 {
		b = appendOptional(b, int64(f.Source), f.Source != SourceUnknown)
	}
	if v >= V10 {
		b = appendOptionalStrings(b, f.ValueStatsCols, f.HasValueStatsCols)
		b = appendOptionalBytes(b, f.ExternalPath, f.ExternalPath != "")
	}
	if v >= V13 {
		b = appendOptional(b, f.FirstRowID, f.FirstRowID >= 0)
		b = appendOptionalStrings(b, f.WriteCols, f.HasWriteCols)
	}
	return b
}

// emptyRow is the BinaryRow without fields, with its arity.
const emptyRow = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func appendStats(b []byte, s *Stats, v Version) []byte {
	if v < V09 {
		b = append(b, 2)
	}
	lo, hi := s.Min, s.Max
	if lo == nil {
		lo = []byte(emptyRow)
	}
	if hi == nil {
		hi = []byte(emptyRow)
	}
	b = avro.AppendBytes(b, lo)
	b = avro.AppendBytes(b, hi)
	if s.NullCounts == nil {
		return append(b, 0)
	}
	b = append(b, 2)
	if len(s.NullCounts) > 0 {
		b = avro.AppendLong(b, int64(len(s.NullCounts)))
		for _, n := range s.NullCounts {
			b = appendOptional(b, n, n >= 0)
		}
	}
	return append(b, 0)
}

func appendOptional(b []byte, v int64, has bool) []byte {
	if !has {
		return append(b, 0)
	}
	return avro.AppendLong(append(b, 2), v)
}

func appendOptionalBytes[T ~string | ~[]byte](b []byte, v T, has bool) []byte {
	if !has {
		return append(b, 0)
	}
	return avro.AppendBytes(append(b, 2), v)
}

func appendOptionalStrings(b []byte, v []string, has bool) []byte {
	if !has {
		return append(b, 0)
	}
	return avro.AppendStrings(append(b, 2), v)
}

// EncodeList writes a manifest list.
func EncodeList(metas []Meta, o Encoding) ([]byte, error) {
	v := o.Version.orLatest()
	codec, err := o.codec()
	if err != nil {
		return nil, err
	}
	var x extras
	for i := range metas {
		if err := x.add(metas[i].Unknown); err != nil {
			return nil, err
		}
	}
	var schema string
	if x.index == nil {
		schema = schemaText("list", v, func(v Version) string { return listSchema(v, &extras{}) })
	} else {
		schema = listSchema(v, &x)
	}
	w := avro.NewWriter(schema, codec, nil)
	for i := range metas {
		m := &metas[i]
		b := w.Block
		if v < V09 {
			b = append(b, 2)
		}
		b = append(b, 4)
		b = avro.AppendBytes(b, m.Name)
		b = avro.AppendLong(b, m.Size)
		b = avro.AppendLong(b, m.Added)
		b = avro.AppendLong(b, m.Deleted)
		b = appendStats(b, &m.PartitionStats, v)
		b = avro.AppendLong(b, m.SchemaID)
		if v >= V11 {
			b = appendOptional(b, int64(m.MinBucket), m.HasRanges)
			b = appendOptional(b, int64(m.MaxBucket), m.HasRanges)
			b = appendOptional(b, int64(m.MinLevel), m.HasRanges)
			b = appendOptional(b, int64(m.MaxLevel), m.HasRanges)
		}
		if v >= V14 {
			b = appendOptional(b, m.MinRowID, m.HasRowIDs)
			b = appendOptional(b, m.MaxRowID, m.HasRowIDs)
		}
		if w.Block, err = x.write(b, inEntry, m.Unknown); err != nil {
			return nil, fmt.Errorf("manifest: encode line of %s: %w", m.Name, err)
		}
		_ = w.End()
	}
	return w.Finish()
}

var errGlobal = errors.New("manifest: index entries of different writers cannot be joined: their _GLOBAL_INDEX differ")

// EncodeIndex writes an index manifest. The version is raised if the entries say what it cannot hold.
func EncodeIndex(entries []IndexEntry, o Encoding) ([]byte, error) {
	v := max(o.Version.orLatest(), IndexVersionOf(entries))
	codec, err := o.codec()
	if err != nil {
		return nil, err
	}
	var x extras
	var global string
	for i := range entries {
		if err := x.add(entries[i].Unknown); err != nil {
			return nil, err
		}
		eachUnknown(entries[i].Global, func(_ scope, field string, _ []byte) {
			if global != "" && global != field {
				err = errGlobal
			}
			global = field
		})
	}
	if err != nil {
		return nil, err
	}
	w := avro.NewWriter(indexSchema(v, global, &x), codec, nil)
	for i := range entries {
		if err := appendIndex(w, &entries[i], v, &x); err != nil {
			return nil, err
		}
		_ = w.End()
	}
	return w.Finish()
}

func appendIndex(w *avro.Writer, e *IndexEntry, v Version, x *extras) error {
	b := w.Block
	if v < V09 {
		b = append(b, 2)
	}
	b = append(b, 2) // version 1
	b = avro.AppendLong(b, int64(e.Kind))
	b = avro.AppendBytes(b, e.Partition)
	b = avro.AppendLong(b, int64(e.Bucket))
	b = avro.AppendBytes(b, e.Type)
	b = avro.AppendBytes(b, e.Name)
	b = avro.AppendLong(b, e.Size)
	b = avro.AppendLong(b, e.Rows)
	if v >= V08 {
		if e.Vectors == nil {
			b = append(b, 0)
		} else {
			b = append(b, 2)
			if len(e.Vectors) > 0 {
				b = avro.AppendLong(b, int64(len(e.Vectors)))
			}
			for _, r := range e.Vectors {
				b = avro.AppendBytes(append(b, 2), r.File)
				b = avro.AppendLong(b, r.Offset)
				b = avro.AppendLong(b, r.Length)
				if v >= V10 {
					b = appendOptional(b, r.Cardinality, r.Cardinality >= 0)
				}
			}
			b = append(b, 0)
		}
	}
	if v >= V13 {
		b = appendOptionalBytes(b, e.External, e.External != "")
	}
	if v >= V14 {
		if e.Global == nil {
			b = append(b, 0)
		}
		eachUnknown(e.Global, func(_ scope, _ string, value []byte) { b = append(b, value...) })
	}
	var err error
	if w.Block, err = x.write(b, inEntry, e.Unknown); err != nil {
		return fmt.Errorf("manifest: encode index entry %s: %w", e.Name, err)
	}
	return nil
}

// CodecName maps the table option `manifest.compression` to an Avro codec. Empty means the default of
// the version.
func CodecName(option string, v Version) (string, error) {
	switch option {
	case "":
		if v.orLatest() < V09 {
			return "snappy", nil
		}
		return "zstandard", nil
	case "zstd", "zstandard":
		return "zstandard", nil
	case "none", "null", "uncompressed":
		return "null", nil
	case "snappy", "deflate":
		return option, nil
	}
	return "", fmt.Errorf("manifest: compression %q is not supported: use zstd, snappy, deflate or null", option)
}
