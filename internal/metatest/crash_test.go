package metatest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// life is a short history of a table. Its job knows only what it noted: the prepared commit of the step
// in flight, as a checkpoint would have it.
type life struct {
	t     *testing.T
	ctx   context.Context // nil: that of the test
	keyed bool
	// crossing: the key lacks the partition, and each step moves keys from one to the other.
	crossing bool
	options  map[string]string // of the kind of the table
	tab      *tarn.Table
	reader   *teller // of the changes, if compactions make the changelog
	// prepared and step are what the job noted last.
	prepared []byte
	noted    int
}

func lifeOf(t *testing.T, kind string) *life {
	l := &life{t: t, keyed: kind != "plain", crossing: kind == "crossing", options: crashKinds[kind]}
	if p := l.options["changelog-producer"]; p == "lookup" || p == "full-compaction" {
		l.reader = &teller{keys: 2}
	}
	return l
}

func (l *life) context() context.Context {
	if l.ctx != nil {
		return l.ctx
	}
	return l.t.Context()
}

func (l *life) open(uri string) error {
	cat, err := tarn.Open(l.context(), uri, nil)
	if err != nil {
		return err
	}
	l.tab, err = cat.Table(l.context(), "d.t")
	return err
}

var (
	crashCols = []column{
		{0, "p", types.MustParse("STRING NOT NULL")}, {1, "k", types.MustParse("INT NOT NULL")}, {2, "v", types.MustParse("STRING")},
	}
	crashAfter = append(slices.Clone(crashCols[:2]), column{2, "w", types.MustParse("STRING")}, column{3, "n", types.MustParse("BIGINT")})
)

func (l *life) create(uri string) error {
	cat, err := tarn.Open(l.context(), uri, nil)
	if err != nil {
		return err
	}
	if err := cat.CreateDatabase(l.context(), "d", nil); err != nil {
		return err
	}
	def := tarn.TableDef{Fields: fieldsOf(crashCols), PartitionKeys: []string{"p"}, Options: map[string]string{
		"manifest.merge-min-count": "2", "write-buffer-size": "1 b", "num-sorted-run.compaction-trigger": "2", "target-file-size": "2 kb",
		"compaction.min.file-num": "2", "local-sort.max-num-file-handles": "2",
		// Who dies does not wait for storage that is gone.
		"commit.max-retry-wait": "1 ms",
	}}
	if l.keyed {
		def.PrimaryKeys = []string{"p", "k"}
		def.Options["bucket"] = "1"
	}
	if l.crossing {
		def.PrimaryKeys = []string{"k"}
		def.Options["bucket"], def.Options["dynamic-bucket.target-row-num"] = "-1", "3"
	}
	maps.Copy(def.Options, l.options)
	l.tab, err = cat.CreateTable(l.context(), "d.t", def)
	return err
}

// rowsOf are the rows of a step.
func (l *life) rowsOf(step int, cols []column) tarn.Batch {
	var rows []row
	for i := range 6 {
		r := row{vals: map[int]string{0: []string{"a", "b"}[i%2], 1: fmt.Sprint((i + step) % 10), 2: fmt.Sprint("v", step, "-", i)}}
		if len(cols) > 3 {
			r.vals[3] = fmt.Sprint(step*100 + i)
		}
		if l.keyed && i == 5 {
			r.kind = types.Delete
		}
		rows = append(rows, r)
	}
	return batchOf(l.t, cols, rows)
}

// write writes the rows of a step and commits them under its number, once: what was noted before a
// crash is committed if that was not done and its files are whole.
func (l *life) write(step int, cols []column) error {
	ctx, id := l.context(), tarn.CommitID{User: "job", Number: int64(step)}
	if l.noted == step {
		p, err := tarn.UnmarshalPrepared(l.prepared)
		if err != nil {
			return err
		}
		done, err := l.tab.WasCommitted(ctx, id, p)
		if err == nil && !done {
			err = l.tab.CheckPrepared(ctx, p)
		}
		if err == nil {
			_, err = l.tab.Commit(ctx, id, p) // of no effect if it was done
			return err
		}
		if !errors.Is(err, tarn.ErrNotExist) {
			return err
		}
		l.noted = 0
	}
	w, err := l.tab.NewWriter(ctx, &tarn.WriterOptions{User: "job", Workers: 1, WaitCompaction: true})
	if err != nil {
		return err
	}
	err = l.commit(ctx, w, step, cols, id)
	return errors.Join(err, w.Close())
}

func (l *life) commit(ctx context.Context, w *tarn.Writer, step int, cols []column, id tarn.CommitID) error {
	if err := w.Write(ctx, l.rowsOf(step, cols)); err != nil {
		return err
	}
	p, err := w.Prepare(ctx)
	if err != nil {
		return err
	}
	if l.prepared, err = p.MarshalBinary(); err != nil {
		return err
	}
	l.noted = step
	res, err := l.tab.Commit(ctx, id, p)
	if err != nil {
		return err
	}
	return w.Done(res)
}

