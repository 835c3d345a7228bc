package tarn_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
)

func dynamicTable(t *testing.T, partitioned bool, o opts) *tarn.Table {
	t.Helper()
	def := tarn.TableDef{Fields: fields("p", "INT NOT NULL", "k", "INT NOT NULL", "v", "INT"), PrimaryKeys: []string{"p", "k"}, Options: map[string]string{"dynamic-bucket.target-row-num": "3"}}
	if partitioned {
		def.PartitionKeys = []string{"p"}
	}
	for k, v := range o {
		def.Options[k] = v
	}
	tab, err := open(t).CreateTable(t.Context(), "d.t", def)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func partRows(t *testing.T, tab *tarn.Table, p, from, to, v int) tarn.Batch {
	t.Helper()
	var lines []string
	for k := from; k < to; k++ {
		lines = append(lines, fmt.Sprintf(`{"p":%d,"k":%d,"v":%d}`, p, k, v))
	}
	return rows(t, tab, lines...)
}

func indexFiles(t *testing.T, tab *tarn.Table) []string {
	t.Helper()
	f, err := filepath.Glob(tab.Path() + "/index/*")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestDynamicWriters: with dynamic buckets a key gets into no second bucket, however many writers there are: whoever gave
// keys their buckets without knowing of the others has a conflict, and leaves no file. Writers of other partitions,
// compactions, and one's own commits in a row are none.
func TestDynamicWriters(t *testing.T) {
	ctx := t.Context()
	tab := dynamicTable(t, true, nil)
	add := func(w *tarn.Writer, p, from, to, v int) {
		t.Helper()
		if err := w.Write(ctx, partRows(t, tab, p, from, to, v)); err != nil {
			t.Fatal(err)
		}
	}
	writer := func(o *tarn.WriterOptions) *tarn.Writer {
		t.Helper()
		w, err := tab.NewWriter(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		return w
	}
	done := func(w *tarn.Writer) {
		t.Helper()
		if _, err := w.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	a, b := writer(nil), writer(nil)
	add(a, 1, 0, 5, 1)
	add(b, 1, 3, 9, 2)
	done(a)
	before := indexFiles(t, tab)
	if _, err := b.Commit(ctx); !errors.Is(err, tarn.ErrConflict) {
		t.Fatalf("two writers gave new keys of a partition their buckets: %v", err)
	}
	if after := indexFiles(t, tab); !slices.Equal(before, after) {
		t.Errorf("a commit with a conflict leaves index files: %v, before %v", after, before)
	}
	c := writer(nil)
	add(c, 1, 3, 9, 3)
	add(a, 2, 0, 9, 4)
	done(a)
	if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	done(c)
	for i := range 4 {
		add(c, 1, 5+i, 12+i, 5)
		done(c)
	}
	// What was given buckets before an overwrite rests on nothing.
	add(c, 1, 0, 9, 6)
	if _, err := tab.Overwrite(ctx, tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) { yield(partRows(t, tab, 1, 20, 25, 7), nil) }); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx); !errors.Is(err, tarn.ErrConflict) {
		t.Fatalf("a commit upon a partition that was replaced: %v", err)
	}
	// Two that are prepared, kept outside of the process, and committed together or one after the other.
	for _, together := range []bool{true, false} {
		x := writer(nil)
		add(x, 1, 0, 7, 8)
		first, err := x.Prepare(ctx)
		if err != nil {
			t.Fatal(err)
		}
		y := writer(&tarn.WriterOptions{After: []*tarn.Prepared{first}})
		add(y, 1, 4, 12, 9)
		second, err := y.Prepare(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []**tarn.Prepared{&first, &second} {
			data, err := (*p).MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if *p, err = tarn.UnmarshalPrepared(data); err != nil {
				t.Fatal(err)
			}
			if err := tab.CheckPrepared(ctx, *p); err != nil {
				t.Error(err)
			}
		}
		parts := [][]*tarn.Prepared{{first, second}}
		if !together {
			parts = [][]*tarn.Prepared{{first}, {second}}
		}
		for i, p := range parts {
			if _, err := tab.Commit(ctx, tarn.CommitID{User: fmt.Sprint("kept", together), Number: int64(i)}, p...); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{}
	for k := range 25 {
		switch {
		case k >= 20:
			want = append(want, fmt.Sprintf(`{"p":1,"k":%d,"v":7}`, k))
		case k < 4:
			want = append(want, fmt.Sprintf(`{"p":1,"k":%d,"v":8}`, k))
		case k < 12:
			want = append(want, fmt.Sprintf(`{"p":1,"k":%d,"v":9}`, k))
		}
	}
	for k := range 9 {
		want = append(want, fmt.Sprintf(`{"p":2,"k":%d,"v":4}`, k))
	}
	slices.Sort(want)
	if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
		t.Errorf("rows\n%q, want\n%q", got, want)
	}
	z := writer(nil)
	add(z, 3, 0, 7, 8)
	p, err := z.Prepare(ctx)
	if err != nil {
		t.Fatal(err)
	}
	before = indexFiles(t, tab)
	if err := tab.Abort(ctx, p); err != nil {
		t.Fatal(err)
	}
	if n := len(before) - len(indexFiles(t, tab)); n != 3 {
		t.Errorf("an abort removed %d index files, want 3", n)
	}
	if err := tab.CheckPrepared(ctx, p); !errors.Is(err, tarn.ErrNotExist) {
		t.Errorf("what was aborted can be committed: %v", err)
	}
	if r, err := tab.Check(ctx); err != nil || len(r.Problems) > 0 {
		t.Errorf("check: %v, %v", r, err)
	}
}

// TestDynamicIndexLost: a hash index that is lost together with a data file of its bucket cannot be made anew, and the
// error says so.
func TestDynamicIndexLost(t *testing.T) {
	tab := dynamicTable(t, false, nil)
	write(t, tab, []string{`{"p":1,"k":1,"v":1}`})
	files, err := filepath.Glob(tab.Path() + "/bucket-0/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, indexFiles(t, tab)...) {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	err = w.Write(t.Context(), partRows(t, tab, 1, 1, 2, 2))
	if err == nil || !strings.Contains(err.Error(), "hash index of bucket 0") || !strings.Contains(err.Error(), filepath.Base(files[0])) {
		t.Errorf("written to a partition whose index and files are lost: %v", err)
	}
}
