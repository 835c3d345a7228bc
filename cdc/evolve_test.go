package cdc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// typed is an insert of Canal into a table of columns id and v.
func typed(table string, id int, typ, v string) string {
	return fmt.Sprintf(`{"database":"s","table":%q,"type":"INSERT","isDdl":false,"pkNames":["id"],"data":[{"id":"%d","v":%s}],"mysqlType":{"id":"int","v":%q},"old":null,"ts":1}`, table, id, v, typ)
}

// permutations gives all orders of 0 … n-1.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}

// The types of a column change, in the shards of a table at different times: in whatever order they come, the column gets
// the type that holds all values, and keeps these.
func TestTypesMeetInAnyOrder(t *testing.T) {
	cases := []struct {
		types, values []string
		want          string
		rows          []string
	}{
		{[]string{"tinyint(4)", "int", "bigint"}, []string{`"-128"`, `"2147483647"`, `"9223372036854775807"`}, "BIGINT", []string{"-128", "2147483647", "9223372036854775807"}},
		{[]string{"int", "decimal(8,2)", "bigint unsigned"}, []string{`"-2147483648"`, `"999999.99"`, `"18446744073709551615"`}, "DECIMAL(22, 2)", []string{`"-2147483648.00"`, `"999999.99"`, `"18446744073709551615.00"`}},
		{[]string{"tinyint(1)", "smallint", "bigint"}, []string{`"1"`, `"-7"`, `"9223372036854775807"`}, "BIGINT", []string{"1", "-7", "9223372036854775807"}},
		{[]string{"smallint", "int", "double"}, []string{`"-7"`, `"2147483647"`, `"0.1"`}, "DOUBLE", []string{"-7.0", "2.147483647E9", "0.1"}},
		{[]string{"smallint", "float", "int"}, []string{`"-7"`, `"0.5"`, `"2147483647"`}, "DOUBLE", []string{"-7.0", "0.5", "2.147483647E9"}},
		{[]string{"varchar(3)", "char(5)", "text"}, []string{`"abc"`, `"abcde"`, `"long text"`}, "STRING", []string{`"abc"`, `"abcde"`, `"long text"`}},
		{[]string{"binary(1)", "varbinary(3)", "blob"}, []string{`"a"`, `"abc"`, `"abcd"`}, "BYTES", []string{`"61"`, `"616263"`, `"61626364"`}},
		{[]string{"date", "datetime(3)", "datetime(6)"}, []string{`"2024-01-31"`, `"2024-01-31 12:30:00.123"`, `"2024-01-31 12:30:00.123456"`}, "TIMESTAMP(6)", []string{`"2024-01-31T00:00:00.000000000"`, `"2024-01-31T12:30:00.123000000"`, `"2024-01-31T12:30:00.123456000"`}},
	}
	wh := t.TempDir()
	var lines []string
	for c := range cases {
		for i, p := range permutations(len(cases[c].types)) {
			for _, k := range p { // as shards of one table, each twice
				lines = append(lines, typed(fmt.Sprintf("t%d_%d", c, i), k, cases[c].types[k], cases[c].values[k]))
			}
			for _, k := range p {
				lines = append(lines, typed(fmt.Sprintf("t%d_%d", c, i), k+10, cases[c].types[k], cases[c].values[k]))
			}
		}
	}
	if sum := job(t, wh, "canal-json", `table: "l.{table}", options: {bucket: 1}`, "", lines...); len(sum.FailedTables) > 0 {
		t.Fatal(sum.FailedTables)
	}
	for c := range cases {
		var rows []string
		for k, v := range cases[c].rows {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"v":%s}`, k, v), fmt.Sprintf(`{"id":%d,"v":%s}`, k+10, v))
		}
		slices.Sort(rows)
		for i, p := range permutations(len(cases[c].types)) {
			name := fmt.Sprintf("l.t%d_%d", c, i)
			if got := columnsOf(t, wh, name)[1]; got != "v "+cases[c].want {
				t.Errorf("%v in the order %v: %s", cases[c].types, p, got)
			}
			want(t, wh, name, rows...)
		}
	}
}

// Types that do not meet: rows of the new one are bad rows, those of the old one go on.
func TestTypesThatDoNotMeet(t *testing.T) {
	cases := []struct {
		was, is string // what a column was and became, with a value each
		ignored int    // rows if changes are ignored: values that fit are taken
	}{
		{`int 1`, `varchar(9) "x"`, 2},
		{`int 1`, `varchar(9) "7"`, 3},
		{`int 1`, `datetime "2024-01-31 12:30:00"`, 2},
		{`bigint 1`, `double "0.5"`, 2},
		{`decimal(38,0) 1`, `decimal(10,2) "0.5"`, 2},
		{`decimal(38,0) 1`, `decimal(10,2) "5.00"`, 3},
		{`decimal(10,2) 1`, `double "0.5"`, 3},
		{`decimal(10,2) 1`, `double "0.125"`, 2},
		{`double 1`, `decimal(10,2) "0.5"`, 3},
		{`date "2024-01-31"`, `time "12:30:00"`, 2},
		{`varchar(9) "x"`, `int 1`, 3},
		{`varchar(9) "x"`, `blob "y"`, 3},
		{`blob "x"`, `text "y"`, 3},
		{`set('a') "1"`, `json "{}"`, 2},
		{`int 1`, `json "{}"`, 2},
	}
	for _, mode := range []string{"fail", "skip", "ignore"} {
		wh := t.TempDir()
		more := "on-error: " + mode
		if mode == "ignore" {
			more = "on-error: skip\nschema-changes: ignore"
		}
		var lines []string
		for i, c := range cases {
			was, v, _ := strings.Cut(c.was, " ")
			is, w, _ := strings.Cut(c.is, " ")
			name := fmt.Sprint("t", i)
			lines = append(lines, typed(name, 1, was, v), typed(name, 2, is, w), typed(name, 3, was, v))
		}
		sum := job(t, wh, "canal-json", `table: "l.{table}", options: {bucket: 1}`, more, lines...)
		for i, c := range cases {
			name := fmt.Sprint("l.t", i)
			failed := sum.FailedTables[name]
			rows := map[string]int{"skip": 2, "ignore": c.ignored}[mode]
			switch {
			case mode != "fail" && (failed != nil || len(state(t, wh, name)) != rows):
				t.Errorf("%s, %v: %v, %v", mode, c, failed, state(t, wh, name))
			case mode == "fail" && (failed == nil || !strings.Contains(failed.Error(), "column v") || !strings.Contains(failed.Error(), fmt.Sprintf("-:%d", 3*i+2))):
				t.Errorf("%v: %v", c, failed)
			}
		}
	}

	// A whole number that is no DOUBLE.
	wh := t.TempDir()
	sum := job(t, wh, "canal-json", `options: {bucket: 1}`, "on-error: skip", typed("a", 1, "double", "0.5"), typed("a", 2, "bigint", "9007199254740993"), typed("a", 3, "bigint", "9007199254740992"))
	if want(t, wh, "s.a", `{"id":1,"v":0.5}`, `{"id":3,"v":9.007199254740992E15}`); sum.Skipped != 1 {
		t.Errorf("skipped %d", sum.Skipped)
	}
}

// What stays narrower than the source, since it is in the key or the job ignores changes, takes what it holds as it is.
func TestNarrowColumnsLoseNothing(t *testing.T) {
	in := []string{
		`{"database":"s","table":"a","type":"INSERT","pkNames":["k"],"data":[{"k":"1.25","d":"2024-01-31","b":"1","f":"0.5"}],"mysqlType":{"k":"decimal(5,2)","d":"date","b":"tinyint(1)","f":"float"}}`,
	}
	for _, row := range []string{`"k":"2.250","d":"2024-01-31 00:00:00","b":"0","f":"0.25"`, `"k":"3.251","d":null,"b":null,"f":null`, `"k":"4","d":"2024-01-31 00:00:01","b":null,"f":null`, `"k":"5","d":null,"b":"2","f":null`, `"k":"6","d":null,"b":null,"f":"0.1"`} {
		in = append(in, `{"database":"s","table":"a","type":"INSERT","pkNames":["k"],"data":[{`+row+`}],"mysqlType":{"k":"decimal(6,3)","d":"datetime","b":"tinyint(4)","f":"double"}}`)
	}
	wh := t.TempDir()
	sum := job(t, wh, "canal-json", "", "on-error: skip\nschema-changes: ignore", in...)
	if len(sum.FailedTables) > 0 || sum.Skipped != 4 {
		t.Errorf("failed %v, skipped %d", sum.FailedTables, sum.Skipped)
	}
	want(t, wh, "s.a", `{"k":"1.25","d":"2024-01-31","b":true,"f":0.5}`, `{"k":"2.25","d":"2024-01-31","b":false,"f":0.25}`)
}

// Columns come and go, in another order, with another case, under another name; the key changes.
func TestColumnsComeAndGo(t *testing.T) {
	row := func(pk, types, data string) string {
		return `{"database":"s","table":"a","type":"INSERT","pkNames":[` + pk + `],"data":[{` + data + `}],"mysqlType":{` + types + `}}`
	}
	wh := t.TempDir()
	in := []string{
		row(`"id"`, `"id":"int","a":"int","b":"int"`, `"id":"1","a":"10","b":"20"`),
		row(`"id"`, `"b":"int","id":"int","new":"varchar(5) NOT NULL DEFAULT 'x'","a":"int"`, `"b":"21","id":"2","new":"n","a":"11"`),
		row(`"id"`, `"id":"int","b2":"int","new":"varchar(5)"`, `"id":"3","b2":"22","new":null`), // a dropped, b renamed, new nullable
		row(`"id"`, `"id":"int","A":"int"`, `"id":"4","A":"12"`),
		row(`"id"`, `"id":"int","a":"int"`, `"id":"5","a":"13"`), // a is there again
	}
	job(t, wh, "canal-json", "", "", in...)
	if d := cmp.Diff([]string{"id INT NOT NULL", "a INT", "b INT", "new VARCHAR(5)", "b2 INT", "A INT"}, columnsOf(t, wh, "s.a")); d != "" {
		t.Error(d)
	}
	rows := []string{
		`{"id":1,"a":10,"b":20,"new":null,"b2":null,"A":null}`, `{"id":2,"a":11,"b":21,"new":"n","b2":null,"A":null}`, `{"id":3,"a":null,"b":null,"new":null,"b2":22,"A":null}`,
		`{"id":4,"a":null,"b":null,"new":null,"b2":null,"A":12}`, `{"id":5,"a":13,"b":null,"new":null,"b2":null,"A":null}`,
	}
	want(t, wh, "s.a", rows...)

	// Rows that the key of the table does not tell apart must not become one.
	in = append(in, row(`"id","a"`, `"id":"int","a":"int"`, `"id":"5","a":"14"`))
	sum := job(t, wh, "canal-json", "", "", in...)
	if e := sum.FailedTables["s.a"]; e == nil || !strings.Contains(e.Error(), "primary-key") || !strings.Contains(e.Error(), "id, a") {
		t.Errorf("the key changed: %v", sum.FailedTables)
	}
	want(t, wh, "s.a", rows...)
	if sum := job(t, wh, "canal-json", `primary-key: [id]`, "", in...); len(sum.FailedTables) > 0 {
		t.Errorf("the key is named: %v", sum.FailedTables)
	}
}
