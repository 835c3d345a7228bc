package interop

import (
	"fmt"
	"testing"
)

// TestVariants: VARIANT goes through as it is stored, in tables of both kinds, at the top and inside of other types.
func TestVariants(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for i, first := range sides {
		for _, key := range []bool{true, false} {
			d := definition{columns: []column{{name: "k", typ: "INT NOT NULL"}, {name: "v", typ: "VARIANT"}}, options: map[string]string{}}
			if key {
				d.key, d.options["bucket"] = []string{"k"}, "1"
			}
			tab := l.create(t, first, fmt.Sprintf("d.variant%d_%t", i, key), d)
			tab.write(t, java, inserts(`{"k":1,"v":"{\"a\":1,\"b\":[true,null,1.5,\"x\"]}"}`, `{"k":2,"v":"[]"}`, `{"k":3,"v":null}`, `{"k":4,"v":"\"long\""}`)...)
			rows := tab.same(t, "written by Java", nil)
			if len(rows) != 4 {
				t.Fatalf("%s: %d rows", tab.name, len(rows))
			}
			var again []row
			for _, r := range rows {
				again = append(again, row{object: r})
			}
			tab.write(t, here, again...) // the same bytes
			seen := tab.same(t, "written by both", nil)
			if want := map[bool]int{true: 4, false: 8}[key]; len(seen) != want {
				t.Errorf("%s: %d rows, not %d", tab.name, len(seen), want)
			}
			for _, by := range sides {
				tab.compact(t, by)
				tab.same(t, "compacted", seen)
			}
			tab.sound(t)
		}
	}
}
