package lsm

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/manifest"
)

// However wide the rows, what a merge holds of its runs and gives at once stays within its memory, and runs
// of usual rows are merged as they always were.
func TestMergesFitIntoMemory(t *testing.T) {
	const memory = 256 << 20
	for _, c := range []struct {
		runs       int
		width      int64 // of a row in its file
		usual      bool
		impossible bool // two runs of the fewest rows are more already
	}{
		{runs: 2, width: 30, usual: true},
		{runs: 40, width: 60, usual: true},
		{runs: 128, width: 10, usual: true},
		{runs: 40, width: 5000},
		{runs: 128, width: 100_000},
		{runs: 500, width: 1_000_000},
		{runs: 3, width: 50_000_000, impossible: true},
	} {
		units := make([][]span, c.runs)
		for i := range units {
			units[i] = []span{{file: &manifest.DataFile{Size: c.width * 1000, Rows: 1000}}}
		}
		var o datafile.ReadOptions
		fan, target := fit(units, &o, 128, 0, memory)
		if fan < 2 || o.BatchRows < leastRows || target < leastRows {
			t.Errorf("%+v: %d runs at once, batches of %d rows, results of %d", c, fan, o.BatchRows, target)
		}
		if usual := fan == 128 && o.BatchRows == mostRows && target == mostRows; usual != c.usual {
			t.Errorf("%+v: %d runs at once, batches of %d rows, results of %d", c, fan, o.BatchRows, target)
		}
		held := int64(min(fan, c.runs)) * int64(o.BatchRows) * c.width * unpacked
		if held > memory && !c.impossible {
			t.Errorf("%+v: %d runs of %d rows are %d bytes", c, fan, o.BatchRows, held)
		}
		if made := int64(target) * c.width * unpacked; made > memory/4 && target > leastRows {
			t.Errorf("%+v: results of %d rows are %d bytes", c, target, made)
		}
	}
}

// What is gathered of a sorted buffer at once: few large pieces of usual rows, small ones of rows of many columns.
func TestPiecesOfWideRows(t *testing.T) {
	for _, c := range []struct {
		columns int
		width   int64
		most    int64 // bytes
		least   int
	}{
		{columns: 4, width: 60, most: 48 << 20, least: 200_000},
		{columns: 12, width: 300, most: 48 << 20, least: 150_000},
		{columns: 100, width: 2000, most: 12 << 20, least: 5000},
		{columns: 1000, width: 16_000, most: 4 << 20, least: 256},
		{columns: 4, width: 10_000_000, most: 48 << 20, least: 4},
	} {
		if rows := pieceRows(c.columns, c.width); rows < c.least || int64(rows)*c.width > c.most {
			t.Errorf("%+v: %d rows", c, rows)
		}
	}
}

// The same is true of runs that were spilled, whose rows are as wide as a user likes and of which many are merged
// at once. Of rows as they usually are nothing is cut.
func TestTemporaryRunsFitIntoMemory(t *testing.T) {
	const memory = 256 << 20
	for _, c := range []struct {
		runs, rows, width int
		usual             bool
	}{
		{runs: 40, rows: 8192, width: 100, usual: true},
		{runs: 128, rows: 1 << 18, width: 100, usual: true}, // what a buffer gives at once
		{runs: 40, rows: 1000, width: 20_000},
		{runs: 1000, rows: 40, width: 1 << 20},
		{runs: 1000, rows: 4, width: 10 << 20},
	} {
		b := array.NewStringBuilder(arrowmemory.DefaultAllocator)
		v := strings.Repeat("x", c.width)
		b.ReserveData(c.rows * c.width)
		for range c.rows {
			b.Append(v)
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.String}}, nil)
		run, rows := &kv.Temp{}, int64(0)
		for _, rec := range batch.Pieces(array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(c.rows)), kv.TempBytes) {
			size := batch.SizeOf(rec)
			if size > kv.TempBytes+kv.TempBytes/8 && rec.NumRows() > 1 {
				t.Errorf("%+v: a batch of %d rows has %d bytes", c, rec.NumRows(), size)
			}
			rows += rec.NumRows()
			run.Batch, run.Row = max(run.Batch, size), max(run.Row, size/rec.NumRows())
		}
		if rows != int64(c.rows) {
			t.Errorf("%+v: %d rows", c, rows)
		}
		temp := make([]*kv.Temp, c.runs)
		for i := range temp {
			temp[i] = run
		}
		fan, target := fitTemp(temp, 128, memory)
		if held := int64(min(fan, c.runs)) * run.Batch; held > memory && fan > 2 {
			t.Errorf("%+v: %d runs of %d bytes at once", c, fan, run.Batch)
		}
		if made := int64(target) * run.Row; made > memory/4 && target > 1 {
			t.Errorf("%+v: results of %d rows of %d bytes", c, target, run.Row)
		}
		if usual := fan > 100 && target == mostRows; usual != c.usual {
			t.Errorf("%+v: %d runs at once, results of %d rows", c, fan, target)
		}
	}
}
