package interop

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
)

// TestTablesWithIndexes: tables of the reference with files beside the data files: deletion vectors, hash indexes, indexes of
// data files, rows without a bucket. Each side expires the same table step by step and leaves the same files; commits of
// ours are refused by name and leave nothing, or both sides read the same rows after them.
func TestTablesWithIndexes(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for kind, x := range map[string]struct {
		key        []string
		partitions []string
		options    map[string]string
		refused    string
	}{
		"append":    {nil, []string{"p"}, map[string]string{"deletion-vectors.enabled": "true"}, ""},
		"beside":    {nil, []string{"p"}, map[string]string{"deletion-vectors.enabled": "true", "index-file-in-data-file-dir": "true"}, ""},
		"queue":     {nil, nil, map[string]string{"deletion-vectors.enabled": "true", "bucket": "2", "bucket-key": "k"}, ""},
		"keys":      {[]string{"p", "k"}, []string{"p"}, map[string]string{"deletion-vectors.enabled": "true", "bucket": "2"}, ""},
		"dynamic":   {[]string{"p", "k"}, []string{"p"}, map[string]string{"bucket": "-1", "dynamic-bucket.target-row-num": "3"}, ""},
		"postponed": {[]string{"p", "k"}, nil, map[string]string{"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}, ""},
		"of files":  {nil, []string{"p"}, map[string]string{"file-index.bloom-filter.columns": "v", "file-index.bitmap.columns": "k", "file-index.in-manifest-threshold": "1 b"}, ""},
	} {
		if (kind == "append" || kind == "queue") && !tarntest.Size().Product { // like the others
			continue
		}
		d := definition{
			columns: []column{{name: "k", typ: "INT NOT NULL"}, {name: "p", typ: "STRING NOT NULL"}, {name: "v", typ: "INT"}},
			key:     x.key, partitions: x.partitions, options: x.options,
		}
		d.options["snapshot.num-retained.min"], d.options["snapshot.num-retained.max"] = "100", "200" // nothing goes by itself
		origin := l.create(t, java, "d.index_"+strings.ReplaceAll(kind, " ", "_"), d)
		origin.indexed(t, d)
		origin.sound(t)
		rows := origin.Read(t, origin.name)
		latest, err := origin.open(t).LatestSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var copies [2]table
		for i, by := range sides {
			copies[i] = origin.copied(t, fmt.Sprintf("%s_%s", origin.name, by))
		}
		step := func(name string, do func(tab table, by side)) {
			for i, by := range sides {
				do(copies[i], by)
			}
			if d := differences(copies[1].onDisk(t), copies[0].onDisk(t)); d != "" {
				t.Errorf("%s, %s: files left by Java (-), by tarn (+)\n%s", kind, name, d)
			}
			for _, tab := range copies {
				if got := tab.Read(t, tab.name); fmt.Sprint(got) != fmt.Sprint(rows) {
					t.Errorf("%s, %s: Java reads %s, want %s", tab.name, name, got, rows)
				}
				if o, err := tab.open(t).Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(o) > 0 {
					t.Errorf("%s, %s: orphans %v, %v", tab.name, name, o, err)
				}
				tab.sound(t)
			}
		}
		step("some expired", func(tab table, by side) { tab.expire(t, by, int(latest.ID)-5) })
		step("all but one expired", func(tab table, by side) { tab.expire(t, by, 1) })
		step("tag in the middle deleted", func(tab table, by side) { tab.deleteTag(t, by, "t1") })
		step("all tags deleted", func(tab table, by side) { tab.deleteTag(t, by, "t0"); tab.deleteTag(t, by, "t2") })
		for what, work := range map[string]func() error{
			"written": func() error { return origin.tryWrite(t, `{"k":1000,"p":"a","v":1}`) },
			"compacted": func() error {
				_, err := origin.open(t).Compact(t.Context(), tarn.CompactOptions{Full: true})
				return err
			},
			"overwritten": func() error { return origin.tryOverwrite(t, `{"k":2000,"p":"a","v":1}`) },
			"truncated":   func() error { _, err := origin.open(t).Truncate(t.Context()); return err },
		} {
			before := origin.onDisk(t)
			err := work()
			switch {
			case x.refused == "" && err == nil:
				origin.same(t, what, nil)
			case x.refused == "" || !errors.Is(err, tarn.ErrUnsupported) || !strings.Contains(err.Error(), x.refused):
				t.Errorf("%s, %s: %v, want refused: %q", kind, what, err, x.refused)
			case !slices.Equal(before, origin.onDisk(t)):
				t.Errorf("%s: what is refused leaves files\n%s", kind, differences(before, origin.onDisk(t)))
			}
		}
	}
}

// indexed fills a table by the reference, with rows deleted in all ways, tags t0, t1 and t2, and statistics.
func (tab table) indexed(t *testing.T, d definition) {
	t.Helper()
	ins := d.numbered
	del := func(k int) {
		if d.key == nil && d.options["deletion-vectors.enabled"] != "" {
			tab.Do(t, tarntest.Command{"op": "dvDelete", "table": tab.name, "where": tarntest.Command{"op": "=", "field": "k", "value": k}})
		}
	}
	tag := func(name string) { tab.Do(t, tarntest.Command{"op": "tag", "table": tab.name, "name": name}) }
	tab.write(t, java, ins(0, 9)...)
	tab.write(t, java, ins(5, 14)...)
	del(3)
	tag("t0")
	tab.write(t, java, ins(8, 20)...)
	del(6)
	tab.compact(t, java)
	tag("t1")
	tab.Do(t, tarntest.Command{"op": "analyze", "table": tab.name})
	tab.write(t, java, ins(2, 9)...)
	del(4)
	tab.overwrite(t, java, nil, false, ins(0, 2)...)
	tab.write(t, java, ins(20, 30)...)
	del(22)
	tag("t2")
	tab.compact(t, java)
	tab.write(t, java, ins(7, 9)...)
}

func (tab table) tryWrite(t *testing.T, object string) error {
	w, err := tab.open(t).NewWriter(t.Context(), &tarn.WriterOptions{WaitCompaction: true})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Write(t.Context(), batchOf(t, tab.fields(t), inserts(object))); err != nil {
		return err
	}
	_, err = w.Commit(t.Context())
	return err
}

func (tab table) tryOverwrite(t *testing.T, object string) error {
	var rows iter.Seq2[tarn.Batch, error] = func(yield func(tarn.Batch, error) bool) {
		yield(batchOf(t, tab.fields(t), inserts(object)), nil)
	}
	_, err := tab.open(t).Overwrite(t.Context(), tarn.OverwriteOptions{}, rows)
	return err
}

// TestSystemTablesOfGolden compares the system tables of tables that stand for what tarn does not write itself: older
// releases, rows without a bucket, files elsewhere, indexes, rows with ids.
func TestSystemTablesOfGolden(t *testing.T) {
	t.Parallel()
	for _, c := range golden.Cases(t, tarntest.Root(t)) {
		switch c.ID {
		case "tables/versions/v0.6.0", "tables/versions/v0.8.2", "tables/bucket/postpone", "tables/bucket/dynamic", "tables/files/external", "tables/index/several", "tables/features/row-tracking":
		default:
			continue
		}
		warehouse := c.Unpack(t)
		cat, err := tarn.Open(t.Context(), warehouse, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, ok := tarntest.StartOracle(t, "", warehouse)
		if !ok {
			return
		}
		seen := 0
		dirs, err := filepath.Glob(filepath.Join(warehouse, "*.db", "*", "schema"))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			dir = filepath.Dir(dir)
			name := strings.TrimSuffix(filepath.Base(filepath.Dir(dir)), ".db") + "." + filepath.Base(dir)
			tab := table{lake: lake{o, cat}, name: name}
			if a := tab.TryDo(t, tarntest.Command{"op": "read", "table": name + "$options"}); !a[0].OK && strings.Contains(a[0].Error, "bucket-key") {
				continue // the reference of today refuses them
			}
			tab.sameSystem(t, c.ID, false) // TestGolden reads their rows
			if _, err := os.Stat(filepath.Join(dir, "snapshot")); err == nil {
				seen++
			}
		}
		if seen == 0 {
			t.Errorf("%s: no tables", c.ID)
		}
	}
}
