package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// ErrRescaled is of the comparison of two states between which a partition got another number of buckets.
var ErrRescaled = errors.New("the number of buckets changed between the two states, they cannot be compared")

// sameBuckets refuses states whose keys lie in other buckets: bucket by bucket all of them would differ.
func sameBuckets(from, to []manifest.Entry) error {
	was := map[string]int{}
	for i := range from {
		was[string(from[i].Partition)] = from[i].TotalBuckets
	}
	for i := range to {
		if n, is := was[string(to[i].Partition)], to[i].TotalBuckets; n > 0 && is > 0 && n != is {
			return fmt.Errorf("plan: %w: it was %d and is %d", ErrRescaled, n, is)
		}
	}
	return nil
}

// Between plans the comparison of two states of a table with a key: of each bucket one split, with the files of the earlier state
// in Before. Files that both have, with the same deletion vectors, are left out, together with all that share keys with them, where no other file does.
func (p *Planner) Between(ctx context.Context, from, to *snapshot.Snapshot, req Request) ([]Split, error) {
	type id struct {
		partition string
		bucket    int
	}
	var sides [2][]manifest.Entry
	var places [2]index.Places
	for i, snap := range []*snapshot.Snapshot{from, to} {
		var err error
		if sides[i], err = p.Entries(ctx, snap, req); err != nil {
			return nil, err
		}
		if places[i], err = p.vectors(ctx, snap); err != nil {
			return nil, err
		}
	}
	if err := sameBuckets(sides[0], sides[1]); err != nil {
		return nil, err
	}
	before := map[id][]*manifest.DataFile{}
	for _, b := range groupByBucket(sides[0]) {
		before[id{string(b.partition), b.bucket}] = b.files
	}
	after := map[id][]*manifest.DataFile{}
	for _, b := range groupByBucket(sides[1]) {
		after[id{string(b.partition), b.bucket}] = b.files
	}
	var out []Split
	for _, b := range groupByBucket(append(sides[0], sides[1]...)) {
		if b.bucket < 0 {
			if b.bucket == paths.PostponeBucket && p.c.Postponed {
				continue
			}
			return nil, p.badBucket(to, b)
		}
		x := id{string(b.partition), b.bucket}
		s := Split{SnapshotID: to.ID, Partition: b.partition, Bucket: b.bucket, TotalBuckets: b.total, Diff: true}
		if err := p.differing(&s, before[x], after[x], places); err != nil {
			return nil, err
		}
		s.mark(places[1])
		s.VectorsBefore = s.vectorsOf(s.Before, places[0])
		if len(s.Before)+len(s.Files) > 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

// differing gives a split the files of two states in whose range of keys these have other files, or other vectors of them.
func (p *Planner) differing(s *Split, before, after []*manifest.DataFile, places [2]index.Places) error {
	const was, is = 1, 2
	sides := map[string]int{}
	var all []*manifest.DataFile
	for _, f := range before {
		sides[f.Name] |= was
		all = append(all, f)
	}
	for _, f := range after {
		if sides[f.Name] == 0 {
			all = append(all, f)
		}
		sides[f.Name] |= is
	}
	sections, err := p.order.Sections(all)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, section := range sections {
		changed := false
		for _, f := range section {
			v, w := places[0].Of(s.Partition, s.Bucket, f.Name), places[1].Of(s.Partition, s.Bucket, f.Name)
			changed = changed || sides[f.Name] != was|is || !v.Same(w)
		}
		for _, f := range section {
			wanted[f.Name] = changed
		}
	}
	for _, f := range before {
		if wanted[f.Name] {
			s.Before = append(s.Before, f)
		}
	}
	for _, f := range after {
		if wanted[f.Name] {
			s.Files = append(s.Files, f)
		}
	}
	return nil
}
