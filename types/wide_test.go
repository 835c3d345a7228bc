package types

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestNanoseconds compares with numbers of any size.
func TestNanoseconds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	million := big.NewInt(1_000_000)
	ends := []int64{
		math.MinInt64, math.MinInt64 + 1, -62135596800000, -9223372036855, -9223372036854, -1000, -1, 0, 1,
		9223372036854, 9223372036855, 253402300799999, math.MaxInt64,
	}
	for n := range 20000 {
		i := Instant{Millis: int64(r.Uint64()) >> r.IntN(64), Nanos: r.Int32N(1_000_000)}
		if n < 2*len(ends) {
			i = Instant{Millis: ends[n/2], Nanos: int32(n%2) * 999_999}
		}
		want := new(big.Int).Mul(big.NewInt(i.Millis), million)
		want.Add(want, big.NewInt(int64(i.Nanos)))
		got := i.Nanoseconds()
		if got.BigInt().Cmp(want) != 0 {
			t.Fatalf("%v: %s ns, want %s", i, got.BigInt(), want)
		}
		if back, ok := InstantOfNanos(got); !ok || back != i {
			t.Fatalf("%s ns: %v, %v, want %v", want, back, ok, i)
		}
	}
	for _, v := range []decimal128.Num{
		decimal128.MaxDecimal128, decimal128.MaxDecimal128.Negate(), decimal128.New(math.MinInt64, 0),
		Instant{Millis: math.MaxInt64, Nanos: 999_999}.Nanoseconds().Add(decimal128.FromI64(1)),
		Instant{Millis: math.MinInt64}.Nanoseconds().Sub(decimal128.FromI64(1)),
	} {
		if i, ok := InstantOfNanos(v); ok {
			t.Errorf("%s ns are %v, and no Instant holds them", v.BigInt(), i)
		}
	}
}

// TestWideTypes: only timestamps of 7 to 9 digits differ, at every depth.
func TestWideTypes(t *testing.T) {
	for text, differs := range map[string]bool{
		"TIMESTAMP(6)": false, "TIMESTAMP(7)": true, "TIMESTAMP_LTZ(9)": true, "DECIMAL(38,9)": false, "ARRAY<TIMESTAMP(8)>": true,
		"MAP<TIMESTAMP(9), INT>": true, "MAP<INT, ARRAY<TIMESTAMP_LTZ(7)>>": true, "MULTISET<TIMESTAMP(9)>": true,
		"ROW<a INT, b ROW<c TIMESTAMP(9)>>": true, "ROW<a INT, b TIMESTAMP(3)>": false,
	} {
		typ := MustParse(text)
		if HasNanos(typ) != differs || arrow.TypeEqual(ArrowType(typ), WideArrowType(typ)) == differs {
			t.Errorf("%s: HasNanos %v, %s and %s", text, HasNanos(typ), ArrowType(typ), WideArrowType(typ))
		}
	}
	f := Field{ID: 3, Name: "a", Type: MustParse("ARRAY<TIMESTAMP(9)>")}
	if a, b := ArrowField(f).Type.(*arrow.ListType).ElemField(), WideArrowField(f).Type.(*arrow.ListType).ElemField(); FieldID(a) != FieldID(b) || FieldID(a) < 0 {
		t.Errorf("ids of elements: %d and %d", FieldID(a), FieldID(b))
	}
}

// TestWideDatums: every year goes in and comes out.
func TestWideDatums(t *testing.T) {
	for _, text := range []string{"TIMESTAMP(9)", "TIMESTAMP_LTZ(7)"} {
		typ := MustParse(text)
		b := array.NewBuilder(memory.DefaultAllocator, WideArrowType(typ))
		want := []Datum{Instant{Millis: -62135596800000, Nanos: 100}, Instant{Millis: -1, Nanos: 999_900}, nil, Instant{Millis: 253402300799999, Nanos: 999_900}}
		for _, d := range want {
			if err := AppendDatum(b, typ, d); err != nil {
				t.Fatal(err)
			}
		}
		a := b.NewArray()
		for i, d := range want {
			if got := DatumAt(a, i, typ); got != d {
				t.Errorf("%s: %v, want %v", text, got, d)
			}
		}
	}
}
