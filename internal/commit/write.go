package commit

import (
	"context"
	"fmt"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// store gives the manifest store that writes at a version.
func (c *Committer) store(v manifest.Version) *manifest.Store {
	e := c.c.Manifests.Encoding()
	if e.Version != v && (e.Version != 0 || v != manifest.Latest) {
		e.Version = v
		c.c.Manifests = c.c.Manifests.WithEncoding(e)
	}
	return c.c.Manifests
}

// write writes all that the next snapshot refers to, and gives it and its manifests.
func (c *Committer) write(ctx context.Context, id ID, ch *changes, index []manifest.IndexEntry, a *attempt) (*snapshot.Snapshot, []manifest.Meta, error) {
	b := &c.b
	v := max(b.v, manifest.VersionOf(ch.files), manifest.VersionOf(ch.changelog))
	if len(ch.index) > 0 || ch.trimmed {
		v = max(v, manifest.IndexVersionOf(index))
	}
	m := c.store(v)
	next := &snapshot.Snapshot{
		Version: 3, ID: b.id() + 1, CommitUser: id.User, CommitIdentifier: id.Number, CommitKind: ch.kind,
		TimeMillis: c.c.Clock().UnixMilli(), Watermark: id.Watermark, Properties: id.Properties, Written: v,
	}
	if len(next.Properties) == 0 {
		next.Properties = nil
	}
	var err error
	if next.SchemaID, err = c.c.SchemaID(ctx); err != nil {
		return nil, nil, fmt.Errorf("commit: %s: newest schema: %w", c.table, err)
	}
	c.inherit(next, id, v)

	fewer, err := mergeManifests(ctx, m, b.metas, c.c.TargetSize, c.c.MergeMinCount, c.c.FullCompactionSize)
	a.perBase = append(a.perBase, fewer.fresh...)
	if err != nil {
		return nil, nil, err
	}
	var l list
	if l.name, l.size, err = m.WriteList(ctx, fewer.metas); err != nil {
		return nil, nil, err
	}
	a.perBase = append(a.perBase, l.name)
	next.BaseManifestList, next.BaseManifestListSize = l.name, &l.size

	numbered := c.c.SnapshotOrdering && ch.kind != snapshot.Compact
	if c.c.RowTracking {
		c.assignRowIDs(next, ch)
	}
	if numbered {
		numberFiles(next, ch)
	}
	if c.c.RowTracking || numbered {
		c.discard(ctx, a.own...)
		a.own, a.ready = nil, false
	}
	if !a.ready || ch.kind == snapshot.Overwrite || c.c.DiscardDuplicates {
		if err := c.writeChanges(ctx, m, ch, a); err != nil {
			return nil, nil, err
		}
	}
	next.DeltaManifestList, next.DeltaManifestListSize = a.deltaList.name, &a.deltaList.size
	if a.changes.name != "" {
		next.ChangelogManifestList, next.ChangelogManifestListSize = a.changes.name, &a.changes.size
	}
	if len(ch.index) > 0 || ch.trimmed {
		if next.IndexManifest, err = m.WriteIndex(ctx, index); err != nil {
			return nil, nil, err
		}
		a.perBase = append(a.perBase, next.IndexManifest)
	}
	count(next, b.snap, ch, v)
	return next, append(fewer.metas, a.deltas...), nil
}

// inherit carries over what stays from snapshot to snapshot.
func (c *Committer) inherit(next *snapshot.Snapshot, id ID, v manifest.Version) {
	old := c.b.snap
	zero := int64(0)
	if v >= manifest.V13 {
		next.NextRowID = &zero
	}
	if v < manifest.V14 {
		next.LogOffsets = mergeOffsets(nil, id.LogOffsets)
	}
	if old == nil {
		return
	}
	next.IndexManifest = old.IndexManifest
	if old.NextRowID != nil {
		next.NextRowID = old.NextRowID
	}
	if v < manifest.V14 {
		next.LogOffsets = mergeOffsets(old.LogOffsets, id.LogOffsets)
	}
	if old.Watermark != nil && (next.Watermark == nil || *next.Watermark < *old.Watermark) {
		next.Watermark = old.Watermark
	}
	// Statistics belong to a schema.
	if old.SchemaID == next.SchemaID {
		next.Statistics = old.Statistics
	}
	if old.Version > next.Version {
		next.Version = old.Version
	}
}

// writeChanges writes the manifests of the changes, which do not depend on the base, but for an
// overwrite.
func (c *Committer) writeChanges(ctx context.Context, m *manifest.Store, ch *changes, a *attempt) error {
	c.discard(ctx, a.own...)
	*a = attempt{perBase: a.perBase}
	files := ch.files
	if c.c.DropDeleteStats {
		files = dropStats(files)
	}
	var err error
	if a.deltas, a.deltaList, err = writeManifests(ctx, m, files, a); err != nil {
		return err
	}
	if len(ch.changelog) > 0 {
		if _, a.changes, err = writeManifests(ctx, m, ch.changelog, a); err != nil {
			return err
		}
	}
	a.ready = true
	return nil
}

func writeManifests(ctx context.Context, m *manifest.Store, entries []manifest.Entry, a *attempt) ([]manifest.Meta, list, error) {
	metas, err := m.Write(ctx, entries)
	for i := range metas {
		a.own = append(a.own, metas[i].Name)
	}
	if err != nil {
		return nil, list{}, err
	}
	var l list
	if l.name, l.size, err = m.WriteList(ctx, metas); err != nil {
		return nil, list{}, err
	}
	a.own = append(a.own, l.name)
	return metas, l, nil
}

// dropStats leaves out the statistics of files to delete, which nobody reads.
func dropStats(entries []manifest.Entry) []manifest.Entry {
	out := make([]manifest.Entry, len(entries))
	for i, e := range entries {
		if e.Kind == manifest.Delete {
			f := *e.File
			f.ValueStats = manifest.Stats{NullCounts: []int64{}}
			f.ValueStatsCols, f.HasValueStatsCols = nil, true
			e.File = &f
		}
		out[i] = e
	}
	return out
}

func rows(entries []manifest.Entry) int64 {
	var n int64
	for i := range entries {
		if entries[i].Kind == manifest.Add {
			n += entries[i].File.Rows
		} else {
			n -= entries[i].File.Rows
		}
	}
	return n
}

// count fills in the numbers of records.
func count(next, old *snapshot.Snapshot, ch *changes, v manifest.Version) {
	delta := rows(ch.files)
	total := delta
	if old != nil && old.TotalRecordCount != nil {
		total += *old.TotalRecordCount
	}
	next.DeltaRecordCount, next.TotalRecordCount = &delta, &total
	if len(ch.changelog) > 0 || v < manifest.V14 {
		n := rows(ch.changelog)
		next.ChangelogRecordCount = &n
	}
}

// numberFiles gives new files the snapshot's number as sequence number: it is that of all their rows.
func numberFiles(next *snapshot.Snapshot, ch *changes) {
	files := make([]manifest.Entry, len(ch.files))
	for i, e := range ch.files {
		if e.Kind == manifest.Add {
			f := *e.File
			f.MinSequence, f.MaxSequence = next.ID, next.ID
			e.File = &f
		}
		files[i] = e
	}
	ch.files = files
}

// assignRowIDs gives new files their row ids and the snapshot's number as sequence number.
func (c *Committer) assignRowIDs(next *snapshot.Snapshot, ch *changes) {
	start := int64(0)
	if next.NextRowID != nil {
		start = *next.NextRowID
	}
	files := make([]manifest.Entry, len(ch.files))
	for i, e := range ch.files {
		f := *e.File
		if f.MinSequence == 0 {
			f.MinSequence, f.MaxSequence = next.ID, next.ID
		}
		if e.Kind == manifest.Add && f.Source == manifest.SourceAppend && f.FirstRowID < 0 {
			f.FirstRowID = start
			start += f.Rows
		}
		e.File = &f
		files[i] = e
	}
	ch.files = files
	next.NextRowID = &start
}
