package cast

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// fieldOf finds the field of a ROW by its id, -1 for none.
func fieldOf(t types.Type, id int) int {
	return slices.IndexFunc(t.Fields, func(f types.Field) bool { return f.ID == id })
}

// nested converts the parts and keeps which are there.
func nested(a arrow.Array, from, to types.Type) (arrow.Array, error) {
	dt := types.WideArrowType(to)
	switch x := a.(type) {
	case *array.Map: // before List: a Map is one inside
		return entries(x, dt.(*arrow.MapType), from, to)
	case *array.List:
		vals, offsets := Elements(x)
		vals, err := Cast(vals, *from.Elem, *to.Elem)
		if err != nil {
			return nil, fmt.Errorf("element: %w", err)
		}
		return lists(dt, a, offsets, vals.Data()), nil
	case *array.Struct:
		return row(x, from, to)
	}
	return nil, fmt.Errorf("%s cannot be cast to %s", from, to)
}

func lists(dt arrow.DataType, a arrow.Array, offsets []int32, vals arrow.ArrayData) arrow.Array {
	m := maskOf(a)
	bufs := []*memory.Buffer{m.buffer(), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))}
	return array.MakeFromData(array.NewData(dt, a.Len(), bufs, []arrow.ArrayData{vals}, m.nulls, 0))
}

// entries converts a MAP, or a MULTISET, which is a map to counts.
func entries(x *array.Map, dt *arrow.MapType, from, to types.Type) (arrow.Array, error) {
	count := types.IntType.AsNotNull()
	key, value, toKey, toValue := from.Key, from.Elem, to.Key, to.Elem
	if from.Kind == types.Multiset {
		key, value, toKey, toValue = from.Elem, &count, to.Elem, &count
	}
	kv, offsets := Elements(x)
	pairs := kv.(*array.Struct)
	keys, err := Cast(pairs.Field(0), *key, *toKey)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	vals, err := Cast(pairs.Field(1), *value, *toValue)
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	kids := []arrow.ArrayData{retype(keys, dt.KeyType()).Data(), retype(vals, dt.ItemType()).Data()}
	e := array.NewData(dt.Elem(), pairs.Len(), []*memory.Buffer{nil}, kids, 0, 0)
	return lists(dt, x, offsets, e), nil
}

// row converts the fields of rows; those that the file does not have are NULL.
func row(x *array.Struct, from, to types.Type) (arrow.Array, error) {
	dt := types.WideArrowType(to).(*arrow.StructType)
	parts := make([]arrow.ArrayData, len(to.Fields))
	for i, t := range to.Fields {
		k := fieldOf(from, t.ID)
		if k < 0 {
			parts[i] = array.MakeArrayOfNull(memory.DefaultAllocator, dt.Field(i).Type, x.Len()).Data()
			continue
		}
		v, err := Cast(x.Field(k), from.Fields[k].Type, t.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", t.Name, err)
		}
		parts[i] = v.Data()
	}
	// Fields are cut to the range of the rows already, so their validity starts at its first bit too.
	m := maskOf(x)
	return array.MakeFromData(array.NewData(dt, x.Len(), []*memory.Buffer{m.buffer()}, parts, m.nulls, 0)), nil
}
