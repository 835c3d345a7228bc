package cast

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// Layout brings an array of values of a type, of any Arrow type for which types.FromArrow gives that type, into the
// Arrow type dt, which is types.ArrowType(t) or types.WideArrowType(t): other units of time, dictionaries, views and
// large offsets are resolved, as are runs and extension types. A value that dt does not hold is an error that names row and value.
func Layout(a arrow.Array, t types.Type, dt arrow.DataType) (arrow.Array, error) {
	if arrow.TypeEqual(a.DataType(), dt) {
		return a, nil
	}
	switch x := a.(type) {
	case array.ExtensionArray:
		return Layout(x.Storage(), t, dt)
	case *array.Dictionary:
		return spread(x, x.Dictionary(), x.GetValueIndex, t, dt)
	case *array.RunEndEncoded:
		run, from := 0, x.Offset()
		return spread(x, x.Values(), func(i int) int {
			for run < x.RunEndsArr().Len() && runEnd(x.RunEndsArr(), run) <= int64(from+i) {
				run++
			}
			return run
		}, t, dt)
	case *array.ListView, *array.LargeListView:
		return listViews(x.(array.ListLike), t, dt)
	case *array.Struct:
		parts := make([]arrow.ArrayData, len(t.Fields))
		for i, f := range t.Fields {
			p, err := Layout(x.Field(i), f.Type, dt.(*arrow.StructType).Field(i).Type)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
			parts[i] = p.Data()
		}
		m := maskOf(a)
		return array.MakeFromData(array.NewData(dt, a.Len(), []*memory.Buffer{m.buffer()}, parts, m.nulls, 0)), nil
	case *array.Map:
		kv, offsets := Elements(x)
		pairs := kv.(*array.Struct)
		key, value := t.Key, t.Elem
		if t.Kind == types.Multiset {
			count := types.IntType.AsNotNull()
			key, value = t.Elem, &count
		}
		mt := dt.(*arrow.MapType)
		k, err := Layout(pairs.Field(0), *key, mt.KeyType())
		if err != nil {
			return nil, fmt.Errorf("key: %w", err)
		}
		v, err := Layout(pairs.Field(1), *value, mt.ItemType())
		if err != nil {
			return nil, fmt.Errorf("value: %w", err)
		}
		e := array.NewData(mt.Elem(), pairs.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{k.Data(), v.Data()}, 0, 0)
		return lists(dt, a, offsets, e), nil
	case *array.List, *array.LargeList, *array.FixedSizeList:
		vals, offsets := Elements(x.(array.ListLike))
		vals, err := Layout(vals, *t.Elem, dt.(*arrow.ListType).Elem())
		if err != nil {
			return nil, fmt.Errorf("element: %w", err)
		}
		return lists(dt, a, offsets, vals.Data()), nil
	}
	switch x := a.(type) {
	case *array.Timestamp:
		if dt.ID() == arrow.DECIMAL128 {
			return widen(x), nil
		}
	case *array.Decimal128:
		if dt.ID() == arrow.TIMESTAMP {
			return narrow(x, t, dt)
		}
	}
	if t.IsNested() || t.Kind == types.Variant {
		return nil, fmt.Errorf("the Arrow type %s cannot be written as %s: use %s", a.DataType(), t, dt)
	}
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	for i := range a.Len() {
		d := types.DatumAt(a, i, t)
		if tooFar(a, i) {
			return nil, fmt.Errorf("row %d: %.60s s is no value of %s", i, a.ValueStr(i), t)
		}
		if err := types.AppendDatum(b, t, d); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return b.NewArray(), nil
}

// spread gives vals at the places that at names for the rows of a, which are asked for in order.
func spread(a, vals arrow.Array, at func(int) int, t types.Type, dt arrow.DataType) (arrow.Array, error) {
	refs := make([]batch.Ref, a.Len())
	for i := range refs {
		if a.IsNull(i) {
			refs[i] = batch.NullRef
			continue
		}
		k := at(i)
		if k < 0 || k >= vals.Len() {
			return nil, fmt.Errorf("row %d: it names value %d of %d in its %s", i, k, vals.Len(), a.DataType())
		}
		refs[i].Row = int32(k)
	}
	vals, err := Layout(vals, t, dt)
	if err != nil {
		return nil, fmt.Errorf("values of %s: %w", a.DataType(), err)
	}
	return batch.GatherArrays([]arrow.Array{vals}, batch.Select(refs))
}

// runEnd is where a run ends, in an array of INT16, INT32 or INT64.
func runEnd(ends arrow.Array, i int) int64 {
	switch e := ends.(type) {
	case *array.Int16:
		return int64(e.Value(i))
	case *array.Int32:
		return int64(e.Value(i))
	}
	return ends.(*array.Int64).Value(i)
}

// listViews gives lists whose values may lie in any order, and more than once.
func listViews(x array.ListLike, t types.Type, dt arrow.DataType) (arrow.Array, error) {
	vals := x.ListValues()
	var refs []batch.Ref
	offsets := []int32{0}
	for i := range x.Len() {
		if x.IsValid(i) {
			from, to := x.ValueOffsets(i)
			if from < 0 || to < from || to > int64(vals.Len()) {
				return nil, fmt.Errorf("row %d: its list has the values %d to %d of %d", i, from, to, vals.Len())
			}
			for k := from; k < to; k++ {
				refs = append(refs, batch.Ref{Row: int32(k)})
			}
		}
		offsets = append(offsets, int32(len(refs)))
	}
	vals, err := Layout(vals, *t.Elem, dt.(*arrow.ListType).Elem())
	if err != nil {
		return nil, fmt.Errorf("element: %w", err)
	}
	if vals, err = batch.GatherArrays([]arrow.Array{vals}, batch.Select(refs)); err != nil {
		return nil, err
	}
	return lists(dt, x, offsets, vals.Data()), nil
}

// widen gives timestamps of any unit as WideTimestamp.
func widen(x *array.Timestamp) arrow.Array {
	unit := x.DataType().(*arrow.TimestampType).Unit
	c := column[decimal128.Num]{make([]decimal128.Num, x.Len()), maskOf(x)}
	for i, v := range x.TimestampValues() {
		c.vals[i] = types.InstantOf(int64(v), unit).Nanoseconds()
	}
	return fixed(types.WideTimestamp, c.vals, c.mask)
}

// narrow gives WideTimestamps in 64 bits.
func narrow(x *array.Decimal128, t types.Type, dt arrow.DataType) (arrow.Array, error) {
	c := column[arrow.Timestamp]{make([]arrow.Timestamp, x.Len()), maskOf(x)}
	unit := dt.(*arrow.TimestampType).Unit
	for i, v := range x.Values() {
		if !c.mask.valid(i) {
			continue
		}
		at, ok := types.InstantOfNanos(v)
		n, fits := at.In(unit)
		if !ok || !fits {
			return nil, fmt.Errorf("row %d: %s is beyond what %s holds, %w", i, types.AppendTimestamp(nil, at, t.Precision), dt, ErrBeyond)
		}
		c.vals[i] = arrow.Timestamp(n)
	}
	return fixed(dt, c.vals, c.mask), nil
}

// ErrBeyond is the error of a point in time that 64 bits of nanoseconds do not reach.
var ErrBeyond = errors.New("the years 1677 to 2262")

// LayoutBatch is Layout for batches: schema has the Arrow types wanted. Columns that are so already are passed on.
func LayoutBatch(rec arrow.RecordBatch, fields []types.Field, schema *arrow.Schema) (arrow.RecordBatch, error) {
	cols := make([]arrow.Array, len(fields))
	for i, f := range fields {
		var err error
		if cols[i], err = Layout(rec.Column(i), f.Type, schema.Field(i).Type); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return array.NewRecordBatch(schema, cols, rec.NumRows()), nil
}

// tooFar finds seconds that have no milliseconds.
func tooFar(a arrow.Array, i int) bool {
	x, ok := a.(*array.Timestamp)
	if !ok || x.IsNull(i) || x.DataType().(*arrow.TimestampType).Unit != arrow.Second {
		return false
	}
	v := int64(x.Value(i))
	return v > math.MaxInt64/1000 || v < math.MinInt64/1000
}

// Elements are the values that lists have, with offsets of 32 bits that start at 0.
func Elements(l array.ListLike) (arrow.Array, []int32) {
	out := make([]int32, 1, l.Len()+1)
	first, end := int64(0), int64(0)
	for i := range l.Len() {
		start, e := l.ValueOffsets(i)
		if i == 0 {
			first = start
		}
		end = e
		out = append(out, int32(e-first))
	}
	return array.NewSlice(l.ListValues(), first, end), out
}
