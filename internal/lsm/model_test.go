package lsm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/types"
)

// model is the naive table: all versions of all keys in the order of writing.
type model struct {
	sequence, descending, ignoreDelete bool
	rows                               map[int64][]row
}

func (m *model) write(rows []row) {
	for _, r := range rows {
		m.rows[r.k] = append(m.rows[r.k], r)
	}
}

func (m *model) clone() *model {
	c := *m
	c.rows = map[int64][]row{}
	for k, v := range m.rows {
		c.rows[k] = slices.Clone(v)
	}
	return &c
}

func (m *model) state() []row {
	var out []row
	for _, versions := range m.rows {
		versions = slices.Clone(versions)
		if m.ignoreDelete {
			versions = slices.DeleteFunc(versions, func(r row) bool { return r.kind.IsRetract() })
		}
		if m.sequence {
			slices.SortStableFunc(versions, func(a, b row) int {
				switch {
				case a.s == nil && b.s == nil:
					return 0
				case a.s == nil:
					return -1
				case b.s == nil:
					return 1
				case m.descending:
					return cmp.Compare(*b.s, *a.s)
				}
				return cmp.Compare(*a.s, *b.s)
			})
		}
		if len(versions) == 0 {
			continue
		}
		if last := versions[len(versions)-1]; !last.kind.IsRetract() {
			last.kind = types.Insert
			out = append(out, last)
		}
	}
	slices.SortFunc(out, func(a, b row) int { return cmp.Compare(a.k, b.k) })
	return out
}

// drawRows draws no deletes for tables with a sequence field: when a delete has reached the highest
// level it is gone, and a late row of a lower sequence lives, as in the reference (BUGS B018).
func drawRows(t *rapid.T, deletes bool) []row {
	var rows []row
	for i := range rapid.IntRange(1, 30).Draw(t, "rows") {
		r := row{k: rapid.Int64Range(-10, 10).Draw(t, "k"), v: fmt.Sprint("v", i, rapid.IntRange(0, 99).Draw(t, "v"))}
		if rapid.IntRange(0, 3).Draw(t, "null") > 0 {
			r.s = num(rapid.Int64Range(0, 4).Draw(t, "s"))
		}
		kinds := []int{0, 0, 2}
		if deletes {
			kinds = []int{0, 0, 0, 2, 1, 3}
		}
		r.kind = types.RowKind(rapid.SampledFrom(kinds).Draw(t, "kind"))
		rows = append(rows, r)
	}
	return rows
}

// machine runs random operations on a bucket and the model.
type machine struct {
	x         *fixture
	w         *Writer
	tasks     []*Task
	async     bool
	written   *model
	committed *model
	prepared  []manifest.Delta
	batches   int
}

func (m *machine) newWriter(t *rapid.T) {
	o := WriterOptions{}
	if m.async {
		o.Submit = func(x *Task) { m.tasks = append(m.tasks, x) }
	}
	m.w = m.x.writer(t, o)
}

func (m *machine) Write(t *rapid.T) {
	rows := drawRows(t, !m.written.sequence)
	var sel []int32
	taken := rows
	if rapid.Bool().Draw(t, "part") {
		taken = nil
		sel = []int32{}
		for i := range rows {
			if rapid.Bool().Draw(t, "take") {
				sel = append(sel, int32(i))
				taken = append(taken, rows[i])
			}
		}
	}
	if err := m.w.Write(context.Background(), rowsBatch(rows), sel); err != nil {
		t.Fatal(err)
	}
	m.written.write(taken)
}

