package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// TestCompactionBeside: one side writes a write-only table while the other one compacts it, or both do at once. Whoever is slower has its
// compaction dropped; no commit of rows is lost, none fails, and both sides see the same rows.
func TestCompactionBeside(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	kinds := map[string]definition{
		"keyed":  {key: []string{"k"}, options: map[string]string{"bucket": "2", "num-sorted-run.compaction-trigger": "2"}},
		"append": {options: map[string]string{"compaction.min.file-num": "2"}},
		"bucket": {options: map[string]string{"bucket": "2", "bucket-key": "k", "compaction.min.file-num": "2"}},
	}
	for kind, d := range kinds {
		d.columns = []column{{name: "k", typ: "INT NOT NULL"}, {name: "v", typ: "INT"}}
		d.options["write-only"] = "true"
		for _, who := range []string{"tarn compacts", "java compacts", "both compact"} {
			tab := l.create(t, side(kind == "append"), "d."+kind+"_"+who[:4], d)
			const commits = 15
			var want []string
			newest := map[int]string{}
			batch := func(i int) (rows []row) {
				for j := range 6 {
					k := (i*4 + j) % 40
					object := fmt.Sprintf(`{"k":%d,"v":%d}`, k, i)
					rows, newest[k], want = append(rows, row{object: object}), object, append(want, object)
				}
				return rows
			}
			var batches [][]row
			for i := range commits {
				batches = append(batches, batch(i))
			}
			if kind == "keyed" {
				want = nil
				for _, o := range newest {
					want = append(want, o)
				}
			}
			var wg sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			if who != "java compacts" {
				wg.Go(func() {
					err := tarn.CompactTables(ctx, []*tarn.Table{tab.open(t)}, tarn.TablesCompactOptions{Watch: true, Interval: time.Millisecond, Done: func(c tarn.TableCompacted) {
						if c.Err != nil {
							t.Errorf("%s, %s: %v", kind, who, c.Err)
						}
					}})
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%s, %s: %v", kind, who, err)
					}
				})
			}
			if who == "tarn compacts" {
				for _, rows := range batches {
					tab.write(t, java, rows...)
				}
			} else {
				ended := make(chan bool, 1) // a compaction of Java
				wg.Go(func() {
					for ctx.Err() == nil {
						a := tab.TryDo(t, tarntest.Command{"op": "compact", "table": tab.name, "full": true, "options": tarntest.Command{"write-only": "false"}})
						if !a[0].OK && who == "java compacts" { // of two, one may be told of a conflict
							t.Errorf("%s, %s: %s", kind, who, a[0].Error)
						}
						select {
						case ended <- true:
						default:
						}
					}
				})
				for i, rows := range batches {
					tab.write(t, here, rows...)
					if i%3 == 0 {
						<-ended
					}
				}
			}
			stop()
			wg.Wait()
			slices.Sort(want)
			tab.same(t, kind+", "+who, want)
			tab.sound(t)
			tab.compact(t, here)
			tab.same(t, kind+", "+who+", and compacted", want)
		}
	}
}
