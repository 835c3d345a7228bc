package metatest

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// TestModel runs random histories against the library and a naive model. A failing one is shrunk; it
// is printed with what it did, and runs again under the same TARN_SEED.
func TestModel(t *testing.T) {
	size := tarntest.Size()
	for name, value := range map[string]string{
		"rapid.checks": fmt.Sprint(size.Histories), "rapid.steps": fmt.Sprint(size.Steps / 2),
		"rapid.seed": fmt.Sprint(tarntest.Seed(t)), "rapid.nofailfile": "true",
	} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		uri, unmount := mount(newFS())
		defer unmount()
		w := newWorld(t, uri)
		defer w.closeWriters()
		t.Repeat(map[string]func(*rapid.T){
			"write": w.write, "write more": w.write, "commit": w.commit, "commit again": w.commit,
			"compact": w.compact, "compact within": w.compactWithin, "alter": w.alter, "reopen": func(*rapid.T) { w.reopen() },
			"overwrite": w.overwrite, "expire": w.expire, "orphans": w.orphans, "tag": w.tag, "travel": w.travel, "follow": w.follow, "query": w.query,
			"": w.check,
		})
	})
}

// drawRow draws a row for a writer: with two writers each has the keys of its own.
func (w *world) drawRow(t *rapid.T, cols []column, owner int) row {
	r := row{vals: map[int]string{}}
	for i, c := range cols {
		n := rapid.IntRange(0, 7).Draw(t, c.name)
		switch {
		case i < w.keys && i == 0 && w.partitioned:
			n %= 3
		case i == w.keys-1 && w.keyed && w.two:
			// Two writers of one key have no order but that of a sequence field.
			if n = n&^1 + owner; c.typ.Kind == types.Boolean {
				n = owner
			}
		case c.name == kindColumn:
			continue
		case i >= w.keys && !fixed(c):
			w.nextVal++
			n = w.nextVal % 200
		}
		if !c.typ.NotNull && n%5 == 2 && (i >= w.keys || !w.keyed || i == 0 && w.crossing) {
			continue
		}
		r.vals[c.id] = valueOf(c.typ, n)
	}
	for id, by := range w.groups {
		if _, ok := r.vals[by.id]; !ok {
			delete(r.vals, id) // is not heeded, but by who merges nothing
		}
	}
	r.kind = w.drawKind(t)
	if w.rowKinds {
		r.vals[w.column(kindColumn).id] = r.kind.String()
	}
	return r
}

func (w *world) drawRows(t *rapid.T, cols []column, owner, most int) []row {
	rows := make([]row, rapid.IntRange(1, most).Draw(t, "rows"))
	for i := range rows {
		rows[i] = w.drawRow(t, cols, owner)
	}
	return rows
}

// pick gives a writer, opened if it is not.
func (w *world) pick(t *rapid.T) (int, *writer) {
	i := 0
	if w.two {
		i = rapid.IntRange(0, 1).Draw(t, "writer")
	}
	if w.writers[i] == nil {
		user := fmt.Sprint("user", w.nextVal)
		w.nextVal++
		x, err := w.tab.NewWriter(w.ctx, &tarn.WriterOptions{User: user, WaitCompaction: rapid.Bool().Draw(t, "wait") || w.engine == "first-row"})
		w.must(err)
		w.writers[i] = &writer{w: x, cols: slices.Clone(w.cols), user: user, number: 1}
	}
	return i, w.writers[i]
}

func (w *world) write(t *rapid.T) {
	i, x := w.pick(t)
	rows := w.drawRows(t, x.cols, i, 12)
	w.must(x.w.Write(w.ctx, w.batch(x.cols, rows)))
	x.pending = append(x.pending, rows...)
}

