package tarn_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// Faults that other implementations of the format had, as cases with the result that is right. The
// numbers B… are those of the project's list of such faults. Tables are declared and rows are written
// as text: columns "k! INT, v STRING" (! is the primary key), rows as JSON arrays.

type opts map[string]string

// declare creates a table of a declaration in the order of its columns; key, if not "", is the order of
// the primary key. Tables with a key have one bucket unless said otherwise.
func declare(t testing.TB, c *tarn.Catalog, name, columns, key string, o opts, partition ...string) *tarn.Table {
	t.Helper()
	tab, err := c.CreateTable(t.Context(), name, tableOf(columns, key, o, partition...))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// tableOf defines a table as declare makes it.
func tableOf(columns, key string, o opts, partition ...string) tarn.TableDef {
	def := tarn.TableDef{Options: maps.Clone(o), PartitionKeys: partition}
	depth, start := 0, 0
	for i, r := range columns + "," {
		switch r {
		case '(', '<':
			depth++
		case ')', '>':
			depth--
		case ',':
			if depth > 0 {
				continue
			}
			n, typ, _ := strings.Cut(strings.TrimSpace(columns[start:i]), " ")
			if k, ok := strings.CutSuffix(n, "!"); ok {
				n, def.PrimaryKeys = k, append(def.PrimaryKeys, k)
			}
			def.Fields = append(def.Fields, types.Field{Name: n, Type: types.MustParse(typ)})
			start = i + 1
		}
	}
	if key != "" {
		def.PrimaryKeys = strings.Split(key, ",")
	}
	if def.Options == nil {
		def.Options = map[string]string{}
	}
	if _, ok := def.Options["bucket"]; !ok && len(def.PrimaryKeys) > 0 {
		def.Options["bucket"] = "1"
	}
	return def
}

// objects makes the rows of a commit: `[1,"a"]`, with a kind before it where it is no insert: `-D[1,"a"]`.
func objects(t testing.TB, tab *tarn.Table, lines []string) []string {
	t.Helper()
	f, err := tab.Fields()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		kind, list, _ := strings.Cut(l, "[")
		var vals []json.RawMessage
		if err := json.Unmarshal([]byte("["+list), &vals); err != nil || len(vals) > len(f) {
			t.Fatalf("row %s: %v", l, err)
		}
		var parts []string
		if kind != "" {
			parts = append(parts, fmt.Sprintf(`"_kind":%q`, kind))
		}
		for k, v := range vals {
			parts = append(parts, fmt.Sprintf("%q:%s", f[k].Name, v))
		}
		out[i] = "{" + strings.Join(parts, ",") + "}"
	}
	return out
}

// put commits rows, each list of them as a commit of its own by a writer of its own.
func put(t testing.TB, tab *tarn.Table, commits ...[]string) {
	t.Helper()
	for _, c := range commits {
		write(t, tab, objects(t, tab, c))
	}
}

// valuesOf turns an object into the list of its values.
func valuesOf(t testing.TB, object []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	var vals []string
	for d.More() {
		var v json.RawMessage
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		vals = append(vals, string(v))
	}
	return "[" + strings.Join(vals, ",") + "]"
}

// get reads a table as its newest schema has it: columns "" is all, where is a condition.
func get(t testing.TB, tab *tarn.Table, columns, where string, limit int64) []string {
	t.Helper()
	tab, err := tab.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := tarn.ScanOptions{Limit: limit}
	if columns != "" {
		o.Columns = strings.Split(columns, ",")
	}
	if where != "" {
		f, err := tab.Fields()
		if err != nil {
			t.Fatal(err)
		}
		if o.Filter, err = predicate.Parse(where, f); err != nil {
			t.Fatal(err)
		}
	}
	out := []string{}
	for _, l := range read(t, tab, o) {
		out = append(out, valuesOf(t, []byte(l)))
	}
	return out
}

// same compares the rows of a table with those wanted, in any order.
func same(t testing.TB, tab *tarn.Table, columns, where string, want ...string) {
	t.Helper()
	got := get(t, tab, columns, where, 0)
	want = slices.Sorted(slices.Values(want))
	slices.Sort(got)
	if d := cmp.Diff(append([]string{}, want...), got); d != "" {
		t.Errorf("%s: columns %q where %q (-want +got):\n%s", tab.Name(), columns, where, d)
	}
}

func compact(t testing.TB, tab *tarn.Table) {
	t.Helper()
	tab, err := tab.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
}

