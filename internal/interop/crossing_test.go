package interop

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// TestCrossingPartitions: both sides write to tables whose primary key lacks partition columns in turn: each finds the keys where
// the other has left them, and a key that comes to another partition moves, stays where it is or is dropped, by merge engine.
func TestCrossingPartitions(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for kind, x := range map[string]struct {
		key, partitions []string
		options         map[string]string
		deletes         bool
	}{
		"deduplicate":    {[]string{"k"}, []string{"p"}, nil, true},
		"two":            {[]string{"q", "k"}, []string{"p", "q"}, map[string]string{"changelog-producer": "input"}, true},
		"partial-update": {[]string{"k"}, []string{"p"}, map[string]string{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, false},
		"aggregation":    {[]string{"s", "k"}, []string{"p", "q"}, map[string]string{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}, false},
		"lookup":         {[]string{"k"}, []string{"p"}, map[string]string{"changelog-producer": "lookup"}, true},
		"vectors":        {[]string{"k"}, []string{"p"}, map[string]string{"deletion-vectors.enabled": "true"}, true},
		"first-row":      {[]string{"k"}, []string{"p"}, map[string]string{"merge-engine": "first-row", "ignore-delete": "true"}, true},
	} {
		d := definition{
			columns: []column{{name: "v", typ: "INT"}, {name: "k", typ: "INT NOT NULL"}, {name: "p", typ: "STRING"}, {name: "q", typ: "BIGINT NOT NULL"}, {name: "s", typ: "STRING NOT NULL"}},
			key:     x.key, partitions: x.partitions, options: map[string]string{"bucket": "-1", "dynamic-bucket.target-row-num": "4"},
		}
		maps.Copy(d.options, x.options)
		// The same rows go to a table that one side alone writes.
		tab, alone := l.create(t, side(kind == "two"), "d.crossing_"+kind, d), l.create(t, java, "d.alone_"+kind, d)
		by := turns(here, java)
		for i := range 8 {
			var rows []row
			for n := range 20 {
				k := (i*5 + n*n) % 23
				p := fmt.Sprintf(`"p%d"`, (k+i/2+n%2)%3)
				if (k+i)%7 == 0 {
					p = "null"
				}
				r := row{object: fmt.Sprintf(`{"v":%d,"k":%d,"p":%s,"q":%d,"s":"%s"}`, i*100+n, k, p, k%2, []string{"x", "y"}[k%2])}
				if x.deletes && (k+i)%6 == 5 {
					r.kind = "-D"
				}
				rows = append(rows, r)
			}
			tab.write(t, by(), rows...)
			alone.write(t, java, rows...)
			tab.same(t, fmt.Sprintf("%s: commit %d", kind, i), alone.seen(t, java, nil))
			if i == 4 {
				tab.compact(t, here)
				tab.same(t, kind+": compacted", alone.seen(t, java, nil))
			}
		}
		tab.expire(t, here, 1)
		tab.sound(t)
		if o, err := tab.open(t).Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(o) > 0 {
			t.Errorf("%s: orphans %v, %v", kind, o, err)
		}
	}
}
