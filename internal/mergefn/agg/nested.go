package agg

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// nested is a table within a column: lists of rows, of which the last with each key counts, or all if they have no key.
type nested struct {
	t        types.Type
	key      []int // fields of the rows
	sequence []int // fields of the rows whose order decides which is the last; none: the order of arrival
	limit    int   // no rows are added to so many
	nullKeys string
	partial  bool // rows with the same key complete each other
}

// newNested makes nested_update, and with partial nested_partial_update.
func newNested(name string, partial bool) func(Config) (Func, error) {
	return func(c Config) (Func, error) {
		t := c.Field.Type
		if t.Kind != types.Array || t.Elem == nil || t.Elem.Kind != types.Row {
			return nil, wrongType(name, c, "ARRAY<ROW<…>>")
		}
		f := &nested{t: t, limit: math.MaxInt32, nullKeys: "merge", partial: partial}
		var err error
		if f.key, err = rowFields(c, "nested-key"); err != nil {
			return nil, err
		}
		if partial && len(f.key) == 0 {
			return nil, fmt.Errorf("%s needs the key of the rows: set the option nested-key", name)
		}
		if v, ok := c.Option("nested-key-null-strategy"); ok {
			f.nullKeys = strings.ToLower(strings.TrimSpace(v))
			if !slices.Contains([]string{"merge", "ignore", "error"}, f.nullKeys) {
				return nil, fmt.Errorf("nested-key-null-strategy: %q is not known, there are merge, ignore and error", v)
			}
			if len(f.key) == 0 {
				return nil, errors.New("nested-key-null-strategy needs the key of the rows: set the option nested-key")
			}
		}
		if partial {
			return f, nil
		}
		if f.sequence, err = rowFields(c, "nested-sequence-field"); err != nil {
			return nil, err
		}
		if len(f.sequence) > 0 && len(f.key) == 0 {
			return nil, errors.New("nested-sequence-field needs the key of the rows: set the option nested-key")
		}
		for _, i := range f.sequence {
			if s := t.Elem.Fields[i]; !isOrdered(s.Type) {
				return nil, fmt.Errorf("nested-sequence-field: %q has type %s, which has no order", s.Name, s.Type)
			}
		}
		if v, ok := c.Option("count-limit"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
			if err != nil {
				return nil, fmt.Errorf("count-limit: %q is no number", v)
			}
			f.limit = int(n)
		}
		return f, nil
	}
}

// rowFields are the fields of the rows of a list that an option names.
func rowFields(c Config, option string) ([]int, error) {
	v, ok := c.Option(option)
	if !ok {
		return nil, nil
	}
	var out []int
	fields := c.Field.Type.Elem.Fields
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s: the rows of type %s have no field %q", option, c.Field.Type.Elem, name)
		}
		out = append(out, i)
	}
	return out, nil
}

func (f *nested) Retracts() bool { return !f.partial }

func (f *nested) Fold(in *Input) (Result, error) {
	e := elementsOf(in.Column)
	rows := nestedRows{nested: f, null: Validities(e.arrs)}
	if len(e.arrs) > 0 {
		for _, i := range f.key {
			rows.keys = append(rows.keys, e.member(i))
		}
		for _, i := range f.sequence {
			m := e.member(i)
			rows.order = append(rows.order, nullsFirst(m, orderOf(f.t.Elem.Fields[i].Type, m)))
		}
	}
	k := keyed{picked: picked{elements: e}, of: rows.keyOf}
	if len(rows.keys) > 0 {
		var ts []types.Type
		for _, i := range f.key {
			ts = append(ts, f.t.Elem.Fields[i].Type)
		}
		k.hash = hashOfKeys(ts, rows.keys)
	}
	switch {
	case f.partial:
		p := &partialRows{nestedRows: rows, keyed: k}
		for i := range f.t.Elem.Fields {
			var m []arrow.Array
			if len(e.arrs) > 0 {
				m = e.member(i)
			}
			p.columns, p.valid = append(p.columns, m), append(p.valid, Validities(m))
		}
		p.rows = make([][]batch.Ref, len(p.columns))
		return e.fold(in, f.t, p)
	case len(f.key) == 0:
		return e.fold(in, f.t, &allRows{nestedRows: rows, picked: k.picked})
	}
	return e.fold(in, f.t, &keyedRows{nestedRows: rows, keyed: k})
}

