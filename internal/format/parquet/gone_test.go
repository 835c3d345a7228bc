package parquet

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/formattest"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// goneRuns are rows in runs, in their order.
type goneRuns []format.Run

func (g goneRuns) Runs(dst []format.Run, from, to int64) []format.Run {
	for _, r := range g {
		if lo, hi := max(r.From, from), min(r.To, to); lo < hi {
			dst = append(dst, format.Run{From: lo, To: hi})
		}
	}
	return dst
}

func (g goneRuns) has(row int64) bool { return len(g.Runs(nil, row, row+1)) > 0 }

// Rows that are gone do not come, all others do, with and without a filter and whatever the pages are; so do numbers of rows of
// reads without columns.
func TestRowsThatAreGone(t *testing.T) {
	const n = 21_000
	rec := partRows(n)
	r := rand.New(rand.NewPCG(5, 6))
	var single, mixed goneRuns
	for i := int64(0); i < n; i += 1 + r.Int64N(20) {
		single = append(single, format.Run{From: i, To: i + 1})
	}
	for i := int64(r.IntN(50)); i < n-3000; {
		to := i + 1 + r.Int64N([]int64{1, 5, 3000}[r.IntN(3)])
		mixed = append(mixed, format.Run{From: i, To: to})
		i = to + 1 + r.Int64N(900)
	}
	sets := map[string]goneRuns{
		"none": {}, "all": {{From: 0, To: n}}, "first": {{From: 0, To: 1}}, "last": {{From: n - 1, To: n}}, "middle": {{From: 5000, To: 18_000}},
		"but one": {{From: 0, To: 9_001}, {From: 9_002, To: n}}, "single": single, "mixed": mixed,
	}
	less := &predicate.Leaf{Op: predicate.Lt, Column: "even", Type: partFields[1].Type, Values: []types.Datum{int64(0)}}
	few := &predicate.Leaf{Op: predicate.Lt, Column: "id", Type: partFields[0].Type, Values: []types.Datum{int64(7)}}
	late := &predicate.Leaf{Op: predicate.GtEq, Column: "id", Type: partFields[0].Type, Values: []types.Datum{int64(20_990)}}
	for name, x := range partFiles(t, rec) {
		all := formattest.Text(x.fields, columnsOf(rec, x.fields))
		for set, gone := range sets {
			for i, o := range []format.ReadOptions{{}, {LowMemory: true, BatchRows: 1000}, {BatchRows: 100_000}, {Filter: less}, {Filter: less, Sparse: true}, {Filter: few, Sparse: true}, {Filter: late}} {
				o.Fields, o.Gone = x.fields[:1], gone
				if set == "mixed" || set == "middle" {
					o.Fields = x.fields
				}
				pieces, err := formattest.Read(Format{}, formattest.Open(t, x.data), o)
				if err != nil {
					t.Fatalf("%s, %s, %d: %v", name, set, i, err)
				}
				var rows []int64
				for _, p := range pieces {
					ids := p.Rec.Column(0).(*array.Int64).Int64Values()
					if ids[0] != p.Position {
						t.Fatalf("%s, %s, %d: at position %d is row %d", name, set, i, p.Position, ids[0])
					}
					rows = append(rows, ids...)
					if len(o.Fields) == 1 {
						continue
					}
					for k, text := range formattest.Text(x.fields, p.Rec) {
						if text != all[ids[k]] {
							t.Fatalf("%s, %s, %d: row %d\n got %s\nwant %s", name, set, i, ids[k], text, all[ids[k]])
						}
					}
				}
				if !slices.IsSorted(rows) || len(slices.Compact(slices.Clone(rows))) != len(rows) {
					t.Fatalf("%s, %s, %d: rows come twice or in another order", name, set, i)
				}
				k := 0
				for row := range int64(n) {
					came := k < len(rows) && rows[k] == row
					if came {
						k++
					}
					match := true
					switch o.Filter {
					case less:
						match = int64(rnd(row, 1)) < 0
					case few:
						match = row < 7
					case late:
						match = row >= 20_990
					}
					if came && gone.has(row) || !came && match && !gone.has(row) {
						t.Fatalf("%s, %s, %d: row %d: it came is %v, it is gone is %v", name, set, i, row, came, gone.has(row))
					}
				}
			}
			pieces, err := formattest.Read(Format{}, formattest.Open(t, x.data), format.ReadOptions{Gone: gone})
			var came, left int64
			for _, p := range pieces {
				came += p.Rec.NumRows()
			}
			for row := range int64(n) {
				if !gone.has(row) {
					left++
				}
			}
			if err != nil || came != left {
				t.Fatalf("%s, %s: without columns there are %d rows of %d (%v)", name, set, came, left, err)
			}
		}
	}
}
