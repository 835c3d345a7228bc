package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/cdc/decode"
)

// encoding is a value as a tool writes it: what it is told to be, and what the lake gets.
type encoding struct {
	told, value string // schema of Kafka Connect without the name of the field, or MySQL's type
	typ         string // of the column, "?" if not told
	as          string // type of the table's column, "" for typ (STRING if not told)
	want        string // ERR and a part of the error: a bad row
}

func (c encoding) check(t *testing.T, d decode.Decoder, message string) {
	t.Helper()
	ev, err := d.Decode(nil, []byte(message))
	if err != nil {
		t.Errorf("%s: %v", message, err)
		return
	}
	if got := columns(ev.Shape)[0]; got != "c "+c.typ {
		t.Errorf("%s is %s, want %s", c.told, got, c.typ)
	}
	as := c.as
	if as == "" {
		if as = c.typ; as == "?" {
			as = "STRING"
		}
	}
	raw := "NULL"
	if v := ev.Rows[0].Values[0]; v != nil {
		raw = string(v)
	}
	got, err := put(t, as, raw, ev.Shape.Columns[0])
	if bad, isBad := strings.CutPrefix(c.want, "ERR "); isBad {
		if err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s %s as %s: %q, %v; want an error with %q", c.told, c.value, as, got, err, bad)
		}
		return
	}
	if err != nil || got != c.want {
		t.Errorf("%s %s as %s: %q, %v; want %q", c.told, c.value, as, got, err, c.want)
	}
}

