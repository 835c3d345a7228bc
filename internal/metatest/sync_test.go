package metatest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/cdc/source/files"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// following is a sync job of two tables, which dies in all places. The source is a file of events; in
// the middle of it a table gets a column.
type following struct {
	t     *testing.T
	keyed bool
	path  string
	want  map[string][]string // rows of each table by a reader that has seen all events
}

const followTables = 2

func newFollowing(t *testing.T, keyed bool) *following {
	f := &following{t: t, keyed: keyed, path: filepath.Join(t.TempDir(), "events"), want: map[string][]string{}}
	var text strings.Builder
	last := map[string]string{}
	var order []string
	for i := range 48 {
		// Table t0 has most of the events, t1 only now and then: positions are seldom of its own.
		table, id := fmt.Sprint("t", min(i%5, 1)^1), i
		if keyed {
			id %= 11
		}
		more, n := "", "NULL"
		if i > 20 && table == "t0" {
			more, n = fmt.Sprintf(`,"n":%d`, i), fmt.Sprintf("%q", fmt.Sprint(i))
		}
		fmt.Fprintf(&text, `{"after":{"id":%d,"v":"v%d"%s},"before":null,"op":"c","source":{"db":"s","table":%q,"ts_ms":1}}`+"\n", id, i, more, table)
		key := fmt.Sprint(table, "/", id)
		if _, ok := last[key]; !ok {
			order = append(order, key)
		}
		last[key] = fmt.Sprintf(`id="%d" v="v%d" `, id, i)
		if table == "t0" {
			last[key] += fmt.Sprintf("n=%s ", n)
		}
	}
	if err := os.WriteFile(f.path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range order {
		table, _, _ := strings.Cut(key, "/")
		f.want[table] = append(f.want[table], last[key])
	}
	for _, rows := range f.want {
		slices.Sort(rows)
	}
	return f
}

// run runs the job to the end of the events, or until it dies.
func (f *following) run(ctx context.Context, uri string) (*cdc.Summary, error) {
	key, opts := "", "compaction.min.file-num: 2"
	if f.keyed {
		key, opts = "primary-key: [id], ", `bucket: 1, num-sorted-run.compaction-trigger: 2`
	}
	cfg, err := cdc.ParseConfig(fmt.Appendf(nil, `
name: follow
source: {type: files, path: %q, format: debezium-json}
sink: {warehouse: %q, table: "ods.{table}", %soptions: {%s, commit.max-retry-wait: 1 ms}}
checkpoint: {every: 1h, rows: 4}
`, f.path, uri, key, opts))
	if err != nil {
		f.t.Fatal(err)
	}
	src, err := files.New(files.Options{Paths: []string{f.path}, Format: "debezium-json", Chunk: 500})
	if err != nil {
		f.t.Fatal(err)
	}
	return cdc.Run(ctx, cfg, cdc.RunOptions{Source: src})
}

// The three ways in which orphans are treated while the job is down.
const (
	orphansStay = iota
	orphansGo   // those that no checkpoint of the job needs
	unsharedGo  // and those: other engines do not know of checkpoints
)

// meddle is what others do to the tables while the job is down.
func (f *following) meddle(what, uri string, orphans int) {
	ctx := f.t.Context()
	cat, err := tarn.Open(ctx, uri, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range followTables {
		tab, err := cat.Table(ctx, fmt.Sprint("ods.t", i))
		if errors.Is(err, tarn.ErrNotExist) {
			continue
		}
		if err != nil {
			f.t.Fatalf("%s: %v", what, err)
		}
		if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
			f.t.Fatalf("%s: foreign compaction: %v", what, err)
		}
		if _, err := tab.ExpireSnapshots(ctx, tarn.ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: -1}); err != nil {
			f.t.Fatalf("%s: foreign expiry: %v", what, err)
		}
		if orphans == orphansStay {
			continue
		}
		prepared, err := cat.PreparedByJobs(ctx, fmt.Sprint("ods.t", i))
		if err != nil {
			f.t.Fatalf("%s: %v", what, err)
		}
		whole := make([]error, len(prepared))
		for i, p := range prepared {
			whole[i] = tab.CheckPrepared(ctx, p)
		}
		if orphans == unsharedGo {
			f.move(uri, "/_tarn", "/_away")
			prepared = nil
		}
		if _, err := tab.Orphans(ctx, time.Now().Add(time.Hour), false); err != nil {
			f.t.Fatalf("%s: foreign orphan cleaning: %v", what, err)
		}
		if orphans == unsharedGo {
			f.move(uri, "/_away", "/_tarn")
		}
		for i, p := range prepared {
			if err := tab.CheckPrepared(ctx, p); (err == nil) != (whole[i] == nil) {
				f.t.Fatalf("%s: what a checkpoint has prepared was cleaned away: %v", what, err)
			}
		}
	}
}

