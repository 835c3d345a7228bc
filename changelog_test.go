package tarn_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// clogs are the changelog files of a table, without their folder.
func clogs(t testing.TB, tab *tarn.Table) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(tab.Path(), "bucket-*", options.ChangelogPrefix.Get(options.Of(tab.Options(), 0))+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		out[i] = filepath.Base(out[i])
	}
	return out
}

// The changelog of the producer input is what was written: all versions of a row, also those that spilled, but not those
// that are ignored, in the order of the key and of one key as they came.
func TestChangelogInput(t *testing.T) {
	for option, more := range map[string][]string{
		"":                          {`1-U{"k":1,"v":"a"}`, `1+U{"k":1,"v":"b"}`, `1+I{"k":2,"v":"x"}`, `1-D{"k":2,"v":"x"}`},
		"ignore-delete=true":        {`1+U{"k":1,"v":"b"}`, `1+I{"k":2,"v":"x"}`},
		"ignore-update-before=true": {`1+U{"k":1,"v":"b"}`, `1+I{"k":2,"v":"x"}`, `1-D{"k":2,"v":"x"}`},
		"write-buffer-size=64 b":    {`1-U{"k":1,"v":"a"}`, `1+U{"k":1,"v":"b"}`, `1+I{"k":2,"v":"x"}`, `1-D{"k":2,"v":"x"}`},
		"write-buffer-size=64 b,write-buffer-spillable=false": {`1-U{"k":1,"v":"a"}`, `1+U{"k":1,"v":"b"}`, `1+I{"k":2,"v":"x"}`, `1-D{"k":2,"v":"x"}`},
	} {
		o := opts{"bucket": "1", "changelog-producer": "input", "write-only": "true"}
		for kv := range strings.SplitSeq(option, ",") {
			if k, v, ok := strings.Cut(kv, "="); ok {
				o[k] = v
			}
		}
		tab := declare(t, open(t), "d.t", "k INT, v STRING", "k", o)
		w, err := tab.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []string{`{"k":2,"v":"x"}`, `{"k":1,"v":"a"}`, `{"_kind":"-U","k":1,"v":"a"}`, `{"_kind":"+U","k":1,"v":"b"}`, `{"_kind":"-D","k":2,"v":"x"}`} {
			if err := w.Write(t.Context(), rows(t, tab, r)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := followed(t, tab, tarn.ScanOptions{}, 0)
		if strings.Contains(option, "spillable=false") { // file by file, in the order of keys in each
			slices.Sort(got)
			more = slices.Sorted(slices.Values(append(more, `1+I{"k":1,"v":"a"}`)))
		} else {
			more = append([]string{`1+I{"k":1,"v":"a"}`}, more...)
		}
		if !slices.Equal(got, more) {
			t.Errorf("%s: %q", option, got)
		}
		s, err := tab.LatestSnapshot(t.Context())
		if err != nil || s.ChangelogRecordCount == nil || *s.ChangelogRecordCount != int64(len(more)) {
			t.Errorf("%s: snapshot %+v, %v", option, s, err)
		}
	}
}

// Changelog files have a name, a compression and statistics of their own. Overwrites have no changelog, and writers that
// are given up leave no files of one.
func TestChangelogFiles(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k INT, v INT", "k", opts{
		"bucket": "1", "changelog-producer": "input", "changelog-file.prefix": "log_", "changelog-file.compression": "lz4", "changelog-file.stats-mode": "none",
		"file.suffix.include.compression": "true", "write-buffer-size": "100 b", "write-buffer-spillable": "false",
	})
	write(t, tab, []string{`{"k":1,"v":1}`})
	if got := clogs(t, tab); len(got) != 1 || !strings.HasSuffix(got[0], ".lz4.parquet") {
		t.Errorf("changelog files %v", got)
	}
	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := w.Write(t.Context(), rows(t, tab, `{"k":2,"v":1}`, `{"k":3,"v":1}`, `{"k":4,"v":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) {
		yield(rows(t, tab, `{"k":1,"v":2}`), nil)
	}); err != nil {
		t.Fatal(err)
	}
	if got := clogs(t, tab); len(got) != 1 {
		t.Errorf("changelog files %v after an overwrite and a writer that was closed", got)
	}
	if got := followed(t, tab, tarn.ScanOptions{}, 0); !slices.Equal(got, []string{`1+I{"k":1,"v":1}`}) {
		t.Errorf("changes %q", got)
	}
}

// replay applies changes, as followed gives them, to rows by their key. Each change has to fit to what is there.
func replay(t testing.TB, state map[int]string, changes []string) {
	t.Helper()
	for _, c := range changes {
		kind := c[strings.IndexAny(c, "+-"):][:2]
		object := c[strings.IndexByte(c, '{'):]
		var r struct{ K int }
		if err := json.Unmarshal([]byte(object), &r); err != nil {
			t.Fatal(err)
		}
		was, there := state[r.K]
		switch {
		case kind == "+I" && !there, kind == "+U":
			state[r.K] = object
		case kind == "-D" && was == object, kind == "-U" && was == object:
			delete(state, r.K)
		default:
			t.Fatalf("change %s of %q", c, was)
		}
	}
}

// The changelog of the producer full-compaction leads from each fully compacted state to the next, whatever came in between:
// compactions to other levels, files that are only moved, merges of more runs than are merged at once, other writers.
func TestChangelogFullCompaction(t *testing.T) {
	rnd := rand.New(rand.NewPCG(tarntest.Seed(t), 4))
	sequence := regexp.MustCompile(`"s":\d+,`)
	for _, more := range []opts{
		{},
		{"changelog-producer.row-deduplicate": "true"},
		{"sequence.field": "s", "changelog-producer.row-deduplicate": "true", "changelog-producer.row-deduplicate-ignore-fields": "s"},
		{"local-sort.max-num-file-handles": "2", "num-sorted-run.compaction-trigger": "20"},
		{"target-file-size": "1 kb", "num-sorted-run.compaction-trigger": "2", "num-levels": "4"},
		{"full-compaction.delta-commits": "2"},
		{"merge-engine": "aggregation", "fields.s.aggregate-function": "sum", "ignore-delete": "true"},
		{"merge-engine": "aggregation", "fields.s.aggregate-function": "sum", "ignore-delete": "true", "changelog-producer.row-deduplicate": "true"},
	} {
		o := opts{"bucket": "1", "changelog-producer": "full-compaction", "num-sorted-run.compaction-trigger": "3"}
		for k, v := range more {
			o[k] = v
		}
		tab := declare(t, open(t), "d.t", "k INT, s INT, v STRING", "k", o)
		state := map[int]string{}
		after, updates := int64(0), 0
		for round := range 12 {
			var commits [][]string
			for range 1 + rnd.IntN(4) {
				var in []string
				from := rnd.IntN(300)
				for range 1 + rnd.IntN(60) {
					kind := []string{"+I", "+U", "+I", "-D"}[rnd.IntN(4)]
					in = append(in, fmt.Sprintf(`{"_kind":%q,"k":%d,"s":%d,"v":"%d"}`, kind, from+rnd.IntN(40), rnd.IntN(9), rnd.IntN(3)))
				}
				commits = append(commits, in)
			}
			write(t, tab, commits...)
			if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
				t.Fatal(err)
			}
			changes, want := followed(t, tab, tarn.ScanOptions{}, after), read(t, tab, tarn.ScanOptions{})
			if o["sequence.field"] != "" { // it may change untold
				for _, x := range [][]string{changes, want} {
					for i := range x {
						x[i] = sequence.ReplaceAllString(x[i], "")
					}
				}
			}
			replay(t, state, changes)
			for i, c := range changes {
				if strings.Contains(c, "-U") {
					updates++
					next := changes[i+1]
					if o["changelog-producer.row-deduplicate"] == "true" && c[strings.IndexByte(c, '{'):] == next[strings.IndexByte(next, '{'):] {
						t.Errorf("%v: %s, then %s", more, c, next)
					}
				}
			}
			s, err := tab.LatestSnapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s != nil { // nil while there were only deletes that are ignored
				after = s.ID
			}
			got := make([]string, 0, len(state))
			for _, x := range state {
				got = append(got, x)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%v: round %d: replayed %q, the table has %q", more, round, got, want)
			}
		}
		if updates == 0 {
			t.Errorf("%v: nothing was updated", more)
		}
	}
}
