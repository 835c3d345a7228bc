package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// fileMeta is what a manifest says of a data file and does not depend on who wrote it.
type fileMeta struct {
	Kind                         string
	Partition                    json.RawMessage
	Bucket, TotalBuckets         int
	RowCount                     int64
	MinSequenceNumber            int64
	MaxSequenceNumber            int64
	SchemaID, Level              int64
	DeleteRowCount               *int64
	FileSource                   *string
	ValueStatsCols, WriteCols    []string
	MinKey, MaxKey               json.RawMessage
	KeyStats, ValueStats         statistics
	ExtraFiles                   []string
	EmbeddedIndexBytes, FirstRow *int64
}

type statistics struct {
	Arity      int
	Min, Max   map[string]json.RawMessage
	NullCounts []*int64
}

// files gives the metadata of the data files, as the reference reads them.
func (tab table) files(t testing.TB) []fileMeta {
	t.Helper()
	var out []fileMeta
	for _, line := range tab.Do(t, tarntest.Command{"op": "dump", "table": tab.name, "sort": true, "snapshotJson": false})[0].Rows {
		var f fileMeta
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b fileMeta) int {
		return slices.Compare([]int64{int64(a.Bucket), a.Level, a.MinSequenceNumber, a.RowCount}, []int64{int64(b.Bucket), b.Level, b.MinSequenceNumber, b.RowCount})
	})
	return out
}

// TestStatistics lets both sides write and compact the same rows, and compares what the manifests say of
// their files, for every type and every mode of statistics.
func TestStatistics(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	cols := []column{{name: "k", typ: "INT NOT NULL"}}
	for i, a := range atomicTypes() {
		cols = append(cols, column{name: fmt.Sprintf("c%d", i), typ: a}, column{name: fmt.Sprintf("n%d", i), typ: a + " NOT NULL"})
	}
	for i, n := range []string{"ARRAY<INT>", "MAP<INT NOT NULL,STRING>", "MULTISET<STRING NOT NULL>", "ROW<a INT,b ROW<c STRING>>"} {
		cols = append(cols, column{name: fmt.Sprintf("deep%d", i), typ: n})
	}
	cols = append(cols, column{name: "empty", typ: "INT"}, column{name: "none", typ: "STRING"}, column{name: "z", typ: "STRING"})
	for n, options := range []map[string]string{
		{"metadata.stats-mode": "none"},
		{"metadata.stats-mode": "counts"},
		{"metadata.stats-mode": "truncate(16)"},
		{"metadata.stats-mode": "full"},
		{"metadata.stats-mode": "truncate(1)"},
		{"metadata.stats-mode": "full", "metadata.stats-dense-store": "false"},
		{"metadata.stats-mode": "none", "metadata.stats-dense-store": "false"},
		{"fields.z.stats-mode": "full", "fields.c0.stats-mode": "none", "fields.n18.stats-mode": "counts"},
		{"metadata.stats-keep-first-n-columns": "5"},
		{"metadata.stats-mode-per-level": "0:none", "metadata.stats-mode": "full"},
		{"file.format": "avro"},
		{"file.format": "avro", "metadata.stats-mode": "full"},
	} {
		cols := cols
		if options["file.format"] == "avro" {
			cols = slices.DeleteFunc(slices.Clone(cols), func(c column) bool { return avroLacks(c.typ) })
		}
		for _, key := range []bool{true, false} {
			if !key && n%3 != 2 && !tarntest.Size().Product { // mostly the same code
				continue
			}
			d := definition{columns: cols, options: map[string]string{}}
			for k, v := range options {
				d.options[k] = v
			}
			if d.options["write-only"] = "true"; key {
				d.key, d.options["bucket"] = []string{"k"}, "1"
			}
			var made [2][]fileMeta
			for i, by := range sides {
				tab := l.create(t, by, fmt.Sprintf("d.s%d_%t_%s", n, key, by), d)
				for part := range 3 {
					var rows []row
					for k := part * 3; k < part*4+5; k++ {
						r := row{object: rowOf(tab.fields(t), k, map[string]string{"k": fmt.Sprint(k), "empty": "null", "none": `""`, "z": string(types.AppendJSONString(nil, string([]rune(longText)[k%3:])))})}
						if key && k%4 == 3 {
							r.kind = "-D"
						}
						rows = append(rows, r)
					}
					tab.write(t, by, rows...)
				}
				look := func() {
					files := tab.files(t)
					if !key { // writers of the reference number rows from 0 each
						for k := range files {
							files[k].MinSequenceNumber, files[k].MaxSequenceNumber = 0, 0
						}
						slices.SortFunc(files, func(a, b fileMeta) int { return int(a.RowCount - b.RowCount) })
					}
					made[i] = append(made[i], files...)
				}
				look()
				tab.compact(t, by)
				look()
			}
			if len(made[0]) != len(made[1]) {
				t.Errorf("%v, key %v: %d files, of Java %d", options, key, len(made[0]), len(made[1]))
				continue
			}
			for i := range made[0] {
				compareMeta(t, fmt.Sprintf("%v, key %v, file %d", options, key, i), made[0][i], made[1][i])
			}
		}
	}
}

func compareMeta(t *testing.T, what string, ours, theirs fileMeta) {
	t.Helper()
	for _, s := range []struct {
		name         string
		ours, theirs statistics
	}{{"keys", ours.KeyStats, theirs.KeyStats}, {"values", ours.ValueStats, theirs.ValueStats}} {
		for name, v := range s.theirs.Min {
			if string(s.ours.Min[name]) != string(v) || string(s.ours.Max[name]) != string(s.theirs.Max[name]) {
				t.Errorf("%s: statistics of %s: column %s has %s … %s, of Java %s … %s", what, s.name, name, s.ours.Min[name], s.ours.Max[name], v, s.theirs.Max[name])
			}
		}
	}
	ours.KeyStats.Min, ours.KeyStats.Max, ours.ValueStats.Min, ours.ValueStats.Max = nil, nil, nil, nil
	theirs.KeyStats.Min, theirs.KeyStats.Max, theirs.ValueStats.Min, theirs.ValueStats.Max = nil, nil, nil, nil
	a, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if d := differences([]string{string(b)}, []string{string(a)}); d != "" {
		t.Errorf("%s: Java (-) and tarn (+)\n%s", what, d)
	}
}
