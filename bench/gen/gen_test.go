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

// TestPartialBatch looks at which columns an even and an odd operation give.
func TestPartialBatch(t *testing.T) {
	g := gen.New(100, false)
	rows, full := g.PartialBatch(7, 20), g.Batch(7, 20, false)
	for i, f := range gen.PartialFields() {
		for j := range 13 {
			odd := (7+j)%2 == 1
			first := i >= 1 && i <= 4 || f.Name == "g_1"
			given := i == 0 || first != odd
			if got := rows.Column(i).IsValid(j); got != given {
				t.Errorf("column %s of operation %d is given: %v, want %v", f.Name, 7+j, got, given)
			}
			if i < 10 && given && rows.Column(i).ValueStr(j) != full.Column(i).ValueStr(j) {
				t.Errorf("column %s of operation %d is %s, want %s", f.Name, 7+j, rows.Column(i).ValueStr(j), full.Column(i).ValueStr(j))
			}
		}
	}
}
