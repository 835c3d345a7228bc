package tarn

import (
	"context"

	"github.com/tarnlake/tarn/internal/snapshot"
)

// Pin looks up the snapshot that is to be read, the newest or the one that the table's options ask for, and gives the table
// with the columns that it has there: what is pinned reads the same snapshot in all its scans. Should it expire meanwhile, the
// scans planned after that read the newest.
func (t *Table) Pin(ctx context.Context) (*Table, error) {
	if err := t.checkScan(); err != nil {
		return nil, t.wrap(err)
	}
	snap, err := t.snapshotOf(ctx)
	if err != nil {
		return nil, err
	}
	n, err := t.asOf(ctx, snap)
	if err != nil {
		return nil, err
	}
	if n == t {
		n = t.bare()
		n.schema, n.opts, n.ver = t.schema, t.opts, t.ver
		n.paths, n.manifests, n.files, n.planner, n.reader = t.paths, t.manifests, t.files, t.planner, t.reader
	}
	n.pinned, n.pin = true, snap
	return n, nil
}

// asOf gives the table with the columns that it had at a snapshot of the past, where options ask for one.
func (t *Table) asOf(ctx context.Context, snap *snapshot.Snapshot) (*Table, error) {
	if snap == nil || !t.timeTravel() || snap.SchemaID == t.schema.ID {
		return t, nil
	}
	sc, err := t.schemas.Get(ctx, snap.SchemaID)
	if err != nil {
		return t, nil // it is read with the columns of now
	}
	old := t.bare()
	return old, old.use(ctx, sc)
}
