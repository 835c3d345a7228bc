package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// streamed is what the reference's streaming reader sees: plan, kind and row of each line, and where it would go
// on; or the error.
type streamed struct {
	lines []string
	next  int64
	err   string
}

// stream lets the reference follow the table.
func (tab table) stream(t testing.TB, options map[string]string, restore int64) streamed {
	t.Helper()
	cmd := tarntest.Command{"op": "streamread", "table": tab.name, "options": options, "sortInPlan": true, "maxIdle": 30}
	if restore > 0 {
		cmd["restore"] = restore
	}
	a := tab.TryDo(t, cmd)[0]
	if !a.OK {
		return streamed{err: a.Error}
	}
	var out streamed
	for _, r := range a.Rows {
		out.lines = append(out.lines, string(r))
	}
	var p struct{ Plans []struct{ Next int64 } }
	if err := json.Unmarshal(a.Raw, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Plans) > 0 {
		out.next = p.Plans[len(p.Plans)-1].Next
	}
	return out
}

// TestStreamingReader makes the same commits by the reference, by tarn and in turn: the reference's streaming
// reader sees the same of each, from the beginning, from a full state on, and after snapshots expired.
func TestStreamingReader(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	tables := upkeepTables()
	for _, producer := range []string{"input", "full-compaction"} {
		tables[producer] = tables["keys"].with("changelog-producer", producer)
	}
	tables["deduplicated"] = tables["full-compaction"].with("changelog-producer.row-deduplicate", "true")
	for kind, d := range tables {
		var first []streamed
		for n, order := range [][]side{{java}, {here}, {here, java}} {
			who := []string{"Java", "tarn", "both"}[n]
			turn := turns(order...)
			d := d.with("write-only", "true")
			tab := l.create(t, turn(), fmt.Sprintf("d.stream_%s%d", kind, n), d)
			ins := func(from, to int) []row {
				var out []row
				for k := from; k < to; k++ {
					r := row{object: fmt.Sprintf(`{"k":%d,"p":"%c","v":%d}`, k, 'a'+k%3, k)}
					if d.key != nil && from > 0 && k%4 == 0 {
						r.kind = []string{"-D", "+U", "-U"}[k/4%3]
					}
					out = append(out, r)
				}
				return out
			}
			compact := func() {
				if turn() == java {
					tab.Do(t, tarntest.Command{"op": "compact", "table": tab.name, "ignoreEmpty": true})
					return
				}
				x, err := tab.open(t).With(t.Context(), map[string]string{"write-only": "false"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := x.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
					t.Fatal(err)
				}
			}
			tab.write(t, turn(), ins(0, 9)...)
			tab.write(t, turn(), ins(5, 14)...)
			tab.write(t, turn(), ins(2, 10)...)
			tab.write(t, turn(), ins(1, 9)...)
			compact() // of four files: two are not worth it to the reference, in buckets of append tables
			tab.write(t, turn(), ins(3, 7)...)
			tab.overwrite(t, turn(), nil, false, ins(0, 2)...)
			var seen []streamed
			full := tab.stream(t, nil, 0)
			seen = append(seen, full)
			tab.write(t, turn(), ins(1, 5)...)
			tab.write(t, turn(), ins(0, 4)...)
			tab.write(t, turn(), ins(2, 9)...)
			compact()
			tab.write(t, turn(), ins(7, 14)...)
			if d.partitions != nil {
				a := "a"
				tab.overwrite(t, turn(), map[string]*string{"p": &a}, true, row{object: `{"k":99,"p":"a","v":99}`})
			}
			tab.alter(t, turn(), addColumn("w", "INT", "", ""))
			tab.write(t, turn(), row{object: `{"k":200,"p":"a","v":2,"w":3}`})
			overwrites := map[string]string{"scan.mode": "from-snapshot", "scan.snapshot-id": "1", "streaming-read-append-overwrite": "true"}
			if d.key != nil {
				overwrites = map[string]string{"scan.mode": "from-snapshot", "scan.snapshot-id": "1", "streaming-read-overwrite": "true"}
			}
			look := func() {
				seen = append(seen,
					tab.stream(t, nil, full.next), // goes on
					tab.stream(t, map[string]string{"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}, 0),
					tab.stream(t, map[string]string{"scan.mode": "from-snapshot-full", "scan.snapshot-id": "2"}, 0),
					tab.stream(t, overwrites, 0),
				)
			}
			look()
			o := tarn.ExpireOptions{RetainMin: 1, RetainMax: 3, TimeRetained: time.Nanosecond}
			if turn() == java {
				tab.Do(t, tarntest.Command{"op": "expire", "table": tab.name, "snapshotRetainMax": 3, "snapshotRetainMin": 1, "snapshotTimeRetain": "PT0S"})
			} else if _, err := tab.open(t).ExpireSnapshots(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			look()
			tab.sound(t)
			if first == nil {
				first = seen
				for i, s := range seen {
					late := d.options["changelog-producer"] == "full-compaction" // what was written last is not told yet
					if len(s.lines) == 0 && s.err == "" && !late {
						t.Errorf("%s: stream %d has no rows", kind, i)
					}
				}
				continue
			}
			for i := range seen {
				if seen[i].err != first[i].err || seen[i].next != first[i].next || !slices.Equal(seen[i].lines, first[i].lines) {
					t.Errorf("%s, stream %d over the commits of Java (-) and of %s (+): next %d and %d, errors %q and %q\n%s",
						kind, i, who, first[i].next, seen[i].next, first[i].err, seen[i].err, differences(first[i].lines, seen[i].lines))
				}
			}
		}
	}
}
