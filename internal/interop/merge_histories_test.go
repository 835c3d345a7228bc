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

// mergeOptions are options of each merge engine; what one list leaves open another one sets.
var mergeOptions = map[string][]map[string]string{
	"deduplicate": {
		{},
		{"sequence.field": "n"},
		{"sequence.field": "g,n", "sequence.field.sort-order": "descending"},
		{"ignore-delete": "true"},
	},
	"partial-update": {
		{"ignore-delete": "true"},
		{"ignore-delete": "true", "sequence.field": "n"},
		{"partial-update.remove-record-on-delete": "true"},
		{"fields.g.sequence-group": "a,b"},
		{"ignore-delete": "true", "fields.g.sequence-group": "a,b,s", "fields.b.aggregate-function": "sum", "fields.s.aggregate-function": "max"},
		{"fields.g.sequence-group": "a,b", "partial-update.remove-record-on-sequence-group": "g"},
	},
	"aggregation": {
		{"ignore-delete": "true", "fields.b.aggregate-function": "sum", "fields.a.aggregate-function": "first_non_null_value", "fields.s.aggregate-function": "max"},
		{"ignore-delete": "true", "fields.b.aggregate-function": "sum", "fields.a.aggregate-function": "min", "sequence.field": "n"},
		{"fields.b.aggregate-function": "sum", "fields.s.aggregate-function": "max", "fields.s.ignore-retract": "true", "fields.default-aggregate-function": "last_value"},
		{"aggregation.remove-record-on-delete": "true", "fields.b.aggregate-function": "sum", "fields.a.aggregate-function": "last_non_null_value"},
		{"ignore-delete": "true", "fields.a.aggregate-function": "listagg", "fields.b.aggregate-function": "product", "fields.c.aggregate-function": "collect", "fields.g.aggregate-function": "last_value"},
	},
	"first-row": {{"ignore-delete": "true"}},
}

// TestMergeHistories lets both sides write to and compact one table in turn, for each merge engine and changelog producer, in any order:
// after each step both read the same, and where the order of compactions makes no difference, what a table holds that Java alone
// wrote. The changes that they made are the same for both readers, and lead from the first rows to the last ones.
func TestMergeHistories(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	seed := tarntest.Seed(t)
	rounds := max(1, tarntest.Size().Histories/200)
	for _, engine := range slices.Sorted(maps.Keys(mergeOptions)) {
		producers := []string{"none", "lookup"}
		if engine != "first-row" {
			producers = append(producers, "full-compaction")
		}
		for p, producer := range producers {
			for i := range rounds {
				t.Run(fmt.Sprintf("%s/%s/%d", engine, producer, i), func(t *testing.T) {
					h := &mergeHistory{Rand: rand.New(rand.NewPCG(seed, uint64(i*100+p*10+len(engine)))), engine: engine, producer: producer}
					h.create(t, l, strings.NewReplacer("-", "_").Replace(fmt.Sprintf("d.merge_%s_%s_%d", engine, producer, i)))
					defer func() {
						if t.Failed() {
							t.Logf("definition: %+v\nsteps:\n%s", h.def, strings.Join(h.log, "\n"))
						}
					}()
					for range 10 + h.IntN(10) {
						if h.step(t); t.Failed() {
							return
						}
					}
					h.changes(t)
					h.sound(t)
				})
			}
		}
	}
}

// mergeHistory is a table that both sides work on, and perhaps another one for Java alone.
type mergeHistory struct {
	table
	*rand.Rand
	engine, producer string
	def              definition
	alone            *table
	commits          int
	log              []string
}

func (h *mergeHistory) create(t *testing.T, l lake, name string) {
	opts := map[string]string{"merge-engine": h.engine, "bucket": oneOf(h.Rand, "1", "2", "-1")}
	maps.Copy(opts, oneOf(h.Rand, mergeOptions[h.engine]...))
	maybe := func(option string, values ...string) {
		if h.IntN(3) == 0 {
			opts[option] = oneOf(h.Rand, values...)
		}
	}
	if h.producer != "none" {
		opts["changelog-producer"] = h.producer
		maybe("changelog-producer.row-deduplicate", "true")
	}
	if opts["bucket"] == "-1" {
		opts["dynamic-bucket.target-row-num"] = "7"
	}
	maybe("num-sorted-run.compaction-trigger", "2", "3")
	maybe("num-levels", "2", "3")
	maybe("compaction.size-ratio", "0", "50")
	maybe("target-file-size", "1 kb")
	maybe("write-buffer-size", "64 kb")
	if opts["write-buffer-size"] != "" {
		opts["page-size"] = "4 kb"
	}
	h.def = definition{options: opts, key: []string{"k"}, columns: []column{
		{name: "n", typ: "INT"},
		{name: "k", typ: "INT NOT NULL"},
		{name: "a", typ: "STRING"},
		{name: "g", typ: "INT"},
		{name: "b", typ: "BIGINT"},
		{name: "s", typ: "DECIMAL(20,3)"},
		{name: "c", typ: "ARRAY<INT>"},
	}}
	if h.IntN(3) == 0 {
		h.def.columns = append(h.def.columns, column{name: "p", typ: "STRING NOT NULL"})
		h.def.key, h.def.partitions = []string{"p", "k"}, []string{"p"}
	}
	h.table = l.create(t, side(h.IntN(2) == 0), name, h.def)
	// What a row takes back depends on what was merged with it before, but where the newest row is all that counts.
	if opts["ignore-delete"] != "" || h.engine == "deduplicate" && opts["sequence.field"] == "" {
		x := l.create(t, java, name+"_alone", h.def)
		h.alone = &x
	}
}

