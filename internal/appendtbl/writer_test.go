package appendtbl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// bucket is the committed state of a bucket.
type bucket struct {
	live []*manifest.DataFile
	ever map[string]bool
}

func (b *bucket) commit(t *rapid.T, d manifest.Delta) {
	b.live = append(b.live, d.Added...)
	for _, f := range d.CompactBefore {
		i := index(b.live, f)
		if i < 0 {
			t.Fatalf("compaction takes out %s, which is not there", f.Name)
		}
		b.live = slices.Delete(b.live, i, i+1)
	}
	b.live = append(b.live, d.CompactAfter...)
	for _, f := range slices.Concat(d.Added, d.CompactAfter) {
		b.ever[f.Name] = true
	}
}

func (b *bucket) read(s *fakeStore) []int64 {
	var out []int64
	for _, f := range slices.SortedFunc(slices.Values(b.live), inOrder) {
		out = append(out, s.files[f.Name]...)
	}
	return out
}

func TestWriterAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newFakeStore()
		s.roll = rapid.SampledFrom([]int{2, 10, 1 << 30}).Draw(t, "rows per file")
		table := NewTable(Config{
			Store: s, Fields: fields, Ordered: rapid.Bool().Draw(t, "ordered"), WriteOnly: rapid.IntRange(0, 3).Draw(t, "write-only") == 0,
			Pick: PickOptions{MinFiles: rapid.IntRange(2, 5).Draw(t, "min"), TargetSize: rapid.SampledFrom([]int64{40, 100, 1000}).Draw(t, "target"), OpenCost: 1},
		})
		var tasks []*Task
		async := rapid.Bool().Draw(t, "async")
		b := &bucket{ever: map[string]bool{}}
		var written, committed []int64
		var prepared []manifest.Delta
		var w *Writer
		open := func() {
			o := WriterOptions{Files: b.live}
			if async {
				o.Submit = func(x *Task) { tasks = append(tasks, x) }
			}
			w = table.NewWriter(o)
		}
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		prepare := func(wait bool) {
			d, err := w.Prepare(context.Background(), wait)
			must(err)
			prepared = append(prepared, d)
			committed = slices.Clone(written)
		}
		check := func(t *rapid.T) {
			for _, d := range prepared {
				b.commit(t, d)
			}
			prepared = nil
			got, want := b.read(s), slices.Clone(committed)
			if !table.c.Ordered {
				slices.Sort(got)
				slices.Sort(want)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("read: %s", d)
			}
		}
		next := int64(0)
		open()
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {},
			"write": func(t *rapid.T) {
				var v []int64
				var sel []int32
				part := rapid.Bool().Draw(t, "part")
				for i := range rapid.IntRange(1, 20).Draw(t, "rows") {
					next++
					v = append(v, next)
					if !part || rapid.Bool().Draw(t, "take") {
						sel = append(sel, int32(i))
						written = append(written, next)
					}
				}
				if sel == nil {
					sel = []int32{}
				}
				if !part {
					sel = nil
				}
				must(w.Write(context.Background(), numbers(v...), sel))
			},
			"prepare": func(t *rapid.T) { prepare(rapid.Bool().Draw(t, "wait")) },
			"flush":   func(*rapid.T) { must(w.FlushMemory(context.Background())) },
			"compact": func(t *rapid.T) { must(w.Compact(context.Background(), rapid.Bool().Draw(t, "full"))) },
			"task": func(*rapid.T) {
				for _, x := range tasks {
					x.Run(context.Background())
				}
				tasks = nil
			},
			"read": check,
			"reopen": func(t *rapid.T) {
				must(w.Close(t.Context()))
				check(t)
				written = slices.Clone(committed)
				for _, f := range s.names() {
					if !b.ever[f] {
						t.Fatalf("file %s was not prepared but is left after Close", f)
					}
				}
				open()
			},
		})
		prepare(true)
		check(t)
		must(w.Close(t.Context()))
	})
}

