package tarn

import (
	"context"
	"errors"
	iofs "io/fs"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// outrunTimes is how often reading begins anew because the snapshot expired meanwhile.
const outrunTimes = 10

// newestEntries gives the files of the newest snapshot; the snapshot is nil if there is none.
func (t *Table) newestEntries(ctx context.Context, req plan.Request) (*snapshot.Snapshot, []manifest.Entry, error) {
	for n := 0; ; n++ {
		snap, err := t.latest(ctx)
		if err != nil || snap == nil {
			return nil, nil, err
		}
		entries, err := t.planner.Entries(ctx, snap, req)
		switch {
		case err == nil:
			return snap, entries, nil
		case n == outrunTimes || !t.outrun(ctx, snap, err):
			return nil, nil, t.wrap(err)
		}
	}
}

// outrun reports whether an error comes from a snapshot that expired while it was read: files of it are gone and
// there is a newer one.
func (t *Table) outrun(ctx context.Context, snap *snapshot.Snapshot, err error) bool {
	if snap == nil || !errors.Is(err, iofs.ErrNotExist) {
		return false
	}
	latest, lerr := t.snaps.LatestID(ctx)
	return lerr == nil && latest != snap.ID
}
