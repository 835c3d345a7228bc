package batch

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// gatherLists gathers lists and maps: the elements of the chosen rows are runs of rows of the
// element arrays.
func gatherLists(arrs []arrow.Array, s *Selection) (*array.Data, error) {
	offs := make([][]int32, len(arrs))
	maps := make([]bitmap, len(arrs))
	elems := make([]arrow.Array, len(arrs))
	for i, a := range arrs {
		if a.Len() > 0 {
			offs[i] = view[int32](buffer(a, 1))[a.Data().Offset():][:a.Len()+1]
		}
		maps[i] = bitmapOf(a)
		elems[i] = a.(array.ListLike).ListValues()
	}
	var runs []run
	total := int64(0)
	off := make([]int32, 1, s.n+1)
	add := func(src, row int32) {
		if src >= 0 && maps[src].valid(row) {
			lo, n := offs[src][row], offs[src][row+1]-offs[src][row]
			if k := len(runs) - 1; k >= 0 && runs[k].src == src && runs[k].from+runs[k].n == lo {
				runs[k].n += n
			} else if n > 0 {
				runs = append(runs, run{src, lo, n})
			}
			total += int64(n)
		}
		off = append(off, int32(total))
	}
	if s.runs != nil {
		for _, r := range s.runs {
			for j := r.from; j < r.from+r.n; j++ {
				add(r.src, j)
			}
		}
	} else {
		for _, r := range s.refs {
			add(r.Src, r.Row)
		}
	}
	if total > math.MaxInt32 {
		return nil, ErrTooLarge
	}
	if runs == nil {
		runs = []run{{}}
	}
	child, err := GatherArrays(elems, selectRuns(runs))
	if err != nil {
		return nil, err
	}
	return makeData(arrs[0].DataType(), s, arrs, []arrow.ArrayData{fromStart(child)}, raw(off)), nil
}

// Lists makes an array of lists or maps of type t. Value i has the elements off[i] up to off[i+1]; valid has a bit for
// each value, which is 0 for the nulls that are NULL (and have no elements). Nothing is copied.
func Lists(t arrow.DataType, elements arrow.Array, off []int32, valid []byte, nulls int) arrow.Array {
	bufs := []*memory.Buffer{nil, memory.NewBufferBytes(raw(off))}
	if nulls > 0 {
		bufs[0] = memory.NewBufferBytes(valid)
	}
	return array.MakeFromData(array.NewData(t, len(off)-1, bufs, []arrow.ArrayData{fromStart(elements)}, nulls, 0))
}

// fromStart gives the data of elements. Pairs of maps, which are never NULL, are made to begin at their
// first row: Keys and Items of an array.Map take no notice of where in their memory the pairs begin.
func fromStart(child arrow.Array) arrow.ArrayData {
	pairs, ok := child.(*array.Struct)
	if !ok || child.NullN() > 0 {
		return child.Data()
	}
	members := make([]arrow.ArrayData, pairs.NumField())
	for f := range members {
		members[f] = pairs.Field(f).Data()
	}
	return array.NewData(pairs.DataType(), pairs.Len(), []*memory.Buffer{nil}, members, 0, 0)
}

// Entries gives the keys and values of all maps of an array; the offsets of the maps point into them.
// An array.Map's own Keys and Items are wrong where its pairs are a part of a larger array.
func Entries(m *array.Map) (keys, values arrow.Array) {
	pairs := m.ListValues().(*array.Struct)
	return pairs.Field(0), pairs.Field(1)
}

func gatherStructs(arrs []arrow.Array, s *Selection) (*array.Data, error) {
	n := arrs[0].(*array.Struct).NumField()
	children := make([]arrow.ArrayData, n)
	members := make([]arrow.Array, len(arrs))
	for f := range n {
		for i, a := range arrs {
			members[i] = a.(*array.Struct).Field(f)
		}
		c, err := GatherArrays(members, s)
		if err != nil {
			return nil, err
		}
		children[f] = c.Data()
	}
	return makeData(arrs[0].DataType(), s, arrs, children), nil
}
