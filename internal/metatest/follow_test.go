package metatest

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// held is what a reader of the changes has of the table.
type held struct {
	plain []row
	byKey map[string][]version
}

// follow reads the rows of a snapshot and then the changes of those after it: applied in their order they
// give the rows of each of these.
func (w *world) follow(t *rapid.T) {
	ids, err := w.tab.Snapshots(w.ctx)
	w.must(err)
	if len(ids) == 0 {
		return
	}
	first := rapid.SampledFrom(ids).Draw(t, "first")
	if w.tells() {
		r := teller{keys: w.keys}
		w.must(r.begin(w.ctx, w.tab, first))
		w.must(r.follow(w.ctx, w.tab))
		return
	}
	if w.keyed && (w.engine != "deduplicate" || w.postponed) {
		return // what was written is not what it was merged to
	}
	w.same(fmt.Sprint("start at ", first), w.states[first].shown(w.cols), w.start(first), w.cols)
	h := w.held(first)
	at := first
	// An overwrite is not told of: the reader begins anew behind it.
	until := func(id int64) {
		for ; at < id; at++ {
			if w.overwritten[at+1] {
				h = w.held(at + 1)
			}
		}
	}
	for p, err := range w.tab.Scan(tarn.ScanOptions{WideTimestamps: true}).Follow(w.ctx, first, 0) {
		w.must(err)
		until(p.SnapshotID - 1)
		if w.overwritten[p.SnapshotID] {
			t.Fatalf("the overwrite of snapshot %d was told of", p.SnapshotID)
		}
		at = p.SnapshotID
		for b, err := range p.Batches(w.ctx) {
			w.must(err)
			w.take(&h, w.rowsOf(b))
		}
		w.same(fmt.Sprintf("changes of snapshots %d to %d", first+1, at), w.states[at].shown(w.cols), w.textsHeld(h), w.cols)
	}
	until(w.last)
	w.same(fmt.Sprintf("changes of snapshots %d to %d", first+1, at), w.states[at].shown(w.cols), w.textsHeld(h), w.cols)
}

// start reads what changes after a snapshot are changes of.
func (w *world) start(id int64) []string {
	w.t.Helper()
	p, err := w.tab.Scan(tarn.ScanOptions{WideTimestamps: true}).Start(w.ctx, id)
	w.must(err)
	var got []string
	for b, err := range p.Batches(w.ctx) {
		w.must(err)
		got = append(got, textsOf(b, p.Fields())...)
	}
	slices.Sort(got)
	return got
}

// rowsOf gives the rows of a batch that has the columns of the table.
func (w *world) rowsOf(b tarn.Batch) []row {
	out := make([]row, b.NumRows())
	for i := range out {
		out[i].vals = map[int]string{}
		if b.Kinds != nil {
			out[i].kind = b.Kinds[i]
		}
		for k, c := range w.cols {
			if d := types.DatumAt(b.Column(k), i, c.typ); d != nil {
				out[i].vals[c.id] = types.FormatDatum(c.typ, d)
			}
		}
	}
	return out
}

func (w *world) take(h *held, rows []row) {
	for _, r := range rows {
		if !w.keyed {
			h.plain = append(h.plain, r)
			continue
		}
		k := w.heldKey(r)
		h.byKey[k] = append(h.byKey[k], w.versionOf(r))
	}
}

// heldKey is what a reader of changes tells rows apart by: the changes of a key that moves to another partition come in no order.
func (w *world) heldKey(r row) string { return r.text(w.cols[:w.keys]) }

func (w *world) textsHeld(h held) []string {
	var out []string
	for _, r := range w.rows(h.plain, h.byKey) {
		out = append(out, r.text(w.cols))
	}
	slices.Sort(out)
	return out
}

// held is what a reader has who has all that was written until a snapshot.
func (w *world) held(id int64) held {
	s := w.states[id]
	h := held{plain: slices.Clone(s.rows), byKey: map[string][]version{}}
	for k, vs := range s.byKey {
		if !w.crossing {
			h.byKey[k] = slices.Clone(vs)
		} else if r, ok := w.alive(vs); ok {
			h.byKey[w.heldKey(r)] = []version{w.versionOf(r)}
		}
	}
	return h
}

// shown is a state under the columns of another schema.
func (s state) shown(cols []column) state {
	s.cols = cols
	return s
}

// copied is a copy of versions that stays as it is.
func copied(byKey map[string][]version) map[string][]version {
	out := maps.Clone(byKey)
	for k, vs := range out {
		out[k] = slices.Clip(vs)
	}
	return out
}
