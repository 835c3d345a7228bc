package kv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
)

// ErrUnsorted is the error of a run that is not in key order.
var ErrUnsorted = errors.New("rows are not in key order")

// stepRows is about the number of rows that are merged in one step: so many stay in the cache.
const stepRows = 3000

// Run is a sorted run: batches whose keys ascend.
type Run struct {
	Name string // for errors
	// Low is not larger than the run's first key: the run is not opened before the merge has come
	// there. Without HasLow it is opened at once.
	Low    Key
	HasLow bool
	Open   func(ctx context.Context) (batch.Reader, error)
}

// Layout says what the columns of the batches of all runs are.
type Layout struct {
	Keys    []int // columns of the key
	Encoder *Encoder
	Order   Order
}

// Groups are versions of some keys, in key order: those of key i are Refs[Ends[i-1]:Ends[i]], oldest
// first. They are valid until the next call that made them.
type Groups struct {
	Window []arrow.RecordBatch
	Runs   []int // for each batch of Window the run that it is of, by its place among the runs; nil: all are of the first
	Refs   []batch.Ref
	Ends   []int32
}

// Group is the versions of key i.
func (g *Groups) Group(i int) []batch.Ref {
	from := int32(0)
	if i > 0 {
		from = g.Ends[i-1]
	}
	return g.Refs[from:g.Ends[i]]
}

// Merger merges sorted runs. It does not compare rows one by one: of the batches at hand, all rows up
// to the smallest of their last keys are complete, so they are put together and sorted by radix on
// the few bits in which they differ. A run whose rows fall between those of others is passed as a
// whole. It is used by one goroutine.
type Merger struct {
	layout  Layout
	target  int
	rows    int       // of a step, about
	cursors []*cursor // of runs not yet at their end, in the order of runs
	pending []*cursor // not yet opened, by Low, largest first
	window  []source
	recs    []arrow.RecordBatch // of window

	ends       []int // of cursors, in a step
	pairs      []pair
	radix      radix
	out        Groups
	mixed      []int  // groups put together in several steps: their versions are not in order of runs
	carry      int    // refs of the last group, kept back as more versions may come
	last       Key    // key of the last group
	lastBuf    []byte // of last
	has        bool   // last is set
	carryMixed bool
}

// cursor is where a run is read.
type cursor struct {
	run  int
	def  Run
	r    batch.Reader
	keys Keys
	pos  int
	src  int32 // in the window
	prev []byte
	word uint64
	seen bool
}

// source is a batch of the window.
type source struct {
	run  int
	rec  arrow.RecordBatch
	keys Keys
	ver  versions
}

// NewMerger makes a merger of runs, the oldest first: that is the order of versions that do not
// differ in Order. target is the number of keys of a result, 0 for 8192.
func NewMerger(runs []Run, layout Layout, target int) *Merger {
	if target <= 0 {
		target = 8192
	}
	m := &Merger{layout: layout, target: target, rows: stepRows}
	for i, r := range runs {
		m.pending = append(m.pending, &cursor{run: i, def: r})
	}
	slices.SortStableFunc(m.pending, func(a, b *cursor) int {
		if a.def.HasLow != b.def.HasLow {
			if a.def.HasLow {
				return -1
			}
			return 1
		}
		return b.def.Low.Compare(a.def.Low)
	})
	return m
}

// Close closes the runs that are open.
func (m *Merger) Close() error {
	var errs []error
	for _, c := range m.cursors {
		errs = append(errs, c.r.Close())
	}
	m.cursors, m.pending = nil, nil
	return errors.Join(errs...)
}

// Next gives the next keys, io.EOF after the last one.
func (m *Merger) Next(ctx context.Context) (*Groups, error) {
	m.rewind()
	for {
		more, err := m.step(ctx)
		if err != nil {
			return nil, err
		}
		n := len(m.out.Ends)
		if !more {
			if n == 0 {
				return nil, io.EOF
			}
			m.carry, m.has = 0, false
			break
		}
		// The last group may get more versions from the next batch.
		if n > m.target || n > 1 && len(m.window) > 2*len(m.cursors)+32 {
			n--
			from := m.out.Ends[n-1]
			m.carry = len(m.out.Refs) - int(from)
			m.carryMixed = len(m.mixed) > 0 && m.mixed[len(m.mixed)-1] == n
			if m.carryMixed {
				m.mixed = m.mixed[:len(m.mixed)-1]
			}
			m.out.Ends = m.out.Ends[:n]
			break
		}
	}
	m.arrange()
	g := m.out
	g.Window = m.recs
	g.Runs = make([]int, len(m.window))
	for i, s := range m.window {
		g.Runs[i] = s.run
	}
	g.Refs = g.Refs[:len(g.Refs)-m.carry]
	return &g, nil
}

