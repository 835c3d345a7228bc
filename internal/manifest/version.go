package manifest

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/avro"
)

// Version is a release of the format, as major*100+minor: which fields its readers and writers know.
// Readers before 0.8 reject fields that they do not know, so a table keeps the version it has.
type Version int

// The releases in which the fields of metadata files changed.
const (
	V04 Version = 4   // the first one read
	V05 Version = 5   // index manifests; indexManifest and watermark of snapshots
	V07 Version = 7   // statistics of snapshots
	V08 Version = 8   // _DELETE_ROW_COUNT, _EMBEDDED_FILE_INDEX, deletion vectors; absent members are left out
	V09 Version = 9   // _FILE_SOURCE; plain records instead of nullable ones, zstandard
	V10 Version = 100 // _VALUE_STATS_COLS, _EXTERNAL_PATH, cardinality of deletion vectors
	V11 Version = 101 // ranges of buckets and levels in lists; sizes of lists in snapshots
	V12 Version = 102 // properties of snapshots
	V13 Version = 103 // _FIRST_ROW_ID, _WRITE_COLS; nextRowId; external index files
	V14 Version = 104 // ranges of row ids in lists, global indexes; logOffsets is gone
)

// Latest is the version that new tables are written at.
const Latest = V14

// String gives the version as users know it: "1.4".
func (v Version) String() string { return fmt.Sprintf("%d.%d", int(v)/100, int(v)%100) }

// ParseVersion reads "1.4" or "1.4.2".
func ParseVersion(s string) (Version, error) {
	var major, minor int
	if _, err := fmt.Sscanf(s, "%d.%d", &major, &minor); err != nil || major < 0 || minor < 0 || minor > 99 {
		return 0, fmt.Errorf("manifest: %q is no version of the format (like 0.8 or 1.4)", s)
	}
	v := Version(major*100 + minor)
	if v < V04 {
		return 0, fmt.Errorf("manifest: version %s of the format is not supported: the oldest one is %s", s, V04)
	}
	return v, nil
}

// orLatest gives the version to write at; the zero value means the newest.
func (v Version) orLatest() Version {
	if v == 0 {
		return Latest
	}
	return v
}

// VersionOf tells the oldest version that can hold all that the entries say. A table of an older
// version is raised to it.
func VersionOf(entries []Entry) Version {
	v := V04
	for i := range entries {
		f := entries[i].File
		switch {
		case f.FirstRowID >= 0 || f.HasWriteCols:
			return V13
		case f.HasValueStatsCols || f.ExternalPath != "":
			v = max(v, V10)
		case f.EmbeddedIndex != nil:
			v = max(v, V08)
		}
	}
	return v
}

// IndexVersionOf is VersionOf for index entries.
func IndexVersionOf(entries []IndexEntry) Version {
	v := V05
	for i := range entries {
		switch e := &entries[i]; {
		case e.Global != nil:
			return V14
		case e.External != "":
			v = max(v, V13)
		case e.Vectors != nil:
			v = max(v, V08)
		}
	}
	return v
}

// writtenBy tells from the fields of a writer's schema which version has written it, at least.
func writtenBy(t *avro.Type) Version {
	rec, nullAt := t.Nullable()
	file := rec
	if f := rec.Field("_FILE"); f != nil {
		file, _ = f.Type.Nullable()
	}
	switch {
	case rec.Field("_MIN_ROW_ID") != nil || rec.Field("_GLOBAL_INDEX") != nil || file.Field("_WRITE_COLS") != nil && rec.Field("_FILE") == nil:
		return V14
	case file.Field("_WRITE_COLS") != nil:
		return V13
	case rec.Field("_MIN_BUCKET") != nil:
		return V11
	case file.Field("_EXTERNAL_PATH") != nil:
		return V10
	case nullAt < 0:
		return V09
	case file.Field("_DELETE_ROW_COUNT") != nil || rec.Field("_DELETIONS_VECTORS_RANGES") != nil:
		return V08
	}
	return V04
}
