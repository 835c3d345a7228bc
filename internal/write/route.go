package write

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/bucket"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/types"
)

// part is the rows of a batch that belong to one bucket.
type part struct {
	loc datafile.Location
	sel []int32 // rows, ascending; nil: all
}

// RouteConfig says how rows find their partition and bucket.
type RouteConfig struct {
	Fields         []types.Field // of the table
	PartitionKeys  []string
	BucketKeys     []string // columns that choose the bucket; nil: all rows go to bucket 0
	Buckets        int      // number of buckets; for tables without buckets -1
	BucketFunction string   // bucket-function.type
	// Assigner gives rows their buckets by the hashes of BucketKeys, where the table has no fixed number of buckets.
	Assigner Assigner
	// Mover gives rows their buckets and may bring them to other partitions, where keys move between them.
	Mover Mover
	// Totals, if not nil, gives the number of buckets of a partition, for tables where each has its own. Several
	// goroutines call it, and it tells each of them the same.
	Totals func(ctx context.Context, partition []byte) (int, error)
	// Aside puts all rows into the bucket of those that have none yet.
	Aside bool
}

// total is the number of buckets that the files of a bucket tell.
func (c *RouteConfig) total(ctx context.Context, loc datafile.Location) (int, error) {
	if c.Totals == nil || loc.Bucket == paths.PostponeBucket {
		return c.Buckets, nil
	}
	return c.Totals(ctx, loc.Partition)
}

// Assigner gives rows their buckets. It is used by one goroutine.
type Assigner interface {
	// Assign writes the buckets of the rows sel of a partition, nil for all.
	Assign(ctx context.Context, partition []byte, hashes []int32, sel, buckets []int32) error
	// Prepare adds to what the buckets have prepared what the Assigner has to remember.
	Prepare(ctx context.Context, deltas []manifest.Delta) ([]manifest.Delta, error)
	// Committed tells that all that was prepared is part of the table now.
	Committed()
}

// Mover places rows. It is used by one goroutine.
type Mover interface {
	// Place finds the places of rows. Those of b are in partitions that part gives as indexes into locs.
	Place(ctx context.Context, b batch.Batch, part []int, locs [][]byte) (*bucket.Placed, error)
	// Prepare adds to what the buckets have prepared what it was written upon.
	Prepare(ctx context.Context, deltas []manifest.Delta) ([]manifest.Delta, error)
	// Committed tells that all that was prepared is part of the table now.
	Committed()
}

// later gives what wants to know of prepares and commits, nil if nothing does.
func (c *RouteConfig) later() interface {
	Prepare(ctx context.Context, deltas []manifest.Delta) ([]manifest.Delta, error)
	Committed()
} {
	switch {
	case c.Assigner != nil:
		return c.Assigner
	case c.Mover != nil:
		return c.Mover
	}
	return nil
}

