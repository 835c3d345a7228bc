package decode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/cdc/decode"
)

// show writes an event as a line of text.
func show(ev decode.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", ev.Kind, ev.Table)
	if ev.Millis != 0 {
		fmt.Fprintf(&b, " @%d", ev.Millis)
	}
	if ev.DDL != "" {
		fmt.Fprintf(&b, " %q", ev.DDL)
	}
	for _, r := range ev.Rows {
		fmt.Fprintf(&b, " %v(", r.Kind)
		for i, c := range ev.Shape.Columns {
			if i > 0 {
				b.WriteString(" ")
			}
			if c.PrimaryKey {
				b.WriteString("!")
			}
			v := "NULL"
			if r.Values[i] != nil {
				v = string(r.Values[i])
			}
			fmt.Fprintf(&b, "%s=%s", c.Name, v)
		}
		b.WriteString(")")
	}
	return b.String()
}

func columns(s *decode.Shape) []string {
	var out []string
	for _, c := range s.Columns {
		t := "?"
		if c.Type.Kind != 0 {
			t = c.Type.String()
		}
		out = append(out, c.Name+" "+t)
	}
	return out
}

const src = `"source":{"connector":"mysql","db":"shop","table":"t","ts_ms":5}`

func TestDebeziumEvents(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"", `{"before":null,"after":{"id":1,"s":"x"},` + src + `,"op":"c","ts_ms":7,"transaction":null}`, "rows shop.t @5 +I(id=1 s=\"x\")"},
		{"", `{"op":"r","after":{"id":1,"s":null},"source":{"db":"shop","table":"t"},"ts_ms":7}`, "rows shop.t @7 +I(id=1 s=NULL)"},
		{"", `{"op":"u","before":{"id":1,"s":"x"},"after":{"id":1,"s":"y"},` + src + `}`, "rows shop.t @5 -U(id=1 s=\"x\") +U(id=1 s=\"y\")"},
		{"", `{"op":"u","before":{"id":2},"after":{"id":1,"s":"y"},` + src + `}`, "rows shop.t @5 -U(id=2 s=\"y\") +U(id=1 s=\"y\")"},
		{"", `{"op":"u","before":null,"after":{"id":1},` + src + `}`, "rows shop.t @5 +U(id=1)"},
		{"", `{"op":"d","before":{"id":1,"s":"x"},"after":null,` + src + `}`, "rows shop.t @5 -D(id=1 s=\"x\")"},
		{`{"id":1}`, `{"op":"d","before":null,` + src + `}`, "rows shop.t @5 -D(!id=1)"},
		{`{"schema":{"type":"struct"},"payload":{"id":1}}`, `{"op":"c","after":{"v":{"a":[1, 2]},"id":1},` + src + `}`, "rows shop.t @5 +I(v={\"a\":[1, 2]} !id=1)"},
		{"", `{"op":"c","after":{"a":1,"b":2,"c":3},"pkNames":["b","a"],` + src + `}`, "rows shop.t @5 +I(!a=1 !b=2 c=3)"},
		{"", `{"schema":null,"payload":{"op":"c","after":{"id":1},"source":{"db":"d","schema":"public","table":"t"}}}`, "rows d.public.t +I(id=1)"},
		{"", `{"payload":{"op":"c","after":{"id":1}}}`, "rows  +I(id=1)"},
		{"", `{"op":"t","before":null,"after":null,` + src + `}`, "ddl shop.t @5 \"TRUNCATE TABLE t\""},
		{"", `{"op":"m","message":{"prefix":"p"}}`, "skip "},
		{"", `{"ts_ms":123}`, "skip "}, // a heartbeat
		{"", `{"status":"BEGIN","id":"571:53195829","ts_ms":1}`, "skip "},
		{"", `{"source":{"db":"shop","table":"t"},"ts_ms":9,"databaseName":"shop","ddl":"ALTER TABLE t ADD x INT","tableChanges":[]}`, "ddl shop.t @9 \"ALTER TABLE t ADD x INT\""},
		{"", `{"op":"c","after":{"na\u006de":1},` + src + `}`, "rows shop.t @5 +I(name=1)"},
		// lines of tools that print keys
		{"", `{"id":1}` + "\t" + `{"op":"c","after":{"id":1},` + src + `}`, "rows shop.t @5 +I(!id=1)"},
		{"", `{"id":1}` + "\tnull", "skip "},
		{"", `{"key":{"id":1},"value":{"op":"c","after":{"id":1},` + src + `}}`, "rows shop.t @5 +I(!id=1)"},
		{"", `{"key":{"id":1},"value":null}`, "skip "},
		{"", "null\t" + `{"op":"c","after":{"id":1},` + src + `}`, "rows shop.t @5 +I(id=1)"},
		{"", "5\t" + `{"op":"c","after":{"id":1},` + src + `}`, "rows shop.t @5 +I(id=1)"},
		{"", "Struct{id=1}\t" + `{"op":"c","after":{"id":1},` + src + `}`, "rows shop.t @5 +I(id=1)"},
		{"", "Struct{id=1}\tnull", "skip "},
		{"", `{"payload":7}` + "\t" + `{"op":"c","after":{"payload":7},` + src + `}`, "rows shop.t @5 +I(!payload=7)"},
		// what is no change of a row
		{"", `{"schema":{"type":"struct","fields":[]},"payload":{"ts_ms":5,"ts_us":5000,"ts_ns":5000000}}`, "skip "},
		{"", `{"status":"END","id":"571:53195832","event_count":2,"data_collections":[{"data_collection":"s1.a","event_count":2}],"ts_ms":5}`, "skip "},
		{"", `{"source":{"db":"d"},"ts_ms":5,"databaseName":"d","schemaName":null,"ddl":null,"tableChanges":[]}`, "ddl d @5"},
	} {
		var key []byte
		if c.key != "" {
			key = []byte(c.key)
		}
		d := decode.NewDebezium(decode.Options{})
		for range 2 { // the second one finds the shape
			ev, err := d.Decode(key, []byte(c.value))
			if err != nil {
				t.Errorf("%s: %v", c.value, err)
				continue
			}
			if got := show(ev); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.value, got, c.want)
			}
		}
	}
}

