package tarn

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/read"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/predicate"
)

// PlaceColumn is the last column of the rows of Deletion.Plan: a BIGINT that tells the Deletion where the row lies.
var PlaceColumn = read.PlaceField().Name

// deleteTries is how often a deletion is done anew because others changed the same files.
const deleteTries = 10

// Deletion deletes rows of a table without a primary key, where deletion vectors are enabled: data files stay, and vectors beside
// them say which of their rows are gone. It rests on the snapshot that was the newest when it began: another commit that deletes
// rows of the same files, or compacts them, is a conflict. It is safe for concurrent use.
type Deletion struct {
	t    *Table // pinned
	snap *snapshot.Snapshot

	mu    sync.Mutex
	files []deletedFrom
	rows  []*index.Builder // of each of files, nil: none
	n     int64
}

// deletedFrom is a file that rows are deleted from.
type deletedFrom struct {
	loc  datafile.Location
	file *manifest.DataFile
}

// NewDeletion begins a deletion upon the newest snapshot. The error wraps ErrUnsupported if the table has no deletion vectors,
// and ErrInvalid if it has a primary key: there rows of kind Delete are written.
func (t *Table) NewDeletion(ctx context.Context) (*Deletion, error) {
	if err := t.checkTarget(); err != nil {
		return nil, err
	}
	switch {
	case t.HasPrimaryKey():
		return nil, invalid("table %s has a primary key: write rows of kind Delete to delete some", t.id)
	case !options.DeletionVectors.Get(t.opts):
		return nil, fmt.Errorf("delete from table %s: %w", t.id, unsupported("deletes without deletion-vectors.enabled in a table without a primary key"))
	case t.incremental():
		return nil, invalid("table %s: rows of %s cannot be deleted", t.id, options.IncrementalBetween.Key())
	}
	for _, err := range []error{t.checkWhole(), t.checkOrdering(false)} {
		if err != nil {
			return nil, fmt.Errorf("delete from table %s: %w", t.id, err)
		}
	}
	t, err := t.learned(ctx)
	if err == nil {
		t, err = t.Pin(ctx)
	}
	if err != nil {
		return nil, err
	}
	for _, f := range t.schema.Fields {
		if f.Name == PlaceColumn {
			return nil, fmt.Errorf("delete from table %s: %w", t.id, unsupported("a column of the name %q", f.Name))
		}
	}
	return &Deletion{t: t, snap: t.pin}, nil
}

// Plan plans a read of rows of which some are to be deleted: the columns asked for, and PlaceColumn behind them.
func (d *Deletion) Plan(ctx context.Context, o ScanOptions) (*Plan, error) {
	p, err := d.t.Scan(o).Plan(ctx)
	if err != nil {
		return nil, err
	}
	if d.snap == nil || p.SnapshotID != d.snap.ID {
		if p.SnapshotID != 0 {
			return nil, fmt.Errorf("delete from table %s: %w: snapshot %d has expired, which it began with", d.t.id, ErrConflict, d.snapshotID())
		}
	}
	p.req.Fields = append(p.req.Fields[:len(p.req.Fields):len(p.req.Fields)], read.PlaceField())
	p.placed = true
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range p.splits {
		s := &p.splits[i]
		s.FirstFile = len(d.files)
		for _, f := range s.Files {
			d.files = append(d.files, deletedFrom{datafile.Location{Partition: s.Partition, Bucket: s.Bucket}, f})
		}
	}
	return p, nil
}

func (d *Deletion) snapshotID() int64 {
	if d.snap == nil {
		return 0
	}
	return d.snap.ID
}

