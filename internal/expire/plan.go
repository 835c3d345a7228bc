package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// plan is what a call is going to delete.
type plan struct {
	end      int64
	expiring []*snapshot.Snapshot
	data     []string // paths of data files and what belongs to them
	external []string // URIs of data files on other file systems
	// For each expiring snapshot: paths of index and statistics files, names of manifests, and
	// names of lists, which go last because they lead to the others.
	index, manifests, lists [][]string
}

// errGone says that the snapshot that was to stay is gone.
var errGone = errors.New("expired by another process")

// fileKey names a data file. A file that moves to another level keeps its name and stays one file.
type fileKey struct {
	partition string
	bucket    int
	name      string
}

func keyOf(e *manifest.Entry) fileKey {
	return fileKey{string(e.Partition), e.Bucket, e.File.Name}
}

// plan reads what is to expire and what protects files from going with it.
func (t *Table) plan(ctx context.Context, o Options, ids []int64, endID int64, r *Result) (*plan, error) {
	p := &plan{end: endID}
	end, err := t.Snapshots.Get(ctx, endID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	for id, i := ids[0], 0; id < endID; id++ {
		if i == len(ids) || ids[i] != id {
			r.Holes = append(r.Holes, id)
			continue
		}
		i++
		s, err := t.Snapshots.Get(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p.expiring = append(p.expiring, s)
	}
	if len(p.expiring) == 0 {
		return nil, errGone
	}
	g, err := t.guard(ctx, p.expiring[0].ID, endID)
	if err != nil {
		return nil, err
	}
	if err := t.planData(ctx, o, p, end, g, r); err != nil {
		return nil, err
	}
	used, err := g.meta(ctx, end)
	if err != nil {
		return nil, err
	}
	return p, t.planMeta(ctx, o, p, used, r)
}

// planData finds the data files: those that a snapshot after the first expiring one, up to the end, has
// taken away were used by expiring snapshots only. And the changelogs of what expires.
func (t *Table) planData(ctx context.Context, o Options, p *plan, end *snapshot.Snapshot, g *guard, r *Result) error {
	gone := map[fileKey]manifest.Entry{}
	for _, s := range append(slices.Clone(p.expiring[1:]), end) {
		entries, err := t.entries(ctx, s.Delta(), s.ID != end.ID, r)
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			k := keyOf(e)
			switch {
			case e.Kind == manifest.Add:
				delete(gone, k) // moved to another level, or back again
			case o.KeepChangelogs && !o.ProducesChangelog && e.File.Source != manifest.SourceCompact:
				// is the changelog
			default:
				used, err := g.uses(ctx, s.ID, k)
				if err != nil {
					return err
				}
				if !used {
					gone[k] = *e
				}
			}
		}
	}
	if !o.KeepChangelogs {
		for _, s := range p.expiring {
			entries, err := t.entries(ctx, s.Changelog(), true, r)
			if err != nil {
				return err
			}
			for i := range entries {
				if entries[i].Kind == manifest.Add {
					gone[keyOf(&entries[i])] = entries[i]
				}
			}
		}
	}
	return t.addAll(p, gone)
}

func (t *Table) addAll(p *plan, gone map[fileKey]manifest.Entry) error {
	for _, e := range gone {
		if err := t.addData(p, &e); err != nil {
			return err
		}
	}
	slices.Sort(p.data)
	slices.Sort(p.external)
	return nil
}

// addData adds the paths of a data file.
func (t *Table) addData(p *plan, e *manifest.Entry) error {
	f := e.File
	path := f.ExternalPath
	if path == "" {
		dir, err := t.Paths.BucketDir(e.Partition, e.Bucket)
		if err != nil {
			return fmt.Errorf("expire: %s: %w", f.Name, err)
		}
		path = dir + "/" + f.Name
	}
	dir := path[:strings.LastIndexByte(path, '/')+1]
	all := []string{path}
	for _, x := range f.ExtraFiles {
		all = append(all, dir+x)
	}
	switch {
	case f.ExternalPath == "":
		p.data = append(p.data, all...)
	case t.External != nil:
		p.external = append(p.external, all...)
	default:
		for _, x := range all {
			if _, local, ok := strings.Cut(x, "://"); ok {
				x = local
			}
			p.data = append(p.data, strings.TrimPrefix(x, "file:"))
		}
	}
	return nil
}

// entries reads the entries of a manifest list. What is about to go may be missing, if an earlier call
// was interrupted, or broken; then it leads to nothing.
func (t *Table) entries(ctx context.Context, list manifest.List, lenient bool, r *Result) ([]manifest.Entry, error) {
	metas, err := t.metas(ctx, list, lenient, r)
	if err != nil {
		return nil, err
	}
	entries, err := t.Manifests.ReadAll(ctx, metas, nil)
	return entries, t.tolerate(err, lenient, r)
}

func (t *Table) metas(ctx context.Context, list manifest.List, lenient bool, r *Result) ([]manifest.Meta, error) {
	metas, err := t.Manifests.ReadList(ctx, list)
	return metas, t.tolerate(err, lenient, r)
}

func (t *Table) tolerate(err error, lenient bool, r *Result) error {
	if err == nil || !lenient {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, manifest.ErrCorrupt) {
		r.Warnings = append(r.Warnings, err)
		return nil
	}
	return err // may be better next time
}

// planMeta finds manifests, lists, index files and statistics of expiring snapshots that are not used
// by what stays.
func (t *Table) planMeta(ctx context.Context, o Options, p *plan, used map[string]bool, r *Result) error {
	take := func(to *[]string, name string) {
		if name != "" && !used[name] {
			used[name] = true
			*to = append(*to, name)
		}
	}
	for _, s := range p.expiring {
		var index, manifests, lists []string
		data := !o.KeepChangelogs || o.ProducesChangelog
		for _, l := range []struct {
			manifest.List
			take bool
		}{{s.Base(), data}, {s.Delta(), data}, {s.Changelog(), !o.KeepChangelogs}} {
			if l.Name == "" || !l.take || used[l.Name] {
				continue
			}
			metas, err := t.metas(ctx, l.List, true, r)
			if err != nil {
				return err
			}
			for i := range metas {
				take(&manifests, metas[i].Name)
			}
			take(&lists, l.Name)
		}
		if s.IndexManifest != "" && !used[s.IndexManifest] {
			entries, err := t.Manifests.ReadIndex(ctx, s.IndexManifest)
			if err := t.tolerate(err, true, r); err != nil {
				return err
			}
			for i := range entries {
				if !used[entries[i].Name] {
					used[entries[i].Name] = true
					path, err := t.indexPath(&entries[i])
					if err != nil {
						return err
					}
					index = append(index, path)
				}
			}
			take(&lists, s.IndexManifest)
		}
		if s.Statistics != "" && !used[s.Statistics] {
			used[s.Statistics] = true
			index = append(index, t.Paths.Statistics(s.Statistics))
		}
		p.index, p.manifests, p.lists = append(p.index, index), append(p.manifests, manifests), append(p.lists, lists)
	}
	return nil
}

func (t *Table) indexPath(e *manifest.IndexEntry) (string, error) {
	if e.External != "" {
		path := e.External
		if _, local, ok := strings.Cut(path, "://"); ok && t.External == nil {
			path = local
		}
		return strings.TrimPrefix(path, "file:"), nil
	}
	return t.Paths.Index(e.Partition, e.Bucket, e.Name)
}

// lists are the manifest lists of a snapshot.
func lists(s *snapshot.Snapshot) []manifest.List {
	out := []manifest.List{s.Base(), s.Delta()}
	if s.ChangelogManifestList != "" {
		out = append(out, s.Changelog())
	}
	return out
}

// meta notes all metadata files that a snapshot refers to. Tags keep no changelogs.
func (t *Table) meta(ctx context.Context, s *snapshot.Snapshot, changelog bool, used map[string]bool) error {
	for _, l := range lists(s) {
		if l.Name == s.ChangelogManifestList && !changelog {
			continue
		}
		if _, err := t.list(ctx, l, false, used); err != nil {
			return err
		}
	}
	return t.others(ctx, s, used)
}

// others notes the metadata files of a snapshot that no list names.
func (t *Table) others(ctx context.Context, s *snapshot.Snapshot, used map[string]bool) error {
	if s.IndexManifest != "" {
		used[s.IndexManifest] = true
		entries, err := t.Manifests.ReadIndex(ctx, s.IndexManifest)
		if err != nil {
			return err
		}
		for i := range entries {
			used[entries[i].Name] = true
		}
	}
	if s.Statistics != "" {
		used[s.Statistics] = true
	}
	return nil
}

// list notes a list and its manifests; it may be gone if only the changelog of its snapshot is left.
func (t *Table) list(ctx context.Context, l manifest.List, mayBeGone bool, used map[string]bool) ([]manifest.Meta, error) {
	metas, err := t.Manifests.ReadList(ctx, l)
	if mayBeGone && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	used[l.Name] = true
	for i := range metas {
		used[metas[i].Name] = true
	}
	return metas, nil
}

// guard knows which files are used by tags and by other branches.
type guard struct {
	t *Table
	// tags are the tagged snapshots, by number.
	tags []*snapshot.Snapshot
	// always are snapshots of other branches: their files are never deleted. A file that is shared
	// with a branch is in its oldest snapshot or its tags, if the branch still uses it.
	always []*snapshot.Snapshot
	// neighbours are the snapshots that can share metadata with those which expire.
	neighbours []*snapshot.Snapshot
	used       map[int64]map[fileKey]bool // live files of tags, by snapshot
	shared     map[fileKey]bool
}

// guard reads the tags of all branches, for what expires from first up to end. One that cannot be read is an error.
func (t *Table) guard(ctx context.Context, first, end int64) (*guard, error) {
	g := &guard{t: t, used: map[int64]map[fileKey]bool{}}
	return g, g.load(ctx, first, end)
}

// meta gives the metadata files of the neighbours and of a snapshot that stays.
func (g *guard) meta(ctx context.Context, stays *snapshot.Snapshot) (map[string]bool, error) {
	used := map[string]bool{}
	for _, s := range g.neighbours {
		if err := g.t.meta(ctx, s, false, used); err != nil {
			return nil, err
		}
	}
	return used, g.t.meta(ctx, stays, true, used)
}

func (g *guard) load(ctx context.Context, first, end int64) error {
	own := g.t.Snapshots
	tags, err := own.Tags(ctx)
	if err != nil {
		return fmt.Errorf("expire: nothing is deleted while a tag cannot be read: %w", err)
	}
	for _, tag := range tags {
		if n := len(g.tags); n == 0 || g.tags[n-1].ID != tag.Snapshot.ID {
			g.tags = append(g.tags, tag.Snapshot)
		}
	}
	for i, s := range g.tags {
		if s.ID < end && (i+1 == len(g.tags) || g.tags[i+1].ID > first) {
			g.neighbours = append(g.neighbours, s)
		}
	}
	branches, err := own.Branches(ctx)
	if err != nil {
		return err
	}
	for _, name := range append(branches, snapshot.MainBranch) {
		if name == own.BranchName() || len(branches) == 0 {
			continue
		}
		b := own.Branch(name)
		oldest, err := b.Earliest(ctx)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("expire: branch %s: %w", name, err)
		}
		if oldest != nil {
			g.always = append(g.always, oldest)
		}
		tags, err := b.Tags(ctx)
		if err != nil {
			return fmt.Errorf("expire: nothing is deleted while a tag of branch %s cannot be read: %w", name, err)
		}
		for _, tag := range tags {
			g.always = append(g.always, tag.Snapshot)
		}
	}
	g.neighbours = append(g.neighbours, g.always...)
	// All that protects has to be readable before anything is decided.
	g.shared = map[fileKey]bool{}
	for _, s := range g.always {
		files, err := g.live(ctx, s)
		if err != nil {
			return err
		}
		maps.Copy(g.shared, files)
	}
	return nil
}

