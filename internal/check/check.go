// Package check examines a table without changing it: that all it refers to is there and fits
// together.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// Problem is one thing that is wrong.
type Problem struct {
	// Damage means that rows cannot be read; other problems cost space or time only.
	Damage bool   `json:"damage"`
	Path   string `json:"path"`
	What   string `json:"what"`
	Advice string `json:"advice"`
}

// Report is the result of an examination.
type Report struct {
	Snapshots int       `json:"snapshots"`
	Manifests int       `json:"manifests"`
	Files     int       `json:"files"`
	Rows      int64     `json:"rows"` // of the newest snapshot, before merging
	Problems  []Problem `json:"problems"`
}

// Damaged reports whether any problem is damage.
func (r *Report) Damaged() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Damage })
}

// Table is what is examined.
type Table struct {
	FS        fileio.FS
	Path      string
	Snapshots *snapshot.Store
	Manifests *manifest.Store
	Files     *datafile.Store
	// Order is the order of keys, nil for tables without a primary key.
	Order *datafile.KeyOrder
}

type checker struct {
	t     Table
	r     *Report
	files map[string]bool // examined data files, by path
}

// Run examines all snapshots and tags of a table. The error is one of the storage; what is wrong with
// the table stands in the report.
func Run(ctx context.Context, t Table) (*Report, error) {
	c := &checker{t: t, r: &Report{Problems: []Problem{}}, files: map[string]bool{}}
	ids, err := t.Snapshots.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	for i, id := range ids {
		if i > 0 && ids[i-1]+1 != id {
			c.problem(false, t.Snapshots.Path(ids[i-1]+1), fmt.Sprintf("snapshots %d to %d are missing in the middle", ids[i-1]+1, id-1),
				"streams that have not passed them cannot go on; nothing else depends on them")
		}
		snap, err := t.Snapshots.Get(ctx, id)
		if errors.Is(err, iofs.ErrNotExist) {
			continue // expired meanwhile
		}
		if err != nil {
			c.problem(true, t.Snapshots.Path(id), err.Error(), "roll back to an older snapshot, or delete this file if it is the newest and half written")
			continue
		}
		found := len(c.r.Problems)
		if err := c.snapshot(ctx, snap, t.Snapshots.Path(id), i == len(ids)-1); err != nil {
			return nil, err
		}
		if len(c.r.Problems) > found {
			expired, err := c.expired(ctx, id)
			if err != nil {
				return nil, err
			}
			if expired {
				c.r.Problems, c.files = c.r.Problems[:found], map[string]bool{}
				continue
			}
		}
		c.r.Snapshots++
	}
	tags, err := t.Snapshots.TagNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	for _, name := range tags {
		tag, err := t.Snapshots.Tag(ctx, name)
		if err != nil {
			c.problem(true, t.Snapshots.TagPath(name), err.Error(), "delete the tag")
			continue
		}
		if err := c.snapshot(ctx, tag.Snapshot, t.Snapshots.TagPath(name), false); err != nil {
			return nil, err
		}
	}
	return c.r, nil
}

// expired reports whether a snapshot is on its way out: its files go before it does. Who expires tells by
// the hint of the earliest one what is hidden.
func (c *checker) expired(ctx context.Context, id int64) (bool, error) {
	first, err := c.t.Snapshots.EarliestID(ctx)
	if err != nil {
		return false, fmt.Errorf("check: %w", err)
	}
	there, err := c.t.Snapshots.Exists(ctx, id)
	if err != nil {
		return false, fmt.Errorf("check: %w", err)
	}
	return !there || first > id, nil
}

func (c *checker) problem(damage bool, path, what, advice string) {
	p := Problem{damage, path, strings.ReplaceAll(what, path+": ", ""), advice}
	if !slices.Contains(c.r.Problems, p) { // several snapshots have the same manifest
		c.r.Problems = append(c.r.Problems, p)
	}
}

// broken notes a file that cannot be read; other errors of the storage end the examination.
func (c *checker) broken(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.problem(true, path, err.Error(), "roll back to a snapshot or tag that does not need this file, or restore it from a copy")
	return nil
}

