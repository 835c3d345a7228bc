package agg

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// elements is a column of lists or maps, seen as one window of their elements: references are to those.
type elements struct {
	valid []Validity // of the lists
	offs  [][]int32
	arrs  []arrow.Array
}

func elementsOf(col []arrow.Array) *elements {
	e := &elements{valid: Validities(col), offs: make([][]int32, len(col)), arrs: make([]arrow.Array, len(col))}
	for i, a := range col {
		e.offs[i], e.arrs[i] = offsets(a.Data()), a.(array.ListLike).ListValues()
	}
	return e
}

// of appends the elements of a list, which is not NULL.
func (e *elements) of(dst []batch.Ref, r batch.Ref) []batch.Ref {
	for i := e.offs[r.Src][r.Row]; i < e.offs[r.Src][r.Row+1]; i++ {
		dst = append(dst, batch.Ref{Src: r.Src, Row: i})
	}
	return dst
}

// key appends bytes that are the same for equal elements.
func (e *elements) key(dst []byte, r batch.Ref) []byte {
	return batch.AppendComparable(dst, e.arrs[r.Src], int(r.Row))
}

// member is a column of the rows that the elements are.
func (e *elements) member(field int) []arrow.Array {
	out := make([]arrow.Array, len(e.arrs))
	for i, a := range e.arrs {
		out[i] = a.(*array.Struct).Field(field)
	}
	return out
}

// gathering folds the elements of one group.
type gathering interface {
	reset()
	// first begins with a list where there was NULL.
	first(els []batch.Ref) error
	// add folds one more list.
	add(els []batch.Ref) error
	// older folds a list as if it had come first.
	older(els []batch.Ref) error
	retract(els []batch.Ref) error
	// end gives how many elements there are, and keeps them for the end of all groups.
	end() int
	// values are the elements of all groups.
	values() (arrow.Array, error)
}

// fold folds lists or maps of type t. NULL changes nothing, and nothing is taken from NULL.
func (e *elements) fold(in *Input, t types.Type, g gathering) (Result, error) {
	dt := types.WideArrowType(t)
	if len(e.arrs) == 0 {
		return Result{Values: array.MakeArrayOfNull(nil, dt, len(in.Ends))}, nil
	}
	off, valid, nulls := make([]int32, 1, len(in.Ends)+1), make([]byte, bitutil.BytesForBits(int64(len(in.Ends)))), 0
	var els []batch.Ref
	from, total := int32(0), 0
	for n, end := range in.Ends {
		g.reset()
		some := false
		for i := from; i < end; i++ {
			r := in.Refs[i]
			if !e.valid[r.Src].At(r.Row) {
				continue
			}
			els = e.of(els[:0], r)
			var err error
			switch op := opAt(in.Ops, int(i)); {
			case op == Retract && some:
				err = g.retract(els)
			case op == Retract:
			case !some:
				some = true
				err = g.first(els)
			case op == AddOlder:
				err = g.older(els)
			default:
				err = g.add(els)
			}
			if err != nil {
				return Result{}, err
			}
		}
		from = end
		if some {
			bitutil.SetBit(valid, n)
			total += g.end()
		} else {
			nulls++
		}
		if total > math.MaxInt32 {
			return Result{}, batch.ErrTooLarge
		}
		off = append(off, int32(total))
	}
	values, err := g.values()
	if err != nil {
		return Result{}, err
	}
	return Result{Values: batch.Lists(dt, values, off, valid, nulls)}, nil
}

// picked are elements that are taken as they are.
type picked struct {
	*elements
	all []batch.Ref
}

func (p *picked) values() (arrow.Array, error) {
	if len(p.all) == 0 {
		return array.NewSlice(p.arrs[0], 0, 0), nil
	}
	return batch.GatherArrays(p.arrs, batch.Select(p.all))
}

// keyed is a set of elements with different keys. It is given in the order of the reference, see arrange.
type keyed struct {
	picked
	of      func(dst []byte, r batch.Ref) []byte // appends the key of an element
	hash    hashed                               // of the key
	size    uint32                               // of the reference's table when it was last made; 0: it made none
	entries []batch.Ref                          // NullRef where one was taken away
	live    int
	index   map[string]int32 // of entries, by key
	buf     []byte
}

// reset makes it empty. An index that is large is thrown away: emptying it for each of many small groups takes long.
func (k *keyed) reset() {
	k.entries, k.live, k.size = k.entries[:0], 0, 0
	if len(k.index) > 1<<10 || k.index == nil {
		k.index = map[string]int32{}
	} else {
		clear(k.index)
	}
}

// find gives where the entry with an element's key is.
func (k *keyed) find(r batch.Ref) (int32, bool) {
	k.buf = k.of(k.buf[:0], r)
	i, ok := k.index[string(k.buf)]
	return i, ok
}

// append adds an element whose key was the last to be looked for, and not found.
func (k *keyed) append(r batch.Ref) {
	k.index[string(k.buf)] = int32(len(k.entries))
	k.entries = append(k.entries, r)
	k.live++
}

// put adds an element, or has it in the place of that with its key.
func (k *keyed) put(r batch.Ref) {
	if i, ok := k.find(r); ok {
		k.entries[i] = r
	} else {
		k.append(r)
	}
}

func (k *keyed) remove(r batch.Ref) {
	if i, ok := k.find(r); ok {
		k.entries[i] = batch.NullRef
		k.live--
		delete(k.index, string(k.buf))
	}
}

// built says that the reference makes its table anew of what is here.
func (k *keyed) built() { k.size = places(k.live) }

func (k *keyed) end() int {
	for _, i := range arrange(k.entries, k.hash, k.size) {
		k.all = append(k.all, k.entries[i])
	}
	return k.live
}

// swap empties it for an older list and gives what it had.
func (k *keyed) swap() []batch.Ref {
	var had []batch.Ref
	for _, i := range arrange(k.entries, k.hash, k.size) {
		had = append(had, k.entries[i])
	}
	k.reset()
	return had
}
