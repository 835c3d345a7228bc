// Package jsonrow writes rows as JSON and reads them back without loss.
//
// One row is one object, members in column order. Values by type:
//
//	BOOLEAN, integers      true, false, a number
//	FLOAT, DOUBLE          the shortest number that reads back as the same, as Java prints it: 1.0, 1.0E7; "NaN", "Infinity", "-Infinity"; -0.0 is kept
//	DECIMAL                a string with all digits of the scale
//	CHAR, VARCHAR          a string
//	BINARY, VARBINARY      a string of lower-case hexadecimal digits
//	DATE                   "2024-02-29"; years outside 0..9999 with a sign
//	TIME                   "12:34:56.789"
//	TIMESTAMP              "2024-02-29T12:34:56.789000000"
//	TIMESTAMP_LTZ          the same in UTC with Z at the end
//	ARRAY                  an array
//	MAP, MULTISET          an array of [key, value], ordered by its text
//	ROW                    an object in field order
//	VARIANT                {"value": hex, "metadata": hex, "json": text}; the text is not looked at when read
package jsonrow

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// Encoder writes rows of some columns. It is safe for concurrent use.
type Encoder struct {
	fields []types.Field
	names  [][]byte // "name":
}

// NewEncoder makes an Encoder for the columns of batches.
func NewEncoder(fields []types.Field) *Encoder {
	e := &Encoder{fields: fields}
	for _, f := range fields {
		e.names = append(e.names, append(types.AppendJSONString(nil, f.Name), ':'))
	}
	return e
}

// Append writes a row as one object.
func (e *Encoder) Append(dst []byte, rec arrow.RecordBatch, row int) []byte {
	dst = append(dst, '{')
	dst = e.AppendMembers(dst, rec, row)
	return append(dst, '}')
}

// AppendMembers writes the members of the object only, for callers that have others to add.
func (e *Encoder) AppendMembers(dst []byte, rec arrow.RecordBatch, row int) []byte {
	for i, f := range e.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, e.names[i]...)
		dst = appendValue(dst, rec.Column(i), row, f.Type)
	}
	return dst
}

// AppendValue writes one value.
func AppendValue(dst []byte, a arrow.Array, i int, t types.Type) []byte {
	return appendValue(dst, a, i, t)
}

func appendValue(dst []byte, a arrow.Array, i int, t types.Type) []byte {
	if a.IsNull(i) {
		return append(dst, "null"...)
	}
	switch x := a.(type) {
	case *array.Boolean:
		return strconv.AppendBool(dst, x.Value(i))
	case *array.Int8:
		return strconv.AppendInt(dst, int64(x.Value(i)), 10)
	case *array.Int16:
		return strconv.AppendInt(dst, int64(x.Value(i)), 10)
	case *array.Int32:
		return strconv.AppendInt(dst, int64(x.Value(i)), 10)
	case *array.Int64:
		return strconv.AppendInt(dst, x.Value(i), 10)
	case *array.Float32:
		return appendFloat(dst, float64(x.Value(i)), 32)
	case *array.Float64:
		return appendFloat(dst, x.Value(i), 64)
	case *array.Decimal128:
		if types.IsNanos(t) {
			v, _ := types.InstantOfNanos(x.Value(i)) // writers let in nothing else
			return appendInstant(dst, v, t.Kind == types.TimestampLTZ)
		}
		dst = append(dst, '"')
		dst = types.AppendDecimal(dst, x.Value(i), t.Scale)
		return append(dst, '"')
	case *array.String:
		return types.AppendJSONString(dst, x.Value(i))
	case *array.Binary:
		return appendHex(dst, x.Value(i))
	case *array.Date32:
		dst = append(dst, '"')
		dst = types.AppendDate(dst, int64(x.Value(i)))
		return append(dst, '"')
	case *array.Time32:
		dst = append(dst, '"')
		dst = appendTime(dst, int64(x.Value(i)), 3)
		return append(dst, '"')
	case *array.Timestamp:
		return appendInstant(dst, types.InstantOf(int64(x.Value(i)), x.DataType().(*arrow.TimestampType).Unit), t.Kind == types.TimestampLTZ)
	case *array.Map:
		return appendMap(dst, x, i, t)
	case *array.List:
		from, to := x.ValueOffsets(i)
		dst = append(dst, '[')
		for k := from; k < to; k++ {
			if k > from {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, x.ListValues(), int(k), *t.Elem)
		}
		return append(dst, ']')
	case *array.Struct:
		return appendStruct(dst, x, i, t)
	}
	return types.AppendJSONString(dst, a.ValueStr(i))
}

