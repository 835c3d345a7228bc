package write

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/datafile"
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
}

func newRouter(c RouteConfig) (*router, error) {
	r := &router{n: c.Buckets}
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
	if c.Buckets <= 0 || len(c.BucketKeys) == 0 {
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
	if r.buckets, err = binrow.NewBucketFunction(c.BucketFunction, cols, ts); err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	return r, nil
}

// router finds the partition and bucket of rows. It is used by one goroutine.
type router struct {
	partCols  []int
	partTypes []types.Type
	buckets   binrow.BucketFunction // nil: all rows go to bucket 0
	n         int                   // number of buckets

	parts  map[string]int // raw partition values → index in locs
	locs   [][]byte       // BinaryRow with arity
	buf    []byte
	bucket []int32
}

// route splits a batch by partition and bucket, in the order of first appearance.
func (r *router) route(rec arrow.RecordBatch) ([]part, error) {
	n := int(rec.NumRows())
	partOf, err := r.partitions(rec)
	if err != nil {
		return nil, err
	}
	if r.buckets == nil && partOf == nil {
		return []part{{loc: datafile.Location{Partition: r.locs[0]}}}, nil
	}
	type id struct{ part, bucket int }
	index := map[id]int{}
	var out []part
	if r.buckets != nil {
		r.bucket = r.buckets.Buckets(rec, r.n, r.bucket[:0])
	}
	// Rows of a bucket tend to come together, so the last place is tried first.
	last, at := id{-1, -1}, -1
	for i := range n {
		var x id
		if partOf != nil {
			x.part = partOf[i]
		}
		if r.buckets != nil {
			x.bucket = int(r.bucket[i])
		}
		if x != last {
			var ok bool
			if at, ok = index[x]; !ok {
				at = len(out)
				index[x] = at
				out = append(out, part{loc: datafile.Location{Partition: r.locs[x.part], Bucket: x.bucket}})
			}
			last = x
		}
		out[at].sel = append(out[at].sel, int32(i))
	}
	if len(out) == 1 {
		out[0].sel = nil
	}
	return out, nil
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
