package cast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// nested converts the parts and keeps offsets and NULLs.
func nested(a arrow.Array, from, to types.Type) (arrow.Array, error) {
	dt := types.ArrowType(to)
	d := a.Data()
	switch x := a.(type) {
	case *array.Map:
		kt, vt, tk, tv := from.Key, from.Elem, to.Key, to.Elem
		if from.Kind == types.Multiset {
			count := &types.Type{Kind: types.Int, NotNull: true}
			kt, vt, tk, tv = from.Elem, count, to.Elem, count
		}
		entries := x.ListValues().(*array.Struct)
		keys, err := Cast(entries.Field(0), *kt, *tk)
		if err != nil {
			return nil, err
		}
		vals, err := Cast(entries.Field(1), *vt, *tv)
		if err != nil {
			return nil, err
		}
		est := dt.(*arrow.MapType).Elem()
		e := array.NewData(est, entries.Len(), []*memory.Buffer{entries.Data().Buffers()[0]}, []arrow.ArrayData{keys.Data(), vals.Data()}, entries.NullN(), 0)
		return array.MakeFromData(array.NewData(dt, d.Len(), d.Buffers(), []arrow.ArrayData{e}, a.NullN(), d.Offset())), nil
	case *array.List:
		vals, err := Cast(x.ListValues(), *from.Elem, *to.Elem)
		if err != nil {
			return nil, err
		}
		return array.MakeFromData(array.NewData(dt, d.Len(), d.Buffers(), []arrow.ArrayData{vals.Data()}, a.NullN(), d.Offset())), nil
	case *array.Struct:
		return row(x, from, to)
	}
	return nil, fmt.Errorf("%s cannot be cast to %s", from, to)
}

func row(x *array.Struct, from, to types.Type) (arrow.Array, error) {
	dt := types.ArrowType(to).(*arrow.StructType)
	parts := make([]arrow.ArrayData, len(to.Fields))
	for i, t := range to.Fields {
		k := slices.IndexFunc(from.Fields, func(f types.Field) bool { return f.ID == t.ID })
		if k < 0 {
			parts[i] = array.MakeArrayOfNull(memory.DefaultAllocator, dt.Field(i).Type, x.Len()).Data()
			continue
		}
		v, err := Cast(x.Field(k), from.Fields[k].Type, t.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		parts[i] = v.Data()
	}
	// Fields are already cut to the row's range, so validity has to start at its first bit too.
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	for i := range x.Len() {
		if x.IsNull(i) {
			b.AppendNull()
		} else {
			b.Append(true)
		}
	}
	valid := b.NewArray().Data().Buffers()[0]
	return array.MakeFromData(array.NewData(dt, x.Len(), []*memory.Buffer{valid}, parts, x.NullN(), 0)), nil
}

// nestedText writes arrays as [1, 2], maps as {a -> 1}, rows as {1, x}.
func nestedText(a arrow.Array, from, to types.Type) (arrow.Array, error) {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		b.Append(fitText(text(a, i, from), to))
	}
	return b.NewArray(), nil
}

func text(a arrow.Array, i int, t types.Type) string {
	if a.IsNull(i) {
		return "null"
	}
	switch x := a.(type) {
	case *array.Map:
		from, to := x.ValueOffsets(i)
		var parts []string
		for k := int(from); k < int(to); k++ {
			parts = append(parts, text(x.Keys(), k, *t.Key)+" -> "+text(x.Items(), k, *t.Elem))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *array.List:
		from, to := x.ValueOffsets(i)
		var parts []string
		for k := int(from); k < int(to); k++ {
			parts = append(parts, text(x.ListValues(), k, *t.Elem))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *array.Struct:
		var parts []string
		for f := range t.Fields {
			parts = append(parts, text(x.Field(f), i, t.Fields[f].Type))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	s, _ := toText(types.DatumAt(a, i, t), t, types.Type{Kind: types.Varchar, Length: types.MaxLength}).(string)
	return s
}