// rewind begins a new result: it drops batches that are done and keeps the versions kept back.
func (m *Merger) rewind() {
	kept := m.out.Refs[len(m.out.Refs)-m.carry:]
	used := make([]bool, len(m.window))
	for _, c := range m.cursors {
		used[c.src] = true
	}
	for _, r := range kept {
		used[r.Src] = true
	}
	to := make([]int32, len(m.window))
	window := make([]source, 0, len(m.window))
	for i, s := range m.window {
		if used[i] {
			to[i] = int32(len(window))
			window = append(window, s)
		}
	}
	m.window = window
	m.recs = make([]arrow.RecordBatch, len(window), 2*len(window)+1)
	for i, s := range window {
		m.recs[i] = s.rec
	}
	for _, c := range m.cursors {
		c.src = to[c.src]
	}
	// A result's refs may still be looked at by whoever got them, so they are not written over.
	refs := make([]batch.Ref, 0, max(len(m.out.Refs), 1024))
	for _, r := range kept {
		refs = append(refs, batch.Ref{Src: to[r.Src], Row: r.Row})
	}
	m.out = Groups{Refs: refs, Ends: make([]int32, 0, m.target+1024)}
	m.mixed = m.mixed[:0]
	if m.carry > 0 {
		m.out.Ends = append(m.out.Ends, int32(m.carry))
		if m.carryMixed {
			m.mixed = append(m.mixed, 0)
		}
	}
	m.carry = 0
}

// step takes all rows up to a key that no unread row can be below; more is false at the end.
func (m *Merger) step(ctx context.Context) (more bool, err error) {
	pivot, ok, err := m.advance(ctx)
	if err != nil || !ok {
		return false, err
	}
	active, total, most := m.reach(pivot)
	if total > m.rows && active > 1 {
		// A smaller step stays in the cache. It takes at least one row of the run with the most.
		n := m.ends[most] - m.cursors[most].pos
		pivot = m.cursors[most].keys.At(m.cursors[most].pos + (n-1)*m.rows/total)
		active, total, most = m.reach(pivot)
	}
	m.pairs = m.pairs[:0]
	if active == 1 {
		m.pass(m.cursors[most], m.ends[most])
		return true, nil
	}
	if cap(m.pairs) < total {
		m.pairs = make([]pair, 0, total+total/4)
	}
	if m.layout.Encoder.word {
		m.mergeWords(m.ends, pivot)
	} else {
		m.mergeBytes(m.ends, pivot)
	}
	return true, nil
}

// reach finds how far each run goes up to a key: how many runs have rows there, how many rows, and
// which run has the most.
func (m *Merger) reach(pivot Key) (active, total, most int) {
	m.ends = m.ends[:0]
	for i, c := range m.cursors {
		end := c.keys.after(c.pos, pivot)
		m.ends = append(m.ends, end)
		if n := end - c.pos; n > 0 {
			active++
			total += n
			if n >= m.ends[most]-m.cursors[most].pos {
				most = i
			}
		}
	}
	return active, total, most
}