// steps is the history. A step that is run again after it was done changes nothing.
func (l *life) steps() []func(step int) error {
	ctx := l.context()
	write := func(cols []column) func(int) error {
		return func(step int) error { return l.write(step, cols) }
	}
	compact := func(int) error {
		_, err := l.tab.Compact(ctx, tarn.CompactOptions{Full: true})
		return err
	}
	return []func(int) error{
		write(crashCols), write(crashCols), compact, write(crashCols),
		func(int) error {
			err := l.tab.Evolve(ctx, tarn.AddColumn{Path: []string{"n"}, Type: types.MustParse("BIGINT")})
			if err != nil {
				return err
			}
			l.tab, err = l.tab.Refresh(ctx)
			return err
		},
		func(int) (err error) {
			if f, _ := l.tab.Fields(); f[2].Name == "v" {
				if err = l.tab.Alter(ctx, tarn.RenameColumn{Path: []string{"v"}, To: "w"}); err != nil {
					return err
				}
			}
			l.tab, err = l.tab.Refresh(ctx)
			return err
		},
		write(crashAfter),
		func(step int) error {
			rows := l.rowsOf(step, crashAfter)
			_, err := l.tab.Overwrite(ctx, tarn.OverwriteOptions{Static: l.crossing}, func(yield func(tarn.Batch, error) bool) { yield(rows, nil) })
			return err
		},
		write(crashAfter),
		func(int) error {
			_, err := l.tab.ExpireSnapshots(ctx, tarn.ExpireOptions{RetainMin: 1, RetainMax: 2})
			return err
		},
		write(crashAfter), compact,
		func(int) error {
			_, err := l.tab.ExpireSnapshots(ctx, tarn.ExpireOptions{RetainMin: 1, RetainMax: 1})
			return err
		},
	}
}

// told reads what has changed, if a changelog tells of it: it leads to the rows that there are. Where a commit was cut off, it
// may be the next one that tells.
func (l *life) told(what string, all bool) {
	l.t.Helper()
	if l.reader == nil {
		return
	}
	tab, err := l.tab.Refresh(l.context())
	if err == nil {
		err = l.reader.follow(l.context(), tab)
	}
	if err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
	if d := cmp.Diff(slices.Sorted(maps.Values(l.reader.rows)), l.rows()); all && d != "" && l.options["changelog-producer"] == "lookup" {
		l.t.Fatalf("%s: what was told (-), rows (+):\n%s", what, d)
	}
}

// rows reads the table, with its newest columns.
func (l *life) rows() []string {
	l.t.Helper()
	tab, err := l.tab.Refresh(l.context())
	if err != nil {
		l.t.Fatal(err)
	}
	got, err := scan(l.t, tab, tarn.ScanOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return got
}

func (l *life) clean(what string) {
	l.t.Helper()
	r, err := l.tab.Check(l.context())
	if err != nil {
		l.t.Fatal(err)
	}
	if len(r.Problems) > 0 {
		l.t.Fatalf("%s: %+v", what, r.Problems)
	}
}

// orphans removes what nothing refers to, and looks whether only that went.
func (l *life) orphans(what string, keep ...*tarn.Prepared) {
	l.t.Helper()
	before := l.rows()
	// Snapshots that an expiry has hidden and not removed are in the way of orphans until it is ended.
	if _, err := l.tab.ExpireSnapshots(l.context(), tarn.ExpireOptions{RetainMin: 100}); err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
	late := time.Now().Add(time.Hour)
	for _, want := range []bool{true, false} {
		gone, err := l.tab.Orphans(l.context(), late, false, keep...)
		if err != nil {
			l.t.Fatalf("%s: %v", what, err)
		}
		if !want && len(gone) > 0 {
			l.t.Fatalf("%s: removed a second time: %v", what, gone)
		}
	}
	if d := cmp.Diff(before, l.rows()); d != "" {
		l.t.Fatalf("%s: rows after orphans were removed (-before +after):\n%s", what, d)
	}
	l.clean(what + ", orphans removed")
}

// TestCrash stops the process at each call to the file system that changes something: before, after and
// half-way, and cuts the power: on a disk that loses what was not synced, and on an object store (there, but
// at full size, every second call has one fate of the three). Whoever opens the table afterwards sees it as before or
// after the step in flight; when the job goes on, the table becomes what it would have been.
func TestCrash(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(crashKinds)) {
		after := quietLife(t, kind)
		for _, store := range []string{"disk", "objects"} {
			for i, fate := range []fileio.Fate{fileio.StopBefore, fileio.StopAfter, fileio.StopHalf} {
				t.Run(fmt.Sprintf("%s/%s/%v", kind, store, fate), func(t *testing.T) {
					t.Parallel()
					k, by := 1+i, stride()
					switch {
					case by == 3 && store == "disk" && kind != "lookup":
						by = 1
					case by == 3:
						by = 6
					}
					if by == 1 {
						k = 1
					} else if kind == "crossing" {
						by *= 10 // what is of its own comes with each step
					}
					if crashKinds[kind] != nil && !tarntest.Size().EveryCall {
						k, by = 1+i*5, max(by, stride()*5)
					}
					for crashAt(t, kind, store, k, fate, after) {
						k += by
					}
					if k < 100 {
						t.Errorf("the history has only %d calls", k)
					}
				})
			}
		}
	}
}