// What Debezium's connectors write for the types of MySQL, PostgreSQL and others, in all their modes.
func TestDebeziumEncodings(t *testing.T) {
	const (
		decimal = `"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2","connect.decimal.precision":"10"}`
		bigint  = `"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"0"}`
		money   = `"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}`
		numeric = `"type":"struct","name":"io.debezium.data.VariableScaleDecimal"`
		date    = `"type":"int32","name":"io.debezium.time.Date"`
		micro   = `"type":"int64","name":"io.debezium.time.MicroTimestamp"`
		zoned   = `"type":"string","name":"io.debezium.time.ZonedTimestamp"`
		time6   = `"type":"int64","name":"io.debezium.time.MicroTime"`
	)
	bits := func(n int) string {
		return fmt.Sprintf(`"type":"bytes","name":"io.debezium.data.Bits","parameters":{"length":"%d"}`, n)
	}
	list := func(items string) string { return `"type":"array","items":{` + items + `}` }
	for _, c := range []encoding{
		{`"type":"int16"`, "1", "SMALLINT", "", "1"},
		{`"type":"int16"`, "2", "SMALLINT", "BOOLEAN", "true"}, // tinyint(1), types: {"tinyint(1)": boolean}
		{`"type":"int32"`, "65535", "INT", "", "65535"},        // smallint unsigned
		{`"type":"int64"`, "4294967295", "BIGINT", "", "4294967295"},
		{`"type":"int64","parameters":{"__debezium.source.column.type":"BIGINT UNSIGNED"}`, "-1", "BIGINT", "", "ERR bigint.unsigned.handling.mode"},
		{`"type":"int64","parameters":{"__debezium.source.column.type":"BIGINT"}`, "-1", "BIGINT", "", "-1"},
		{`"type":"boolean"`, "true", "BOOLEAN", "", "true"},
		{`"type":"float"`, "0.1", "FLOAT", "", "0.1"},
		{`"type":"double"`, `"NaN"`, "DOUBLE", "", "NaN"},
		{`"type":"float64"`, "1.7976931348623157e308", "DOUBLE", "", "1.7976931348623157e+308"},
		// decimals: precise in base64, as a number, as text, as double
		{decimal, `"BNI="`, "DECIMAL(10, 2)", "", "12.34"},
		{decimal, `12.34`, "DECIMAL(10, 2)", "", "12.34"},
		{decimal, `"+y4="`, "DECIMAL(10, 2)", "STRING", "-12.34"},
		{decimal, `"VAvkAAA="`, "DECIMAL(10, 2)", "", "ERR too large"},
		{bigint, `"AP//////////"`, "DECIMAL(20, 0)", "", "18446744073709551615"},
		{bigint, `"AP//////////"`, "DECIMAL(20, 0)", "BIGINT", "ERR is no value"},
		{money, `"BNI="`, "DECIMAL(38, 2)", "", "12.34"},
		{numeric, `{"scale":3,"value":"BNI="}`, "STRING", "", "1.234"},
		{numeric, `{"scale":-2,"value":"BNI="}`, "STRING", "", "123400"},
		{numeric, `{"scale":0,"value":"Kk1ShwbGUtI="}`, "STRING", "", "3048183262687417042"},
		{`"type":"string"`, `"NaN"`, "STRING", "", "NaN"}, // decimal.handling.mode=string
		// bytes: base64 and, by binary.handling.mode, texts of it or of digits
		{`"type":"bytes"`, `"AQIA"`, "BYTES", "", "010200"},
		{`"type":"bytes"`, `"aGk="`, "BYTES", "STRING", "hi"},
		{`"type":"string"`, `"0102"`, "STRING", "", "0102"},
		{bits(11), `"xwc="`, "BINARY(2)", "", "07c7"},
		{bits(11), `"xwc="`, "BINARY(2)", "STRING", "0000011111000111"},
		{bits(8), `"QQ=="`, "BINARY(1)", "STRING", "01000001"},
		{bits(1), `"AQ=="`, "BINARY(1)", "BOOLEAN", "true"},
		{bits(1<<31 - 1), `"xwc="`, "BINARY(131072)", "", "07c7"}, // bit varying
		// dates and times
		{date, "-719162", "DATE", "", "0001-01-01"},
		{date, "19439", "DATE", "STRING", "2023-03-23"},
		{`"type":"int32","name":"org.apache.kafka.connect.data.Date"`, "19439", "DATE", "", "2023-03-23"},
		{`"type":"int32","name":"io.debezium.time.Time"`, "1500", "TIME(3)", "", "00:00:01.500"},
		{`"type":"int32","name":"org.apache.kafka.connect.data.Time"`, "1500", "TIME(3)", "", "00:00:01.500"},
		{time6, "36803500000", "TIME(0)", "", "10:13:23.500"},
		{time6, "-500000", "TIME(0)", "", "ERR STRING holds it"},
		{time6, "3020399000000", "TIME(0)", "STRING", "838:59:59"},
		{`"type":"int64","name":"io.debezium.time.NanoTime"`, "1500000000", "TIME(0)", "", "00:00:01.500"},
		{`"type":"int64","name":"io.debezium.time.Timestamp"`, "1679581805123", "TIMESTAMP(3)", "", "2023-03-23 14:30:05.123"},
		{`"type":"int64","name":"org.apache.kafka.connect.data.Timestamp"`, "-1", "TIMESTAMP(3)", "", "1969-12-31 23:59:59.999"},
		{micro, "-62135596800000000", "TIMESTAMP(6)", "", "0001-01-01 00:00:00"},
		{`"type":"int64","name":"io.debezium.time.NanoTimestamp"`, "1679581805123456789", "TIMESTAMP(9)", "", "2023-03-23 14:30:05.123456789"},
		{zoned, `"2023-03-23T22:00:10.123456+02:00"`, "TIMESTAMP(6)", "", "2023-03-23 20:00:10.123456"},
		{zoned, `"infinity"`, "TIMESTAMP(6)", "", "ERR a timestamp is written"},
		{`"type":"string","name":"io.debezium.time.ZonedTime"`, `"10:15:30.5Z"`, "STRING", "", "10:15:30.5Z"},
		{`"type":"int32","name":"io.debezium.time.Year"`, "0", "INT", "", "0"},
		{`"type":"string","name":"io.debezium.time.Interval"`, `"P1Y2M3DT4H5M6.78S"`, "STRING", "", "P1Y2M3DT4H5M6.78S"},
		{`"type":"int64","name":"io.debezium.time.MicroDuration"`, "37091106789000", "BIGINT", "", "37091106789000"},
		{`"type":"string","name":"io.debezium.time.IsoDate"`, `"2023-11-21Z"`, "STRING", "DATE", "2023-11-21"},
		{`"type":"string","name":"io.debezium.time.IsoTime"`, `"10:15:30Z"`, "STRING", "TIME(0)", "10:15:30.000"},
		{`"type":"string","name":"io.debezium.time.IsoTimestamp"`, `"2023-11-21T18:29:26Z"`, "STRING", "TIMESTAMP(3)", "2023-11-21 18:29:26"},
		{`"type":"struct","name":"io.debezium.time.StructuredDate"`, `{"year": 2024, "month": 1, "day": 31}`, "STRING", "", `{"year":2024,"month":1,"day":31}`},
		// texts
		{`"type":"string","name":"io.debezium.data.Json"`, `"{\"a\": 1.0, \"b\": 12345678901234567890}"`, "STRING", "", `{"a": 1.0, "b": 12345678901234567890}`},
		{`"type":"string","name":"io.debezium.data.Enum","parameters":{"allowed":"a,b"}`, `"b"`, "STRING", "", "b"},
		{`"type":"string","name":"io.debezium.data.EnumSet","parameters":{"allowed":"a,b,c"}`, `"a,c"`, "STRING", "ARRAY<STRING>", "ERR is no value"},
		{`"type":"string","name":"io.debezium.data.EnumSet","parameters":{"allowed":"a,b,c"}`, `"a,c"`, "STRING", "", "a,c"},
		{`"type":"string","name":"io.debezium.data.Uuid"`, `"09a4d0fe-cb5c-4c0b-8b5b-6d3b0b0b0b0b"`, "STRING", "", "09a4d0fe-cb5c-4c0b-8b5b-6d3b0b0b0b0b"},
		{`"type":"string","name":"io.debezium.data.Xml"`, `"<a/>"`, "STRING", "", "<a/>"},
		{`"type":"string","name":"io.debezium.data.Ltree"`, `"a.b"`, "STRING", "", "a.b"},
		{`"type":"struct","name":"io.debezium.data.geometry.Point"`, `{"x":1.0,"y":1.0,"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAPA/","srid":null}`, "STRING", "", `{"coordinates":[1,1],"type":"Point","srid":0}`},
		{`"type":"map","keys":{"type":"string"},"values":{"type":"string","optional":true}`, `{"a": "1", "b c": null}`, "STRING", "", `{"a":"1","b c":null}`}, // hstore
		// lists, and what is in them, as one reads it
		{list(`"type":"string"`), `["a b", "c\"", null]`, "STRING", "", `["a b","c\"",null]`},
		{list(`"type":"int32"`), `[1, 2, null]`, "STRING", "ARRAY<INT>", `[1,2,null]`},
		{list(decimal), `["BNI=", null]`, "STRING", "", `[12.34,null]`},
		{list(decimal), `["BNI="]`, "STRING", "ARRAY<DECIMAL(10, 2)>", `["12.34"]`},
		{list(date), `[19439]`, "STRING", "", `["2023-03-23"]`},
		{list(date), `[19439]`, "STRING", "ARRAY<DATE>", `["2023-03-23"]`},
		{list(micro), `[1679581805123456]`, "STRING", "", `["2023-03-23 14:30:05.123456"]`},
		{list(zoned), `["2023-03-23T22:00:10Z"]`, "STRING", "", `["2023-03-23T22:00:10Z"]`},
		{list(numeric), `[{"scale":3,"value":"BNI="}]`, "STRING", "", `[1.234]`},
		{list(list(date)), `[[0],[]]`, "STRING", "", `[["1970-01-01"],[]]`},
		{list(decimal), `["?"]`, "STRING", "", "ERR is no value"},
		{`"type":"map","keys":{"type":"string"},"values":{` + date + `}`, `{"a":0}`, "STRING", "", `{"a":"1970-01-01"}`},
		{`"type":"struct","fields":[{"field":"d",` + date + `},{"field":"s","type":"string"}]`, `{"d":0,"s":"x"}`, "STRING", "", `{"d":"1970-01-01","s":"x"}`},
		{`"type":"array","name":"io.debezium.data.DoubleVector","items":{"type":"double"}`, `[1.5, 2]`, "STRING", "", `[1.5,2]`},
	} {
		c.check(t, decode.NewDebezium(decode.Options{}), `{"schema":{"type":"struct","fields":[{"type":"struct","field":"after","fields":[{`+c.told+`,"optional":true,"field":"c"}]}]},"payload":{"op":"c","after":{"c":`+c.value+`},`+src+`}}`)
	}
	// Without the schema part everything is text, or what the table says.
	for _, c := range []encoding{
		{"", "17", "?", "", "17"},
		{"", `{"a": [1]}`, "?", "", `{"a":[1]}`},
		{"", `19439`, "?", "DATE", "2023-03-23"},
		{"", `1679581805123456`, "?", "TIMESTAMP(6)", "2023-03-23 14:30:05.123456"},
		{"", `"AQID"`, "?", "BYTES", "010203"},
		{"", `"no base64"`, "?", "BYTES", "ERR base64"},
		{"", `"BNI="`, "?", "DECIMAL(10, 2)", "ERR decimal.handling.mode=string"},
	} {
		c.check(t, decode.NewDebezium(decode.Options{}), `{"op":"c","after":{"c":`+c.value+`},`+src+`}`)
	}
}

