package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/bench/gen"

	"github.com/apache/arrow-go/v18/arrow"
)

// batchRows is how many rows are made and written at a time.
const batchRows = 8192

func (b *bench) generator() *gen.Gen { return gen.New(b.num("k", 2_000_000), b.zipf()) }

func (b *bench) gen(context.Context) error {
	n, g := b.num("n", 1_000_000), b.generator()
	var sum uint64
	wall, _, _ := timed(func() error {
		for i := int64(0); i < n; i += batchRows {
			sum += gen.Checksum(g.Batch(i, min(n, i+batchRows), false))
		}
		return nil
	})
	r := b.result("gen", n, wall)
	r.add("checksum", sum)
	return b.print(r)
}

func (b *bench) genCost(context.Context) error {
	n, g := b.num("n", 5_000_000), b.generator()
	var wall, used float64
	for range 3 {
		wall, used, _ = timed(func() error {
			for i := int64(0); i < n; i += batchRows {
				g.Batch(i, min(n, i+batchRows), false)
			}
			return nil
		})
	}
	r := b.result("gen-cost", n, wall)
	r.add("cpu_ns_per_row", used/float64(n)*1e9)
	return b.print(r)
}

// engineOptions are the options of a merge engine.
var engineOptions = map[string]map[string]string{
	"partial-update": {
		"fields.g_1.sequence-group": "user_id,status,amount,city",
		"fields.g_2.sequence-group": "note,created,updated,qty,price",
	},
	"aggregation": {
		"fields.amount.aggregate-function": "sum", "fields.qty.aggregate-function": "sum",
		"fields.price.aggregate-function": "max", "fields.updated.aggregate-function": "max",
	},
}

// create makes a table with the options that the Java kit gives it.
func (b *bench) create(ctx context.Context, name, engine string) (*tarn.Table, error) {
	if err := b.cat.DropTable(ctx, "db."+name); err != nil && !errors.Is(err, tarn.ErrNotExist) {
		return nil, err
	}
	def := tarn.TableDef{Fields: gen.Fields(), Options: map[string]string{
		"file.format": b.str("format", "parquet"), "file.compression": b.str("compression", "zstd"),
	}}
	switch engine {
	case "append":
		def.Options["bucket"] = "-1"
	case "deduplicate", "partial-update", "aggregation":
		def.PrimaryKeys = []string{"order_id"}
		def.Options["bucket"], def.Options["merge-engine"] = b.str("bucket", "2"), engine
		maps.Copy(def.Options, engineOptions[engine])
		if engine == "partial-update" {
			def.Fields = gen.PartialFields()
		}
	default:
		return nil, fmt.Errorf("--engine=%s: there are deduplicate, partial-update, aggregation and append", engine)
	}
	maps.Copy(def.Options, b.tableOptions())
	return b.cat.CreateTable(ctx, "db."+name, def)
}

func (b *bench) write(ctx context.Context) error {
	name, engine := b.str("table", "orders"), b.str("engine", "deduplicate")
	n, heat := b.num("n", 10_000_000), b.num("warm", 2_000_000)
	if heat > 0 {
		if _, err := b.writeOnce(ctx, "warmup", engine, heat, min(500_000, heat/4)); err != nil {
			return err
		}
		if err := b.cat.DropTable(ctx, "db.warmup"); err != nil {
			return err
		}
	}
	var drain float64
	wall, used, err := timed(func() (err error) {
		drain, err = b.writeOnce(ctx, name, engine, n, b.num("commit", 500_000))
		return err
	})
	if err != nil {
		return err
	}
	r := b.result("write", n, wall)
	if err := r.addFiles(b.path(name)); err != nil {
		return err
	}
	r.add("table", name, "engine", engine, "format", b.str("format", "parquet"), "dist", b.str("dist", "uniform"),
		"opts", fmt.Sprint(b.tableOptions()), "drain_s", drain, "cpu_s", used)
	return b.print(r)
}

// writeOnce writes n operations, commits each so many, waits for the compactions at the end, and gives
// the seconds of the last commit.
func (b *bench) writeOnce(ctx context.Context, name, engine string, n, every int64) (float64, error) {
	t, err := b.create(ctx, name, engine)
	if err != nil {
		return 0, err
	}
	w, err := t.NewWriter(ctx, &tarn.WriterOptions{User: "bench", Workers: b.threads(), WaitCompaction: b.str("wait", "false") == "true"})
	if err != nil {
		return 0, err
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var last time.Time
	i := int64(0)
	for rec := range b.ahead(ctx, n, every, engine) {
		if err := w.Write(ctx, tarn.Batch{RecordBatch: rec}); err != nil {
			return 0, err
		}
		i += rec.NumRows()
		if i%every != 0 && i != n {
			continue
		}
		if i == n {
			last = time.Now()
			w.WaitCompaction(true)
		}
		if _, err := w.Commit(ctx); err != nil {
			return 0, err
		}
	}
	if i != n {
		return 0, fmt.Errorf("%d of %d rows were written", i, n)
	}
	return time.Since(last).Seconds(), w.Close()
}

// ahead makes batches in a goroutine of its own, some ahead of the writer. No batch crosses a commit.
func (b *bench) ahead(ctx context.Context, n, every int64, engine string) <-chan arrow.RecordBatch {
	out := make(chan arrow.RecordBatch, 2)
	g := b.generator()
	batch := func(i, end int64) arrow.RecordBatch { return g.Batch(i, end, engine == "append") }
	if engine == "partial-update" {
		batch = g.PartialBatch
	}
	go func() {
		defer close(out)
		for i := int64(0); i < n; {
			end := min(n, i+batchRows, (i/every+1)*every)
			select {
			case out <- batch(i, end):
			case <-ctx.Done():
				return
			}
			i = end
		}
	}()
	return out
}
