package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// TestBucketedAppend: rows without a key go to the same bucket on both sides, for bucket keys of every type, NULL
// included, and keep their order in it through writes and compactions in turn.
func TestBucketedAppend(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	keys := slices.Collect(slices.Chunk(keyTypes(), 6))
	groups := len(keys) // these go through all kinds of work
	for _, a := range keyTypes() {
		keys = append(keys, []string{a})
	}
	for n, key := range keys {
		d := definition{columns: []column{{name: "v", typ: "INT"}}, options: map[string]string{"bucket": "3"}}
		names, most := "", 0
		for i, k := range key {
			name := fmt.Sprintf("k%d", i)
			d.columns = append(d.columns, column{name: name, typ: k})
			names += "," + name
			most = max(most, len(valuesOf(types.MustParse(k)))+1)
		}
		d.options["bucket-key"] = names[1:]
		tab := l.create(t, side(n%2 == 0), fmt.Sprintf("d.b%d", n), d)
		next := 0
		more := func() (rows []row) {
			for i := range most {
				rows = append(rows, row{object: rowOf(tab.fields(t), i, map[string]string{"v": fmt.Sprint(next)})})
				next++
			}
			return rows
		}
		rows := more()
		tab.write(t, here, rows...)
		want := tab.buckets(t, rows)
		if got := tab.bucketsHere(t); !maps.Equal(got, want) {
			t.Errorf("bucket key %v: rows by bucket %v, by Java %v", key, got, want)
		}
		if n >= groups && !tarntest.Size().Product {
			continue
		}
		tab.write(t, java, more()...)
		tab.write(t, here, more()...)
		tab.inOrder(t, next)
		tab.compact(t, side(n%2 == 1))
		tab.inOrder(t, next)
		tab.write(t, java, more()...)
		tab.write(t, here, more()...)
		tab.compact(t, side(n%2 == 0))
		tab.inOrder(t, next)
		tab.same(t, fmt.Sprintf("bucket key %v", key), nil)
		tab.sound(t)
	}
}

// inOrder looks whether both sides read the rows of each bucket as they were written, by v.
func (tab table) inOrder(t *testing.T, rows int) {
	t.Helper()
	bucket, last := map[int32]int{}, map[int]int32{}
	for _, line := range tab.Do(t, tarntest.Command{"op": "read", "table": tab.name, "withBucket": true})[0].Rows {
		var x struct {
			Bucket int
			Row    struct{ V int32 }
		}
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatal(err)
		}
		if v, ok := last[x.Bucket]; ok && v >= x.Row.V {
			t.Errorf("%s: Java reads row %d of bucket %d after row %d", tab.name, x.Row.V, x.Bucket, v)
		}
		bucket[x.Row.V], last[x.Bucket] = x.Bucket, x.Row.V
	}
	if len(bucket) != rows {
		t.Errorf("%s: Java reads %d rows of %d", tab.name, len(bucket), rows)
	}
	clear(last)
	n := 0
	for b, err := range tab.open(t).Scan(tarn.ScanOptions{Columns: []string{"v"}, Ordered: true}).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range b.Column(0).(*array.Int32).Int32Values() {
			n++
			if before, ok := last[bucket[v]]; ok && before >= v {
				t.Errorf("%s: tarn reads row %d of bucket %d after row %d", tab.name, v, bucket[v], before)
			}
			last[bucket[v]] = v
		}
	}
	if n != rows {
		t.Errorf("%s: tarn reads %d rows of %d", tab.name, n, rows)
	}
}
