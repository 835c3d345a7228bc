package bucket

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/types"
)

// BenchmarkAssign gives keys buckets by hash indexes of 2 M of them.
func BenchmarkAssign(b *testing.B) {
	d := NewDynamic(Config{Limits: Limits{Rows: 500_000, Max: -1}})
	rnd := rand.New(rand.NewPCG(1, 1))
	hashes, out := make([]int32, 4096), make([]int32, 4096)
	next := func() {
		for i := range hashes {
			hashes[i] = int32(rnd.IntN(2_000_000)) * 7919
		}
		if err := d.Assign(context.Background(), nil, hashes, nil, out); err != nil {
			b.Fatal(err)
		}
	}
	for range 2000 {
		next()
	}
	for b.Loop() {
		next()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/row")
}

// BenchmarkPlace finds the places of rows by the index of 2 M keys, one row in ten in another partition than its key: in memory, and with
// most of the index in its file.
func BenchmarkPlace(b *testing.B) {
	fields := []types.Field{{Name: "k", Type: types.MustParse("BIGINT NOT NULL")}, {Name: "p", Type: types.MustParse("INT")}, {Name: "v", Type: types.MustParse("STRING")}}
	for _, mb := range []int64{256, 8} {
		b.Run(fmt.Sprint(mb, "MB"), func(b *testing.B) {
			x, err := NewCrossing(CrossingConfig{Fields: fields, Keys: []string{"k"}, Partitions: []string{"p"}, Limits: Limits{Rows: 500_000, Max: -1}, Memory: mb << 20, Clock: time.Now})
			if err != nil {
				b.Fatal(err)
			}
			defer x.Forget()
			var locs [][]byte
			for p := range 10 {
				loc, err := binrow.EncodeWithArity([]types.Type{fields[1].Type}, []types.Datum{int64(p)})
				if err != nil {
					b.Fatal(err)
				}
				locs = append(locs, loc)
			}
			rnd := rand.New(rand.NewPCG(1, 1))
			build := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(fields))
			var recs []arrow.RecordBatch
			var parts [][]int
			for range 1000 {
				part := make([]int, 4096)
				for i := range part {
					k := rnd.Int64N(2_000_000)
					part[i] = int(k % 10)
					if rnd.IntN(10) == 0 {
						part[i] = rnd.IntN(10)
					}
					build.Field(0).(*array.Int64Builder).Append(k)
					build.Field(1).(*array.Int32Builder).Append(int32(part[i]))
					build.Field(2).(*array.StringBuilder).Append("some text")
				}
				recs, parts = append(recs, build.NewRecordBatch()), append(parts, part)
			}
			n := 0
			next := func() {
				if _, err := x.Place(context.Background(), batch.Batch{RecordBatch: recs[n%1000]}, parts[n%1000], locs); err != nil {
					b.Fatal(err)
				}
				n++
			}
			for range 1000 {
				next()
			}
			for b.Loop() {
				next()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/row")
			b.ReportMetric(float64(x.index.memory())/float64(x.index.n), "B/key")
		})
	}
}
