package tarn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// withJava gives a lake that the reference works on too.
func withJava(t *testing.T) (*tarn.Catalog, *tarntest.Oracle, bool) {
	t.Helper()
	c := open(t)
	o, ok := tarntest.StartOracle(t, "", c.Warehouse())
	return c, o, ok
}

// javaPut lets the reference commit rows.
func javaPut(t testing.TB, o *tarntest.Oracle, tab *tarn.Table, lines ...string) {
	t.Helper()
	var rs []tarntest.Command
	for i, l := range objects(t, tab, lines) {
		kind, _, _ := strings.Cut(lines[i], "[")
		if kind == "" {
			kind = "+I"
		}
		l = strings.Replace(l, fmt.Sprintf(`"_kind":%q,`, kind), "", 1)
		rs = append(rs, tarntest.Command{"kind": kind, "row": json.RawMessage(l)})
	}
	o.Do(t, tarntest.Command{"op": "write", "table": tab.Name(), "rows": rs})
}

// bothSee compares what the reference and tarn read.
func bothSee(t testing.TB, o *tarntest.Oracle, tab *tarn.Table, want ...string) {
	t.Helper()
	same(t, tab, "", "", want...)
	javaSees(t, o, tab, tarntest.Command{}, want...)
}

func javaSees(t testing.TB, o *tarntest.Oracle, tab *tarn.Table, more tarntest.Command, want ...string) {
	t.Helper()
	got := []string{}
	for _, r := range o.Read(t, tab.Name(), more) {
		var x struct{ Row json.RawMessage }
		if err := json.Unmarshal(r, &x); err != nil {
			t.Fatal(err)
		}
		got = append(got, valuesOf(t, x.Row))
	}
	slices.Sort(got)
	if d := cmp.Diff(append([]string{}, slices.Sorted(slices.Values(want))...), got); d != "" {
		t.Errorf("%s, read by the reference (-want +got):\n%s", tab.Name(), d)
	}
}

// B005: both sides put a key into the same bucket, so the one's upsert replaces the other's row.
func TestBucketsOfBothSides(t *testing.T) {
	c, o, ok := withJava(t)
	if !ok {
		return
	}
	for i, x := range []struct {
		columns, key string
		o            opts
		a, b         []string
		bucket       int
	}{
		{"k! INT,v INT", "", nil, []string{"[1,1]"}, []string{"[1,2]"}, 2},
		{"k! INT,v INT", "", nil, []string{"[-1,1]"}, []string{"[-1,2]"}, 3},
		{"k! INT,v INT", "", nil, []string{"[-2147483648,1]"}, []string{"[-2147483648,2]"}, 3},
		{"s! STRING,k! INT,v INT", "", nil, []string{`["abcdefghij",1,1]`}, []string{`["abcdefghij",1,2]`}, 3},
		{"s! STRING,k! INT,v INT", "", nil, []string{`["abcdefg",1,1]`}, []string{`["abcdefg",1,2]`}, 1},
		{"cust! BIGINT,ord! BIGINT,v INT", "ord,cust", nil, []string{"[7,1,1]"}, []string{"[7,1,2]"}, -1},
		{"a! INT,b! INT,v INT", "", opts{"bucket-key": "b"}, []string{"[1,2,1]"}, []string{"[1,2,2]"}, -1},
		{"a! DOUBLE,b! DECIMAL(20,3),d! DATE,v INT", "", nil, []string{`[-1.5,"3.125","1969-01-01",1]`}, []string{`[-1.5,"3.125","1969-01-01",2]`}, -1},
		{"k INT,v INT", "", opts{"bucket-key": "k"}, []string{"[null,1]"}, []string{"[null,2]"}, 0},
	} {
		if x.o == nil {
			x.o = opts{}
		}
		x.o["bucket"] = "4"
		for _, javaFirst := range []bool{false, true} {
			tab := declare(t, c, fmt.Sprintf("d.b%d%t", i, javaFirst), x.columns, x.key, x.o)
			if javaFirst {
				javaPut(t, o, tab, x.a...)
				put(t, tab, x.b)
			} else {
				put(t, tab, x.a)
				javaPut(t, o, tab, x.b...)
			}
			want := x.b
			if !tab.HasPrimaryKey() {
				want = append(slices.Clone(x.a), x.b...)
			}
			bothSee(t, o, tab, want...)
			p, err := tab.Scan(tarn.ScanOptions{}).Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			splits, err := p.Splits(t.Context())
			if err != nil || len(splits) != 1 || x.bucket >= 0 && splits[0].Bucket != x.bucket {
				t.Errorf("%s %v: splits %+v (%v), want bucket %d", x.columns, x.a, splits, err, x.bucket)
			}
		}
	}
}

