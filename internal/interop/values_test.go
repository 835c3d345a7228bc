package interop

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// atomicTypes are all of them, with the parameters that make a difference.
func atomicTypes() []string {
	out := []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
		"DECIMAL(1,0)", "DECIMAL(9,2)", "DECIMAL(10,0)", "DECIMAL(18,6)", "DECIMAL(19,0)", "DECIMAL(38,10)", "DECIMAL(38,38)",
		"CHAR(1)", "CHAR(20)", "VARCHAR(5)", "VARCHAR(300)", "STRING", "BINARY(4)", "VARBINARY(10)", "BYTES",
		"DATE", "TIME(0)", "TIME(3)", "TIME(9)",
	}
	for p := range 10 {
		out = append(out, fmt.Sprintf("TIMESTAMP(%d)", p), fmt.Sprintf("TIMESTAMP_LTZ(%d)", p))
	}
	return out
}

// keyTypes are those that keys and partitions are tried with: outside of the full tier not every
// precision of timestamps.
func keyTypes() []string {
	all := atomicTypes()
	if tarntest.Size().Product {
		return all
	}
	return slices.DeleteFunc(all, func(a string) bool {
		t := types.MustParse(a)
		return (t.Kind == types.Timestamp || t.Kind == types.TimestampLTZ) && t.Precision%3 != 0
	})
}

// longText is longer than what statistics keep, than a page of small pages, and has all lengths of UTF-8.
var longText = strings.Repeat("aß漢😀", 40)

// madeValues are those that were made, by type.
var madeValues sync.Map

// valuesOf gives the values that are hard, as JSON: the ends, zeros, what has no number, what is empty.
func valuesOf(t types.Type) []string {
	made, ok := madeValues.Load(t.String())
	if !ok {
		made, _ = madeValues.LoadOrStore(t.String(), makeValues(t))
	}
	return slices.Clone(made.([]string))
}

func makeValues(t types.Type) []string {
	quoted := func(list ...string) []string {
		var out []string
		for _, v := range list {
			out = append(out, string(types.AppendJSONString(nil, v)))
		}
		return out
	}
	switch t.Kind {
	case types.Boolean:
		return []string{"true", "false"}
	case types.TinyInt:
		return []string{"-128", "127", "0", "-1"}
	case types.SmallInt:
		return []string{"-32768", "32767", "0", "-1"}
	case types.Int:
		return []string{"-2147483648", "2147483647", "0", "-1"}
	case types.BigInt:
		return []string{"-9223372036854775808", "9223372036854775807", "0", "-1"}
	case types.Float:
		return []string{`"NaN"`, "-0.0", "0.0", `"-Infinity"`, `"Infinity"`, "3.4028235E38", "-3.4028235E38", "1.4E-45", "0.1", "1.17549435E-38", "2.26796112E8"}
	case types.Double:
		return []string{`"NaN"`, "-0.0", "0.0", `"-Infinity"`, `"Infinity"`, "1.7976931348623157E308", "-1.7976931348623157E308", "4.9E-324", "0.1", "1.0E23"}
	case types.Decimal:
		return decimals(t.Precision, t.Scale)
	case types.Char, types.Varchar:
		var out []string
		for _, v := range []string{"", "a", "😀", " ", "\x00\n\t\"\\", "漢字かな", "\uffff", "zz" + longText} {
			if r := []rune(v); len(r) > t.Length {
				v = string(r[:t.Length])
			}
			out = append(out, v)
		}
		return quoted(out...)
	case types.Binary:
		return quoted("00000000", "ffffffff", "7f80ff00")
	case types.Varbinary:
		out := []string{"", "00", "ff", "7f80", "00ff00ff00ff00ff00"}
		if t.Length > 100 {
			out = append(out, strings.Repeat("c3a9", 100))
		}
		return quoted(out...)
	case types.Date:
		return quoted("1970-01-01", "1969-12-31", "1582-10-15", "1582-10-04", "0001-01-01", "9999-12-31", "2024-02-29")
	case types.Time:
		out := []string{"00:00:00.000", "23:59:59.000", "12:34:56.000"}
		if t.Precision >= 3 {
			out = append(out, "23:59:59.999", "00:00:00.001")
		}
		return quoted(out...)
	case types.Timestamp, types.TimestampLTZ:
		return quoted(timestamps(t)...)
	}
	return nested(t)
}

