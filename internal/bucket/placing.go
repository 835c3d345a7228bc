package bucket

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/types"
)

// placing is what becomes of the rows of a batch.
type placing struct {
	n       int
	rows    []int32 // of the batch
	part    []int32
	bucket  []int32
	kinds   []types.RowKind // of the batch
	deleted []int32         // rows of the result that are deletes
	moved   []bool          // rows of the result that are in another partition than they were; nil: none
	changed bool            // the result is not the batch
}

func (o *placing) add(row int, part, bucket int32) {
	o.rows, o.part, o.bucket = append(o.rows, int32(row)), append(o.part, part), append(o.bucket, bucket)
	if o.moved != nil {
		o.moved = append(o.moved, false)
	}
}

// foreign says that the row that was added last goes to another partition than its own.
func (o *placing) foreign() {
	if o.moved == nil {
		o.moved = make([]bool, len(o.rows), o.n+o.n/2)
	}
	o.moved[len(o.rows)-1], o.changed = true, true
}

func (o *placing) delete() { o.deleted = append(o.deleted, int32(len(o.rows)-1)) }

// gather makes the batch of the result.
func (x *Crossing) gather(b batch.Batch, o *placing) (*Placed, error) {
	out := &Placed{Batch: b, Part: o.part, Bucket: o.bucket, Partitions: x.locs}
	if !o.changed {
		return out, nil
	}
	rows := batch.SelectRows(o.rows)
	cols := make([]arrow.Array, b.NumCols())
	var consts *batch.Selection
	var window []int32 // partitions, behind the batch
	if o.moved != nil {
		at := map[int32]int32{}
		refs := make([]batch.Ref, len(o.rows))
		for i, r := range o.rows {
			refs[i].Row = r
			if !o.moved[i] {
				continue
			}
			k, ok := at[o.part[i]]
			if !ok {
				window = append(window, o.part[i])
				k = int32(len(window))
				at[o.part[i]] = k
			}
			refs[i] = batch.Ref{Src: k}
		}
		consts = batch.Select(refs)
	}
	for c := range cols {
		var err error
		k := slices.Index(x.parts, c)
		if k < 0 || consts == nil {
			cols[c], err = batch.GatherArrays([]arrow.Array{b.Column(c)}, rows)
		} else {
			arrs := []arrow.Array{b.Column(c)}
			for _, p := range window {
				var a []arrow.Array
				if a, err = x.values(p); err != nil {
					return nil, err
				}
				arrs = append(arrs, a[k])
			}
			cols[c], err = batch.GatherArrays(arrs, consts)
		}
		if err != nil {
			return nil, fmt.Errorf("table %s: rows that change their partition: column %s: %w", x.c.Table, x.c.Fields[c].Name, err)
		}
	}
	out.RecordBatch = array.NewRecordBatch(b.Schema(), cols, int64(len(o.rows)))
	if o.kinds == nil && len(o.deleted) == 0 {
		return out, nil
	}
	out.Kinds = make([]types.RowKind, len(o.rows))
	for i, r := range o.rows {
		if o.kinds != nil {
			out.Kinds[i] = o.kinds[r]
		}
	}
	for _, i := range o.deleted {
		out.Kinds[i] = types.Delete
	}
	return out, nil
}

// values gives the partition columns of a partition, each as an array of one row.
func (x *Crossing) values(p int32) ([]arrow.Array, error) {
	if x.consts[p] != nil {
		return x.consts[p], nil
	}
	ts := make([]types.Type, len(x.parts))
	for i, c := range x.parts {
		ts[i] = x.c.Fields[c].Type
	}
	vals, err := binrow.DecodeWithArity(x.locs[p], ts)
	if err != nil {
		return nil, fmt.Errorf("table %s: partition: %w", x.c.Table, err)
	}
	out := make([]arrow.Array, len(ts))
	for i, t := range ts {
		b := array.NewBuilder(memory.DefaultAllocator, types.WideArrowType(t))
		if err := types.AppendDatum(b, t, vals[i]); err != nil {
			return nil, fmt.Errorf("table %s: partition: %w", x.c.Table, err)
		}
		out[i] = b.NewArray()
	}
	x.consts[p] = out
	return out, nil
}