// B006, B022, B031: the reference reads, changes and compacts what tarn wrote, and back.
func TestReferenceGoesOn(t *testing.T) {
	c, o, ok := withJava(t)
	if !ok {
		return
	}
	order := declare(t, c, "d.keyorder", "cust BIGINT,ord BIGINT,amt BIGINT", "ord,cust", opts{"write-only": "true"})
	put(t, order, []string{"[7,1,10]", "[3,2,20]", "[5,3,30]"}, []string{"[3,2,99]"})
	bothSee(t, o, order, "[7,1,10]", "[3,2,99]", "[5,3,30]")
	javaPut(t, o, order, "[7,1,11]", "-D[5,3,30]")
	bothSee(t, o, order, "[7,1,11]", "[3,2,99]")
	compact(t, order)
	bothSee(t, o, order, "[7,1,11]", "[3,2,99]")
	javaPut(t, o, order, "[7,1,12]")
	o.Do(t, tarntest.Command{"op": "compact", "table": "d.keyorder"})
	bothSee(t, o, order, "[7,1,12]", "[3,2,99]")

	// In one commit the reference of this release takes the largest (fixed in 2.0); tarn's buffer has the smallest.
	desc := declare(t, c, "d.descending", "k! STRING,v STRING,s BIGINT", "", opts{"sequence.field": "s", "sequence.field.sort-order": "descending", "write-only": "true"})
	put(t, desc, []string{`["a","x",2]`, `["a","y",7]`, `["a","z",4]`})
	bothSee(t, o, desc, `["a","x",2]`)
	javaPut(t, o, desc, `["a","w",3]`)
	bothSee(t, o, desc, `["a","x",2]`)
	compact(t, desc)
	bothSee(t, o, desc, `["a","x",2]`)

	ignore := declare(t, c, "d.ignore", "k! INT,v STRING", "", opts{"write-only": "true"})
	put(t, ignore, []string{`[1,"A"]`}, []string{`-D[1,"A"]`})
	ignore = alter(t, ignore, tarn.SetOption{Key: "ignore-delete", Value: "true"})
	bothSee(t, o, ignore, `[1,"A"]`)
	compact(t, ignore)
	bothSee(t, o, ignore, `[1,"A"]`)
}

// B003: manifests of a compaction that only moved a file are read by both sides, merged or not.
func TestReferenceReadsUpgradedFiles(t *testing.T) {
	c, o, ok := withJava(t)
	if !ok {
		return
	}
	tab := declare(t, c, "d.t", "k! INT,v INT", "", opts{"manifest.merge-min-count": "2", "manifest.full-compaction-threshold-size": "1 b"})
	javaPut(t, o, tab, "[1,1]", "[2,2]")
	compact(t, tab)
	bothSee(t, o, tab, "[1,1]", "[2,2]")
	put(t, tab, []string{"[3,3]"})
	o.Do(t, tarntest.Command{"op": "compact", "table": tab.Name()})
	bothSee(t, o, tab, "[1,1]", "[2,2]", "[3,3]")
	put(t, tab, []string{"-D[1,1]"}, []string{"[2,22]"})
	bothSee(t, o, tab, "[2,22]", "[3,3]")
}

