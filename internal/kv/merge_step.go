package kv

import (
	"bytes"

	"github.com/tarnlake/tarn/internal/batch"
)

// begin tells whether key belongs to the last group.
func (m *Merger) begin(key Key) bool {
	if !m.has || m.last.Compare(key) != 0 {
		return false
	}
	if i := len(m.out.Ends) - 1; len(m.mixed) == 0 || m.mixed[len(m.mixed)-1] != i {
		m.mixed = append(m.mixed, i)
	}
	return true
}

// end notes the key of the last group.
func (m *Merger) end(key Key) {
	m.has = true
	if key.Bytes != nil {
		m.lastBuf = append(m.lastBuf[:0], key.Bytes...)
		key.Bytes = m.lastBuf
	}
	m.last = key
}

// pass takes rows of one run, which no other run has keys between.
func (m *Merger) pass(c *cursor, to int) {
	refs, ends := m.out.Refs, m.out.Ends
	if m.begin(c.keys.At(c.pos)) {
		ends = ends[:len(ends)-1]
	}
	words := c.keys.words
	for i := c.pos; i < to; i++ {
		if i > c.pos && (words != nil && words[i] != words[i-1] || words == nil && !bytes.Equal(c.keys.bytes(i), c.keys.bytes(i-1))) {
			ends = append(ends, int32(len(refs)))
		}
		refs = append(refs, batch.Ref{Src: c.src, Row: int32(i)})
	}
	m.out.Refs, m.out.Ends = refs, append(ends, int32(len(refs)))
	m.end(c.keys.At(to - 1))
	c.pos = to
}

func (m *Merger) mergeWords(to []int, pivot Key) {
	a := m.pairs
	low := pivot.Word
	for i, c := range m.cursors {
		ref := batch.Ref{Src: c.src, Row: int32(c.pos)}
		if to[i] > c.pos {
			low = min(low, c.keys.words[c.pos])
		}
		for _, k := range c.keys.words[c.pos:to[i]] {
			a = append(a, pair{k, ref})
			ref.Row++
		}
		c.pos = to[i]
	}
	a = m.radix.sortBetween(a, low, pivot.Word)
	m.pairs = a
	refs, ends := m.out.Refs, m.out.Ends
	if m.begin(Key{Word: a[0].k}) {
		ends = ends[:len(ends)-1]
	}
	last := a[0].k
	for i := range a {
		if a[i].k != last {
			ends = append(ends, int32(len(refs)))
			last = a[i].k
		}
		refs = append(refs, a[i].ref)
	}
	m.out.Refs, m.out.Ends = refs, append(ends, int32(len(refs)))
	m.end(Key{Word: last})
}

func (m *Merger) mergeBytes(to []int, pivot Key) {
	a := m.pairs
	var low []byte
	for i, c := range m.cursors {
		if to[i] > c.pos {
			if k := c.keys.bytes(c.pos); low == nil || bytes.Compare(k, low) < 0 {
				low = k
			}
		}
		for j := c.pos; j < to[i]; j++ {
			a = append(a, pair{ref: batch.Ref{Src: c.src, Row: int32(j)}})
		}
		c.pos = to[i]
	}
	m.pairs = a
	key := func(r batch.Ref) []byte { return m.window[r.Src].keys.bytes(int(r.Row)) }
	// All keys lie between low and pivot, so they begin with what these have in common.
	depth := common(low, pivot.Bytes, len(low))
	s := byteSorter{key, &m.radix}
	s.sort(a, depth)
	refs, ends := m.out.Refs, m.out.Ends
	last := key(a[0].ref)
	if m.begin(Key{Bytes: last}) {
		ends = ends[:len(ends)-1]
	}
	for i := range a {
		if k := key(a[i].ref); !bytes.Equal(k, last) {
			ends = append(ends, int32(len(refs)))
			last = k
		}
		refs = append(refs, a[i].ref)
	}
	m.out.Refs, m.out.Ends = refs, append(ends, int32(len(refs)))
	m.end(Key{Bytes: last})
}
