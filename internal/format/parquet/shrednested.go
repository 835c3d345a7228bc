package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
)

// nestedStep is how many rows of a nested column are taken at a time: pages are cut between.
const nestedStep = 1000

// entries are the entries of a leaf, on the way down to it: levels so far, and the place in the
// array at hand, or -1 if something above is NULL or an empty list.
type entries struct {
	def, rep []uint8
	at       []int32
}

// nested adds rows [from, to) of a column that is a group.
func (s *shredder) nested(a arrow.Array, from, to int) error {
	for from < to {
		k := s.step(a, from, min(to-from, nestedStep))
		e := entries{def: make([]uint8, k), rep: make([]uint8, k), at: make([]int32, k)}
		for i := range k {
			e.at[i] = int32(from + i)
		}
		leaves := s.leaves
		if err := s.descend(s.n, a, e, &leaves); err != nil {
			return err
		}
		from += k
		for _, w := range s.leaves {
			w.rows += k
			if w.full() {
				if err := w.endPage(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// step cuts a run of rows so that pages do not grow far beyond their limit.
func (s *shredder) step(a arrow.Array, from, k int) int {
	l := s.leaves[0].limit
	k = min(k, l.rows)
	for k > 1 && batch.SizeOfArray(array.NewSlice(a, int64(from), int64(from+k))) > 2*int64(l.bytes) {
		k /= 2
	}
	return k
}

// enter takes entries into a node: where its value is NULL, they end here.
func enter(n *node, a arrow.Array, e entries) (entries, error) {
	if n.rep != optional {
		if a.NullN() > 0 {
			for _, i := range e.at {
				if i >= 0 && a.IsNull(int(i)) {
					return e, fmt.Errorf("field %s %w", n.name, errNotNull)
				}
			}
		}
		return e, nil
	}
	out := entries{def: make([]uint8, len(e.def)), rep: e.rep, at: make([]int32, len(e.at))}
	for i, at := range e.at {
		out.def[i], out.at[i] = e.def[i], at
		if at < 0 {
			continue
		}
		if a.IsNull(int(at)) {
			out.at[i] = -1
		} else {
			out.def[i]++
		}
	}
	return out, nil
}

func (s *shredder) descend(n *node, a arrow.Array, e entries, leaves *[]*leafWriter) error {
	e, err := enter(n, a, e)
	if err != nil {
		return err
	}
	if n.isLeaf() {
		w := (*leaves)[0]
		*leaves = (*leaves)[1:]
		rows := make([]int32, 0, len(e.at))
		for _, at := range e.at {
			if at >= 0 {
				rows = append(rows, at)
			}
		}
		rep := e.rep
		if n.maxRep == 0 {
			rep = nil
		}
		w.addLevels(len(e.at), len(e.at)-len(rows), e.def, rep)
		return s.values(w, a, 0, 0, rows)
	}
	switch a := a.(type) {
	case *array.Struct:
		for i, c := range n.children {
			if err := s.descend(c, a.Field(i), e, leaves); err != nil {
				return err
			}
		}
		return nil
	case *array.Map:
		kv := n.children[0]
		e = expand(kv, a, e)
		keys, values := batch.Entries(a)
		if err := s.descend(kv.children[0], keys, e, leaves); err != nil {
			return err
		}
		return s.descend(kv.children[1], values, e, leaves)
	case *array.List:
		rep := n.children[0]
		return s.descend(rep.children[0], a.ListValues(), expand(rep, a, e), leaves)
	}
	return fmt.Errorf("column %s: arrays of type %s cannot be written", s.n.name, a.DataType())
}

// expand replaces each entry of a list by those of its elements.
func expand(rep *node, a array.ListLike, e entries) entries {
	var out entries
	for i, at := range e.at {
		var from, to int64
		if at >= 0 {
			from, to = a.ValueOffsets(int(at))
		}
		if from == to {
			out.def = append(out.def, e.def[i])
			out.rep = append(out.rep, e.rep[i])
			out.at = append(out.at, -1)
			continue
		}
		r := e.rep[i]
		for j := from; j < to; j++ {
			out.def = append(out.def, e.def[i]+1)
			out.rep = append(out.rep, r)
			out.at = append(out.at, int32(j))
			r = uint8(rep.maxRep)
		}
	}
	return out
}
