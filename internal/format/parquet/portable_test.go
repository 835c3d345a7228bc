package parquet

import (
	"bytes"
	"testing"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/formattest"
	"github.com/tarnlake/tarn/internal/jsonrow"
)

// Files that other readers do not understand, or understand otherwise, are told apart.
func TestPortable(t *testing.T) {
	for _, c := range []struct {
		typ, codec string
		want       bool
	}{
		{"TIMESTAMP(6)", "zstd", true}, {"TIMESTAMP(6)", "snappy", true}, {"TIMESTAMP(6)", "lz4", false}, {"TIMESTAMP(9)", "zstd", false},
	} {
		fields := fieldsOf("id", "INT", "a", "ARRAY<"+c.typ+">")
		d := jsonrow.NewDecoder(fields)
		if err := d.Decode([]byte(`{"id":1,"a":["2024-02-29T00:00:00.000000000"]}`)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := Format{}.NewWriter(&out, fields, format.WriteOptions{Compression: c.codec})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(d.Batch().RecordBatch); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := Portable(t.Context(), formattest.Open(t, out.Bytes())); err != nil || got != c.want {
			t.Errorf("%s, %s: %v, %v", c.typ, c.codec, got, err)
		}
	}
}