// What Canal writes: the text of each value, and MySQL's type.
func TestCanalEncodings(t *testing.T) {
	for _, c := range []encoding{
		{"tinyint(1)", `"1"`, "BOOLEAN", "", "true"},
		{"tinyint(3) unsigned", `"255"`, "SMALLINT", "", "255"},
		{"smallint(5) unsigned", `"65535"`, "INT", "", "65535"},
		{"mediumint(8) unsigned", `"16777215"`, "BIGINT", "", "16777215"},
		{"int(10) unsigned zerofill", `"0004294967295"`, "BIGINT", "", "4294967295"},
		{"bigint(20) unsigned", `"18446744073709551615"`, "DECIMAL(20, 0)", "", "18446744073709551615"},
		{"int(11)", "null", "INT", "", "NULL"},
		{"int(11)", `""`, "INT", "", "ERR is no value"},
		{"decimal(38,18)", `"12345678901234567890.123456789012345678"`, "DECIMAL(38, 18)", "", "12345678901234567890.123456789012345678"},
		{"decimal(65,30)", `"12345678901234567890123456789012345.5"`, "STRING", "", "12345678901234567890123456789012345.5"},
		{"float", `"1.6777216E7"`, "FLOAT", "", "1.6777216e+07"},
		{"year(4)", `"0000"`, "INT", "", "0"},
		{"date", `"0000-00-00"`, "DATE", "", "NULL"},
		{"datetime", `"0000-00-00 00:00:00"`, "TIMESTAMP(0)", "", "NULL"},
		{"datetime(6)", `"0001-01-01 00:00:00.000001"`, "TIMESTAMP(6)", "", "0001-01-01 00:00:00.000001"},
		{"timestamp(3)", `"2024-01-31 12:30:00.5"`, "TIMESTAMP(3)", "", "2024-01-31 12:30:00.5"},
		{"time", `"23:59:59"`, "TIME(0)", "", "23:59:59.000"},
		{"time", `"838:59:59"`, "TIME(0)", "", "ERR STRING holds others"},
		{"time", `"-838:59:59"`, "TIME(0)", "STRING", "-838:59:59"},
		{"bit(1)", `"1"`, "BOOLEAN", "", "true"},
		{"bit", `"1991"`, "BOOLEAN", "", "ERR is no value"}, // of a tool that leaves the length out
		{"bit(11)", `"1991"`, "BINARY(2)", "", "07c7"},
		{"bit(64)", `"18446744073709551615"`, "BINARY(8)", "", "ffffffffffffffff"},
		{"bit(11)", `"1991"`, "BINARY(2)", "STRING", "1991"},
		{"binary(4)", `"\u0001"`, "VARBINARY(4)", "", "01000000"}, // B114: the log has no zeros at the end
		{"binary(4)", `""`, "VARBINARY(4)", "", "00000000"},
		{"binary(4)", `"\u0001"`, "VARBINARY(4)", "BYTES", "01000000"},
		{"varbinary(4)", `"\u0001"`, "VARBINARY(4)", "", "01"},
		{"blob", `"\u0000\u00ff\u0080A"`, "BYTES", "", "00ff8041"},
		{"vector(2)", `"\u0000\u0000\u0080?"`, "BYTES", "", "0000803f"},
		{"enum('a','it''s')", `"2"`, "STRING", "", "it's"},
		{"enum('a','b')", `"3"`, "STRING", "", "ERR is no value"},
		{"set('a','b','c')", `"5"`, "ARRAY<STRING>", "", `["a","c"]`},
		{"set('a','b','c')", `"9"`, "ARRAY<STRING>", "", "ERR is no value"},
		{"set('" + strings.Join(strings.Split(strings.Repeat("x", 63)+"y", ""), "','") + "')", `"9223372036854775809"`, "ARRAY<STRING>", "", `["x","y"]`},
		{"set('" + strings.Join(strings.Split(strings.Repeat("x", 63)+"y", ""), "','") + "')", `"-9223372036854775807"`, "ARRAY<STRING>", "", `["x","y"]`},
		{"json", `"{\"a\": 1.0}"`, "STRING", "", `{"a": 1.0}`},
		{"varchar(2)", `"abc"`, "VARCHAR(2)", "", "ERR too long"},
		{"inet6", `"::1"`, "?", "", "::1"},
	} {
		c.check(t, decode.NewCanal(decode.Options{}), `{"type":"INSERT","table":"t","data":[{"c":`+c.value+`}],"mysqlType":{"c":"`+c.told+`"},"sqlType":{"c":-7}}`)
	}
}
