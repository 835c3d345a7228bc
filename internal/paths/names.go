package paths

import (
	"strconv"
	"strings"
)

// NewDataFileName is a name for a new data file, or changelog file, of a format and compression. No two
// calls give the same.
func (t *Table) NewDataFileName(format, compression string, changelog bool) string {
	prefix := t.c.DataPrefix
	if changelog {
		prefix = t.c.ChangelogPrefix
	}
	return t.newName(prefix) + extension(format, compression, t.c.SuffixCompression)
}

// WithDataPrefix is the table with another prefix of data files.
func (t *Table) WithDataPrefix(prefix string) *Table {
	c := t.c
	c.DataPrefix = prefix
	return NewTable(t.root, c)
}

// DataPrefix is the prefix of data files.
func (t *Table) DataPrefix() string { return t.c.DataPrefix }

// NewManifestName is a name for a new manifest.
func (t *Table) NewManifestName() string { return t.newName(ManifestPrefix) }

// NewManifestListName is a name for a new manifest list.
func (t *Table) NewManifestListName() string { return t.newName(ManifestListPrefix) }

// NewIndexManifestName is a name for a new index manifest.
func (t *Table) NewIndexManifestName() string { return t.newName(IndexManifestPrefix) }

// NewIndexName is a name for a new index file.
func (t *Table) NewIndexName() string { return t.newName(IndexPrefix) }

// NewStatisticsName is a name for a new file of table statistics.
func (t *Table) NewStatisticsName() string { return t.newName(StatisticsPrefix) }

func (t *Table) newName(prefix string) string {
	return prefix + t.unique + "-" + strconv.FormatInt(t.count.Add(1)-1, 10)
}

// compressionExtensions are the names of compressions in file names where they differ from the
// option's.
var compressionExtensions = map[string]string{
	"none": "", "gzip": "gz", "bzip2": "bz2", "deflate": "deflate",
	"snappy": "snappy", "lz4": "lz4", "zstd": "zst",
}

func extension(format, compression string, include bool) string {
	ext, ok := compressionExtensions[strings.ToLower(compression)]
	if !ok {
		ext = compression
	}
	switch text := strings.EqualFold(format, "json") || strings.EqualFold(format, "csv"); {
	case ext == "":
		return "." + format
	case text: // text formats are compressed as a whole
		return "." + format + "." + ext
	case include:
		return "." + ext + "." + format
	}
	return "." + format
}

// FormatOf is the file format that a data file's name tells; false if it tells none.
func FormatOf(name string) (string, bool) {
	rest, ext, ok := cutLast(name)
	if !ok {
		return "", false
	}
	for _, c := range compressionExtensions {
		if c != "" && strings.EqualFold(ext, c) {
			if _, ext, ok = cutLast(rest); !ok {
				return "", false
			}
			break
		}
	}
	return ext, ext != ""
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// FileIndexName is the name of the file index that belongs to a data file.
func FileIndexName(dataFile string) string { return dataFile + ".index" }
