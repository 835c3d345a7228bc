package interop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
)

// TestPostponedBuckets: of a table with bucket = -2 the reference puts rows aside and distributes them when it compacts,
// tarn writes into the buckets at once. Each goes on with the buckets of the other, and what waits is not read (BUGS B101).
func TestPostponedBuckets(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for kind, partitions := range map[string][]string{"plain": nil, "partition": {"p"}} {
		d := definition{
			columns: []column{{name: "v", typ: "INT"}, {name: "k", typ: "INT NOT NULL"}, {name: "p", typ: "STRING NOT NULL"}},
			key:     []string{"p", "k"}, partitions: partitions, options: map[string]string{"bucket": "-2", "postpone.default-bucket-num": "3"},
		}
		tab := l.create(t, side(kind == "partition"), "d.postponed_"+kind, d)
		rows := func(want map[int]string, from, to, v int) (out []row) {
			for k := from; k < to; k++ {
				r := row{object: fmt.Sprintf(`{"v":%d,"k":%d,"p":"p%d"}`, v, k, k%2)}
				if delete(want, k); (k+v)%5 == 0 {
					r.kind = "-D"
				} else {
					want[k] = r.object
				}
				out = append(out, r)
			}
			return out
		}
		want := map[int]string{}
		check := func(what string) {
			t.Helper()
			var all [][]byte
			for _, o := range want {
				all = append(all, []byte(o))
			}
			tab.same(t, kind+": "+what, canonical(t, tab.fields(t), all))
		}
		for i := range 3 {
			tab.write(t, here, rows(want, i*10, i*10+25, i)...)
			check("written")
			waiting := map[int]string{}
			for k, o := range want {
				waiting[k] = o
			}
			put := rows(waiting, i*10+5, i*10+30, 10+i)
			tab.write(t, java, put...)
			check("put aside")
			if _, err := tab.open(t).Compact(t.Context(), tarn.CompactOptions{}); err == nil || !strings.Contains(err.Error(), "wait for their buckets") {
				t.Errorf("%s: a compaction of rows that wait: %v", kind, err)
			}
			tab.compact(t, java)
			want = waiting
			check("distributed")
			tab.compact(t, here)
			check("compacted")
		}
		clear(want)
		tab.write(t, java, rows(map[int]string{}, 0, 9, 20)...)
		tab.overwrite(t, here, nil, true, rows(want, 0, 30, 21)...)
		check("overwritten")
		tab.compact(t, java) // nothing waits
		check("overwritten and compacted")
		tab.sound(t)
	}
}
