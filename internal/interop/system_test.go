package interop

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// systemTables are those that both sides have, and what their rows are ordered by: nothing where the
// reference has no order.
var systemTables = []struct {
	name    string
	ordered bool
}{
	{"snapshots", true},
	{"schemas", false},
	{"options", false},
	{"files", false},
	{"manifests", true},
	{"partitions", true},
	{"buckets", true},
	{"tags", true},
	{"consumers", false},
	{"branches", false},
	// Views of the table's rows, the last ones.
	{"ro", false},
	{"audit_log", false},
	{"binlog", false},
}

// condition is a filter that both sides take.
type condition struct {
	text string
	java any
}

func compareTo(op, field string, value any) condition {
	return condition{fmt.Sprintf("%s %s %v", field, op, value), tarntest.Command{"op": op, "field": field, "value": value}}
}

func both(op string, a, b condition) condition {
	return condition{a.text + " " + op + " " + b.text, tarntest.Command{"op": op, "args": []any{a.java, b.java}}}
}

var nanoseconds = regexp.MustCompile(`(T\d\d:\d\d:\d\d\.\d{3})\d{6}"`)

// systemRows reads a system table by one of the sides, with options if they are not nil.
func (l lake) systemRows(t testing.TB, by side, name string, c condition, options map[string]string) []string {
	t.Helper()
	x, err := l.cat.Table(t.Context(), name)
	if err == nil && options != nil {
		x, err = x.With(t.Context(), options)
	}
	if err != nil {
		t.Fatal(err)
	}
	fields, err := x.Fields()
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	if by == java {
		cmd := tarntest.Command{"op": "read", "table": name}
		if options != nil {
			cmd["options"] = options
		}
		if c.text != "" {
			cmd["filter"] = c.java
		}
		d := jsonrow.NewDecoder(fields)
		rows := l.Do(t, cmd)[0].Rows
		for _, line := range rows {
			var r struct{ Row json.RawMessage }
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			// The reference fills TIMESTAMP(3) with nanoseconds.
			if err := d.Decode(nanoseconds.ReplaceAll(r.Row, []byte(`${1}000000"`))); err != nil {
				t.Fatal(err)
			}
		}
		b, e := d.Batch(), jsonrow.NewEncoder(fields)
		for i := range rows {
			out = append(out, sortedOptions(t, string(e.Append(nil, b.RecordBatch, i))))
		}
		return out
	}
	var o tarn.ScanOptions
	if c.text != "" {
		if o.Filter, err = predicate.Parse(c.text, fields); err != nil {
			t.Fatal(err)
		}
	}
	e := jsonrow.NewEncoder(fields)
	for b, err := range x.Scan(o).Batches(t.Context()) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range int(b.NumRows()) {
			out = append(out, string(e.Append(nil, b.RecordBatch, i)))
		}
	}
	return out
}

// sortedOptions gives the options in a row of $schemas an order, which they do not have in the reference.
func sortedOptions(t testing.TB, row string) string {
	t.Helper()
	var x struct{ Options *string }
	if err := json.Unmarshal([]byte(row), &x); err != nil {
		t.Fatal(err)
	}
	if x.Options == nil {
		return row
	}
	var m map[string]string
	if err := json.Unmarshal([]byte(*x.Options), &m); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(row, string(types.AppendJSONString(nil, *x.Options)), string(types.AppendJSONString(nil, string(sorted))), 1)
}

// sqlRows runs a query by `tarn sql`, nil where there is no SQL.
var sqlRows func(t testing.TB, warehouse, query string) []string

// sameSystem compares the system tables of a table as both sides see them, with those that show its rows if wanted.
func (tab table) sameSystem(t testing.TB, what string, rows bool) {
	t.Helper()
	tables := systemTables
	if !rows {
		tables = tables[:len(tables)-3]
	}
	for _, s := range tables {
		name := tab.name + "$" + s.name
		j, h := tab.systemRows(t, java, name, condition{}, nil), tab.systemRows(t, here, name, condition{}, nil)
		if sqlRows != nil && what == "tagged" {
			q := sqlRows(t, tab.cat.Warehouse(), `SELECT * FROM `+name)
			if d := differences(slices.Sorted(slices.Values(h)), q); d != "" {
				t.Errorf("%s, %s: read (-), by SQL (+)\n%s", name, what, d)
			}
		}
		if !s.ordered {
			slices.Sort(j)
			slices.Sort(h)
		}
		if slices.Equal(j, h) {
			continue
		}
		if d := differences(slices.Sorted(slices.Values(j)), slices.Sorted(slices.Values(h))); d != "" {
			t.Errorf("%s, %s: Java (-), tarn (+)\n%s", name, what, d)
		} else {
			t.Errorf("%s, %s: other order\nJava\t%s\ntarn\t%s", name, what, strings.Join(j, "\n\t"), strings.Join(h, "\n\t"))
		}
	}
}

