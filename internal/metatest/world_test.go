package metatest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"

	"pgregory.net/rapid"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/types"
)

// state is the table at a snapshot.
type state struct {
	cols  []column
	rows  []row
	byKey map[string][]version // of tables with a primary key
}

// version is one row that was written under a key, in the order of commits.
type version struct {
	row row
	seq types.Datum
}

// writer is an open Writer and what it holds.
type writer struct {
	w       *tarn.Writer
	cols    []column // of its schema
	pending []row
	number  int64
	user    string
}

// world is a table and its naive model.
type world struct {
	t   *rapid.T
	ctx context.Context
	uri string
	cat *tarn.Catalog
	tab *tarn.Table

	keyed, sequence, descending, ignoreDelete, ignoreBefore, partitioned, rowKinds bool
	writeOnly, wholeOverwrite                                                      bool

	engine    string
	producer  string
	functions map[int]function // by column, of aggregation
	groups    map[int]column   // the column that orders a column, of partial-update

	cols    []column
	keys    int // so many of the first columns are the primary key, the partition first if there is one
	nextID  int
	nextVal int

	plain       []row                // append tables
	byKey       map[string][]version // tables with a primary key
	states      map[int64]state      // all that was written until a snapshot
	seen        map[int64]state      // what a read of it shows, where rows have to be compacted first
	visible     state                // of the newest snapshot
	overwritten map[int64]bool       // snapshots that overwrites made
	last        int64                // newest snapshot
	tags        map[string]int64
	writers     [2]*writer
	two         bool // both writers are used, each for keys of its own
	crossing    bool // the key lacks the partition column, the first
	postponed   bool // rows are put aside until the table is compacted
}

var (
	keyTypes   = []string{"INT", "BIGINT", "STRING", "DATE", "DECIMAL(10, 2)", "BOOLEAN", "TIMESTAMP(3)", "TIMESTAMP(9)", "SMALLINT", "DOUBLE"}
	valueTypes = []string{"INT", "BIGINT", "STRING", "DOUBLE", "DECIMAL(10, 2)", "DATE", "BOOLEAN", "FLOAT", "TIMESTAMP(6)", "TIMESTAMP_LTZ(9)", "VARCHAR(5)"}
	columns    = []string{"a", "b", "c", "D", "e f"}
	wider      = map[string][]string{
		"INT": {"BIGINT", "DECIMAL(20, 2)", "STRING"}, "FLOAT": {"DOUBLE"}, "DECIMAL(10, 2)": {"DECIMAL(12, 2)", "DECIMAL(14, 3)"},
		"VARCHAR(5)": {"VARCHAR(9)", "STRING"}, "BIGINT": {"STRING"},
	}
)

// valueOf gives the n-th text of a type; all casts of wider keep the value of such texts.
func valueOf(t types.Type, n int) string {
	switch t.Kind {
	case types.Boolean:
		return []string{"false", "true"}[n%2]
	case types.Date:
		return fmt.Sprintf("%04d-0%d-1%d", 1969+n/9, n%9+1, n%10)
	case types.Timestamp, types.TimestampLTZ:
		if t.Precision > 6 { // all centuries
			return fmt.Sprintf("%04d-01-02 03:04:05.%09d", (n*1721+1)%9999, n)
		}
		return fmt.Sprintf("19%02d-01-02 03:04:05.%03d", n%90+10, n)
	case types.Decimal:
		return fmt.Sprintf("%d.%02d", n/3-5, n%100)
	case types.Float, types.Double:
		return fmt.Sprintf("%d.5", n-20)
	case types.Char, types.Varchar:
		if n == 0 {
			return ""
		}
		return "s" + fmt.Sprint(n)
	}
	return fmt.Sprint(n - 10)
}