// nullsFirst orders rows of a column with NULL before all others.
func nullsFirst(col []arrow.Array, order func(a, b batch.Ref) int) func(a, b batch.Ref) int {
	valid := Validities(col)
	return func(a, b batch.Ref) int {
		switch x, y := valid[a.Src].At(a.Row), valid[b.Src].At(b.Row); {
		case x && y:
			return order(a, b)
		case x:
			return 1
		case y:
			return -1
		}
		return 0
	}
}

// nestedRows are the rows of the lists of a column.
type nestedRows struct {
	*nested
	null  []Validity
	keys  [][]arrow.Array // columns of the key
	order []func(a, b batch.Ref) int
}

func (n *nestedRows) isNull(r batch.Ref) bool { return !n.null[r.Src].At(r.Row) }

func (n *nestedRows) keyOf(dst []byte, r batch.Ref) []byte {
	for _, col := range n.keys {
		dst = batch.AppendComparable(dst, col[r.Src], int(r.Row))
	}
	return dst
}

// counts tells whether a row is one: it is not NULL, and its key may be NULL or is not.
func (n *nestedRows) counts(r batch.Ref) (bool, error) {
	if n.isNull(r) {
		return false, nil
	}
	if n.nullKeys == "merge" {
		return true, nil
	}
	for i, col := range n.keys {
		if col[r.Src].IsNull(int(r.Row)) {
			if n.nullKeys == "ignore" {
				return false, nil
			}
			return false, fmt.Errorf("%q, of the key of nested rows, is NULL (nested-key-null-strategy is error)", n.t.Elem.Fields[n.nested.key[i]].Name)
		}
	}
	return true, nil
}

// later tells whether a row takes the place of another with its key.
func (n *nestedRows) later(r, had batch.Ref) bool {
	for _, order := range n.order {
		if c := order(r, had); c != 0 {
			return c > 0
		}
	}
	return true
}

// allRows is a table without a key.
type allRows struct {
	nestedRows
	picked
	from int // where the group begins in all
}

func (a *allRows) reset() { a.from = len(a.all) }

func (a *allRows) first(els []batch.Ref) error { return a.add(els) }

func (a *allRows) add(els []batch.Ref) error {
	if len(a.all)-a.from >= a.limit {
		return nil
	}
	a.all = append(a.all[:a.from], a.rowsOf(a.all[a.from:])...)
	for _, r := range els {
		if len(a.all)-a.from >= a.limit {
			break
		}
		if !a.isNull(r) {
			a.all = append(a.all, r)
		}
	}
	return nil
}

// rowsOf leaves out what is NULL: a list that is older than the others begins with all that is in it.
func (a *allRows) rowsOf(rows []batch.Ref) []batch.Ref { return slices.DeleteFunc(rows, a.isNull) }

func (a *allRows) older(els []batch.Ref) error {
	newer := slices.Clone(a.all[a.from:])
	a.all = append(a.all[:a.from], els...)
	return a.add(newer)
}

// retract takes away all rows that are equal to one that is taken back.
func (a *allRows) retract(els []batch.Ref) error {
	gone, buf := map[string]struct{}{}, []byte(nil)
	for _, r := range els {
		gone[string(a.picked.key(nil, r))] = struct{}{}
	}
	left := a.all[:a.from]
	for _, r := range a.rowsOf(a.all[a.from:]) {
		buf = a.picked.key(buf[:0], r)
		if _, ok := gone[string(buf)]; !ok {
			left = append(left, r)
		}
	}
	a.all = left
	return nil
}

func (a *allRows) end() int { return len(a.all) - a.from }

// keyedRows is a table with a key.
type keyedRows struct {
	nestedRows
	keyed
}

// first has the rows in their order: releases before 2.0 begin with the list as it is.
func (k *keyedRows) first(els []batch.Ref) error {
	err := k.put(els, k.limit)
	k.size = 0
	return err
}

func (k *keyedRows) add(els []batch.Ref) error { return k.put(els, k.limit) }

func (k *keyedRows) older(els []batch.Ref) error {
	newer := k.swap()
	if err := k.put(els, math.MaxInt32); err != nil {
		return err
	}
	return k.put(newer, k.limit)
}

