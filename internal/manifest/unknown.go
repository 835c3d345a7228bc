package manifest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/internal/jsonobj"
)

// Fields that this version does not know are kept with the field's JSON, so that a rewrite can give
// them back: for each a scope, the JSON and the encoded value, the latter two with their lengths. All are
// kept as fields that may be null, as a rewrite can join them with entries that lack them.

// scope says which record an unknown field belongs to.
type scope byte

const (
	inEntry scope = 'e'
	inFile  scope = 'f'
)

// unknownField is a field of a writer's schema that is kept or skipped.
type unknownField struct {
	name   string
	raw    []byte // nil: cannot be kept
	typ    *avro.Type
	nullAt int
	prefix []byte // in front of the value: the branch of the union that it was not in
}

// maxKept bounds the JSON of a field that is kept: it is kept with every entry.
const maxKept = 1024

func newUnknown(f *avro.Field) *unknownField {
	_, nullAt := f.Type.Nullable()
	u := &unknownField{name: f.Name, raw: f.Raw, typ: f.Type, nullAt: nullAt}
	if nullAt < 0 && u.raw != nil {
		u.raw = nil
		var of json.RawMessage
		// A union of other shapes, which the format does not have, is not kept.
		if _, err := jsonobj.Take(f.Raw, map[string]any{"type": &of}); err == nil && f.Type.Kind != avro.Union {
			u.raw, u.prefix = []byte(optional(f.Name, string(of))), []byte{2}
		}
	}
	if len(u.raw) > maxKept || !json.Valid(u.raw) {
		u.raw = nil
	}
	return u
}

// keep reads the value of the field and adds it to what is kept, unless it is null.
func (u *unknownField) keep(r *reader, kept []byte, s scope) []byte {
	from := r.P
	r.SkipValue(u.typ, 0)
	value := r.B[from:r.P]
	if r.Err != nil || u.raw == nil || u.nullAt >= 0 && len(value) == 1 && value[0] == byte(u.nullAt)*2 {
		return kept
	}
	kept = append(kept, byte(s))
	kept = binary.AppendUvarint(kept, uint64(len(u.raw)))
	kept = append(kept, u.raw...)
	kept = binary.AppendUvarint(kept, uint64(len(u.prefix)+len(value)))
	kept = append(kept, u.prefix...)
	return append(kept, value...)
}

// eachUnknown calls f for everything kept.
func eachUnknown(kept []byte, f func(s scope, field string, value []byte)) {
	for len(kept) > 0 {
		s := scope(kept[0])
		var part [2][]byte
		kept = kept[1:]
		for i := range part {
			n, w := binary.Uvarint(kept)
			if w <= 0 || n > uint64(len(kept)-w) {
				return
			}
			part[i], kept = kept[w:w+int(n)], kept[w+int(n):]
		}
		f(s, string(part[0]), part[1])
	}
}

// extras are the unknown fields that a file to be written has to have.
type extras struct {
	fields [2][]string // of the entry, of the file: JSON, in the order met
	null   [2][][]byte // how null is written; nil if it cannot be
	index  map[string]int
}

func scopeIndex(s scope) int {
	if s == inFile {
		return 1
	}
	return 0
}

// add notes what an entry has.
func (x *extras) add(kept []byte) error {
	var err error
	eachUnknown(kept, func(s scope, field string, _ []byte) {
		key := string(s) + field
		if _, ok := x.index[key]; ok {
			return
		}
		t, e := avro.Parse([]byte(`{"type":"record","name":"x","fields":[` + field + `]}`))
		if e != nil {
			err = fmt.Errorf("unknown field %s: %w", field, e)
			return
		}
		i := scopeIndex(s)
		var null []byte
		if _, at := t.Fields[0].Type.Nullable(); at >= 0 {
			null = avro.AppendLong(nil, int64(at))
		}
		if x.index == nil {
			x.index = map[string]int{}
		}
		x.index[key] = len(x.fields[i])
		x.fields[i] = append(x.fields[i], field)
		x.null[i] = append(x.null[i], null)
	})
	return err
}

// write adds the values of an entry's unknown fields of a scope.
func (x *extras) write(b []byte, s scope, kept []byte) ([]byte, error) {
	i := scopeIndex(s)
	if len(x.fields[i]) == 0 {
		return b, nil
	}
	values := make([][]byte, len(x.fields[i]))
	copy(values, x.null[i])
	eachUnknown(kept, func(ks scope, field string, value []byte) {
		if ks == s {
			values[x.index[string(s)+field]] = value
		}
	})
	for n, v := range values {
		if v == nil {
			return b, fmt.Errorf("no value for field %s, which must have one", x.fields[i][n])
		}
		b = append(b, v...)
	}
	return b, nil
}
