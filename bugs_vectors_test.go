package tarn_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
)

// deleteRows deletes the rows of a table without a key that a condition chooses.
func deleteRows(t *testing.T, tab *tarn.Table, where string) {
	t.Helper()
	f, err := tab.Fields()
	if err != nil {
		t.Fatal(err)
	}
	filter, err := predicate.Parse(where, f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := begun(t, tab, filter).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// B081: with deletion vectors, too, the row with the greater sequence stays, whichever was written later.
func TestVectorsKeepTheSequence(t *testing.T) {
	for _, producer := range []string{"none", "lookup"} {
		tab := declare(t, open(t), "d.t", "k! INT, s INT, v STRING", "", opts{"deletion-vectors.enabled": "true", "sequence.field": "s", "changelog-producer": producer})
		put(t, tab, []string{`[1,1,"a"]`, `[2,1,"b"]`}, []string{`[1,2,"c"]`, `[2,2,"d"]`}, []string{`[1,3,"e"]`, `[2,1,"f"]`})
		mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", `[1,3,"e"]`, `[2,2,"d"]`) })
	}
}

// B082: with deletion vectors rows are folded once, and a stream from any snapshot on gives its rows and each change.
func TestVectorsOfFoldedRows(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT, v INT", "", opts{
		"deletion-vectors.enabled": "true", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "changelog-producer": "lookup",
	})
	put(t, tab, []string{"[1,9]", "[2,2]", "[3,3]", "[4,4]"}, []string{"[2,1]", "[3,1]"}, []string{"[2,1]", "[4,1]"})
	want := []string{"[1,9]", "[2,4]", "[3,4]", "[4,5]"}
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", want...) })
	ids, err := tab.Snapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		p, err := tab.Scan(tarn.ScanOptions{}).Start(t.Context(), id)
		state := map[int]string{}
		replay(t, state, told(t, p, err))
		replay(t, state, followed(t, tab, tarn.ScanOptions{}, id))
		if len(state) != 4 || state[2] != `{"k":2,"v":4}` || state[4] != `{"k":4,"v":5}` {
			t.Errorf("from snapshot %d on: %v", id, state)
		}
	}
}

// B085: files that are compacted away leave no vectors, and a tag keeps its own.
func TestVectorsGoWithTheirFiles(t *testing.T) {
	for key, o := range map[string]opts{"": {"bucket": "-1"}, "k": {"bucket": "1"}} {
		o["deletion-vectors.enabled"] = "true"
		tab := declare(t, open(t), "d.t", "k INT, v INT", key, o)
		put(t, tab, []string{"[1,1]", "[2,2]", "[3,3]", "[4,4]"})
		if key == "" {
			deleteRows(t, tab, "k <= 2")
		} else {
			compact(t, tab)
			put(t, tab, []string{"-D[1,1]", "-D[2,2]"})
		}
		if err := tab.CreateTag(t.Context(), "kept", 0); err != nil {
			t.Fatal(err)
		}
		compact(t, tab)
		same(t, tab, "", "", "[3,3]", "[4,4]")
		if _, err := tab.ExpireSnapshots(t.Context(), tarn.ExpireOptions{RetainMin: 1, RetainMax: 1}); err != nil {
			t.Fatal(err)
		}
		tagged, err := tab.With(t.Context(), map[string]string{"scan.tag-name": "kept"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, tab, "", "", "[3,3]", "[4,4]")
		if got := read(t, tagged, tarn.ScanOptions{}); len(got) != 2 {
			t.Errorf("key %q: by the tag %q", key, got)
		}
		if r, err := tab.Check(t.Context()); err != nil || len(r.Problems) > 0 {
			t.Errorf("key %q: %v %v", key, r.Problems, err)
		}
	}
}

// B086: a row that another process deletes stays deleted, whatever a writer does that had the bucket open before.
func TestVectorsOfAnotherProcess(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT, v INT", "", opts{"deletion-vectors.enabled": "true"})
	put(t, tab, []string{"[1,1]", "[7,7]", "[9,9]"})
	compact(t, tab)
	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	row := func(k int) {
		t.Helper()
		if err := w.Write(t.Context(), rows(t, tab, fmt.Sprintf(`{"k":%d,"v":1}`, k))); err != nil {
			t.Fatal(err)
		}
	}
	row(1)
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, tab, []string{"-D[7,7]"})
	for k := 2; k < 6; k++ {
		row(k)
		if _, err := w.Commit(t.Context()); err != nil && !errors.Is(err, tarn.ErrConflict) {
			t.Fatal(err)
		}
	}
	same(t, tab, "", "k = 7")
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "k >= 7", "[9,9]") })
}

