package jsonrow

import (
	"fmt"
	"testing"
)

func BenchmarkRows(b *testing.B) {
	fields := columns("id BIGINT", "name STRING", "price DECIMAL(10,2)", "at TIMESTAMP(3)", "score DOUBLE", "day DATE")
	d := NewDecoder(fields)
	var lines [][]byte
	for i := range 1000 {
		l := fmt.Appendf(nil, `{"id":%d,"name":"name of %d","price":"%d.99","at":"2024-02-29T12:34:56.789000000","score":%d.5,"day":"2024-02-29"}`, i, i, i, i)
		lines = append(lines, l)
		if err := d.Decode(l); err != nil {
			b.Fatal(err)
		}
	}
	rec := d.Batch().RecordBatch
	perRow := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(lines)), "ns/row")
	}
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, l := range lines {
				if err := d.Decode(l); err != nil {
					b.Fatal(err)
				}
			}
			d.Batch()
		}
		perRow(b)
	})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		e := NewEncoder(fields)
		var buf []byte
		for b.Loop() {
			for i := range lines {
				buf = e.Append(buf[:0], rec, i)
			}
		}
		perRow(b)
	})
}
