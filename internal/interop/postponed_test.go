package interop

import (
	"fmt"
	"testing"
)

// TestPostponedBuckets: rows of a table with bucket = -2 are put aside by one side and distributed by one, or written into the buckets at
// once, which the reference's batch API does not. Each goes on with the buckets of the other, and what waits is not read (BUGS B101).
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
		aside := func(by side, rows ...row) {
			t.Helper()
			if by == java {
				tab.write(t, java, rows...)
				return
			}
			x, err := tab.open(t).With(t.Context(), map[string]string{"postpone.batch-write-fixed-bucket": "false"})
			if err != nil {
				t.Fatal(err)
			}
			w, err := x.NewWriter(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := w.Write(t.Context(), batchOf(t, tab.fields(t), rows)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 8 {
			tab.write(t, here, rows(want, i*10, i*10+25, i)...)
			check("written")
			waiting := map[int]string{}
			for k, o := range want {
				waiting[k] = o
			}
			put := rows(waiting, i*10+5, i*10+30, 10+i)
			half := len(put) / 2
			aside(side(i%2 == 0), put[:half]...)
			aside(side(i%4 < 2), put[half:]...)
			check("put aside")
			tab.compact(t, side(i%8 < 4))
			want = waiting
			check("distributed")
			tab.compact(t, side(i%8 >= 4))
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
