package cast

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// toText writes values as text. CHAR is padded with blanks; what is too long is cut, unless it was bytes
// or nested.
func toText(a arrow.Array, from, to types.Type) (arrow.Array, error) {
	if s, ok := a.(*array.String); ok {
		return fitText(s, to)
	}
	put, err := printer(a, from)
	if err != nil {
		return nil, err
	}
	out, err := texts(arrow.BinaryTypes.String, a.Len(), maskOf(a), put)
	if err != nil || isBytes(from.Kind) || from.IsNested() { // these are neither cut nor padded in the reference
		return out, err
	}
	return fitText(out.(*array.String), to)
}

// printer gives the function that appends the text of a value of an array.
func printer(a arrow.Array, t types.Type) (func(b []byte, i int) []byte, error) {
	switch x := a.(type) {
	case *array.String:
		return func(b []byte, i int) []byte { return append(b, x.Value(i)...) }, nil
	case *array.Binary:
		return func(b []byte, i int) []byte { return appendUTF8(b, x.Value(i)) }, nil
	case *array.Boolean:
		return func(b []byte, i int) []byte { return strconv.AppendBool(b, x.Value(i)) }, nil
	case *array.Float32:
		return func(b []byte, i int) []byte { return types.AppendJavaFloat(b, float64(x.Value(i)), 32) }, nil
	case *array.Float64:
		return func(b []byte, i int) []byte { return types.AppendJavaFloat(b, x.Value(i), 64) }, nil
	case *array.Decimal128:
		if isInstant(t.Kind) {
			return func(b []byte, i int) []byte {
				v, _ := types.InstantOfNanos(x.Value(i))
				return types.AppendTimestamp(b, v, t.Precision)
			}, nil
		}
		return func(b []byte, i int) []byte { return types.AppendDecimal(b, x.Value(i), t.Scale) }, nil
	case *array.Date32:
		return func(b []byte, i int) []byte { return types.AppendDate(b, int64(x.Value(i))) }, nil
	case *array.Time32:
		return func(b []byte, i int) []byte { return types.AppendTime(b, int64(x.Value(i)), t.Precision) }, nil
	case *array.Timestamp:
		unit := types.TimeUnit(t.Precision)
		return func(b []byte, i int) []byte {
			return types.AppendTimestamp(b, types.InstantOf(int64(x.Value(i)), unit), t.Precision)
		}, nil
	case *array.Int8, *array.Int16, *array.Int32, *array.Int64:
		vals := integers(a).vals
		return func(b []byte, i int) []byte { return strconv.AppendInt(b, vals[i], 10) }, nil
	}
	return nestedPrinter(a, t)
}

// nestedPrinter writes arrays as [1, 2], maps as {a -> 1}, rows as {1, x}.
func nestedPrinter(a arrow.Array, t types.Type) (func(b []byte, i int) []byte, error) {
	switch x := a.(type) {
	case *array.Map:
		k, v := batch.Entries(x)
		keys, err := orNull(k, *t.Key)
		if err != nil {
			return nil, err
		}
		vals, err := orNull(v, *t.Elem)
		return func(b []byte, i int) []byte {
			from, to := x.ValueOffsets(i)
			b = append(b, '{')
			for k := from; k < to; k++ {
				if k > from {
					b = append(b, ", "...)
				}
				b = append(keys(b, int(k)), " -> "...)
				b = vals(b, int(k))
			}
			return append(b, '}')
		}, err
	case *array.List:
		elem, err := orNull(x.ListValues(), *t.Elem)
		return func(b []byte, i int) []byte {
			from, to := x.ValueOffsets(i)
			b = append(b, '[')
			for k := from; k < to; k++ {
				if k > from {
					b = append(b, ", "...)
				}
				b = elem(b, int(k))
			}
			return append(b, ']')
		}, err
	case *array.Struct:
		parts := make([]func([]byte, int) []byte, len(t.Fields))
		for f := range parts {
			var err error
			if parts[f], err = orNull(x.Field(f), t.Fields[f].Type); err != nil {
				return nil, err
			}
		}
		return func(b []byte, i int) []byte {
			b = append(b, '{')
			for f, put := range parts {
				if f > 0 {
					b = append(b, ", "...)
				}
				b = put(b, i)
			}
			return append(b, '}')
		}, nil
	}
	return nil, fmt.Errorf("%s cannot be cast to text", t)
}

func orNull(a arrow.Array, t types.Type) (func(b []byte, i int) []byte, error) {
	put, err := printer(a, t)
	if err != nil {
		return nil, err
	}
	return func(b []byte, i int) []byte {
		if a.IsNull(i) {
			return append(b, "null"...)
		}
		return put(b, i)
	}, nil
}

