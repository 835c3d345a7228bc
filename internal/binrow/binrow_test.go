package binrow

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/types"
)

var compareDecimals = cmp.Comparer(func(a, b decimal128.Num) bool { return a == b })

func TestEncode(t *testing.T) {
	ts := []types.Type{
		types.MustParse("INT"), types.MustParse("STRING"), types.MustParse("STRING"), types.MustParse("BOOLEAN"),
		types.MustParse("DECIMAL(20,2)"), types.MustParse("TIMESTAMP(6)"), types.MustParse("TINYINT"),
	}
	vals := []types.Datum{
		int64(-2), "abc", "longer than 7", nil, decimal128.FromI64(-150), types.Instant{Millis: -1, Nanos: 999000}, int64(-1),
	}
	got, err := EncodeWithArity(ts, vals)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"00000007",                              // arity
		"0008000000000000",                      // row kind, then null bits: field 3
		"feffffff00000000",                      // INT
		"6162630000000083",                      // inline
		"0d00000040000000",                      // 13 bytes at 64
		"0000000000000000",                      // NULL
		"0200000050000000",                      // 2 bytes at 80
		"583e0f0060000000",                      // nanoseconds, at 96
		"ff00000000000000",                      // TINYINT
		"6c6f6e676572207468616e2037" + "000000", // padded
		"ff6a" + strings.Repeat("00", 14),       // big-endian
		"ffffffffffffffff",                      // milliseconds
	}, "")
	if hex.EncodeToString(got) != want {
		t.Errorf("got  %x\nwant %s", got, want)
	}
	back, err := DecodeWithArity(got, ts)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(vals, back, compareDecimals); d != "" {
		t.Error(d)
	}
}

// TestEmptyRow is the partition of a table without partitions.
func TestEmptyRow(t *testing.T) {
	got, err := EncodeWithArity(nil, nil)
	if err != nil || hex.EncodeToString(got) != "000000000000000000000000" {
		t.Errorf("%x, %v", got, err)
	}
}

// TestManyFields has more fields than null bits in the first word.
func TestManyFields(t *testing.T) {
	ts := make([]types.Type, 130)
	vals := make([]types.Datum, 130)
	for i := range ts {
		ts[i] = types.BigIntType
		if i%3 != 0 {
			vals[i] = int64(i)
		}
	}
	b, err := Encode(ts, vals)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(b, ts)
	if d := cmp.Diff(vals, back); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestEncodeErrors(t *testing.T) {
	for _, c := range []struct {
		typ  string
		val  types.Datum
		want string
	}{
		{"ARRAY<INT>", []int{1}, "ARRAY<INT> has no place in a BinaryRow"},
		{"INT", "x", "a string is no value of type INT"},
		{"TINYINT", int64(128), "128 is out of range of TINYINT"},
		{"INT", int64(math.MinInt32 - 1), "out of range of INT"},
		{"DECIMAL(18, 1)", decimal128.New(1, 0), "out of range of DECIMAL(18, 1)"},
	} {
		_, err := Encode([]types.Type{types.MustParse(c.typ)}, []types.Datum{c.val})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.typ, c.val, err, c.want)
		}
	}
	if _, err := NewHasher([]int{0}, []types.Type{types.MustParse("MAP<INT, INT>")}); err == nil {
		t.Error("a MAP as bucket key is no error")
	}
	// A nested column without statistics is NULL and needs no room.
	if _, err := Encode([]types.Type{types.MustParse("ARRAY<INT>")}, []types.Datum{nil}); err != nil {
		t.Error(err)
	}
}

