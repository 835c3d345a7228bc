package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tarnlake/tarn/internal/avro"
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
	c, err := openFile(data)
	if err != nil {
		return nil, err
	}
	out := []Record{}
	for {
		block, n, err := c.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if n > int64(len(block)) { // no record of the format is empty
			return out, avro.ErrShort
		}
		r := &reader{avro.Cursor{B: block}}
		for ; n > 0; n-- {
			v := r.value(c.Type(), 0)
			if r.Err != nil {
				return out, fmt.Errorf("record %d: %w", len(out), r.Err)
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
func (r *reader) value(t *avro.Type, depth int) any {
	if depth > 64 {
		r.Fail(avro.ErrNesting)
	}
	if !r.Step() || r.Err != nil {
		return nil
	}
	switch t.Kind {
	case avro.Boolean:
		b := r.Take(1)
		return len(b) == 1 && b[0] != 0
	case avro.Long, avro.Enum:
		return r.Long()
	case avro.Float:
		if b := r.Take(4); b != nil {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case avro.Double:
		if b := r.Take(8); b != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case avro.Bytes:
		if b := r.Bytes(); !t.Text {
			return b
		} else {
			return string(b)
		}
	case avro.Fixed:
		return r.Take(int64(t.Size))
	case avro.Array, avro.Map:
		list := []any{}
		for n := r.BlockLen(); n > 0 && r.Err == nil; n = r.BlockLen() {
			for ; n > 0 && r.Err == nil; n-- {
				if t.Kind == avro.Map {
					list = append(list, Record{{"key", string(r.Bytes())}, {"value", r.value(t.Items, depth+1)}})
				} else {
					list = append(list, r.value(t.Items, depth+1))
				}
			}
		}
		return list
	case avro.Record:
		rec := make(Record, 0, len(t.Fields))
		for i := range t.Fields {
			rec = append(rec, Member{t.Fields[i].Name, r.value(t.Fields[i].Type, depth+1)})
		}
		return rec
	case avro.Union:
		i := r.Long()
		if i < 0 || i >= int64(len(t.Union)) {
			r.Fail(fmt.Errorf("union has no branch %d", i))
			return nil
		}
		return r.value(t.Union[i], depth+1)
	}
	return nil
}
