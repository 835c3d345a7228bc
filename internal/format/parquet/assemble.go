package parquet

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// column is a wanted column, or a part of one, and where its values come from.
type column struct {
	dt       arrow.DataType
	kind     columnKind
	leaf     *leafReader // the values of a leaf; of a group, some leaf below it that tells its levels
	children []*column

	slotDef, slotRep uint8 // levels at which the array has a slot
	validDef         uint8 // level from which on a slot is not NULL
	elemDef, elemRep uint8 // lists and maps: levels at which there is an element
}

type columnKind uint8

const (
	colLeaf columnKind = iota
	colRow
	colList
	colMap
	colMissing
)

// planner matches wanted columns to the schema of the file.
type planner struct {
	leaves []*leafReader
}

func (p *planner) addLeaf(n *node, path string, s sink, slotDef int, collect bool) *leafReader {
	r := &leafReader{n: n, path: path, sink: s, slotDef: uint8(slotDef), collect: collect}
	p.leaves = append(p.leaves, r)
	return r
}

// top plans a top-level column.
func (p *planner) top(root *node, f types.Field, dt arrow.DataType) (*column, error) {
	n := root.child(f.Name)
	if n == nil {
		return &column{dt: dt, kind: colMissing}, nil
	}
	c, err := p.plan(n, f.Type, dt, f.Name, 0, 0, n.isLeaf() && n.rep != repeated)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// plan matches one node. flat says that no group above needs the levels.
func (p *planner) plan(n *node, t types.Type, dt arrow.DataType, path string, slotDef, slotRep int, flat bool) (*column, error) {
	c := &column{dt: dt, slotDef: uint8(slotDef), slotRep: uint8(slotRep), validDef: uint8(n.maxDef)}
	if n.rep == repeated && n.maxRep > slotRep && t.Kind != types.Array {
		return nil, fmt.Errorf("column %s: the file has a repeated %s, which cannot be read as %s", path, n.describe(), t)
	}
	switch t.Kind {
	case types.Array:
		return c, p.list(c, n, *t.Elem, path)
	case types.Map:
		return c, p.mapOf(c, n, *t.Key, *t.Elem, path, t)
	case types.Multiset:
		return c, p.mapOf(c, n, *t.Elem, types.IntType.AsNotNull(), path, t)
	case types.Row:
		return c, p.row(c, n, t.Fields, path, t)
	case types.Variant:
		if n.child("typed_value") != nil {
			return nil, fmt.Errorf("column %s: a shredded VARIANT %w", path, errUnsupported)
		}
		bytes := types.BytesType.AsNotNull()
		return c, p.row(c, n, []types.Field{{Name: "value", Type: bytes}, {ID: 1, Name: "metadata", Type: bytes}}, path, t)
	}
	if !n.isLeaf() {
		return nil, fmt.Errorf("column %s: the file has a %s, which cannot be read as %s", path, n.describe(), t)
	}
	s, err := newSink(n, t, dt)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", path, err)
	}
	c.leaf = p.addLeaf(n, path, s, slotDef, !flat)
	return c, nil
}

func (p *planner) row(c *column, n *node, fields []types.Field, path string, t types.Type) error {
	if n.isLeaf() || n.logical.kind == logList || n.logical.kind == logMap {
		return fmt.Errorf("column %s: the file has %s, which cannot be read as %s", path, n.describe(), t)
	}
	c.kind = colRow
	st := c.dt.(*arrow.StructType)
	for i, f := range fields {
		m := n.child(f.Name)
		if m == nil {
			c.children = append(c.children, &column{dt: st.Field(i).Type, kind: colMissing})
			continue
		}
		sub, err := p.plan(m, f.Type, st.Field(i).Type, path+"."+f.Name, int(c.slotDef), int(c.slotRep), false)
		if err != nil {
			return err
		}
		c.children = append(c.children, sub)
		if c.leaf == nil {
			c.leaf = sub.leaf
		}
	}
	p.levelsOf(c, n, path)
	return nil
}

// levelsOf finds a leaf that tells the levels of a group of which no leaf is wanted.
func (p *planner) levelsOf(c *column, n *node, path string) {
	if c.leaf == nil {
		c.leaf = p.addLeaf(n.firstLeaf(), path, nil, 0, true)
	}
}

// element finds the repeated node of a list and the node of its elements: three levels by the
// specification, two in older files, and one for a repeated field outside of any list.
func element(n *node) (rep, elem *node, err error) {
	if n.rep == repeated && n.logical.kind != logList {
		return n, n, nil
	}
	if n.isLeaf() || len(n.children) != 1 || n.children[0].rep != repeated {
		return nil, nil, fmt.Errorf("the file has %s, which cannot be read as", n.describe())
	}
	rep = n.children[0]
	if rep.isLeaf() || len(rep.children) != 1 || rep.name == "array" || rep.name == n.name+"_tuple" ||
		rep.children[0].rep == repeated {
		return rep, rep, nil
	}
	return rep, rep.children[0], nil
}

