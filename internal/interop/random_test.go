package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// TestRandomHistories lets both sides work on tables of random types, keys, partitions and options, in any order, and
// compares what they read after each step, whole and through random filters, with each other and with a model.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	seed := tarntest.Seed(t)
	for i := range tarntest.Size().Histories / 40 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := &randomTable{Rand: rand.New(rand.NewPCG(seed, uint64(i))), rows: map[string][]string{}}
			r.create(t, l, fmt.Sprintf("d.random%d", i))
			defer func() {
				if t.Failed() {
					t.Logf("definition: %+v\nsteps:\n%s", r.def, strings.Join(r.log, "\n"))
				}
			}()
			for range 8 + r.IntN(10) {
				if r.step(t); t.Failed() {
					return
				}
			}
			r.sound(t)
		})
	}
}

// randomTable is a table, and a model of it.
type randomTable struct {
	table
	*rand.Rand
	def      definition
	identity []string            // columns that tell rows apart: those of the key
	rows     map[string][]string // by identity, or by the row itself: rows that the table has to hold
	guess    bool                // sequence fields decide what stays: what both sides agree on is taken
	deletes  bool                // a delete does something
	added    int                 // columns, for new names
	log      []string
}

func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (r *randomTable) by() side { return side(r.IntN(2) == 0) }

// create draws a definition and makes the table.
func (r *randomTable) create(t *testing.T, l lake, name string) {
	opts := map[string]string{}
	maybe := func(option string, values ...string) {
		if r.IntN(3) == 0 {
			opts[option] = oneOf(r.Rand, values...)
		}
	}
	all, keys := everyType(), keyTypes()
	cols := []column{{name: "n", typ: "INT"}} // tells versions apart
	for i := range 1 + r.IntN(6) {
		cols = append(cols, column{name: fmt.Sprintf("v%d", i), typ: oneOf(r.Rand, all...).typ})
	}
	for i := range r.IntN(4) {
		cols = append(cols, column{name: fmt.Sprintf("a%d", i), typ: oneOf(r.Rand, atomicTypes()...)})
	}
	if r.IntN(3) > 0 {
		for i := range 1 + r.IntN(3) {
			cols = append(cols, column{name: fmt.Sprintf("k%d", i), typ: oneOf(r.Rand, keys...) + " NOT NULL"})
			r.def.key = append(r.def.key, fmt.Sprintf("k%d", i))
		}
		if opts["bucket"] = oneOf(r.Rand, "1", "2", "3", "-1"); opts["bucket"] == "-1" {
			opts["dynamic-bucket.target-row-num"] = oneOf(r.Rand, "1", "5", "1000")
			maybe("dynamic-bucket.max-buckets", "1", "3")
		}
		r.deletes = true
		if maybe("sequence.field", "n", "n,v0"); opts["sequence.field"] != "" {
			if strings.ContainsAny(cols[1].typ, "<") || strings.HasPrefix(cols[1].typ, "BOOLEAN") {
				opts["sequence.field"] = "n"
			}
			r.guess = true
			maybe("sequence.field.sort-order", "ascending", "descending")
		}
		if maybe("ignore-delete", "true"); opts["ignore-delete"] != "" {
			r.deletes = false
		}
		maybe("changelog-producer", "input", "full-compaction", "lookup", "lookup")
		maybe("changelog-producer.row-deduplicate", "true")
		maybe("lookup-compact", "gentle")
		maybe("num-sorted-run.compaction-trigger", "2", "3", "4")
		maybe("num-levels", "2", "3", "5")
		maybe("compaction.size-ratio", "0", "50")
		maybe("compaction.max-size-amplification-percent", "10", "1000")
	} else if r.IntN(2) == 0 {
		opts["bucket"], opts["bucket-key"] = oneOf(r.Rand, "1", "3"), "n"
	} else {
		maybe("compaction.min.file-num", "2", "3")
	}
	if r.IntN(2) == 0 {
		for i := range 1 + r.IntN(2) {
			p := column{name: fmt.Sprintf("p%d", i), typ: oneOf(r.Rand, "STRING", "INT", "DATE", "BOOLEAN", "BIGINT", "TIMESTAMP(3)", "DECIMAL(9,2)", "DOUBLE")}
			if r.def.key != nil {
				p.typ += " NOT NULL"
				r.def.key = append(r.def.key, p.name)
			}
			cols = append(cols, p)
			r.def.partitions = append(r.def.partitions, p.name)
		}
		maybe("partition.legacy-name", "false")
		maybe("partition.default-name", "none", "__x__")
	}
	maybe("file.compression", "none", "snappy", "gzip", "lz4", "zstd")
	maybe("metadata.stats-mode", "none", "counts", "truncate(1)", "truncate(16)", "full")
	maybe("metadata.stats-dense-store", "true", "false")
	maybe("manifest.target-file-size", "1 b", "2 kb")
	maybe("manifest.merge-min-count", "2", "3")
	maybe("manifest.full-compaction-threshold-size", "1 b", "2 kb")
	maybe("manifest.compression", "null", "snappy", "deflate")
	maybe("snapshot.num-retained.max", "3")
	if opts["snapshot.num-retained.max"] != "" {
		opts["snapshot.num-retained.min"] = "1"
	}
	maybe("source.split.target-size", "1 b", "4 kb")
	maybe("source.split.open-file-cost", "1 b")
	maybe("target-file-size", "1 kb", "20 kb")
	maybe("parquet.page.size", "100")
	maybe("parquet.page.row.count.limit", "3", "20")
	maybe("parquet.block.size", "2000")
	maybe("parquet.enable.dictionary", "false")
	if maybe("write-buffer-size", "64 kb"); opts["write-buffer-size"] != "" {
		opts["page-size"] = "4 kb"
	}
	maybe("write-only", "true")
	maybe("commit.force-compact", "true")
	r.Shuffle(len(cols), func(i, j int) { cols[i], cols[j] = cols[j], cols[i] })
	r.Shuffle(len(r.def.key), func(i, j int) { r.def.key[i], r.def.key[j] = r.def.key[j], r.def.key[i] })
	r.def.columns, r.def.options, r.identity = cols, opts, r.def.key
	r.table = l.create(t, r.by(), name, r.def)
}

