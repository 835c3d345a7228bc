package formattest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/types"
)

func decimal(unscaled int64) decimal128.Num { return decimal128.FromI64(unscaled) }

func project(rec arrow.RecordBatch, fields []types.Field) arrow.RecordBatch {
	var cols []arrow.Array
	for _, f := range fields {
		cols = append(cols, rec.Column(rec.Schema().FieldIndices(f.Name)[0]))
	}
	return array.NewRecordBatch(types.WideArrowSchema(fields), cols, rec.NumRows())
}

// damage: files cut short, and with bits turned over, give an error or rows, never a panic, and take
// no memory out of proportion.
func (s Suite) damage(t *testing.T) {
	instant := "TIMESTAMP(9)"
	if s.skipped(instant) {
		instant = "TIMESTAMP(6)"
	}
	fields := Fields("i", "INT", "s", "STRING", "n", "BIGINT NOT NULL", "l", "ARRAY<STRING>", "m", "MAP<INT,ROW<a DOUBLE>>", "d", "DECIMAL(25,3)", "t", instant, "b", "BOOLEAN")
	var rows []string
	for i := range 500 {
		row := fmt.Sprintf(`{"n":%d`, i*i)
		if i%7 != 2 {
			row += fmt.Sprintf(`,"i":%d,"s":"text %d","l":["a","%[2]d"],"m":[[%[2]d,{"a":1.5}]],"d":"%[2]d.125","t":"2024-01-01T00:00:00.%06[2]d","b":true`, i, i%20)
		}
		rows = append(rows, row+"}")
	}
	rec := Rows(t, fields, rows...)
	for _, codec := range s.Codecs {
		data, _, err := Write(s.Format, fields, format.WriteOptions{Compression: codec, BlockSize: 4000}, rec.NewSlice(0, 250), rec.NewSlice(250, 500))
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n := 0
		for cut := 0; cut < len(data); cut += 1 + len(data)/300 {
			if err := s.tryRead(t, fields, data[:cut]); err == nil {
				t.Errorf("%s: the first %d of %d bytes were read without an error", codec, cut, len(data))
			} else if unforeseen(err) {
				t.Errorf("%s: the first %d of %d bytes: %v", codec, cut, len(data), err)
			}
			n++
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 1500 {
			bad := slices.Clone(data)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
			}
			if err := s.tryRead(t, fields, bad); err != nil && unforeseen(err) {
				t.Errorf("%s: %v", codec, err)
			}
			n++
		}
		runtime.ReadMemStats(&after)
		if mean := (after.TotalAlloc - before.TotalAlloc) / uint64(n); mean > 16<<20 {
			t.Errorf("%s: damaged files of %d bytes took %d bytes of memory each", codec, len(data), mean)
		}
	}
}

// unforeseen reports whether an error is a panic that was caught at the border.
func unforeseen(err error) bool {
	return strings.Contains(err.Error(), "not foreseen") || strings.Contains(err.Error(), "runtime error")
}

// tryRead reads damaged bytes. What it allocates is counted by the caller; the rows may be wrong.
func (s Suite) tryRead(t *testing.T, fields []types.Field, data []byte) error {
	t.Helper()
	_, err := Read(s.Format, Open(t, data), format.ReadOptions{Fields: fields})
	return err
}
