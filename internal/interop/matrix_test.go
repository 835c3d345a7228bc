package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/tarntest"
)

// Shapes are the places that a type is put at.
var shapes = []string{
	"%s", "%s NOT NULL", "ARRAY<%s>", "MAP<%[1]s NOT NULL,%[1]s>", "MULTISET<%s NOT NULL>", "ROW<a %[1]s,b %[1]s NOT NULL>", "ARRAY<%s NOT NULL> NOT NULL",
}

// deepTypes have nested types in each other.
var deepTypes = []string{
	"ARRAY<ARRAY<INT>>", "ARRAY<MAP<STRING NOT NULL,ROW<a ARRAY<INT>,b MULTISET<STRING NOT NULL>>>>", "MAP<INT NOT NULL,MAP<STRING NOT NULL,ARRAY<DOUBLE>>>",
	"ROW<a ROW<b ROW<c INT,d ARRAY<STRING>>,e MAP<BIGINT NOT NULL,DATE>>>", "ROW<a ARRAY<ROW<b INT NOT NULL>> NOT NULL> NOT NULL",
}

// javaCannotRead tells of types that the reference writes and fails to read.
func javaCannotRead(typ string) bool {
	return strings.HasPrefix(typ, "MULTISET<DECIMAL") || strings.HasPrefix(typ, "MULTISET<TIMESTAMP")
}

// avroLacks tells of types that Avro files cannot hold, and of multisets of other elements than texts, which the reference
// writes and reads since 2.0 only.
func avroLacks(typ string) bool {
	if _, elem, ok := strings.Cut(typ, "MULTISET<"); ok && !strings.HasPrefix(elem, "STRING") && !strings.HasPrefix(elem, "VARCHAR") && !strings.HasPrefix(elem, "CHAR") {
		return true
	}
	for _, t := range []string{"STAMP(7)", "STAMP(8)", "STAMP(9)", "LTZ(7)", "LTZ(8)", "LTZ(9)", "TIME(9)", "VARIANT"} {
		if strings.Contains(typ, t) {
			return true
		}
	}
	return false
}

// everyType gives a column for each type in each shape.
func everyType() []column {
	var out []column
	for i, a := range atomicTypes() {
		for j, f := range shapes {
			if typ := fmt.Sprintf(f, a); !javaCannotRead(typ) {
				out = append(out, column{name: fmt.Sprintf("c%d_%d", i, j), typ: typ})
			}
		}
	}
	for i, d := range deepTypes {
		out = append(out, column{name: fmt.Sprintf("deep%d", i), typ: d})
	}
	return out
}

// history is one table of the matrix on its way through all kinds of work.
type history struct {
	table
	key         bool
	partitioned bool
	sides       func() side                  // who does the next step
	rows        map[string]map[string]string // what the table has to hold: identity → column → value
	next        int                          // identity of rows of append tables
	avro        bool                         // files are in Avro
}

// id is what tells a row of the model from others: its key, with a number after it where rows may be double.
func (h *history) id(r map[string]string) string {
	if h.key {
		return r["k"] + "/" + r["p"]
	}
	h.next++
	return fmt.Sprint(r["k"], "#", h.next)
}

// want gives the model in the form of what is read.
func (h *history) want(t testing.TB) []string {
	t.Helper()
	fields := h.fields(t)
	var raw [][]byte
	for _, r := range h.rows {
		raw = append(raw, []byte(rowOf(fields, 0, r)))
	}
	return canonical(t, fields, raw)
}

