package decode_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

var fuzzTypes = []types.Type{
	types.IntType, types.BigIntType, types.StringType, types.BooleanType, types.FloatType, types.DoubleType, types.DecimalType(38, 10), types.BytesType, types.BinaryType(3),
	types.DateType, types.TimeType(3), types.TimestampType(6), types.TimestampLTZType(9), types.ArrayType(types.StringType),
}

// use does with an event what a job does.
func use(t *testing.T, ev decode.Event) {
	for _, r := range ev.Rows {
		if len(r.Values) != len(ev.Shape.Columns) {
			t.Fatalf("%d values for %d columns", len(r.Values), len(ev.Shape.Columns))
		}
		for i, v := range r.Values {
			from := &ev.Shape.Columns[i]
			targets := fuzzTypes
			if from.Type.Kind != types.Invalid {
				targets = append([]types.Type{from.Type}, fuzzTypes...)
			}
			for _, typ := range targets {
				b := array.NewBuilder(memory.DefaultAllocator, types.WideArrowType(typ))
				err := decode.AppendTo(b, typ, v, from)
				if (err == nil) != (b.Len() == 1) {
					t.Fatalf("%q as %v: %d values, error %v", v, typ, b.Len(), err)
				}
			}
		}
	}
}

// FuzzDecode: no panic, and what is decoded is JSON.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"before":null,"after":{"id":1,"s":"x"},"source":{"db":"d","table":"t","ts_ms":5},"op":"c"}`,
		`{"schema":{"type":"struct","fields":[{"type":"struct","field":"after","fields":[{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"},"field":"d"},{"type":"bytes","name":"io.debezium.data.Bits","parameters":{"length":"9"},"field":"b"}]}]},"payload":{"op":"c","after":{"d":"BNI=","b":"xwc="}}}`,
		`{"id":1}	{"op":"u","before":{"id":1},"after":{"id":2}}`,
		`{"data":[{"id":"1","e":"2"}],"old":[{"id":"0"}],"type":"UPDATE","mysqlType":{"id":"int","e":"enum('a','b')","s":"set('x')","b":"bit(9)"},"pkNames":["id"]}`,
		`{"type":"ALTER","isDdl":true,"data":null}`, `null`, `{"key":{},"value":{"op":"d","before":{"\ud83d\ude00":1e5}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range decode.Formats() {
			d, _ := decode.New(name, decode.Options{})
			ev, err := d.Decode(nil, data)
			if err != nil {
				continue
			}
			if ev.Kind == decode.Rows {
				use(t, ev)
			}
			if name == "canal-json" && len(bytes.TrimSpace(data)) > 0 && !json.Valid(data) {
				t.Fatalf("%q was decoded and is no JSON", data)
			}
			if again, err := d.Decode(nil, data); err != nil || show(again) != show(ev) || again.Shape != ev.Shape {
				t.Fatalf("the second time: %v, %s and %s", err, show(ev), show(again))
			}
		}
	})
}

// FuzzAppendTo: any text in any encoding as any type.
func FuzzAppendTo(f *testing.F) {
	for _, s := range []string{`"2023-03-23 14:30:05.123"`, `12.50`, `"AQID"`, `{"scale":1,"value":"ew=="}`, `[1,[2]]`, `-1e5`, `"0000-00-00"`, `"\u00ff"`, `{"wkb":"AQcAAAABAAAAAQEAAAAAAAAAAAAkQAAAAAAAACRA"}`} {
		for e := range uint8(19) {
			f.Add([]byte(s), e)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, e uint8) {
		if len(raw) == 0 || (!json.Valid(raw) && e != uint8(decode.Text)) {
			return
		}
		if raw[0] <= ' ' || raw[len(raw)-1] <= ' ' {
			return // values come without white space around them
		}
		shape := &decode.Shape{Columns: []decode.Column{{Name: "c", Encoding: decode.Encoding(e), Scale: 3, Symbols: []string{"a", "b"}}}}
		use(t, decode.Event{Shape: shape, Rows: []decode.Row{{Values: [][]byte{raw}}}})
	})
}
