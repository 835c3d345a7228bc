package cdc_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/cdc"
)

// logged runs a job over lines and gives what it logs.
func logged(t *testing.T, c *cdc.Config, lines ...string) (*cdc.Summary, string) {
	t.Helper()
	var log bytes.Buffer
	sum, err := cdc.Run(t.Context(), c, cdc.RunOptions{Stdin: strings.NewReader(strings.Join(lines, "\n") + "\n"), NoSync: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return sum, log.String()
}

func columnsOf(t *testing.T, wh, name string) []string {
	t.Helper()
	fields, err := table(t, wh, name).Fields()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range fields {
		out = append(out, f.Name+" "+f.Type.String())
	}
	return out
}

// What the format's own tools have as --type_mapping, said by types.
func TestTypeMapping(t *testing.T) {
	const msg = `{"database":"s","table":"a","type":"INSERT","isDdl":false,"pkNames":["id"],"data":[{"id":"1","t1":"2","c":"ab","v":"abc","big":"7","bz":"8","long":"text","dec":"1.50","bits":"5","at":"2024-01-01 12:00:00"}],"old":null,"ts":1,"mysqlType":{"id":"INT(11)","t1":"TINYINT(1)","c":"CHAR(2)","v":"varchar(9)","big":"bigint(20) unsigned","bz":"bigint unsigned zerofill","long":"longtext","dec":"DECIMAL(10, 2)","bits":"bit(8)","at":"timestamp(3)"}}`
	for _, c := range []struct {
		types   string
		columns []string
		row     string
	}{
		{
			"{}",
			[]string{"id INT NOT NULL", "t1 BOOLEAN", "c CHAR(2)", "v VARCHAR(9)", "big DECIMAL(20, 0)", "bz DECIMAL(20, 0)", "long STRING", "dec DECIMAL(10, 2)", "bits BINARY(1)", "at TIMESTAMP(3)"},
			`{"id":1,"t1":true,"c":"ab","v":"abc","big":"7","bz":"8","long":"text","dec":"1.50","bits":"05","at":"2024-01-01T12:00:00.000000000"}`,
		},
		{
			`{tinyint(1): tinyint, char: string, varchar: string, bigint unsigned: bigint, longtext: bytes, "decimal(10,2)": "decimal(12, 3)", timestamp: timestamp_ltz(3)}`,
			[]string{"id INT NOT NULL", "t1 TINYINT", "c STRING", "v STRING", "big BIGINT", "bz BIGINT", "long BYTES", "dec DECIMAL(12, 3)", "bits BINARY(1)", "at TIMESTAMP(3) WITH LOCAL TIME ZONE"},
			`{"id":1,"t1":2,"c":"ab","v":"abc","big":7,"bz":8,"long":"74657874","dec":"1.500","bits":"05","at":"2024-01-01T04:00:00.000000000Z"}`,
		},
		{
			`{"*": string, "int": int}`,
			[]string{"id INT NOT NULL", "t1 STRING", "c STRING", "v STRING", "big STRING", "bz STRING", "long STRING", "dec STRING", "bits STRING", "at STRING"},
			`{"id":1,"t1":"2","c":"ab","v":"abc","big":"7","bz":"8","long":"text","dec":"1.50","bits":"5","at":"2024-01-01 12:00:00"}`,
		},
	} {
		wh := t.TempDir()
		sum, log := logged(t, config(t, "name: m\nsource: {type: files, path: \"-\", format: canal-json, time-zone: Asia/Shanghai}\nsink: {warehouse: %q, table: l.a}\ntypes: %s\n", wh, c.types), msg)
		if len(sum.FailedTables) > 0 {
			t.Errorf("%s: %v", c.types, sum.FailedTables)
			continue
		}
		if d := cmp.Diff(c.columns, columnsOf(t, wh, "l.a")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.types, d)
		}
		want(t, wh, "l.a", c.row)
		if lossy := c.types == "{}"; strings.Contains(log, "column t1 is tinyint(1)") != lossy { // B114
			t.Errorf("%s: a number that became true is not told, or told although it did not: %s", c.types, log)
		}
	}
	if _, err := cdc.ParseConfig([]byte("name: m\nsource: {type: files, path: x, format: canal-json, time-zone: Mars}\nsink: {warehouse: w}")); err == nil || !strings.Contains(err.Error(), "Mars") {
		t.Errorf("time zone: %v", err)
	}
}

// A list of columns for all tables of a database does not stop those that have other ones; what a job says of a table
// that is there must be so.
func TestKeysOfManyTables(t *testing.T) {
	in := []string{
		canal("s", "a", "INSERT", "id", `[{"id":"1","name":"x"}]`),
		`{"database":"s","table":"b","type":"INSERT","isDdl":false,"pkNames":["k"],"data":[{"k":"7","v":"y"}],"old":null,"mysqlType":{"k":"int","v":"varchar(5)"},"ts":1}`,
	}
	const source = "name: k\nsource: {type: files, path: \"-\", format: canal-json}\n"
	wh := t.TempDir()
	sum, log := logged(t, config(t, source+"sink: {warehouse: %q, table: \"l.{table}\", primary-key: [id], partition-by: [name]}\n", wh), in...)
	if len(sum.FailedTables) > 0 {
		t.Fatal(sum.FailedTables)
	}
	for name, keys := range map[string][2][]string{"l.a": {{"name", "id"}, {"name"}}, "l.b": {{"k"}, {}}} {
		tab := table(t, wh, name)
		if d := cmp.Diff(keys, [2][]string{tab.PrimaryKeys(), append([]string{}, tab.PartitionKeys()...)}); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if strings.Count(log, "l.b") != 2 {
		t.Errorf("it is not told that l.b goes without: %s", log)
	}
	if sum, _ = logged(t, config(t, source+"sink: {warehouse: %q, table: \"l.{table}\", primary-key: [id], partition-by: [name]}\n", wh), in...); len(sum.FailedTables) > 0 {
		t.Errorf("again: %v", sum.FailedTables)
	}

	for _, sink := range []string{`primary-key: {b: [id]}`, `partition-by: {b: [name]}`} { // a column that is named for a table must be there
		sum, log := logged(t, config(t, source+"sink: {warehouse: %q, table: \"l.{table}\", "+sink+"}\n", t.TempDir()), in...)
		if sum.FailedTables["l.b"] == nil || len(sum.FailedTables) > 1 {
			t.Errorf("%s: %v", sink, sum.FailedTables)
		}
		if strings.Count(log, "table is set aside") != 1 {
			t.Errorf("%s: it is not told at once: %s", sink, log)
		}
	}

	more := append(in, in...)
	for _, sink := range []string{`primary-key: {a: [id, name]}, partition-by: {a: []}`, `partition-by: {a: [d]}`} {
		sum, _ := logged(t, config(t, source+"sink: {warehouse: %q, table: \"l.{table}\", "+sink+"}\n", wh), more...)
		if e := sum.FailedTables["l.a"]; (e == nil) != strings.Contains(sink, "primary") || e != nil && !strings.Contains(e.Error(), "partition-by") {
			t.Errorf("%s: %v", sink, sum.FailedTables)
		}
		more = append(more, in...)
	}
}

// The source emptied a table: its rows stay, and that is told.
func TestTruncateIsTold(t *testing.T) {
	wh := t.TempDir()
	sum, log := logged(t, config(t, "name: k\nsource: {type: files, path: \"-\", format: canal-json}\nsink: {warehouse: %q}\n", wh),
		`{"database":"s","table":"a$b","type":"CREATE","isDdl":true,"sql":"create table a$b (id int)"}`, canal("s", "a", "INSERT", "id", `[{"id":"1","name":"x"}]`), `{"database":"s","table":"a","type":"TRUNCATE","isDdl":true,"data":null,"sql":"truncate table a"}`)
	want(t, wh, "s.a", `{"id":1,"f":null,"d":null,"name":"x"}`)
	if sum.Tables != 1 || len(sum.FailedTables) > 0 {
		t.Errorf("a table without rows counts: %+v", sum)
	}
	if !strings.Contains(log, "TRUNCATE") || !strings.Contains(log, "s.a") || !strings.Contains(log, "-:3") {
		t.Errorf("log: %s", log)
	}
}

// Names that differ in case only are one name, if the job says so.
func TestLowerCase(t *testing.T) {
	wh := t.TempDir()
	sum, _ := logged(t, config(t, "name: c\nsource: {type: files, path: \"-\", format: canal-json}\nsink: {warehouse: %q, case-sensitive: false, table: \"L.{table}\", partition-by: [DT], computed: {Dt: \"date_format(createtime, 'yyyyMM')\"}}\n", wh),
		`{"database":"a","table":"Orders","type":"INSERT","pkNames":["ID"],"data":[{"ID":"1","CreateTime":"2024-01-02 00:00:00"}],"mysqlType":{"ID":"int","CreateTime":"datetime"}}`,
		`{"database":"b","table":"ORDERS","type":"INSERT","pkNames":["Id"],"data":[{"Id":"2","CREATETIME":"2024-02-02 00:00:00"}],"mysqlType":{"Id":"int","CREATETIME":"datetime"}}`,
		`{"database":"b","table":"odd","type":"INSERT","pkNames":["Id"],"data":[{"Id":"2","ID":"3"}],"mysqlType":{"Id":"int","ID":"int"}}`)
	if e := sum.FailedTables["l.odd"]; len(sum.FailedTables) != 1 || e == nil || !strings.Contains(e.Error(), `"id" comes twice`) {
		t.Errorf("failed: %v", sum.FailedTables)
	}
	want(t, wh, "l.orders", `{"id":1,"createtime":"2024-01-02T00:00:00.000000000","dt":"202401"}`, `{"id":2,"createtime":"2024-02-02T00:00:00.000000000","dt":"202402"}`)
}

// The key of a table has the order that the source declares, not that of the columns.
func TestOrderOfKeys(t *testing.T) {
	wh := t.TempDir()
	logged(t, config(t, "name: o\nsource: {type: files, path: \"-\", format: canal-json}\nsink: {warehouse: %q}\n", wh),
		`{"database":"s","table":"a","type":"INSERT","pkNames":["c","a"],"data":[{"a":"1","b":"2","c":"3"}],"mysqlType":{"a":"int","b":"int","c":"int"}}`)
	if d := cmp.Diff([]string{"c", "a"}, table(t, wh, "s.a").PrimaryKeys()); d != "" {
		t.Errorf("canal: %s", d)
	}
	wh = t.TempDir()
	logged(t, config(t, "name: o\nsource: {type: files, path: \"-\", format: debezium-json}\nsink: {warehouse: %q}\n", wh),
		`{"c":3,"a":1}`+"\t"+`{"op":"c","after":{"a":1,"b":2,"c":3},"source":{"db":"s","table":"a"}}`)
	if d := cmp.Diff([]string{"c", "a"}, table(t, wh, "s.a").PrimaryKeys()); d != "" {
		t.Errorf("debezium: %s", d)
	}
}

// The type of a key column stays: shards with a wider one go on as long as their values fit.
func TestKeysKeepTheirType(t *testing.T) {
	wh := t.TempDir()
	row := func(table, typ, k string) string {
		return `{"database":"s","table":"` + table + `","type":"INSERT","pkNames":["k"],"data":[{"k":"` + k + `","v":"1"}],"mysqlType":{"k":"` + typ + `","v":"int"}}`
	}
	sum, log := logged(t, config(t, "name: k\nsource: {type: files, path: \"-\", format: canal-json}\nsink: {warehouse: %q}\non-error: skip\n", wh),
		row("a", "int", "1"), row("a", "bigint", "2"), row("a", "bigint", "3000000000"), row("a", "int", "4"),
		row("b", "varchar(3)", "abc"), row("b", "varchar(9)", "de"), row("b", "varchar(9)", "defg"))
	if len(sum.FailedTables) > 0 || sum.Skipped != 2 {
		t.Errorf("failed %v, skipped %d", sum.FailedTables, sum.Skipped)
	}
	want(t, wh, "s.a", `{"k":1,"v":1}`, `{"k":2,"v":1}`, `{"k":4,"v":1}`)
	want(t, wh, "s.b", `{"k":"abc","v":1}`, `{"k":"de","v":1}`)
	if strings.Count(log, "stays INT") != 1 || strings.Count(log, "stays VARCHAR(3)") != 1 {
		t.Errorf("log: %s", log)
	}
}