// move renames a folder of the warehouse.
func (f *following) move(uri, from, to string) {
	f.t.Helper()
	fs, root, err := open.FS(f.t.Context(), uri, nil)
	if err == nil {
		err = fs.Rename(f.t.Context(), root+from, root+to)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
}

// look compares the tables with what they have to hold.
func (f *following) look(what, uri string) {
	f.t.Helper()
	ctx := f.t.Context()
	cat, err := tarn.Open(ctx, uri, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range followTables {
		name := fmt.Sprint("t", i)
		tab, err := cat.Table(ctx, "ods."+name)
		if err != nil {
			f.t.Fatalf("%s: %v", what, err)
		}
		got, err := scan(f.t, tab, tarn.ScanOptions{})
		if err != nil {
			f.t.Fatalf("%s: %v", what, err)
		}
		if d := cmp.Diff(f.want[name], got); d != "" {
			f.t.Fatalf("%s: rows of %s (-want +got):\n%s", what, name, d)
		}
		if r, err := tab.Check(ctx); err != nil || len(r.Problems) > 0 {
			f.t.Fatalf("%s: check of %s: %+v, %v", what, name, r, err)
		}
	}
}

// finish runs the job to its end: nothing may fail any more.
func (f *following) finish(what, uri string) {
	f.t.Helper()
	sum, err := f.run(f.t.Context(), uri)
	if err != nil || len(sum.FailedTables) > 0 {
		f.t.Fatalf("%s: started again: %v %v", what, err, sum)
	}
	f.look(what, uri)
}

// TestSyncDies stops a job at each call to the file system that changes something: before, after and
// half-way. While it is down, others compact its tables, expire all snapshots but one, and clean orphans
// away. Started again, it has lost no event and taken none twice: an append table would show it.
func TestSyncDies(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		f := newFollowing(t, keyed)
		for i, fate := range []fileio.Fate{fileio.StopBefore, fileio.StopAfter, fileio.StopHalf} {
			t.Run(fmt.Sprintf("keyed=%v/%v", keyed, fate), func(t *testing.T) {
				t.Parallel()
				g := *f
				g.t = t
				k, by := 1+i, stride()
				if by == 1 {
					k = 1
				}
				for g.dies(k, fate) {
					k += by
				}
				if k < 100 {
					t.Errorf("the job makes only %d calls", k)
				}
			})
		}
	}
}

// dies runs the job with one fault; false: it makes fewer calls.
func (f *following) dies(k int, fate fileio.Fate) bool {
	mem := fileio.NewMem(fileio.MemOptions{})
	uri, stop := f.life(mem, k, fate)
	if !stop {
		f.look("without a fault", uri)
		return false
	}
	for orphans := range 3 {
		if (k/stride())%3 != orphans && !tarntest.Size().EveryCall {
			continue // one of them is enough
		}
		what := fmt.Sprintf("keyed %v, %v at call %d, orphans: %d", f.keyed, fate, k, orphans)
		after, unmount := mount(mem.CrashClone())
		f.meddle(what, after, orphans)
		f.finish(what, after)
		unmount()
	}
	return true
}

// life runs the job on a file system that stops at a call, and tells whether it came to that.
func (f *following) life(mem fileio.FS, k int, fate fileio.Fate) (uri string, stopped bool) {
	fault := fileio.NewFault(mem)
	uri, unmount := mount(fault)
	f.t.Cleanup(unmount)
	fault.Decide(stopAt(k, fate))
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	fault.OnCrash = cancel // who is dead waits for nothing
	sum, err := f.run(ctx, uri)
	if fault.Crashed() {
		return uri, true
	}
	if err != nil || len(sum.FailedTables) > 0 {
		f.t.Fatalf("no fault, and it fails: %v %v", err, sum)
	}
	return uri, false
}

// TestSyncUndecided takes away what a stopped job holds on to: the snapshots that would tell whether its last
// step was committed expire. Nothing is guessed: that table is set aside, and stays so, the other goes on.
func TestSyncUndecided(t *testing.T) {
	f := newFollowing(t, false)
	mem := fileio.NewMem(fileio.MemOptions{})
	fault := fileio.NewFault(mem)
	uri, unmount := mount(fault)
	t.Cleanup(unmount)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fault.OnCrash = cancel
	fault.Decide(func(c fileio.Call) fileio.Fate {
		if c.Op == "PutIfAbsent" && strings.HasSuffix(c.Path, "/t0/snapshot/snapshot-2") {
			return fileio.StopAfter
		}
		return fileio.Pass
	})
	if _, err := f.run(ctx, uri); err == nil || !fault.Crashed() {
		t.Fatalf("the job was not stopped: %v", err)
	}
	mem = mem.CrashClone()
	uri, unmount = mount(mem)
	t.Cleanup(unmount)
	cat, err := tarn.Open(t.Context(), uri, nil)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := cat.Table(t.Context(), "ods.t0")
	if err != nil {
		t.Fatal(err)
	}
	held, err := tab.Consumers(t.Context())
	if err != nil || len(held) != 1 {
		t.Fatalf("consumers %v, %v: the job should hold the snapshots", held, err)
	}
	for name := range held {
		if err := tab.DeleteConsumer(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	f.meddle("no consumer", uri, orphansGo)
	before, err := scan(t, tab, tarn.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		sum, err := f.run(t.Context(), uri)
		if err != nil || len(sum.FailedTables) != 1 || !errors.Is(sum.FailedTables["ods.t0"], tarn.ErrUndecided) && !strings.Contains(fmt.Sprint(sum.FailedTables["ods.t0"]), "reset the job") {
			t.Fatalf("%v, %+v", err, sum)
		}
		got, err := scan(t, tab, tarn.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, got); d != "" {
			t.Fatalf("rows of the undecided table (-before +after):\n%s", d)
		}
	}
	other, err := cat.Table(t.Context(), "ods.t1")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := scan(t, other, tarn.ScanOptions{}); err != nil || cmp.Diff(f.want["t1"], got) != "" {
		t.Errorf("rows of the other table: %v\n%s", err, cmp.Diff(f.want["t1"], got))
	}
}

// TestSyncDiesAgain lets a job die again and again, at random calls, while it goes on from the last
// time, too.
func TestSyncDiesAgain(t *testing.T) {
	size, seed := tarntest.Size(), tarntest.Seed(t)
	for _, keyed := range []bool{false, true} {
		f := newFollowing(t, keyed)
		for n := range 4 * size.Kills {
			rnd := rand.New(rand.NewPCG(seed, uint64(n)))
			mem := fileio.NewMem(fileio.MemOptions{})
			what := fmt.Sprintf("keyed %v, seed %d, history %d", keyed, seed, n)
			for range 20 {
				k := 1 + rnd.IntN(60)
				fate := []fileio.Fate{fileio.StopBefore, fileio.StopAfter, fileio.StopHalf}[rnd.IntN(3)]
				what += fmt.Sprintf(", %v at %d", fate, k)
				if _, stopped := f.life(mem, k, fate); !stopped {
					break
				}
				mem = mem.CrashClone()
				if rnd.IntN(2) == 0 {
					what += " (meddled)"
					uri, unmount := mount(mem)
					f.meddle(what, uri, rnd.IntN(3))
					unmount()
				}
			}
			uri, unmount := mount(mem)
			f.finish(what, uri)
			unmount()
		}
	}
}