// put adds rows, with new keys up to a limit.
func (k *keyedRows) put(els []batch.Ref, limit int) error {
	for _, r := range els {
		if ok, err := k.counts(r); err != nil {
			return err
		} else if !ok {
			continue
		}
		if i, ok := k.find(r); !ok {
			if k.live < limit {
				k.append(r)
			}
		} else if k.later(r, k.entries[i]) {
			k.entries[i] = r
		}
	}
	k.built()
	return nil
}

func (k *keyedRows) retract(els []batch.Ref) error {
	k.built()
	for _, r := range els {
		if ok, err := k.counts(r); err != nil {
			return err
		} else if ok {
			k.remove(r)
		}
	}
	return nil
}

// partialRows is a table whose rows are completed: each field is that of the last row of a key where it is not NULL.
type partialRows struct {
	nestedRows
	keyed
	columns [][]arrow.Array // of each field of the rows
	valid   [][]Validity
	rows    [][]batch.Ref // for each field where its value is, for the rows of all groups
	from    int           // where the group begins in rows
	order   []int32       // of entries, in the reference's table
}

func (p *partialRows) reset() {
	p.keyed.reset()
	p.from = len(p.rows[0])
	p.order = p.order[:0]
}

// built makes the order anew: the reference puts what is new in a place of its table in front of what is there already, and what it
// has goes into a new table each time.
func (p *partialRows) built() {
	for i := len(p.order); i < len(p.entries); i++ {
		p.order = append(p.order, int32(i))
	}
	place := make([]uint32, len(p.entries))
	// This table (of computeIfAbsent) grows with the element after the one that fills it.
	size := places(len(p.entries) - 1)
	for i, r := range p.entries {
		h, ok := int32(0), false
		if p.hash != nil {
			h, ok = p.hash(r)
		}
		if !ok {
			return
		}
		place[i] = spread(h) & (size - 1)
	}
	slices.Reverse(p.order)
	slices.SortStableFunc(p.order, func(a, b int32) int { return cmp.Compare(place[a], place[b]) })
}

// first has the rows in their order: releases before 2.0 begin with the list as it is.
func (p *partialRows) first(els []batch.Ref) error {
	if err := p.put(els); err != nil {
		return err
	}
	p.order = p.order[:0]
	for i := range p.entries {
		p.order = append(p.order, int32(i))
	}
	return nil
}

func (p *partialRows) add(els []batch.Ref) error {
	err := p.put(els)
	p.built()
	return err
}

func (p *partialRows) put(els []batch.Ref) error {
	for _, r := range els {
		if err := p.complete(r, true); err != nil {
			return err
		}
	}
	return nil
}

// older gives fields that are NULL so far what the last of the older rows has.
func (p *partialRows) older(els []batch.Ref) error {
	for _, r := range slices.Backward(els) {
		if err := p.complete(r, false); err != nil {
			return err
		}
	}
	p.built()
	return nil
}

func (p *partialRows) complete(r batch.Ref, over bool) error {
	if ok, err := p.counts(r); err != nil || !ok {
		return err
	}
	at, ok := p.find(r)
	if !ok {
		at = int32(len(p.entries))
		p.append(r)
		for i := range p.rows {
			p.rows[i] = append(p.rows[i], batch.NullRef)
		}
	}
	for i, rows := range p.rows {
		if had := &rows[p.from+int(at)]; p.valid[i][r.Src].At(r.Row) && (over || *had == batch.NullRef) {
			*had = r
		}
	}
	return nil
}

func (*partialRows) retract([]batch.Ref) error { return nil } // never called: see Retracts

func (p *partialRows) end() int {
	for i, rows := range p.rows {
		was := slices.Clone(rows[p.from:])
		for to, from := range p.order {
			p.rows[i][p.from+to] = was[from]
		}
	}
	return p.live
}

func (p *partialRows) values() (arrow.Array, error) {
	n := len(p.rows[0])
	members := make([]arrow.ArrayData, len(p.rows))
	for i, col := range p.columns {
		if n == 0 {
			members[i] = array.NewSlice(col[0], 0, 0).Data()
			continue
		}
		a, err := batch.GatherArrays(col, batch.Select(p.rows[i]))
		if err != nil {
			return nil, err
		}
		members[i] = a.Data()
	}
	t := p.keyed.arrs[0].DataType()
	return array.MakeFromData(array.NewData(t, n, []*memory.Buffer{nil}, members, 0, 0)), nil
}
