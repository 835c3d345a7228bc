package plan

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// Config describes a table to a Planner.
type Config struct {
	Manifests *manifest.Store
	Schemas   datafile.Schemas
	Schema    *schema.Schema // what rows are read as
	KeyValue  bool
	// Combines is set for merge engines that make a row of several versions (partial-update,
	// aggregation): then no version may be left out because of its own values.
	Combines bool
	// BucketKeys are the columns that choose the bucket, nil if buckets are not fixed.
	BucketKeys []string
	// BucketFunction is the option bucket-function.type.
	BucketFunction string
	// Postponed is set for tables whose rows get their buckets later: those in the bucket of no number are not read.
	Postponed bool
	// Vectors is set for tables whose deleted rows are marked in deletion vectors.
	Vectors bool
	Packing Packing
}

// Planner plans reads of one table. It is safe for concurrent use.
type Planner struct {
	c     Config
	order *datafile.KeyOrder
	part  []types.Field
	key   []types.Field
}

// New makes a Planner.
func New(c Config) (*Planner, error) {
	p := &Planner{c: c}
	for _, name := range c.Schema.PartitionKeys {
		f, ok := fieldNamed(c.Schema.Fields, name)
		if !ok {
			return nil, fmt.Errorf("plan: schema %d has no partition column %s", c.Schema.ID, name)
		}
		p.part = append(p.part, f)
	}
	if c.KeyValue {
		p.key = c.Schema.TrimmedPrimaryKey()
		p.order = datafile.NewKeyOrder(types.TypesOf(p.key))
	}
	return p, nil
}

func fieldNamed(fields []types.Field, name string) (types.Field, bool) {
	i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == name })
	if i < 0 {
		return types.Field{}, false
	}
	return fields[i], true
}

// Request says which rows are wanted.
type Request struct {
	// Filter leaves out files that cannot have a matching row; nil for none.
	Filter predicate.Predicate
	// Partition and Bucket restrict to some of them; nil for all.
	Partition func(partition []byte) bool
	Bucket    func(bucket int) bool
	// Limit stops adding files when this many rows are sure to come; 0 for all.
	Limit int64
	// Levels restricts to files of some levels; nil for all.
	Levels func(level int) bool
}

// Metas lists the manifests of a snapshot, oldest first.
func (p *Planner) Metas(ctx context.Context, snap *snapshot.Snapshot) ([]manifest.Meta, error) {
	var all []manifest.Meta
	for _, list := range []manifest.List{snap.Base(), snap.Delta()} {
		m, err := p.c.Manifests.ReadList(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("plan: snapshot %d: %w", snap.ID, err)
		}
		all = append(all, m...)
	}
	return all, nil
}

// checkPartitions makes sure that manifests were written with the partition columns that the table has, which never
// change: else a filter on them would leave out what it must not. A schema that has more or fewer of them than the
// entries is not the one that these were written with.
func (p *Planner) checkPartitions(ctx context.Context, metas []manifest.Meta) error {
	known := p.c.Schema.ID
	for i := range metas {
		id := metas[i].SchemaID
		if id == known {
			continue
		}
		s, err := p.c.Schemas.Get(ctx, id)
		if err != nil {
			continue // whoever opens a file of that schema tells of it
		}
		was := s.FieldsNamed(s.PartitionKeys)
		if len(was) == len(p.part) && !slices.EqualFunc(was, p.part, func(a, b types.Field) bool { return a.ID == b.ID }) {
			return fmt.Errorf("plan: manifest %s was written with schema %d, which is partitioned by %q, schema %d by %q: one of the two schema files is damaged",
				metas[i].Name, id, s.PartitionKeys, p.c.Schema.ID, p.c.Schema.PartitionKeys)
		}
		known = id
	}
	return nil
}

// Entries gives the files of a snapshot that the request wants.
func (p *Planner) Entries(ctx context.Context, snap *snapshot.Snapshot, req Request) ([]manifest.Entry, error) {
	metas, err := p.Metas(ctx, snap)
	if err != nil {
		return nil, err
	}
	t := p.tester(ctx, req)
	if t.partition != nil || req.Partition != nil {
		if err := p.checkPartitions(ctx, metas); err != nil {
			return nil, err
		}
	}
	entries, err := p.c.Manifests.ReadAll(ctx, metas, t.filter())
	if err != nil {
		return nil, fmt.Errorf("plan: snapshot %d: %w", snap.ID, err)
	}
	if err := t.err(); err != nil {
		return nil, fmt.Errorf("plan: snapshot %d: %w", snap.ID, err)
	}
	live := manifest.Live(entries)
	if req.Levels != nil {
		live = slices.DeleteFunc(live, func(e manifest.Entry) bool { return !req.Levels(e.File.Level) })
	}
	return live, nil
}

