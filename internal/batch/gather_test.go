package batch

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/types"
)

var testTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32,
	arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	&arrow.Decimal128Type{Precision: 20, Scale: 3}, arrow.BinaryTypes.String, arrow.BinaryTypes.Binary,
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Timestamp_us, arrow.Null,
	arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.ListOf(arrow.ListOf(arrow.BinaryTypes.String)),
	arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
	arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		arrow.Field{Name: "b", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		arrow.Field{Name: "c", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	),
}

func appendRandom(t *rapid.T, b array.Builder, nulls bool) {
	if nulls && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		b.AppendNull()
		return
	}
	x := rapid.IntRange(-100, 100).Draw(t, "x")
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(x > 0)
	case *array.Int8Builder:
		b.Append(int8(x))
	case *array.Int16Builder:
		b.Append(int16(x))
	case *array.Int32Builder:
		b.Append(int32(x))
	case *array.Int64Builder:
		b.Append(int64(x))
	case *array.Float32Builder:
		b.Append(float32(x))
	case *array.Float64Builder:
		b.Append(float64(x))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(int64(x)))
	case *array.StringBuilder:
		b.Append(fmt.Sprintf("%0*d", max(x, 0), x))
	case *array.BinaryBuilder:
		b.Append(make([]byte, max(x/4, 0)))
	case *array.Date32Builder:
		b.Append(arrow.Date32(x))
	case *array.Time32Builder:
		b.Append(arrow.Time32(x))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(x))
	case *array.ListBuilder:
		b.Append(true)
		for range x & 3 {
			appendRandom(t, b.ValueBuilder(), nulls)
		}
	case *array.MapBuilder:
		b.Append(true)
		for range x & 3 {
			appendRandom(t, b.KeyBuilder(), false)
			appendRandom(t, b.ItemBuilder(), nulls)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			appendRandom(t, b.FieldBuilder(i), nulls)
		}
	default:
		b.AppendNull()
	}
}

func randomBatch(t *rapid.T, schema *arrow.Schema) arrow.RecordBatch {
	n := rapid.IntRange(1, 20).Draw(t, "rows")
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range schema.NumFields() {
		nulls := rapid.Bool().Draw(t, "nulls")
		for range n {
			appendRandom(t, b.Field(i), nulls)
		}
	}
	rec := b.NewRecordBatch()
	from := rapid.IntRange(0, n-1).Draw(t, "from")
	to := rapid.IntRange(from+1, n).Draw(t, "to")
	return rec.NewSlice(int64(from), int64(to))
}

func testSchema() *arrow.Schema {
	fields := make([]arrow.Field, len(testTypes))
	for i, dt := range testTypes {
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: dt, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

func TestGather(t *testing.T) {
	schema := testSchema()
	rapid.Check(t, func(t *rapid.T) {
		var window []arrow.RecordBatch
		for range rapid.IntRange(1, 4).Draw(t, "sources") {
			window = append(window, randomBatch(t, schema))
		}
		var refs []Ref
		for range rapid.IntRange(0, 12).Draw(t, "pieces") {
			if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
				refs = append(refs, NullRef)
				continue
			}
			src := rapid.IntRange(0, len(window)-1).Draw(t, "src")
			n := int(window[src].NumRows())
			row := rapid.IntRange(0, n-1).Draw(t, "row")
			for range rapid.IntRange(1, n-row).Draw(t, "run") {
				refs = append(refs, Ref{int32(src), int32(row)})
				row++
			}
		}
		for col, dt := range testTypes {
			out, err := Gather(window, col, refs)
			if err != nil {
				t.Fatal(err)
			}
			if !arrow.TypeEqual(out.DataType(), dt) || out.Len() != len(refs) {
				t.Fatalf("got %s of %d rows, want %s of %d", out.DataType(), out.Len(), dt, len(refs))
			}
			nulls := 0
			for i, r := range refs {
				want := "(null)"
				if r.Src >= 0 {
					want = window[r.Src].Column(col).ValueStr(int(r.Row))
				}
				if got := out.ValueStr(i); got != want {
					t.Fatalf("%s: row %d (%v): got %s, want %s", dt, i, r, got, want)
				}
				if out.IsNull(i) {
					nulls++
				}
			}
			if m, ok := out.(*array.Map); ok {
				keys, values := Entries(m)
				if !array.Equal(keys, m.Keys()) || !array.Equal(values, m.Items()) {
					t.Fatalf("map of keys %v and items %v, but of pairs %v and %v", m.Keys(), m.Items(), keys, values)
				}
			}
			if out.NullN() != nulls && dt.ID() != arrow.NULL {
				t.Fatalf("%s: says %d nulls, has %d", dt, out.NullN(), nulls)
			}
		}
	})
}

func TestConcatAndTake(t *testing.T) {
	schema := testSchema()
	rapid.Check(t, func(t *rapid.T) {
		a, b := randomBatch(t, schema), randomBatch(t, schema)
		both, err := Concat([]arrow.RecordBatch{a, b})
		if err != nil {
			t.Fatal(err)
		}
		var second []int32
		for i := range b.NumRows() {
			second = append(second, int32(a.NumRows()+i))
		}
		got, err := Take(both, second)
		if err != nil {
			t.Fatal(err)
		}
		if !array.RecordEqual(got, b) {
			t.Fatalf("got %v\nwant %v", got, b)
		}
		slices.Reverse(second)
		if got, err = Take(both, second); err != nil {
			t.Fatal(err)
		}
		if last := got.NumRows() - 1; !array.RecordEqual(got.NewSlice(last, last+1), b.NewSlice(0, 1)) {
			t.Fatal("reversed rows differ")
		}
	})
}

func TestGatherBatchSharesEqualColumns(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "_KEY_k", Type: arrow.PrimitiveTypes.Int64}, {Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{1, 2, 3}, nil)
	a := b.NewArray()
	rec := array.NewRecordBatch(arrow.NewSchema(schema.Fields()[1:], nil), []arrow.Array{a}, 3)
	out, err := GatherBatch(schema, []arrow.RecordBatch{rec}, []int{0, 0}, Select([]Ref{{0, 2}, {0, 0}}))
	if err != nil {
		t.Fatal(err)
	}
	if out.Column(0) != out.Column(1) {
		t.Error("the key column is not the same object as the value column")
	}
}

func TestSizeOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := randomBatch(t, testSchema())
		if s, r := SizeOf(rec), Retained(rec); s <= 0 || s > r {
			t.Fatalf("size %d, retained %d", s, r)
		}
	})
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(make([]int64, 1000), nil)
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{b.NewArray()}, 1000)
	if got := SizeOf(rec.NewSlice(10, 20)); got != 80 {
		t.Errorf("10 rows of int64 take %d bytes, want 80", got)
	}
}

func TestGatherRefusesMixedTypes(t *testing.T) {
	ints, strs := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	ints.Append(1)
	strs.Append("x")
	_, err := GatherArrays([]arrow.Array{ints.NewArray(), strs.NewArray()}, Select([]Ref{{0, 0}, {1, 0}}))
	if err == nil || errors.Is(err, ErrTooLarge) {
		t.Fatalf("got %v", err)
	}
}

func TestSliceKeepsKinds(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{1, 2, 3}, nil)
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{b.NewArray()}, 3)
	s := Batch{rec, []types.RowKind{types.Insert, types.Delete, types.UpdateAfter}}.Slice(1, 3)
	if s.NumRows() != 2 || !slices.Equal(s.Kinds, []types.RowKind{types.Delete, types.UpdateAfter}) {
		t.Errorf("got %d rows, kinds %v", s.NumRows(), s.Kinds)
	}
}
