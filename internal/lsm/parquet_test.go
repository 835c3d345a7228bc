package lsm

import (
	"fmt"
	"io"
	"testing"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// realTable is a table of Parquet files in memory.
func realTable(tb testing.TB, fields []types.Field, key string, change func(*Config)) (*Table, datafile.Location) {
	fs := fileio.NewMem(fileio.MemOptions{})
	s := &schema.Schema{Version: 3, Fields: fields, PrimaryKeys: []string{key}, HighestFieldID: len(fields)}
	store := datafile.NewStore(datafile.Config{
		FS: fs, Paths: paths.NewTable("/t", paths.Config{}), Schemas: schema.NewManager(fs, "/t"), Schema: s, KeyValue: true,
		Format: "parquet", Compression: "zstd", CompressionLevel: 1, TargetFileSize: 128 << 20, DenseStats: true,
	})
	e, _ := mergefn.New("deduplicate", mergefn.Config{})
	c := Config{Store: Files(store), Fields: fields, Keys: []string{key}, Engine: e, TargetFileSize: 128 << 20}
	if change != nil {
		change(&c)
	}
	t, err := NewTable(c)
	if err != nil {
		tb.Fatal(err)
	}
	partition := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	return t, datafile.Location{Partition: partition}
}

func readAll(tb testing.TB, t *Table, loc datafile.Location, files []*manifest.DataFile, fields []types.Field) (rows int64, out []batch.Batch) {
	r, err := t.MergeRead(tb.Context(), loc, files, ReadOptions{Fields: fields})
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	for {
		b, err := r.Next(tb.Context())
		if err == io.EOF {
			return rows, out
		}
		if err != nil {
			tb.Fatal(err)
		}
		rows += b.NumRows()
		out = append(out, b)
	}
}

func TestParquetFiles(t *testing.T) {
	table, loc := realTable(t, rowFields, "k", nil)
	var live []*manifest.DataFile
	want := map[int64]row{}
	w, err := table.NewWriter(WriterOptions{Location: loc})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	for i := range int64(12) {
		var rows []row
		for j := range int64(50) {
			r := row{k: (i*37 + j*11) % 200, v: fmt.Sprint(i, j)}
			if (i+j)%9 == 0 {
				r.kind = types.Delete
			}
			rows = append(rows, r)
			if want[r.k] = r; r.kind == types.Delete {
				delete(want, r.k)
			}
		}
		if err := w.Write(t.Context(), rowsBatch(rows), nil); err != nil {
			t.Fatal(err)
		}
		d, err := w.Prepare(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		x := fixture{live: live, ever: map[string]bool{}}
		x.commit(t, d)
		live = x.live
		_, out := readAll(t, table, loc, live, rowFields)
		n := 0
		for _, b := range out {
			for _, r := range batchRows(b) {
				n++
				if r.v != want[r.k].v {
					t.Fatalf("commit %d: key %d is %q, want %q", i, r.k, r.v, want[r.k].v)
				}
			}
		}
		if n != len(want) {
			t.Fatalf("commit %d: %d rows, want %d", i, n, len(want))
		}
	}
}

// BenchmarkParquet merges 40 Parquet files; the figures are per row of input.
func BenchmarkParquet(b *testing.B) {
	const runs, rows = 40, 100000
	t, loc := realTable(b, orderFields, "order_id", func(c *Config) { c.WriteOnly = true })
	w, err := t.NewWriter(WriterOptions{Location: loc})
	if err != nil {
		b.Fatal(err)
	}
	var files []*manifest.DataFile
	var in int64
	for i := range runs {
		if err := w.Write(b.Context(), batch.Batch{RecordBatch: orders(i*rows, rows, runs*rows/5)}, nil); err != nil {
			b.Fatal(err)
		}
		d, err := w.Prepare(b.Context(), false)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, d.Added...)
	}
	for _, f := range files {
		in += f.Rows
	}
	perRow := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in), "ns/row")
	}
	b.Run("merge-read", func(b *testing.B) {
		for b.Loop() {
			readAll(b, t, loc, files, orderFields)
		}
		perRow(b)
	})
	b.Run("compact", func(b *testing.B) {
		for b.Loop() {
			w, err := t.NewWriter(WriterOptions{Location: loc, Files: files})
			if err != nil {
				b.Fatal(err)
			}
			if err := w.Compact(b.Context(), true); err != nil {
				b.Fatal(err)
			}
			if err := w.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		perRow(b)
	})
}
