package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

const rollBack = "restore it from a copy, or roll back to a snapshot or tag that does not need it"

// broken notes a file that cannot be read; other errors of the storage end the examination.
func (c *checker) broken(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.problem(true, path, err.Error(), "roll back to a snapshot or tag that does not need this file, or restore it from a copy")
	return nil
}

func (c *checker) snapshot(ctx context.Context, s *snapshot.Snapshot, path string, newest bool) error {
	if err := c.schema(ctx, s.SchemaID, path, "the snapshot"); err != nil {
		return err
	}
	base, ok, err := c.list(ctx, s.Base())
	if err != nil || !ok {
		return err
	}
	delta, ok, err := c.list(ctx, s.Delta())
	if err != nil || !ok {
		return err
	}
	entries := append(slices.Clip(base), delta...)
	live, err := manifest.MustLive(entries)
	if err != nil {
		c.problem(true, path, err.Error(), "two writers replaced each other's snapshots, or files were deleted twice; roll back to an older snapshot")
		live = manifest.Live(entries)
	}
	rows, err := c.dataFiles(ctx, live, path)
	if err != nil {
		return err
	}
	c.twice(path, live)
	c.buckets(path, live)
	c.levels(path, live)
	// Early releases counted otherwise.
	counts := s.Written >= manifest.V08
	if counts && s.TotalRecordCount != nil && *s.TotalRecordCount != rows {
		c.problem(false, path, fmt.Sprintf("totalRecordCount is %d, the files have %d rows", *s.TotalRecordCount, rows), "only statistics are wrong; the next full manifest compaction sets it right")
	}
	if d := sumRows(delta); counts && s.DeltaRecordCount != nil && *s.DeltaRecordCount != d {
		c.problem(false, path, fmt.Sprintf("deltaRecordCount is %d, the files that it adds and removes make %d", *s.DeltaRecordCount, d), "only statistics are wrong")
	}
	if newest {
		c.r.Rows = rows
	}
	return c.others(ctx, s)
}

// changelog examines the changes that a snapshot tells of.
func (c *checker) changelog(ctx context.Context, s *snapshot.Snapshot, path string) error {
	changes, ok, err := c.list(ctx, s.Changelog())
	if err != nil || !ok {
		return err
	}
	_, err = c.dataFiles(ctx, manifest.Live(changes), path)
	return err
}

