package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/types"
)

var errNotNull = errors.New("is NOT NULL, but the value is NULL")

// encoder writes the values of a column of rows.
type encoder interface {
	// bind takes the array that values come from next.
	bind(a arrow.Array)
	// put appends value i.
	put(b []byte, i int) ([]byte, error)
}

// newEncoder makes the encoder of values of a type, NULL among them unless the type says no.
func newEncoder(t types.Type) encoder {
	e := encoderOf(t)
	if t.NotNull {
		return &required{e: e}
	}
	return &optional{e: e}
}

func encoderOf(t types.Type) encoder {
	switch t.Kind {
	case types.Boolean:
		return &booleans{}
	case types.TinyInt:
		return &numbers[int8]{of: func(a arrow.Array) []int8 { return a.(*array.Int8).Int8Values() }}
	case types.SmallInt:
		return &numbers[int16]{of: func(a arrow.Array) []int16 { return a.(*array.Int16).Int16Values() }}
	case types.Int:
		return &numbers[int32]{of: func(a arrow.Array) []int32 { return a.(*array.Int32).Int32Values() }}
	case types.BigInt:
		return &numbers[int64]{of: func(a arrow.Array) []int64 { return a.(*array.Int64).Int64Values() }}
	case types.Date:
		return &numbers[arrow.Date32]{of: func(a arrow.Array) []arrow.Date32 { return a.(*array.Date32).Date32Values() }}
	case types.Time:
		return &numbers[arrow.Time32]{of: func(a arrow.Array) []arrow.Time32 { return a.(*array.Time32).Time32Values() }}
	case types.Timestamp, types.TimestampLTZ:
		return &numbers[arrow.Timestamp]{of: func(a arrow.Array) []arrow.Timestamp { return a.(*array.Timestamp).TimestampValues() }}
	case types.Float:
		return &floats{}
	case types.Double:
		return &doubles{}
	case types.Decimal:
		return &decimals{}
	case types.Char, types.Varchar:
		return &texts{}
	case types.Binary, types.Varbinary:
		return &binaries{}
	case types.Array:
		return &lists{elem: newEncoder(*t.Elem)}
	case types.Map:
		return newMaps(*t.Key, *t.Elem)
	case types.Multiset:
		return newMaps(*t.Elem, types.IntType)
	}
	r := &rows{}
	for _, f := range t.Fields {
		r.names, r.fields = append(r.names, f.Name), append(r.fields, newEncoder(f.Type))
	}
	return r
}

type optional struct {
	e encoder
	a arrow.Array
}

func (o *optional) bind(a arrow.Array) { o.a = a; o.e.bind(a) }

func (o *optional) put(b []byte, i int) ([]byte, error) {
	if o.a.IsNull(i) {
		return append(b, 0), nil
	}
	return o.e.put(append(b, 2), i)
}

type required struct {
	e encoder
	a arrow.Array
}

func (r *required) bind(a arrow.Array) { r.a = a; r.e.bind(a) }

func (r *required) put(b []byte, i int) ([]byte, error) {
	if r.a.IsNull(i) {
		return b, errNotNull
	}
	return r.e.put(b, i)
}

type booleans struct{ a *array.Boolean }

func (e *booleans) bind(a arrow.Array) { e.a = a.(*array.Boolean) }

func (e *booleans) put(b []byte, i int) ([]byte, error) {
	if e.a.Value(i) {
		return append(b, 1), nil
	}
	return append(b, 0), nil
}

type numbers[T ~int8 | ~int16 | ~int32 | ~int64] struct {
	of   func(arrow.Array) []T
	vals []T
}

func (e *numbers[T]) bind(a arrow.Array) { e.vals = e.of(a) }

func (e *numbers[T]) put(b []byte, i int) ([]byte, error) {
	return avro.AppendLong(b, int64(e.vals[i])), nil
}

type floats struct{ a *array.Float32 }

