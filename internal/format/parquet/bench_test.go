package parquet

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/formattest"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// The rows of the project's benchmark: an order with its key, numbers that grow, numbers that do
// not, three texts of different kinds.

var benchFields = func() []types.Field {
	f := fieldsOf("_KEY_order_id", "BIGINT NOT NULL", "_SEQUENCE_NUMBER", "BIGINT NOT NULL", "_VALUE_KIND", "TINYINT NOT NULL",
		"order_id", "BIGINT NOT NULL", "user_id", "BIGINT", "status", "STRING", "amount", "DECIMAL(12,2)", "city", "STRING", "note", "STRING",
		"created", "TIMESTAMP(3)", "updated", "TIMESTAMP(3)", "qty", "INT", "price", "DOUBLE")
	return f
}()

func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

func rnd(i int64, s int) uint64 { return mix(uint64(i*16+int64(s)+1) * 0x9E3779B97F4A7C15) }

func upTo(h uint64, n int64) int64 { return int64(((h >> 33) * uint64(n)) >> 31) }

var benchStatus = [8]string{"CREATED", "PAID", "PACKED", "SHIPPED", "IN_TRANSIT", "DELIVERED", "RETURNED", "CANCELLED"}

func benchNote(i int64) string {
	const cons, vow = "bdfgklmnprstvxzh", "aeio"
	a, b := rnd(i, 6), rnd(i, 7)
	n := 20 + int(upTo(rnd(i, 8), 41))
	var dst []byte
	for p, j := 0, 0; p < n; p, j = p+4, j+1 {
		w := a >> (6 * (j % 10))
		if j >= 10 {
			w = b >> (6 * (j - 10))
		}
		k := int(w & 63)
		s := [4]byte{cons[k>>2], vow[k&3], cons[(k*7+3)&15], ' '}
		dst = append(dst, s[:min(4, n-p)]...)
	}
	return string(dst)
}

// benchRows are key-sorted rows as a flush of a sort buffer writes them.
func benchRows(n int) arrow.RecordBatch {
	type row struct{ key, seq int64 }
	seen := map[int64]int64{}
	for i := int64(0); len(seen) < n; i++ {
		if k := upTo(rnd(i, 0), 2000000); k&1 == 0 || n > 900000 {
			seen[k] = i
		}
	}
	rows := make([]row, 0, n)
	for k, i := range seen {
		rows = append(rows, row{k, i})
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.key - b.key) })
	sc := types.WideArrowSchema(benchFields)
	b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
	const base = int64(1704067200000)
	for _, r := range rows {
		i, k := r.seq, r.key
		b.Field(0).(*array.Int64Builder).Append(k)
		b.Field(1).(*array.Int64Builder).Append(i)
		b.Field(2).(*array.Int8Builder).Append(0)
		b.Field(3).(*array.Int64Builder).Append(k)
		b.Field(4).(*array.Int64Builder).Append(1000000 + upTo(rnd(k, 11), 500000))
		b.Field(5).(*array.StringBuilder).Append(benchStatus[rnd(i, 1)>>61])
		b.Field(6).(*array.Decimal128Builder).Append(decimal128.FromI64(1 + upTo(rnd(i, 2), 10000000)))
		b.Field(7).(*array.StringBuilder).Append(fmt.Sprintf("city_%03d", upTo(rnd(k, 12), 200)))
		b.Field(8).(*array.StringBuilder).Append(benchNote(i))
		b.Field(9).(*array.TimestampBuilder).Append(arrow.Timestamp(base + int64(rnd(k, 13)%31536000000)))
		b.Field(10).(*array.TimestampBuilder).Append(arrow.Timestamp(base + 31536000000 + i*10))
		b.Field(11).(*array.Int32Builder).Append(1 + int32(upTo(rnd(i, 3), 100)))
		b.Field(12).(*array.Float64Builder).Append(float64(upTo(rnd(i, 4), 1000000)) / 100.0)
	}
	rec := b.NewRecordBatch()
	cols := slices.Clone(rec.Columns())
	cols[3] = cols[0]
	return array.NewRecordBatch(sc, cols, rec.NumRows())
}

