package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/types"
)

// decode reads one value and appends it to a builder. Errors are left in the cursor.
type decode func(c *avro.Cursor)

// errNoFit says that a type of the file cannot hold values of the wanted one.
func errNoFit(file *avro.Type, want types.Type) error {
	name := file.Name
	if file.Kind == avro.Union {
		name = "a union"
	}
	if file.Logical != "" {
		name += " (" + file.Logical + ")"
	}
	return fmt.Errorf("the file has %s, which cannot be read as %s", name, want)
}

// newDecode makes the reading of values of a type of the file into a builder of the wanted type.
func newDecode(file *avro.Type, want types.Type, b array.Builder) (decode, error) {
	inner, nullAt := file.Nullable()
	d, err := decodeOf(inner, want, b)
	if err != nil || nullAt < 0 {
		return d, err
	}
	return func(c *avro.Cursor) {
		if c.IsNull(nullAt) {
			b.AppendNull()
			return
		}
		d(c)
	}, nil
}

func decodeOf(file *avro.Type, want types.Type, b array.Builder) (decode, error) {
	switch want.Kind {
	case types.Array:
		return decodeList(file, want, b)
	case types.Map:
		return decodeMap(file, want, *want.Key, *want.Elem, b)
	case types.Multiset:
		return decodeMap(file, want, *want.Elem, types.IntType, b)
	case types.Row:
		return decodeRow(file, want, b)
	}
	d, ok := decodeAtomic(file, want, b)
	if !ok {
		return nil, errNoFit(file, want)
	}
	return d, nil
}

var errRange = errors.New("the value does not fit into the column's type")

// whole makes the reading of an integer of a narrower type.
func whole[T ~int8 | ~int16 | ~int32](put func(T)) decode {
	return func(c *avro.Cursor) {
		v := c.Long()
		if int64(T(v)) != v {
			c.Fail(errRange)
		}
		put(T(v))
	}
}

func decodeAtomic(file *avro.Type, want types.Type, b array.Builder) (decode, bool) {
	kind := file.Kind
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return func(c *avro.Cursor) {
			x := c.Take(1)
			b.Append(len(x) == 1 && x[0] != 0)
		}, kind == avro.Boolean
	case *array.Int8Builder:
		return whole(b.Append), isInt(file)
	case *array.Int16Builder:
		return whole(b.Append), isInt(file)
	case *array.Int32Builder:
		return whole(b.Append), isInt(file)
	case *array.Date32Builder:
		return whole(b.Append), isInt(file) || file.Logical == "date"
	case *array.Time32Builder:
		return whole(b.Append), isInt(file) || file.Logical == "time-millis"
	case *array.Int64Builder:
		return func(c *avro.Cursor) { b.Append(c.Long()) }, kind == avro.Long && file.Logical == ""
	case *array.Float32Builder:
		return func(c *avro.Cursor) {
			if x := c.Take(4); x != nil {
				b.Append(math.Float32frombits(binary.LittleEndian.Uint32(x)))
			}
		}, kind == avro.Float
	case *array.Float64Builder:
		return func(c *avro.Cursor) {
			if x := c.Take(8); x != nil {
				b.Append(math.Float64frombits(binary.LittleEndian.Uint64(x)))
			}
		}, kind == avro.Double
	case *array.StringBuilder:
		return func(c *avro.Cursor) { b.BinaryBuilder.Append(c.Bytes()) }, kind == avro.Bytes && file.Text
	case *array.BinaryBuilder:
		return func(c *avro.Cursor) { b.Append(c.Bytes()) }, kind == avro.Bytes && !file.Text && file.Logical == ""
	case *array.TimestampBuilder:
		return decodeTimestamp(file, b)
	case *array.Decimal128Builder:
		if want.Kind != types.Decimal {
			return nil, false
		}
		return decodeDecimal(b, want.Precision), file.Logical == "decimal" && kind == avro.Bytes && file.Scale == want.Scale
	}
	return nil, false
}

func isInt(t *avro.Type) bool { return t.Kind == avro.Long && t.Name == "int" && t.Logical == "" }

func decodeTimestamp(file *avro.Type, b *array.TimestampBuilder) (decode, bool) {
	var unit arrow.TimeUnit
	switch file.Logical {
	case "timestamp-millis", "local-timestamp-millis":
		unit = arrow.Millisecond
	case "timestamp-micros", "local-timestamp-micros":
		unit = arrow.Microsecond
	default:
		return nil, false
	}
	want := b.Type().(*arrow.TimestampType).Unit
	if unit == want {
		return func(c *avro.Cursor) { b.Append(arrow.Timestamp(c.Long())) }, true
	}
	return func(c *avro.Cursor) {
		i := types.InstantOf(c.Long(), unit)
		v, ok := i.In(want)
		if !ok || types.InstantOf(v, want) != i {
			c.Fail(errRange)
		}
		b.Append(arrow.Timestamp(v))
	}, true
}