// changelogs examines those that were kept when their snapshots expired, and gives their numbers.
func (c *checker) changelogs(ctx context.Context) ([]int64, error) {
	ids, err := c.t.Snapshots.Changelogs(ctx)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	for _, id := range ids {
		path := c.t.Snapshots.ChangelogPath(id)
		s, err := c.t.Snapshots.Changelog(ctx, id)
		if errors.Is(err, iofs.ErrNotExist) {
			continue // expired meanwhile
		}
		if err != nil {
			c.problem(true, path, err.Error(), "streams that have not passed it cannot go on; delete it when none needs it")
			continue
		}
		_, err = c.unlessGone(func() error { return c.changelog(ctx, s, path) }, func() (bool, error) { return c.noFile(ctx, path) })
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// sumRows is the number of rows that entries add.
func sumRows(entries []manifest.Entry) int64 {
	var n int64
	for i := range entries {
		if e := &entries[i]; e.Kind == manifest.Add {
			n += e.File.Rows
		} else {
			n -= e.File.Rows
		}
	}
	return n
}

// schema looks whether a schema is there and can be read.
func (c *checker) schema(ctx context.Context, id int64, path, who string) error {
	there, known := c.schemas[id]
	if !known {
		_, err := c.t.Schemas.Get(ctx, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		there = !errors.Is(err, iofs.ErrNotExist)
		c.schemas[id] = there
		if there && err != nil {
			c.problem(true, c.t.Schemas.Path(id), err.Error(), rollBack)
			return nil
		}
	}
	if !there {
		c.problem(true, path, fmt.Sprintf("%s needs schema %d, which is not there", who, id), "restore "+c.t.Schemas.Path(id)+", or roll back to a snapshot that does not need it")
	}
	return nil
}

// list reads a manifest list and its manifests. It is not ok if one of them cannot be read, or there is no list.
func (c *checker) list(ctx context.Context, l manifest.List) ([]manifest.Entry, bool, error) {
	if l.Name == "" {
		return nil, true, nil
	}
	path := c.t.Manifests.Path(l.Name)
	metas, err := c.t.Manifests.ReadList(ctx, l)
	if err != nil {
		return nil, false, c.broken(ctx, path, err)
	}
	if l.Size != nil {
		if err := c.size(ctx, path, *l.Size, "the snapshot"); err != nil {
			return nil, false, err
		}
	}
	var entries []manifest.Entry
	for i := range metas {
		m := &metas[i]
		path := c.t.Manifests.Path(m.Name)
		e, err := c.t.Manifests.Read(ctx, m, nil)
		if err != nil {
			return nil, false, c.broken(ctx, path, err)
		}
		var added, deleted int64
		for k := range e {
			if e[k].Kind == manifest.Add {
				added++
			} else {
				deleted++
			}
		}
		if added != m.Added || deleted != m.Deleted {
			c.problem(false, path, fmt.Sprintf("has %d entries that add and %d that delete, its list says %d and %d", added, deleted, m.Added, m.Deleted), "rewrite the manifests by a compaction of manifests")
		}
		if err := c.size(ctx, path, m.Size, "its list"); err != nil {
			return nil, false, err
		}
		entries = append(entries, e...)
	}
	c.r.Manifests += len(metas)
	return entries, true, nil
}

// size compares the size of a metadata file that could be read with what is said of it.
func (c *checker) size(ctx context.Context, path string, want int64, who string) error {
	if c.files[path] {
		return nil
	}
	c.files[path] = true
	info, err := c.t.FS.Stat(ctx, path)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil // expired since it was read
	}
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if info.Size != want {
		c.problem(true, path, fmt.Sprintf("has %d bytes, %s says %d", info.Size, who, want), rollBack)
	}
	return nil
}

// others looks for the files of indexes and statistics.
func (c *checker) others(ctx context.Context, s *snapshot.Snapshot) error {
	if s.Statistics != "" {
		if err := c.there(ctx, c.t.Path+"/statistics/"+s.Statistics, -1, false, "statistics file", "only plans of queries suffer; analyze the table again"); err != nil {
			return err
		}
	}
	if s.IndexManifest == "" {
		return nil
	}
	entries, err := c.t.Manifests.ReadIndex(ctx, s.IndexManifest)
	if err != nil {
		return c.broken(ctx, c.t.Manifests.Path(s.IndexManifest), err)
	}
	for i := range entries {
		e := &entries[i]
		if e.Kind != manifest.Add || e.External != "" {
			continue
		}
		path := c.t.Path + "/index/" + e.Name
		if ok, err := fileio.Exists(ctx, c.t.FS, path); err != nil {
			return fmt.Errorf("check: %w", err)
		} else if !ok { // index-file-in-data-file-dir
			if _, p, err := c.t.Files.Path(ctx, datafile.Location{Partition: e.Partition, Bucket: e.Bucket}, &manifest.DataFile{Name: e.Name}); err == nil {
				if ok, err = fileio.Exists(ctx, c.t.FS, p); err == nil && ok {
					path = p
				}
			}
		}
		damage, advice := true, rollBack
		if e.Type == index.Hash { // readers do without
			damage, advice = false, "tarn makes it anew from the data files when the partition is written to; other engines cannot write to it until then"
		}
		if err := c.there(ctx, path, e.Size, damage, "index file ("+e.Type+")", advice); err != nil {
			return err
		}
	}
	return nil
}

// there looks whether a file is there, with a size if that is known.
func (c *checker) there(ctx context.Context, path string, size int64, damage bool, what, advice string) error {
	if c.files[path] {
		return nil
	}
	c.files[path] = true
	info, err := c.t.FS.Stat(ctx, path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		c.problem(damage, path, what+" is missing", advice)
	case err != nil:
		return fmt.Errorf("check: %w", err)
	case size >= 0 && info.Size != size:
		c.problem(damage, path, fmt.Sprintf("%s has %d bytes, the manifest says %d", what, info.Size, size), advice)
	}
	return nil
}

// place is a level of a bucket.
type place struct {
	partition     string
	bucket, level int
}

func (a place) compare(b place) int {
	return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.level, b.level))
}

