package interop

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/datasketches-go/hll"
	"github.com/apache/datasketches-go/theta"
)

// TestSketchTables lets both sides aggregate sketches of the same keys, in turn and alone. The sketches that come out are the
// same, byte for byte, and each side reads those of the other and goes on with them.
func TestSketchTables(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for n, options := range []map[string]string{
		{"merge-engine": "aggregation", "fields.h.aggregate-function": "hll_sketch", "fields.t.aggregate-function": "theta_sketch"},
		{"merge-engine": "partial-update", "fields.g.sequence-group": "h,t", "fields.h.aggregate-function": "hll_sketch", "fields.t.aggregate-function": "theta_sketch"},
	} {
		options["bucket"], options["write-only"] = "1", "true"
		d := definition{key: []string{"k"}, options: options, columns: []column{{name: "k", typ: "INT NOT NULL"}, {name: "g", typ: "INT"}, {name: "h", typ: "BYTES"}, {name: "t", typ: "BYTES"}}}
		var first []string
		for i, order := range [][]side{{java}, {here}, {here, java}} {
			turn := turns(order...)
			tab := l.create(t, turn(), fmt.Sprintf("d.sketches%d_%d", n, i), d)
			var states []string
			for c := range 4 {
				tab.write(t, turn(), sketches(t, c)...)
				if c%2 == 1 {
					rows := tab.same(t, "written", nil)
					tab.compact(t, turn())
					tab.same(t, "compacted", rows)
					states = append(states, rows...)
				}
			}
			if first == nil {
				first = states
			} else if !slices.Equal(states, first) {
				t.Errorf("%v: rows of Java alone (-), of %v (+)\n%s", d.options, order, differences(slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(states))))
			}
		}
	}
}

// sketches are the rows of the c-th commit: sketches of different sizes and types, full and nearly empty.
func sketches(t *testing.T, c int) []row {
	t.Helper()
	var out []row
	for k := range 12 {
		i := k*5 + c*7
		h, err := hll.NewHllSketch([]int{12, 12, 8, 10}[i%4], hll.TgtHllType(i%3))
		if err != nil {
			t.Fatal(err)
		}
		u, err := theta.NewQuickSelectUpdateSketch(theta.WithUpdateSketchLgK(uint8([]int{12, 9, 12, 5}[i%4])))
		if err != nil {
			t.Fatal(err)
		}
		for v := range []int{1, 0, 20, 700, 3, 5000, 200}[i%7] {
			h.UpdateInt64(int64(c*500 + v))
			u.UpdateInt64(int64(c*500 + v))
		}
		hb, err := h.ToCompactSlice()
		if err != nil {
			t.Fatal(err)
		}
		var tb bytes.Buffer
		e := theta.NewEncoder(&tb, i%3 == 0)
		if err := e.Encode(u.Compact(i%3 < 2)); err != nil {
			t.Fatal(err)
		}
		text := func(b []byte) string {
			if i%11 == 10 {
				return "null"
			}
			return `"` + hex.EncodeToString(b) + `"`
		}
		out = append(out, row{kind: "+I", object: fmt.Sprintf(`{"k":%d,"g":%d,"h":%s,"t":%s}`, k, i%6, text(hb), text(tb.Bytes()))})
	}
	return out
}
