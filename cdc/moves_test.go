package cdc_test

import (
	"fmt"
	"testing"
)

// An update that gives a row another primary key takes the row of the old key away, whatever the key is
// made of.
func TestUpdateMovesTheKey(t *testing.T) {
	canalUpdate := func(data, old string) string {
		return fmt.Sprintf(`{"database":"s","table":"a","type":"UPDATE","isDdl":false,"pkNames":["id"],"data":[%s],"old":[%s],"mysqlType":{"id":"int","day":"date","v":"int"},"ts":1}`, data, old)
	}
	insert := `{"database":"s","table":"a","type":"INSERT","isDdl":false,"pkNames":["id"],"data":[{"id":"1","day":"2024-01-05","v":"1"},{"id":"2","day":"2024-01-05","v":"2"}],"old":null,"mysqlType":{"id":"int","day":"date","v":"int"},"ts":1}`

	wh := t.TempDir()
	sum := job(t, wh, "canal-json", `table: "l.{table}"`, "", insert, canalUpdate(`{"id":"9","day":"2024-01-05","v":"1"}`, `{"id":"1"}`))
	want(t, wh, "l.a", `{"id":2,"day":"2024-01-05","v":2}`, `{"id":9,"day":"2024-01-05","v":1}`)
	if sum.Rows != 3 {
		t.Errorf("%d rows applied, want 3: two inserts and an update", sum.Rows)
	}

	wh = t.TempDir() // UPDATE a SET id = id + 1 ORDER BY id DESC, in one message
	job(t, wh, "canal-json", `table: "l.{table}"`, "", insert,
		canalUpdate(`{"id":"3","day":"2024-01-05","v":"2"},{"id":"2","day":"2024-01-05","v":"1"}`, `{"id":"2"},{"id":"1"}`))
	want(t, wh, "l.a", `{"id":2,"day":"2024-01-05","v":1}`, `{"id":3,"day":"2024-01-05","v":2}`)

	wh = t.TempDir() // the partition is in the key
	job(t, wh, "canal-json", `table: "l.{table}", partition-by: [day]`, "", insert, canalUpdate(`{"id":"1","day":"2024-02-06","v":"1"}`, `{"day":"2024-01-05"}`))
	want(t, wh, "l.a", `{"id":1,"day":"2024-02-06","v":1}`, `{"id":2,"day":"2024-01-05","v":2}`)

	wh = t.TempDir() // and computed
	job(t, wh, "canal-json", `table: "l.{table}", partition-by: [mon], computed: {mon: "date_format(day, 'yyyy-MM')"}`, "", insert, canalUpdate(`{"id":"1","day":"2024-02-06","v":"1"}`, `{"day":"2024-01-05"}`))
	want(t, wh, "l.a", `{"id":1,"day":"2024-02-06","v":1,"mon":"2024-02"}`, `{"id":2,"day":"2024-01-05","v":2,"mon":"2024-01"}`)

	wh = t.TempDir() // Debezium; of the old row only the key may be there
	src := `"source":{"db":"s","table":"a"}`
	job(t, wh, "debezium-json", `table: "l.{table}", primary-key: [id]`, "",
		`{"before":null,"after":{"id":1,"v":"x"},"op":"c",`+src+`}`,
		`{"before":{"id":1},"after":{"id":2,"v":"x"},"op":"u",`+src+`}`,
		`{"before":{"id":2,"v":"x"},"after":{"id":3,"v":"y"},"op":"u",`+src+`}`)
	want(t, wh, "l.a", `{"id":"3","v":"y"}`)
}

// Messages that do not name their table go to the one table of a job, if it has one.
func TestMessagesWithoutATable(t *testing.T) {
	wh := t.TempDir()
	job(t, wh, "canal-json", `table: l.one, primary-key: [k]`, "", `{"data":[{"k":"1","v":"Hi"}],"type":"INSERT"}`, `{"data":[{"k":"2","v":"Hello"}],"type":"INSERT"}`)
	want(t, wh, "l.one", `{"k":"1","v":"Hi"}`, `{"k":"2","v":"Hello"}`)
	wh = t.TempDir()
	job(t, wh, "debezium-json", `table: l.one, primary-key: [k]`, "", `{"before":null,"after":{"k":1},"op":"c"}`, `{"before":{"k":1},"after":null,"op":"d"}`, `{"after":{"k":2},"op":"r"}`)
	want(t, wh, "l.one", `{"k":"2"}`)
}
