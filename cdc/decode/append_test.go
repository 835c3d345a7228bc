package decode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

// put appends one value and writes it as text.
func put(t *testing.T, typ, raw string, from decode.Column) (string, error) {
	t.Helper()
	target := types.MustParse(typ)
	b := array.NewBuilder(memory.NewGoAllocator(), types.WideArrowType(target))
	from.Name = "c"
	var value []byte
	if raw != "NULL" {
		value = []byte(raw)
	}
	err := decode.AppendTo(b, target, value, &from)
	if err != nil {
		if b.Len() != 0 {
			t.Errorf("%s as %s: something was put in although there is an error", raw, typ)
		}
		return "", err
	}
	arr := b.NewArray()
	if arr.Len() != 1 {
		t.Fatalf("%s as %s: %d values", raw, typ, arr.Len())
	}
	if arr.IsNull(0) {
		return "NULL", nil
	}
	switch a := arr.(type) {
	case *array.Binary:
		return fmt.Sprintf("%x", a.Value(0)), nil
	case *array.Float32:
		return fmt.Sprint(a.Value(0)), nil
	case *array.Float64:
		return fmt.Sprint(a.Value(0)), nil
	case *array.Timestamp:
		i := types.InstantOf(int64(a.Value(0)), types.TimeUnit(target.Precision))
		return time.UnixMilli(i.Millis).UTC().Add(time.Duration(i.Nanos)).Format("2006-01-02 15:04:05.999999999"), nil
	}
	if i, ok := types.DatumAt(arr, 0, target).(types.Instant); ok {
		return time.UnixMilli(i.Millis).UTC().Add(time.Duration(i.Nanos)).Format("2006-01-02 15:04:05.999999999"), nil
	}
	return arr.ValueStr(0), nil
}