// B089: rows that a file index chooses are chosen by their places in the file, of which a vector leaves out some.
func TestVectorsAndFileIndexes(t *testing.T) {
	for _, wide := range []string{"false", "true"} {
		tab := declare(t, open(t), "d.t", "id INT, c INT", "", opts{"bucket": "-1", "deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": wide, "file-index.bitmap.columns": "c"})
		put(t, tab, []string{"[10,1]", "[11,2]", "[12,1]", "[13,2]"})
		deleteRows(t, tab, "id = 10")
		same(t, tab, "id", "c = 1", "[12]")
		same(t, tab, "id", "c = 2", "[11]", "[13]")
		same(t, tab, "id", "c > 0", "[11]", "[12]", "[13]")
	}
}

// Without a vector nobody can tell which rows are deleted: reads, compactions and deletes say so, with the file.
func TestVectorsLost(t *testing.T) {
	for _, key := range []string{"", "k"} {
		for _, how := range []string{"lost", "cut off", "damaged"} {
			o := opts{"bucket": "1", "deletion-vectors.enabled": "true", "num-sorted-run.compaction-trigger": "100", "compaction.min.file-num": "2"}
			if key == "" {
				o["bucket"] = "-1"
			}
			tab := declare(t, open(t), "d.t", "k INT, v INT", key, o)
			put(t, tab, []string{"[1,1]", "[2,2]", "[3,3]"})
			if key == "" {
				put(t, tab, []string{"[4,4]"})
				deleteRows(t, tab, "k = 2")
			} else {
				compact(t, tab)
				put(t, tab, []string{"[2,20]"})
			}
			files, err := filepath.Glob(filepath.Join(tab.Path(), "index", "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("key %q: index files %v, %v", key, files, err)
			}
			data, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			switch how {
			case "lost":
				err = os.Remove(files[0])
			case "cut off":
				err = os.WriteFile(files[0], data[:len(data)-4], 0o666)
			case "damaged":
				data[len(data)-6] ^= 0x55
				err = os.WriteFile(files[0], data, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			if tab, err = tab.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			says := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), filepath.Base(files[0])) || !strings.Contains(err.Error(), "deletion vector") {
					t.Errorf("key %q, a vector is %s: %s: %v", key, how, what, err)
				}
			}
			p, err := tab.Scan(tarn.ScanOptions{}).Plan(t.Context())
			if err == nil {
				for _, err = range p.Batches(t.Context()) {
					if err != nil {
						break
					}
				}
			}
			says("read", err)
			_, err = tab.Compact(t.Context(), tarn.CompactOptions{Full: true})
			says("compact", err)
			r, err := tab.Check(t.Context())
			if err != nil || how == "lost" && !strings.Contains(fmt.Sprint(r.Problems), filepath.Base(files[0])) {
				t.Errorf("key %q, a vector is %s: check: %+v, %v", key, how, r, err)
			}
		}
	}
}

// B079: one compaction sees what lies in level 0, though readers pass it over, and shows it.
func TestCompactShowsLevelZero(t *testing.T) {
	for name, o := range map[string]opts{
		"vectors": {"deletion-vectors.enabled": "true"}, "first-row": {"merge-engine": "first-row"}, "lookup": {"changelog-producer": "lookup"},
	} {
		for _, full := range []bool{true, false} {
			o["write-only"] = "true"
			tab := declare(t, open(t), "d.t", "k! INT, v INT", "", o)
			put(t, tab, []string{"[1,1]"}, []string{"[2,2]"}, []string{"[3,3]"})
			now, err := tab.With(t.Context(), map[string]string{"write-only": "false"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := now.Compact(t.Context(), tarn.CompactOptions{Full: full}); err != nil {
				t.Fatal(err)
			}
			if same(t, tab, "", "", "[1,1]", "[2,2]", "[3,3]"); t.Failed() {
				t.Fatalf("%s, full: %v", name, full)
			}
		}
	}
}