func (w *world) commit(t *rapid.T) {
	_, x := w.pick(t)
	p, err := x.w.Prepare(w.ctx)
	w.must(err)
	if rapid.IntRange(0, 4).Draw(t, "lose") == 0 {
		// The files are there and nobody commits them: the writer begins anew.
		w.must(w.tab.Abort(w.ctx, p))
		w.drop(x)
		return
	}
	if b, err := p.MarshalBinary(); err != nil {
		t.Fatalf("%v", err)
	} else if p, err = tarn.UnmarshalPrepared(b); err != nil {
		t.Fatalf("%v", err)
	}
	id := tarn.CommitID{User: x.user, Number: x.number}
	tab := x.w.Table()
	res, err := tab.Commit(w.ctx, id, p)
	w.must(err)
	if res.Repeated {
		t.Fatalf("a new commit %+v was taken for a repeated one", id)
	}
	w.apply(x.pending)
	x.pending = nil
	w.committed(res, w.compacts())
	if rapid.Bool().Draw(t, "retry") && !p.Empty() && !res.LostCompaction {
		again, err := tab.Commit(w.ctx, id, p)
		w.must(err)
		if !again.Repeated || again.SnapshotID != res.SnapshotID {
			t.Fatalf("the same commit twice: %+v, then %+v", res, again)
		}
	}
	x.number++
	w.must(x.w.Done(res))
}

func (w *world) drop(x *writer) {
	w.must(x.w.Close())
	for i := range w.writers {
		if w.writers[i] == x {
			w.writers[i] = nil
		}
	}
}

func (w *world) compact(t *rapid.T) {
	tab := w.tab
	if w.writeOnly {
		var err error
		tab, err = tab.With(w.ctx, map[string]string{"write-only": "false"})
		w.must(err)
	}
	full := rapid.Bool().Draw(t, "full")
	if full && w.tells() || w.hides() {
		w.closeWriters() // they would go on with files that are gone, and their compactions come to nothing
	}
	res, err := tab.Compact(w.ctx, tarn.CompactOptions{Full: full})
	w.must(err)
	w.committed(res, true)
	if full && w.tells() && w.last > 0 {
		w.same("told of after a full compaction", w.now(), w.start(w.last), w.cols)
	}
}

func (w *world) compactWithin(t *rapid.T) {
	if w.writeOnly {
		return
	}
	_, x := w.pick(t)
	w.must(x.w.Compact(w.ctx, rapid.Bool().Draw(t, "full")))
}

func (w *world) overwrite(t *rapid.T) {
	w.closeWriters()
	rows := w.drawRows(t, w.cols, 0, 6)
	o := tarn.OverwriteOptions{}
	gone := func(r row) bool { return true }
	p := w.cols[0]
	modes := []string{"default", "static", "partition", "truncate"}
	if w.crossing && w.engine == "first-row" { // which rows are dropped depends on what is replaced
		modes = []string{"static", "truncate"}
	}
	switch mode := rapid.SampledFrom(modes).Draw(t, "mode"); {
	case mode == "truncate":
		o.Static, rows = true, nil
	case mode == "static":
		o.Static = true
	case mode == "partition" && w.partitioned:
		d := rows[0].get(p)
		var text *string
		if d != nil {
			text = new(rows[0].vals[p.id])
		}
		o.Partition = map[string]*string{p.name: text}
		within := func(r row) bool { return show(p.typ, r.get(p)) == show(p.typ, d) }
		rows = slices.DeleteFunc(rows, func(r row) bool { return !within(r) })
		written := w.wholeOverwrite || slices.ContainsFunc(rows, func(n row) bool { return !w.dropped(n) })
		gone = func(r row) bool { return written && within(r) }
	case w.partitioned && !w.wholeOverwrite:
		gone = func(r row) bool {
			return slices.ContainsFunc(w.placed(rows), func(n row) bool {
				return !w.dropped(n) && // else nothing is written for it
					show(p.typ, r.get(p)) == show(p.typ, n.get(p))
			})
		}
	}
	var seq func(func(tarn.Batch, error) bool)
	if rows != nil {
		seq = func(yield func(tarn.Batch, error) bool) { yield(w.batch(w.cols, rows), nil) }
	}
	res, err := w.tab.Overwrite(w.ctx, o, seq)
	if w.crossing && slices.ContainsFunc(rows, func(n row) bool {
		r, ok := w.alive(w.byKey[w.key(n)])
		return ok && !w.dropped(n) && !gone(r)
	}) {
		if !errors.Is(err, tarn.ErrInvalid) {
			t.Fatalf("a key of a partition that stays comes to one that is replaced: %v", err)
		}
		return
	}
	w.must(err)
	w.plain = slices.DeleteFunc(w.plain, gone)
	for k, vs := range w.byKey {
		last := vs[0]
		if w.crossing && w.engine == "deduplicate" {
			last = vs[len(vs)-1]
		}
		if gone(last.row) {
			delete(w.byKey, k)
		}
	}
	w.visible.rows = slices.DeleteFunc(slices.Clone(w.visible.rows), gone)
	w.apply(rows)
	for id := w.last + 1; id <= res.SnapshotID; id++ {
		w.overwritten[id] = true
	}
	if w.committed(res, w.compacts()); w.hides() && !w.compacts() {
		delete(w.seen, w.last) // it may be seen before it is compacted
		w.compact(t)
	}
}