func (e *floats) bind(a arrow.Array) { e.a = a.(*array.Float32) }

func (e *floats) put(b []byte, i int) ([]byte, error) {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(e.a.Value(i))), nil
}

type doubles struct{ a *array.Float64 }

func (e *doubles) bind(a arrow.Array) { e.a = a.(*array.Float64) }

func (e *doubles) put(b []byte, i int) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(e.a.Value(i))), nil
}

// decimals are written as two's complement, big-endian, in as few bytes as hold them.
type decimals struct{ a *array.Decimal128 }

func (e *decimals) bind(a arrow.Array) { e.a = a.(*array.Decimal128) }

func (e *decimals) put(b []byte, i int) ([]byte, error) {
	v := e.a.Value(i)
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(raw[8:], v.LowBits())
	n := 0
	for n < 15 && raw[n] == byte(int8(raw[n+1])>>7) && (raw[n] == 0 || raw[n] == 0xff) {
		n++
	}
	return avro.AppendBytes(b, raw[n:]), nil
}

type texts struct{ a *array.String }

func (e *texts) bind(a arrow.Array) { e.a = a.(*array.String) }

func (e *texts) put(b []byte, i int) ([]byte, error) { return avro.AppendBytes(b, e.a.Value(i)), nil }

type binaries struct{ a *array.Binary }

func (e *binaries) bind(a arrow.Array) { e.a = a.(*array.Binary) }

func (e *binaries) put(b []byte, i int) ([]byte, error) {
	return avro.AppendBytes(b, e.a.Value(i)), nil
}

type lists struct {
	a    *array.List
	elem encoder
}

func (e *lists) bind(a arrow.Array) {
	e.a = a.(*array.List)
	e.elem.bind(e.a.ListValues())
}

func (e *lists) put(b []byte, i int) ([]byte, error) {
	from, to := e.a.ValueOffsets(i)
	return items(b, from, to, func(b []byte, k int) ([]byte, error) { return e.elem.put(b, k) })
}

// items writes a list as one block.
func items(b []byte, from, to int64, put func(b []byte, k int) ([]byte, error)) ([]byte, error) {
	if from == to {
		return append(b, 0), nil
	}
	b = avro.AppendLong(b, to-from)
	for k := from; k < to; k++ {
		var err error
		if b, err = put(b, int(k)); err != nil {
			return b, fmt.Errorf("element %d: %w", k-from, err)
		}
	}
	return append(b, 0), nil
}

type maps struct {
	a          *array.Map
	key, value encoder
}

// newMaps makes the encoder of maps. Keys that are texts have no mark of NULL, as keys of Avro's own maps.
func newMaps(key, value types.Type) *maps {
	if isText(key) {
		key.NotNull = true
	}
	return &maps{key: newEncoder(key), value: newEncoder(value)}
}

func (e *maps) bind(a arrow.Array) {
	e.a = a.(*array.Map)
	e.key.bind(e.a.Keys())
	e.value.bind(e.a.Items())
}

func (e *maps) put(b []byte, i int) ([]byte, error) {
	from, to := e.a.ValueOffsets(i)
	return items(b, from, to, func(b []byte, k int) ([]byte, error) {
		b, err := e.key.put(b, k)
		if err != nil {
			return b, fmt.Errorf("key: %w", err)
		}
		if b, err = e.value.put(b, k); err != nil {
			return b, fmt.Errorf("value: %w", err)
		}
		return b, nil
	})
}

type rows struct {
	names  []string
	fields []encoder
}

func (e *rows) bind(a arrow.Array) {
	s := a.(*array.Struct)
	for i, f := range e.fields {
		f.bind(s.Field(i))
	}
}

func (e *rows) put(b []byte, i int) ([]byte, error) {
	for k, f := range e.fields {
		var err error
		if b, err = f.put(b, i); err != nil {
			return b, fmt.Errorf("field %s: %w", e.names[k], err)
		}
	}
	return b, nil
}