// appendUTF8 appends bytes as text; each byte that is none becomes U+FFFD, since columns of text hold
// nothing else.
func appendUTF8(b, v []byte) []byte {
	if utf8.Valid(v) {
		return append(b, v...)
	}
	for len(v) > 0 {
		r, n := utf8.DecodeRune(v)
		b = utf8.AppendRune(b, r)
		v = v[n:]
	}
	return b
}

// fitText cuts text to the characters of a type, and pads CHAR with blanks. Text that fits as it is is
// not copied.
func fitText(a *array.String, to types.Type) (arrow.Array, error) {
	fits := true
	for i := 0; i < a.Len() && fits; i++ {
		n := len(a.Value(i))
		if n > to.Length || to.Kind == types.Char {
			n = utf8.RuneCountInString(a.Value(i))
		}
		fits = a.IsNull(i) || n == to.Length || n < to.Length && to.Kind == types.Varchar
	}
	if fits {
		return a, nil
	}
	return texts(arrow.BinaryTypes.String, a.Len(), maskOf(a), func(b []byte, i int) []byte {
		s, n := a.Value(i), 0
		for at := range s {
			if n == to.Length {
				s = s[:at]
				break
			}
			n++
		}
		b = append(b, s...)
		if to.Kind == types.Char {
			for ; n < to.Length; n++ {
				b = append(b, ' ')
			}
		}
		return b
	})
}

// fitBytes cuts bytes to the length of a type, and pads BINARY with zeros.
func fitBytes(a arrow.Array, to types.Type) (arrow.Array, error) {
	x := a.(*array.Binary)
	return texts(arrow.BinaryTypes.Binary, a.Len(), maskOf(a), func(b []byte, i int) []byte {
		v := x.Value(i)
		b = append(b, v[:min(len(v), to.Length)]...)
		if to.Kind == types.Binary {
			for n := len(v); n < to.Length; n++ {
				b = append(b, 0)
			}
		}
		return b
	})
}

// fromText reads values out of text. The error shows the text that cannot be read; a number with too
// many digits for a DECIMAL is NULL.
func fromText(a arrow.Array, to types.Type) (arrow.Array, error) {
	s := a.(*array.String)
	n, m := a.Len(), maskOf(a)
	dt := types.WideArrowType(to)
	switch to.Kind {
	case types.Binary, types.Varbinary:
		return fitBytes(array.MakeFromData(retypeData(a.Data(), arrow.BinaryTypes.Binary)), to)
	case types.Boolean:
		vals := make([]bool, n)
		err := readAll(s, &m, func(i int, v string) (err error) { vals[i], err = types.ParseBool(v); return err })
		return booleans(n, m, func(i int) bool { return vals[i] }), err
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		c := column[int64]{make([]int64, n), m}
		bits := map[types.Kind]int{types.TinyInt: 8, types.SmallInt: 16, types.Int: 32, types.BigInt: 64}[to.Kind]
		if err := readAll(s, &m, func(i int, v string) (err error) { c.vals[i], err = types.ParseInt(v, bits); return err }); err != nil {
			return nil, err
		}
		return fromInts(c, to)
	case types.Float, types.Double:
		c := column[float64]{make([]float64, n), m}
		bits := 64
		if to.Kind == types.Float {
			bits = 32
		}
		if err := readAll(s, &m, func(i int, v string) (err error) { c.vals[i], err = types.ParseFloat(v, bits); return err }); err != nil {
			return nil, err
		}
		return fromFloats(c, to)
	case types.Decimal:
		vals := make([]decimal128.Num, n)
		err := readAll(s, &m, func(i int, v string) error {
			d, fits, err := types.ParseDecimal(v, to.Precision, to.Scale)
			if vals[i] = d; err == nil && !fits {
				m.clear(i, n)
			}
			return err
		})
		return fixed(dt, vals, m), err
	case types.Date, types.Time:
		vals := make([]int32, n)
		parse := types.ParseDate
		if to.Kind == types.Time {
			parse = types.ParseTime
		}
		err := readAll(s, &m, func(i int, v string) error {
			d, err := parse(v)
			vals[i] = int32(d)
			return err
		})
		return fixed(dt, vals, m), err
	case types.Timestamp, types.TimestampLTZ:
		c := column[types.Instant]{make([]types.Instant, n), m}
		err := readAll(s, &m, func(i int, v string) (err error) { c.vals[i], err = types.ParseTimestamp(v, to.Precision); return err })
		if err != nil {
			return nil, err
		}
		return instants(c, func(p types.Instant) types.Instant { return p }, to)
	}
	return nil, fmt.Errorf("text cannot be cast to %s", to)
}

// readAll calls read for each text that is not NULL.
func readAll(s *array.String, m *mask, read func(i int, v string) error) error {
	for i := range s.Len() {
		if m.valid(i) {
			if err := read(i, s.Value(i)); err != nil {
				return err
			}
		}
	}
	return nil
}
