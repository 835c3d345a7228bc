package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
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

// side is who works on a table.
type side bool

const (
	here side = false
	java side = true
)

func (s side) String() string {
	if s == java {
		return "java"
	}
	return "tarn"
}

var sides = []side{here, java}

// turns gives the sides in this order, again and again.
func turns(order ...side) func() side {
	at := -1
	return func() side { at++; return order[at%len(order)] }
}

// lake is a warehouse that both sides work on.
type lake struct {
	*tarntest.Oracle
	cat *tarn.Catalog
}

func newLake(t testing.TB) (lake, bool) {
	t.Helper()
	cat, err := tarn.Open(t.Context(), t.TempDir(), &tarn.OpenOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateDatabase(t.Context(), "d", nil); err != nil {
		t.Fatal(err)
	}
	o, ok := tarntest.StartOracle(t, "", cat.Warehouse())
	return lake{o, cat}, ok
}

// column is a column of a table to be made.
type column struct {
	name, typ string
	def       string // default, "" is none
}

// definition is a table to be made.
type definition struct {
	columns         []column
	key, partitions []string
	options         map[string]string
}

// table is a table that both sides work on; they see its newest schema.
type table struct {
	lake
	name string
	sets map[string]bool // columns that are arrays whose order says nothing
}

// create makes a table by one of the sides.
func (l lake) create(t testing.TB, by side, name string, d definition) table {
	t.Helper()
	if by == java {
		var cols []tarntest.Command
		for _, c := range d.columns {
			col := tarntest.Command{"name": c.name, "type": c.typ}
			if c.def != "" {
				col["default"] = c.def
			}
			cols = append(cols, col)
		}
		cmd := tarntest.Command{"op": "create", "table": name, "columns": cols, "options": d.options}
		if d.key != nil {
			cmd["primaryKey"] = d.key
		}
		if d.partitions != nil {
			cmd["partitionKeys"] = d.partitions
		}
		l.Do(t, cmd)
		return table{lake: l, name: name}
	}
	def := tarn.TableDef{PrimaryKeys: d.key, PartitionKeys: d.partitions, Options: d.options}
	for _, c := range d.columns {
		f := types.Field{Name: c.name, Type: types.MustParse(c.typ)}
		if c.def != "" {
			f.Default = &c.def
		}
		def.Fields = append(def.Fields, f)
	}
	if _, err := l.cat.CreateTable(t.Context(), name, def); err != nil {
		t.Fatal(err)
	}
	return table{lake: l, name: name}
}

// open opens the table with its newest schema.
func (tab table) open(t testing.TB) *tarn.Table {
	t.Helper()
	x, err := tab.cat.Table(t.Context(), tab.name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (tab table) fields(t testing.TB) []types.Field {
	t.Helper()
	f, err := tab.open(t).Fields()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// row is a change: a kind ("" is +I) and an object.
type row struct{ kind, object string }

func inserts(objects ...string) []row {
	var out []row
	for _, o := range objects {
		out = append(out, row{object: o})
	}
	return out
}

func batchOf(t testing.TB, fields []types.Field, rows []row) tarn.Batch {
	t.Helper()
	d := jsonrow.NewDecoder(fields)
	for _, r := range rows {
		text := r.object
		if r.kind != "" {
			text = strings.Replace(text, "{", fmt.Sprintf(`{"_kind":%q,`, r.kind), 1)
		}
		if err := d.Decode([]byte(text)); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	return d.Batch()
}

func javaRows(rows []row) []tarntest.Command {
	var out []tarntest.Command
	for _, r := range rows {
		kind := r.kind
		if kind == "" {
			kind = "+I"
		}
		out = append(out, tarntest.Command{"kind": kind, "row": json.RawMessage(r.object)})
	}
	return out
}

// write commits rows.
func (tab table) write(t testing.TB, by side, rows ...row) {
	t.Helper()
	if by == java {
		tab.Do(t, tarntest.Command{"op": "write", "table": tab.name, "rows": javaRows(rows)})
		return
	}
	x := tab.open(t)
	w, err := x.NewWriter(t.Context(), &tarn.WriterOptions{WaitCompaction: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(t.Context(), batchOf(t, tab.fields(t), rows)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// overwrite replaces the table or, if it is partitioned, what the rows are in; if static, all of a
// partition in any case.
func (tab table) overwrite(t testing.TB, by side, partition map[string]*string, static bool, rows ...row) {
	t.Helper()
	if by == java {
		spec := partition
		if spec == nil {
			spec = map[string]*string{}
		}
		tab.Do(t, tarntest.Command{"op": "write", "table": tab.name, "overwrite": spec, "rows": javaRows(rows), "options": tarntest.Command{"dynamic-partition-overwrite": fmt.Sprint(!static)}})
		return
	}
	var batches iter.Seq2[tarn.Batch, error] = func(yield func(tarn.Batch, error) bool) {
		if len(rows) > 0 {
			yield(batchOf(t, tab.fields(t), rows), nil)
		}
	}
	o := tarn.OverwriteOptions{Partition: partition, Static: static}
	if _, err := tab.open(t).Overwrite(t.Context(), o, batches); err != nil {
		t.Fatal(err)
	}
}

// compact merges everything.
func (tab table) compact(t testing.TB, by side) {
	t.Helper()
	if by == java {
		tab.Do(t, tarntest.Command{"op": "compact", "table": tab.name})
		return
	}
	if _, err := tab.open(t).Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
}

// expire leaves so many snapshots at most.
func (tab table) expire(t testing.TB, by side, most int) {
	t.Helper()
	if by == java {
		tab.Do(t, tarntest.Command{"op": "expire", "table": tab.name, "snapshotRetainMax": most, "snapshotRetainMin": min(most, 1), "snapshotTimeRetain": "PT0S"})
	} else if _, err := tab.open(t).ExpireSnapshots(t.Context(), tarn.ExpireOptions{RetainMin: 1, RetainMax: most, TimeRetained: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
}

// canonical brings rows as Java or tarn print them into one form: kinds of batch reads are dropped.
func canonical(t testing.TB, fields []types.Field, rows [][]byte) []string {
	t.Helper()
	d := jsonrow.NewDecoder(fields)
	for _, r := range rows {
		if err := d.Decode(r); err != nil {
			t.Fatalf("%v\n%s", err, r)
		}
	}
	b := d.Batch()
	out := []string{}
	e := jsonrow.NewEncoder(fields)
	for i := range len(rows) {
		out = append(out, string(e.Append(nil, b.RecordBatch, i)))
	}
	slices.Sort(out)
	return out
}

// seen reads the table by one of the sides, with options if they are not nil.
func (tab table) seen(t testing.TB, by side, options map[string]string) []string {
	t.Helper()
	return tab.seenThrough(t, by, options, choice{})
}

// seenThrough is seen through a filter, if there is one.
func (tab table) seenThrough(t testing.TB, by side, options map[string]string, filter choice) []string {
	t.Helper()
	x := tab.open(t)
	fields := tab.fields(t)
	var raw [][]byte
	if by == java {
		cmd := tarntest.Command{"op": "read", "table": tab.name}
		if options != nil {
			cmd["options"] = options
		}
		if filter.java != nil {
			cmd["filter"] = filter.java
		}
		for _, r := range tab.Do(t, cmd)[0].Rows {
			var line struct {
				Kind string
				Row  json.RawMessage
			}
			if err := json.Unmarshal(r, &line); err != nil {
				t.Fatal(err)
			}
			if line.Kind != "+I" && line.Kind != "+U" {
				t.Errorf("%s: Java reads a row of kind %s: %s", tab.name, line.Kind, line.Row)
			}
			raw = append(raw, line.Row)
		}
		return tab.orderless(t, canonical(t, fields, raw))
	}
	if options != nil {
		var err error
		if x, err = x.With(t.Context(), options); err != nil {
			t.Fatal(err)
		}
	}
	e := jsonrow.NewEncoder(fields)
	for b, err := range x.Scan(tarn.ScanOptions{WideTimestamps: true, Filter: filter.here}).Batches(t.Context()) {
		if err != nil {
			t.Fatalf("%s, filter %v: %v", tab.name, filter.here, err)
		}
		for i := range int(b.NumRows()) {
			raw = append(raw, e.Append(nil, b.RecordBatch, i))
		}
	}
	return tab.orderless(t, canonical(t, fields, raw))
}

// orderless sorts the elements of columns that are sets.
func (tab table) orderless(t testing.TB, rows []string) []string {
	t.Helper()
	if len(tab.sets) == 0 {
		return rows
	}
	for i, r := range rows {
		var parts []string
		for _, m := range membersOf(r) {
			name, value, _ := strings.Cut(m, ": ")
			if tab.sets[name] && value != "null" {
				var list []json.RawMessage
				if err := json.Unmarshal([]byte(value), &list); err != nil {
					t.Fatalf("%s: %v", m, err)
				}
				slices.SortFunc(list, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
				text, err := json.Marshal(list)
				if err != nil {
					t.Fatal(err)
				}
				value = string(text)
			}
			parts = append(parts, fmt.Sprintf("%q:%s", name, value))
		}
		rows[i] = "{" + strings.Join(parts, ",") + "}"
	}
	slices.Sort(rows)
	return rows
}

// same compares what both sides read with each other, and with rows in canonical form unless these are nil.
func (tab table) same(t testing.TB, what string, want []string) []string {
	t.Helper()
	j, h := tab.seen(t, java, nil), tab.seen(t, here, nil)
	if d := differences(j, h); d != "" {
		t.Errorf("%s, %s: Java reads (-) other than tarn (+)\n%s", tab.name, what, d)
	}
	if want != nil {
		if d := differences(slices.Sorted(slices.Values(want)), j); d != "" {
			t.Errorf("%s, %s: written (-), read by Java (+)\n%s", tab.name, what, d)
		}
	}
	return j
}

// differences tells of two lists of sorted rows how they differ, by column where rows can be paired.
func differences(a, b []string) string {
	if slices.Equal(a, b) {
		return ""
	}
	var onlyA, onlyB []string
	count := map[string]int{}
	for _, x := range b {
		count[x]++
	}
	for _, x := range a {
		if count[x]--; count[x] < 0 {
			onlyA = append(onlyA, x)
		}
	}
	for x, n := range count {
		for range n {
			onlyB = append(onlyB, x)
		}
	}
	slices.Sort(onlyB)
	if len(onlyA) != len(onlyB) {
		return fmt.Sprintf("%d and %d rows\n%s", len(a), len(b), cmp.Diff(onlyA, onlyB))
	}
	var out strings.Builder
	for i := range onlyA {
		x, y := membersOf(onlyA[i]), membersOf(onlyB[i])
		for k := range x {
			if x[k] != y[k] {
				fmt.Fprintf(&out, "\t- %s\n\t+ %s\n", x[k], y[k])
			}
		}
	}
	text := out.String()
	if len(text) > 8000 {
		text = text[:8000] + "…"
	}
	return text
}

// membersOf gives the members of an object as text.
func membersOf(object string) []string {
	d := json.NewDecoder(bytes.NewReader([]byte(object)))
	_, _ = d.Token()
	var out []string
	for d.More() {
		name, _ := d.Token()
		var v json.RawMessage
		_ = d.Decode(&v)
		out = append(out, fmt.Sprintf("%s: %s", name, v))
	}
	return out
}

// sound looks whether tarn finds the table in order.
func (tab table) sound(t testing.TB) {
	t.Helper()
	r, err := tab.open(t).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("%s: %v", tab.name, p)
	}
}