// advance loads batches so that each open run has rows and gives the key up to which all is there.
func (m *Merger) advance(ctx context.Context) (pivot Key, ok bool, err error) {
	alive := m.cursors[:0]
	for i, c := range m.cursors {
		there, err := m.fill(ctx, c)
		if err != nil {
			m.cursors = append(alive, m.cursors[i:]...)
			return Key{}, false, err
		}
		if there {
			alive = append(alive, c)
		}
	}
	m.cursors = alive
	for _, c := range m.cursors {
		if k := c.keys.At(c.keys.Len() - 1); !ok || k.Compare(pivot) < 0 {
			pivot, ok = k, true
		}
	}
	for len(m.pending) > 0 {
		c := m.pending[len(m.pending)-1]
		if ok && c.def.HasLow && c.def.Low.Compare(pivot) > 0 {
			break
		}
		m.pending = m.pending[:len(m.pending)-1]
		if c.r, err = c.def.Open(ctx); err != nil {
			return Key{}, false, err
		}
		at, _ := slices.BinarySearchFunc(m.cursors, c.run, func(x *cursor, run int) int { return cmp.Compare(x.run, run) })
		m.cursors = slices.Insert(m.cursors, at, c)
		there, err := m.fill(ctx, c)
		if err != nil {
			return Key{}, false, err
		}
		if !there {
			m.cursors = slices.Delete(m.cursors, at, at+1)
			continue
		}
		if k := c.keys.At(c.keys.Len() - 1); !ok || k.Compare(pivot) < 0 {
			pivot, ok = k, true
		}
	}
	return pivot, ok, nil
}

// fill loads the run's next batch if the last one is used up. At the end it closes the run.
func (m *Merger) fill(ctx context.Context, c *cursor) (bool, error) {
	for c.pos >= c.keys.Len() {
		b, err := c.r.Next(ctx)
		if err == io.EOF {
			return false, c.r.Close()
		}
		if err != nil {
			return false, err
		}
		if err := m.load(c, b.RecordBatch); err != nil {
			return false, fmt.Errorf("kv: merge %s: %w", c.def.Name, err)
		}
	}
	return true, nil
}

func (m *Merger) load(c *cursor, rec arrow.RecordBatch) error {
	cols := make([]arrow.Array, len(m.layout.Keys))
	for i, k := range m.layout.Keys {
		cols[i] = rec.Column(k)
	}
	if c.seen {
		k := c.keys.At(c.keys.Len() - 1)
		c.word, c.prev = k.Word, append(c.prev[:0], k.Bytes...)
	}
	keys, err := m.layout.Encoder.Encode(cols)
	if err != nil {
		return err
	}
	if at := keys.ascending(); at >= 0 {
		return fmt.Errorf("%w: row %d of a batch is smaller than the one before", ErrUnsorted, at)
	}
	c.pos = 0
	if keys.Len() == 0 {
		c.keys = keys
		return nil
	}
	if !c.seen && c.def.HasLow && keys.At(0).Compare(c.def.Low) < 0 {
		return fmt.Errorf("%w: the first key is smaller than the smallest key that the metadata say", ErrUnsorted)
	}
	if c.seen {
		k := keys.At(0)
		if k.Bytes == nil && k.Word < c.word || k.Bytes != nil && bytes.Compare(k.Bytes, c.prev) < 0 {
			return fmt.Errorf("%w: a batch begins with a smaller key than the last one ended with", ErrUnsorted)
		}
	}
	ver, err := m.layout.Order.of(rec)
	if err != nil {
		return err
	}
	c.keys, c.seen = keys, true
	c.src = int32(len(m.window))
	m.window = append(m.window, source{run: c.run, rec: rec, keys: keys, ver: ver})
	m.recs = append(m.recs, rec)
	return nil
}

// arrange brings the versions of each key into order.
func (m *Merger) arrange() {
	byRun := func(a, b batch.Ref) int {
		if x, y := m.window[a.Src].run, m.window[b.Src].run; x != y {
			return cmp.Compare(x, y)
		}
		if a.Src != b.Src {
			return cmp.Compare(a.Src, b.Src)
		}
		return cmp.Compare(a.Row, b.Row)
	}
	for _, i := range m.mixed {
		if i < len(m.out.Ends) {
			sortVersions(m.out.Group(i), byRun)
		}
	}
	if m.layout.Order.active() {
		arrange(&m.out, func(src int32) *versions { return &m.window[src].ver })
	}
}

// Single makes groups of one batch in which no key comes twice: refs are its rows, ends the numbers
// from 1 on.
func Single(rec arrow.RecordBatch, refs []batch.Ref, ends []int32) *Groups {
	return &Groups{Window: []arrow.RecordBatch{rec}, Refs: refs, Ends: ends}
}
