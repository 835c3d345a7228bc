package tarn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
)

// B018: groups are independent; a NULL sequence leaves its group alone, a greater one overwrites with NULL too. The
// order of the commits does not matter.
func TestSequenceGroupsInAnyOrder(t *testing.T) {
	c := open(t)
	rows := []string{"[1,10,3,1,1]", "[1,20,null,2,2]", "[1,30,2,null,null]", "[1,null,4,null,null]"}
	n := 0
	var orders func(left []string, order []string)
	orders = func(left, order []string) {
		for i := range left {
			rest := append(append([]string{}, left[:i]...), left[i+1:]...)
			orders(rest, append(order[:len(order):len(order)], left[i]))
		}
		if len(left) > 0 {
			return
		}
		n++
		tab := declare(t, c, fmt.Sprintf("d.g%d", n), "k! INT, a INT, g1 INT, b INT, g2 INT", "", opts{
			"merge-engine": "partial-update", "fields.g1.sequence-group": "a", "fields.g2.sequence-group": "b",
		})
		for _, r := range order {
			put(t, tab, []string{r})
		}
		mergedAndCompacted(t, tab, func(t *testing.T) {
			same(t, tab, "", "", "[1,null,4,2,2]")
			same(t, tab, "a", "", "[null]")
			same(t, tab, "k", "a IS NULL AND b = 2", "[1]")
			same(t, tab, "k", "a = 10")
		})
	}
	orders(rows, nil)
}

// B019: the column that orders a group is never aggregated, and a column outside of all groups cannot be.
func TestAggregatesOfSequenceGroups(t *testing.T) {
	c := open(t)
	o := opts{"merge-engine": "partial-update", "fields.s.sequence-group": "v", "fields.default-aggregate-function": "sum"}
	tab := declare(t, c, "d.t", "k! INT, s INT, v INT", "", o)
	put(t, tab, []string{"[0,1,5]"}, []string{"[0,3,6]"}, []string{"[0,2,7]"}, []string{"[0,null,100]"})
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", "[0,3,18]") })
	put(t, tab, []string{"-D[0,1,5]"})
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", "[0,3,13]") })
	for name, bad := range map[string]opts{
		"fields.v.aggregate-function":       {"fields.v.aggregate-function": "max"},
		"fields.default-aggregate-function": {"fields.default-aggregate-function": "max"},
		"partial-update.remove-record-on-delete": {
			"partial-update.remove-record-on-delete": "true", "ignore-delete": "true",
		},
		"partial-update.remove-record-on-sequence-group": {"partial-update.remove-record-on-sequence-group": "v", "fields.s.sequence-group": "v"},
	} {
		bad["merge-engine"], bad["bucket"] = "partial-update", "1"
		_, err := c.CreateTable(t.Context(), "d.bad", tarn.TableDef{Fields: fields("k", "INT NOT NULL", "s", "INT", "v", "INT"), PrimaryKeys: []string{"k"}, Options: bad})
		if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// B029: values of columns of different versions stay with their rows.
func TestPartialUpdatesOfNestedColumns(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT, a ARRAY<ROW<n STRING,m STRING>>, s STRING", "", opts{"merge-engine": "partial-update"})
	put(t, tab, []string{`[1,[{"n":"p","m":"q"},{"n":"r","m":"t"}],null]`, `[2,[{"n":"u","m":"v"}],"x"]`}, []string{`[1,null,"y"]`})
	mergedAndCompacted(t, tab, func(t *testing.T) {
		same(t, tab, "", "", `[1,[{"n":"p","m":"q"},{"n":"r","m":"t"}],"y"]`, `[2,[{"n":"u","m":"v"}],"x"]`)
	})
}

// B017: a delete that removes the row leaves nothing to the rows after it.
func TestDeletesOfPartialUpdates(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.row", "k! INT, a STRING, b STRING", "", opts{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"})
	put(t, tab, []string{`[1,null,"pear"]`, `[2,"a","b"]`}, []string{`-D[1,null,null]`, `-U[2,"x","y"]`})
	same(t, tab, "", "", `[2,"a","b"]`)
	put(t, tab, []string{`[1,null,"fig"]`}, []string{`[1,"Z",null]`})
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", `[1,"Z","fig"]`, `[2,"a","b"]`) })

	group := opts{"merge-engine": "partial-update", "fields.g,h.sequence-group": "a", "fields.s.sequence-group": "b"}
	tab = declare(t, c, "d.null", "k! INT, g INT, h INT, a INT, s INT, b INT, c INT", "", group)
	put(t, tab, []string{"[1,1,1,10,5,50,7]"}, []string{"-D[1,1,2,null,4,null,null]"})
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", "[1,1,2,null,5,50,7]") })
	put(t, tab, []string{"[1,1,1,11,null,51,null]"}, []string{"[1,2,null,12,6,null,8]"})
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", "[1,2,null,12,6,null,8]") })

	group["partial-update.remove-record-on-sequence-group"] = "s"
	tab = declare(t, c, "d.remove", "k! INT, g INT, h INT, a INT, s INT, b INT, c INT", "", group)
	put(t, tab, []string{"[1,1,1,10,5,50,7]", "[2,1,1,10,5,50,7]"}, []string{"-D[1,null,null,null,5,null,null]", "-D[2,null,null,null,4,null,null]"})
	mergedAndCompacted(t, tab, func(t *testing.T) {
		same(t, tab, "", "", "[2,1,1,10,5,50,7]")
		same(t, tab, "c", "", "[7]")
	})

	tab = declare(t, c, "d.ignore", "k! INT, a INT", "", opts{"merge-engine": "partial-update", "ignore-delete": "true"})
	put(t, tab, []string{"[1,1]"}, []string{"-D[1,1]"})
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", "[1,1]") })

	tab = declare(t, c, "d.none", "k! INT, a INT", "", opts{"merge-engine": "partial-update"})
	put(t, tab, []string{"[1,1]"})
	for _, kind := range []string{"-D", "-U"} {
		w, err := tab.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(t.Context(), rows(t, tab, objects(t, tab, []string{kind + "[1,1]"})...))
		w.Close()
		for _, want := range []string{kind, "ignore-delete", "partial-update.remove-record-on-delete", "sequence-group"} {
			if err == nil || !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %s", kind, err, want)
			}
		}
	}
	same(t, tab, "", "", "[1,1]")
}
