package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// commitAs commits rows under an identity, and gives the number of the newest snapshot.
func (tab table) commitAs(t testing.TB, by side, id tarn.CommitID, rows ...row) {
	t.Helper()
	if by == java {
		cmd := tarntest.Command{"op": "write", "table": tab.name, "rows": javaRows(rows), "commitUser": id.User, "commitIdentifier": id.Number}
		if id.Watermark != nil {
			cmd["watermark"] = *id.Watermark
		}
		if id.Props != nil {
			cmd["properties"] = id.Props
		}
		tab.Do(t, cmd)
		return
	}
	x := tab.open(t)
	w, err := x.NewWriter(t.Context(), &tarn.WriterOptions{User: id.User, WaitCompaction: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(t.Context(), batchOf(t, tab.fields(t), rows)); err != nil {
		t.Fatal(err)
	}
	p, err := w.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.Commit(t.Context(), id, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Done(r); err != nil {
		t.Fatal(err)
	}
}

// dir is the folder of the table.
func (tab table) dir(t testing.TB) string {
	t.Helper()
	return strings.TrimPrefix(tab.open(t).Path(), "file://")
}

// snapshotFiles reads what the files of the snapshots say, without names, sizes and times, which nobody
// can foretell, and without the identity of commits that gave none.
func (tab table) snapshotFiles(t testing.TB) []string {
	t.Helper()
	var out []string
	dir := tab.dir(t)
	for id := 1; ; id++ {
		data, err := os.ReadFile(filepath.Join(dir, "snapshot", fmt.Sprintf("snapshot-%d", id)))
		if os.IsNotExist(err) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		for k, v := range m {
			switch k {
			case "baseManifestList", "deltaManifestList", "changelogManifestList", "indexManifest", "statistics":
				name := v.(string)
				m[k] = name[:strings.IndexByte(name, '-')]
			case "baseManifestListSize", "deltaManifestListSize", "changelogManifestListSize", "timeMillis":
				m[k] = "*"
			}
		}
		if user := m["commitUser"].(string); len(user) > 2 {
			m["commitUser"], m["commitIdentifier"] = "*", "*"
		}
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
}

// TestCommitMetadata lets the sides make the same commits, alone and in turn: what the snapshots say is the
// same, whoever wrote which.
func TestCommitMetadata(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	mark := func(n int64) *int64 { return &n }
	for kind, d := range map[string]definition{
		"keys":   {key: []string{"p", "k"}, partitions: []string{"p"}, options: map[string]string{"bucket": "1", "write-only": "true"}},
		"append": {partitions: []string{"p"}, options: map[string]string{"write-only": "true"}},
		"queue":  {options: map[string]string{"bucket": "2", "bucket-key": "k", "write-only": "true"}},
		"rows":   {options: map[string]string{"row-tracking.enabled": "true"}},
	} {
		d.columns = []column{{name: "k", typ: "INT NOT NULL"}, {name: "p", typ: "STRING NOT NULL"}, {name: "v", typ: "INT"}}
		var first []string
		var rows []string
		for n, order := range [][]side{{java}, {here}, {java, here}, {here, java}} {
			turn := turns(order...)
			who := []string{"Java", "tarn", "both, Java first", "both, tarn first"}[n]
			tab := l.create(t, turn(), fmt.Sprintf("d.%s%d", kind, n), d)
			ins := func(from, to int) []row {
				var out []row
				for k := from; k < to; k++ {
					out = append(out, row{object: fmt.Sprintf(`{"k":%d,"p":"%c","v":%d}`, k, 'a'+k%2, k)})
				}
				if d.key != nil && from > 0 {
					out[0].kind = "-D"
				}
				return out
			}
			tab.commitAs(t, turn(), tarn.CommitID{User: "u1", Number: 1, Watermark: mark(100), Props: map[string]string{"a": "1", "é": ""}}, ins(0, 5)...)
			tab.commitAs(t, turn(), tarn.CommitID{User: "u1", Number: 2}, ins(3, 8)...)
			tab.commitAs(t, turn(), tarn.CommitID{User: "u2", Number: 1, Watermark: mark(50)}, ins(5, 9)...)
			tab.Do(t, tarntest.Command{"op": "analyze", "table": tab.name})
			tab.commitAs(t, turn(), tarn.CommitID{User: "u1", Number: 7, Watermark: mark(-9223372036854775808)}, ins(1, 4)...)
			tab.commitAs(t, turn(), tarn.CommitID{User: "u2", Number: 9223372036854775807}, ins(6, 9)...)
			x, err := tab.open(t).With(t.Context(), map[string]string{"write-only": "false"})
			if err != nil {
				t.Fatal(err)
			}
			if turn() == java || kind == "rows" {
				tab.Do(t, tarntest.Command{"op": "compact", "table": tab.name, "commitUser": "compactor", "ignoreEmpty": true})
			} else if _, err := x.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
				t.Fatal(err)
			}
			if kind == "rows" { // they keep their ids
				tab.same(t, "compacted", nil)
				tab.sameSystem(t, "compacted", true)
				ids := map[string]bool{}
				for _, r := range tab.Read(t, tab.name+"$row_tracking", tarntest.Command{"columns": []string{"_ROW_ID"}}) {
					ids[string(r)] = true
				}
				if len(ids) != 20 {
					t.Errorf("%s: %d ids of 20 rows: %v", who, len(ids), ids)
				}
				if _, err := x.Compact(t.Context(), tarn.CompactOptions{Full: true}); !errors.Is(err, tarn.ErrUnsupported) {
					t.Errorf("rows with ids are compacted: %v", err)
				}
			}
			tab.commitAs(t, turn(), tarn.CommitID{User: "u3", Number: 4, Watermark: mark(200)}, ins(2, 5)...)
			tab.alter(t, turn(), addColumn("w", "INT", "", ""))
			tab.commitAs(t, turn(), tarn.CommitID{User: "u1", Number: 8, Props: map[string]string{"b": "2"}}, ins(2, 5)...)
			tab.Do(t, tarntest.Command{"op": "analyze", "table": tab.name})
			tab.overwrite(t, turn(), nil, false, ins(2, 3)...)
			if turn() == java {
				tab.Do(t, tarntest.Command{"op": "truncate", "table": tab.name})
			} else if _, err := tab.open(t).Truncate(t.Context()); err != nil {
				t.Fatal(err)
			}
			tab.commitAs(t, turn(), tarn.CommitID{User: "u1", Number: 9}, ins(0, 3)...)
			got, read := tab.snapshotFiles(t), tab.same(t, who, nil)
			tab.sound(t)
			if first == nil {
				first, rows = got, read
				continue
			}
			for i := range max(len(first), len(got)) {
				want, have := "", ""
				if i < len(first) {
					want = first[i]
				}
				if i < len(got) {
					have = got[i]
				}
				if want != have {
					t.Errorf("%s, snapshot %d: by Java alone and by %s\n\t%s\n\t%s", kind, i+1, who, want, have)
				}
			}
			if !slices.Equal(read, rows) {
				t.Errorf("%s: rows written by Java and by %s\n%s", kind, who, differences(rows, read))
			}
		}
	}
}

// TestRepeatedCommits lets one side prepare what the other commits under the same identity: it is not
// committed again.
func TestRepeatedCommits(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for _, key := range []bool{true, false} {
		d := definition{columns: []column{{name: "k", typ: "INT NOT NULL"}, {name: "v", typ: "INT"}}, options: map[string]string{}}
		if key {
			d.key, d.options["bucket"] = []string{"k"}, "1"
		}
		tab := l.create(t, java, fmt.Sprintf("d.repeat%t", key), d)
		rows := inserts(`{"k":1,"v":1}`, `{"k":2,"v":2}`)
		tab.write(t, here, inserts(`{"k":7,"v":7}`)...)

		x := tab.open(t)
		w, err := x.NewWriter(t.Context(), &tarn.WriterOptions{User: "job"})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), batchOf(t, tab.fields(t), rows)); err != nil {
			t.Fatal(err)
		}
		p, err := w.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tab.commitAs(t, java, tarn.CommitID{User: "job", Number: 5}, rows...)
		tab.write(t, java, inserts(`{"k":8,"v":8}`)...)
		r, err := x.Commit(t.Context(), tarn.CommitID{User: "job", Number: 5}, p)
		if err != nil || !r.Repeated {
			t.Errorf("what Java committed is committed again: %+v, %v", r, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}

		tab.Do(t, tarntest.Command{"op": "write", "table": tab.name, "rows": javaRows(rows), "commitUser": "job", "commitIdentifier": 6, "hold": "h"})
		tab.commitAs(t, here, tarn.CommitID{User: "job", Number: 6}, rows...)
		tab.write(t, here, inserts(`{"k":9,"v":9}`)...)
		var done struct{ Committed int }
		if err := json.Unmarshal(tab.Do(t, tarntest.Command{"op": "commitHeld", "table": tab.name, "hold": "h", "filter": true})[0].Raw, &done); err != nil || done.Committed != 0 {
			t.Errorf("Java commits again what tarn committed: %d, %v", done.Committed, err)
		}
		want := 7
		if key {
			want = 5
		}
		if got := tab.same(t, "repeated", nil); len(got) != want {
			t.Errorf("%d rows, want %d: %v", len(got), want, got)
		}
	}
}
