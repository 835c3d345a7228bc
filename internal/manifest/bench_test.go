package manifest

import (
	"fmt"
	"testing"
)

// benchEntries are entries as a table with 10 columns has them.
func benchEntries(n int) []Entry {
	out := make([]Entry, n)
	row := append([]byte{0, 0, 0, 10}, make([]byte, 8+80+32)...)
	key := append([]byte{0, 0, 0, 1}, make([]byte, 16)...)
	cols := []string{"order_id", "customer_id", "amount", "quantity", "status", "note", "created", "updated"}
	for i := range out {
		out[i] = Entry{
			Partition: append([]byte{0, 0, 0, 1}, 0, 0, 0, 0, 0, 0, 0, 0, byte(i/500), 0, 0, 0, 0, 0, 0, 0), Bucket: i % 8, TotalBuckets: 8,
			File: &DataFile{
				Name: fmt.Sprintf("data-0c8c272f-1f05-4b82-932e-892d25eb6f1e-%d.parquet", i), Size: 1 << 20, Rows: 12345,
				MinKey: key, MaxKey: key, KeyStats: Stats{Min: key, Max: key, NullCounts: []int64{0}},
				ValueStats:  Stats{Min: row, Max: row, NullCounts: []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
				MinSequence: int64(i), MaxSequence: int64(i + 12345), Level: i % 6, CreationMillis: 1796205539272,
				ValueStatsCols: cols, HasValueStatsCols: true, FirstRowID: -1, Source: SourceAppend,
			},
		}
	}
	return out
}

func BenchmarkDecode(b *testing.B) {
	const n = 10000
	data, err := Encode(benchEntries(n), Encoding{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := Decode(data, nil); err != nil || len(v) != n {
			b.Fatal(err, len(v))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}

func BenchmarkDecodeBucket(b *testing.B) {
	const n = 10000
	data, err := Encode(benchEntries(n), Encoding{})
	if err != nil {
		b.Fatal(err)
	}
	f := &Filter{Bucket: func(_ []byte, bucket, _ int) bool { return bucket == 3 }}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := Decode(data, f); err != nil || len(v) != n/8 {
			b.Fatal(err, len(v))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}

func BenchmarkEncode(b *testing.B) {
	const n = 10000
	entries := benchEntries(n)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(entries, Encoding{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}

func BenchmarkMerge(b *testing.B) {
	const n = 10000
	entries := benchEntries(n)
	for i := range 500 {
		e := entries[i*7]
		e.Kind = Delete
		entries = append(entries, e)
	}
	b.Run("merge", func(b *testing.B) {
		for b.Loop() {
			if _, err := Merge(entries); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
	})
	b.Run("live", func(b *testing.B) {
		in := make([]Entry, len(entries))
		for b.Loop() {
			copy(in, entries)
			Live(in)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
	})
}