// stride is how many calls are passed over between two stops of one kind.
func stride() int {
	switch {
	case tarntest.Size().EveryCall:
		return 1
	case testing.Short():
		return 40
	}
	return 3 // as many as there are fates
}

// quietLife gives the rows after each step without any fault; the first are those of the empty table.
func quietLife(t *testing.T, kind string) [][]string {
	uri, unmount := mount(newFS())
	defer unmount()
	l := lifeOf(t, kind)
	if err := l.create(uri); err != nil {
		t.Fatal(err)
	}
	after := [][]string{l.rows()}
	for i, step := range l.steps() {
		if err := step(i + 1); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
		after = append(after, l.rows())
		l.told(fmt.Sprint("step ", i+1), true)
		l.clean(fmt.Sprint("step ", i+1))
	}
	l.orphans("quiet life")
	return after
}

// stopAt lets the k-th call that changes something meet its fate. But at full size a file is written by
// one call: whether a half of it or two thirds are there makes no difference.
func stopAt(k int, fate fileio.Fate) func(fileio.Call) fileio.Fate {
	n, last := 0, ""
	return func(c fileio.Call) fileio.Fate {
		more := c.Op == "Write" && c.Path == last && !tarntest.Size().EveryCall
		if !c.Mutates || more {
			return fileio.Pass
		}
		if c.Op == "Write" {
			last = c.Path
		}
		if n++; n == k {
			return fate
		}
		return fileio.Pass
	}
}

// crashAt runs the history with one fault; false: it has fewer calls.
func crashAt(t *testing.T, kind string, store string, k int, fate fileio.Fate, after [][]string) bool {
	mem := fileio.NewMem(fileio.MemOptions{})
	fault := fileio.NewFault(mem)
	if store == "objects" {
		fault = fileio.NewFault(objects{mem})
		fault.CopyRename = true
	}
	uri, unmount := mount(fault)
	defer unmount()
	l := lifeOf(t, kind)
	if err := l.create(uri); err != nil {
		t.Fatal(err)
	}
	var cancel context.CancelFunc
	l.ctx, cancel = context.WithCancel(t.Context())
	fault.Reset()
	fault.OnCrash = cancel // who is dead waits for nothing
	fault.Decide(stopAt(k, fate))
	acked := 0
	for i, step := range l.steps() {
		if err := step(i + 1); err != nil {
			if !fault.Crashed() {
				t.Fatalf("%v at call %d: step %d: %v", fate, k, i+1, err)
			}
			break
		}
		acked++
		if !fault.Crashed() {
			l.told(fmt.Sprintf("%v at call %d, step %d", fate, k, i+1), true)
		}
	}
	cancel()
	l.ctx = nil
	if !fault.Crashed() {
		return false
	}
	what := fmt.Sprintf("%s, %s, %v at call %d, after step %d", kind, store, fate, k, acked)
	if acked == len(after)-1 {
		acked-- // the last step did its work, what failed came behind it
	}
	uri, unmountClone := mount(mem.CrashClone())
	defer unmountClone()
	if err := l.open(uri); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	l.clean(what)
	l.told(what, false)
	// Of rows of a table that shows compacted ones only an overwrite makes two commits.
	if got := l.rows(); cmp.Diff(after[acked], got) != "" && !((kind == "first-row" || kind == "vectors") && len(got) == 0) {
		if d := cmp.Diff(after[acked+1], got); d != "" {
			t.Fatalf("%s: neither the rows before nor (-want +got) those after the step in flight:\n%s", what, d)
		}
	}
	if k%2 == 0 {
		var keep []*tarn.Prepared
		if l.noted > acked {
			p, err := tarn.UnmarshalPrepared(l.prepared)
			if err != nil {
				t.Fatal(err)
			}
			keep = append(keep, p)
		}
		l.orphans(what, keep...)
	}
	for i, step := range l.steps() {
		if i < acked {
			continue
		}
		if err := step(i + 1); err != nil {
			t.Fatalf("%s: again step %d: %v", what, i+1, err)
		}
		if d := cmp.Diff(after[i+1], l.rows()); d != "" {
			t.Fatalf("%s: rows after step %d (-want +got):\n%s", what, i+1, d)
		}
		l.told(fmt.Sprintf("%s: step %d", what, i+1), i > acked)
	}
	l.clean(what + ", at the end")
	l.orphans(what + ", at the end")
	return true
}
