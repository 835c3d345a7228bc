package cdc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
)

// computedRow runs one row of many types through a computed column and gives its value and type.
func computedRow(t *testing.T, expr string) (value, typ string) {
	t.Helper()
	wh := t.TempDir()
	msg := `{"database":"s","table":"a","type":"INSERT","isDdl":false,"pkNames":["id"],"data":[{"id":"17","d":"2024-03-05","ts":"2024-03-05 13:07:09.123456","ltz":"1969-12-31 23:59:59","tm":"13:07:09","secs":"1709644029","ms":"1709644029123","us":"1709644029123456","ns":"1709644029123456789","txt":"2024-03-05 13:07:09.5","num":"1709644029","neg":"-1","dec":"-12.35","f":"1.5","name":"  Ada L  ","nul":null}],"old":null,"ts":1,
"mysqlType":{"id":"int","d":"date","ts":"datetime(6)","ltz":"datetime","tm":"time","secs":"int","ms":"bigint","us":"bigint","ns":"bigint","txt":"varchar(50)","num":"varchar(50)","neg":"int","dec":"decimal(10,2)","f":"double","name":"varchar(50)","nul":"datetime"}}`
	sink, err := json.Marshal(expr)
	if err != nil {
		t.Fatal(err)
	}
	if sum := job(t, wh, "canal-json", `table: "l.a", computed: {c: `+string(sink)+`}`, "", strings.ReplaceAll(msg, "\n", "")); len(sum.FailedTables) > 0 {
		return fmt.Sprint("fails: ", sum.FailedTables["l.a"]), ""
	}
	var row map[string]json.RawMessage
	if err := json.Unmarshal([]byte(state(t, wh, "l.a")[0]), &row); err != nil {
		t.Fatal(err)
	}
	tab := table(t, wh, "l.a")
	fields, err := tab.Fields()
	if err != nil {
		t.Fatal(err)
	}
	return string(row["c"]), fields[len(fields)-1].Type.String()
}

// The functions of computed columns, with the values and types that the format's own tools give.
func TestComputedFunctions(t *testing.T) {
	for _, c := range []struct{ expr, value, typ string }{
		{"year(d)", "2024", "INT"},
		{"month(TS)", "3", "INT"},
		{"day(ts)", "5", "INT"},
		{"hour(ts)", "13", "INT"},
		{"minute(txt)", "7", "INT"},
		{"second(txt)", "9", "INT"},
		{"hour(tm)", "13", "INT"},
		{"year(ltz)", "1969", "INT"},
		{"second(ltz)", "59", "INT"},
		{"year(secs)", "2024", "INT"}, // numbers are seconds since 1970
		{"hour(ms, 3)", "13", "INT"},
		{"hour(us, 6)", "13", "INT"},
		{"hour(ns, 9)", "13", "INT"},
		{"hour(num, 0)", "13", "INT"}, // and texts, if the unit is told
		{"year(neg)", "1969", "INT"},
		{"year(nul)", "null", "INT"},
		{"date_format(d, yyyy-MM-dd)", `"2024-03-05"`, "STRING"},
		{"date_format(secs, yyyy-MM-dd, 0)", `"2024-03-05"`, "STRING"},
		{"date_format(ms, 'yyyyMMdd HH:mm:ss.SSS', 3)", `"20240305 13:07:09.123"`, "STRING"},
		{"date_format(ts, 'yyyy-MM-dd''T''HH:mm:ss.SSSSSS')", `"2024-03-05T13:07:09.123456"`, "STRING"},
		{"date_format(ts, yyyy-MM-dd'T'HH)", `"2024-03-05T13"`, "STRING"},
		{"date_format(ts, 'yy/M/d h:m:s a')", `"24/3/5 1:7:9 PM"`, "STRING"},
		{"date_format(ts, 'EEE EEEE MMM MMMM')", `"Tue Tuesday Mar March"`, "STRING"},
		{"date_format(ts, 'YYYY-ww D Q SS')", `"2024-10 65 1 12"`, "STRING"},
		{"date_format(ts, 'HH''h''mm, year yyyy')", "fails", ""}, // "ear" is no text
		{"date_format(ts, 'HH''h''mm')", `"13h07"`, "STRING"},
		{"substring(d, 0, 4)", `"2024"`, "STRING"},
		{"substring(name,2)", `"Ada L  "`, "STRING"},
		{"substring(name, 2, 99)", `"Ada L  "`, "STRING"},
		{"truncate(name, 4)", `"  Ad"`, "VARCHAR(50)"},
		{"truncate(id, 10)", "10", "INT"},
		{"truncate(ms, 1000)", "1709644029000", "BIGINT"},
		{"truncate(neg, 10)", "-10", "INT"},
		{"truncate(dec, 50)", `"-12.50"`, "DECIMAL(10, 2)"}, // of the digits: -1235 to -1250
		{"cast(11, INT)", "11", "INT"},
		{"cast('a b')", `"a b"`, "STRING"},
		{"cast('2024-01-31', DATE)", `"2024-01-31"`, "DATE"},
		{"cast(id, STRING)", `"17"`, "STRING"},
		{"cast(txt, DATE)", `"2024-03-05"`, "DATE"},
		{"upper(name)", `"  ADA L  "`, "STRING"},
		{"lower(name)", `"  ada l  "`, "STRING"},
		{"trim(name)", `"Ada L"`, "STRING"},
		{"upper(nul)", "null", "STRING"},
	} {
		if c.value == "fails" {
			if _, err := cdc.ParseConfig(fmt.Appendf(nil, "name: x\nsource: {type: demo}\nsink: {warehouse: w, computed: {c: %q}}", c.expr)); err == nil {
				t.Errorf("%s is taken", c.expr)
			}
			continue
		}
		if v, typ := computedRow(t, c.expr); v != c.value || typ != c.typ {
			t.Errorf("%s: %s of type %s, want %s of type %s", c.expr, v, typ, c.value, c.typ)
		}
	}
}

