package kv

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// ordered has values of each key type in ascending order.
var ordered = []struct {
	t    types.Type
	a    arrow.DataType
	vals []types.Datum
}{
	{types.Type{Kind: types.Boolean}, arrow.FixedWidthTypes.Boolean, []types.Datum{false, true}},
	{types.Type{Kind: types.TinyInt}, arrow.PrimitiveTypes.Int8, []types.Datum{int64(-128), int64(-1), int64(0), int64(127)}},
	{types.Type{Kind: types.SmallInt}, arrow.PrimitiveTypes.Int16, []types.Datum{int64(-32768), int64(0), int64(32767)}},
	{types.Type{Kind: types.Int}, arrow.PrimitiveTypes.Int32, []types.Datum{int64(math.MinInt32), int64(-1), int64(0), int64(math.MaxInt32)}},
	{types.Type{Kind: types.BigInt}, arrow.PrimitiveTypes.Int64, []types.Datum{int64(math.MinInt64), int64(-1), int64(0), int64(math.MaxInt64)}},
	{types.Type{Kind: types.Date}, arrow.FixedWidthTypes.Date32, []types.Datum{int64(-700000), int64(0), int64(20000)}},
	{types.Type{Kind: types.Time, Precision: 3}, arrow.FixedWidthTypes.Time32ms, []types.Datum{int64(0), int64(86399999)}},
	{types.Type{Kind: types.Float}, arrow.PrimitiveTypes.Float32, []types.Datum{
		float32(math.Inf(-1)), float32(-1), float32(math.Copysign(0, -1)), float32(0), float32(1), float32(math.Inf(1)), float32(math.NaN()),
	}},
	{types.Type{Kind: types.Double}, arrow.PrimitiveTypes.Float64, []types.Datum{
		math.Inf(-1), -1.0, math.Copysign(0, -1), 0.0, 1.0, math.Inf(1), math.NaN(),
	}},
	{types.Type{Kind: types.Decimal, Precision: 18, Scale: 2}, &arrow.Decimal128Type{Precision: 18, Scale: 2}, []types.Datum{
		decimal128.FromI64(-999999999999999999), decimal128.FromI64(-1), decimal128.FromI64(0), decimal128.FromI64(1),
	}},
	{types.Type{Kind: types.Decimal, Precision: 38}, &arrow.Decimal128Type{Precision: 38}, []types.Datum{
		decimal128.New(-5, 7), decimal128.FromI64(-1), decimal128.FromI64(0), decimal128.FromI64(1), decimal128.New(5, 0),
	}},
	{types.Type{Kind: types.Varchar, Length: 10}, arrow.BinaryTypes.String, []types.Datum{"", "\x00", "\x00\x00", "\x00\x01", "a", "a\x00", "aa", "b", "ä", "😀"}},
	{types.Type{Kind: types.Varbinary, Length: 10}, arrow.BinaryTypes.Binary, []types.Datum{[]byte{}, []byte{0}, []byte{0, 255}, []byte{1}, []byte{255}, []byte{255, 255}}},
	{types.Type{Kind: types.Timestamp, Precision: 3}, arrow.FixedWidthTypes.Timestamp_ms, []types.Datum{types.Instant{Millis: -5}, types.Instant{Millis: 7}}},
	{types.Type{Kind: types.Timestamp, Precision: 6}, arrow.FixedWidthTypes.Timestamp_us, []types.Datum{
		types.Instant{Millis: -5, Nanos: 1000}, types.Instant{Millis: -5, Nanos: 2000}, types.Instant{Millis: 7},
	}},
	{types.Type{Kind: types.Timestamp, Precision: 9}, types.WideTimestamp, []types.Datum{
		types.Instant{Millis: -62135596800000},
		types.Instant{Millis: -62135596800000, Nanos: 1},
		types.Instant{Millis: -5, Nanos: 1},
		types.Instant{Millis: -1, Nanos: 999999},
		types.Instant{},
		types.Instant{Millis: 9223372036854, Nanos: 775807},
		types.Instant{Millis: 9223372036854, Nanos: 775808},
		types.Instant{Millis: 253402300799999, Nanos: 999999},
	}},
}

func arrayOf(t arrow.DataType, vals []types.Datum) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, t)
	for _, v := range vals {
		if v == nil {
			b.AppendNull()
			continue
		}
		switch b := b.(type) {
		case *array.BooleanBuilder:
			b.Append(v.(bool))
		case *array.Int8Builder:
			b.Append(int8(v.(int64)))
		case *array.Int16Builder:
			b.Append(int16(v.(int64)))
		case *array.Int32Builder:
			b.Append(int32(v.(int64)))
		case *array.Int64Builder:
			b.Append(v.(int64))
		case *array.Date32Builder:
			b.Append(arrow.Date32(v.(int64)))
		case *array.Time32Builder:
			b.Append(arrow.Time32(v.(int64)))
		case *array.Float32Builder:
			b.Append(v.(float32))
		case *array.Float64Builder:
			b.Append(v.(float64))
		case *array.Decimal128Builder:
			if at, ok := v.(types.Instant); ok {
				v = at.Nanoseconds()
			}
			b.Append(v.(decimal128.Num))
		case *array.StringBuilder:
			b.Append(v.(string))
		case *array.BinaryBuilder:
			b.Append(v.([]byte))
		case *array.TimestampBuilder:
			i := v.(types.Instant)
			per := unitsPerSecond(t.(*arrow.TimestampType).Unit)
			b.Append(arrow.Timestamp(i.Millis*(per/1000) + int64(i.Nanos)*(per/1000)/1000000))
		}
	}
	return b.NewArray()
}

func TestEncodeKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "columns")
		sequence, desc := rapid.Bool().Draw(t, "sequence"), false
		if sequence {
			desc = rapid.Bool().Draw(t, "descending")
		}
		var ts []types.Type
		var dts []arrow.DataType
		var spread []int
		for range n {
			i := rapid.IntRange(0, len(ordered)-1).Draw(t, "type")
			ts, dts, spread = append(ts, ordered[i].t), append(dts, ordered[i].a), append(spread, i)
		}
		rows := rapid.IntRange(1, 12).Draw(t, "rows")
		ranks := make([][]int, rows) // -1 is NULL
		vals := make([][]types.Datum, n)
		for r := range rows {
			for c := range n {
				k := rapid.IntRange(0, len(ordered[spread[c]].vals)-1).Draw(t, "value")
				var v types.Datum = ordered[spread[c]].vals[k]
				if sequence && rapid.IntRange(0, 4).Draw(t, "null") == 0 {
					k, v = -1, nil
				}
				ranks[r] = append(ranks[r], k)
				vals[c] = append(vals[c], v)
			}
		}
		enc, err := newEncoder(ts, sequence, desc)
		if err != nil {
			t.Fatal(err)
		}
		var cols []arrow.Array
		for c := range n {
			cols = append(cols, arrayOf(dts[c], vals[c]))
		}
		keys, err := enc.Encode(cols)
		if err != nil {
			t.Fatal(err)
		}
		want := func(a, b []int) int {
			for c := range n {
				x := cmp.Compare(a[c], b[c])
				if desc && a[c] >= 0 && b[c] >= 0 {
					x = -x
				}
				if x != 0 {
					return x
				}
			}
			return 0
		}
		for i := range rows {
			for j := range rows {
				if got := keys.At(i).Compare(keys.At(j)); got != want(ranks[i], ranks[j]) {
					t.Fatalf("%v against %v: got %d, want %d", ranks[i], ranks[j], got, want(ranks[i], ranks[j]))
				}
			}
			var row []types.Datum
			for c := range n {
				row = append(row, vals[c][i])
			}
			one, err := enc.EncodeDatums(row)
			if err != nil {
				t.Fatal(err)
			}
			if one.Compare(keys.At(i)) != 0 {
				t.Fatalf("values %v encode to %v, columns to %v", row, one, keys.At(i))
			}
		}
	})
}

func TestEncodeRefusesNullKeys(t *testing.T) {
	col := arrayOf(arrow.PrimitiveTypes.Int64, []types.Datum{int64(1), nil})
	_, err := EncodeKeys([]arrow.Array{col}, []types.Type{{Kind: types.BigInt}})
	var null *NullKeyError
	if !errors.As(err, &null) || null.Row != 1 {
		t.Errorf("got %v", err)
	}
	if _, err := NewKeyEncoder([]types.Type{{Kind: types.Array}}); err == nil {
		t.Error("an ARRAY is accepted as key")
	}
}

func TestSortRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom(keyShapes).Draw(t, "shape")
		span := rapid.SampledFrom([]int64{1, 50, 1 << 50}).Draw(t, "span")
		size := rapid.SampledFrom([]int{3, 40, 300}).Draw(t, "size")
		var keys []Keys
		var rows []batch.Ref
		var all []version
		seed := rapid.Uint64().Draw(t, "seed")
		for src := range rapid.IntRange(1, 3).Draw(t, "sources") {
			var vs []version
			for i := range size {
				seed = seed*6364136223846793005 + 1442695040888963407
				k := int64(seed>>12) % span
				vs = append(vs, version{key: k, str: fmt.Sprintf("customer-number-%08d", k%1000)})
				rows = append(rows, batch.Ref{Src: int32(src), Row: int32(i)})
			}
			all = append(all, vs...)
			k, err := EncodeKeys(columns(versionBatch(vs), shape.cols), shape.ts)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, k)
		}
		want := make([]int32, len(all))
		for i := range want {
			want[i] = int32(i)
		}
		slices.SortStableFunc(want, func(a, b int32) int { return compareKeys(shape.cols, all[a], all[b]) })
		got := SortRows(keys, rows)
		if !slices.Equal(got.Order, want) {
			t.Fatalf("got %v\nwant %v", got.Order, want)
		}
		var ends []int32
		for i := 1; i <= len(want); i++ {
			if i == len(want) || compareKeys(shape.cols, all[want[i-1]], all[want[i]]) != 0 {
				ends = append(ends, int32(i))
			}
		}
		if !slices.Equal(got.Ends, ends) {
			t.Fatalf("groups end at %v, want %v", got.Ends, ends)
		}
	})
}

func TestStringsOrderAsTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		col := arrayOf(arrow.BinaryTypes.String, []types.Datum{a, b})
		one := arrayOf(arrow.PrimitiveTypes.Int64, []types.Datum{int64(0), int64(0)})
		str := types.Type{Kind: types.Varchar, Length: types.MaxLength}
		for _, cols := range [][]arrow.Array{{col}, {col, one}} {
			k, err := EncodeKeys(cols, []types.Type{str, {Kind: types.BigInt}}[:len(cols)])
			if err != nil {
				t.Fatal(err)
			}
			if got, want := k.At(0).Compare(k.At(1)), bytes.Compare([]byte(a), []byte(b)); got != want {
				t.Fatalf("got %d, want %d", got, want)
			}
		}
	})
}