// B011, B062: partitions of one side are found, filtered and replaced by the other.
func TestPartitionsOfBothSides(t *testing.T) {
	c, o, ok := withJava(t)
	if !ok {
		return
	}
	for i, x := range []struct {
		typ  string
		rows []string
	}{
		{"DATE", []string{`[1,"2021-01-01"]`, `[2,null]`, `[3,"1969-12-31"]`}},
		{"STRING", []string{`[1,""]`, `[2,null]`, `[3,"a/b=c d%ä:*"]`, `[4," "]`}},
		{"TIMESTAMP(3)", []string{`[1,"2024-01-01T12:30:00.000000000"]`, `[2,"2024-01-01T00:00:00.000000000"]`, `[3,"2024-01-01T12:30:12.345000000"]`}},
		{"TIMESTAMP(6)", []string{`[1,"2024-01-01T12:30:00.000001000"]`, `[2,"1969-12-31T23:59:59.500000000"]`}},
		{"DOUBLE", []string{`[1,0.25]`, `[2,-0.5]`, `[3,"NaN"]`}},
		{"DECIMAL(5,2)", []string{`[1,"-1.50"]`, `[2,"0.00"]`}},
		{"BOOLEAN", []string{`[1,true]`, `[2,null]`}},
		{"TIME(3)", []string{`[1,"12:30:00.000"]`, `[2,"12:30:00.500"]`}},
	} {
		for _, legacy := range []string{"true", "false"} {
			tab := declare(t, c, fmt.Sprintf("d.p%d%s", i, legacy), "id INT,p "+x.typ, "", opts{"partition.legacy-name": legacy}, "p")
			put(t, tab, x.rows)
			javaPut(t, o, tab, x.rows...)
			bothSee(t, o, tab, append(slices.Clone(x.rows), x.rows...)...)
			p, err := tab.Scan(tarn.ScanOptions{}).Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			splits, err := p.Splits(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			dirs := map[string]string{}
			for _, s := range splits {
				for _, f := range s.Files {
					dir := f[:strings.LastIndex(f, "/")]
					if was, ok := dirs[s.Partition]; ok && was != dir {
						t.Errorf("%s: partition %s lies in %s and %s", x.typ, s.Partition, was, dir)
					}
					dirs[s.Partition] = dir
				}
			}
			compact(t, tab)
			bothSee(t, o, tab, append(slices.Clone(x.rows), x.rows...)...)
		}
	}
}

// B066, B067: the reference's filters on tarn's statistics lose no row.
func TestReferenceFiltersOnOurStatistics(t *testing.T) {
	c, o, ok := withJava(t)
	if !ok {
		return
	}
	top := strings.Repeat("\U0010FFFF", 20)
	long := "aaaaaaaaaaaaaaaaZZ"
	odd := "ääääääääääääääää\uffffx"
	r := []string{`[1,"` + long + `",null]`, `[3,"b",5]`, `[4,"` + top + `",11]`, `[5,"` + odd + `",null]`}
	for _, key := range []string{"k INT", "k! INT"} {
		tab := declare(t, c, "d."+strings.TrimSuffix(strings.Fields(key)[0], "!")+fmt.Sprint(len(key)), key+",s STRING,v INT", "", opts{"write-only": "true"})
		for _, x := range r {
			put(t, tab, []string{x})
		}
		filter := func(op, field string, value any, want ...string) {
			t.Helper()
			javaSees(t, o, tab, tarntest.Command{"filter": tarntest.Command{"op": op, "field": field, "value": value}}, want...)
		}
		filter("=", "s", long, r[0])
		filter("=", "s", top, r[2])
		filter(">", "s", "b", r[2], r[3])
		filter("=", "s", odd, r[3])
		filter("<>", "v", 5, r[2])
		filter("isNull", "v", nil, r[0], r[3])
		filter("isNotNull", "v", nil, r[1], r[2])
	}
}

// B010, B069, B071: the reference reads tables whose schema tarn changed, and back.
func TestSchemaChangesOfBothSides(t *testing.T) {
	c, o, ok := withJava(t)
	if !ok {
		return
	}
	tab := declare(t, c, "d.t", "k! INT,x INT,y INT,r ROW<a INT>", "", opts{"write-only": "true"})
	put(t, tab, []string{`[1,10,20,{"a":5}]`, "[2,11,21,null]"})
	tab = alter(t, tab, tarn.DropColumn{Path: []string{"y"}}, tarn.RenameColumn{Path: []string{"x"}, To: "y"},
		tarn.AddColumn{Path: []string{"r", "b"}, Type: types.MustParse("STRING")}, add("x", "INT"), add("l", "ARRAY<ROW<x INT>>"))
	bothSee(t, o, tab, `[1,10,{"a":5,"b":null},null,null]`, "[2,11,null,null,null]")
	o.Do(t, tarntest.Command{"op": "alter", "table": tab.Name(), "changes": []tarntest.Command{
		{"change": "updateType", "column": "y", "type": "BIGINT"},
		{"change": "addColumn", "column": "z", "type": "INT", "after": "k"},
		{"change": "addColumn", "column": []string{"l", "element", "w"}, "type": "STRING"},
	}})
	bothSee(t, o, tab, `[1,null,10,{"a":5,"b":null},null,null]`, "[2,null,11,null,null,null]")
	tab, err := tab.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put(t, tab, []string{`[3,1,4294967296,{"a":1,"b":"b"},7,[{"x":1,"w":"w"}]]`})
	compact(t, tab)
	bothSee(t, o, tab, `[1,null,10,{"a":5,"b":null},null,null]`, "[2,null,11,null,null,null]", `[3,1,4294967296,{"a":1,"b":"b"},7,[{"x":1,"w":"w"}]]`)
}