func newWorld(t *rapid.T, uri string) *world {
	w := &world{t: t, ctx: t.Context(), uri: uri, byKey: map[string][]version{}, states: map[int64]state{}, seen: map[int64]state{}, overwritten: map[int64]bool{}, tags: map[string]int64{}}
	w.keyed = rapid.IntRange(0, 3).Draw(t, "keyed") > 0
	w.partitioned = rapid.Bool().Draw(t, "partitioned")
	w.two = rapid.Bool().Draw(t, "two writers")
	w.crossing = w.keyed && w.partitioned && !w.two && rapid.IntRange(0, 2).Draw(t, "crossing") == 0
	add := func(name, typ string, notNull bool) {
		c := column{id: w.nextID, name: name, typ: types.MustParse(typ)}
		c.typ.NotNull = notNull
		w.nextID++
		w.cols = append(w.cols, c)
	}
	def := tarn.TableDef{Options: map[string]string{}}
	if w.partitioned {
		add("p", rapid.SampledFrom([]string{"STRING", "INT", "DATE", "BOOLEAN"}).Draw(t, "partition type"), w.keyed && !w.crossing)
		def.PartitionKeys = []string{"p"}
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "keys") {
		add(fmt.Sprint("k", i), rapid.SampledFrom(keyTypes).Draw(t, "key type"), w.keyed)
	}
	w.keys = len(w.cols)
	if w.keyed {
		for _, c := range w.keyColumns() {
			def.PrimaryKeys = append(def.PrimaryKeys, c.name)
		}
		w.drawKeyed(def.Options)
	} else if n := rapid.IntRange(0, 4).Draw(t, "bucket"); n > 0 {
		def.Options["bucket"], def.Options["bucket-key"] = fmt.Sprint(n), w.cols[w.keys-1].name
	}
	w.writeOnly = rapid.Bool().Draw(t, "write-only")
	if w.hides() {
		w.two = false // of two that compact one bucket the second one loses, and what it wrote waits for another compaction
	}
	def.Options["write-only"] = fmt.Sprint(w.writeOnly)
	if w.sequence {
		add("seq", "INT", false)
	}
	if w.rowKinds {
		add(kindColumn, "STRING", false)
	}
	if w.keyed {
		w.drawEngine(def.Options, add)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "values") {
		add(columns[i], rapid.SampledFrom(valueTypes).Draw(t, "value type"), rapid.IntRange(0, 3).Draw(t, "not null") == 0)
	}
	w.drawCommon(def.Options)
	def.Fields = fieldsOf(w.cols)
	t.Logf("fields %v keys %v partition %v options %v", def.Fields, def.PrimaryKeys, def.PartitionKeys, def.Options)
	w.reopen()
	w.must(w.cat.CreateDatabase(w.ctx, "d", nil))
	var err error
	w.tab, err = w.cat.CreateTable(w.ctx, "d.t", def)
	w.must(err)
	return w
}

func (w *world) drawKeyed(o map[string]string) {
	t := w.t
	o["bucket"] = fmt.Sprint(rapid.IntRange(1, 7).Draw(t, "bucket"))
	if !w.crossing && rapid.IntRange(0, 5).Draw(t, "postpone") == 0 {
		o["bucket"], o["postpone.default-bucket-num"] = "-2", fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "buckets"))
		if w.postponed = rapid.Bool().Draw(t, "put aside"); w.postponed {
			o["postpone.batch-write-fixed-bucket"] = "false"
		}
	}
	// Of two writers that give keys their buckets at a time, one has a conflict.
	if w.crossing || !w.two && o["bucket"] != "-2" && rapid.IntRange(0, 3).Draw(t, "dynamic") == 0 {
		o["bucket"] = "-1"
		o["dynamic-bucket.target-row-num"] = fmt.Sprint(rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "target-row-num"))
		if n := rapid.IntRange(0, 3).Draw(t, "max-buckets"); n > 0 {
			o["dynamic-bucket.max-buckets"] = fmt.Sprint(n)
		}
	}
	w.engine = rapid.SampledFrom(engines).Draw(t, "engine")
	if w.producer = rapid.SampledFrom(producers[w.engine]).Draw(t, "producer"); w.producer != "none" {
		o["changelog-producer"] = w.producer
		if w.tells() && rapid.Bool().Draw(t, "row-deduplicate") {
			o["changelog-producer.row-deduplicate"] = "true"
		}
	}
	w.sequence = rapid.IntRange(0, 2).Draw(t, "sequence") == 0 && !w.crossing && (w.engine == "deduplicate" || w.engine == "aggregation")
	if w.sequence {
		o["sequence.field"] = "seq"
		if w.descending = rapid.Bool().Draw(t, "descending"); w.descending {
			o["sequence.field.sort-order"] = "descending"
		}
	}
	if w.ignoreDelete = rapid.IntRange(0, 3).Draw(t, "ignore-delete") == 0 && !(w.crossing && w.engine == "deduplicate"); w.ignoreDelete {
		o["ignore-delete"] = "true"
	}
	if w.ignoreBefore = rapid.IntRange(0, 5).Draw(t, "ignore-update-before") == 0; w.ignoreBefore {
		o["ignore-update-before"] = "true"
	}
	if w.rowKinds = rapid.IntRange(0, 3).Draw(t, "rowkind.field") == 0; w.rowKinds {
		o["rowkind.field"] = kindColumn
	}
	drawSome(t, o, keyedOptions)
	o["data-file.thin-mode"] = fmt.Sprint(rapid.Bool().Draw(t, "thin"))
	o["num-sorted-run.compaction-trigger"] = fmt.Sprint(rapid.IntRange(2, 5).Draw(t, "trigger"))
	o["compaction.size-ratio"] = fmt.Sprint(rapid.SampledFrom([]int{0, 1, 50}).Draw(t, "size-ratio"))
	if rapid.Bool().Draw(t, "levels") {
		o["num-levels"] = fmt.Sprint(rapid.IntRange(2, 6).Draw(t, "num-levels"))
	}
	o["write-buffer-spillable"] = fmt.Sprint(rapid.Bool().Draw(t, "spillable"))
}

