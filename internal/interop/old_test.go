package interop

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
)

// TestTablesOfOldReleases goes on with tables of all releases since 0.4: a row is written, columns are added, all is compacted
// and expired where the files can be read, and the reference of today reads the rows that were there and the new ones.
func TestTablesOfOldReleases(t *testing.T) {
	t.Parallel()
	written, compacted := map[string]int{}, 0
	for _, c := range golden.Cases(t, tarntest.Root(t)) {
		version, ok := strings.CutPrefix(c.ID, "tables/versions/v")
		if !ok || strings.HasSuffix(version, "-b") || version == tarntest.OracleVersion {
			continue
		}
		warehouse := c.Unpack(t)
		cat, err := tarn.Open(t.Context(), warehouse, &tarn.OpenOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		o, ok := tarntest.StartOracle(t, "", warehouse)
		if !ok {
			return
		}
		dirs, err := filepath.Glob(filepath.Join(warehouse, "v.db", "*", "snapshot"))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			tab := table{lake: lake{o, cat}, name: "v." + filepath.Base(filepath.Dir(dir))}
			a := tab.TryDo(t, tarntest.Command{"op": "read", "table": tab.name})[0]
			if !a.OK && strings.Contains(a.Error, "bucket-key") {
				continue // the reference of today refuses them
			}
			what := version + " " + tab.name
			before := tab.onDisk(t)
			want := tab.goOn(t, a.Rows, inserts(rowOf(tab.fields(t), 1, nil)))
			if want == nil {
				if d := differences(before, tab.onDisk(t)); d != "" {
					t.Errorf("%s: what is refused leaves files\n%s", what, d)
				}
				continue
			}
			written[version]++
			tab.javaSees(t, what+", written", want)
			tab.alter(t, here, addColumn("later", "INT", "", ""))
			for i := range want {
				want[i] = strings.TrimSuffix(want[i], "}") + `,"later":null}`
			}
			tab.javaSees(t, what+", changed", want)
			if _, err := tab.open(t).Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
				if !errors.Is(err, tarn.ErrUnsupported) {
					t.Errorf("%s: %v", what, err)
				}
				continue
			}
			tab.same(t, what+", compacted", want)
			tab.expire(t, here, 1)
			tab.same(t, what+", expired", want)
			tab.compact(t, java)
			tab.write(t, java, inserts(rowOf(tab.fields(t), 1, nil))...)
			tab.same(t, what+", written by Java", nil)
			tab.sound(t)
			compacted++
		}
	}
	for _, v := range []string{"0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.2", "0.9.0", "1.0.0"} {
		if written[v] < 2 {
			t.Errorf("%d tables of %s written", written[v], v)
		}
	}
	if compacted < 4 {
		t.Errorf("%d tables compacted", compacted)
	}
}

// goOn writes a row in Parquet files and gives the rows that the table has to have after it, in canonical form; nil if the
// table is refused by name.
func (tab table) goOn(t *testing.T, had []json.RawMessage, rows []row) []string {
	t.Helper()
	x, err := tab.open(t).With(t.Context(), map[string]string{"file.format": "parquet"})
	if err != nil {
		t.Fatal(err)
	}
	fields := tab.fields(t)
	w, err := x.NewWriter(t.Context(), nil)
	if errors.Is(err, tarn.ErrUnsupported) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(t.Context(), batchOf(t, fields, rows)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); errors.Is(err, tarn.ErrUnsupported) {
		return nil // a table with deletion vectors has to look up its old rows
	} else if err != nil {
		t.Fatal(err)
	}
	want := canonical(t, fields, [][]byte{[]byte(rows[0].object)})
	key := func(r string) string {
		m := members(t, r)
		var k []string
		for _, n := range x.PrimaryKeys() {
			k = append(k, m[n])
		}
		return strings.Join(k, "|")
	}
	fresh := key(want[0])
	for _, line := range had {
		var r struct{ Row json.RawMessage }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if old := canonical(t, fields, [][]byte{r.Row})[0]; !x.HasPrimaryKey() || key(old) != fresh {
			want = append(want, old)
		}
	}
	return want
}

// javaSees compares what the reference reads.
func (tab table) javaSees(t *testing.T, what string, want []string) {
	t.Helper()
	if d := differences(slices.Sorted(slices.Values(want)), tab.seen(t, java, nil)); d != "" {
		t.Errorf("%s: wanted (-), read by Java (+)\n%s", what, d)
	}
}