func newRouter(c RouteConfig) (*router, error) {
	r := &router{n: c.Buckets, totals: c.Totals, assigner: c.Assigner, mover: c.Mover}
	at := func(name string) (int, error) {
		i := slices.IndexFunc(c.Fields, func(f types.Field) bool { return f.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("write: the table has no column %s", name)
		}
		return i, nil
	}
	for _, k := range c.PartitionKeys {
		i, err := at(k)
		if err != nil {
			return nil, err
		}
		r.partCols = append(r.partCols, i)
		r.partTypes = append(r.partTypes, c.Fields[i].Type)
	}
	if c.Aside {
		r.one, r.totals = paths.PostponeBucket, nil
		return r, nil
	}
	if c.Assigner == nil && (c.Totals == nil && c.Buckets <= 0 || len(c.BucketKeys) == 0) {
		return r, nil
	}
	var cols []int
	var ts []types.Type
	for _, k := range c.BucketKeys {
		i, err := at(k)
		if err != nil {
			return nil, err
		}
		cols, ts = append(cols, i), append(ts, c.Fields[i].Type)
	}
	var err error
	if c.Assigner != nil {
		if r.hasher, err = binrow.NewHasher(cols, ts); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
		return r, nil
	}
	if r.buckets, err = binrow.NewBucketFunction(c.BucketFunction, cols, ts); err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	return r, nil
}

// router finds the partition and bucket of rows. It is used by one goroutine.
type router struct {
	partCols  []int
	partTypes []types.Type
	buckets   binrow.BucketFunction                                    // nil: all rows go to one
	one       int                                                      // that bucket
	n         int                                                      // number of buckets
	totals    func(ctx context.Context, partition []byte) (int, error) // instead of n
	assigner  Assigner                                                 // instead of buckets, by hashes of the key
	mover     Mover                                                    // instead of buckets
	hasher    *binrow.Hasher
	hashes    []int32

	parts  map[string]int // raw partition values → index in locs
	locs   [][]byte       // BinaryRow with arity
	buf    []byte
	bucket []int32
}

// route splits a batch by partition and bucket, in the order of first appearance. The parts are of the batch that it gives.
func (r *router) route(ctx context.Context, b batch.Batch) (batch.Batch, []part, error) {
	partOf, err := r.partitions(b.RecordBatch)
	if err != nil {
		return b, nil, err
	}
	if r.mover == nil {
		parts, err := r.distribute(ctx, b.RecordBatch, partOf)
		return b, parts, err
	}
	p, err := r.mover.Place(ctx, b, partOf, r.locs)
	if err != nil {
		return b, nil, err
	}
	return p.Batch, split(len(p.Part), func(i int) (int, int) { return int(p.Part[i]), int(p.Bucket[i]) }, p.Partitions), nil
}

func (r *router) distribute(ctx context.Context, rec arrow.RecordBatch, partOf []int) ([]part, error) {
	n := int(rec.NumRows())
	bucketed := r.buckets != nil || r.assigner != nil
	if !bucketed && partOf == nil {
		return []part{{loc: datafile.Location{Partition: r.locs[0], Bucket: r.one}}}, nil
	}
	switch {
	case r.assigner != nil:
		if err := r.assign(ctx, rec, partOf); err != nil {
			return nil, err
		}
	case r.totals != nil:
		if err := r.each(ctx, rec, partOf); err != nil {
			return nil, err
		}
	case r.buckets != nil:
		r.bucket = r.buckets.Buckets(rec, r.n, r.bucket[:0])
	}
	return split(n, func(i int) (part, bucket int) {
		if partOf != nil {
			part = partOf[i]
		}
		if !bucketed {
			return part, r.one
		}
		return part, int(r.bucket[i])
	}, r.locs), nil
}

// split makes parts of rows by their places.
func split(n int, place func(row int) (part, bucket int), locs [][]byte) []part {
	type id struct{ part, bucket int }
	index := map[id]int{}
	var out []part
	// Rows of a bucket tend to come together, so the last place is tried first.
	last, at := id{-1, -1}, -1
	for i := range n {
		var x id
		x.part, x.bucket = place(i)
		if x != last {
			var ok bool
			if at, ok = index[x]; !ok {
				at = len(out)
				index[x] = at
				out = append(out, part{loc: datafile.Location{Partition: locs[x.part], Bucket: x.bucket}})
			}
			last = x
		}
		out[at].sel = append(out[at].sel, int32(i))
	}
	if len(out) == 1 {
		out[0].sel = nil
	}
	return out
}

// each gives rows their buckets where partitions have numbers of buckets of their own.
func (r *router) each(ctx context.Context, rec arrow.RecordBatch, partOf []int) error {
	if partOf == nil {
		n, err := r.totals(ctx, r.locs[0])
		if err == nil {
			r.bucket = r.buckets.Buckets(rec, n, r.bucket[:0])
		}
		return err
	}
	// Partitions with the same number, as most have, share one computation.
	of := map[int]int{}     // partition → number
	by := map[int][]int32{} // number → buckets of all rows
	r.bucket = slices.Grow(r.bucket[:0], len(partOf))
	for i, p := range partOf {
		n, ok := of[p]
		if !ok {
			var err error
			if n, err = r.totals(ctx, r.locs[p]); err != nil {
				return err
			}
			of[p] = n
			if by[n] == nil {
				by[n] = r.buckets.Buckets(rec, n, nil)
			}
		}
		r.bucket = append(r.bucket, by[n][i])
	}
	return nil
}

// assign gives rows the buckets that the assigner says, partition by partition.
func (r *router) assign(ctx context.Context, rec arrow.RecordBatch, partOf []int) error {
	r.hashes = r.hasher.Hash(rec, r.hashes[:0])
	r.bucket = slices.Grow(r.bucket[:0], len(r.hashes))[:len(r.hashes)]
	if partOf == nil {
		return r.assigner.Assign(ctx, r.locs[0], r.hashes, nil, r.bucket)
	}
	rows := map[int][]int32{}
	var order []int
	for i, p := range partOf {
		if rows[p] == nil {
			order = append(order, p)
		}
		rows[p] = append(rows[p], int32(i))
	}
	for _, p := range order {
		if err := r.assigner.Assign(ctx, r.locs[p], r.hashes, rows[p], r.bucket); err != nil {
			return err
		}
	}
	return nil
}

// partitions gives the index of each row's partition, nil if all are of partition 0 of locs.
func (r *router) partitions(rec arrow.RecordBatch) ([]int, error) {
	if len(r.partCols) == 0 {
		if r.locs == nil {
			b, err := binrow.EncodeWithArity(nil, nil)
			if err != nil {
				return nil, err
			}
			r.locs = [][]byte{b}
		}
		return nil, nil
	}
	if r.parts == nil {
		r.parts = map[string]int{}
	}
	n := int(rec.NumRows())
	out := make([]int, n)
	cols := make([]arrow.Array, len(r.partCols))
	for i, c := range r.partCols {
		cols[i] = rec.Column(c)
	}
	for i := range n {
		r.buf = r.buf[:0]
		for c, col := range cols {
			r.buf = appendRaw(r.buf, col, i, r.partTypes[c])
		}
		p, ok := r.parts[string(r.buf)]
		if !ok {
			vals := make([]types.Datum, len(cols))
			for c, col := range cols {
				vals[c] = types.DatumAt(col, i, r.partTypes[c])
			}
			b, err := binrow.EncodeWithArity(r.partTypes, vals)
			if err != nil {
				return nil, fmt.Errorf("write: partition of row %d: %w", i, err)
			}
			p = len(r.locs)
			r.parts[string(r.buf)] = p
			r.locs = append(r.locs, b)
		}
		out[i] = p
	}
	return out, nil
}

// appendRaw appends a value such that different values of a column give different bytes.
func appendRaw(dst []byte, col arrow.Array, i int, t types.Type) []byte {
	if col.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch a := col.(type) {
	case *array.String:
		s := a.Value(i)
		return append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
	case *array.Int64:
		return binary.LittleEndian.AppendUint64(dst, uint64(a.Value(i)))
	case *array.Int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(a.Value(i)))
	case *array.Date32:
		return binary.LittleEndian.AppendUint32(dst, uint32(a.Value(i)))
	}
	s := types.FormatDatum(t, types.DatumAt(col, i, t))
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
}