func (h *mergeHistory) step(t *testing.T) {
	by := side(h.IntN(2) == 0)
	if x := h.IntN(10); x < 7 {
		rows := h.rows()
		h.log = append(h.log, fmt.Sprintf("%v writes %v", by, rows))
		h.write(t, by, rows...)
		if h.alone != nil {
			h.alone.write(t, java, rows...)
		}
	} else {
		full := x > 7
		h.log = append(h.log, fmt.Sprintf("%v compacts, full: %v", by, full))
		if by == java {
			h.Do(t, tarntest.Command{"op": "compact", "table": h.name, "full": full, "ignoreEmpty": true})
		} else if _, err := h.open(t).Compact(t.Context(), tarn.CompactOptions{Full: full}); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	if h.alone != nil {
		want = h.alone.seen(t, java, nil)
	}
	h.same(t, h.log[len(h.log)-1][:20], want)
}

// rows are the rows of a commit.
func (h *mergeHistory) rows() []row {
	h.commits++
	kinds := []string{"", "", "+U"}
	if o := h.def.options; h.engine == "deduplicate" || o["ignore-delete"] != "" || o["fields.g.sequence-group"] != "" || h.engine == "aggregation" || o["partial-update.remove-record-on-delete"] != "" {
		kinds = append(kinds, "-D", "-U")
	}
	maybe := func(v string) string { return oneOf(h.Rand, v, v, "null") }
	var out []row
	for i := range oneOf(h.Rand, 1, 5, 30) {
		n := h.commits*100 + i
		if h.IntN(4) == 0 {
			n -= 150 // late, by a sequence field
		}
		a, g, b, s := maybe(fmt.Sprintf(`"a%d"`, n)), maybe(fmt.Sprint(h.IntN(6))), maybe(fmt.Sprint(h.IntN(9)-3)), maybe(fmt.Sprintf(`"%d.125"`, h.IntN(1000)-500))
		if g == "null" && h.def.options["fields.g.sequence-group"] != "" {
			a, b, s = g, g, g // are not heeded, but by who merges nothing
		}
		object := fmt.Sprintf(`"n":%d,"k":%d,"a":%s,"g":%s,"b":%s,"s":%s,"c":%s`, n, h.IntN(25), a, g, b, s, maybe(fmt.Sprintf("[%d,null]", n)))
		if h.def.partitions != nil {
			object += fmt.Sprintf(`,"p":"%c"`, 'a'+h.IntN(2))
		}
		out = append(out, row{kind: oneOf(h.Rand, kinds...), object: "{" + object + "}"})
	}
	return out
}

// changes follows the table from its first snapshot on, by both sides.
func (h *mergeHistory) changes(t *testing.T) {
	if h.producer == "none" {
		return
	}
	// What is not told of yet is told of by the last compaction.
	h.compact(t, side(h.IntN(2) == 0))
	last := h.same(t, "compacted at last", nil)
	ours, theirs := h.followed(t), h.streamed(t)
	if !slices.Equal(ours, theirs) {
		t.Errorf("%s: changes as Java reads them (-), as tarn does (+)\n%s", h.name, differences(slices.Sorted(slices.Values(theirs)), slices.Sorted(slices.Values(ours))))
	}
	held := map[string]string{}
	for _, line := range theirs {
		kind, row := line[:2], line[2:]
		id := h.identity(t, row)
		old, there := held[id]
		switch {
		case kind[0] == '+' && there:
			t.Errorf("%s: %s, where there is %s", h.name, line, old)
		case kind[0] == '-' && old != row:
			t.Errorf("%s: %s, where there is %q", h.name, line, old)
		}
		if delete(held, id); kind[0] == '+' {
			held[id] = row
		}
	}
	if d := differences(last, slices.Sorted(maps.Values(held))); d != "" {
		t.Errorf("%s: rows (-), what the changes lead to (+)\n%s", h.name, d)
	}
}

func (h *mergeHistory) identity(t *testing.T, row string) string {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(row), &m); err != nil {
		t.Fatal(err)
	}
	return string(m["p"]) + "|" + string(m["k"])
}

// followed are the changes as tarn reads them: in each snapshot those of a key in their order, the keys sorted.
func (h *mergeHistory) followed(t *testing.T) []string {
	x, fields := h.open(t), h.fields(t)
	var out []string
	first, err := x.Snapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := jsonrow.NewEncoder(fields)
	for p, err := range x.Scan(tarn.ScanOptions{WideTimestamps: true}).Follow(t.Context(), first[0]-1, 0) {
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for b, err := range p.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(b.NumRows()) {
				kind := types.Insert
				if b.Kinds != nil {
					kind = b.Kinds[i]
				}
				lines = append(lines, kind.String()+string(e.Append(nil, b.RecordBatch, i)))
			}
		}
		out = append(out, h.byKey(t, lines)...)
	}
	return out
}

func (h *mergeHistory) byKey(t *testing.T, lines []string) []string {
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(h.identity(t, a[2:]), h.identity(t, b[2:])) })
	return lines
}

// streamed are the changes as Java reads them, in the same order.
func (h *mergeHistory) streamed(t *testing.T) []string {
	cmd := tarntest.Command{"op": "streamread", "table": h.name, "maxIdle": 30, "options": map[string]string{"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}}
	fields := h.fields(t)
	var out, lines []string
	plan := -1
	for _, raw := range h.Do(t, cmd)[0].Rows {
		var line struct {
			Plan int
			Kind string
			Row  json.RawMessage
		}
		if err := json.Unmarshal(raw, &line); err != nil {
			t.Fatal(err)
		}
		if line.Plan != plan {
			out, lines, plan = append(out, h.byKey(t, lines)...), nil, line.Plan
		}
		lines = append(lines, line.Kind+canonical(t, fields, [][]byte{line.Row})[0])
	}
	return append(out, h.byKey(t, lines)...)
}
