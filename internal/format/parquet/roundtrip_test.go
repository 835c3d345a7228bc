package parquet

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/formattest"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

func fieldsOf(spec ...string) []types.Field {
	var out []types.Field
	id := -1
	for i := 0; i < len(spec); i += 2 {
		id++
		f := types.Field{ID: id, Name: spec[i], Type: types.MustParse(spec[i+1])}
		f.Type = types.AssignIDs(f.Type, &id)
		out = append(out, f)
	}
	return out
}

var wide = fieldsOf("b", "BOOLEAN", "t", "TINYINT", "s", "SMALLINT", "i", "INT NOT NULL", "l", "BIGINT", "f", "FLOAT", "d", "DOUBLE", "d9", "DECIMAL(9,2)",
	"d18", "DECIMAL(18,4)", "d38", "DECIMAL(38,10)", "c", "CHAR(5)", "v", "STRING", "bin", "BYTES", "da", "DATE", "ti", "TIME(3)", "t3", "TIMESTAMP(3)",
	"t6", "TIMESTAMP(6)", "t9", "TIMESTAMP(9)", "z3", "TIMESTAMP_LTZ(3)", "z9", "TIMESTAMP_LTZ(9)", "a", "ARRAY<INT>", "aa", "ARRAY<ARRAY<STRING>>",
	"m", "MAP<STRING,INT>", "m2", "MAP<INT,ROW<x BIGINT,y DECIMAL(20,3)>>", "ms", "MULTISET<STRING>", "r", "ROW<a INT,b STRING,c ROW<d DATE,e TIMESTAMP(6)>>")

func rowText(i int) string {
	if i%7 == 3 {
		return fmt.Sprintf(`{"i":%d}`, i)
	}
	return fmt.Sprintf(`{"b":%t,"t":%d,"s":%d,"i":%d,"l":%d,"f":%d.5,"d":-%d.25,"d9":"%d.25","d18":"-%d.0001","d38":"12345678901234567890%d.0000000001","c":"c%d","v":"text %d","bin":"%02x","da":"1969-12-%02d","ti":"12:00:%02d.001","t3":"1582-10-04T00:00:%02d.123","t6":"2024-01-01T00:00:%02d.123456","t9":"1700-01-01T00:00:%02d.123456789","z3":"1969-12-31T23:59:%02d.999Z","z9":"2200-01-01T00:00:%02d.000000001Z","a":[%d,null],"aa":[["x"],null,[]],"m":[["k",%d]],"m2":[[%d,{"x":null,"y":"1.500"}],[-1,null]],"ms":[["m",2]],"r":{"a":%d,"b":null,"c":{"d":"2020-01-01","e":null}}}`,
		i%2 == 0, i%100, i%1000, i, int64(i)<<40, i%50, i, i%1000, i, i%100, i%9, i%977, i%256, 1+i%31, i%60, i%60, i%60, i%60, i%60, i%60, i, i, i, i)
}

// What is written is read back, whatever the codec and however many rows and row groups.
func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 45000} {
		for _, codec := range []string{"none", "snappy", "gzip", "lz4", "zstd"} {
			if n == 45000 && codec != "zstd" {
				continue
			}
			data, rec := writeRows(t, n, format.WriteOptions{Compression: codec, BlockSize: 1 << 20})
			r, err := Format{}.NewReader(t.Context(), formattest.Open(t, data), format.ReadOptions{Fields: wide})
			if err != nil {
				t.Fatalf("%s, %d rows: %v", codec, n, err)
			}
			e := jsonrow.NewEncoder(wide)
			row := 0
			for {
				b, err := r.Next(t.Context())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s, %d rows: %v", codec, n, err)
				}
				if r.Position() != int64(row) {
					t.Fatalf("position %d, want %d", r.Position(), row)
				}
				for i := range int(b.NumRows()) {
					got, want := e.Append(nil, b.RecordBatch, i), e.Append(nil, rec, row)
					if !bytes.Equal(got, want) {
						t.Fatalf("%s, row %d\n got %s\nwant %s", codec, row, got, want)
					}
					row++
				}
			}
			if row != n {
				t.Fatalf("%s: %d rows, want %d", codec, row, n)
			}
		}
	}
}

func writeRows(t testing.TB, n int, o format.WriteOptions) ([]byte, arrow.RecordBatch) {
	t.Helper()
	d := jsonrow.NewDecoder(wide)
	for i := range n {
		if err := d.Decode([]byte(rowText(i))); err != nil {
			t.Fatal(err)
		}
	}
	rec := d.Batch().RecordBatch
	var out bytes.Buffer
	w, err := Format{}.NewWriter(&out, wide, o)
	if err != nil {
		t.Fatal(err)
	}
	for from := int64(0); from < rec.NumRows(); from += 999 {
		if err := w.Write(rec.NewSlice(from, min(from+999, rec.NumRows()))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), rec
}
