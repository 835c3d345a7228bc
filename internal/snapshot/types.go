// Package snapshot reads and writes snapshot files, hints, tags, branches and consumers.
// Specification: concepts/spec/snapshot.
package snapshot

import "github.com/tarnlake/tarn/internal/manifest"

// CommitKind says what a snapshot did.
type CommitKind string

const (
	Append    CommitKind = "APPEND"
	Compact   CommitKind = "COMPACT"
	Overwrite CommitKind = "OVERWRITE"
	Analyze   CommitKind = "ANALYZE"
)

// Snapshot is the content of snapshot/snapshot-N. Pointers are nil where the member is absent or
// null. It is immutable.
type Snapshot struct {
	Version                   int
	UUID                      string
	ID                        int64
	SchemaID                  int64
	BaseManifestList          string
	BaseManifestListSize      *int64
	DeltaManifestList         string
	DeltaManifestListSize     *int64
	ChangelogManifestList     string // "" none
	ChangelogManifestListSize *int64
	IndexManifest             string // "" none
	CommitUser                string
	CommitIdentifier          int64
	CommitKind                CommitKind
	TimeMillis                int64
	LogOffsets                map[string]int64 // nil absent
	TotalRecordCount          *int64
	DeltaRecordCount          *int64
	ChangelogRecordCount      *int64
	Watermark                 *int64
	Statistics                string // "" none
	Properties                map[string]string
	NextRowID                 *int64
	Extra                     map[string][]byte // unknown members, raw JSON, kept on rewrite

	// Written is the oldest release that can have written the file, as its members tell.
	Written manifest.Version
}

// Base is the list of the manifests before this snapshot.
func (s *Snapshot) Base() manifest.List {
	return manifest.List{Name: s.BaseManifestList, Size: s.BaseManifestListSize}
}

// Delta is the list of the manifests that this snapshot adds.
func (s *Snapshot) Delta() manifest.List {
	return manifest.List{Name: s.DeltaManifestList, Size: s.DeltaManifestListSize}
}

// Changelog is the list of the manifests of its changes.
func (s *Snapshot) Changelog() manifest.List {
	return manifest.List{Name: s.ChangelogManifestList, Size: s.ChangelogManifestListSize}
}