func decimals(p, s int) []string {
	point := func(digits string) string {
		digits = strings.Repeat("0", max(0, s+1-len(digits))) + digits
		if s == 0 {
			return digits
		}
		return digits[:len(digits)-s] + "." + digits[len(digits)-s:]
	}
	nines := point(strings.Repeat("9", p))
	return []string{`"` + nines + `"`, `"-` + nines + `"`, `"` + point("0") + `"`, `"` + point("1") + `"`, `"-` + point("1") + `"`}
}

func timestamps(t types.Type) []string {
	zone := ""
	if t.Kind == types.TimestampLTZ {
		zone = "Z"
	}
	far := []string{"1582-10-04T23:59:59.987654321", "0001-01-01T00:00:00.000000001", "9999-12-31T23:59:59.999999999"}
	if t.Precision > 6 { // around the ends of what 64 bits of nanoseconds hold
		far = append(far, "1582-10-15T00:00:00.000000001", "1677-09-21T00:12:43.145224191", "2262-04-11T23:47:16.854775808")
	}
	var out []string
	for _, v := range append(far, "1970-01-01T00:00:00.000000000", "1969-12-31T23:59:59.999999999", "2024-02-29T12:34:56.123456789", "1969-12-31T23:59:59.000000000") {
		dot := strings.IndexByte(v, '.') + 1
		out = append(out, v[:dot+t.Precision]+strings.Repeat("0", 9-t.Precision)+zone)
	}
	return out
}

// nested gives values of a nested type: NULL inside wherever that is possible, empty, one and many.
func nested(t types.Type) []string {
	part := func(p types.Type) []string {
		out := valuesOf(p)
		if !p.NotNull {
			out = append(out, "null")
		}
		return out
	}
	switch t.Kind {
	case types.Array:
		all := part(*t.Elem)
		return []string{"[]", "[" + strings.Join(all, ",") + "]", "[" + all[len(all)-1] + "]", "[" + all[0] + "," + all[0] + "]"}
	case types.Map:
		keys, values := valuesOf(*t.Key), part(*t.Elem)
		var all []string
		seen := map[string]bool{}
		for i, k := range keys {
			if !seen[k] {
				all = append(all, fmt.Sprintf("[%s,%s]", k, values[(i+1)%len(values)]))
			}
			seen[k] = true
		}
		return []string{"[" + strings.Join(all, ",") + "]", "[]", fmt.Sprintf("[[%s,%s]]", keys[0], values[len(values)-1])}
	case types.Multiset:
		keys := valuesOf(*t.Elem)
		var all []string
		seen := map[string]bool{}
		for i, k := range keys {
			if !seen[k] {
				all = append(all, fmt.Sprintf("[%s,%d]", k, i+1))
			}
			seen[k] = true
		}
		return []string{"[" + strings.Join(all, ",") + "]", "[]", fmt.Sprintf("[[%s,2147483647]]", keys[0])}
	case types.Row:
		var out []string
		n := 0
		for _, f := range t.Fields {
			n = max(n, len(part(f.Type)))
		}
		for i := range n {
			var members []string
			for _, f := range t.Fields {
				v := part(f.Type)
				members = append(members, fmt.Sprintf("%q:%s", f.Name, v[i%len(v)]))
			}
			out = append(out, "{"+strings.Join(members, ",")+"}")
		}
		return out
	}
	panic("no values of " + t.String())
}

// value is the i-th value of a column, NULL among them where it may be.
func value(t types.Type, i int) string {
	all := valuesOf(t)
	if !t.NotNull {
		all = append(all, "null")
	}
	return all[i%len(all)]
}

// rowOf makes a row of the i-th values, but for those given.
func rowOf(fields []types.Field, i int, fixed map[string]string) string {
	var members []string
	for c, f := range fields {
		v, ok := fixed[f.Name]
		if !ok {
			v = value(f.Type, i+c)
		}
		members = append(members, fmt.Sprintf("%q:%s", f.Name, v))
	}
	return "{" + strings.Join(members, ",") + "}"
}
