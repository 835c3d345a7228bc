package interop

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// onDisk lists the files of the table, by their paths in its folder.
func (tab table) onDisk(t testing.TB) []string {
	t.Helper()
	var out []string
	root := tab.dir(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// copied makes a copy of the table.
func (tab table) copied(t testing.TB, name string) table {
	t.Helper()
	out := table{lake: tab.lake, name: name}
	from := tab.dir(t)
	_, short, _ := strings.Cut(name, ".")
	if err := os.CopyFS(filepath.Join(filepath.Dir(from), short), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return out
}

// stateOf reads a state of the table by one of the sides: options name it. What fails gives no rows and false.
func (tab table) stateOf(t testing.TB, by side, options map[string]string) ([]string, bool) {
	t.Helper()
	x, err := tab.open(t).With(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	p, err := x.Scan(tarn.ScanOptions{}).Plan(t.Context())
	if by == java {
		a := tab.TryDo(t, tarntest.Command{"op": "read", "table": tab.name, "options": options})[0]
		if !a.OK {
			return []string{a.Error}, false
		}
		if err != nil { // tarn has no columns for it
			return []string{string(a.Raw)}, true
		}
		var raw [][]byte
		for _, r := range a.Rows {
			var line struct{ Row json.RawMessage }
			if err := json.Unmarshal(r, &line); err != nil {
				t.Fatal(err)
			}
			raw = append(raw, line.Row)
			if m, fields := members(t, string(line.Row)), p.Fields(); len(m) != len(fields) {
				t.Fatalf("%s, %v: Java reads columns %v, tarn %v", tab.name, options, m, fields)
			}
		}
		return canonical(t, p.Fields(), raw), true
	}
	if err != nil {
		return []string{err.Error()}, false
	}
	e := jsonrow.NewEncoder(p.Fields())
	out := []string{}
	for b, err := range p.Batches(t.Context()) {
		if err != nil {
			return []string{err.Error()}, false
		}
		for i := range int(b.NumRows()) {
			out = append(out, string(e.Append(nil, b.RecordBatch, i)))
		}
	}
	slices.Sort(out)
	return out, true
}

// sameState compares a state as both sides read it, and gives it.
func (tab table) sameState(t testing.TB, what string, options map[string]string) []string {
	t.Helper()
	j, jok := tab.stateOf(t, java, options)
	h, hok := tab.stateOf(t, here, options)
	switch {
	case jok != hok:
		t.Errorf("%s, %s, %v: read by Java %v, by tarn %v\n%v\n%v", tab.name, what, options, jok, hok, j, h)
	case jok:
		if d := differences(j, h); d != "" {
			t.Errorf("%s, %s, %v: Java (-), tarn (+)\n%s", tab.name, what, options, d)
		}
		return h
	}
	return nil
}

// upkeepTables are the kinds of tables whose upkeep differs.
func upkeepTables() map[string]definition {
	cols := []column{{name: "k", typ: "INT NOT NULL"}, {name: "p", typ: "STRING NOT NULL"}, {name: "v", typ: "INT"}}
	return map[string]definition{
		"keys":   {columns: cols, key: []string{"p", "k"}, partitions: []string{"p"}, options: map[string]string{"bucket": "2", "num-sorted-run.compaction-trigger": "3", "manifest.merge-min-count": "3"}},
		"append": {columns: cols, partitions: []string{"p"}, options: map[string]string{"manifest.merge-min-count": "2", "snapshot.clean-empty-directories": "true"}},
		"queue":  {columns: cols, options: map[string]string{"bucket": "2", "bucket-key": "k", "manifest.target-file-size": "3 kb"}},
	}
}

// with is the definition with another option.
func (d definition) with(key, value string) definition {
	d.options = maps.Clone(d.options)
	d.options[key] = value
	return d
}

// numbered are rows of such a table, with keys from one number to another; with a key, every fourth is a delete, but for those from 0 on.
func (d definition) numbered(from, to int) []row {
	var out []row
	for k := from; k < to; k++ {
		r := row{object: fmt.Sprintf(`{"k":%d,"p":"%c","v":%d}`, k, 'a'+k%3, k)}
		if d.key != nil && from > 0 && k%4 == 0 {
			r.kind = "-D"
		}
		out = append(out, r)
	}
	return out
}

// live fills a table in turn: with rows, deletes, compactions, overwrites, a changed schema, tags and a branch. It
// gives the names of the tags.
func (tab table) live(t testing.TB, d definition, turn func() side) []string {
	t.Helper()
	ins := d.numbered
	var tags []string
	tag := func() {
		name := fmt.Sprintf("t%d", len(tags))
		if tags = append(tags, name); turn() == java {
			tab.Do(t, tarntest.Command{"op": "tag", "table": tab.name, "name": name})
		} else if err := tab.open(t).CreateTag(t.Context(), name, 0); err != nil {
			t.Fatal(err)
		}
	}
	mark := func(n int64) *int64 { return &n }
	tab.commitAs(t, turn(), tarn.CommitID{User: "u", Number: 1, Watermark: mark(1000)}, ins(0, 9)...)
	tab.write(t, turn(), ins(5, 14)...)
	tag()
	tab.compact(t, turn())
	tab.Do(t, tarntest.Command{"op": "analyze", "table": tab.name})
	tab.commitAs(t, turn(), tarn.CommitID{User: "u", Number: 2, Watermark: mark(2000)}, ins(3, 6)...)
	tab.write(t, turn(), ins(8, 19)...)
	tag()
	tab.alter(t, turn(), addColumn("w", "INT", "", ""))
	tab.write(t, turn(), ins(2, 9)...)
	tab.compact(t, turn())
	tab.overwrite(t, turn(), nil, false, ins(0, 2)...)
	tag()
	tab.write(t, turn(), ins(20, 25)...)
	if d.partitions != nil {
		a := "a"
		tab.overwrite(t, turn(), map[string]*string{"p": &a}, true)
	}
	tab.commitAs(t, turn(), tarn.CommitID{User: "u", Number: 3, Watermark: mark(3000)}, ins(1, 30)...)
	tab.compact(t, turn())
	tab.write(t, turn(), ins(7, 9)...)
	tag()
	tab.write(t, turn(), ins(9, 11)...)
	return tags
}

// TestTimeTravel reads every state of tables that both sides wrote by its number, its time, its tag and its
// watermark.
func TestTimeTravel(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	turn := turns(here, java)
	for kind, d := range upkeepTables() {
		tab := l.create(t, turn(), "d.travel_"+kind, d)
		tags := tab.live(t, d, turn)
		x := tab.open(t)
		ids, err := x.Snapshots(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			s, err := x.SnapshotAt(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			number := map[string]string{"scan.snapshot-id": fmt.Sprint(id)}
			want := tab.sameState(t, "by number", number)
			for what, options := range map[string]map[string]string{
				"at its time":   {"scan.timestamp-millis": fmt.Sprint(s.TimeMillis)},
				"by its time":   {"scan.timestamp": time.UnixMilli(s.TimeMillis).UTC().Format("2006-01-02 15:04:05.000")},
				"just before":   {"scan.timestamp-millis": fmt.Sprint(s.TimeMillis - 1)},
				"as a version":  {"scan.version": fmt.Sprint(id)},
				"with its mode": {"scan.mode": "from-snapshot", "scan.snapshot-id": fmt.Sprint(id)},
			} {
				if id%3 != 0 && what != "at its time" { // each way on some
					continue
				}
				got := tab.sameState(t, what, options)
				if d := differences(want, got); d != "" && what != "just before" && what != "at its time" && what != "by its time" {
					t.Errorf("%s, snapshot %d %s (+) is another than by number (-)\n%s", tab.name, id, what, d)
				}
			}
		}
		// Of snapshots of the very same watermark the reference takes any.
		for _, w := range []int{0, 999, 1001, 1999, 2001, 2999, 3001} {
			tab.sameState(t, "by watermark", map[string]string{"scan.watermark": fmt.Sprint(w)})
			tab.sameState(t, "by watermark as a version", map[string]string{"scan.version": fmt.Sprintf("watermark-%d", w)})
		}
		for _, name := range tags {
			tab.sameState(t, "by tag", map[string]string{"scan.tag-name": name})
			tab.sameState(t, "by tag as a version", map[string]string{"scan.version": name})
		}
	}
}

// TestExpiry lets each side expire the snapshots of the same table, with tags, a consumer and a branch: the same
// files are left. Then the tags go, and what is left is what Java leaves, with no orphan.
func TestExpiry(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	turn := turns(here, java)
	for kind, d := range upkeepTables() {
		origin := l.create(t, turn(), "d.expire_"+kind, d)
		tags := origin.live(t, d, turn)
		origin.Do(t, tarntest.Command{"op": "streamread", "table": origin.name, "options": tarntest.Command{"consumer-id": "java", "scan.snapshot-id": "6", "scan.mode": "from-snapshot"}, "ackConsumer": true, "maxPlans": 1})
		if err := origin.open(t).PutConsumer(t.Context(), "here", 8); err != nil {
			t.Fatal(err)
		}
		states := map[string][]string{}
		for _, tag := range tags {
			states[tag] = origin.sameState(t, "before", map[string]string{"scan.tag-name": tag})
		}
		now := origin.same(t, "before", nil)
		var copies [2]table
		for i, by := range sides {
			copies[i] = origin.copied(t, fmt.Sprintf("d.expire_%s_%s", kind, by))
		}
		for _, step := range []struct {
			name string
			do   func(tab table, by side)
		}{
			{"three snapshots expired", func(tab table, by side) {
				latest, err := tab.open(t).LatestSnapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				tab.expire(t, by, int(latest.ID)-3)
			}},
			{"up to the consumers", func(tab table, by side) { tab.expire(t, by, 1) }},
			{"up to a consumer of ours", func(tab table, by side) {
				if err := tab.open(t).DeleteConsumer(t.Context(), "java"); err != nil {
					t.Fatal(err)
				}
				tab.expire(t, by, 1)
			}},
			{"tag in the middle deleted", func(tab table, by side) { tab.deleteTag(t, by, tags[1]) }},
			{"all but one", func(tab table, by side) {
				if err := tab.open(t).DeleteConsumer(t.Context(), "here"); err != nil {
					t.Fatal(err)
				}
				tab.expire(t, by, 1)
			}},
			{"first tag deleted", func(tab table, by side) { tab.deleteTag(t, by, tags[0]) }},
			{"all tags deleted", func(tab table, by side) { tab.deleteTag(t, by, tags[3]); tab.deleteTag(t, by, tags[2]) }},
		} {
			for i, by := range sides {
				step.do(copies[i], by)
			}
			if d := differences(copies[1].onDisk(t), copies[0].onDisk(t)); d != "" {
				t.Errorf("%s, %s: files left by Java (-), by tarn (+)\n%s", kind, step.name, d)
			}
			if t.Failed() {
				return
			}
			for _, tab := range copies {
				tab.same(t, step.name, now)
				for _, tag := range tags {
					if _, err := os.Stat(filepath.Join(tab.dir(t), "tag", "tag-"+tag)); err == nil {
						if d := differences(states[tag], tab.sameState(t, step.name, map[string]string{"scan.tag-name": tag})); d != "" {
							t.Errorf("%s, %s: tag %s has other rows\n%s", tab.name, step.name, tag, d)
						}
					}
				}
				tab.sound(t)
			}
		}
		for i, tab := range copies {
			before := tab.onDisk(t)
			if o, err := tab.open(t).Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(o) > 0 {
				t.Errorf("%s: orphans are left: %v, %v", tab.name, o, err)
			}
			tab.Do(t, tarntest.Command{"op": "orphan", "table": tab.name})
			if d := differences(before, tab.onDisk(t)); d != "" {
				t.Errorf("%s: Java takes files for orphans\n%s", tab.name, d)
			}
			tab.write(t, !sides[i], inserts(`{"k":1000,"p":"a","v":1}`)...)
			tab.same(t, "written after all", nil)
		}
	}
}

func (tab table) deleteTag(t testing.TB, by side, name string) {
	t.Helper()
	if by == java {
		tab.Do(t, tarntest.Command{"op": "deleteTag", "table": tab.name, "name": name})
	} else if err := tab.open(t).DeleteTag(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}