// placed are rows that come to the partitions where they say, of those that replace others.
func (w *world) placed(rows []row) []row {
	if !w.crossing || w.engine == "deduplicate" {
		return rows
	}
	seen := map[string]bool{}
	var out []row
	for _, r := range rows {
		if k := w.key(r); !w.dropped(r) && !seen[k] {
			seen[k] = true
			out = append(out, r)
		}
	}
	return out
}

func (w *world) expire(t *rapid.T) {
	if !w.writeOnly {
		// A writer that compacts needs the files it knows of for as long as it is open: snapshots are
		// retained for that long, or another process compacts.
		w.closeWriters()
	}
	_, err := w.tab.ExpireSnapshots(w.ctx, tarn.ExpireOptions{RetainMin: 1, RetainMax: rapid.IntRange(1, 5).Draw(t, "retain")})
	w.must(err)
}

// orphans cleans away what nothing refers to; after that there is no more of it.
func (w *world) orphans(t *rapid.T) {
	w.closeWriters()
	for i := range 2 {
		gone, err := w.tab.Orphans(w.ctx, time.Now().Add(time.Hour), false)
		w.must(err)
		if i > 0 && len(gone) > 0 {
			t.Fatalf("removed a second time: %v", gone)
		}
	}
}

func (w *world) tag(t *rapid.T) {
	if w.last == 0 {
		return
	}
	name := fmt.Sprint("tag", rapid.IntRange(0, 2).Draw(t, "tag"))
	if _, ok := w.tags[name]; ok {
		w.must(w.tab.DeleteTag(w.ctx, name))
		delete(w.tags, name)
		return
	}
	w.must(w.tab.CreateTag(w.ctx, name, 0))
	w.tags[name] = w.last
}

// travel reads all states that can still be read.
func (w *world) travel(t *rapid.T) {
	ids, err := w.tab.Snapshots(w.ctx)
	w.must(err)
	if len(ids) > 0 {
		id := rapid.SampledFrom(ids).Draw(t, "snapshot")
		if s, ok := w.seenAt(id); ok {
			w.compare(s, map[string]string{"scan.snapshot-id": fmt.Sprint(id)})
		}
	}
	for name, id := range w.tags {
		if s, ok := w.seenAt(id); ok {
			w.compare(s, map[string]string{"scan.tag-name": name})
		}
	}
}

// seenAt is what a read of a snapshot has to show.
func (w *world) seenAt(id int64) (state, bool) {
	if !w.hides() {
		return w.states[id], true
	}
	s, ok := w.seen[id]
	return s, ok
}

func (w *world) compare(s state, opts map[string]string) {
	w.t.Helper()
	tab, err := w.tab.With(w.ctx, opts)
	w.must(err)
	w.same(fmt.Sprint(opts), s, w.read(tab, tarn.ScanOptions{}), s.cols)
}

func (w *world) read(tab *tarn.Table, o tarn.ScanOptions) []string {
	w.t.Helper()
	var got []string
	o.WideTimestamps = true
	p, err := tab.Scan(o).Plan(w.ctx)
	w.must(err)
	for b, err := range p.Batches(w.ctx) {
		w.must(err)
		got = append(got, textsOf(b, p.Fields())...)
	}
	slices.Sort(got)
	return got
}