// put writes rows with keys from…to, some of them deleting, and keeps the model.
func (h *history) put(t testing.TB, by side, from, to, variant int, overwrite, static bool, spec map[string]*string) {
	t.Helper()
	fields := h.fields(t)
	var rows []row
	written := map[string]bool{}
	var add []map[string]string
	for k := from; k < to; k++ {
		p := []string{`"a"`, `"b"`}[k%2]
		if spec != nil {
			p = fmt.Sprintf("%q", *spec["p"])
		}
		r := row{object: rowOf(fields, k+variant, map[string]string{"k": fmt.Sprint(k), "p": p})}
		m := members(t, r.object)
		if h.key && !overwrite && k%5 == 3 {
			r.kind = "-D"
			delete(h.rows, h.id(m))
		} else {
			add = append(add, m)
		}
		written[p] = true
		rows = append(rows, r)
	}
	if overwrite {
		maps.DeleteFunc(h.rows, func(_ string, r map[string]string) bool {
			return !h.partitioned || written[r["p"]] || static && r["p"] == fmt.Sprintf("%q", *spec["p"])
		})
	}
	for _, m := range add {
		h.rows[h.id(m)] = m
	}
	if overwrite {
		h.overwrite(t, by, spec, static, rows...)
	} else {
		h.write(t, by, rows...)
	}
}

// members gives the members of an object.
func members(t testing.TB, object string) map[string]string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for k, v := range m {
		out[k] = string(v)
	}
	return out
}

// changed takes what both sides read after a change of the schema for the model.
func (h *history) changed(t testing.TB, what string) {
	t.Helper()
	rows := h.same(t, what, nil)
	if len(rows) != len(h.rows) {
		t.Errorf("%s, %s: %d rows instead of %d", h.name, what, len(rows), len(h.rows))
	}
	h.rows = map[string]map[string]string{}
	for _, r := range rows {
		m := members(t, r)
		h.rows[h.id(m)] = m
	}
}

// run does all kinds of work, each step by one of the sides, and lets both read after each.
func (h *history) run(t *testing.T) {
	step := func(what string, f func(by side)) {
		if t.Failed() {
			return
		}
		by := h.sides()
		f(by)
		if !t.Failed() {
			h.same(t, what+" by "+by.String(), h.want(t))
		}
	}
	alter := func(what string, changes ...change) {
		if t.Failed() {
			return
		}
		by := h.sides()
		h.alter(t, by, changes...)
		h.changed(t, what+" by "+by.String())
	}
	instant := "TIMESTAMP(9)"
	if h.avro {
		instant = "TIMESTAMP(6)"
	}
	compact := func() { step("compaction", func(by side) { h.compact(t, by) }) }
	step("first rows", func(by side) { h.put(t, by, 0, 12, 0, false, false, nil) })
	step("second rows", func(by side) { h.put(t, by, 6, 18, 5, false, false, nil) })
	compact()
	alter("adding columns", addColumn("x1", "INT", "first", ""), addColumn("x2", "STRING", "after", "i"), addColumn("x3", "ARRAY<ROW<q INT>>", "last", ""),
		addColumn("r.z", "DECIMAL(20,4)", "", ""), addColumn("l.element.z", instant, "", ""), addColumn("m.value.z", "BYTES", "", ""), addColumn("x4", "DATE", "before", "s"))
	step("rows with added columns", func(by side) { h.put(t, by, 10, 22, 2, false, false, nil) })
	alter("names and order", renameColumn("i", "i2"), renameColumn("r.a", "a2"), renameColumn("l.element.x", "x9"), dropColumn("drop"), dropColumn("r.b"), dropColumn("m.value.u"),
		moveColumn("s", "first", ""), moveColumn("k", "last", ""), moveColumn("x3", "after", "x1"), updateNullability("nn", true), updateComment("x1", "说明"))
	step("rows with other names", func(by side) { h.put(t, by, 4, 9, 3, false, false, nil) })
	compact()
	alter("a dropped name again", addColumn("drop", "STRING", "", ""), addColumn("r.b", "BIGINT", "", ""))
	alter("types", updateType("i2", "BIGINT"), updateType("s", "VARCHAR(9)"), updateType("dec", "DECIMAL(30,8)"), updateType("ts", "TIMESTAMP(6)"), updateType("f", "DOUBLE"),
		updateType("r.a2", "BIGINT"), updateType("l.element.x9", "STRING"), updateType("la.element", "BIGINT"), updateType("ma.value", "DOUBLE"), updateType("nn", "STRING"))
	step("rows of other types", func(by side) { h.put(t, by, 12, 26, 1, false, false, nil) })
	compact()
	step("overwriting", func(by side) { h.put(t, by, 30, 36, 0, true, false, nil) })
	step("rows after overwriting", func(by side) { h.put(t, by, 33, 40, 4, false, false, nil) })
	if h.partitioned {
		b := "b"
		step("overwriting a partition", func(by side) { h.put(t, by, 33, 37, 1, true, false, map[string]*string{"p": &b}) })
		step("overwriting some partitions", func(by side) { h.put(t, by, 38, 39, 1, true, false, nil) })
		step("overwriting a partition by nothing", func(by side) { h.put(t, by, 0, 0, 0, true, false, map[string]*string{"p": &b}) })
		step("emptying a partition", func(by side) { h.put(t, by, 0, 0, 0, true, true, map[string]*string{"p": &b}) })
	}
	step("rows again", func(by side) { h.put(t, by, 0, 8, 6, false, false, nil) })
	compact()
	if !t.Failed() {
		h.sound(t)
	}
}

