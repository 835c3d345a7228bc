package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// Changelogs removes the changelogs of expired snapshots that the options let go, oldest first, with the
// files that only they use. The newest of them stays, as in Java. It may be called again after any error
// or crash and goes on from there.
func Changelogs(ctx context.Context, t Table, o Options, now time.Time) (Result, error) {
	var r Result
	o, err := o.withDefaults()
	if err != nil {
		return r, err
	}
	ids, err := t.Snapshots.Changelogs(ctx)
	if err != nil || len(ids) == 0 {
		return r, err
	}
	earliest, err := t.Snapshots.Earliest(ctx)
	if errors.Is(err, snapshot.ErrNone) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	latest, err := t.Snapshots.LatestID(ctx)
	if err != nil {
		return r, err
	}
	end, err := t.end(ctx, o.changelogs(), ids, latest, t.Snapshots.Changelog, now)
	if err != nil {
		return r, err
	}
	at, _ := slices.BinarySearch(ids, end)
	if at == 0 {
		return r, nil
	}
	p, err := t.planChangelogs(ctx, ids[:at], ids[at], earliest, &r)
	if errors.Is(err, errGone) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return r, t.executeChangelogs(ctx, o, p, &r)
}

// planChangelogs finds what only the changelogs given use: their files, or if the table writes none of its own
// the data files that were taken away, and manifests and lists.
func (t *Table) planChangelogs(ctx context.Context, ids []int64, end int64, earliest *snapshot.Snapshot, r *Result) (*plan, error) {
	p := &plan{end: end}
	next, err := t.Snapshots.Changelog(ctx, end)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	g, err := t.guard(ctx, ids[0], end)
	if err != nil {
		return nil, err
	}
	used, err := g.meta(ctx, earliest)
	if err != nil {
		return nil, err
	}
	for _, l := range lists(next) {
		if _, err := t.list(ctx, l, true, used); err != nil {
			return nil, err
		}
	}
	data := map[fileKey]manifest.Entry{}
	for _, id := range ids {
		s, err := t.Snapshots.Changelog(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p.expiring = append(p.expiring, s)
		if err := t.planChangelogData(ctx, s, g, data); err != nil {
			return nil, err
		}
		var manifests, gone []string
		for _, l := range lists(s) {
			if used[l.Name] {
				continue
			}
			metas, err := t.Manifests.ReadList(ctx, l)
			if errors.Is(err, fs.ErrNotExist) {
				continue // went with the snapshot
			}
			if err := t.tolerate(err, true, r); err != nil {
				return nil, err
			}
			for i := range metas {
				if name := metas[i].Name; !used[name] {
					used[name] = true
					manifests = append(manifests, name)
				}
			}
			used[l.Name] = true
			gone = append(gone, l.Name)
		}
		p.manifests, p.lists = append(p.manifests, manifests), append(p.lists, gone)
	}
	return p, t.addAll(p, data)
}

func (t *Table) planChangelogData(ctx context.Context, s *snapshot.Snapshot, g *guard, gone map[fileKey]manifest.Entry) error {
	list, kind := s.Changelog(), manifest.Add
	if list.Name == "" {
		list, kind = s.Delta(), manifest.Delete
	}
	entries, err := t.entries(ctx, list, true, new(Result)) // what cannot be read is told where lists are planned
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		if k := keyOf(e); e.Kind != kind {
			delete(gone, k) // moved to another level
		} else if used, err := g.uses(ctx, s.ID, k); err != nil {
			return err
		} else if !used {
			gone[k] = *e
		}
	}
	return nil
}

func (t *Table) executeChangelogs(ctx context.Context, o Options, p *plan, r *Result) error {
	r.DataFiles = len(p.data) + len(p.external)
	for i, s := range p.expiring {
		r.MetaFiles += len(p.manifests[i]) + len(p.lists[i])
		r.Changelogs = append(r.Changelogs, s.ID)
	}
	if o.DryRun {
		return nil
	}
	if err := t.Snapshots.HintEarliestChangelog(ctx, p.end); err != nil {
		return fmt.Errorf("expire: hide changelogs before %d: %w", p.end, err)
	}
	if err := t.removeData(ctx, o, p); err != nil {
		return err
	}
	for i, s := range p.expiring {
		if err := t.Manifests.Delete(ctx, append(p.manifests[i], p.lists[i]...)...); err != nil {
			return fmt.Errorf("expire: %w", err)
		}
		if err := t.Snapshots.DeleteChangelog(ctx, s.ID); err != nil {
			return fmt.Errorf("expire: %w", err)
		}
	}
	return nil
}