func decodeDecimal(b *array.Decimal128Builder, precision int) decode {
	return func(c *avro.Cursor) {
		x := c.Bytes()
		for len(x) > 16 && (x[0] == 0 && x[1] < 0x80 || x[0] == 0xff && x[1] >= 0x80) {
			x = x[1:]
		}
		if len(x) > 16 || len(x) == 0 {
			c.Fail(errRange)
			b.AppendNull()
			return
		}
		var raw [16]byte
		if x[0] >= 0x80 {
			for i := range raw {
				raw[i] = 0xff
			}
		}
		copy(raw[16-len(x):], x)
		v := decimal128.New(int64(binary.BigEndian.Uint64(raw[:8])), binary.BigEndian.Uint64(raw[8:]))
		if !v.FitsInPrecision(int32(precision)) {
			c.Fail(errRange)
		}
		b.Append(v)
	}
}

func decodeList(file *avro.Type, want types.Type, b array.Builder) (decode, error) {
	l, ok := b.(*array.ListBuilder)
	if !ok || file.Kind != avro.Array {
		return nil, errNoFit(file, want)
	}
	d, err := newDecode(file.Items, *want.Elem, l.ValueBuilder())
	if err != nil {
		return nil, fmt.Errorf("element: %w", err)
	}
	return func(c *avro.Cursor) {
		l.Append(true)
		eachItem(c, func() { d(c) })
	}, nil
}

func eachItem(c *avro.Cursor, f func()) {
	for n := c.BlockLen(); n > 0 && c.Err == nil; n = c.BlockLen() {
		for ; n > 0 && c.Err == nil && c.Step(); n-- {
			f()
		}
	}
}

// decodeMap reads Avro's own maps, whose keys are texts, and lists of pairs, which the reference uses for all other keys.
func decodeMap(file *avro.Type, want, key, value types.Type, b array.Builder) (decode, error) {
	m, ok := b.(*array.MapBuilder)
	if !ok {
		return nil, errNoFit(file, want)
	}
	if file.Kind == avro.Map {
		texts, ok := m.KeyBuilder().(*array.StringBuilder)
		if !ok {
			return nil, errNoFit(file, want)
		}
		d, err := newDecode(file.Items, value, m.ItemBuilder())
		if err != nil {
			return nil, fmt.Errorf("value: %w", err)
		}
		return func(c *avro.Cursor) {
			m.Append(true)
			eachItem(c, func() {
				texts.BinaryBuilder.Append(c.Bytes())
				d(c)
			})
		}, nil
	}
	if file.Kind != avro.Array {
		return nil, errNoFit(file, want)
	}
	pair, _ := file.Items.Nullable()
	if pair.Kind != avro.Record || len(pair.Fields) != 2 || pair != file.Items {
		return nil, errNoFit(file, want)
	}
	k, err := decodeKey(pair.Fields[0].Type, key, m.KeyBuilder())
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	v, err := newDecode(pair.Fields[1].Type, value, m.ItemBuilder())
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return func(c *avro.Cursor) {
		m.Append(true)
		eachItem(c, func() { k(c); v(c) })
	}, nil
}

var errNullKey = errors.New("a key of a map is NULL")

// decodeKey reads keys, which are no NULL in Arrow.
func decodeKey(file *avro.Type, want types.Type, b array.Builder) (decode, error) {
	inner, nullAt := file.Nullable()
	d, err := decodeOf(inner, want, b)
	if err != nil || nullAt < 0 {
		return d, err
	}
	return func(c *avro.Cursor) {
		if c.IsNull(nullAt) {
			c.Fail(errNullKey)
		}
		d(c)
	}, nil
}

func decodeRow(file *avro.Type, want types.Type, b array.Builder) (decode, error) {
	s, ok := b.(*array.StructBuilder)
	if !ok || file.Kind != avro.Record {
		return nil, errNoFit(file, want)
	}
	builders := make([]array.Builder, s.NumField())
	for i := range builders {
		builders[i] = s.FieldBuilder(i)
	}
	d, missing, err := decodeFields(file, want.Fields, builders)
	if err != nil {
		return nil, err
	}
	return func(c *avro.Cursor) {
		s.Append(true)
		d(c)
		for _, m := range missing {
			m.AppendNull()
		}
	}, nil
}

// decodeFields reads the wanted fields of a record and passes over the others. Fields that the file does not have are given
// back: their builders are left alone.
func decodeFields(file *avro.Type, want []types.Field, builders []array.Builder) (decode, []array.Builder, error) {
	steps := make([]decode, len(file.Fields))
	var missing []array.Builder
	for i, w := range want {
		at := fieldAt(file, w.Name)
		if at < 0 {
			missing = append(missing, builders[i])
			continue
		}
		d, err := newDecode(file.Fields[at].Type, w.Type, builders[i])
		if err != nil {
			return nil, nil, fmt.Errorf("column %s: %w", w.Name, err)
		}
		if other := steps[at]; other != nil { // wanted twice
			first := d
			d = func(c *avro.Cursor) {
				again := *c
				other(&again)
				first(c)
				if again.Err != nil {
					c.Fail(again.Err)
				}
			}
		}
		steps[at] = d
	}
	for i := range steps {
		if steps[i] == nil {
			t := file.Fields[i].Type
			steps[i] = func(c *avro.Cursor) { c.SkipValue(t, 0) }
		}
	}
	return func(c *avro.Cursor) {
		for _, d := range steps {
			d(c)
			if c.Err != nil {
				return
			}
		}
	}, missing, nil
}

func fieldAt(t *avro.Type, name string) int {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return i
		}
	}
	return -1
}