func (m *machine) FlushMemory(t *rapid.T) {
	if err := m.w.FlushMemory(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) Prepare(t *rapid.T) {
	m.prepared = append(m.prepared, m.x.prepare(t, m.w, rapid.Bool().Draw(t, "wait")))
	m.committed = m.written.clone()
}

func (m *machine) Compact(t *rapid.T) {
	if err := m.w.Compact(context.Background(), rapid.Bool().Draw(t, "full")); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) RunTask(t *rapid.T) {
	for _, x := range m.tasks {
		x.Run(context.Background())
	}
	m.tasks = nil
}

func (m *machine) commitAll(t *rapid.T) {
	for _, d := range m.prepared {
		m.x.commit(t, d)
	}
	m.prepared = nil
}

func (m *machine) Reopen(t *rapid.T) {
	if err := m.w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	m.commitAll(t)
	m.written = m.committed.clone()
	for _, f := range m.x.store.names() {
		if !m.x.ever[f] {
			t.Fatalf("file %s was not prepared but is left after Close", f)
		}
	}
	m.newWriter(t)
}

func (m *machine) Check(t *rapid.T) {}

func (m *machine) Read(t *rapid.T) {
	m.commitAll(t)
	o := ReadOptions{BatchRows: m.batches}
	if diff := gocmp.Diff(m.committed.state(), m.x.read(t, o), gocmp.AllowUnexported(row{})); diff != "" {
		t.Fatalf("read (-want +got):\n%s", diff)
	}
	if _, err := m.x.table.newLevels(m.x.c.Levels.NumLevels+2, m.x.live); err != nil {
		t.Fatal(err)
	}
}

func TestWriterAgainstModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{async: rapid.Bool().Draw(t, "async"), batches: rapid.SampledFrom([]int{1, 3, 8192}).Draw(t, "batch rows")}
		m.written = &model{rows: map[int64][]row{}, ignoreDelete: rapid.IntRange(0, 3).Draw(t, "ignore-delete") == 0}
		m.written.sequence = rapid.Bool().Draw(t, "sequence.field")
		m.written.descending = m.written.sequence && rapid.Bool().Draw(t, "descending")
		m.x = newFixture(t, dir, func(c *Config, mc *mergefn.Config) {
			mc.IgnoreDelete = m.written.ignoreDelete
			if m.written.sequence {
				c.Sequence, c.Descending = []string{"s"}, m.written.descending
			}
			c.Levels = LevelOptions{
				Trigger:   rapid.IntRange(1, 6).Draw(t, "trigger"),
				NumLevels: rapid.IntRange(2, 5).Draw(t, "num-levels"),
				ForceUp:   rapid.Bool().Draw(t, "force-up"),
			}
			c.TargetFileSize = rapid.SampledFrom([]int64{1, 1000, 1 << 30}).Draw(t, "target-file-size")
			c.WriteBuffer = rapid.SampledFrom([]int64{1, 4000, 1 << 30}).Draw(t, "write-buffer-size")
			c.Spill.Buffer = rapid.Bool().Draw(t, "spillable")
			c.Spill.MaxDisk = rapid.SampledFrom([]int64{0, 0, 2000}).Draw(t, "max-disk")
			c.Spill.Compression = rapid.SampledFrom([]string{"", "lz4", "none"}).Draw(t, "spill-compression")
			c.FanIn = rapid.SampledFrom([]int{2, 3, 128}).Draw(t, "fan-in")
			c.WriteOnly = rapid.IntRange(0, 3).Draw(t, "write-only") == 0
		})
		m.x.store.roll = rapid.SampledFrom([]int64{1, 5, 1 << 40}).Draw(t, "rows per file")
		m.committed = m.written.clone()
		m.newWriter(t)
		t.Repeat(map[string]func(*rapid.T){
			"": m.Check, "write": m.Write, "flush": m.FlushMemory, "prepare": m.Prepare, "compact": m.Compact,
			"task": m.RunTask, "reopen": m.Reopen, "read": m.Read,
		})
		m.Prepare(t)
		m.Read(t)
		m.Reopen(t)
		m.x.compact(t)
		m.Read(t)
		if err := m.w.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Fatalf("temporary files are left: %v", left)
		}
		if !m.x.store.shared {
			t.Fatal("a _KEY_ column is a copy of its value column")
		}
	})
}