// bucketFiles are the files of a bucket, in the order of the manifests.
type bucketFiles struct {
	partition     []byte
	bucket, total int
	files         []*manifest.DataFile
}

// group collects files by bucket, ordered by partition and bucket.
func groupByBucket(entries []manifest.Entry) []*bucketFiles {
	type id struct {
		partition string
		bucket    int
	}
	at := map[id]*bucketFiles{}
	var out []*bucketFiles
	for i := range entries {
		e := &entries[i]
		k := id{string(e.Partition), e.Bucket}
		b := at[k]
		if b == nil {
			b = &bucketFiles{partition: e.Partition, bucket: e.Bucket, total: e.TotalBuckets}
			at[k] = b
			out = append(out, b)
		}
		b.files = append(b.files, e.File)
	}
	slices.SortStableFunc(out, func(a, b *bucketFiles) int {
		return cmp.Or(bytes.Compare(a.partition, b.partition), cmp.Compare(a.bucket, b.bucket))
	})
	return out
}

// Splits plans a batch read of a snapshot.
func (p *Planner) Splits(ctx context.Context, snap *snapshot.Snapshot, req Request) ([]Split, error) {
	entries, err := p.Entries(ctx, snap, req)
	if err != nil {
		return nil, err
	}
	places, err := p.vectors(ctx, snap)
	if err != nil {
		return nil, err
	}
	var out []Split
	var rows int64
	t := p.tester(ctx, req)
	for _, b := range groupByBucket(entries) {
		files := b.files
		if b.bucket < 0 {
			if b.bucket == paths.PostponeBucket && p.c.Postponed { // not yet part of the table
				continue
			}
			return nil, p.badBucket(snap, b)
		}
		if p.c.KeyValue && t.value != nil {
			if files, err = p.pruneSections(files, t); err != nil {
				return nil, err
			}
		}
		groups, err := p.groups(files)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			s := Split{SnapshotID: snap.ID, Partition: b.partition, Bucket: b.bucket, TotalBuckets: b.total, Files: g.files, Raw: g.raw}
			s.mark(places)
			if req.Limit > 0 && s.Raw && req.Filter == nil {
				rows += s.limit(req.Limit - rows)
			}
			out = append(out, s)
			if req.Limit > 0 && rows >= req.Limit {
				return out, t.err()
			}
		}
	}
	return out, t.err()
}

// vectors finds the deletion vectors of a snapshot.
func (p *Planner) vectors(ctx context.Context, snap *snapshot.Snapshot) (index.Places, error) {
	if !p.c.Vectors || snap.IndexManifest == "" {
		return nil, nil
	}
	entries, err := p.c.Manifests.ReadIndex(ctx, snap.IndexManifest)
	if err != nil {
		return nil, fmt.Errorf("plan: snapshot %d: %w", snap.ID, err)
	}
	places, err := index.PlacesOf(entries, nil)
	if err != nil {
		return nil, fmt.Errorf("plan: snapshot %d: %s: %w", snap.ID, snap.IndexManifest, err)
	}
	return places, nil
}

func (p *Planner) groups(files []*manifest.DataFile) ([]group, error) {
	if p.c.KeyValue {
		return mergeSplits(files, p.order, p.c.Packing, p.c.Vectors)
	}
	var out []group
	for _, g := range appendSplits(files, p.c.Packing) {
		out = append(out, group{g, true})
	}
	return out, nil
}

// pruneSections leaves out files of a primary-key table by the values of rows. A file that shares
// keys with others may hold an older version of a row, or a part of it: it goes only if none of
// them can match.
func (p *Planner) pruneSections(files []*manifest.DataFile, t *tester) ([]*manifest.DataFile, error) {
	sections, err := p.order.Sections(files)
	if err != nil {
		return nil, err
	}
	var out []*manifest.DataFile
	for _, s := range sections {
		keep := len(s) > 1 && p.c.Combines
		for _, f := range s {
			keep = keep || t.mayMatch(f)
		}
		if keep {
			out = append(out, s...)
		}
	}
	return out, nil
}

// Order is the order of keys, nil for tables without a key.
func (p *Planner) Order() *datafile.KeyOrder { return p.order }