// Add deletes rows, which are told by the column PlaceColumn of the batch; other columns may be there. A row that was added
// before is not counted again.
func (d *Deletion) Add(rec arrow.RecordBatch) error {
	at := rec.Schema().FieldIndices(PlaceColumn)
	if len(at) != 1 {
		return invalid("delete from table %s: the batch has no column %q of Deletion.Plan", d.t.id, PlaceColumn)
	}
	places, ok := rec.Column(at[0]).(*array.Int64)
	if !ok || places.NullN() > 0 {
		return invalid("delete from table %s: the column %q is not as Deletion.Plan gave it", d.t.id, PlaceColumn)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows = append(d.rows, make([]*index.Builder, len(d.files)-len(d.rows))...)
	for _, v := range places.Int64Values() {
		i, row := read.Place(v)
		if i < 0 || i >= len(d.files) || row >= d.files[i].file.Rows {
			return invalid("delete from table %s: there is no place %d", d.t.id, v)
		}
		if d.rows[i] == nil {
			d.rows[i] = &index.Builder{}
		}
		if d.rows[i].Add(row) {
			d.n++
		}
	}
	return nil
}

// Rows is the number of rows added so far.
func (d *Deletion) Rows() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// Prepare writes deletion vectors with the rows added, and gives them to be committed by Table.Commit, perhaps joined
// (JoinPrepared) with rows that are written in their place.
func (d *Deletion) Prepare(ctx context.Context) (p *Prepared, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p = &Prepared{base: d.snapshotID(), table: d.t.id.String()}
	defer func() {
		if err != nil {
			ctx, cancel := fileio.Outlast(ctx)
			defer cancel()
			err = errors.Join(err, d.t.Abort(ctx, p))
			p = nil
		}
	}()
	type key struct {
		partition string
		bucket    int
	}
	var order []datafile.Location
	buckets := map[key]map[string]*index.Vector{}
	for i, b := range d.rows {
		if b == nil {
			continue
		}
		f := &d.files[i]
		k := key{string(f.loc.Partition), f.loc.Bucket}
		if buckets[k] == nil {
			buckets[k] = map[string]*index.Vector{}
			order = append(order, f.loc)
		}
		v := b.Vector()
		buckets[k][f.file.Name] = v.Union(buckets[k][f.file.Name])
	}
	for _, loc := range order {
		bucket, err := d.t.vectorsOf(ctx, d.snap, loc)
		if err != nil {
			return p, err
		}
		delta := manifest.Delta{Partition: loc.Partition, Bucket: loc.Bucket}
		delta.Index, err = bucket.Mark(ctx, buckets[key{string(loc.Partition), loc.Bucket}], nil)
		p.deltas = append(p.deltas, delta)
		if err != nil {
			return p, d.t.wrap(err)
		}
		last := &p.deltas[len(p.deltas)-1]
		for e := range delta.NewIndexes() {
			_, path, err := d.t.files.IndexPath(ctx, loc, e)
			if err != nil {
				return p, d.t.wrap(err)
			}
			last.Paths = append(last.Paths, path)
		}
	}
	return p, nil
}

// DeleteWhere deletes the rows of a table without a primary key that match (nil: all), as a Deletion, in one commit, and gives
// their number. It is done again where others changed the same files meanwhile; the error wraps ErrConflict if that happens again and again.
func (t *Table) DeleteWhere(ctx context.Context, filter predicate.Predicate) (rows int64, res CommitResult, err error) {
	for range deleteTries {
		if rows, res, err = t.deleteWhere(ctx, filter); !errors.Is(err, ErrConflict) {
			break
		}
	}
	return rows, res, err
}

func (t *Table) deleteWhere(ctx context.Context, filter predicate.Predicate) (int64, CommitResult, error) {
	d, err := t.NewDeletion(ctx)
	if err != nil {
		return 0, CommitResult{}, err
	}
	plan, err := d.Plan(ctx, ScanOptions{Columns: []string{}, Filter: filter})
	if err != nil {
		return 0, CommitResult{}, err
	}
	for b, err := range plan.Batches(ctx) {
		if err == nil {
			err = d.Add(b)
		}
		if err != nil {
			return 0, CommitResult{}, err
		}
	}
	res, err := d.Commit(ctx)
	return d.Rows(), res, err
}

// Commit prepares and commits what was added, beside what was prepared to be written with it, all as one. After an error nothing of
// it is left, unless that wraps ErrUnknownOutcome.
func (d *Deletion) Commit(ctx context.Context, with ...*Prepared) (CommitResult, error) {
	p, err := d.Prepare(ctx)
	if err != nil {
		return CommitResult{}, err
	}
	all := JoinPrepared(append([]*Prepared{p}, with...)...)
	if all.Empty() {
		return CommitResult{}, nil
	}
	res, err := d.t.commit(ctx, CommitID{User: "tarn-" + uuid.NewString(), Number: 1}, true, nil, []*Prepared{all})
	if err != nil && surelyNot(res, err) {
		ctx, cancel := fileio.Outlast(ctx)
		defer cancel()
		err = errors.Join(err, d.t.Abort(ctx, all))
	}
	return res, err
}
