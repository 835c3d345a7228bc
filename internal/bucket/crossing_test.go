package bucket

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/types"
)

var crossFields = []types.Field{{Name: "p", Type: types.MustParse("INT")}, {Name: "k", Type: types.MustParse("BIGINT NOT NULL")}}

func crossLoc(t *testing.T, p int) []byte {
	t.Helper()
	loc, err := binrow.EncodeWithArity([]types.Type{crossFields[0].Type}, []types.Datum{int64(p)})
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// longs is a batch of the numbers from to to-1, by step.
func longs(schema *arrow.Schema, from, to, step int, more ...func(array.Builder)) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for k := from; k < to; k += step {
		for i, f := range more {
			f(b.Field(i))
		}
		b.Field(len(more)).(*array.Int64Builder).Append(int64(k))
	}
	return b.NewRecordBatch()
}

// TestCrossingLoad: of many keys, for most of which there is no memory, each is found where the table has it; one that is in two places is
// told of, whether it was put aside or not; and no file is left.
func TestCrossingLoad(t *testing.T) {
	const keys, parts = 90_000, 3
	ctx, dir := t.Context(), t.TempDir()
	for _, twice := range []int{-1, 5, keys - 1} {
		x, err := NewCrossing(CrossingConfig{
			Table: "d.t", Fields: crossFields, Keys: []string{"k"}, Partitions: []string{"p"}, Limits: Limits{Rows: 1000, Max: -1}, Folder: dir, Clock: time.Now,
			Load: func(_ context.Context, have func(arrow.RecordBatch, []byte, int) error) (int64, error) {
				schema := types.WideArrowSchema(crossFields[1:])
				for from := 0; from < keys; from += 1000 {
					if err := have(longs(schema, from, from+1000, 1), crossLoc(t, from/1000%parts), from/1000/parts); err != nil {
						return 0, err
					}
				}
				if twice >= 0 {
					return 7, have(longs(schema, twice, twice+1, 1), crossLoc(t, 99), 0)
				}
				return 7, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		rec := longs(types.WideArrowSchema(crossFields), 0, keys, 77, func(b array.Builder) { b.AppendNull() })
		part := make([]int, rec.NumRows())
		null, err := binrow.EncodeWithArity([]types.Type{crossFields[0].Type}, []types.Datum{nil})
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Place(ctx, batch.Batch{RecordBatch: rec}, part, [][]byte{null})
		if twice >= 0 {
			if err == nil || !strings.Contains(err.Error(), "in two places: p=") || !strings.Contains(err.Error(), "p=99/bucket-0") {
				t.Errorf("key %d in two places: %v", twice, err)
			}
		} else if err != nil {
			t.Fatal(err)
		} else if got.NumRows() != 2*rec.NumRows() {
			t.Fatalf("%d rows of %d that move", got.NumRows(), rec.NumRows())
		}
		for i := 0; err == nil && i < int(got.NumRows()); i += 2 {
			k := i / 2 * 77
			p := got.Column(0).(*array.Int32)
			if got.Kinds[i] != types.Delete || got.Kinds[i+1] != types.Insert || string(got.Partitions[got.Part[i]]) != string(crossLoc(t, k/1000%parts)) ||
				int(got.Bucket[i]) != k/1000/parts || p.Value(i) != int32(k/1000%parts) || p.IsValid(i+1) || string(got.Partitions[got.Part[i+1]]) != string(null) || got.Bucket[i+1] != int32(i/2/1000) {
				t.Fatalf("key %d: row %d is %v of partition %v bucket %d (%v), then %v bucket %d", k, i, got.Kinds[i], got.Partitions[got.Part[i]], got.Bucket[i], p.ValueStr(i), got.Kinds[i+1], got.Bucket[i+1])
			}
		}
		if err := x.Forget(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
	}
}
