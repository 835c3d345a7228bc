package write

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/types"
)

// source is where a column comes from.
type source struct {
	col  int        // -1: the batch has none
	null bool       // an array of Arrow's type of nothing but NULL
	have types.Type // of the array, with the ids of the table's fields in its ROWs
	same bool       // the array is laid out as the table's
}

// sourceOf finds out how arrays of an Arrow type become a column of the table.
func sourceOf(col int, dt arrow.DataType, to types.Type) (source, error) {
	if dt.ID() == arrow.NULL {
		return source{col: col, null: true}, nil
	}
	if arrow.TypeEqual(dt, types.WideArrowType(to)) {
		return source{col: col, have: to, same: true}, nil
	}
	have, err := types.FromArrow(dt)
	if err != nil {
		return source{}, err
	}
	if have, err = named(have, to); err != nil {
		return source{}, err
	}
	if !cast.CanCast(have, to, false) {
		return source{}, fmt.Errorf("it is %s in the batch, %s in the table: cast it first", have, to)
	}
	return source{col: col, have: have}, nil
}

// wideDecimal is what types.FromArrow gives for types.WideTimestamp.
var wideDecimal = types.DecimalType(int(types.WideTimestamp.Precision), int(types.WideTimestamp.Scale))

// named gives the fields of ROWs the ids of the table's fields of the same names. A MAP to INT meets a
// MULTISET, the wide form of a timestamp is one.
func named(have, to types.Type) (types.Type, error) {
	part := func(h, t *types.Type) (*types.Type, error) {
		p, err := named(*h, *t)
		return &p, err
	}
	var err error
	switch {
	case types.IsNanos(to) && have.Equal(wideDecimal):
		return to.AsNullable(), nil
	case to.Kind == types.Multiset && have.Kind == types.Map && have.Elem.Kind == types.Int:
		e, err := named(*have.Key, *to.Elem)
		return types.MultisetType(e), err
	case have.Kind != to.Kind:
	case have.Kind == types.Array:
		have.Elem, err = part(have.Elem, to.Elem)
	case have.Kind == types.Map:
		if have.Key, err = part(have.Key, to.Key); err == nil {
			have.Elem, err = part(have.Elem, to.Elem)
		}
	case have.Kind == types.Row:
		have.Fields = slices.Clone(have.Fields)
		seen := map[string]bool{}
		for i := range have.Fields {
			f := &have.Fields[i]
			k := slices.IndexFunc(to.Fields, func(t types.Field) bool { return t.Name == f.Name })
			switch {
			case k < 0:
				return have, fmt.Errorf("the batch has a field %q that %s of the table does not have", f.Name, to)
			case seen[f.Name]:
				return have, fmt.Errorf("the batch has two fields %q", f.Name)
			}
			seen[f.Name] = true
			f.ID = to.Fields[k].ID
			if f.Type, err = named(f.Type, to.Fields[k].Type); err != nil {
				return have, err
			}
		}
	}
	return have, err
}

// adopt brings an array into the table's type. A value that it does not hold is an error.
func (s source) adopt(a arrow.Array, to types.Type) (arrow.Array, error) {
	if s.null {
		return array.MakeArrayOfNull(memory.DefaultAllocator, types.WideArrowType(to), a.Len()), nil
	}
	if s.same {
		return a, nil
	}
	a, err := cast.Layout(a, s.have, types.WideArrowType(s.have))
	if err != nil || arrow.TypeEqual(a.DataType(), types.WideArrowType(to)) {
		return a, err
	}
	b, err := cast.Cast(a, s.have, to)
	if err != nil {
		return nil, err
	}
	return b, lost(a, b, s.have, to)
}

// lost finds a value that a cast made NULL because the type does not hold it.
func lost(a, b arrow.Array, from, to types.Type) error {
	switch x := a.(type) {
	case *array.Struct:
		for i, t := range to.Fields {
			k := slices.IndexFunc(from.Fields, func(f types.Field) bool { return f.ID == t.ID })
			if k < 0 {
				continue
			}
			if err := lost(x.Field(k), b.(*array.Struct).Field(i), from.Fields[k].Type, t.Type); err != nil {
				return fmt.Errorf("field %s: %w", t.Name, err)
			}
		}
		return nil
	case *array.Map:
		p, _ := cast.Elements(x)
		q, _ := cast.Elements(b.(*array.Map))
		if from.Kind == types.Multiset {
			return lost(p.(*array.Struct).Field(0), q.(*array.Struct).Field(0), *from.Elem, *to.Elem)
		}
		if err := lost(p.(*array.Struct).Field(0), q.(*array.Struct).Field(0), *from.Key, *to.Key); err != nil {
			return fmt.Errorf("key: %w", err)
		}
		if err := lost(p.(*array.Struct).Field(1), q.(*array.Struct).Field(1), *from.Elem, *to.Elem); err != nil {
			return fmt.Errorf("value: %w", err)
		}
		return nil
	case *array.List:
		p, _ := cast.Elements(x)
		q, _ := cast.Elements(b.(*array.List))
		if err := lost(p, q, *from.Elem, *to.Elem); err != nil {
			return fmt.Errorf("element: %w", err)
		}
		return nil
	}
	if a.NullN() == b.NullN() {
		return nil
	}
	for i := range a.Len() {
		if b.IsNull(i) && a.IsValid(i) {
			return fmt.Errorf("%.60s does not fit into %s", a.ValueStr(i), to)
		}
	}
	return nil
}