// draw makes a row. Keys and partitions are of few values, so that rows meet.
func (r *randomTable) draw(fields []types.Field, n int) string {
	fixed := map[string]string{"n": fmt.Sprint(n % 50)}
	for _, f := range fields {
		vals := valuesOf(f.Type)
		switch {
		case slices.Contains(r.def.key, f.Name) && !slices.Contains(r.def.partitions, f.Name):
			vals = keyValues(f.Type)
		case slices.Contains(r.def.partitions, f.Name):
			vals = slices.DeleteFunc(keyValues(f.Type), func(v string) bool { return len(v) > 100 })
			if vals = vals[:min(3, len(vals))]; !f.Type.NotNull {
				vals = append(vals, "null")
			}
		case f.Name == "n":
			continue
		case !f.Type.NotNull:
			vals = append(vals, "null", "null")
		}
		fixed[f.Name] = oneOf(r.Rand, vals...)
	}
	return rowOf(fields, 0, fixed)
}

// identityOf is what tells a row apart, as the model knows it; kept are rows in canonical form.
func (r *randomTable) identityOf(t *testing.T, canonicalRow string) string {
	if r.identity == nil {
		return canonicalRow
	}
	return r.part(t, canonicalRow, r.identity)
}

func (r *randomTable) part(t *testing.T, object string, columns []string) string {
	m := members(t, object)
	var id []string
	for _, k := range columns {
		id = append(id, m[k])
	}
	return strings.Join(id, "|")
}

// step does one thing and compares.
func (r *randomTable) step(t *testing.T) {
	by := r.by()
	switch x := r.IntN(20); {
	case x < 10:
		r.put(t, by, false)
	case x < 13:
		r.note("%v compacts", by)
		r.compact(t, by)
	case x < 16:
		r.change(t, by)
	case x < 18:
		r.put(t, by, true)
	case x == 18:
		r.note("java compacts manifests")
		r.Do(t, tarntest.Command{"op": "compactManifests", "table": r.name})
	default:
		r.note("%v expires", by)
		r.expire(t, by, 2)
	}
	if t.Failed() {
		return
	}
	what := r.log[len(r.log)-1]
	if len(what) > 60 {
		what = what[:60]
	}
	var want []string
	if !r.guess {
		want = []string{}
		for _, rows := range r.rows {
			want = append(want, rows...)
		}
	}
	r.take(t, r.same(t, what, want))
	for range 3 {
		if t.Failed() {
			return
		}
		c := r.condition(t, r.fields(t), 2)
		r.sameThrough(t, c)
		r.someColumns(t, c)
	}
}

// someColumns reads some of the columns, perhaps some of the rows, in pieces of some size: what all of the columns say.
func (r *randomTable) someColumns(t *testing.T, c choice) {
	fields := slices.Clone(r.fields(t))
	all := r.seenThrough(t, here, nil, c)
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	fields = fields[:1+r.IntN(len(fields))]
	o := tarn.ScanOptions{Filter: c.here, WideTimestamps: true, BatchRows: oneOf(r.Rand, 0, 1, 7), Parallel: r.IntN(3), Ordered: r.IntN(2) == 0}
	for _, f := range fields {
		o.Columns = append(o.Columns, f.Name)
	}
	want := map[string]int{}
	for _, row := range all {
		m := members(t, row)
		var parts []string
		for _, f := range fields {
			parts = append(parts, fmt.Sprintf("%q:%s", f.Name, m[f.Name]))
		}
		want["{"+strings.Join(parts, ",")+"}"]++
	}
	most := len(all)
	if o.Limit = oneOf(r.Rand, int64(0), 0, 1, 3); o.Limit > 0 {
		most = min(most, int(o.Limit))
	}
	e, got := jsonrow.NewEncoder(fields), 0
	for b, err := range r.open(t).Scan(o).Batches(t.Context()) {
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		for i := range int(b.NumRows()) {
			row := string(e.Append(nil, b.RecordBatch, i))
			if got, want[row] = got+1, want[row]-1; want[row] < 0 {
				t.Errorf("%+v: row %s is not among those of all columns", o, row)
			}
		}
	}
	if got != most {
		t.Errorf("%+v: %d rows, want %d", o, got, most)
	}
}