func TestSmallWritesAreJoined(t *testing.T) {
	s := newFakeStore()
	w := NewTable(Config{Store: s, Fields: fields}).NewWriter(WriterOptions{})
	for i := range int64(100) {
		if err := w.Write(t.Context(), numbers(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if w.Memory() == 0 {
		t.Error("rows in memory are not counted")
	}
	d, err := w.Prepare(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if s.pieces != 1 || len(d.Added) != 1 || d.Added[0].MaxSequence != 99 || w.NextSequence() != 100 {
		t.Errorf("%d pieces, files %+v", s.pieces, d.Added)
	}
}

func TestDeletesAreRefusedOrIgnored(t *testing.T) {
	b := numbers(1, 2, 3)
	b.Kinds = []types.RowKind{types.Insert, types.Delete, types.UpdateAfter}
	s := newFakeStore()
	w := NewTable(Config{Store: s, Fields: fields}).NewWriter(WriterOptions{})
	err := w.Write(t.Context(), b, nil)
	if err == nil || !strings.Contains(err.Error(), "row 1 is of kind -D") || !strings.Contains(err.Error(), "ignore-delete") {
		t.Errorf("got %v", err)
	}
	w = NewTable(Config{Store: s, Fields: fields, IgnoreDelete: true}).NewWriter(WriterOptions{})
	if err := w.Write(t.Context(), b, nil); err != nil {
		t.Fatal(err)
	}
	d, err := w.Prepare(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.files[d.Added[0].Name]; !slices.Equal(got, []int64{1, 3}) {
		t.Errorf("got %v", got)
	}
}

func TestErrorsLeaveNothing(t *testing.T) {
	for fail := 1; ; fail++ {
		s := newFakeStore()
		s.roll = 2
		table := NewTable(Config{Store: s, Fields: fields, Ordered: true, Pick: PickOptions{MinFiles: 2, TargetSize: 1000}})
		s.failAt = fail
		w := table.NewWriter(WriterOptions{})
		err := w.Write(t.Context(), numbers(1, 2, 3, 4, 5), nil)
		if err == nil {
			_, err = w.Prepare(t.Context(), true)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, errDisk) {
			t.Fatalf("write %d fails: got %v", fail, err)
		}
		if _, again := w.Prepare(t.Context(), true); again == nil {
			t.Errorf("write %d fails: the writer prepares all the same", fail)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := s.names(); len(left) > 0 {
			t.Errorf("write %d fails: files %v are left", fail, left)
		}
	}
}

func TestPick(t *testing.T) {
	o := PickOptions{MinFiles: 3, TargetSize: 100, OpenCost: 1}
	for _, c := range []struct {
		name         string
		sizes        []int64
		ordered, all bool
		want         string
	}{
		{"ordered, too few", []int64{10, 10}, true, false, ""},
		{"ordered, enough", []int64{10, 10, 10}, true, false, "0 1 2"},
		{"ordered, large files between", []int64{10, 10, 90, 10, 10, 10}, true, false, "3 4 5"},
		{"ordered, two that fill a file", []int64{60, 60}, true, false, "0 1"},
		{"ordered, groups end at twice the target", []int64{60, 60, 60, 60, 60, 60}, true, false, "0 1 2 3|4 5"},
		{"ordered, all", []int64{10, 10, 90, 10}, true, true, "0 1"},
		{"unordered, too few", []int64{10, 90, 10}, false, false, ""},
		{"unordered, enough, over large files", []int64{30, 90, 20, 90, 10}, false, false, "4 2 0"},
		{"unordered, full bins", []int64{60, 60, 60, 60, 60, 60}, false, false, "0 1 2 3"},
		{"unordered, all", []int64{10, 90, 10}, false, true, "0 2"},
		{"one file", []int64{10}, false, true, ""},
		{"none", nil, true, true, ""},
	} {
		var files []*manifest.DataFile
		for i, size := range c.sizes {
			files = append(files, &manifest.DataFile{Name: fmt.Sprint(i), Size: size, MinSequence: int64(i), MaxSequence: int64(i)})
		}
		slices.Reverse(files)
		var groups []string
		for _, g := range o.Pick(files, c.ordered, c.all) {
			var names []string
			for _, f := range g {
				names = append(names, f.Name)
			}
			groups = append(groups, strings.Join(names, " "))
		}
		if got := strings.Join(groups, "|"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
