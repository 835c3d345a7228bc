package kv

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

func mix(z uint64) uint64 {
	z *= 0x9E3779B97F4A7C15
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// benchRuns makes sorted runs of unique random keys out of `keys`, as int64 or as strings.
func benchRuns(runs, rows int, keys uint64, text bool) [][]arrow.RecordBatch {
	out := make([][]arrow.RecordBatch, runs)
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	if text {
		schema = arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.BinaryTypes.String}}, nil)
	}
	for r := range out {
		ks := make([]pair, rows)
		for i := range ks {
			ks[i].k = mix(uint64(r*rows+i)) % keys
		}
		ks = new(radix).sort(ks)
		var b array.Builder = array.NewInt64Builder(memory.DefaultAllocator)
		if text {
			b = array.NewStringBuilder(memory.DefaultAllocator)
		}
		flush := func() {
			a := b.NewArray()
			out[r] = append(out[r], array.NewRecordBatch(schema, []arrow.Array{a}, int64(a.Len())))
		}
		for i, k := range ks {
			if i > 0 && k.k == ks[i-1].k {
				continue
			}
			if text {
				b.(*array.StringBuilder).Append(fmt.Sprintf("customer-%013d", k.k))
			} else {
				b.(*array.Int64Builder).Append(int64(k.k))
			}
			if b.Len() == 8192 {
				flush()
			}
		}
		flush()
	}
	return out
}

func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct {
		name string
		keys uint64
		text bool
	}{{"dense", 1000000, false}, {"wide", 1 << 62, false}, {"string", 1000000, true}} {
		for _, n := range []int{8, 20, 40} {
			runs := benchRuns(n, 100000, c.keys, c.text)
			b.Run(fmt.Sprintf("%s/runs=%d", c.name, n), func(b *testing.B) {
				t := types.Type{Kind: types.BigInt}
				if c.text {
					t = types.Type{Kind: types.Varchar, Length: types.MaxLength}
				}
				enc, _ := NewKeyEncoder([]types.Type{t})
				rows := 0
				for b.Loop() {
					var in []Run
					for _, r := range runs {
						in = append(in, Run{Open: func(context.Context) (batch.Reader, error) { return &mem{recs: r}, nil }})
					}
					m := NewMerger(in, Layout{Keys: []int{0}, Encoder: enc, Order: RunOrder}, 0)
					for {
						g, err := m.Next(b.Context())
						if err == io.EOF {
							break
						}
						rows += len(g.Refs)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
			})
		}
	}
}

func BenchmarkSortRows(b *testing.B) {
	const n = 250000
	ints, strs := make([]int64, n), array.NewStringBuilder(memory.DefaultAllocator)
	rows := make([]batch.Ref, n)
	for i := range ints {
		ints[i] = int64(mix(uint64(i)) % 2000000)
		strs.Append(fmt.Sprintf("customer-%013d", ints[i]))
		rows[i].Row = int32(i)
	}
	ib := array.NewInt64Builder(memory.DefaultAllocator)
	ib.AppendValues(ints, nil)
	for name, c := range map[string]struct {
		a arrow.Array
		t types.Type
	}{
		"int64":  {ib.NewArray(), types.Type{Kind: types.BigInt}},
		"string": {strs.NewArray(), types.Type{Kind: types.Varchar, Length: types.MaxLength}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				k, err := EncodeKeys([]arrow.Array{c.a}, []types.Type{c.t})
				if err != nil {
					b.Fatal(err)
				}
				SortRows([]Keys{k}, rows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
