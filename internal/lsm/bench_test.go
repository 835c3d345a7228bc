package lsm

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/types"
)

// orderFields is the table of the benchmarks: 10 columns, about 110 bytes a row.
var orderFields = []types.Field{
	{ID: 0, Name: "order_id", Type: types.Type{Kind: types.BigInt, NotNull: true}},
	{ID: 1, Name: "user_id", Type: bigint},
	{ID: 2, Name: "status", Type: text},
	{ID: 3, Name: "amount", Type: types.Type{Kind: types.Decimal, Precision: 12, Scale: 2}},
	{ID: 4, Name: "city", Type: text},
	{ID: 5, Name: "note", Type: text},
	{ID: 6, Name: "created", Type: types.Type{Kind: types.Timestamp, Precision: 3}},
	{ID: 7, Name: "updated", Type: types.Type{Kind: types.Timestamp, Precision: 3}},
	{ID: 8, Name: "qty", Type: types.Type{Kind: types.Int}},
	{ID: 9, Name: "price", Type: types.Type{Kind: types.Double}},
}

func mix(z uint64) uint64 {
	z *= 0x9E3779B97F4A7C15
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

func orders(from, n int, keys uint64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(orderFields))
	for i := from; i < from+n; i++ {
		h := mix(uint64(i))
		note := fmt.Sprintf("%060x", h)[60-20-int(h%41):]
		b.Field(0).(*array.Int64Builder).Append(int64(h % keys))
		b.Field(1).(*array.Int64Builder).Append(int64(h % 500000))
		b.Field(2).(*array.StringBuilder).Append([]string{"CREATED", "PAID", "PACKED", "SHIPPED", "IN_TRANSIT"}[h%5])
		b.Field(3).(*array.Decimal128Builder).Append(decimal128.FromU64(h % 10000000))
		b.Field(4).(*array.StringBuilder).Append(fmt.Sprintf("city_%03d", h%200))
		b.Field(5).(*array.StringBuilder).Append(note)
		b.Field(6).(*array.TimestampBuilder).Append(arrow.Timestamp(h >> 20))
		b.Field(7).(*array.TimestampBuilder).Append(arrow.Timestamp(i))
		b.Field(8).(*array.Int32Builder).Append(int32(h % 100))
		b.Field(9).(*array.Float64Builder).Append(float64(h%1000000) / 100)
	}
	return b.NewRecordBatch()
}

func orderTable(tb testing.TB) (*fakeStore, *Table) {
	s := newFakeStore(orderFields[:1], orderFields)
	e, _ := mergefn.New("deduplicate", mergefn.Config{})
	t, err := NewTable(Config{Store: s, Fields: orderFields, Keys: []string{"order_id"}, Engine: e, WriteOnly: true, WriteBuffer: 1 << 40, TargetFileSize: 1 << 30})
	if err != nil {
		tb.Fatal(err)
	}
	return s, t
}

// BenchmarkMergeRead merges runs in memory; the figure is per row of input.
func BenchmarkMergeRead(b *testing.B) {
	const rows = 100000
	for _, n := range []int{8, 20, 40} {
		s, t := orderTable(b)
		w, err := t.NewWriter(WriterOptions{})
		if err != nil {
			b.Fatal(err)
		}
		var files []*manifest.DataFile
		for i := range n {
			if err := w.Write(b.Context(), batch.Batch{RecordBatch: orders(i*rows, rows, uint64(n)*rows/5)}, nil); err != nil {
				b.Fatal(err)
			}
			d, err := w.Prepare(b.Context(), false)
			if err != nil {
				b.Fatal(err)
			}
			files = append(files, d.Added...)
		}
		in := int64(0)
		for _, f := range files {
			in += f.Rows
			// As a reader gives them.
			var cut []arrow.RecordBatch
			for _, rec := range s.files[f.Name] {
				for from := int64(0); from < rec.NumRows(); from += 8192 {
					cut = append(cut, rec.NewSlice(from, min(from+8192, rec.NumRows())))
				}
			}
			s.files[f.Name] = cut
		}
		b.Run(fmt.Sprint("runs=", n), func(b *testing.B) {
			for b.Loop() {
				r, err := t.MergeRead(b.Context(), datafile.Location{}, files, ReadOptions{Fields: orderFields})
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := r.Next(b.Context()); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in), "ns/row")
		})
	}
}

// nullStore takes files and forgets them.
type nullStore struct{ *fakeStore }

type nullWriter struct{ rows int64 }

func (w *nullWriter) Write(rec arrow.RecordBatch) error {
	w.rows += rec.NumRows()
	return nil
}
func (w *nullWriter) Close() ([]*manifest.DataFile, error) { return nil, nil }
func (w *nullWriter) Abort(context.Context) error          { return nil }

func (s nullStore) NewWriter(context.Context, datafile.Location, datafile.WriterOptions) FileWriter {
	return &nullWriter{}
}

// BenchmarkFlush writes 250,000 rows to a sort buffer and flushes it: sort, deduplicate, gather.
func BenchmarkFlush(b *testing.B) {
	const rows = 250000
	for _, size := range []int{1000, 10000, 50000} {
		for _, half := range []bool{false, true} {
			_, t := orderTable(b)
			t.c.Store = nullStore{}
			var recs []arrow.RecordBatch
			var sels [][]int32
			step := size
			if half {
				step *= 2
			}
			for from := 0; from < rows*step/size; from += step {
				rec := orders(from, step, 2000000)
				recs = append(recs, rec)
				var sel []int32
				for i := range step {
					if half && mix(uint64(rec.Column(0).(*array.Int64).Value(i)))&1 == 0 {
						sel = append(sel, int32(i))
					}
				}
				sels = append(sels, sel)
			}
			b.Run(fmt.Sprintf("batch=%d/half=%v", size, half), func(b *testing.B) {
				n := int64(0)
				for b.Loop() {
					w, err := t.NewWriter(WriterOptions{})
					if err != nil {
						b.Fatal(err)
					}
					for i, rec := range recs {
						if err := w.Write(b.Context(), batch.Batch{RecordBatch: rec}, sels[i]); err != nil {
							b.Fatal(err)
						}
					}
					if _, err := w.Prepare(b.Context(), false); err != nil {
						b.Fatal(err)
					}
					n += w.NextSequence()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
			})
		}
	}
}
