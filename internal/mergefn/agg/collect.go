package agg

import (
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// collect makes one list of the elements of all lists; with distinct each element is in it once.
type collect struct {
	t        types.Type
	distinct bool
	front    bool // what is older than the others comes before them
}

func newCollect(c Config) (Func, error) {
	if c.Field.Type.Kind != types.Array {
		return nil, wrongType("collect", c, "ARRAY")
	}
	return &collect{c.Field.Type, flag(c, "distinct"), flag(c, "ignore-retract")}, nil
}

func (*collect) Retracts() bool { return true }

func (f *collect) Fold(in *Input) (Result, error) {
	e := elementsOf(in.Column)
	if f.distinct {
		return e.fold(in, f.t, &distinct{keyed{picked: picked{elements: e}, of: e.key, hash: hashOfElements(*f.t.Elem, e.arrs)}})
	}
	return e.fold(in, f.t, &collected{picked: picked{elements: e}, front: f.front})
}

// collected is a list with all elements as they come. What is older than the others comes behind them too, as in the
// reference, unless the function takes no notice of what is taken back.
type collected struct {
	picked
	front bool
	from  int // where the group begins in all
}

func (c *collected) reset() { c.from = len(c.all) }

func (c *collected) first(els []batch.Ref) error { return c.add(els) }

func (c *collected) older(els []batch.Ref) error {
	if c.front {
		c.all = slices.Insert(c.all, c.from, els...)
		return nil
	}
	return c.add(els)
}

func (c *collected) add(els []batch.Ref) error {
	c.all = append(c.all, els...)
	return nil
}

// retract takes the first of the equal elements for each that is taken back.
func (c *collected) retract(els []batch.Ref) error {
	counts, buf := map[string]int{}, []byte(nil)
	for _, r := range els {
		buf = c.key(buf[:0], r)
		counts[string(buf)]++
	}
	left := c.all[:c.from]
	for _, r := range c.all[c.from:] {
		buf = c.key(buf[:0], r)
		if n := counts[string(buf)]; n > 0 {
			counts[string(buf)] = n - 1
		} else {
			left = append(left, r)
		}
	}
	c.all = left
	return nil
}

func (c *collected) end() int { return len(c.all) - c.from }

// distinct is a list with different elements.
type distinct struct{ keyed }

func (d *distinct) first(els []batch.Ref) error { return d.add(els) }
func (d *distinct) older(els []batch.Ref) error { return d.add(els) }

func (d *distinct) add(els []batch.Ref) error {
	for _, r := range els {
		if _, ok := d.find(r); !ok {
			d.append(r)
		}
	}
	d.built()
	return nil
}

func (d *distinct) retract(els []batch.Ref) error {
	for _, r := range els {
		d.remove(r)
	}
	return nil
}
