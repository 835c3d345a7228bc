package sql

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/types"
)

// fit makes rows of the engine rows of a table: it has infinite times, which tables have not, and types without the
// lengths and precisions that columns have. Values that are too long are refused, as are infinite ones; times lose
// the digits that the column does not hold.
func fit(rec arrow.RecordBatch, schema *arrow.Schema, fields []types.Field, asStored func(int) bool) (arrow.RecordBatch, error) {
	for i, c := range rec.Columns() {
		if err := finite(c.Data()); err != nil {
			return nil, fmt.Errorf("column %s: %w", fields[i].Name, err)
		}
	}
	rec, err := conform(rec, schema)
	if err != nil {
		return nil, err
	}
	cols := rec.Columns()
	for i, f := range fields {
		if asStored != nil && asStored(i) {
			continue
		}
		if err := fitType(cols[i].Data(), f.Type); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return rec, nil
}

// finite refuses what DuckDB takes for infinity.
func finite(d arrow.ArrayData) error {
	switch d.DataType().ID() {
	case arrow.TIMESTAMP:
		for i, v := range values64(d) {
			if isInfinite(v) && !isNull(d, i) {
				return fmt.Errorf("a timestamp cannot be infinite")
			}
		}
	case arrow.DATE32:
		if d.Len() == 0 {
			return nil
		}
		for i, v := range arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()] {
			if (v == math.MaxInt32 || v == -math.MaxInt32) && !isNull(d, i) {
				return fmt.Errorf("a date cannot be infinite")
			}
		}
	}
	for _, c := range d.Children() {
		if err := finite(c); err != nil {
			return err
		}
	}
	return nil
}

// fitType checks lengths, and cuts times in place: the arrays were made by this package.
func fitType(d arrow.ArrayData, t types.Type) error {
	if d.Len() == 0 {
		return nil
	}
	switch t.Kind {
	case types.Char, types.Varchar, types.Binary, types.Varbinary:
		if t.Length >= types.MaxLength {
			return nil
		}
		return fitLength(d, t)
	case types.Time:
		step := int32(math.Pow10(3 - min(t.Precision, 3)))
		v := arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()]
		for i := range v {
			v[i] -= v[i] % step
		}
	case types.Timestamp, types.TimestampLTZ:
		if types.IsNanos(t) {
			values := arrow.Decimal128Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()]
			for i, v := range values {
				if isNull(d, i) {
					continue
				}
				at, ok := types.InstantOfNanos(v)
				if !ok {
					return fmt.Errorf("a timestamp cannot be infinite") // assigned gives no other
				}
				values[i] = at.Truncate(t.Precision).Nanoseconds()
			}
			return nil
		}
		digits := map[arrow.TimeUnit]int{arrow.Second: 0, arrow.Millisecond: 3, arrow.Microsecond: 6}[d.DataType().(*arrow.TimestampType).Unit]
		step := int64(math.Pow10(max(0, digits-t.Precision)))
		if v := values64(d); step > 1 {
			for i := range v {
				v[i] = floorTo(v[i], step)
			}
		}
	case types.Array:
		return fitType(d.Children()[0], *t.Elem)
	case types.Map, types.Multiset:
		entries := d.Children()[0]
		key, value := t.Key, t.Elem
		if t.Kind == types.Multiset {
			key, value = t.Elem, &types.Type{Kind: types.Int}
		}
		if err := fitType(entries.Children()[0], *key); err != nil {
			return err
		}
		return fitType(entries.Children()[1], *value)
	case types.Row:
		for i, f := range t.Fields {
			if err := fitType(d.Children()[i], f.Type); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	return nil
}

func floorTo(v, step int64) int64 {
	r := v % step
	if r < 0 {
		r += step
	}
	return v - r
}

func fitLength(d arrow.ArrayData, t types.Type) error {
	src := array.MakeFromData(d)
	for i := range src.Len() {
		if src.IsNull(i) {
			continue
		}
		switch s := src.(type) {
		case *array.String:
			if v := s.Value(i); len(v) > t.Length && utf8.RuneCountInString(v) > t.Length {
				return fmt.Errorf("value %s does not fit %s", shortValue(v), t.AsNullable())
			}
		case *array.Binary:
			if v := s.Value(i); len(v) > t.Length {
				return fmt.Errorf("a value of %d bytes does not fit %s", len(v), t.AsNullable())
			}
		case *array.FixedSizeBinary:
			if v := s.Value(i); len(v) > t.Length {
				return fmt.Errorf("a value of %d bytes does not fit %s", len(v), t.AsNullable())
			}
		}
	}
	return nil
}