// Decimals of more than 18 digits have as few bytes as they need, as the reference's: keys and buckets depend on it.
func TestBytesOfDecimals(t *testing.T) {
	dec := []types.Type{types.MustParse("DECIMAL(20,0)")}
	for n, want := range map[int64]string{
		0: "00", 127: "7f", 128: "0080", 255: "00ff", 256: "0100", -1: "ff", -128: "80", -129: "ff7f", -255: "ff01", -256: "ff00", 32767: "7fff", 32768: "008000", -32768: "8000", -32769: "ff7fff",
		math.MaxInt64: "7fffffffffffffff", math.MinInt64: "8000000000000000",
	} {
		b, err := Encode(dec, []types.Datum{decimal128.FromI64(n)})
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(b[16 : 16+b[8]]); got != want || int(b[8]) != len(want)/2 || len(b) != 32 {
			t.Errorf("%d: %d bytes of %x, want %s", n, b[8], b, want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	str, dec, ts9 := types.StringType, types.MustParse("DECIMAL(38,0)"), types.MustParse("TIMESTAMP(9)")
	for _, c := range []struct {
		typ  types.Type
		b    string
		want string
	}{
		{str, "0000", "too few"},
		{str, "0000000000000000" + "0100000010000000", "1 bytes at offset 16"},
		{str, "0000000000000000" + "ffffffffffffff7f", "at offset"},
		{str, "0000000000000000" + "0000000000000088", "8 bytes within its word"},
		{dec, "0000000000000000" + "1100000000000000" + strings.Repeat("00", 16), "a decimal of 17 bytes"},
		{dec, "0000000000000000" + "0000000010000000" + strings.Repeat("00", 16), "a decimal of 0 bytes"},
		{ts9, "0000000000000000" + "40420f0010000000" + "0000000000000000", "1000000 nanoseconds"},
	} {
		b, err := hex.DecodeString(c.b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(b, []types.Type{c.typ}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %s: %v, want %q", c.typ, c.b, err, c.want)
		}
	}
	for _, b := range []string{"", "000000", "7fffffff", "00000002" + strings.Repeat("00", 24)} {
		raw, _ := hex.DecodeString(b)
		if _, err := DecodeWithArity(raw, []types.Type{str}); err == nil {
			t.Errorf("%s is no error", b)
		}
	}
}

// TestHasherAgrees compares the vectorized hashes with those of encoded rows, for every type alone
// and all together.
func TestHasherAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var fields []types.Field
	for i, s := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(18,0)",
		"DECIMAL(38,3)", "CHAR(4)", "STRING", "BINARY(2)", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(3)",
		"TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(9)",
	} {
		fields = append(fields, types.Field{ID: i, Name: s, Type: types.MustParse(s)})
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(fields))
	const rows = 300
	for range rows {
		for i, f := range fields {
			var d types.Datum
			if r.IntN(5) > 0 {
				d = randomDatum(r, f.Type)
			}
			if err := types.AppendDatum(b.Field(i), f.Type, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	rec := b.NewRecordBatch()
	sets := [][]int{{3, 11, 4}}
	var all []int
	for i := range fields {
		sets = append(sets, []int{i})
		all = append(all, i)
	}
	for _, cols := range append(sets, all) {
		ts := make([]types.Type, len(cols))
		for i, c := range cols {
			ts[i] = fields[c].Type
		}
		h, err := NewHasher(cols, ts)
		if err != nil {
			t.Fatal(err)
		}
		got := h.Hash(rec, []int32{7})[1:]
		for row := range rows {
			vals := make([]types.Datum, len(cols))
			for i, c := range cols {
				vals[i] = types.DatumAt(rec.Column(c), row, ts[i])
			}
			enc, err := Encode(ts, vals)
			if err != nil {
				t.Fatal(err)
			}
			if want := Hash(enc); got[row] != want {
				t.Fatalf("%v of %v: %d, want %d", vals, ts, got[row], want)
			}
			back, err := Decode(enc, ts)
			if d := cmp.Diff(vals, back, compareDecimals); d != "" || err != nil {
				t.Fatal(d, err)
			}
		}
	}
}

func randomDatum(r *rand.Rand, t types.Type) types.Datum {
	switch t.Kind {
	case types.Boolean:
		return r.IntN(2) == 0
	case types.TinyInt:
		return int64(int8(r.Uint32()))
	case types.SmallInt:
		return int64(int16(r.Uint32()))
	case types.Int, types.Date:
		return int64(int32(r.Uint32()))
	case types.Time:
		return int64(r.IntN(86_400_000))
	case types.BigInt:
		return int64(r.Uint64())
	case types.Float:
		return float32(r.NormFloat64())
	case types.Double:
		return r.NormFloat64()
	case types.Decimal:
		return decimal128.FromI64(int64(r.Uint64()) >> r.IntN(64) % 100_000_000)
	case types.Char, types.Varchar:
		return strings.Repeat("é", r.IntN(9))
	case types.Binary, types.Varbinary:
		return []byte(strings.Repeat("\xff", r.IntN(20)))
	}
	const first, last = -62135596800000, 253402300799999 // of the years 1 and 9999
	return types.Instant{Millis: first + r.Int64N(last-first), Nanos: r.Int32N(1_000_000)}.Truncate(t.Precision)
}

func FuzzDecode(f *testing.F) {
	ts := []types.Type{
		types.StringType, types.MustParse("DECIMAL(30,1)"), types.MustParse("TIMESTAMP(9)"), types.BytesType, types.IntType,
	}
	for _, vals := range [][]types.Datum{
		{nil, nil, nil, nil, nil},
		{"long enough for the end", decimal128.FromI64(-7), types.Instant{Millis: 5, Nanos: 6}, []byte("x"), int64(3)},
	} {
		b, err := EncodeWithArity(ts, vals)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		vals, err := DecodeWithArity(b, ts)
		if err != nil {
			return
		}
		enc, err := EncodeWithArity(ts, vals)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeWithArity(enc, ts)
		if d := cmp.Diff(vals, back, compareDecimals); d != "" || err != nil {
			t.Error(d, err)
		}
	})
}

func BenchmarkHasher(b *testing.B) {
	const rows = 8192
	for _, typ := range []string{"BIGINT", "INT", "STRING", "TIMESTAMP(6)"} {
		bench(b, rows, typ)
	}
	bench(b, rows, "BIGINT", "STRING")
}

func bench(b *testing.B, rows int, names ...string) {
	var fields []types.Field
	var ts []types.Type
	var cols []int
	for i, n := range names {
		fields = append(fields, types.Field{ID: i, Name: n, Type: types.MustParse(n)})
		ts, cols = append(ts, fields[i].Type), append(cols, i)
	}
	r := rand.New(rand.NewPCG(1, 2))
	rb := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(fields))
	for range rows {
		for i, t := range ts {
			if err := types.AppendDatum(rb.Field(i), t, randomDatum(r, t)); err != nil {
				b.Fatal(err)
			}
		}
	}
	var rec arrow.RecordBatch = rb.NewRecordBatch()
	h, err := NewHasher(cols, ts)
	if err != nil {
		b.Fatal(err)
	}
	b.Run(strings.Join(names, ","), func(b *testing.B) {
		var out []int32
		for b.Loop() {
			out = h.Hash(rec, out[:0])
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
	})
}