// TestMatrix takes tables with every type in every shape through every kind of work, done in turn by
// the reference and by tarn.
func TestMatrix(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	random := rand.New(rand.NewPCG(tarntest.Seed(t), 1))
	changing := []column{ // the changes of the schema are about these
		{name: "k", typ: "INT NOT NULL"},
		{name: "p", typ: "STRING NOT NULL"},
		{name: "i", typ: "INT"},
		{name: "s", typ: "STRING"},
		{name: "drop", typ: "INT"},
		{name: "nn", typ: "INT NOT NULL"},
		{name: "dec", typ: "DECIMAL(9,2)"},
		{name: "ts", typ: "TIMESTAMP(3)"},
		{name: "f", typ: "FLOAT"},
		{name: "r", typ: "ROW<a INT,b STRING,c ARRAY<ROW<x INT,y STRING>>>"},
		{name: "l", typ: "ARRAY<ROW<x INT,y STRING>>"},
		{name: "m", typ: "MAP<STRING NOT NULL,ROW<t STRING,u INT>>"},
		{name: "la", typ: "ARRAY<INT>"},
		{name: "ma", typ: "MAP<INT NOT NULL,FLOAT>"},
	}
	all := everyType()
	for c, codec := range []string{"none", "snappy", "gzip", "lz4", "zstd", "avro/null", "avro/zstd"} {
		all := all
		format, compression, ok := strings.Cut(codec, "/")
		if !ok {
			format, compression = "parquet", codec
		} else {
			all = slices.DeleteFunc(slices.Clone(all), func(c column) bool { return avroLacks(c.typ) })
		}
		for _, key := range []bool{true, false} {
			for _, partitioned := range []bool{true, false} {
				for turns := range 4 {
					// Not the whole product: each codec with and without a key, a table with a third of the columns.
					columns := slices.Concat(changing, all)
					if !tarntest.Size().Product {
						order := c % 3
						if !key {
							order = (c + 1) % 3
						}
						if partitioned != (key == (c%2 == 0)) || turns != order {
							continue
						}
						columns = slices.Clone(changing)
						for i := c % 3; i < len(all); i += 3 {
							columns = append(columns, all[i])
						}
					}
					name := fmt.Sprintf("%s_key%t_parts%t_turns%d", strings.ReplaceAll(codec, "/", "_"), key, partitioned, turns)
					t.Run(name, func(t *testing.T) {
						d := definition{columns: columns, options: map[string]string{"file.format": format, "file.compression": compression}}
						if key {
							d.key, d.options["bucket"] = []string{"k"}, "2"
						}
						if partitioned {
							d.partitions = []string{"p"}
							if key {
								d.key = []string{"p", "k"}
							}
						}
						at := turns
						turn := func() side {
							at++
							if turns > 1 {
								return side(random.IntN(2) == 0)
							}
							return side(at%2 == 0)
						}
						h := history{table: l.create(t, turn(), "d."+name, d), key: key, partitioned: partitioned, avro: format == "avro", sides: turn, rows: map[string]map[string]string{}}
						h.run(t)
					})
				}
			}
		}
	}
}