// alter changes a table and gives it with its new schema.
func alter(t testing.TB, tab *tarn.Table, changes ...tarn.SchemaChange) *tarn.Table {
	t.Helper()
	if err := tab.Alter(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
	tab, err := tab.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// mergedAndCompacted calls f before and after a full compaction.
func mergedAndCompacted(t *testing.T, tab *tarn.Table, f func(t *testing.T)) {
	t.Helper()
	t.Run("merged", f)
	compact(t, tab)
	t.Run("compacted", f)
}

// B001: a filter on another column than the key leaves out no file that hides rows of others.
func TestValueFiltersDoNotUncoverOldRows(t *testing.T) {
	for _, split := range []string{"1 b", "128 mb"} {
		tab := declare(t, open(t), "d.t", "k! INT,s STRING", "", opts{"write-only": "true", "source.split.target-size": split, "source.split.open-file-cost": "1 b"})
		put(t, tab, []string{`[1,"old"]`, `[2,"two"]`}, []string{`[1,"new"]`}, []string{`[9,"old"]`})
		mergedAndCompacted(t, tab, func(t *testing.T) {
			same(t, tab, "", "s = 'old'", `[9,"old"]`)
			same(t, tab, "", "s = 'new'", `[1,"new"]`)
			same(t, tab, "", "k = 1", `[1,"new"]`)
			same(t, tab, "k", "k = 1 AND s = 'old'")
			same(t, tab, "", "k = 1 OR s = 'old'", `[1,"new"]`, `[9,"old"]`)
		})
	}
}

// B002: files that overlap are read together, and only what needs no merging is raw.
func TestSplitsKeepKeysTogether(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT,v INT", "", opts{"write-only": "true", "source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"})
	put(t, tab, []string{"[1,10]", "[5,50]"}, []string{"[1,11]"}, []string{"[9,90]"})
	p, err := tab.Scan(tarn.ScanOptions{}).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	splits, err := p.Splits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var files []int
	for _, s := range splits {
		files = append(files, len(s.Files))
		if len(s.Files) > 1 && s.Raw {
			t.Errorf("split %v is read without merging", s.Files)
		}
	}
	slices.Sort(files)
	if !slices.Equal(files, []int{1, 2}) {
		t.Errorf("splits have %v files, want those of key 1 in one, the other alone", files)
	}
	same(t, tab, "", "", "[1,11]", "[5,50]", "[9,90]")
	put(t, tab, []string{"-D[9,90]"})
	same(t, tab, "", "", "[1,11]", "[5,50]")
	compact(t, tab)
	same(t, tab, "", "", "[1,11]", "[5,50]")
}

// B003: a file that a compaction moves to another level without rewriting it stays in the table.
func TestUpgradedFileStays(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT,v INT", "", opts{"manifest.merge-min-count": "1", "manifest.full-compaction-threshold-size": "1 b"})
	var in []string
	for i := range 100 {
		in = append(in, fmt.Sprintf("[%d,%d]", i, i))
	}
	put(t, tab, in)
	before, err := tab.FileNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compact(t, tab)
	after, err := tab.FileNames(t.Context())
	if err != nil || !maps.Equal(before, after) {
		t.Errorf("files %v became %v (%v): the file was rewritten", before, after, err)
	}
	same(t, tab, "", "", in...)
	put(t, tab, []string{"[100,0]"}, []string{"[101,0]"}) // manifests are merged
	same(t, tab, "", "", append(in, "[100,0]", "[101,0]")...)
}

// B006: keys, bounds and order follow the declaration of the primary key, not of the columns.
func TestKeyOrderIsTheDeclaredOne(t *testing.T) {
	tab := declare(t, open(t), "d.t", "cust BIGINT,ord BIGINT,amt BIGINT", "ord,cust", opts{"write-only": "true"})
	put(t, tab, []string{"[7,1,10]", "[3,2,20]", "[5,3,30]"}, []string{"[3,2,99]"})
	mergedAndCompacted(t, tab, func(t *testing.T) {
		same(t, tab, "", "", "[7,1,10]", "[3,2,99]", "[5,3,30]")
		same(t, tab, "amt", "cust = 7", "[10]")
		same(t, tab, "amt", "ord = 2 AND cust = 3", "[99]")
	})
	f, err := tab.With(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := f.Check(t.Context()); err != nil || len(r.Problems) > 0 {
		t.Errorf("check: %+v, %v", r, err)
	}
}

// B009: a filter is of columns, not of positions: columns that are not read may be in it.
func TestFilterOnColumnsNotRead(t *testing.T) {
	tab := declare(t, open(t), "d.t", "a INT,b INT,c INT,pt STRING", "", nil, "pt")
	put(t, tab, []string{`[1,10,100,"x"]`, `[2,20,200,"y"]`})
	same(t, tab, "a", "c > 150", "[2]")
	same(t, tab, "c,a", "b = 10", "[100,1]")
	same(t, tab, "a", "pt = 'y'", "[2]")
	same(t, tab, "pt,a", "c < 150 OR pt = 'z'", `["x",1]`)
}

// B013: LIMIT counts rows that there are, not rows of files.
func TestLimitCountsRows(t *testing.T) {
	c := open(t)
	pk := declare(t, c, "d.pk", "k! INT,v STRING", "", opts{"write-only": "true", "source.split.target-size": "1 b"})
	put(t, pk, []string{`[1,"a"]`}, []string{`[1,"b"]`}, []string{`[2,"c"]`}, []string{`[3,"d"]`}, []string{`-D[3,"d"]`})
	for limit, want := range []int{2, 1, 2, 2} {
		if got := get(t, pk, "", "", int64(limit)); len(got) != want {
			t.Errorf("limit %d gives %v", limit, got)
		}
	}
	plain := declare(t, c, "d.plain", "id INT,s STRING", "", opts{"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b", "write-only": "true"})
	for f := range 10 {
		var in []string
		for i := range 100 {
			in = append(in, fmt.Sprintf(`[%d,"s%d"]`, f*100+i, i))
		}
		put(t, plain, in)
	}
	if got := get(t, plain, "id", "id = 950", 1); !slices.Equal(got, []string{"[950]"}) {
		t.Errorf("id = 950: %v", got)
	}
	if got := get(t, plain, "id", "s = 's7'", 5); len(got) != 5 {
		t.Errorf("s = 's7': %v", got)
	}
	if got := get(t, plain, "", "", 250); len(got) != 250 {
		t.Errorf("limit 250 gives %d rows", len(got))
	}
}

// B030: columns that the merge needs do not have to be read.
func TestProjectionOfMergedRows(t *testing.T) {
	for _, thin := range []string{"false", "true"} {
		tab := declare(t, open(t), "d.t", "k! INT,s INT,v STRING", "", opts{"sequence.field": "s", "write-only": "true", "data-file.thin-mode": thin})
		put(t, tab, []string{`[1,9,"n"]`}, []string{`[1,3,"o"]`}, []string{`[2,1,"x"]`}, []string{`-D[2,5,"x"]`})
		mergedAndCompacted(t, tab, func(t *testing.T) {
			same(t, tab, "v", "", `["n"]`)
			same(t, tab, "k", "", "[1]")
			same(t, tab, "v,k", "", `["n",1]`)
			same(t, tab, "v", "s = 9", `["n"]`)
			same(t, tab, "v", "s = 3")
			if got := get(t, tab, "s", "", 0); !slices.Equal(got, []string{"[9]"}) {
				t.Errorf("s: %v", got)
			}
		})
	}
}

// B031: ignore-delete holds for deletes that are in files already, and for those of rowkind.field.
func TestIgnoreDeleteFromNowOn(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k! INT,v STRING", "", opts{"write-only": "true"})
	put(t, tab, []string{`[1,"A"]`}, []string{`-D[1,"A"]`})
	same(t, tab, "", "")
	tab = alter(t, tab, tarn.SetOption{Key: "ignore-delete", Value: "true"})
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", `[1,"A"]`) })

	kinds := declare(t, c, "d.kinds", "k! INT,v STRING,op STRING", "", opts{"rowkind.field": "op", "ignore-delete": "true"})
	put(t, kinds, []string{`[1,"x","+I"]`}, []string{`[1,"x","-D"]`})
	mergedAndCompacted(t, kinds, func(t *testing.T) { same(t, kinds, "k,v", "", `[1,"x"]`) })

	plain := declare(t, c, "d.deletes", "k! INT,v STRING,op STRING", "", opts{"rowkind.field": "op"})
	put(t, plain, []string{`[1,"x","+I"]`, `[2,"y","+I"]`}, []string{`[1,"x","-D"]`, `[2,"z","+U"]`})
	same(t, plain, "k,v", "", `[2,"z"]`)
}
