package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// Flink and Spark, with the format's own connectors, work on tables of ours and we on theirs. Both run SQL by
// scripts/services; they are heavy to get (a gigabyte of jars) and to start, so these tests run where they are asked for:
// make engines, make soak.

// enginesWanted tells whether the tests with Flink and Spark run.
func enginesWanted(t testing.TB) bool {
	t.Helper()
	if os.Getenv("TARN_ENGINES") == "" && !tarntest.Size().Product {
		t.Log("not tested here: make engines does")
		return false
	}
	return true
}

// sqlResult is what one statement gave. Values are in the form of scripts/services/java/SqlFile.java.
type sqlResult struct {
	SQL     string
	Columns []string
	Rows    []json.RawMessage
	Kinds   []string
}

// lines are the rows, sorted, with their kinds if they have any.
func (r sqlResult) lines() []string {
	out := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		out[i] = string(row)
		if r.Kinds != nil {
			out[i] = r.Kinds[i] + out[i]
		}
	}
	slices.Sort(out)
	return out
}

// runSQL runs statements by one of the engines and gives the results of those that have any.
func runSQL(t testing.TB, engine, warehouse string, flags []string, statements ...string) []sqlResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	script := filepath.Join(tarntest.Root(t), "scripts", "services", engine+"-paimon-sql")
	cmd := exec.CommandContext(ctx, script, append(append([]string{"--json"}, flags...), warehouse, "-")...)
	cmd.Stdin = strings.NewReader(strings.Join(statements, ";\n") + ";\n")
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", engine, err, out.String(), complaints.String())
	}
	var results []sqlResult
	d := json.NewDecoder(&out)
	for d.More() {
		var r sqlResult
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	return results
}

// queried are the rows of the query that begins so, or the test ends.
func queried(t testing.TB, results []sqlResult, query string) []string {
	t.Helper()
	i := slices.IndexFunc(results, func(r sqlResult) bool { return strings.TrimSpace(r.SQL) == query })
	if i < 0 {
		t.Fatalf("no result of %s", query)
	}
	return results[i].lines()
}

// ourRows are the rows of a table as the engines show them.
func ourRows(t testing.TB, tab *tarn.Table) []string {
	t.Helper()
	fields, err := tab.Fields()
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	e := jsonrow.NewEncoder(fields)
	for b, err := range tab.Scan(tarn.ScanOptions{WideTimestamps: true}).Batches(t.Context()) {
		if err != nil {
			t.Fatalf("%s: %v", tab.Name(), err)
		}
		for i := range int(b.NumRows()) {
			out = append(out, engineRow(t, fields, e.Append(nil, b.RecordBatch, i)))
		}
	}
	slices.Sort(out)
	return out
}

// engineRow writes a row of ours as the engines print it: a list of values.
func engineRow(t testing.TB, fields []types.Field, row []byte) string {
	t.Helper()
	return engineText(t, types.Type{Kind: types.Row, Fields: fields}, row)
}

