package decode_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

// message is an event of 10 columns.
func message(i int) []byte {
	row := func(n int) string {
		return fmt.Sprintf(`{"id":%d,"customer_id":%d,"status":"SHIPPED","amount":"%d.50","note":"please ring twice","created":%d,"updated":%d,"city":"Kraków","quantity":%d,"discount":0.25}`,
			i, i%1000, n%500, 1704067200000+n, 1704067300000+n, n%17)
	}
	return fmt.Appendf(nil, `{"before":null,"after":%s,"source":{"version":"2.5.0.Final","connector":"mysql","name":"shop","ts_ms":%d,"snapshot":"false","db":"shop","sequence":null,"table":"orders","server_id":223344,"gtid":null,"file":"mysql-bin.000003","pos":%d,"row":0,"thread":7,"query":null},"op":"c","ts_ms":%d,"transaction":null}`,
		row(i), 1704067200000+i, 1000+i, 1704067200100+i)
}

const benchSchema = `{"type":"struct","fields":[{"type":"struct","fields":[%[1]s],"optional":true,"name":"shop.orders.Value","field":"before"},{"type":"struct","fields":[%[1]s],"optional":true,"name":"shop.orders.Value","field":"after"},{"type":"struct","fields":[{"type":"string","optional":false,"field":"version"},{"type":"int64","optional":false,"field":"ts_ms"},{"type":"string","optional":false,"field":"db"},{"type":"string","optional":true,"field":"table"}],"optional":false,"name":"io.debezium.connector.mysql.Source","field":"source"},{"type":"string","optional":false,"field":"op"},{"type":"int64","optional":true,"field":"ts_ms"}],"optional":false,"name":"shop.orders.Envelope"}`

func schemaPart() []byte {
	var fields [][]byte
	for _, f := range []string{"int64 id", "int64 customer_id", "string status", "string amount", "string note", "int64 created", "int64 updated", "string city", "int32 quantity", "double discount"} {
		var typ, name string
		fmt.Sscan(f, &typ, &name)
		fields = append(fields, fmt.Appendf(nil, `{"type":%q,"optional":true,"field":%q}`, typ, name))
	}
	return fmt.Appendf(nil, benchSchema, bytes.Join(fields, []byte(",")))
}

func BenchmarkDebezium(b *testing.B) {
	var bare, full, updates [][]byte
	schema := schemaPart()
	for i := range 1000 {
		m := message(i)
		bare = append(bare, m)
		full = append(full, fmt.Appendf(nil, `{"schema":%s,"payload":%s}`, schema, m))
		after := m[bytes.Index(m, []byte(`"after":`))+8 : bytes.Index(m, []byte(`,"source"`))]
		u := bytes.Replace(m, []byte(`"before":null`), append([]byte(`"before":`), after...), 1)
		updates = append(updates, bytes.Replace(u, []byte(`"op":"c"`), []byte(`"op":"u"`), 1))
	}
	for _, c := range []struct {
		name     string
		messages [][]byte
	}{{"bare", bare}, {"schema", full}, {"update", updates}} {
		b.Run(c.name, func(b *testing.B) {
			d := decode.NewDebezium(decode.Options{})
			b.SetBytes(int64(len(c.messages[0])))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := d.Decode(nil, c.messages[i%1000]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkDebeziumToArrow decodes and puts the values into columns.
func BenchmarkDebeziumToArrow(b *testing.B) {
	var messages [][]byte
	for i := range 1000 {
		messages = append(messages, message(i))
	}
	targets := []types.Type{
		types.BigIntType, types.BigIntType, types.StringType, types.DecimalType(10, 2), types.StringType, types.TimestampType(3), types.TimestampType(3), types.StringType, types.IntType, types.DoubleType,
	}
	builders := make([]array.Builder, len(targets))
	for i, t := range targets {
		builders[i] = array.NewBuilder(memory.DefaultAllocator, types.WideArrowType(t))
	}
	d := decode.NewDebezium(decode.Options{})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		ev, err := d.Decode(nil, messages[i%1000])
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range ev.Rows {
			for c, v := range r.Values {
				if err := decode.AppendTo(builders[c], targets[c], v, &ev.Shape.Columns[c]); err != nil {
					b.Fatal(err)
				}
			}
		}
		if i++; i%10000 == 0 {
			for _, c := range builders {
				c.NewArray()
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkCanal(b *testing.B) {
	m := []byte(`{"data":[{"id":"1","customer_id":"17","status":"SHIPPED","amount":"12.50","note":"please ring twice","created":"2024-01-01 12:00:00.123","updated":"2024-01-01 12:00:00.123","city":"Kraków","quantity":"3","discount":"0.25"}],"database":"shop","es":1683008289000,"id":14,"isDdl":false,"mysqlType":{"id":"bigint","customer_id":"bigint","status":"varchar(20)","amount":"decimal(10,2)","note":"text","created":"datetime(3)","updated":"datetime(3)","city":"varchar(50)","quantity":"int","discount":"double"},"old":null,"pkNames":["id"],"sql":"","sqlType":{"id":-5,"customer_id":-5,"status":12,"amount":3,"note":-4,"created":93,"updated":93,"city":12,"quantity":4,"discount":8},"table":"orders","ts":1683008289719,"type":"INSERT"}`)
	d := decode.NewCanal(decode.Options{})
	b.SetBytes(int64(len(m)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(nil, m); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
