package gen_test

import (
	"testing"

	"github.com/tarnlake/tarn/bench/gen"
)

// TestChecksum compares with what the Java kit prints for the same rows (`run.sh gen`).
func TestChecksum(t *testing.T) {
	for _, c := range []struct {
		zipf bool
		want uint64
	}{{false, 6379663619681039234}, {true, 7065556529403175981}} {
		g := gen.New(2_000_000, c.zipf)
		var sum uint64
		for i := int64(0); i < 1_000_000; i += 8000 {
			sum += gen.Checksum(g.Batch(i, i+8000, false))
		}
		if sum != c.want {
			t.Errorf("zipf %v: checksum %d, the Java rows have %d", c.zipf, sum, c.want)
		}
	}
}

func BenchmarkBatch(b *testing.B) {
	g := gen.New(2_000_000, false)
	n := int64(0)
	for b.Loop() {
		g.Batch(n, n+8192, false)
		n += 8192
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
}