func (p *planner) list(c *column, n *node, elem types.Type, path string) error {
	rep, e, err := element(n)
	if err != nil {
		return fmt.Errorf("column %s: %w %s", path, err, types.ArrayType(elem))
	}
	c.kind = colList
	if rep == n { // a repeated field is never NULL itself
		c.validDef = uint8(n.maxDef - 1)
	}
	c.elemDef, c.elemRep = uint8(rep.maxDef), uint8(rep.maxRep)
	et := c.dt.(*arrow.ListType).Elem()
	sub, err := p.plan(e, elem, et, path+".element", rep.maxDef, rep.maxRep, false)
	if err != nil {
		return err
	}
	c.children = []*column{sub}
	c.leaf = sub.leaf
	p.levelsOf(c, n, path)
	return nil
}

func (p *planner) mapOf(c *column, n *node, key, value types.Type, path string, t types.Type) error {
	if n.isLeaf() || len(n.children) != 1 || n.children[0].rep != repeated || len(n.children[0].children) != 2 {
		return fmt.Errorf("column %s: the file has %s, which cannot be read as %s", path, n.describe(), t)
	}
	kv := n.children[0]
	c.kind = colMap
	c.elemDef, c.elemRep = uint8(kv.maxDef), uint8(kv.maxRep)
	mt := c.dt.(*arrow.MapType)
	key.NotNull = true
	for i, x := range []struct {
		t    types.Type
		dt   arrow.DataType
		name string
	}{{key, mt.KeyType(), ".key"}, {value, mt.ItemType(), ".value"}} {
		sub, err := p.plan(kv.children[i], x.t, x.dt, path+x.name, kv.maxDef, kv.maxRep, false)
		if err != nil {
			return err
		}
		c.children = append(c.children, sub)
	}
	c.leaf = c.children[0].leaf
	p.levelsOf(c, n, path)
	return nil
}

var errLevels = errors.New("the levels of the parts of a column contradict each other")

// array makes the Arrow array of a column after its leaves have read a batch; n is the number of
// slots that it has to have.
func (c *column) array(n int) (arrow.Array, error) {
	switch c.kind {
	case colMissing:
		return array.MakeArrayOfNull(memory.DefaultAllocator, c.dt, n), nil
	case colLeaf:
		a := c.leaf.sink.array()
		c.leaf.lent = true
		if a.Len() != n {
			return nil, fmt.Errorf("column %s: %w", c.leaf.path, errLevels)
		}
		return a, nil
	case colRow:
		return c.rowArray(n)
	}
	return c.listArray(n)
}

func (c *column) rowArray(n int) (arrow.Array, error) {
	var bits validity
	bits.reset(n)
	rep := c.leaf.outRep
	for i, d := range c.leaf.outDef {
		if d < c.slotDef || len(rep) > 0 && rep[i] > c.slotRep {
			continue
		}
		if d >= c.validDef {
			bits.valid(1)
		} else {
			bits.nulls(1)
		}
	}
	if bits.n != n {
		return nil, fmt.Errorf("column %s: %w", c.leaf.path, errLevels)
	}
	data := make([]arrow.ArrayData, len(c.children))
	for i, ch := range c.children {
		a, err := ch.array(n)
		if err != nil {
			return nil, err
		}
		data[i] = a.Data()
	}
	return array.MakeFromData(array.NewData(c.dt, n, []*memory.Buffer{bits.buffer()}, data, bits.null, 0)), nil
}

func (c *column) listArray(n int) (arrow.Array, error) {
	var bits validity
	bits.reset(n)
	offs := make([]int32, 1, n+1)
	count := int32(0)
	rep := c.leaf.outRep
	for i, d := range c.leaf.outDef {
		if d < c.slotDef || rep[i] > c.elemRep {
			continue
		}
		if rep[i] == c.elemRep { // one more element of the list at hand
			if bits.n == 0 || d < c.elemDef {
				return nil, fmt.Errorf("column %s: %w", c.leaf.path, errLevels)
			}
			count++
			offs[bits.n] = count
			continue
		}
		if d >= c.validDef {
			bits.valid(1)
		} else {
			bits.nulls(1)
		}
		if d >= c.elemDef {
			count++
		}
		offs = append(offs, count)
	}
	if bits.n != n {
		return nil, fmt.Errorf("column %s: %w", c.leaf.path, errLevels)
	}
	data := make([]arrow.ArrayData, len(c.children))
	for i, ch := range c.children {
		a, err := ch.array(int(count))
		if err != nil {
			return nil, err
		}
		data[i] = a.Data()
	}
	if mt, ok := c.dt.(*arrow.MapType); ok {
		if data[0].NullN() > 0 {
			return nil, fmt.Errorf("column %s: a map has a key that is NULL", c.leaf.path)
		}
		data = []arrow.ArrayData{array.NewData(mt.Elem(), int(count), []*memory.Buffer{nil}, data, 0, 0)}
	}
	bufs := []*memory.Buffer{bits.buffer(), memory.NewBufferBytes(bytesOf(offs))}
	return array.MakeFromData(array.NewData(c.dt, n, bufs, data, bits.null, 0)), nil
}
