package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/tarnlake/tarn/internal/snapshot"
)

// DeleteTag removes a tag, and the files that only it has kept. The error is fs.ErrNotExist if there is
// none of that name. The name goes first: a crash leaves orphans, but no tag without files.
func DeleteTag(ctx context.Context, t Table, name string) (Result, error) {
	var r Result
	tag, err := t.Snapshots.Tag(ctx, name)
	if err != nil {
		return r, err
	}
	p, err := t.planTag(ctx, tag, &r)
	if err != nil {
		return r, err
	}
	if err := t.Snapshots.RemoveTag(ctx, name); err != nil {
		return r, err
	}
	if p == nil {
		return r, nil
	}
	if err := t.removeData(ctx, Options{}, p); err != nil {
		return r, err
	}
	if err := t.remove(ctx, p.index[0]); err != nil {
		return r, err
	}
	if err := t.Manifests.Delete(ctx, append(p.manifests[0], p.lists[0]...)...); err != nil {
		return r, fmt.Errorf("expire: %w", err)
	}
	r.DataFiles = len(p.data) + len(p.external)
	r.MetaFiles = len(p.index[0]) + len(p.manifests[0]) + len(p.lists[0])
	return r, nil
}

// planTag finds what only a tag uses; nil if its snapshot is there or has another tag.
func (t *Table) planTag(ctx context.Context, tag *snapshot.Tag, r *Result) (*plan, error) {
	ids, err := t.Snapshots.All(ctx)
	if err != nil {
		return nil, err
	}
	id := tag.Snapshot.ID
	if slices.Contains(ids, id) {
		return nil, nil
	}
	g, err := t.guard(ctx, id, id)
	if err != nil {
		return nil, err
	}
	all, err := t.Snapshots.Tags(ctx)
	if err != nil {
		return nil, err
	}
	var left, right *snapshot.Snapshot
	for _, o := range all {
		switch {
		case o.Name == tag.Name:
		case o.Snapshot.ID == id:
			return nil, nil
		case o.Snapshot.ID < id:
			left = o.Snapshot
		case right == nil:
			right = o.Snapshot
		}
	}
	if at, _ := slices.BinarySearch(ids, id); at < len(ids) && (right == nil || ids[at] < right.ID) {
		if right, err = t.Snapshots.Get(ctx, ids[at]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	mine, err := g.entries(ctx, tag.Snapshot)
	if err != nil {
		return nil, err
	}
	keep := g.shared
	used := map[string]bool{}
	for _, s := range append(slices.Clone(g.always), left, right) {
		if s == nil {
			continue
		}
		files, err := g.live(ctx, s)
		if err != nil {
			return nil, err
		}
		for k := range files {
			keep[k] = true
		}
		if err := t.meta(ctx, s, false, used); err != nil {
			return nil, err
		}
	}
	p := &plan{}
	for i := range mine {
		if !keep[keyOf(&mine[i])] {
			if err := t.addData(p, &mine[i]); err != nil {
				return nil, err
			}
		}
	}
	p.expiring = []*snapshot.Snapshot{tag.Snapshot}
	return p, t.planMeta(ctx, Options{KeepChangelogs: true, ProducesChangelog: true}, p, used, r)
}