func appendStruct(dst []byte, x *array.Struct, i int, t types.Type) []byte {
	if t.Kind == types.Variant {
		return appendVariant(dst, x, i)
	}
	st := x.DataType().(*arrow.StructType)
	dst = append(dst, '{')
	for f := range st.NumFields() {
		if f > 0 {
			dst = append(dst, ',')
		}
		dst = append(types.AppendJSONString(dst, st.Field(f).Name), ':')
		dst = appendValue(dst, x.Field(f), i, t.Fields[f].Type)
	}
	return append(dst, '}')
}

// appendVariant adds what the bytes mean, if they mean something.
func appendVariant(dst []byte, x *array.Struct, i int) []byte {
	value, ok := x.Field(0).(*array.Binary)
	meta, ok2 := x.Field(1).(*array.Binary)
	if !ok || !ok2 {
		return append(dst, "null"...)
	}
	dst = appendHex(append(dst, `{"value":`...), value.Value(i))
	dst = appendHex(append(dst, `,"metadata":`...), meta.Value(i))
	if text, err := appendVariantJSON(nil, value.Value(i), meta.Value(i)); err == nil {
		dst = types.AppendJSONString(append(dst, `,"json":`...), string(text))
	}
	return append(dst, '}')
}

// appendMap orders the pairs by their text: maps have no order of their own.
func appendMap(dst []byte, x *array.Map, i int, t types.Type) []byte {
	from, to := x.ValueOffsets(i)
	kt, vt := t.Key, t.Elem
	if t.Kind == types.Multiset {
		kt, vt = t.Elem, &types.Type{Kind: types.Int, NotNull: true}
	}
	pairs := make([][]byte, 0, to-from)
	keys, values := batch.Entries(x)
	for k := from; k < to; k++ {
		p := appendValue([]byte{'['}, keys, int(k), *kt)
		p = append(p, ',')
		p = appendValue(p, values, int(k), *vt)
		pairs = append(pairs, append(p, ']'))
	}
	slices.SortFunc(pairs, bytes.Compare)
	dst = append(dst, '[')
	dst = append(dst, bytes.Join(pairs, []byte{','})...)
	return append(dst, ']')
}

func appendFloat(dst []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		dst = append(dst, '"')
		return append(types.AppendFloat(dst, v, bits), '"')
	}
	return types.AppendFloat(dst, v, bits)
}

func appendHex(dst, v []byte) []byte {
	dst = append(dst, '"')
	dst = hex.AppendEncode(dst, v)
	return append(dst, '"')
}

func appendPadded(dst []byte, v, width int) []byte {
	for limit := 10; width > 1; width-- {
		if v < limit {
			break
		}
		limit *= 10
	}
	for range width - 1 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(v), 10)
}

// appendTime writes milliseconds of a day.
func appendTime(dst []byte, ms int64, digits int) []byte {
	s := int(ms / 1000)
	dst = appendPadded(dst, s/3600, 2)
	dst = appendPadded(append(dst, ':'), s/60%60, 2)
	dst = appendPadded(append(dst, ':'), s%60, 2)
	if digits > 0 {
		dst = appendPadded(append(dst, '.'), int(ms%1000), digits)
	}
	return dst
}

func appendInstant(dst []byte, v types.Instant, utc bool) []byte {
	const day = 86400000
	d := types.FloorDiv(v.Millis, day)
	ms := v.Millis - d*day
	dst = append(dst, '"')
	dst = types.AppendDate(dst, d)
	dst = append(dst, 'T')
	dst = appendTime(dst, ms, 0)
	dst = appendPadded(append(dst, '.'), int(ms%1000)*1000000+int(v.Nanos), 9)
	if utc {
		dst = append(dst, 'Z')
	}
	return append(dst, '"')
}

// AppendDatum writes one value of an atomic type; nil is null.
func AppendDatum(dst []byte, t types.Type, d types.Datum) []byte {
	switch v := d.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		switch t.Kind {
		case types.Date:
			return append(types.AppendDate(append(dst, '"'), v), '"')
		case types.Time:
			return append(appendTime(append(dst, '"'), v, 3), '"')
		}
		return strconv.AppendInt(dst, v, 10)
	case float32:
		return appendFloat(dst, float64(v), 32)
	case float64:
		return appendFloat(dst, v, 64)
	case decimal128.Num:
		return append(types.AppendDecimal(append(dst, '"'), v, t.Scale), '"')
	case []byte:
		return appendHex(dst, v)
	case types.Instant:
		return appendInstant(dst, v, t.Kind == types.TimestampLTZ)
	}
	return types.AppendJSONString(dst, types.FormatDatum(t, d))
}
