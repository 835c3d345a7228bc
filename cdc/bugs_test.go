package cdc_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

// Faults that other implementations of ingestion had, as cases with the result that is right. The
// numbers B… are those of the project's list of such faults.

// job runs a job over lines of standard input. More are further keys of the job.
func job(t *testing.T, wh, format, sink, more string, lines ...string) *cdc.Summary {
	t.Helper()
	c := config(t, "name: bugs\nsource: {type: files, path: \"-\", format: %s}\nsink: {warehouse: %q, %s}\n%s\n", format, wh, sink, more)
	sum, err := cdc.Run(t.Context(), c, cdc.RunOptions{Stdin: bytes.NewReader([]byte(strings.Join(lines, "\n") + "\n")), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// table opens a table of a lake.
func table(t *testing.T, wh, name string) *tarn.Table {
	t.Helper()
	cat, err := tarn.Open(t.Context(), wh, nil)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := cat.Table(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// state reads a table: rows as JSON, in order.
func state(t *testing.T, wh, name string) []string {
	t.Helper()
	tab := table(t, wh, name)
	out := []string{}
	for b, err := range tab.Scan(tarn.ScanOptions{}).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		f, err := tab.Fields()
		if err != nil {
			t.Fatal(err)
		}
		e := jsonrow.NewEncoder(f)
		for i := range int(b.NumRows()) {
			out = append(out, string(e.Append(nil, b.RecordBatch, i)))
		}
	}
	slices.Sort(out)
	return out
}

func want(t *testing.T, wh, table string, rows ...string) {
	t.Helper()
	if d := cmp.Diff(append([]string{}, rows...), state(t, wh, table)); d != "" {
		t.Errorf("%s (-want +got):\n%s", table, d)
	}
}

func canal(db, table, typ, pk string, rows string) string {
	return fmt.Sprintf(`{"database":%q,"table":%q,"type":%q,"isDdl":%t,"pkNames":[%q],"data":%s,"mysqlType":{"id":"bigint","f":"float","d":"double","name":"varchar(20)"},"old":null,"ts":1}`, db, table, typ, typ == "ALTER", pk, rows)
}

// Without a schema part all columns of Debezium's events are text.

// B014, B015, B107: tombstones, DDL and events of several tables in one stream; the first ones say nothing
// of any table.
func TestFirstEventsSayNothing(t *testing.T) {
	wh := t.TempDir()
	job(t, wh, "debezium-json", `table: "l.{table}", primary-key: [id]`, "",
		"null", "", event("a", "c", `{"id":1}`), event("b", "c", `{"id":1,"x":"y"}`), "null", event("a", "d", `{"id":1}`), "null", event("c", "r", `{"id":3}`), event("a", "c", `{"id":2}`))
	want(t, wh, "l.a", `{"id":"2"}`)
	want(t, wh, "l.b", `{"id":"1","x":"y"}`)
	want(t, wh, "l.c", `{"id":"3"}`)

	wh = t.TempDir()
	job(t, wh, "canal-json", `table: "l.{table}"`, "",
		canal("s", "a", "ALTER", "id", "null"), canal("s", "a", "INSERT", "id", `[{"id":"1","name":"x"}]`),
		`{"database":"s","table":"a","type":"ALTER","isDdl":true,"data":null,"mysqlType":null,"sql":"ALTER TABLE a ADD z INT"}`,
		canal("s", "a", "INSERT", "id", `[{"id":"2","name":null}]`))
	want(t, wh, "l.a", `{"id":1,"f":null,"d":null,"name":"x"}`, `{"id":2,"f":null,"d":null,"name":null}`)

	wh = t.TempDir()
	if sum := job(t, wh, "debezium-json", `table: "l.{table}", primary-key: [id]`, "", ""); sum.Rows != 0 || len(sum.FailedTables) > 0 {
		t.Errorf("an empty stream: %+v", sum)
	}
}

// B110: names with characters of patterns, a prefix, a table that comes later, and one that is bad.
func TestNamesOfTables(t *testing.T) {
	wh := t.TempDir()
	sum := job(t, wh, "debezium-json", `table: "l.ods_{table}", primary-key: [id]`, "",
		event("t1", "c", `{"id":1}`), event("t$1", "c", `{"id":2}`), event("big", "c", `{"id":3}`))
	if e := sum.FailedTables["l.ods_t$1"]; len(sum.FailedTables) != 1 || e == nil {
		t.Errorf("failed tables %v: a name with $ cannot be one of the lake", sum.FailedTables)
	}
	want(t, wh, "l.ods_t1", `{"id":"1"}`)
	want(t, wh, "l.ods_big", `{"id":"3"}`)

	wh = t.TempDir()
	c := config(t, `
name: names
source: {type: files, path: "-", format: debezium-json, tables: ['t.*'], exclude: ['t\$1']}
sink: {warehouse: %q, table: "l.ods_{table}", primary-key: [id]}
`, wh)
	in := event("t1", "c", `{"id":1}`) + event("t$1", "c", `{"id":2}`) + event("big", "c", `{"id":3}`) + event("t9", "c", `{"id":9}`) +
		event("tbad", "c", `{"id":1}`) + event("tbad", "c", `{"id":{"x":1}}`) + event("t1", "u", `{"id":1,"v":5}`)
	s, err := cdc.Run(t.Context(), c, cdc.RunOptions{Stdin: strings.NewReader(in), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.FailedTables) > 0 {
		t.Errorf("failed tables %v", s.FailedTables)
	}
	want(t, wh, "l.ods_t1", `{"id":"1","v":"5"}`)
	want(t, wh, "l.ods_t9", `{"id":"9"}`)
	cat, err := tarn.Open(t.Context(), wh, nil)
	if err != nil {
		t.Fatal(err)
	}
	names, err := cat.Tables(t.Context(), "l")
	if err != nil || slices.Contains(names, "ods_t$1") || slices.Contains(names, "ods_big") {
		t.Errorf("tables %v, %v", names, err)
	}
}

// B111: computed columns find theirs whatever the case, an empty partition value is the default one, and a
// table without a key stays one.
func TestComputedPartitions(t *testing.T) {
	wh := t.TempDir()
	job(t, wh, "canal-json", `table: "l.{table}", partition-by: [dt], computed: {dt: "date_format(createtime, 'yyyy-MM-dd')"}`, "",
		`{"database":"s","table":"a","type":"INSERT","isDdl":false,"pkNames":null,"data":[{"id":"1","CreateTime":"2024-02-29 10:00:00"},{"id":"2","CreateTime":null}],"mysqlType":{"id":"int","CreateTime":"datetime"},"ts":1}`)
	want(t, wh, "l.a", `{"id":1,"CreateTime":"2024-02-29T10:00:00.000000000","dt":"2024-02-29"}`, `{"id":2,"CreateTime":null,"dt":null}`)
	for _, dir := range []string{"dt=2024-02-29", "dt=__DEFAULT_PARTITION__"} {
		if _, err := os.Stat(filepath.Join(wh, "l.db", "a", dir)); err != nil {
			t.Error(err)
		}
	}
	cat, err := tarn.Open(t.Context(), wh, nil)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := cat.Table(t.Context(), "l.a")
	if err != nil || tab.HasPrimaryKey() || !slices.Equal(tab.PartitionKeys(), []string{"dt"}) {
		t.Errorf("key %v, partitions %v, %v", tab.PrimaryKeys(), tab.PartitionKeys(), err)
	}
	wh = t.TempDir()
	job(t, wh, "debezium-json", `table: "l.{table}", partition-by: [p]`, "", event("a", "c", `{"id":1,"p":""}`), event("a", "c", `{"id":2,"p":"x"}`))
	want(t, wh, "l.a", `{"id":"1","p":""}`, `{"id":"2","p":"x"}`)
}

// B109: a job that is started with other options changes those of its tables that can be changed, and says
// which cannot.
func TestOptionsOfTablesThatAreThere(t *testing.T) {
	wh := t.TempDir()
	lines := []string{event("a", "c", `{"id":1,"ts":1,"d":2}`)}
	job(t, wh, "debezium-json", `table: "l.{table}", primary-key: [id], options: {bucket: 1, sequence.field: ts, merge-engine: deduplicate}`, "", lines...)
	var log bytes.Buffer
	c := config(t, `
name: bugs
source: {type: files, path: "-", format: debezium-json}
sink: {warehouse: %q, table: "l.{table}", primary-key: [id], options: {bucket: 4, sequence.field: ts, merge-engine: first-row, snapshot.expire.limit: 1000}}
`, wh)
	lines = append(lines, event("a", "c", `{"id":2,"ts":1,"d":2}`))
	sum, err := cdc.Run(t.Context(), c, cdc.RunOptions{Stdin: strings.NewReader(strings.Join(lines, "\n")), NoSync: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil || len(sum.FailedTables) > 0 {
		t.Fatal(err, sum)
	}
	cat, err := tarn.Open(t.Context(), wh, nil)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := cat.Table(t.Context(), "l.a")
	if err != nil {
		t.Fatal(err)
	}
	o := tab.Options()
	if o["bucket"] != "1" || o["snapshot.expire.limit"] != "1000" || o["merge-engine"] != "deduplicate" {
		t.Errorf("options %v", o)
	}
	for _, k := range []string{"option bucket", "option merge-engine"} {
		if !strings.Contains(log.String(), k) {
			t.Errorf("nothing says that %s was not set: %s", k, log.String())
		}
	}
	want(t, wh, "l.a", `{"id":"1","ts":"1","d":"2"}`, `{"id":"2","ts":"1","d":"2"}`)
}

// B121: floats come as text, to the nearest number; one that is too large goes to the dead letters and
// does not hold the others up.
func TestFloatsFromText(t *testing.T) {
	wh, dead := t.TempDir(), filepath.Join(t.TempDir(), "dead.jsonl")
	sum := job(t, wh, "canal-json", `table: "l.{table}"`, "on-error: {dead-letter: "+dead+"}",
		canal("s", "a", "INSERT", "id", `[{"id":"1","f":"0.00042","d":"1"},{"id":"2","f":"6.1042607E-4","d":"2"},{"id":"3","f":"123.456","d":"3"}]`),
		canal("s", "a", "INSERT", "id", `[{"id":"4","f":"1e400","d":"4"}]`), canal("s", "a", "INSERT", "id", `[{"id":"5","f":"-0.0","d":"1e-400"}]`))
	want(t, wh, "l.a", `{"id":1,"f":4.2E-4,"d":1.0,"name":null}`, `{"id":2,"f":6.1042607E-4,"d":2.0,"name":null}`, `{"id":3,"f":123.456,"d":3.0,"name":null}`, `{"id":5,"f":-0.0,"d":0.0,"name":null}`)
	if b, err := os.ReadFile(dead); err != nil || !strings.Contains(string(b), "1e400") || sum.Skipped != 1 {
		t.Errorf("dead letters %s, %v, skipped %d", b, err, sum.Skipped)
	}
}

// B122: an instant stays one, a time of day stays as it stands, wherever the job runs.
func TestTimesOfAnyZone(t *testing.T) {
	line := `{"schema":{"type":"struct","fields":[{"field":"after","type":"struct","fields":[` +
		`{"field":"id","type":"int32","optional":false},{"field":"ts","type":"string","optional":true,"name":"io.debezium.time.ZonedTimestamp"},` +
		`{"field":"dt","type":"int64","optional":true,"name":"io.debezium.time.Timestamp"}]}]},` +
		`"payload":{"before":null,"after":{"id":1,"ts":"2024-01-01T12:00:00+08:00","dt":1704110400000},"op":"c","source":{"db":"s","table":"a"}}}`
	defer func(l *time.Location) { time.Local = l }(time.Local)
	for _, zone := range []string{"UTC", "America/New_York", "Asia/Shanghai"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		time.Local = loc
		wh := t.TempDir()
		cat, err := tarn.Open(t.Context(), wh, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := cat.CreateDatabase(t.Context(), "l", nil); err != nil {
			t.Fatal(err)
		}
		f := []types.Field{{Name: "id", Type: types.MustParse("INT NOT NULL")}, {Name: "ts", Type: types.MustParse("TIMESTAMP_LTZ(3)")}, {Name: "dt", Type: types.MustParse("TIMESTAMP(3)")}}
		if _, err := cat.CreateTable(t.Context(), "l.a", tarn.TableDef{Fields: f, PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"}}); err != nil {
			t.Fatal(err)
		}
		if sum := job(t, wh, "debezium-json", `table: "l.{table}", primary-key: [id]`, "", line); len(sum.FailedTables) > 0 {
			t.Fatal(sum.FailedTables)
		}
		want(t, wh, "l.a", `{"id":1,"ts":"2024-01-01T04:00:00.000000000Z","dt":"2024-01-01T12:00:00.000000000"}`)
		wh = t.TempDir()
		job(t, wh, "debezium-json", `table: "l.{table}", primary-key: [id]`, "", line)
		want(t, wh, "l.a", `{"id":1,"ts":"2024-01-01T04:00:00.000000000","dt":"2024-01-01T12:00:00.000000000"}`)
	}
}
