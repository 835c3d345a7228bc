package lsm

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/mergefn"
)

// A compaction of level 0 tells where the rows lie that its rows take the place of: in the levels above its result, each once,
// whatever is merged in passes before.
func TestFound(t *testing.T) {
	for _, fan := range []int{0, 2} {
		x := newFixture(t, t.TempDir(), func(c *Config, _ *mergefn.Config) {
			c.Lookup, c.FanIn, c.WriteOnly = LookupNewest, fan, true
		})
		x.store.roll = 100
		var rows []row
		for k := range int64(300) {
			rows = append(rows, row{k: k, v: "old"})
		}
		x.writeCommit(t, rows...)
		x.compact(t) // three files in the highest level
		older, err := x.table.spans(x.live)
		if err != nil || len(older) != 3 {
			t.Fatal(older, err)
		}
		for _, k := range [][]int64{{7, 150, 400}, {7, 99}, {8, 299}} {
			rows = rows[:0]
			for _, k := range k {
				rows = append(rows, row{k: k, v: "new"})
			}
			x.writeCommit(t, rows...)
		}
		var zero []*manifest.DataFile
		for _, f := range x.live {
			if f.Level == 0 {
				zero = append(zero, f)
			}
		}
		var got []string
		c := &compactor{t: x.table, level: 1, lookup: LookupNewest, older: older, found: func(f *manifest.DataFile, position int64) {
			i := slices.IndexFunc(older, func(s span) bool { return s.file == f })
			got = append(got, fmt.Sprint(i, "/", position))
		}}
		out, err := c.run(context.Background(), zero)
		if err != nil || len(out.before) != 3 || len(out.after) != 1 {
			t.Fatal(out, err)
		}
		if want := []string{"0/7", "0/8", "0/99", "1/50", "2/99"}; !slices.Equal(got, want) {
			t.Errorf("at most %d runs at once: found %q, want %q", fan, got, want)
		}
	}
}
