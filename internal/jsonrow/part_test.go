package jsonrow

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/types"
)

// TestMapsOfPartOfTheirPairs writes maps whose pairs are a part of a larger array, as other Arrow
// libraries hand them over.
func TestMapsOfPartOfTheirPairs(t *testing.T) {
	fields := []types.Field{{Name: "m", Type: types.MustParse("MAP<INT NOT NULL,STRING>")}}
	d := NewDecoder(fields)
	for _, line := range []string{`{"m":[[1,"a"],[2,"b"]]}`, `{"m":[[3,"c"],[4,null]]}`} {
		if err := d.Decode([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	rec := d.Batch().RecordBatch
	whole := rec.Column(0).(*array.Map)
	pairs := array.NewSlice(whole.ListValues(), 2, 4)
	part := array.NewMapData(array.NewData(whole.DataType(), 1, whole.Data().Buffers(), []arrow.ArrayData{pairs.Data()}, 0, 0))
	if got := string(AppendValue(nil, part, 0, fields[0].Type)); got != `[[3,"c"],[4,null]]` {
		t.Errorf("wrote %s", got)
	}
}
