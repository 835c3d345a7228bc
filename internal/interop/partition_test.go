package interop

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/types"
)

// folders gives the folders of the partitions of a table.
func (tab table) folders(t testing.TB, depth int) []string {
	t.Helper()
	root := strings.TrimPrefix(tab.open(t).Path(), "file://")
	pattern := root
	for range depth {
		pattern = filepath.Join(pattern, "*=*")
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		rel, err := filepath.Rel(root, f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rel)
	}
	slices.Sort(out)
	return out
}

// TestPartitions partitions by every type, both ways of naming folders, with and without another name
// for NULL: the folders of both sides are the same ones, and each side reads, overwrites and empties
// partitions that the other made.
func TestPartitions(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	n := 0
	// A table for each three types; binary ones, whose old names only tarn has, have tables of their own.
	var binary, other []string
	for _, a := range keyTypes() {
		if k := types.MustParse(a).Kind; k == types.Binary || k == types.Varbinary {
			binary = append(binary, a)
		} else {
			other = append(other, a)
		}
	}
	kinds := append(slices.Collect(slices.Chunk(other, 3)), []string{"STRING"})
	for _, a := range binary {
		kinds = append(kinds, []string{a})
	}
	for _, parts := range kinds {
		for _, legacy := range []string{"true", "false"} {
			if legacy == "true" && slices.Contains(binary, parts[0]) {
				continue // named by the identity of a Java object
			}
			n++
			d := definition{columns: []column{{name: "v", typ: "INT"}}, options: map[string]string{"partition.legacy-name": legacy}}
			if n%3 == 0 {
				d.options["partition.default-name"] = "none at all=%"
			}
			most := 0
			for i, p := range parts {
				name := fmt.Sprintf("p %d=", i)
				d.columns = append(d.columns, column{name: name, typ: p})
				d.partitions = append(d.partitions, name)
				most = max(most, len(partitionValues(types.MustParse(p)))+1)
			}
			var made [2]table
			var rows []row
			for i, by := range sides {
				made[i] = l.create(t, side(n%2 == 0), fmt.Sprintf("d.p%d_%s", n, by), d)
				if rows == nil {
					for r := range most {
						fixed := map[string]string{"v": fmt.Sprint(r)}
						for c, p := range parts {
							vals := append(partitionValues(types.MustParse(p)), "null")
							fixed[d.partitions[c]] = vals[(r+c)%len(vals)]
						}
						rows = append(rows, row{object: rowOf(made[i].fields(t), 0, fixed)})
					}
				}
				made[i].write(t, by, rows...)
			}
			ours, theirs := made[0].folders(t, len(parts)), made[1].folders(t, len(parts))
			if !slices.Equal(ours, theirs) {
				t.Errorf("partitions by %v, legacy names %s: folders\n\there %q\n\tJava %q", parts, legacy, ours, theirs)
			}
			what := fmt.Sprintf("partitions by %v, legacy names %s", parts, legacy)
			for i, by := range sides {
				tab := made[i]
				tab.write(t, !by, rows...)
				if got := tab.same(t, what, nil); len(got) != 2*len(rows) {
					t.Errorf("%s: %d rows of %d", what, len(got), 2*len(rows))
				}
				if now := tab.folders(t, len(parts)); !slices.Equal(now, theirs) {
					t.Errorf("%s: folders after both have written %q, by Java alone %q", what, now, theirs)
				}
				overwriter, compactor := !by, by
				if slices.Contains(binary, parts[0]) {
					overwriter, compactor = here, here // the reference fails
				}
				tab.overwrite(t, overwriter, nil, false, rows[:len(rows)/2]...)
				if got := tab.same(t, what+", overwritten", nil); len(got) != 2*len(rows)-len(rows)/2 {
					t.Errorf("%s: %d rows after half of the partitions were overwritten", what, len(got))
				}
				tab.compact(t, compactor)
				tab.same(t, what+", compacted", nil)
				tab.sound(t)
			}
		}
	}
}

// partitionValues are values whose folders can be made.
func partitionValues(t types.Type) []string {
	vals := slices.DeleteFunc(valuesOf(t), func(v string) bool {
		return len(v) > 100
	})
	if t.Kind == types.Varbinary {
		vals = append(vals, `"eda080"`, `"e6bc"`, `"e6bc41"`, `"f09f98"`, `"f09f9841"`, `"f5808080"`, `"c3"`, `"c0af"`, `"f0808080"`, `"e08080"`, `"41ff42"`, `"2f2e2e2f"`, `"ed"`, `"f48fbfbfbf"`)
	}
	if t.Kind == types.Varchar && t.Length > 100 {
		vals = append(vals, `"a/b"`, `"a=b:c%d"`, `"{[^]}"`, `"#?'*<>|"`, `"null"`, `"__DEFAULT_PARTITION__"`, `"\u007f"`, `"   "`)
	}
	return vals
}
