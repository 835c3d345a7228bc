package batch

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func mix(z uint64) uint64 {
	z *= 0x9E3779B97F4A7C15
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// BenchmarkGather gathers random rows of 250,000, in pieces of 128 k.
func BenchmarkGather(b *testing.B) {
	const n = 250000
	ints, short, long := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		h := mix(uint64(i))
		ints.Append(int64(h))
		short.Append(fmt.Sprintf("city_%03d", h%200))
		long.Append(fmt.Sprintf("%060x", h)[60-20-int(h%41):])
	}
	refs := make([]Ref, n)
	for i := range refs {
		refs[i].Row = int32(i)
	}
	for i := n - 1; i > 0; i-- {
		j := mix(uint64(i)) % uint64(i+1)
		refs[i], refs[j] = refs[j], refs[i]
	}
	for name, a := range map[string]arrow.Array{"int64": ints.NewArray(), "city": short.NewArray(), "note": long.NewArray()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for from := 0; from < n; from += 131072 {
					if _, err := GatherArrays([]arrow.Array{a}, Select(refs[from:min(from+131072, n)])); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