// Computed columns may be made of computed ones, whatever their names; not of themselves.
func TestComputedOfComputed(t *testing.T) {
	wh := t.TempDir()
	job(t, wh, "canal-json", `table: "l.{table}", partition-by: [a], computed: {a: "substring(b, 0, 4)", b: "date_format(c, 'yyyyMM')", c: "cast(name, DATE)"}`, "",
		canal("s", "a", "INSERT", "id", `[{"id":"1","name":"2024-03-05"}]`), canal("s", "a", "DELETE", "id", `[{"id":"1","name":"2024-03-05"}]`),
		canal("s", "a", "INSERT", "id", `[{"id":"2","name":"2023-03-05"}]`))
	want(t, wh, "l.a", `{"id":2,"f":null,"d":null,"name":"2023-03-05","c":"2023-03-05","b":"202303","a":"2023"}`)
	_, err := cdc.ParseConfig([]byte("name: x\nsource: {type: demo}\nsink:\n  warehouse: w\n  computed: {a: upper(b), b: upper(a)}"))
	if err == nil || !strings.Contains(err.Error(), "made of itself") {
		t.Errorf("a circle: %v", err)
	}
}

// A value of which no computed column can be made is a bad row, not the end of its table. A computed column comes with
// the column that it is made of, and is filled in whatever type it has in the lake.
func TestComputedOfBadAndLateValues(t *testing.T) {
	wh := t.TempDir()
	file := filepath.Join(t.TempDir(), "dead.jsonl")
	sum := job(t, wh, "debezium-json", `table: "l.{table}", primary-key: [id], computed: {y: year(at), k: "truncate(id, 1)"}`, "on-error: {dead-letter: "+file+"}",
		event("a", "c", `{"id":1}`), event("a", "c", `{"id":2,"at":"2024-03-05"}`), event("a", "c", `{"id":3,"at":"soon"}`), event("a", "c", `{"id":4,"at":null}`))
	if sum.Skipped != 1 || len(sum.FailedTables) > 0 {
		t.Fatalf("skipped %d, failed %v", sum.Skipped, sum.FailedTables)
	}
	want(t, wh, "l.a", `{"id":"1","k":"1","at":null,"y":null}`, `{"id":"2","k":"2","at":"2024-03-05","y":2024}`, `{"id":"4","k":"4","at":null,"y":null}`)
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "soon") || !strings.Contains(string(b), "computed column y") {
		t.Errorf("dead letters: %s, %v", b, err)
	}
	tab := table(t, wh, "l.a")
	if err := tab.Alter(t.Context(), tarn.UpdateType{Path: []string{"y"}, Type: mustType("STRING")}); err != nil {
		t.Fatal(err)
	}
	job(t, wh, "debezium-json", `table: "l.{table}", primary-key: [id], computed: {y: year(at)}`, "",
		event("a", "c", `{"id":1}`), event("a", "c", `{"id":2,"at":"2024-03-05"}`), event("a", "c", `{"id":3,"at":"soon"}`), event("a", "c", `{"id":4,"at":null}`), event("a", "c", `{"id":5,"at":"2025-01-01"}`))
	want(t, wh, "l.a", `{"id":"1","k":"1","at":null,"y":null}`, `{"id":"2","k":"2","at":"2024-03-05","y":"2024"}`, `{"id":"4","k":"4","at":null,"y":null}`,
		`{"id":"5","k":null,"at":"2025-01-01","y":"2025"}`)
}
