package write

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/types"
)

// limited reports whether arrays of a type's layout can have values that the type does not.
func limited(t types.Type) bool {
	switch t.Kind {
	case types.Char, types.Varchar, types.Time, types.Decimal:
		return true
	case types.Binary, types.Varbinary:
		return t.Length < types.MaxLength
	case types.Timestamp, types.TimestampLTZ:
		return types.IsNanos(t)
	case types.Array, types.Multiset:
		return t.Elem.NotNull || limited(*t.Elem)
	case types.Map:
		return t.Elem.NotNull || limited(*t.Key) || limited(*t.Elem)
	case types.Row:
		return slices.ContainsFunc(t.Fields, func(f types.Field) bool { return f.Type.NotNull || limited(f.Type) })
	}
	return false
}

// firstNanos and lastNanos are the ends of what files hold: days are counted in 32 bits, from 4713 BC on.
var firstNanos, lastNanos = func() (decimal128.Num, decimal128.Num) {
	const day, epoch = 86_400_000, 2_440_588
	return types.Instant{Millis: (math.MinInt32 - epoch) * day}.Nanoseconds(),
		types.Instant{Millis: (math.MaxInt32-epoch+1)*day - 1, Nanos: 999_999}.Nanoseconds()
}()

// holds finds a value that an array of the type's layout has and the type does not: text that is too
// long or no UTF-8, bytes that are too long, decimals of too many digits, times beyond the day, points in time that files do not
// hold, NULL where a part must not be. The column itself may have NULLs.
func holds(a arrow.Array, t types.Type) error {
	if !limited(t) {
		return nil
	}
	switch x := a.(type) {
	case *array.String:
		return holdsText(x, t)
	case *array.Binary:
		for i := range x.Len() {
			if x.ValueLen(i) > t.Length && x.IsValid(i) {
				return fmt.Errorf("%d bytes are too long for %s", x.ValueLen(i), t)
			}
		}
	case *array.Decimal128:
		for i, v := range x.Values() {
			switch {
			case x.IsNull(i):
			case types.IsNanos(t):
				if v.Less(firstNanos) || v.Greater(lastNanos) {
					return fmt.Errorf("%s s since 1970 are beyond what %s holds", v.ToString(types.WideTimestamp.Scale), t)
				}
			case !v.FitsInPrecision(int32(t.Precision)):
				return fmt.Errorf("%s has more than %d digits, which %s does not hold", types.AppendDecimal(nil, v, t.Scale), t.Precision, t)
			}
		}
	case *array.Time32:
		const day = 86_400_000
		for i := range x.Len() {
			if v := x.Value(i); (v < 0 || v >= day) && x.IsValid(i) {
				return fmt.Errorf("%d ms is no time of the day", v)
			}
		}
	case *array.Struct:
		for i, f := range t.Fields {
			if err := holdsPart(x.Field(i), f.Type, func(k int) bool { return x.IsValid(k) }); err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
		}
	case *array.Map:
		kv, _ := cast.Elements(x)
		key, value := t.Key, t.Elem
		if t.Kind == types.Multiset {
			count := types.IntType.AsNotNull()
			key, value = t.Elem, &count
		}
		if err := holdsPart(kv.(*array.Struct).Field(0), *key, nil); err != nil {
			return fmt.Errorf("key: %w", err)
		}
		if err := holdsPart(kv.(*array.Struct).Field(1), *value, nil); err != nil {
			return fmt.Errorf("value: %w", err)
		}
	case *array.List:
		vals, _ := cast.Elements(x)
		if err := holdsPart(vals, *t.Elem, nil); err != nil {
			return fmt.Errorf("element: %w", err)
		}
	}
	return nil
}

// holdsPart is holds for a part of another type, which counts where the whole is there.
func holdsPart(a arrow.Array, t types.Type, there func(int) bool) error {
	if t.NotNull && a.NullN() > 0 {
		for i := range a.Len() {
			if a.IsNull(i) && (there == nil || there(i)) {
				return fmt.Errorf("it is %s, and the value is NULL", t)
			}
		}
	}
	return holds(a, t)
}

// holdsText looks at all text at once: it hardly ever has to be looked at value by value.
func holdsText(a *array.String, t types.Type) error {
	n := a.Len()
	if n == 0 {
		return nil
	}
	offsets, all := a.ValueOffsets(), a.ValueBytes()
	valid, longest := utf8.Valid(all), int32(0)
	for i := range n {
		at := offsets[i] - offsets[0]
		valid = valid && (int(at) == len(all) || utf8.RuneStart(all[at]))
		longest = max(longest, offsets[i+1]-offsets[i])
	}
	if valid && int(longest) <= t.Length {
		return nil
	}
	for i := range n {
		if a.IsNull(i) {
			continue
		}
		v := a.Value(i)
		if !utf8.ValidString(v) {
			return fmt.Errorf("%.60q is no UTF-8", v)
		}
		if len(v) > t.Length && utf8.RuneCountInString(v) > t.Length {
			return fmt.Errorf("%.60q is too long for %s", v, t)
		}
	}
	return nil
}