// B014: tombstones and keys of no bytes do no harm.
func TestDebeziumTombstones(t *testing.T) {
	d := decode.NewDebezium(decode.Options{})
	row := func(op, name string, id int) []byte {
		return fmt.Appendf(nil, `{%q:{"id":%d},"op":%q,%s}`, name, id, op, src)
	}
	var got []string
	for _, m := range []struct{ key, value []byte }{
		{[]byte(`{"id":1}`), row("c", "after", 1)},
		{[]byte(`{"id":1}`), row("d", "before", 1)},
		{[]byte(`{"id":1}`), nil},
		{[]byte(`{"id":1}`), []byte{}},
		{[]byte(`{"id":1}`), []byte("null")},
		{[]byte{}, row("c", "after", 2)},
		{nil, row("c", "after", 3)},
		{[]byte("null"), row("c", "after", 4)},
		{[]byte(`"5"`), row("c", "after", 5)},
	} {
		ev, err := d.Decode(m.key, m.value)
		if err != nil {
			t.Fatalf("%s %s: %v", m.key, m.value, err)
		}
		got = append(got, show(ev))
	}
	want := []string{
		"rows shop.t @5 +I(!id=1)", "rows shop.t @5 -D(!id=1)", "skip ", "skip ", "skip ",
		"rows shop.t @5 +I(id=2)", "rows shop.t @5 +I(id=3)", "rows shop.t @5 +I(id=4)", "rows shop.t @5 +I(id=5)",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDebeziumShapes(t *testing.T) {
	d := decode.NewDebezium(decode.Options{})
	shapeOf := func(table, row string) *decode.Shape {
		t.Helper()
		ev, err := d.Decode(nil, fmt.Appendf(nil, `{"op":"c","after":%s,"source":{"db":"d","table":%q}}`, row, table))
		if err != nil {
			t.Fatal(err)
		}
		return ev.Shape
	}
	a := shapeOf("a", `{"x":1,"y":2}`)
	b := shapeOf("b", `{"x":1,"y":2}`)
	wider := shapeOf("a", `{"x":1,"y":2,"z":3}`)
	if a == b || a == wider {
		t.Error("different shapes are one")
	}
	if shapeOf("a", `{"x":9,"y":null}`) != a || shapeOf("b", `{"x":9,"y":9}`) != b || shapeOf("a", `{"x":9,"y":9,"z":9}`) != wider {
		t.Error("a shape that was seen is another one")
	}
	if got := columns(a); !cmp.Equal(got, []string{"x ?", "y ?"}) {
		t.Errorf("columns %q; without a schema part types are not told", got)
	}
}

// Types that the schema part tells.
func TestDebeziumSchema(t *testing.T) {
	type f struct{ json, want string }
	fields := []f{
		{`{"Type":"string","type":"int32","TYPE":"string","Field":"no","field":"id","FIELD":"no"}`, "id INT"},
		{`{"type":"int16","field":"i16"}`, "i16 SMALLINT"},
		{`{"type":"int8","field":"i8"}`, "i8 TINYINT"},
		{`{"type":"int64","field":"i64"}`, "i64 BIGINT"},
		{`{"type":"float","field":"f"}`, "f FLOAT"},
		{`{"type":"double","field":"d"}`, "d DOUBLE"},
		{`{"type":"boolean","field":"b"}`, "b BOOLEAN"},
		{`{"type":"bytes","field":"by"}`, "by BYTES"},
		{`{"type":"string","field":"s"}`, "s STRING"},
		{`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2","connect.decimal.precision":"10"},"field":"dec"}`, "dec DECIMAL(10, 2)"},
		{`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"0"},"field":"u64"}`, "u64 DECIMAL(20, 0)"},
		{`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"3","connect.decimal.precision":"40"},"field":"dec40"}`, "dec40 STRING"},
		{`{"type":"struct","name":"io.debezium.data.VariableScaleDecimal","field":"vs"}`, "vs STRING"},
		{`{"type":"bytes","name":"io.debezium.data.Bits","parameters":{"length":"11"},"field":"bits"}`, "bits BINARY(2)"},
		{`{"type":"int32","name":"io.debezium.time.Date","field":"date"}`, "date DATE"},
		{`{"type":"int64","name":"io.debezium.time.Timestamp","field":"ts3"}`, "ts3 TIMESTAMP(3)"},
		{`{"type":"int64","name":"io.debezium.time.MicroTimestamp","field":"ts6"}`, "ts6 TIMESTAMP(6)"},
		{`{"type":"int64","name":"io.debezium.time.NanoTimestamp","field":"ts9"}`, "ts9 TIMESTAMP(9)"},
		{`{"type":"string","name":"io.debezium.time.ZonedTimestamp","field":"tz"}`, "tz TIMESTAMP(6)"},
		{`{"type":"int64","name":"io.debezium.time.MicroTime","field":"time"}`, "time TIME(0)"},
		{`{"type":"string","name":"io.debezium.data.Json","field":"j"}`, "j STRING"},
		{`{"type":"string","name":"io.debezium.data.Enum","parameters":{"allowed":"a,b"},"field":"e"}`, "e STRING"},
		{`{"type":"int32","name":"io.debezium.time.Year","field":"y"}`, "y INT"},
		{`{"type":"array","items":{"type":"string"},"field":"arr"}`, "arr STRING"},
	}
	var defs, names, want []string
	for i, f := range fields {
		defs = append(defs, f.json)
		names = append(names, fmt.Sprintf("%q:null", strings.Fields(f.want)[0]))
		want = append(want, f.want)
		_ = i
	}
	schema := `{"type":"struct","fields":[{"type":"struct","fields":[` + strings.Join(defs, ",") + `],"field":"before"},{"type":"struct","fields":[` + strings.Join(defs, ",") + `],"field":"after"},{"type":"string","field":"op"}],"name":"s.d.t.Envelope"}`
	message := `{"schema":` + schema + `,"payload":{"op":"c","after":{` + strings.Join(names, ",") + `},` + src + `}}`
	d := decode.NewDebezium(decode.Options{})
	first, err := d.Decode(nil, []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, columns(first.Shape)); diff != "" {
		t.Error(diff)
	}
	again, err := d.Decode(nil, []byte(message))
	if err != nil || again.Shape != first.Shape {
		t.Errorf("the same schema gives another shape (%v)", err)
	}
	// The schema part may come behind the payload, and may change.
	moved := `{"payload":{"op":"c","after":{"id":1},` + src + `},"schema":` + strings.Replace(schema, `"int32"`, `"int64"`, 2) + `}`
	ev, err := d.Decode(nil, []byte(moved))
	if err != nil {
		t.Fatal(err)
	}
	if got := columns(ev.Shape); !cmp.Equal(got, []string{"id INT"}) && !cmp.Equal(got, []string{"id BIGINT"}) {
		t.Errorf("columns %q", got)
	}
	ltz := decode.NewDebezium(decode.Options{ZonedAsLTZ: true})
	if ev, err = ltz.Decode(nil, []byte(message)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(columns(ev.Shape), ","); !strings.Contains(got, "tz TIMESTAMP(6) WITH LOCAL TIME ZONE") {
		t.Errorf("columns %s", got)
	}
}

func TestDebeziumErrors(t *testing.T) {
	for _, c := range []struct {
		value  string
		reason decode.Reason
		want   string
	}{
		{`{"op":"c","after":{"id":1`, decode.NotJSON, "cut off"},
		{`{"op":"c","after":{"id":01}}`, decode.NotJSON, "byte 24"},
		{`{"op":"c","after":{"id":"a` + "\n" + `b"}}`, decode.NotJSON, "control character"},
		{`{"op":"c",}`, decode.NotJSON, "name of a member"},
		{`hello`, decode.NotJSON, "no JSON value"},
		{`[1]`, decode.WrongShape, "no object"},
		{`17`, decode.WrongShape, "no object"},
		{`{"a":1}`, decode.Lacks, "ExtractNewRecordState"},
		{`{"id":1,"name":"x","ts_ms":1,"before":null}`, decode.Lacks, `"op" is missing`},
		{`{"op":"x","after":{"id":1}}`, decode.WrongShape, `op is "x"`},
		{`{"op":"c","after":null}`, decode.Lacks, `"after" is missing`},
		{`{"op":"u","before":{"id":1}}`, decode.Lacks, `"after" is missing`},
		{`{"op":"d","before":null}`, decode.Lacks, "REPLICA IDENTITY FULL"},
		{`{"op":"c","after":"{\"_id\":1}"}`, decode.WrongShape, "debezium-bson"},
		{`{"op":"c","after":{}}`, decode.WrongShape, "no columns"},
		{`{"op":"c","after":{"a":1,"b":2,"a":3}}`, decode.WrongShape, `"a" comes twice`},
		{`{"op":"c","after":{"":1}}`, decode.WrongShape, "no name"},
		{`{"schema":{"type":"struct","fields":7},"payload":{}}`, decode.WrongShape, "schema part"},
		{`{"schema":{},"payload":7}`, decode.WrongShape, "payload is no object"},
		{`{"op":"c","after":{"v":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`, decode.NotJSON, "64 levels"},
		{`{"op":"u","after":{"id":1,"big":"__debezium_unavailable_value"}}`, decode.Lacks, `"big" was not sent`},
		// rows without their envelope, whatever they are called
		{`{"id":1,"status":"new"}`, decode.Lacks, "ExtractNewRecordState"},
		{`{"id":1,"status":"END","v":1}`, decode.Lacks, "ExtractNewRecordState"},
		{`{"id":1,"ts_ms":5}`, decode.Lacks, "ExtractNewRecordState"},
		{`{"name":"x","ts_ms":5}`, decode.Lacks, "ExtractNewRecordState"},
		{`{"id":1,"ddl":"x"}`, decode.Lacks, "ExtractNewRecordState"},
		{`{"schema":{"type":"struct","fields":[]},"payload":{"id":1,"status":"new","__deleted":"false"}}`, decode.Lacks, "ExtractNewRecordState"},
		{`{"op":"c","after":{"id":1}} {"op":"c","after":{"id":2}} x`, decode.NotJSON, "something follows"},
	} {
		_, err := decode.NewDebezium(decode.Options{}).Decode(nil, []byte(c.value))
		var e *decode.Error
		if !errors.As(err, &e) || e.Reason != c.reason || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "debezium-json: ") {
			t.Errorf("%.80s: %v, want %d with %q", c.value, err, c.reason, c.want)
		}
	}
}

// A large value that did not change is taken from the old row.
func TestDebeziumUnchangedValue(t *testing.T) {
	for _, v := range []string{
		`"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="`, `"5f5f646562657a69756d5f756e617661696c61626c655f76616c7565"`, `["__debezium_unavailable_value"]`, `{"__debezium_unavailable_value":"__debezium_unavailable_value"}`,
		`[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]`,
		`["X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="]`, `["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]`,
	} {
		if ev, err := decode.NewDebezium(decode.Options{}).Decode(nil, []byte(`{"op":"u","before":null,"after":{"id":1,"big":`+v+`},`+src+`}`)); err == nil {
			t.Errorf("%s is taken for a value: %s", v, show(ev))
		}
		ev, err := decode.NewDebezium(decode.Options{}).Decode(nil, []byte(`{"op":"d","before":{"id":1,"big":`+v+`},`+src+`}`))
		if got, want := show(ev), `rows shop.t @5 -D(id=1 big=NULL)`; err != nil || got != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	ev, err := decode.NewDebezium(decode.Options{}).Decode(nil, []byte(`{"op":"u","before":{"id":1,"big":"old"},"after":{"id":1,"big":"__debezium_unavailable_value"},`+src+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(ev), `rows shop.t @5 -U(id=1 big="old") +U(id=1 big="old")`; got != want {
		t.Errorf("got %s", got)
	}
}

// A database of many tables, whose events come in turn, each with its schema part: what was learned of one is kept, so
// that shapes stay the same. So it is with a table whose rows have other columns each time.
func TestDebeziumRemembersManyTables(t *testing.T) {
	d := decode.NewDebezium(decode.Options{})
	first := map[string]*decode.Shape{}
	for round := range 2 {
		for i := range 300 {
			name := fmt.Sprint("t", i)
			ev, err := d.Decode(nil, fmt.Appendf(nil, `{"schema":{"type":"struct","fields":[{"type":"struct","field":"after","fields":[{"type":"int32","field":"id"}]}],"name":"x.%s.Envelope"},"payload":{"op":"c","after":{"id":1},"source":{"db":"d","table":%q}}}`, name, name))
			if err != nil {
				t.Fatal(err)
			}
			if round == 1 && ev.Shape != first[name] {
				t.Fatalf("table %d has another shape the second time", i)
			}
			first[name] = ev.Shape
		}
		for i := range 20 {
			name := fmt.Sprint("c", i)
			ev, err := d.Decode(nil, fmt.Appendf(nil, `{"op":"c","after":{"id":1,%q:2},%s}`, name, src))
			if err != nil {
				t.Fatal(err)
			}
			if round == 1 && ev.Shape != first[name] {
				t.Fatalf("rows with column %d have another shape the second time", i)
			}
			first[name] = ev.Shape
		}
	}
}