func (c *checker) snapshot(ctx context.Context, s *snapshot.Snapshot, path string, newest bool) error {
	var metas []manifest.Meta
	for _, list := range []string{s.BaseManifestList, s.DeltaManifestList} {
		if list == "" {
			continue
		}
		m, err := c.t.Manifests.ReadList(ctx, list)
		if err != nil {
			return c.broken(ctx, c.t.Manifests.Path(list), err)
		}
		metas = append(metas, m...)
	}
	var entries []manifest.Entry
	for i := range metas {
		e, err := c.t.Manifests.Read(ctx, &metas[i], nil)
		if err != nil {
			return c.broken(ctx, c.t.Manifests.Path(metas[i].Name), err)
		}
		if n := metas[i].Added + metas[i].Deleted; n != int64(len(e)) {
			c.problem(false, c.t.Manifests.Path(metas[i].Name), fmt.Sprintf("has %d entries, its list says %d", len(e), n), "rewrite the manifests by a compaction of manifests")
		}
		entries = append(entries, e...)
	}
	c.r.Manifests += len(metas)
	live, err := manifest.MustLive(entries)
	if err != nil {
		c.problem(true, path, err.Error(), "two writers replaced each other's snapshots, or files were deleted twice; roll back to an older snapshot")
		live = manifest.Live(entries)
	}
	var rows int64
	for i := range live {
		rows += live[i].File.Rows
		if err := c.file(ctx, &live[i]); err != nil {
			return err
		}
	}
	if s.TotalRecordCount != nil && *s.TotalRecordCount != rows {
		c.problem(false, path, fmt.Sprintf("totalRecordCount is %d, the files have %d rows", *s.TotalRecordCount, rows), "only statistics are wrong; the next full manifest compaction sets it right")
	}
	if s.ChangelogManifestList != "" {
		if _, err := c.t.Manifests.ReadList(ctx, s.ChangelogManifestList); err != nil {
			return c.broken(ctx, c.t.Manifests.Path(s.ChangelogManifestList), err)
		}
	}
	if s.IndexManifest != "" {
		if _, err := c.t.Manifests.ReadIndex(ctx, s.IndexManifest); err != nil {
			return c.broken(ctx, c.t.Manifests.Path(s.IndexManifest), err)
		}
	}
	if newest {
		c.r.Rows = rows
		c.levels(path, live)
	}
	return nil
}

// file looks whether a data file is there with the size that the manifest says.
func (c *checker) file(ctx context.Context, e *manifest.Entry) error {
	fs, path, err := c.t.Files.Path(ctx, datafile.Location{Partition: e.Partition, Bucket: e.Bucket}, e.File)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if c.files[path] {
		return nil
	}
	c.files[path] = true
	c.r.Files++
	info, err := fs.Stat(ctx, path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		c.problem(true, path, "data file is missing", "restore it, roll back to a snapshot without it, or remove it from the table and lose its rows")
	case err != nil:
		return fmt.Errorf("check: %w", err)
	case info.Size != e.File.Size:
		c.problem(true, path, fmt.Sprintf("data file has %d bytes, the manifest says %d", info.Size, e.File.Size), "restore it, or roll back to a snapshot without it")
	}
	return nil
}

// levels looks whether the files of a level above 0 have no key in common.
func (c *checker) levels(path string, live []manifest.Entry) {
	if c.t.Order == nil {
		return
	}
	type place struct {
		partition     string
		bucket, level int
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
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.level, b.level))
	})
	for _, p := range places {
		rs, err := c.t.Order.Ranges(at[p])
		if err != nil {
			c.problem(true, path, err.Error(), "roll back to an older snapshot")
			continue
		}
		slices.SortFunc(rs, c.t.Order.CompareMin)
		for i := 1; i < len(rs); i++ {
			if c.t.Order.Overlap(rs[i-1], rs[i]) {
				c.problem(true, path, fmt.Sprintf("files %s and %s of bucket %d level %d have keys in common", rs[i-1].File.Name, rs[i].File.Name, p.bucket, p.level),
					"run a full compaction of the bucket; rows may be wrong until then")
			}
		}
	}
}