func (w *world) drawCommon(o map[string]string) {
	t := w.t
	drawSome(t, o, someOptions)
	w.wholeOverwrite = o["dynamic-partition-overwrite"] == "false"
	compressions := []string{"zstd", "none", "snappy", "lz4", "gzip"}
	if w.postponed { // in files of Avro, which is compressed by these
		compressions = []string{"zstd", "snappy"}
		delete(o, "file.compression.per.level")
	}
	o["file.compression"] = rapid.SampledFrom(compressions).Draw(t, "compression")
	o["write-buffer-size"] = rapid.SampledFrom([]string{"1 b", "2 kb", "1 mb"}).Draw(t, "buffer")
	if rapid.Bool().Draw(t, "small files") {
		o["target-file-size"] = rapid.SampledFrom([]string{"1 b", "2 kb"}).Draw(t, "target")
	}
	o["manifest.merge-min-count"] = fmt.Sprint(rapid.SampledFrom([]int{2, 3, 30}).Draw(t, "manifest merge"))
	o["metadata.stats-mode"] = rapid.SampledFrom([]string{"truncate(16)", "truncate(1)", "none", "counts", "full"}).Draw(t, "stats")
	if rapid.Bool().Draw(t, "small splits") {
		o["source.split.target-size"], o["source.split.open-file-cost"] = "1 b", "1 b"
	}
	if rapid.Bool().Draw(t, "manifest size") {
		o["manifest.target-file-size"], o["manifest.full-compaction-threshold-size"] = "1 kb", "1 b"
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
}

// reopen starts anew as another process would.
func (w *world) reopen() {
	w.closeWriters()
	var err error
	w.cat, err = tarn.Open(w.ctx, w.uri, nil)
	w.must(err)
	if w.tab != nil {
		w.tab, err = w.cat.Table(w.ctx, "d.t")
		w.must(err)
	}
}

func (w *world) closeWriters() {
	for i, x := range w.writers {
		if x != nil {
			w.must(x.w.Close())
			w.writers[i] = nil
		}
	}
}

// key is the primary key of a row.
func (w *world) key(r row) string { return r.text(w.keyColumns()) }

func (w *world) keyColumns() []column {
	if w.crossing {
		return w.cols[1:w.keys]
	}
	return w.cols[:w.keys]
}

// apply takes committed rows into the model.
func (w *world) apply(rows []row) {
	for _, r := range rows {
		if !w.keyed {
			w.plain = append(w.plain, r)
			continue
		}
		if w.dropped(r) {
			continue
		}
		k := w.key(r)
		w.byKey[k] = append(w.byKey[k], w.versionOf(r))
	}
}

func (w *world) versionOf(r row) version {
	v := version{row: r}
	if w.sequence {
		v.seq = r.get(w.column("seq"))
	}
	return v
}

// dropped reports whether the options of the table leave a row out when it is written.
func (w *world) dropped(r row) bool {
	return w.ignoreDelete && r.kind.IsRetract() || w.ignoreBefore && r.kind == types.UpdateBefore
}

func (w *world) column(name string) column {
	i := slices.IndexFunc(w.cols, func(c column) bool { return c.name == name })
	return w.cols[i]
}

// alive is the row of a key, if it has one.
func (w *world) alive(vs []version) (row, bool) {
	vs = slices.Clone(vs)
	if w.sequence {
		sort.SliceStable(vs, func(i, j int) bool {
			a, b := vs[i].seq, vs[j].seq
			switch {
			case b == nil:
				return false
			case a == nil:
				return true
			case w.descending:
				return b.(int64) < a.(int64)
			}
			return a.(int64) < b.(int64)
		})
	}
	if len(vs) == 0 {
		return row{}, false
	}
	return w.merged(vs)
}

// now is the state of the model.
func (w *world) now() state {
	return state{cols: slices.Clone(w.cols), rows: w.rows(w.plain, w.byKey), byKey: copied(w.byKey)}
}

// hides reports whether rows can be read only when they are compacted.
func (w *world) hides() bool { return w.engine == "first-row" || w.postponed }

// compacts reports whether what is committed is compacted, if that is what makes it seen.
func (w *world) compacts() bool { return !w.postponed && !w.writeOnly }

// shows is what a read of the newest snapshot has to show.
func (w *world) shows() state {
	if !w.hides() {
		return w.now()
	}
	return w.visible.shown(slices.Clone(w.cols))
}

// rows are the rows of a table to which these were written.
func (w *world) rows(plain []row, byKey map[string][]version) []row {
	if !w.keyed {
		return slices.Clone(plain)
	}
	var out []row
	for _, k := range slices.Sorted(maps.Keys(byKey)) {
		if r, ok := w.alive(byKey[k]); ok {
			out = append(out, r)
		}
	}
	return out
}

// committed notes the snapshots that a commit made. The last one shows what was written, if it was compacted; what those
// between show, of a table whose rows are seen when they are compacted, is between.
func (w *world) committed(r tarn.CommitResult, compacted bool) {
	for id := w.last + 1; id <= r.SnapshotID; id++ {
		w.states[id] = w.now()
	}
	w.last = max(w.last, r.SnapshotID)
	if compacted {
		w.visible = w.now()
	}
	if _, ok := w.seen[w.last]; !ok {
		w.seen[w.last] = w.shows().shown(w.states[w.last].cols)
	}
}

// newFS is the storage of a history.
func newFS() fileio.FS { return fileio.NewMem(fileio.MemOptions{}) }