func TestAppendTo(t *testing.T) {
	enc := func(e decode.Encoding) decode.Column { return decode.Column{Encoding: e} }
	plain := decode.Column{}
	dec2 := decode.Column{Encoding: decode.EncodedDecimal, Scale: 2}
	enum := decode.Column{Encoding: decode.EnumIndex, Symbols: []string{"small", "large"}}
	set := decode.Column{Encoding: decode.SetMask, Symbols: []string{"a", "b", "c"}}
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	zone8 := decode.Column{Zone: shanghai}
	for _, c := range []struct {
		typ, raw string
		from     decode.Column
		want     string
	}{
		{"INT", "NULL", plain, "NULL"},
		{"INT", "17", plain, "17"},
		{"INT", `"17"`, plain, "17"},
		{"INT", "-2147483648", plain, "-2147483648"},
		{"INT", "1e3", plain, "1000"},
		{"INT", "5.0", plain, "5"},
		{"BIGINT", "-9223372036854775808", plain, "-9223372036854775808"},
		{"BIGINT", `"9223372036854775807"`, plain, "9223372036854775807"},
		{"TINYINT", "true", plain, "1"},
		{"SMALLINT", "32767", plain, "32767"},
		{"BIGINT", `"AfQ="`, decode.Column{Encoding: decode.EncodedDecimal}, "500"},
		{"BOOLEAN", "true", plain, "true"},
		{"BOOLEAN", `"0"`, plain, "false"},
		{"BOOLEAN", "1", plain, "true"},
		{"BOOLEAN", `"2"`, plain, "true"},
		{"BOOLEAN", `"-1"`, plain, "true"},
		{"BOOLEAN", `"1"`, enc(decode.BitNumber), "true"},
		// B121: texts are the nearest number
		{"FLOAT", `"0.00042"`, plain, "0.00042"},
		{"FLOAT", `"6.1042607E-4"`, plain, "0.00061042607"},
		{"FLOAT", "123.456", plain, "123.456"},
		{"FLOAT", `"16777217"`, plain, "1.6777216e+07"},
		{"DOUBLE", "1e-400", plain, "0"},
		{"DOUBLE", `"NaN"`, plain, "NaN"},
		{"DOUBLE", `"-Infinity"`, plain, "-Inf"},
		{"DOUBLE", `"BNI="`, dec2, "12.34"},
		// B118: decimals do not go through floats
		{"DECIMAL(38, 18)", `"12345678901234567890.123456789012345678"`, plain, "12345678901234567890.123456789012345678"},
		{"DECIMAL(10, 2)", "12.345", plain, "12.35"},
		{"DECIMAL(10, 2)", "-12.345", plain, "-12.35"},
		{"DECIMAL(10, 2)", "1.5e3", plain, "1500"},
		{"DECIMAL(10, 2)", "0", plain, "0"},
		{"DECIMAL(10, 2)", `"BNI="`, dec2, "12.34"},
		{"DECIMAL(10, 2)", `"+y4="`, dec2, "-12.34"},
		{"DECIMAL(10, 2)", "12.34", dec2, "12.34"},
		{"DECIMAL(12, 4)", `"BNI="`, dec2, "12.34"},
		{"DECIMAL(38, 0)", `"APm41FuzmIg5Z4XjTPr/////"`, decode.Column{Encoding: decode.EncodedDecimal}, "ERR"},
		{"DECIMAL(20, 0)", `"AP//////////"`, decode.Column{Encoding: decode.EncodedDecimal}, "18446744073709551615"},
		{"DECIMAL(10, 3)", `{"scale":1,"value":"ew=="}`, enc(decode.ScaledDecimal), "12.3"},
		{"STRING", `{"scale":1,"value":"ew=="}`, enc(decode.ScaledDecimal), "12.3"},
		{"STRING", `"BNI="`, dec2, "12.34"},
		{"STRING", "12.340", dec2, "12.340"},
		{"STRING", `"a\n\u00e9\ud83d\ude00\"\\"`, plain, "a\né😀\"\\"},
		{"STRING", "17", plain, "17"},
		{"STRING", "true", plain, "true"},
		{"STRING", `{"a" : [1, "x y"]}`, plain, `{"a":[1,"x y"]}`},
		{"STRING", `raw "text"`, enc(decode.Text), `raw "text"`},
		{"STRING", `""`, plain, ""},
		{"VARCHAR(3)", `"äöü"`, plain, "äöü"},
		{"STRING", "19439", enc(decode.Days), "2023-03-23"},
		{"STRING", "1679581805123", enc(decode.Millis), "2023-03-23 14:30:05.123"},
		{"STRING", "36803500000", enc(decode.TimeMicros), "10:13:23.5"},
		{"STRING", "-500000", enc(decode.TimeMicros), "-00:00:00.5"},
		{"DATE", "19439", enc(decode.Days), "2023-03-23"},
		{"DATE", `"2023-03-23"`, plain, "2023-03-23"},
		{"DATE", `"1582-10-10"`, plain, "1582-10-10"},
		{"DATE", `"0001-01-01"`, plain, "0001-01-01"},
		{"DATE", `"0000-00-00"`, plain, "NULL"},
		{"DATE", `"2024-00-10"`, plain, "NULL"},
		{"DATE", "-1", plain, "1969-12-31"},
		{"DATE", "-1", enc(decode.Millis), "1969-12-31"},
		{"TIME(0)", "36803000000", enc(decode.TimeMicros), "10:13:23.000"},
		{"TIME(3)", `"10:13:23.5"`, plain, "10:13:23.500"},
		{"TIME(3)", "1500", plain, "00:00:01.500"},
		{"TIME(6)", "1500000", plain, "00:00:01.500"},
		{"TIMESTAMP(3)", "1679581805123", enc(decode.Millis), "2023-03-23 14:30:05.123"},
		{"TIMESTAMP(6)", "1679581805123456", enc(decode.Micros), "2023-03-23 14:30:05.123456"},
		{"TIMESTAMP(9)", "1679581805123456789", enc(decode.Nanos), "2023-03-23 14:30:05.123456789"},
		{"TIMESTAMP(9)", `"0001-01-01 00:00:00.000000001"`, plain, "0001-01-01 00:00:00.000000001"},
		{"TIMESTAMP(7)", `"9999-12-31T23:59:59.999999999"`, plain, "9999-12-31 23:59:59.9999999"},
		{"TIMESTAMP_LTZ(9)", `"1582-10-04T23:59:59.5Z"`, plain, "1582-10-04 23:59:59.5"},
		{"TIMESTAMP(9)", "-62135596800000000", enc(decode.Micros), "0001-01-01 00:00:00"},
		{"TIMESTAMP(9)", "NULL", plain, "NULL"},
		{"TIMESTAMP(9)", `"0000-00-00 00:00:00"`, plain, "NULL"},
		{"ARRAY<TIMESTAMP(9)>", `["0001-01-01 00:00:00",null]`, plain, `["-62135596800",null]`},
		{"TIMESTAMP(0)", "1679581805999", enc(decode.Millis), "2023-03-23 14:30:05"},
		{"TIMESTAMP(2)", `"2023-03-24 14:30:05.129"`, plain, "2023-03-24 14:30:05.12"},
		{"TIMESTAMP(6)", "-1", enc(decode.Micros), "1969-12-31 23:59:59.999999"},
		{"TIMESTAMP(3)", "-1", enc(decode.Micros), "1969-12-31 23:59:59.999"},
		{"TIMESTAMP(6)", `"2023-03-23T22:00:10.123456Z"`, enc(decode.Zoned), "2023-03-23 22:00:10.123456"},
		{"TIMESTAMP(6)", `"2023-03-23T22:00:10+05:30"`, enc(decode.Zoned), "2023-03-23 16:30:10"},
		{"TIMESTAMP(3)", `"2023-03-23"`, plain, "2023-03-23 00:00:00"},
		{"TIMESTAMP(3)", `"0000-00-00 00:00:00"`, plain, "NULL"},
		{"TIMESTAMP(3)", "1679581805123", plain, "2023-03-23 14:30:05.123"},
		{"TIMESTAMP(6)", "1679581805123456", plain, "2023-03-23 14:30:05.123456"},
		{"TIMESTAMP(3)", "19439", enc(decode.Days), "2023-03-23 00:00:00"},
		// B122: a point in time stays one, a wall clock stays one
		{"TIMESTAMP(3) WITH LOCAL TIME ZONE", `"2024-01-01T04:00:00Z"`, enc(decode.Zoned), "2024-01-01 04:00:00"},
		{"TIMESTAMP(3)", "1704110400000", enc(decode.Millis), "2024-01-01 12:00:00"},
		{"TIMESTAMP(3) WITH LOCAL TIME ZONE", `"2024-01-01 12:00:00"`, zone8, "2024-01-01 04:00:00"},
		{"TIMESTAMP(3)", `"2024-01-01 12:00:00"`, zone8, "2024-01-01 12:00:00"},
		{"TIMESTAMP(3) WITH LOCAL TIME ZONE", `"2024-01-01T12:00:00+08:00"`, zone8, "2024-01-01 04:00:00"},
		{"BYTES", `"AQID"`, enc(decode.Base64), "010203"},
		{"BYTES", `"abc"`, plain, "616263"},
		{"BYTES", `"a\u0000\u00ff"`, enc(decode.Latin1), "6100ff"},
		// B114: bits of Debezium come least significant byte first
		{"BINARY(2)", `"xwc="`, enc(decode.Base64Reversed), "07c7"},
		{"BINARY(8)", `"xwcAAAAAAAA="`, enc(decode.Base64Reversed), "00000000000007c7"},
		{"BINARY(2)", `"1991"`, enc(decode.BitNumber), "07c7"},
		{"BINARY(2)", `"0"`, enc(decode.BitNumber), "0000"},
		{"VARBINARY(4)", `"AQAAAA=="`, enc(decode.Base64), "01000000"},
		{"STRING", `"aGk="`, enc(decode.Base64), "hi"},
		{"STRING", `"/w=="`, enc(decode.Base64), "0xff"},
		{"STRING", `"2"`, enum, "large"},
		{"STRING", `"large"`, enum, "large"},
		{"STRING", `"0"`, enum, ""},
		{"STRING", `"5"`, set, "a,c"},
		{"ARRAY<STRING>", `"5"`, set, `["a","c"]`},
		{"ARRAY<STRING>", `"0"`, set, `[]`},
		{"ARRAY<STRING>", `"a,b"`, set, `["a","b"]`},
		{"STRING", `{"x":1.0,"y":1.0,"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAPA/","srid":null}`, enc(decode.Geometry), `{"coordinates":[1,1],"type":"Point","srid":0}`},
		{"STRING", `{"wkb":"AQIAAAADAAAAAAAAAAAACEAAAAAAAAAAAAAAAAAAAAhAAAAAAAAACEAAAAAAAAAIQAAAAAAAABRA","srid":4326}`, enc(decode.Geometry), `{"coordinates":[[3,0],[3,3],[3,5]],"type":"LineString","srid":4326}`},
		{"STRING", `"\u0000\u0000\u0000\u0000\u0001\u0001\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000ð?\u0000\u0000\u0000\u0000\u0000\u0000ð?"`, enc(decode.Geometry), `{"coordinates":[1,1],"type":"Point","srid":0}`},
		{"STRING", `{"wkb":"AQQAAAACAAAAAQEAAAAAAAAAAADwPwAAAAAAAPA/AQEAAAAAAAAAAAAAQAAAAAAAAABA"}`, enc(decode.Geometry), `{"coordinates":[[1,1],[2,2]],"type":"MultiPoint","srid":0}`},
		{"STRING", `{"wkb":"AQcAAAABAAAAAQEAAAAAAAAAAAAkQAAAAAAAACRA"}`, enc(decode.Geometry), `{"geometries":[{"type":"Point","coordinates":[10,10]}],"type":"GeometryCollection","srid":0}`},
		{"ARRAY<INT>", `[1, null, 3]`, plain, `[1,null,3]`},
	} {
		got, err := put(t, c.typ, c.raw, c.from)
		if c.want == "ERR" {
			if err == nil {
				t.Errorf("%s as %s: %s, want an error", c.raw, c.typ, got)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s as %s (encoding %d): %q, %v; want %q", c.raw, c.typ, c.from.Encoding, got, err, c.want)
		}
	}
}

func TestAppendToRefuses(t *testing.T) {
	plain := decode.Column{}
	for _, c := range []struct {
		typ, raw string
		from     decode.Column
		want     string
	}{
		{"INT", "2147483648", plain, "a wider type"},
		{"TINYINT", "-129", plain, "a wider type"},
		{"INT", `"abc"`, plain, `"abc" is no value of type INT`},
		{"INT", "1.5", plain, "is no value"},
		{"INT", `""`, plain, "is no value"},
		{"BIGINT", "9223372036854775808", plain, "is no value"},
		{"BIGINT", "1e30", plain, "is no value"},
		{"INT", "{}", plain, "is no value"},
		{"FLOAT", `"1e400"`, plain, "too large"},
		{"FLOAT", "1e39", plain, "too large"},
		{"DOUBLE", `"0x1p3"`, plain, "is no value"},
		{"DOUBLE", `"1_0"`, plain, "is no value"},
		{"DOUBLE", `"inf"`, plain, "is no value"},
		{"DECIMAL(4, 2)", "100", plain, "too large"},
		{"DECIMAL(4, 2)", "99.995", plain, "too large"},
		{"DECIMAL(4, 2)", "1e999999999", plain, "too large"},
		{"DECIMAL(4, 2)", `"BNI="`, plain, "decimal.handling.mode=string"},
		{"BOOLEAN", `"maybe"`, plain, "is no value"},
		{"DATE", `"2023-02-30"`, plain, "2024-01-31"},
		{"DATE", `"yesterday"`, plain, "2024-01-31"},
		{"TIMESTAMP(3)", `"12:00"`, plain, "a timestamp is written"},
		{"TIMESTAMP(3)", `"2023-01-01 24:00:00"`, plain, "a timestamp is written"},
		{"TIMESTAMP(9)", `"yesterday"`, plain, "a timestamp is written"},
		{"TIME(0)", `"-838:59:59"`, plain, "STRING holds"},
		{"TIME(0)", "86400000000", decode.Column{Encoding: decode.TimeMicros}, "STRING holds"},
		{"VARCHAR(2)", `"abc"`, plain, "too long"},
		{"VARBINARY(2)", `"AQID"`, decode.Column{Encoding: decode.Base64}, "too long"},
		{"BYTES", `"%%"`, decode.Column{Encoding: decode.Base64}, "base64"},
		{"STRING", "\"\xff\"", plain, "UTF-8"},
		{"ARRAY<INT>", `[1,"x"]`, plain, "is no value"},
		{"ARRAY<INT>", `7`, plain, "is no value"},
		{"STRING", `{"wkb":"AQQAAP8CAAAA"}`, decode.Column{Encoding: decode.Geometry}, "is no value"},
		{"STRING", `{"x":1}`, decode.Column{Encoding: decode.Geometry}, "is no value"},
		{"MAP<STRING, INT>", `{"a":1}`, plain, "use STRING"},
	} {
		got, err := put(t, c.typ, c.raw, c.from)
		var e *decode.Error
		if !errors.As(err, &e) || e.Reason != decode.WrongValue || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `column c: `) {
			t.Errorf("%s as %s: %q, %v; want %q", c.raw, c.typ, got, err, c.want)
		}
	}
}

// A builder of Arrow's own timestamps takes what these hold.
func TestAppendToNarrow(t *testing.T) {
	for _, typ := range []types.Type{types.TimestampType(9), types.ArrayType(types.TimestampType(9))} {
		b := array.NewBuilder(memory.NewGoAllocator(), types.ArrowType(typ))
		good, bad := `"2024-02-29 00:00:00"`, `"0001-01-01 00:00:00"`
		if typ.Kind == types.Array {
			good, bad = "["+good+"]", "["+good+","+bad+"]"
		}
		if err := decode.AppendTo(b, typ, []byte(good), &decode.Column{Name: "c"}); err != nil || b.Len() != 1 {
			t.Errorf("%s: %v, %d values", typ, err, b.Len())
		}
		if err := decode.AppendTo(b, typ, []byte(bad), &decode.Column{Name: "c"}); err == nil || !strings.Contains(err.Error(), "out of range") || b.Len() != 1 {
			t.Errorf("%s of the year 1: %v, %d values", typ, err, b.Len())
		}
	}
}
