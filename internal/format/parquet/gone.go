package parquet

import "github.com/tarnlake/tarn/internal/format"

// leastLeft is how many rows in a row have to be gone for them to be passed over before anything is read.
const leastLeft = 1024

// leaveOut takes long runs of rows that are gone out of the rows of the row group that are to be read.
func (r *reader) leaveOut() {
	if r.gone == nil {
		return
	}
	var out []rowSpan
	var runs []format.Run
	for _, s := range r.ranges {
		runs = r.gone.Runs(runs[:0], r.first+s.from, r.first+s.to)
		for _, g := range runs {
			if g.To-g.From < leastLeft {
				continue
			}
			if from := g.From - r.first; from > s.from {
				out = append(out, rowSpan{s.from, from})
			}
			s.from = g.To - r.first
		}
		if s.from < s.to {
			out = append(out, s)
		}
	}
	r.ranges = out
}

// goneOf gives the runs of rows that are gone among n rows of the row group from row at on, counted from there.
func (r *reader) goneOf(at int64, n int) []format.Run {
	if r.gone == nil {
		return nil
	}
	from := r.first + at
	runs := r.gone.Runs(nil, from, from+int64(n))
	for i := range runs {
		runs[i].From -= from
		runs[i].To -= from
	}
	return runs
}

// others gives those of n rows that are not gone.
func others(gone []format.Run, n int) []int32 {
	out := make([]int32, 0, n)
	at := int64(0)
	for _, g := range append(gone, format.Run{From: int64(n), To: int64(n)}) {
		for ; at < g.From; at++ {
			out = append(out, int32(at))
		}
		at = g.To
	}
	return out
}

// without takes the rows that are gone out of sel, in place.
func without(sel []int32, gone []format.Run) []int32 {
	if len(gone) == 0 {
		return sel
	}
	out := sel[:0]
	for _, x := range sel {
		for len(gone) > 0 && gone[0].To <= int64(x) {
			gone = gone[1:]
		}
		if len(gone) == 0 || int64(x) < gone[0].From {
			out = append(out, x)
		}
	}
	return out
}