const benchN = 222000

var benchRec = func() func() arrow.RecordBatch {
	var rec arrow.RecordBatch
	return func() arrow.RecordBatch {
		if rec == nil {
			rec = benchRows(benchN)
		}
		return rec
	}
}()

func encodeBench(tb testing.TB, w io.Writer, o format.WriteOptions) {
	rec := benchRec()
	out, err := Format{}.NewWriter(w, benchFields, o)
	if err != nil {
		tb.Fatal(err)
	}
	for from := int64(0); from < rec.NumRows(); from += 65536 {
		if err := out.Write(rec.NewSlice(from, min(from+65536, rec.NumRows()))); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := out.Close(); err != nil {
		tb.Fatal(err)
	}
}

// cpuTime is the processor time of the process, of all threads.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func perRow(b *testing.B, f func()) {
	f()
	var runs []float64
	for b.Loop() {
		t := cpuTime()
		f()
		runs = append(runs, float64(cpuTime()-t)/benchN)
	}
	slices.Sort(runs)
	b.ReportMetric(runs[len(runs)/2], "cpu-ns/row")
}

func BenchmarkEncode(b *testing.B) {
	benchRec()
	for _, codec := range []string{"zstd", "none", "snappy"} {
		b.Run(codec, func(b *testing.B) {
			var n countWriter
			encodeBench(b, &n, format.WriteOptions{Compression: codec})
			perRow(b, func() { encodeBench(b, io.Discard, format.WriteOptions{Compression: codec}) })
			b.ReportMetric(float64(n)/benchN, "B/row")
		})
	}
}

type countWriter int64

func (c *countWriter) Write(p []byte) (int, error) { *c += countWriter(len(p)); return len(p), nil }

func BenchmarkScan(b *testing.B) {
	var out bytes.Buffer
	encodeBench(b, &out, format.WriteOptions{})
	pick := func(names ...string) []types.Field {
		var f []types.Field
		for _, n := range names {
			f = append(f, benchFields[slices.IndexFunc(benchFields, func(f types.Field) bool { return f.Name == n })])
		}
		return f
	}
	scan := func(b *testing.B, o format.ReadOptions, want int64) {
		r, err := Format{}.NewReader(b.Context(), formattest.Open(b, out.Bytes()), o)
		if err != nil {
			b.Fatal(err)
		}
		rows := int64(0)
		for {
			x, err := r.Next(b.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			rows += x.NumRows()
		}
		if want >= 0 && rows != want {
			b.Fatalf("%d rows, want %d", rows, want)
		}
	}
	cheap := &predicate.Leaf{Op: predicate.Lt, Column: "price", Type: types.DoubleType, Values: []types.Datum{100.0}}
	for _, c := range []struct {
		name string
		o    format.ReadOptions
		want int64
	}{
		{"13columns", format.ReadOptions{Fields: benchFields}, benchN},
		{"10columns", format.ReadOptions{Fields: benchFields[3:]}, benchN},
		{"10columnsLow", format.ReadOptions{Fields: benchFields[3:], LowMemory: true}, benchN},
		{"2columns", format.ReadOptions{Fields: pick("order_id", "amount")}, benchN},
		{"filter1percent", format.ReadOptions{Fields: benchFields[3:], Filter: cheap}, -1},
	} {
		b.Run(c.name, func(b *testing.B) { perRow(b, func() { scan(b, c.o, c.want) }) })
	}
	for _, f := range benchFields {
		b.Run("column/"+f.Name, func(b *testing.B) {
			perRow(b, func() { scan(b, format.ReadOptions{Fields: []types.Field{f}}, benchN) })
		})
	}
}