// uses reports whether a file that was taken away by a snapshot is used by a tag. A file lives without
// a break, so of the tags before that snapshot the last one decides.
func (g *guard) uses(ctx context.Context, by int64, k fileKey) (bool, error) {
	if g.shared[k] {
		return true, nil
	}
	at, _ := slices.BinarySearchFunc(g.tags, by, func(s *snapshot.Snapshot, id int64) int {
		if s.ID < id {
			return -1
		}
		return 1
	})
	if at == 0 {
		return false, nil
	}
	files, err := g.live(ctx, g.tags[at-1])
	return files[k], err
}

// live gives the data files of a tagged snapshot.
func (g *guard) live(ctx context.Context, s *snapshot.Snapshot) (map[fileKey]bool, error) {
	if files := g.used[s.ID]; files != nil && !slices.Contains(g.always, s) {
		return files, nil
	}
	all, err := g.entries(ctx, s)
	if err != nil {
		return nil, err
	}
	files := map[fileKey]bool{}
	for _, e := range all {
		files[keyOf(&e)] = true
	}
	if !slices.Contains(g.always, s) {
		g.used[s.ID] = files
	}
	return files, nil
}

// entries gives the live entries of a tagged snapshot.
func (g *guard) entries(ctx context.Context, s *snapshot.Snapshot) ([]manifest.Entry, error) {
	var all []manifest.Entry
	for _, l := range []manifest.List{s.Base(), s.Delta()} {
		metas, err := g.t.Manifests.ReadList(ctx, l)
		if err != nil {
			return nil, fmt.Errorf("expire: nothing is deleted while the files of a tag cannot be read: %w", err)
		}
		entries, err := g.t.Manifests.ReadAll(ctx, metas, nil)
		if err != nil {
			return nil, fmt.Errorf("expire: nothing is deleted while the files of a tag cannot be read: %w", err)
		}
		all = append(all, entries...)
	}
	return manifest.Live(all), nil
}