// TestSystemTables looks at the system tables of tables that both sides wrote: with partitions, changes of
// the schema, deletes, several levels, overwritten, with all modes of statistics.
func TestSystemTables(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	turn := turns(here, java)
	for n, d := range []definition{
		{key: []string{"p", "q", "k"}, options: map[string]string{"bucket": "2", "bucket-key": "k", "num-sorted-run.compaction-trigger": "3"}},
		{key: []string{"p", "q", "k"}, options: map[string]string{"bucket": "1", "metadata.stats-mode": "full", "write-only": "true", "table-read.sequence-number.enabled": "true"}},
		{options: map[string]string{"metadata.stats-mode": "none"}},
		{options: map[string]string{"bucket": "2", "bucket-key": "k", "metadata.stats-dense-store": "false", "fields.i.stats-mode": "counts", "partition.default-name": "nothing/é"}},
	} {
		null := " NOT NULL"
		if d.key == nil {
			null = ""
		}
		d.columns = []column{
			{name: "k", typ: "INT NOT NULL"},
			{name: "p", typ: "STRING" + null},
			{name: "q", typ: "DATE" + null},
			{name: "i", typ: "INT"},
			{name: "s", typ: "STRING"},
			{name: "drop", typ: "INT"},
			{name: "r", typ: "ROW<a INT,b ARRAY<STRING>>"},
		}
		d.partitions = []string{"p", "q"}
		tab := l.create(t, turn(), fmt.Sprintf("d.sys%d", n), d)
		rows := func(from, to int, more string) []row {
			var out []row
			for k := from; k < to; k++ {
				p := []string{`"a"`, `"b/c=%ü"`, "null"}[k%3]
				if d.key != nil && p == "null" {
					p = `""`
				}
				r := row{object: fmt.Sprintf(`{"k":%d,"p":%s,"q":"1969-12-3%d","i":%d,"s":"v%d, %d"%s}`, k, p, k%2, k*7-20, k, -k, more)}
				if k%9 == 4 {
					r = row{object: fmt.Sprintf(`{"k":%d,"p":%s,"q":"1969-12-3%d","i":null,"s":null%s}`, k, p, k%2, more)}
				}
				if d.key != nil && k%5 == 3 {
					r.kind = "-D"
				}
				out = append(out, r)
			}
			return out
		}
		if n == 0 {
			tab.sameSystem(t, "new", true)
		}
		for i := range 4 {
			tab.write(t, turn(), rows(i*3, i*3+9, `,"drop":1,"r":{"a":1,"b":["x"]}`)...)
		}
		tab.compact(t, turn())
		tab.sameSystem(t, "compacted", true)
		tab.alter(t, turn(), addColumn("x", "INT", "first", ""), renameColumn("s", "t"), dropColumn("drop"), updateType("i", "BIGINT"), updateComment("k", "key \"é\""))
		tab.alter(t, turn(), addColumn("drop", "STRING", "", ""))
		later := rows(5, 15, `,"x":3,"drop":"d"`)
		for i := range later {
			later[i].object = strings.Replace(later[i].object, `"s":`, `"t":`, 1)
		}
		tab.write(t, turn(), later...)
		tab.sameSystem(t, "written after the change", true)
		tab.overwrite(t, turn(), nil, false, later[:2]...)
		tab.write(t, turn(), later...)
		tab.Do(t,
			tarntest.Command{"op": "tag", "table": tab.name, "name": "j", "snapshot": 2, "retain": "PT24H0.5S"},
			tarntest.Command{"op": "tag", "table": tab.name, "name": "z", "snapshot": 1},
			tarntest.Command{"op": "branch", "table": tab.name, "name": "b1", "tag": "j"},
			tarntest.Command{"op": "streamread", "table": tab.name, "options": tarntest.Command{"consumer-id": "reader", "scan.snapshot-id": "2", "scan.mode": "from-snapshot"}, "ackConsumer": true, "maxPlans": 1},
		)
		if err := tab.open(t).CreateTag(t.Context(), "h", 0); err != nil {
			t.Fatal(err)
		}
		if err := tab.open(t).PutConsumer(t.Context(), "ours", 3); err != nil {
			t.Fatal(err)
		}
		tab.sameSystem(t, "tagged", true)
	}
	for _, name := range []string{"d.sys0$branch_b1$files", "d.sys0$branch_b1$snapshots", "d.sys2$branch_b1$partitions", "d.sys0$branch_b1$schemas", "d.sys0$branch_b1$tags", "d.sys0$branch_b1$options"} {
		j, h := l.systemRows(t, java, name, condition{}, nil), l.systemRows(t, here, name, condition{}, nil)
		if d := differences(slices.Sorted(slices.Values(j)), slices.Sorted(slices.Values(h))); d != "" {
			t.Errorf("%s: Java (-), tarn (+)\n%s", name, d)
		}
	}
	for _, options := range []map[string]string{{"scan.snapshot-id": "2"}, {"scan.tag-name": "j"}, {"scan.version": "z"}, {"scan.snapshot-id": "1", "scan.mode": "from-snapshot"}} {
		for _, name := range []string{"files", "manifests", "partitions", "options"} {
			j, h := l.systemRows(t, java, "d.sys0$"+name, condition{}, options), l.systemRows(t, here, "d.sys0$"+name, condition{}, options)
			if d := differences(slices.Sorted(slices.Values(j)), slices.Sorted(slices.Values(h))); d != "" {
				t.Errorf("$%s with %v: Java (-), tarn (+)\n%s", name, options, d)
			}
		}
	}
	for _, s := range systemTables {
		name := "d.sys0$" + s.name
		var j struct {
			Columns    []struct{ Name, Type string }
			PrimaryKey []string
		}
		if err := json.Unmarshal(l.Do(t, tarntest.Command{"op": "describe", "table": name})[0].Raw, &j); err != nil {
			t.Fatal(err)
		}
		x, err := l.cat.Table(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := x.Fields()
		if err != nil {
			t.Fatal(err)
		}
		var ours, theirs []string
		for _, f := range fields {
			ours = append(ours, f.Name+" "+f.Type.String())
		}
		for _, c := range j.Columns {
			theirs = append(theirs, c.Name+" "+types.MustParse(c.Type).String())
		}
		if !slices.Equal(ours, theirs) {
			t.Errorf("%s: columns\n\tJava %q\n\ttarn %q", name, theirs, ours)
		}
	}
	// Of other conditions the reference leaves it to the engine to look at the rows.
	for _, id := range []string{"snapshots snapshot_id", "schemas schema_id", "manifests schema_id"} {
		name, col, _ := strings.Cut(id, " ")
		for _, c := range []condition{
			compareTo("=", col, 1), compareTo(">", col, 1), compareTo(">=", col, 1), compareTo("<", col, 2), compareTo("<=", col, 1),
			both("and", compareTo(">=", col, 1), compareTo("<", col, 3)), both("or", compareTo("=", col, 1), compareTo("=", col, 2)),
			{col + " IN (1, 2)", tarntest.Command{"op": "in", "field": col, "values": []int{1, 2}}},
		} {
			j, h := l.systemRows(t, java, "d.sys0$"+name, c, nil), l.systemRows(t, here, "d.sys0$"+name, c, nil)
			if slices.Sort(j); !slices.Equal(j, slices.Sorted(slices.Values(h))) {
				t.Errorf("$%s where %s: Java has %d rows, tarn %d\n%s", name, c.text, len(j), len(h), differences(j, slices.Sorted(slices.Values(h))))
			}
		}
	}
}

// TestSystemValues shows values of every type as bounds of columns, as keys and as partitions.
func TestSystemValues(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	shown := func(typ string) bool {
		k := types.MustParse(typ).Kind
		return k != types.Binary && k != types.Varbinary // the reference shows the identity of a Java object
	}
	for n, legacy := range []string{"true", "false"} {
		d := definition{options: map[string]string{"bucket": "1", "write-only": "true", "metadata.stats-mode": "full", "partition.legacy-name": legacy}}
		fixed := map[string]string{}
		for i, a := range keyTypes() {
			if !shown(a) {
				continue
			}
			k := fmt.Sprintf("k%d", i)
			d.columns = append(d.columns, column{name: k, typ: a + " NOT NULL"}, column{name: fmt.Sprintf("v%d", i), typ: a})
			d.key = append(d.key, k)
			typ := types.MustParse(a)
			// The reference cannot read the legacy names of times and $partitions reads the names.
			time := typ.Kind == types.Timestamp || typ.Kind == types.TimestampLTZ
			if typ.Kind != types.Float && typ.Kind != types.Double && i%2 == n && (n > 0 || !time) {
				p := fmt.Sprintf("p%d", i)
				d.columns = append(d.columns, column{name: p, typ: a + " NOT NULL"})
				d.partitions, d.key = append(d.partitions, p), append(d.key, p)
				vals := partitionValues(typ)
				fixed[p] = vals[i%len(vals)]
			}
		}
		tab := l.create(t, side(n == 0), fmt.Sprintf("d.values%d", n), d)
		fields := tab.fields(t)
		for i := range 12 {
			tab.write(t, side(i%2 == 0), row{object: rowOf(fields, i, fixed)})
		}
		for _, s := range []string{"files", "partitions", "buckets", "manifests"} {
			name := tab.name + "$" + s
			j, h := l.systemRows(t, java, name, condition{}, nil), l.systemRows(t, here, name, condition{}, nil)
			if d := differences(slices.Sorted(slices.Values(j)), slices.Sorted(slices.Values(h))); d != "" {
				t.Errorf("%s: Java (-), tarn (+)\n%s", name, d)
			}
		}
	}
}
