package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Record is a record of a metadata file as its own schema has it: all fields, in their order.
type Record []Member

// Member is a field of a Record. The value is nil, bool, int64, float64, string, []byte, []any or Record.
type Member struct {
	Name  string
	Value any
}

// Get gives a field, nil if there is none.
func (r Record) Get(name string) any {
	for _, m := range r {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Records reads a manifest, manifest list or index manifest without knowing what its fields mean: for people who
// look into files. Nothing is left out, and fields have the names of the specification.
func Records(data []byte) ([]Record, error) {
	c, err := openContainer(data)
	if err != nil {
		return nil, err
	}
	out := []Record{}
	for {
		block, n, err := c.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if n > int64(len(block)) { // no record of the format is empty
			return out, errShort
		}
		r := &reader{b: block}
		for ; n > 0; n-- {
			v := r.value(c.typ, 0)
			if r.err != nil {
				return out, fmt.Errorf("record %d: %w", len(out), r.err)
			}
			rec, ok := v.(Record)
			if !ok {
				return out, fmt.Errorf("record %d is a %T", len(out), v)
			}
			out = append(out, rec)
		}
	}
}

// value reads any value.
func (r *reader) value(t *atype, depth int) any {
	if depth > 64 {
		r.fail(errNesting)
	}
	if r.steps++; r.steps > 8*len(r.b)+1024 { // as in skipValue
		r.fail(errShort)
	}
	if r.err != nil {
		return nil
	}
	switch t.kind {
	case aBool:
		b := r.fixed(1)
		return len(b) == 1 && b[0] != 0
	case aLong, aEnum:
		return r.long()
	case aFloat:
		if b := r.fixed(4); b != nil {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case aDouble:
		if b := r.fixed(8); b != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case aBytes:
		if b := r.bytes(); !t.text {
			return b
		} else {
			return string(b)
		}
	case aFixed:
		return r.fixed(int64(t.size))
	case aArray, aMap:
		list := []any{}
		for n := r.blockLen(); n > 0 && r.err == nil; n = r.blockLen() {
			for ; n > 0 && r.err == nil; n-- {
				if t.kind == aMap {
					list = append(list, Record{{"key", string(r.bytes())}, {"value", r.value(t.items, depth+1)}})
				} else {
					list = append(list, r.value(t.items, depth+1))
				}
			}
		}
		return list
	case aRecord:
		rec := make(Record, 0, len(t.fields))
		for i := range t.fields {
			rec = append(rec, Member{t.fields[i].name, r.value(t.fields[i].typ, depth+1)})
		}
		return rec
	case aUnion:
		i := r.long()
		if i < 0 || i >= int64(len(t.union)) {
			r.fail(fmt.Errorf("union has no branch %d", i))
			return nil
		}
		return r.value(t.union[i], depth+1)
	}
	return nil
}

// fixed reads n bytes.
func (r *reader) fixed(n int64) []byte {
	from := r.p
	if r.skip(n); r.err != nil {
		return nil
	}
	return r.b[from:r.p:r.p]
}