func (r *randomTable) note(format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

// take makes what was read the model.
func (r *randomTable) take(t *testing.T, rows []string) {
	r.rows, r.guess = map[string][]string{}, r.def.options["sequence.field"] != ""
	for _, row := range rows {
		id := r.identityOf(t, row)
		r.rows[id] = append(r.rows[id], row)
	}
}

func (r *randomTable) put(t *testing.T, by side, overwrite bool) {
	fields := r.fields(t)
	var rows []row
	var kept []string // the rows as they will be read
	for range oneOf(r.Rand, 1, 3, 10, 40) {
		x := row{object: r.draw(fields, r.IntN(50))}
		if r.def.key != nil && !overwrite {
			x.kind = oneOf(r.Rand, "", "", "", "+U", "-D", "-U")
		}
		rows, kept = append(rows, x), append(kept, canonical(t, fields, [][]byte{[]byte(x.object)})...)
	}
	r.note("%v writes, overwriting %v: %v", by, overwrite, rows)
	if overwrite {
		parts := map[string]bool{}
		for _, k := range kept {
			parts[r.part(t, k, r.def.partitions)] = true
		}
		maps.DeleteFunc(r.rows, func(_ string, rows []string) bool { return parts[r.part(t, rows[0], r.def.partitions)] })
	}
	for i, k := range kept {
		id := r.identityOf(t, k)
		switch retracts := rows[i].kind == "-D" || rows[i].kind == "-U"; {
		case retracts && r.deletes:
			delete(r.rows, id)
		case retracts:
		case r.identity == nil:
			r.rows[id] = append(r.rows[id], k)
		default:
			r.rows[id] = []string{k}
		}
	}
	if overwrite {
		r.overwrite(t, by, nil, false, rows...)
	} else {
		r.write(t, by, rows...)
	}
}

// wider are types that another can be changed to without losing a value.
var wider = map[types.Kind][]string{
	types.TinyInt: {"SMALLINT", "INT", "BIGINT", "STRING", "DECIMAL(20,2)"}, types.SmallInt: {"INT", "BIGINT", "STRING"}, types.Int: {"BIGINT", "STRING", "DECIMAL(20,4)"},
	types.BigInt: {"STRING", "DECIMAL(38,2)"}, types.Float: {"DOUBLE", "STRING"}, types.Double: {"STRING"}, types.Boolean: {"STRING", "INT"}, types.Date: {"STRING", "TIMESTAMP(3)"},
	types.Char: {"STRING"}, types.Varchar: {"STRING"}, types.Binary: {"BYTES"}, types.Varbinary: {"BYTES"}, types.Decimal: {"STRING"}, types.Time: {"STRING"},
}

// change changes the schema. Rows may read otherwise afterwards: both sides have to agree.
func (r *randomTable) change(t *testing.T, by side) {
	fields := r.fields(t)
	fixed := slices.Concat(r.def.key, r.def.partitions, strings.Split(r.def.options["sequence.field"], ","), []string{"n"})
	var free []types.Field
	for _, f := range fields {
		if !slices.Contains(fixed, f.Name) {
			free = append(free, f)
		}
	}
	r.added++
	fresh := fmt.Sprintf("x%d", r.added)
	near := oneOf(r.Rand, fields...).Name
	changes := []change{
		addColumn(fresh, strings.TrimSuffix(oneOf(r.Rand, everyType()...).typ, " NOT NULL"), oneOf(r.Rand, "first", "after", "before", "last", ""), near),
		updateComment(near, "コメント "+fresh),
	}
	if last := len(fields) - 1; near != fields[0].Name && near != fields[last].Name { // which the reference does not move to where it is
		changes = append(changes, moveColumn(near, "first", ""), moveColumn(near, "last", ""), moveColumn(near, "after", fields[last].Name), moveColumn(near, "before", fields[0].Name))
	}
	if len(free) > 0 {
		f := oneOf(r.Rand, free...)
		changes = append(changes, renameColumn(f.Name, fresh), updateNullability(f.Name, true))
		if len(free) > 1 {
			changes = append(changes, dropColumn(f.Name))
		}
		for _, to := range wider[f.Type.Kind] {
			changes = append(changes, updateType(f.Name, to))
		}
		if f.Type.Kind == types.Row {
			changes = append(changes, addColumn(f.Name+"."+fresh, "STRING", "", ""), renameColumn(f.Name+"."+f.Type.Fields[0].Name, fresh))
		}
	}
	c := oneOf(r.Rand, changes...)
	text, _ := json.Marshal(c.command)
	r.note("%v changes %s", by, text)
	r.alter(t, by, c)
	r.guess = true
}