func (w *world) same(what string, s state, got []string, cols []column) {
	w.t.Helper()
	var want []string
	for _, r := range s.rows {
		want = append(want, r.text(cols))
	}
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		w.t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// check reads the whole table and examines it. The table is refreshed first: a schema change gives no
// new columns to a table that is open.
func (w *world) check(t *rapid.T) {
	var err error
	w.tab, err = w.tab.Refresh(w.ctx)
	w.must(err)
	w.same("table", w.shows(), w.read(w.tab, tarn.ScanOptions{}), w.cols)
	r, err := w.tab.Check(w.ctx)
	w.must(err)
	if len(r.Problems) > 0 {
		t.Fatalf("check: %+v", r.Problems)
	}
}

// query reads some columns of the rows that match a filter.
func (w *world) query(t *rapid.T) {
	cols := rapid.Permutation(w.cols).Draw(t, "columns")[:rapid.IntRange(1, len(w.cols)).Draw(t, "n")]
	o := tarn.ScanOptions{Columns: []string{}, Parallel: rapid.IntRange(0, 3).Draw(t, "parallel")}
	for _, c := range cols {
		o.Columns = append(o.Columns, c.name)
	}
	matches := func(row) bool { return true }
	if rapid.IntRange(0, 3).Draw(t, "filter") > 0 {
		o.Filter, matches = w.drawFilter(t, 2)
	}
	s := w.shows()
	s.rows = slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool { return !matches(r) })
	got := w.read(w.tab, o)
	w.same(fmt.Sprintf("%v where %v", o.Columns, o.Filter), s, got, cols)
	o.Limit = rapid.Int64Range(1, 10).Draw(t, "limit")
	some := w.read(w.tab, o)
	if want := min(int(o.Limit), len(got)); len(some) != want {
		t.Fatalf("%v where %v limit %d: %d rows, want %d", o.Columns, o.Filter, o.Limit, len(some), want)
	}
	for _, line := range some {
		if !slices.Contains(got, line) {
			t.Fatalf("%v where %v limit %d: %s is no row of the result\n%s", o.Columns, o.Filter, o.Limit, line, strings.Join(got, "\n"))
		}
	}
}

func (w *world) drawFilter(t *rapid.T, depth int) (predicate.Predicate, func(row) bool) {
	if depth > 0 && rapid.Bool().Draw(t, "joined") {
		p, f := w.drawFilter(t, depth-1)
		q, g := w.drawFilter(t, depth-1)
		if rapid.Bool().Draw(t, "and") {
			return predicate.All(p, q), func(r row) bool { return f(r) && g(r) }
		}
		return predicate.Any(p, q), func(r row) bool { return f(r) || g(r) }
	}
	c := rapid.SampledFrom(w.cols).Draw(t, "column")
	v := row{vals: map[int]string{c.id: valueOf(c.typ, rapid.IntRange(0, 30).Draw(t, "literal"))}}.get(c)
	compare := func(holds func(int) bool) func(row) bool {
		return func(r row) bool { d := r.get(c); return d != nil && holds(types.Compare(c.typ, d, v)) }
	}
	switch rapid.IntRange(0, 6).Draw(t, "op") {
	case 0:
		return predicate.Equal(c.name, v), compare(func(x int) bool { return x == 0 })
	case 1:
		return predicate.NotEqual(c.name, v), compare(func(x int) bool { return x != 0 })
	case 2:
		return predicate.Less(c.name, v), compare(func(x int) bool { return x < 0 })
	case 3:
		return predicate.AtLeast(c.name, v), compare(func(x int) bool { return x >= 0 })
	case 4:
		return predicate.Null(c.name), func(r row) bool { return r.get(c) == nil }
	case 5:
		return predicate.NotNull(c.name), func(r row) bool { return r.get(c) != nil }
	}
	u := row{vals: map[int]string{c.id: valueOf(c.typ, rapid.IntRange(0, 30).Draw(t, "literal"))}}.get(c)
	return predicate.OneOf(c.name, v, u), func(r row) bool {
		d := r.get(c)
		return d != nil && (types.Compare(c.typ, d, v) == 0 || types.Compare(c.typ, d, u) == 0)
	}
}