// levels looks whether the files of a level above 0 have no key in common.
func (c *checker) levels(path string, live []manifest.Entry) {
	if c.t.Order == nil {
		return
	}
	at := map[place][]*manifest.DataFile{}
	for i := range live {
		if e := &live[i]; e.File.Level > 0 {
			p := place{string(e.Partition), e.Bucket, e.File.Level}
			at[p] = append(at[p], e.File)
		}
	}
	places := make([]place, 0, len(at))
	for p := range at {
		places = append(places, p)
	}
	slices.SortFunc(places, place.compare)
	for _, p := range places {
		rs, err := c.t.Order.Ranges(at[p])
		if err != nil {
			c.problem(true, path, err.Error(), "roll back to an older snapshot")
			continue
		}
		slices.SortFunc(rs, c.t.Order.CompareMin)
		for i := 1; i < len(rs); i++ {
			pair := [2]string{rs[i-1].File.Name, rs[i].File.Name}
			if c.t.Order.Overlap(rs[i-1], rs[i]) && !c.overlap[pair] {
				c.overlap[pair] = true
				c.problem(true, path, fmt.Sprintf("files %s and %s of bucket %d level %d have keys in common", pair[0], pair[1], p.bucket, p.level),
					"run a full compaction of the bucket; rows may be wrong until then")
			}
		}
	}
}

// twice looks for files that a snapshot has at two places.
func (c *checker) twice(path string, live []manifest.Entry) {
	type file struct {
		partition string
		bucket    int
		name      string
	}
	seen := map[file]int{}
	for i := range live {
		e := &live[i]
		k := file{string(e.Partition), e.Bucket, e.File.Name}
		if level, ok := seen[k]; ok {
			c.problem(true, path, fmt.Sprintf("file %s of bucket %d is there twice, at level %d and at level %d", e.File.Name, e.Bucket, level, e.File.Level), "roll back to an older snapshot")
		}
		seen[k] = e.File.Level
	}
}

// buckets looks whether files lie in buckets that there are, and whether their keys belong there.
func (c *checker) buckets(path string, live []manifest.Entry) {
	totals := map[string]int{}
	for i := range live {
		e := &live[i]
		if e.TotalBuckets <= 0 {
			continue
		}
		if e.Bucket < 0 || e.Bucket >= e.TotalBuckets {
			c.problem(true, path, fmt.Sprintf("file %s is in bucket %d of %d", e.File.Name, e.Bucket, e.TotalBuckets), "roll back to an older snapshot")
			continue
		}
		if n, ok := totals[string(e.Partition)]; ok && n != e.TotalBuckets {
			c.problem(true, path, fmt.Sprintf("file %s was written with %d buckets, others of its partition with %d", e.File.Name, e.TotalBuckets, n), "overwrite the partition to distribute its rows anew")
			continue
		}
		totals[string(e.Partition)] = e.TotalBuckets
		for _, key := range [][]byte{e.File.MinKey, e.File.MaxKey} {
			if b, ok := c.bucket.of(key, e.TotalBuckets); ok && b != e.Bucket {
				c.problem(true, path, fmt.Sprintf("file %s is in bucket %d, its keys belong to bucket %d of %d", e.File.Name, e.Bucket, b, e.TotalBuckets), "rows are not found by key, and may be there twice: overwrite the partition with its rows")
				break
			}
		}
	}
}

// location is where a data file is.
func location(e *manifest.Entry) datafile.Location {
	return datafile.Location{Partition: e.Partition, Bucket: e.Bucket}
}
