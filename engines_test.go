package tarn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
)

// merged is a table of a merge engine: commits, and the rows after each of them.
type merged struct {
	name, columns string
	options       opts
	commits       [][]string
	want          [][]string
}

// check writes the commits to three tables, which are compacted never, at the end, and after each commit.
func (m *merged) check(t *testing.T) {
	t.Helper()
	c := open(t)
	for i, when := range []string{"never", "last", "each"} {
		o := opts{"merge-engine": "aggregation"}
		for k, v := range m.options {
			o[k] = v
		}
		o["write-only"] = fmt.Sprint(when == "never")
		tab := declare(t, c, fmt.Sprint("d.", m.name, i), m.columns, "", o)
		for k, rows := range m.commits {
			put(t, tab, rows)
			if when == "each" || when == "last" && k == len(m.commits)-1 {
				compact(t, tab)
			}
			same(t, tab, "", "", m.want[k]...)
		}
	}
}

func TestAggregation(t *testing.T) {
	for _, m := range []merged{
		{
			"functions", "k! INT, s BIGINT, l STRING, f INT, d INT",
			opts{"fields.s.aggregate-function": "sum", "fields.f.aggregate-function": "first_value", "fields.l.aggregate-function": "last_value", "fields.default-aggregate-function": "product"},
			[][]string{{`[1,5,"a",1,2]`, `[2,7,"b",2,1]`}, {`[1,6,"b",3,4]`}, {`[1,null,null,4,null]`, `[1,1,"c",5,2]`, `[3,1,"x",1,1]`}},
			[][]string{{`[1,5,"a",1,2]`, `[2,7,"b",2,1]`}, {`[1,11,"b",1,8]`, `[2,7,"b",2,1]`}, {`[1,12,"c",1,16]`, `[2,7,"b",2,1]`, `[3,1,"x",1,1]`}},
		},
		{ // B021
			"sequences", "k! INT, v STRING, s0 INT, s1 INT",
			opts{"sequence.field": "s0,s1"},
			[][]string{{`[1,"A",null,9]`, `[1,"B",5,null]`}, {`[1,"C",5,0]`}, {`[1,"D",4,8]`}},
			[][]string{{`[1,"B",5,null]`}, {`[1,"C",5,0]`}, {`[1,"C",5,0]`}},
		},
		{ // B026
			"nothing to take from", "k! INT, v INT",
			opts{"fields.v.aggregate-function": "product"},
			[][]string{{`-U[1,3]`}, {`[1,6]`}},
			[][]string{nil, {`[1,6]`}},
		},
		{ // B027
			"removal", "k! INT, v INT NOT NULL",
			opts{"fields.v.aggregate-function": "sum", "aggregation.remove-record-on-delete": "true"},
			[][]string{{`[1,5]`}, {`-U[1,5]`, `+U[1,7]`}, {`-D[1,7]`}, {`-D[2,1]`}},
			[][]string{{`[1,5]`}, {`[1,7]`}, nil, nil},
		},
		{
			"deletes are taken off", "k! INT, v INT, m STRING",
			opts{"fields.v.aggregate-function": "sum", "fields.m.aggregate-function": "first_value", "fields.m.ignore-retract": "true"},
			[][]string{{`[1,5,"a"]`, `[1,2,"b"]`}, {`-D[1,4,"c"]`}},
			[][]string{{`[1,7,"a"]`}, {`[1,3,"a"]`}},
		},
	} {
		m.name = strings.ReplaceAll(m.name, " ", "_")
		t.Run(m.name, m.check)
	}
}

// B130: a file has each key once, its changelog all rows.
func TestAggregationOnFlush(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k! INT, v INT", "", opts{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "changelog-producer": "input"})
	put(t, tab, []string{"[1,2]", "[1,3]", "[2,1]"})
	same(t, tab, "", "", "[1,5]", "[2,1]")
	if got := systemRows(t, c, "d.t$snapshots", "delta_record_count,changelog_record_count"); len(got) == 0 || got[0] != "[2,3]" {
		t.Errorf("rows of data files and of the changelog: %v, want [2,3]", got)
	}
}

// B025: wrong options and rows that cannot be folded are told with the column, and what to do.
func TestAggregationRefuses(t *testing.T) {
	c := open(t)
	for i, x := range []struct {
		columns string
		options opts
		rows    []string
		want    []string
	}{
		{"k! INT, v TINYINT", opts{"fields.v.aggregate-function": "sum"}, []string{"[1,127]", "[1,1]"}, []string{`"v"`, "127 + 1", "TINYINT"}},
		{"k! INT, v INT", opts{"fields.v.aggregate-function": "max"}, []string{"[1,1]", "-U[1,1]"}, []string{`"v"`, "max", "fields.v.ignore-retract"}},
	} {
		x.options["merge-engine"], x.options["bucket"] = "aggregation", "1"
		tab := declare(t, c, fmt.Sprint("d.t", i), x.columns, "", x.options)
		w, err := tab.NewWriter(t.Context(), nil)
		if err == nil {
			if err = w.Write(t.Context(), rows(t, tab, objects(t, tab, x.rows)...)); err == nil {
				_, err = w.Commit(t.Context())
			}
			w.Close()
		}
		if err == nil {
			t.Errorf("%v: %v", x.options, err)
			continue
		}
		for _, part := range x.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: %q does not say %s", x.options, err, part)
			}
		}
	}
}

// The first row of a key stays. Readers see what was compacted, and writers that may compact do so when they commit.
func TestFirstRow(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k! INT, v STRING", "", opts{"merge-engine": "first-row"})
	put(t, tab, []string{`[1,"a"]`, `[1,"b"]`, `[2,"x"]`}, []string{`[1,"c"]`, `[3,"y"]`})
	same(t, tab, "", "", `[1,"a"]`, `[2,"x"]`, `[3,"y"]`)
	same(t, tab, "", `v = 'c'`)
	compact(t, tab)
	same(t, tab, "", "", `[1,"a"]`, `[2,"x"]`, `[3,"y"]`)

	late := declare(t, c, "d.late", "k! INT, v STRING", "", opts{"merge-engine": "first-row", "write-only": "true", "ignore-delete": "true"})
	put(t, late, []string{`[1,"a"]`}, []string{`-D[1,"a"]`, `[1,"b"]`})
	same(t, late, "", "")
	later, err := late.With(t.Context(), map[string]string{"write-only": "false"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := later.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	same(t, late, "", "", `[1,"a"]`)

	w, err := tab.NewWriter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err = w.Write(t.Context(), rows(t, tab, objects(t, tab, []string{`-D[1,"a"]`})...)); err == nil {
		_, err = w.Commit(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "ignore-delete") {
		t.Errorf("a delete: %v", err)
	}
}

// Columns of the partition are no values to an engine: what is taken back leaves them as they are.
func TestTakenBackInPartitions(t *testing.T) {
	c := open(t)
	for name, o := range map[string]opts{
		"aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
		"partial":     {"merge-engine": "partial-update", "fields.g.sequence-group": "v", "fields.v.aggregate-function": "sum"},
	} {
		tab := declare(t, c, "d."+name, "p! STRING, k! INT, v INT, g INT", "", o, "p")
		put(t, tab, []string{`["a",1,5,1]`, `["b",1,7,1]`}, []string{`-D["a",1,2,2]`})
		same(t, tab, "p,k,v", "", `["a",1,3]`, `["b",1,7]`)
		compact(t, tab)
		same(t, tab, "p,k,v", "", `["a",1,3]`, `["b",1,7]`)
		same(t, tab, "v", "p = 'a'", `[3]`)
	}
}