func engineText(t testing.TB, typ types.Type, v json.RawMessage) string {
	t.Helper()
	text := string(v)
	if text == "null" {
		return text
	}
	must := func(into any) {
		if err := json.Unmarshal(v, into); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
	}
	list := func(parts []string) string { return "[" + strings.Join(parts, ",") + "]" }
	switch typ.Kind {
	case types.Row:
		var m map[string]json.RawMessage
		must(&m)
		var parts []string
		for _, f := range typ.Fields {
			parts = append(parts, engineText(t, f.Type, m[f.Name]))
		}
		return list(parts)
	case types.Array:
		var l []json.RawMessage
		must(&l)
		var parts []string
		for _, x := range l {
			parts = append(parts, engineText(t, *typ.Elem, x))
		}
		return list(parts)
	case types.Map:
		var l [][2]json.RawMessage
		must(&l)
		var parts []string
		for _, x := range l {
			parts = append(parts, `"`+strings.Trim(engineText(t, *typ.Key, x[0]), `"`)+`":`+engineText(t, *typ.Elem, x[1]))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case types.Binary, types.Varbinary:
		return `"0x` + strings.Trim(text, `"`) + `"`
	case types.Time, types.Timestamp, types.TimestampLTZ:
		text = strings.Replace(strings.Trim(text, `"`), "T", " ", 1)
		text, utc := strings.CutSuffix(text, "Z")
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		if utc {
			text += "Z"
		}
		return `"` + text + `"`
	}
	return text
}

// allTypes are columns of every type that an engine knows, after a key.
func allTypes(engine string) []types.Field {
	list := []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(20,4)", "DECIMAL(9,0)", "CHAR(3)", "VARCHAR(10)", "STRING", "BINARY(3)",
		"VARBINARY(8)", "BYTES", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(6)", "ARRAY<INT>", "MAP<STRING,INT>", "ROW<x INT,y STRING>",
		"ARRAY<ROW<q DECIMAL(5,2),l ARRAY<STRING>>>",
	}
	switch engine {
	case "flink":
		list = append(list, "TIME(0)", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(9)", "MAP<INT,ROW<z DATE>>")
	case "spark": // it has one type of bytes; 0.9 cannot read decimals in rows of arrays, of its own either
		list = slices.DeleteFunc(list, func(s string) bool { return strings.Contains(s, "BINARY(") || strings.HasPrefix(s, "ARRAY<ROW<") })
		list = append(list, "ARRAY<ROW<q BIGINT,l STRING>>")
	}
	out := []types.Field{{Name: "k", Type: types.MustParse("INT NOT NULL")}}
	for i, s := range list {
		out = append(out, types.Field{Name: fmt.Sprintf("c%d", i), Type: types.MustParse(s)})
	}
	return out
}

// sample gives a value of a type as JSON; n chooses which.
func sample(typ types.Type, n int) string {
	if n%5 == 4 {
		return "null"
	}
	pick := func(values ...string) string { return values[n%len(values)] }
	switch typ.Kind {
	case types.Boolean:
		return pick("true", "false")
	case types.TinyInt:
		return pick("0", "127", "-128")
	case types.SmallInt:
		return pick("1", "32767", "-32768")
	case types.Int:
		return pick("-1", "2147483647", "-2147483648")
	case types.BigInt:
		return pick("7", "9223372036854775807", "-9223372036854775808")
	case types.Float:
		return pick("1.5", "-0.25", "1.0E10")
	case types.Double:
		return pick("0.1", "-1.0E-7", "1.7976931348623157E308")
	case types.Decimal:
		if typ.Scale == 0 {
			return pick(`"0"`, `"999999999"`, `"-5"`)
		}
		return pick(`"`+fmt.Sprintf("%.*f", typ.Scale, 12.5)+`"`, `"-`+fmt.Sprintf("%.*f", typ.Scale, 0.25)+`"`)
	case types.Char:
		return pick(`"abc"`, `"xyz"`)
	case types.Varchar:
		return pick(`""`, `"é ü"`, `"a\"b\\c"`)
	case types.Binary:
		return pick(`"0001ff"`, `"616263"`)
	case types.Varbinary:
		return pick(`""`, `"00ff"`)
	case types.Date:
		return pick(`"2024-02-29"`, `"1969-12-31"`, `"0001-01-01"`)
	case types.Time:
		if typ.Precision == 0 {
			return pick(`"00:00:00.000"`, `"23:59:59.000"`)
		}
		return pick(`"00:00:00.001"`, `"12:34:56.780"`)
	case types.Timestamp, types.TimestampLTZ:
		fraction := ("123456789"[:typ.Precision] + "000000000")[:9]
		z := ""
		if typ.Kind == types.TimestampLTZ {
			z = "Z"
		}
		return pick(`"2024-02-29T12:34:56.`+fraction+z+`"`, `"1969-12-31T23:59:59.000000000`+z+`"`)
	case types.Array:
		return "[" + sample(*typ.Elem, n) + "," + sample(*typ.Elem, n+1) + "]"
	case types.Map:
		return "[[" + sample(*typ.Key, 1) + "," + sample(*typ.Elem, n) + "]]"
	case types.Row:
		var parts []string
		for i, f := range typ.Fields {
			parts = append(parts, `"`+f.Name+`":`+sample(f.Type, n+i))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	panic(typ.String())
}

// sampleRows are rows of all types with keys from one number to another.
func sampleRows(fields []types.Field, from, to int) []row {
	var out []row
	for k := from; k < to; k++ {
		parts := []string{fmt.Sprintf(`"k":%d`, k)}
		for i, f := range fields[1:] {
			parts = append(parts, `"`+f.Name+`":`+sample(f.Type, k+i))
		}
		out = append(out, row{object: "{" + strings.Join(parts, ",") + "}"})
	}
	return out
}

// engineLake is a warehouse that tarn and an engine share.
type engineLake struct {
	t         testing.TB
	engine    string
	warehouse string
	cat       *tarn.Catalog
	options   map[string]string // of all tables
}

func newEngineLake(t testing.TB, engine string, options map[string]string) *engineLake {
	t.Helper()
	l := &engineLake{t: t, engine: engine, warehouse: t.TempDir(), options: options}
	var err error
	if l.cat, err = tarn.Open(t.Context(), l.warehouse, nil); err == nil {
		err = l.cat.CreateDatabase(t.Context(), "d", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *engineLake) create(name string, fields []types.Field, key, partition []string, options map[string]string) {
	l.t.Helper()
	o := map[string]string{}
	for _, m := range []map[string]string{l.options, options} {
		for k, v := range m {
			o[k] = v
		}
	}
	if _, err := l.cat.CreateTable(l.t.Context(), "d."+name, tarn.TableDef{Fields: fields, PrimaryKeys: key, PartitionKeys: partition, Options: o}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *engineLake) table(name string) *tarn.Table {
	l.t.Helper()
	tab, err := l.cat.Table(l.t.Context(), "d."+name)
	if err != nil {
		l.t.Fatal(err)
	}
	return tab
}

func (l *engineLake) write(name string, rows ...row) {
	l.t.Helper()
	tab := l.table(name)
	fields, err := tab.Fields()
	if err != nil {
		l.t.Fatal(err)
	}
	w, err := tab.NewWriter(l.t.Context(), &tarn.WriterOptions{WaitCompaction: true})
	if err != nil {
		l.t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(l.t.Context(), batchOf(l.t, fields, rows)); err != nil {
		l.t.Fatal(err)
	}
	if _, err := w.Commit(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

func (l *engineLake) alter(name string, changes ...tarn.SchemaChange) {
	l.t.Helper()
	if err := l.table(name).Alter(l.t.Context(), changes...); err != nil {
		l.t.Fatal(err)
	}
}

// agree compares what the engine's query gave with the rows of a table.
func (l *engineLake) agree(what string, results []sqlResult, query, name string) {
	l.t.Helper()
	ours, theirs := ourRows(l.t, l.table(name)), queried(l.t, results, query)
	if d := cmp.Diff(theirs, ours); d != "" {
		l.t.Errorf("%s: %s has (-), tarn (+)\n%s", what, l.engine, d)
	}
	if len(ours) == 0 {
		l.t.Errorf("%s: no rows", what)
	}
}
