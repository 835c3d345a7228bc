package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// TestRescale lets each side change the number of buckets of a table and distribute one of its partitions anew; the other side then
// reads, writes and compacts it. Neither writes to the partition that was not, both read it.
func TestRescale(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	n := 0
	for _, key := range []bool{true, false} {
		for _, by := range sides {
			for _, buckets := range []string{"5", "1"} {
				n++
				d := definition{
					columns: []column{{name: "p", typ: "INT"}, {name: "k", typ: "BIGINT NOT NULL"}, {name: "v", typ: "STRING"}}, partitions: []string{"p"},
					options: map[string]string{"bucket": "2", "bucket-key": "k"},
				}
				if key {
					d.key = []string{"p", "k"}
				}
				tab := l.create(t, !by, fmt.Sprintf("d.rescale%d", n), d)
				rows := func(from int, partitions ...int) (out []row) {
					for _, p := range partitions {
						for k := from; k < from+20; k++ {
							out = append(out, row{object: fmt.Sprintf(`{"p":%d,"k":%d,"v":"v%d"}`, p, k, from)})
						}
					}
					return out
				}
				tab.write(t, here, rows(0, 1, 2)...)
				tab.write(t, java, rows(10, 1, 2)...)
				if key {
					tab.write(t, here, row{object: `{"p":1,"k":3}`, kind: "-D"})
				}
				was := tab.same(t, "before", nil)

				tab.alter(t, by, setOption("bucket", buckets))
				tab.same(t, "with another number of buckets", was)
				for _, side := range sides {
					if side == java && buckets != "1" {
						continue // looks at the files of the bucket only, which has none
					}
					if err := tab.tryWriteBy(t, side, `{"p":2,"k":1,"v":"x"}`); !strings.Contains(err, "bucket") {
						t.Errorf("%s writes to a partition of two buckets: %q", side, err)
					}
				}
				one := "1"
				part := map[string]*string{"p": &one}
				if by == here {
					if _, err := tab.open(t).Rescale(t.Context(), tarn.RescaleOptions{Partitions: []map[string]*string{part}}); err != nil {
						t.Fatal(err)
					}
				} else {
					var all []row
					for _, line := range was {
						var x struct{ P int }
						if err := json.Unmarshal([]byte(line), &x); err != nil {
							t.Fatal(err)
						}
						if x.P == 1 {
							all = append(all, row{object: line})
						}
					}
					tab.overwrite(t, java, part, true, all...)
				}
				tab.same(t, "rescaled", was)
				tab.sound(t)
				for _, side := range []side{!by, by} {
					tab.write(t, side, rows(100, 1, 3)...)
					tab.write(t, !side, rows(110, 1, 3)...)
					tab.same(t, "written", nil)
					if buckets != "1" {
						before := tab.bucketsHere(t)
						if got := slices.Max(slices.Collect(maps.Keys(before))); got != 4 {
							t.Errorf("highest bucket %d", got)
						}
					}
					if !tarntest.Size().Product && side == by {
						continue
					}
					if _, err := tab.open(t).Compact(t.Context(), tarn.CompactOptions{Full: true, Partition: part}); err != nil {
						t.Fatal(err)
					}
					tab.same(t, "compacted", nil)
				}
				if _, err := tab.open(t).Rescale(t.Context(), tarn.RescaleOptions{}); err != nil {
					t.Fatal(err)
				}
				tab.same(t, "all rescaled", nil)
				tab.write(t, java, rows(5, 2)...)
				tab.compact(t, java)
				tab.same(t, "compacted by Java", nil)
				tab.sound(t)
			}
		}
	}
}

// tryWriteBy gives what went wrong with writing a row, "" for nothing.
func (tab table) tryWriteBy(t *testing.T, by side, object string) string {
	t.Helper()
	if by == java {
		a := tab.TryDo(t, tarntest.Command{"op": "write", "table": tab.name, "rows": javaRows(inserts(object))})[0]
		return a.Error + a.RootCause
	}
	if err := tab.tryWrite(t, object); err != nil {
		return err.Error()
	}
	return ""
}
