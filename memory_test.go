package tarn_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// Values of a megabyte: they are spilled, merged, compacted and read in batches of a few, whatever number of rows
// a batch has of others, and come back as they were.
func TestLargeValues(t *testing.T) {
	const rows, size, most = 45, 1 << 20, 40 << 20
	ctx := t.Context()
	value := func(id int) string { return fmt.Sprint(id) + strings.Repeat(" ", size-len(fmt.Sprint(id))) }
	for _, keys := range [][]string{{"id"}, nil} {
		tab, err := open(t).CreateTable(ctx, "d.t", tarn.TableDef{
			Fields: fields("id", "INT NOT NULL", "v", "STRING"), PrimaryKeys: keys,
			Options: map[string]string{"bucket": "1", "bucket-key": "id", "write-buffer-size": "4 mb", "write-buffer-spillable": "true", "write-only": "true", "file.compression": "lz4"},
		})
		if err != nil {
			t.Fatal(err)
		}
		w, err := tab.NewWriter(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			id := i * 29 % rows
			if err := w.Write(ctx, large(id, value(id))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"written", "compacted"} {
			seen := map[int32]bool{}
			for b, err := range tab.Scan(tarn.ScanOptions{}).Batches(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if n := batch.SizeOf(b.RecordBatch); n > most {
					t.Errorf("key %v, %s: a batch of %d rows has %d bytes", keys, when, b.NumRows(), n)
				}
				ids, vs := b.Column(0).(*array.Int32), b.Column(1).(*array.String)
				for i := range int(b.NumRows()) {
					id := ids.Value(i)
					if v := vs.Value(i); seen[id] || v != value(int(id)) {
						t.Fatalf("key %v, %s: row %d: %d bytes, %.9q…", keys, when, id, len(v), v)
					}
					seen[id] = true
				}
			}
			if len(seen) != rows {
				t.Errorf("key %v, %s: %d rows", keys, when, len(seen))
			}
			if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Batches of which each of many buckets gets a few rows are not kept in memory once for each bucket, nor as much as
// that; the rows of all of them, and their kinds, are there.
func TestFewRowsForManyBuckets(t *testing.T) {
	const batches, n = 20, 2000
	ctx := t.Context()
	tab, err := open(t).CreateTable(ctx, "d.t", tarn.TableDef{
		Fields: fields("id", "INT NOT NULL", "v", "STRING"), PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "500", "write-only": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w, err := tab.NewWriter(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var before, after runtime.MemStats
	for i := range batches {
		if err := w.Write(ctx, repeated(n, i*n, "v")); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
	}
	gone := repeated(n, n, "v")
	gone.Kinds = slices.Repeat([]types.RowKind{types.Insert, types.Delete}, n/2)
	if err := w.Write(ctx, gone); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 80<<20 {
		t.Errorf("%d rows take %d MB", batches*n, grown>>20)
	}
	if _, err := w.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	seen := map[int32]bool{}
	for b, err := range tab.Scan(tarn.ScanOptions{}).Batches(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range b.Column(0).(*array.Int32).Int32Values() {
			if seen[id] || id/n == 1 && id%2 == 1 {
				t.Fatalf("row %d is there twice, or deleted", id)
			}
			seen[id] = true
		}
	}
	if want := batches*n - n/2; len(seen) != want {
		t.Errorf("%d rows, want %d", len(seen), want)
	}
}

// large makes a batch of rows of one value.
func large(id int, value string) tarn.Batch { return repeated(1, id, value) }

func repeated(n, id int, value string) tarn.Batch {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	ids := array.NewInt32Builder(memory.DefaultAllocator)
	b.ReserveData(n * len(value))
	for i := range n {
		b.Append(value)
		ids.Append(int32(id + i))
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "v", Type: arrow.BinaryTypes.String}}, nil)
	return tarn.Batch{RecordBatch: array.NewRecordBatch(s, []arrow.Array{ids.NewArray(), b.NewArray()}, int64(n))}
}

// One large value in many rows is small in a file, where it stands in a dictionary once. Batches are small all the
// same: beyond 2 GB there is no batch at all.
func TestLargeValueOfManyRows(t *testing.T) {
	const rows, each, most = 3000, 1000, 64 << 20
	ctx := t.Context()
	tab, err := open(t).CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("id", "INT", "v", "STRING"), Options: map[string]string{"write-only": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := tab.NewWriter(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	value := strings.Repeat("y", 60_000)
	for i := range rows / each {
		if err := w.Write(ctx, repeated(each, i*each, value)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for b, err := range tab.Scan(tarn.ScanOptions{Parallel: 1}).Batches(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if size := batch.SizeOf(b.RecordBatch); size > most {
			t.Errorf("a batch of %d rows has %d bytes", b.NumRows(), size)
		}
		n += b.NumRows()
	}
	if n != rows {
		t.Errorf("%d rows", n)
	}
}
