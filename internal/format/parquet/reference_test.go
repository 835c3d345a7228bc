package parquet

import (
	"bytes"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/tarnlake/tarn/internal/format"
)

func must[T any](tb testing.TB) func(T, error) T {
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// referenceSchema is the schema of benchFields for the Arrow project's library.
func referenceSchema(tb testing.TB) *schema.GroupNode {
	i64, i32 := parquet.Types.Int64, parquet.Types.Int32
	ts := schema.NewTimestampLogicalType(false, schema.TimeUnitMillis)
	phys := []parquet.Type{i64, i64, i32, i64, i64, parquet.Types.ByteArray, i64, parquet.Types.ByteArray, parquet.Types.ByteArray, i64, i64, i32, parquet.Types.Double}
	logical := []schema.LogicalType{
		2: schema.NewIntLogicalType(8, true), 5: schema.StringLogicalType{}, 6: schema.NewDecimalLogicalType(12, 2),
		7: schema.StringLogicalType{}, 8: schema.StringLogicalType{}, 9: ts, 10: ts, 12: nil,
	}
	var nodes schema.FieldList
	for i, f := range benchFields {
		rep := parquet.Repetitions.Optional
		if f.Type.NotNull {
			rep = parquet.Repetitions.Required
		}
		l := logical[i]
		if l == nil {
			l = schema.NoLogicalType{}
		}
		nodes = append(nodes, must[*schema.PrimitiveNode](tb)(schema.NewPrimitiveNodeLogical(f.Name, rep, l, phys[i], -1, int32(i))))
	}
	return must[*schema.GroupNode](tb)(schema.NewGroupNode("paimon_schema", parquet.Repetitions.Required, nodes, -1))
}

// writeReference writes the benchmark's rows with the Arrow project's library.
func writeReference(tb testing.TB, w io.Writer, opts ...parquet.WriterProperty) {
	rec := benchRec()
	n := int(rec.NumRows())
	fw := file.NewParquetWriter(w, referenceSchema(tb), file.WithWriterProps(parquet.NewWriterProperties(opts...)))
	rg, err := fw.AppendRowGroupChecked()
	if err != nil {
		tb.Fatal(err)
	}
	ones := make([]int16, n)
	for i := range ones {
		ones[i] = 1
	}
	for i, f := range benchFields {
		def := ones
		if f.Type.NotNull {
			def = nil
		}
		cw := must[file.ColumnChunkWriter](tb)(rg.NextColumn())
		var err error
		switch x := cw.(type) {
		case *file.Int64ColumnChunkWriter:
			_, err = x.WriteBatch(longs(rec.Column(i)), def, nil)
		case *file.Int32ColumnChunkWriter:
			v := make([]int32, n)
			if q, ok := rec.Column(i).(*array.Int32); ok {
				v = q.Int32Values()
			}
			_, err = x.WriteBatch(v, def, nil)
		case *file.Float64ColumnChunkWriter:
			_, err = x.WriteBatch(rec.Column(i).(*array.Float64).Float64Values(), def, nil)
		case *file.ByteArrayColumnChunkWriter:
			s := rec.Column(i).(*array.String)
			v := make([]parquet.ByteArray, n)
			for k := range v {
				v[k] = parquet.ByteArray(s.Value(k))
			}
			_, err = x.WriteBatch(v, def, nil)
		}
		if err == nil {
			err = cw.Close()
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := rg.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := fw.Close(); err != nil {
		tb.Fatal(err)
	}
}

func longs(a any) []int64 {
	switch a := a.(type) {
	case *array.Int64:
		return a.Int64Values()
	case *array.Timestamp:
		out := make([]int64, a.Len())
		for i, v := range a.TimestampValues() {
			out[i] = int64(v)
		}
		return out
	case *array.Decimal128:
		out := make([]int64, a.Len())
		for i, v := range a.Values() {
			out[i] = int64(v.LowBits())
		}
		return out
	}
	return nil
}

func scanReference(tb testing.TB, data []byte, cols []int) (values int64) {
	pf := must[*file.Reader](tb)(file.NewParquetReader(bytes.NewReader(data)))
	var d [8192]int16
	for g := range pf.NumRowGroups() {
		rg := pf.RowGroup(g)
		for _, c := range cols {
			n := 0
			switch x := must[file.ColumnChunkReader](tb)(rg.Column(c)).(type) {
			case *file.Int64ColumnChunkReader:
				var v [8192]int64
				for x.HasNext() {
					_, n, _ = x.ReadBatch(8192, v[:], d[:], nil)
					values += int64(n)
				}
			case *file.Int32ColumnChunkReader:
				var v [8192]int32
				for x.HasNext() {
					_, n, _ = x.ReadBatch(8192, v[:], d[:], nil)
					values += int64(n)
				}
			case *file.Float64ColumnChunkReader:
				var v [8192]float64
				for x.HasNext() {
					_, n, _ = x.ReadBatch(8192, v[:], d[:], nil)
					values += int64(n)
				}
			case *file.ByteArrayColumnChunkReader:
				var v [8192]parquet.ByteArray
				for x.HasNext() {
					_, n, _ = x.ReadBatch(8192, v[:], d[:], nil)
					values += int64(n)
				}
			}
		}
	}
	return values
}

var referenceOptions = []parquet.WriterProperty{
	parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1), parquet.WithPageIndexEnabled(true),
	parquet.WithDictionaryDefault(false), parquet.WithDictionaryFor("status", true), parquet.WithDictionaryFor("city", true),
	parquet.WithDictionaryFor("qty", true), parquet.WithDictionaryFor("_VALUE_KIND", true),
}

// BenchmarkReference is what the Arrow project's library takes for the same work (its typed columns,
// without making arrays of them): machines differ, the ratio tells more than the time.
func BenchmarkReference(b *testing.B) {
	benchRec()
	b.Run("encode", func(b *testing.B) {
		perRow(b, func() { writeReference(b, io.Discard, referenceOptions...) })
	})
	var out bytes.Buffer
	encodeBench(b, &out, format.WriteOptions{})
	cols := []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	b.Run("scan10columns", func(b *testing.B) {
		perRow(b, func() { scanReference(b, out.Bytes(), cols) })
	})
}
