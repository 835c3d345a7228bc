package lsm

import (
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/kv"
)

const (
	// mergeMemory bounds the rows that one merge holds of its runs, as far as their files tell.
	mergeMemory = 256 << 20
	// unpacked is about how much larger rows are in memory than in files.
	unpacked = 3
	// leastRows and mostRows are the rows of a batch.
	leastRows, mostRows = 1, 8192

	// A sorted buffer is gathered in pieces as large as memory allows: its rows lie scattered, so a
	// piece of a column touches nearly all of the column, and few pieces touch it few times.
	flushRows  = 1 << 18
	flushBytes = 48 << 20
	// The columns of wide rows are small and stay in the cache: their pieces need not be large.
	flushColumns, leastFlush = 24, 4 << 20
)

// pieceRows is how many keys of a sorted buffer are gathered at once, by its columns and the bytes of a row.
func pieceRows(columns int, width int64) int {
	size := max(leastFlush, flushBytes*flushColumns/max(columns, flushColumns))
	return int(max(1, min(flushRows, int64(size)/(width+1))))
}

// fit makes a merge of runs fit into memory: wide rows come in smaller batches, and if that is not enough,
// fewer runs are merged at once. target is the rows of a result.
func fit(units [][]span, o *datafile.ReadOptions, fan, target int, memory int64) (int, int) {
	if o.BatchRows <= 0 {
		o.BatchRows = mostRows
	}
	if target <= 0 {
		target = mostRows
	}
	var all, widest int64 // bytes of a row of each run, of any run
	for _, u := range units {
		var w int64
		for _, x := range u {
			w = max(w, unpacked*x.file.Size/max(x.file.Rows, 1))
		}
		all, widest = all+w, max(widest, w)
	}
	if all == 0 {
		return fan, target
	}
	runs := int64(min(len(units), fan))
	mean := max(all/int64(len(units)), 1)
	if rows := memory / (mean * runs); rows < int64(o.BatchRows) {
		o.BatchRows = int(max(rows, leastRows))
	}
	if n := memory / (mean * int64(o.BatchRows)); n < runs {
		fan = int(max(n, 2))
	}
	// A result is as wide as its widest rows may be; it is held beside the runs.
	target = int(min(int64(target), max(memory/4/max(widest, 1), leastRows)))
	return fan, target
}

// fitTemp does the same for temporary runs, whose batches are known.
func fitTemp(temp []*kv.Temp, fan int, memory int64) (int, int) {
	var widest, row int64 = 1, 1
	for _, x := range temp {
		widest, row = max(widest, x.Batch), max(row, x.Row)
	}
	return max(min(fan, int(memory/widest)), 2), int(min(max(memory/4/row, leastRows), mostRows))
}
