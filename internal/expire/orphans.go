package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// OrphanOptions say which files are orphans.
type OrphanOptions struct {
	// OlderThan spares files changed at or after that time: a writer may be about to commit them. It
	// has to be set.
	OlderThan time.Time
	// DryRun only lists them.
	DryRun bool
	// Keep spares files by path: those that a job has prepared and will commit. It may be nil.
	Keep func(path string) bool
}

// Orphans are files that nothing refers to.
type Orphans struct {
	Paths []string
	Bytes int64
}

// FindOrphans finds, and unless told otherwise removes, files that no snapshot, changelog or tag of any
// branch refers to: those of writers that died and of commits that lost. Folders stay, and so do files at
// external paths. If anything that refers to files cannot be read, nothing is removed.
func FindOrphans(ctx context.Context, t Table, o OrphanOptions) (Orphans, error) {
	var out Orphans
	if o.OlderThan.IsZero() {
		return out, errors.New("expire: orphans need an age: files of running writers must not go")
	}
	// The listing first: what is committed while the references are read is not in it, or is found.
	var found []fileio.Info
	for _, dir := range []string{t.Paths.ManifestDir(), t.Paths.IndexDir(), t.Paths.StatisticsDir()} {
		if err := t.files(ctx, dir, &found); err != nil {
			return out, err
		}
	}
	if err := t.dataFiles(ctx, t.Paths.DataDir(), &found); err != nil {
		return out, err
	}
	used, err := t.references(ctx)
	for n := 0; n < 5 && errors.Is(err, fs.ErrNotExist); n++ { // snapshots expire while they are read
		used, err = t.references(ctx)
	}
	if err != nil {
		return out, fmt.Errorf("expire: no orphan is removed while references cannot be read: %w", err)
	}
	for _, f := range found {
		if used[f.Name()] || !f.ModTime.Before(o.OlderThan) || o.Keep != nil && o.Keep(f.Path) {
			continue
		}
		out.Paths = append(out.Paths, f.Path)
		out.Bytes += f.Size
	}
	if o.DryRun {
		return out, nil
	}
	return out, t.remove(ctx, out.Paths)
}

// files lists the files of a folder.
func (t *Table) files(ctx context.Context, dir string, found *[]fileio.Info) error {
	for info, err := range t.FS.List(ctx, dir) {
		if err != nil {
			return fmt.Errorf("expire: list %s: %w", dir, err)
		}
		if !info.IsDir {
			*found = append(*found, info)
		}
	}
	return nil
}

// dataFiles lists the files of all buckets, whatever the partitions are called.
func (t *Table) dataFiles(ctx context.Context, dir string, found *[]fileio.Info) error {
	for info, err := range t.FS.List(ctx, dir) {
		if err != nil {
			return fmt.Errorf("expire: list %s: %w", dir, err)
		}
		if !info.IsDir {
			continue
		}
		name := info.Name()
		if _, ok := paths.ParseBucketName(name); ok {
			err = t.files(ctx, info.Path, found)
		} else if strings.Contains(name, "=") {
			err = t.dataFiles(ctx, info.Path, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// references are the names of all files that anything refers to; they are unique in a table.
func (t *Table) references(ctx context.Context) (map[string]bool, error) {
	used := map[string]bool{}
	branches, err := t.Snapshots.Branches(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range append(branches, snapshot.MainBranch) {
		b := t.Snapshots.Branch(name)
		ids, err := b.All(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			s, err := b.Get(ctx, id)
			if err == nil {
				err = t.refer(ctx, s, false, used)
			}
			if errors.Is(err, fs.ErrNotExist) {
				// It may have expired meanwhile.
				if there, e := b.Exists(ctx, id); e == nil && !there {
					continue
				}
				// It is hidden first, then its files go. What others need of them, these refer to.
				if first, e := b.EarliestID(ctx); e == nil && first > id {
					continue
				}
			}
			if err != nil {
				return nil, err
			}
		}
		// Only now: whoever expires a snapshot sets its changelog aside before anything of it is deleted.
		logs, err := b.Changelogs(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range logs {
			s, err := b.Changelog(ctx, id)
			if err == nil {
				err = t.refer(ctx, s, true, used)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // expired meanwhile
				return nil, err
			}
		}
		tags, err := b.Tags(ctx)
		if err != nil {
			return nil, err
		}
		for _, tag := range tags {
			tagged := *tag.Snapshot
			tagged.ChangelogManifestList = "" // not kept by tags
			err := t.refer(ctx, &tagged, false, used)
			if errors.Is(err, fs.ErrNotExist) {
				if _, e := b.Tag(ctx, tag.Name); errors.Is(e, fs.ErrNotExist) {
					continue // deleted meanwhile
				}
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return used, nil
}

// refer notes all files that a snapshot refers to, those it deletes included: expiry finds them by it. Of one
// that expired and left its changelog the lists that are still there count.
func (t *Table) refer(ctx context.Context, s *snapshot.Snapshot, expired bool, used map[string]bool) error {
	if !expired {
		if err := t.others(ctx, s, used); err != nil {
			return err
		}
	}
	for _, l := range lists(s) {
		metas, err := t.list(ctx, l, expired, used)
		if err != nil {
			return err
		}
		for i := range metas {
			entries, err := t.Manifests.Read(ctx, &metas[i], nil)
			if expired && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			for j := range entries {
				used[entries[j].File.Name] = true
				for _, x := range entries[j].File.ExtraFiles {
					used[x] = true
				}
			}
		}
	}
	return nil
}
