package tarn_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/options"
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
		o := opts{"bucket": "1", "changelog-producer": "input"}
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
