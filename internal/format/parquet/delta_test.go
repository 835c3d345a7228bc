package parquet

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/formattest"
	"github.com/tarnlake/tarn/predicate"
)

// B094: integers of DELTA_BINARY_PACKED pages are the same read one by one, in batches around the sizes of blocks, and
// where rows are passed over: differences of all widths, those that overflow too, and NULLs.
func TestDeltaInPieces(t *testing.T) {
	patterns := map[string]func(i int) int64{
		"constant": func(int) int64 { return 7 },
		"growing":  func(i int) int64 { return int64(i) * 3 },
		"falling":  func(i int) int64 { return -int64(i) << 20 },
		"extremes": func(i int) int64 { return []int64{math.MinInt64, math.MaxInt64, 0, -1}[i%4] },
		"widths":   func(i int) int64 { return int64(rnd(int64(i), 5)) >> (i / 32 % 64) },
		"one jump": func(i int) int64 { return int64(i / 128 * 1_000_003) },
	}
	for _, n := range []int{1, 2, 32, 33, 128, 129, 130, 257, 1500} {
		for name, value := range patterns {
			data, want := deltaFile(t, n, value)
			fields := fieldsOf("id", "INT NOT NULL", "l", "BIGINT NOT NULL", "i", "INT NOT NULL", "o", "BIGINT")
			for _, batch := range []int{1, 31, 128, 129, 5000} {
				if batch == 1 && n > 300 {
					continue
				}
				for _, keep := range []func(i int) bool{nil, func(i int) bool { return i == n-1 || i == 0 || i >= 63 && i <= 65 || i == 1000 }} {
					o := format.ReadOptions{Fields: fields, BatchRows: batch}
					if keep != nil {
						leaf := &predicate.Leaf{Op: predicate.In, Column: "id", Type: fields[0].Type}
						for i := range n {
							if keep(i) {
								leaf.Values = append(leaf.Values, int64(i))
							}
						}
						o.Filter = leaf
					}
					got := map[string]bool{}
					pieces, err := formattest.Read(Format{}, formattest.Open(t, data), o)
					if err != nil {
						t.Fatalf("%s, %d values, batches of %d: %v", name, n, batch, err)
					}
					for _, p := range pieces {
						for _, text := range formattest.Text(fields, p.Rec) {
							got[text] = true
						}
					}
					for i, w := range want {
						if (keep == nil || keep(i)) && !got[w] {
							t.Fatalf("%s, %d values, batches of %d: row %d is not %s", name, n, batch, i, w)
						}
					}
				}
			}
		}
	}
}

// deltaFile has the values as INT64, cut to INT32, and with NULLs between them, and the rows as text.
func deltaFile(t *testing.T, n int, value func(int) int64) ([]byte, []string) {
	t.Helper()
	var nodes schema.FieldList
	for i, c := range []struct {
		name string
		rep  parquet.Repetition
		phys parquet.Type
	}{
		{"id", parquet.Repetitions.Required, parquet.Types.Int32},
		{"l", parquet.Repetitions.Required, parquet.Types.Int64},
		{"i", parquet.Repetitions.Required, parquet.Types.Int32},
		{"o", parquet.Repetitions.Optional, parquet.Types.Int64},
	} {
		nodes = append(nodes, must[*schema.PrimitiveNode](t)(schema.NewPrimitiveNode(c.name, c.rep, c.phys, int32(i), -1)))
	}
	root := must[*schema.GroupNode](t)(schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1))
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(
		parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaBinaryPacked), parquet.WithPageIndexEnabled(true), parquet.WithDataPageSize(4<<10))))
	rg := must[file.SerialRowGroupWriter](t)(w.AppendRowGroupChecked())
	ids, ints := make([]int32, n), make([]int32, n)
	longs, some := make([]int64, n), []int64{}
	def := make([]int16, n)
	want := make([]string, n)
	for i := range n {
		ids[i], longs[i] = int32(i), value(i)
		ints[i] = int32(longs[i])
		o := "null"
		if i%5 != 2 {
			def[i], some, o = 1, append(some, longs[i]), strconv.FormatInt(longs[i], 10)
		}
		want[i] = fmt.Sprintf(`{"id":%d,"l":%d,"i":%d,"o":%s}`, i, longs[i], ints[i], o)
	}
	for i := range nodes {
		cw := must[file.ColumnChunkWriter](t)(rg.NextColumn())
		var err error
		switch x := cw.(type) {
		case *file.Int32ColumnChunkWriter:
			_, err = x.WriteBatch([][]int32{0: ids, 2: ints}[i], nil, nil)
		case *file.Int64ColumnChunkWriter:
			if i == 1 {
				_, err = x.WriteBatch(longs, nil, nil)
			} else {
				_, err = x.WriteBatch(some, def, nil)
			}
		}
		if err == nil {
			err = cw.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), want
}
