package tarn_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

func add(name, typ string) tarn.AddColumn {
	return tarn.AddColumn{Path: []string{name}, Type: types.MustParse(typ)}
}

// B010: columns of older files are found by their ids, in rows, statistics and filters.
func TestColumnsAreFoundByID(t *testing.T) {
	for _, key := range []string{"k! INT", "k INT"} {
		tab := declare(t, open(t), "d.t", key+",x INT,y INT", "", opts{"write-only": "true"})
		put(t, tab, []string{"[1,10,20]"})
		tab = alter(t, tab, tarn.DropColumn{Path: []string{"y"}})
		tab = alter(t, tab, tarn.RenameColumn{Path: []string{"x"}, To: "y"})
		put(t, tab, []string{"[2,11]"})
		same(t, tab, "", "", "[1,10]", "[2,11]")
		same(t, tab, "k", "y < 11", "[1]")
		same(t, tab, "k", "y = 20")
		tab = alter(t, tab, add("x", "INT"))
		mergedAndCompacted(t, tab, func(t *testing.T) {
			same(t, tab, "", "", "[1,10,null]", "[2,11,null]")
			same(t, tab, "k", "x IS NULL", "[1]", "[2]")
			same(t, tab, "k", "x = 10")
		})
	}
}

// B011, B062: names of partition folders, and values that come back whatever the name.
func TestPartitionFolders(t *testing.T) {
	for _, c := range []struct {
		typ, legacy string
		rows        []string
		dirs        []string
		where, hit  string
	}{
		{"DATE", "true", []string{`[1,"2021-01-01"]`, `[2,null]`}, []string{"p=18628", "p=__DEFAULT_PARTITION__"}, "p = '2021-01-01'", "[1]"},
		{"DATE", "false", []string{`[1,"2021-01-01"]`, `[2,null]`}, []string{"p=2021-01-01", "p=__DEFAULT_PARTITION__"}, "p = '2021-01-01'", "[1]"},
		{"DATE", "true", []string{`[1,"1969-12-31"]`}, []string{"p=-1"}, "p < '1970-01-01'", "[1]"},
		{"STRING", "true", []string{`[1,""]`, `[2,null]`}, []string{"p=__DEFAULT_PARTITION__"}, "p IS NULL", "[2]"},
		{"STRING", "false", []string{`[1,""]`, `[2,null]`}, []string{"p=__DEFAULT_PARTITION__"}, "p = ''", "[1]"},
		{"STRING", "true", []string{`[1,"a/b=c d%ä"]`}, []string{"p=a%2Fb%3Dc d%25ä"}, "p = 'a/b=c d%ä'", "[1]"},
		{
			"TIMESTAMP(3)", "true",
			[]string{`[1,"2024-01-01T12:30:00.000000000"]`, `[2,"2024-01-01T00:00:00.000000000"]`, `[3,"2024-01-01T12:30:12.345000000"]`},
			[]string{"p=2024-01-01T00%3A00", "p=2024-01-01T12%3A30", "p=2024-01-01T12%3A30%3A12.345"},
			"p = '2024-01-01 00:00:00'", "[2]",
		},
		{"INT", "true", []string{`[1,-5]`, `[2,7]`}, []string{"p=-5", "p=7"}, "p = 7", "[2]"},
		{"BOOLEAN", "true", []string{`[1,true]`, `[2,false]`}, []string{"p=false", "p=true"}, "p = false", "[2]"},
		{"DECIMAL(5,2)", "true", []string{`[1,"-1.50"]`}, []string{"p=-1.50"}, "p < 0", "[1]"},
	} {
		cat := open(t)
		tab := declare(t, cat, "d.t", "id INT,p "+c.typ, "", opts{"partition.legacy-name": c.legacy}, "p")
		put(t, tab, c.rows)
		same(t, tab, "", "", c.rows...)
		same(t, tab, "id", c.where, c.hit)
		found, err := filepath.Glob(filepath.Join(tab.Path(), "p=*"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		if !slices.Equal(found, c.dirs) {
			t.Errorf("%s, legacy-name %s: folders %v, want %v", c.typ, c.legacy, found, c.dirs)
		}
	}
}

// B062: an overwrite of one partition, named by text, touches no other.
func TestOverwriteOfADatePartition(t *testing.T) {
	tab := declare(t, open(t), "d.t", "id INT,dt DATE", "", nil, "dt")
	put(t, tab, []string{`[1,"2024-04-17"]`, `[2,"2024-04-18"]`, `[3,null]`})
	day := "2024-04-18"
	rows := func(lines ...string) func(func(tarn.Batch, error) bool) {
		return func(yield func(tarn.Batch, error) bool) { yield(rows(t, tab, objects(t, tab, lines)...), nil) }
	}
	if _, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{Partition: map[string]*string{"dt": &day}}, rows(`[9,"2024-04-18"]`)); err != nil {
		t.Fatal(err)
	}
	same(t, tab, "", "", `[1,"2024-04-17"]`, `[9,"2024-04-18"]`, `[3,null]`)
	same(t, tab, "id", "dt = '2024-04-18'", "[9]")
	if _, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{Partition: map[string]*string{"dt": nil}}, rows(`[8,null]`)); err != nil {
		t.Fatal(err)
	}
	same(t, tab, "id", "dt IS NULL", "[8]")
	_, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{Partition: map[string]*string{"dt": &day}}, rows(`[7,"2024-04-17"]`))
	if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "dt=19830") {
		t.Errorf("a row of another partition: %v", err)
	}
	if left, err := tab.Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(left) > 0 {
		t.Errorf("the refused overwrite left %v, %v", left, err)
	}
	same(t, tab, "id", "", "[1]", "[9]", "[8]")
}

// B062: a partition is named by its value, or by the name of its folder.
func TestOverwriteOfPartitionsByFolderName(t *testing.T) {
	for _, c := range []struct {
		typ, row  string
		specs     []string
		otherRow  string
		plainName bool
	}{
		{"TIMESTAMP(3)", `"2024-01-01T12:30:00.000000000"`, []string{"2024-01-01 12:30:00", "2024-01-01T12:30", "2024-01-01T12:30:00", "2024-01-01 12:30:00.000"}, `"2024-01-01T12:30:00.345000000"`, false},
		{"TIMESTAMP(6)", `"1969-12-31T23:59:59.500000000"`, []string{"1969-12-31T23:59:59.5", "1969-12-31T23:59:59.500"}, `"1969-12-31T23:59:00.000000000"`, false},
		{"TIMESTAMP_LTZ(3)", `"2024-01-01T00:00:00.000000000Z"`, []string{"2024-01-01T00:00", "2024-01-01"}, `"2024-01-01T00:01:00.000000000Z"`, false},
		{"DATE", `"2021-01-01"`, []string{"18628", "2021-01-01"}, `"2021-01-02"`, false},
		{"DATE", `"2021-01-01"`, []string{"2021-01-01", "18628"}, `"2021-01-02"`, true},
		{"TIME(3)", `"12:30:00.000"`, []string{"45000000", "12:30:00", "12:30"}, `"12:30:00.500"`, false},
		{"STRING", "null", []string{"__DEFAULT_PARTITION__"}, `"x"`, false},
		{"INT", "null", []string{"__DEFAULT_PARTITION__"}, "0", true},
		{"DATE", "null", []string{"__DEFAULT_PARTITION__"}, `"2021-01-01"`, false},
		{"BOOLEAN", "true", []string{"true", "TRUE"}, "false", false},
		{"DECIMAL(5,2)", `"-1.50"`, []string{"-1.50", "-1.5"}, `"1.50"`, false},
	} {
		tab := declare(t, open(t), "d.t", "id INT,p "+c.typ, "", opts{"partition.legacy-name": fmt.Sprint(!c.plainName)}, "p")
		put(t, tab, []string{"[1," + c.row + "]", "[2," + c.otherRow + "]"})
		for i, spec := range c.specs {
			row := fmt.Sprintf("[%d,%s]", 10+i, c.row)
			in := func(yield func(tarn.Batch, error) bool) { yield(rows(t, tab, objects(t, tab, []string{row})...), nil) }
			if _, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{Partition: map[string]*string{"p": &spec}}, in); err != nil {
				t.Errorf("%s: %q: %v", c.typ, spec, err)
				continue
			}
			same(t, tab, "", "", row, "[2,"+c.otherRow+"]")
		}
	}
}

// B065: floating point numbers have one total order, wherever rows are compared.
func TestOrderOfFloats(t *testing.T) {
	for _, typ := range []string{"DOUBLE", "FLOAT"} {
		c := open(t)
		tab := declare(t, c, "d."+typ, "k! "+typ+",v INT", "", opts{"write-only": "true"})
		put(t, tab, []string{`["NaN",1]`, `["Infinity",2]`, `[-0.0,3]`, `[0.0,4]`, `["-Infinity",5]`}, []string{`["NaN",10]`, `[-0.0,30]`})
		mergedAndCompacted(t, tab, func(t *testing.T) {
			same(t, tab, "", "", `["NaN",10]`, `["Infinity",2]`, `[-0.0,30]`, `[0.0,4]`, `["-Infinity",5]`)
		})
		seq := declare(t, c, "d.seq"+typ, "k! INT,s "+typ+",v INT", "", opts{"sequence.field": "s", "write-only": "true"})
		put(t, seq, []string{`[1,"NaN",1]`}, []string{`[1,"Infinity",2]`}, []string{`[2,0.0,1]`}, []string{`[2,-0.0,2]`}, []string{`[3,"-Infinity",1]`}, []string{`[3,null,2]`})
		mergedAndCompacted(t, seq, func(t *testing.T) { same(t, seq, "k,v", "", "[1,1]", "[2,1]", "[3,1]") })
	}
}

// B066, B067: filters on values and on statistics of files agree.
func TestFiltersAgreeWithStatistics(t *testing.T) {
	top := strings.Repeat("\U0010FFFF", 20)
	for _, mode := range []string{"truncate(16)", "none", "counts", "full"} {
		for _, key := range []string{"k INT", "k! INT"} {
			tab := declare(t, open(t), "d.t", key+",s STRING,v INT", "", opts{"metadata.stats-mode": mode, "write-only": "true"})
			put(t, tab, []string{`[1,"aaaaaaaaaaaaaaaaZZ",null]`, `[2,"aaaaaaaaaaaaaaaa",null]`}, []string{`[3,"b",5]`}, []string{`[4,"` + top + `",11]`}, []string{`[5,"ääääääääääääääää\uffffx",null]`}, []string{`[6,"a%",7]`, `[7,"ax",7]`})
			mergedAndCompacted(t, tab, func(t *testing.T) {
				same(t, tab, "k", "s = 'aaaaaaaaaaaaaaaaZZ'", "[1]")
				same(t, tab, "k", "s > 'aaaaaaaaaaaaaaaaA' AND s < 'aaaaaaaaaaaaaaaaz'", "[1]")
				same(t, tab, "k", "s = '"+top+"'", "[4]")
				same(t, tab, "k", "s > '"+strings.Repeat("\U0010FFFF", 19)+"'", "[4]")
				same(t, tab, "k", "s = 'ääääääääääääääää\uffffx'", "[5]")
				same(t, tab, "k", "v > 10 OR v IS NULL", "[1]", "[2]", "[4]", "[5]")
				same(t, tab, "k", "v <> 5", "[4]", "[6]", "[7]")
				same(t, tab, "k", "NOT (v = 5)", "[4]", "[6]", "[7]")
				same(t, tab, "k", "v IS NULL", "[1]", "[2]", "[5]")
				same(t, tab, "k", "v NOT IN (5, 7)", "[4]")
				same(t, tab, "k", "v IN ()")
				same(t, tab, "k", "v NOT IN ()", "[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]")
				same(t, tab, "k", `s LIKE 'a\%'`, "[6]")
				same(t, tab, "k", "s LIKE 'a_'", "[6]", "[7]")
				same(t, tab, "k", "s BETWEEN 'a' AND 'b' AND v = 5", "[3]")
			})
		}
	}
}

// B069: options follow a renamed column; what the format forbids is refused, and nothing is half done.
func TestRenamesAndForbiddenChanges(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT,s INT,v INT", "", opts{"sequence.field": "s", "bucket-key": "k", "fields.v.stats-mode": "full"})
	put(t, tab, []string{"[1,5,1]"})
	comment := "how many"
	tab = alter(t, tab, tarn.UpdateColumnComment{Path: []string{"v"}, Comment: comment})
	tab = alter(t, tab, tarn.RenameColumn{Path: []string{"s"}, To: "s2"}, tarn.RenameColumn{Path: []string{"v"}, To: "w"},
		tarn.AddColumn{Path: []string{"x"}, Type: types.MustParse("INT"), Place: tarn.ColumnPlace{After: "k"}})
	o := tab.Options()
	if o["sequence.field"] != "s2" || o["fields.w.stats-mode"] != "full" || o["fields.v.stats-mode"] != "" {
		t.Errorf("options after renaming: %v", o)
	}
	put(t, tab, []string{"[1,7,4,2]"}) // an older sequence
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", "[1,null,5,1]") })
	for _, change := range []tarn.SchemaChange{
		tarn.UpdateType{Path: []string{"k"}, Type: types.MustParse("STRING")},
		tarn.UpdateNullability{Path: []string{"w"}, NotNull: true},
		tarn.DropColumn{Path: []string{"k"}},
		tarn.DropColumn{Path: []string{"s2"}},
		tarn.SetOption{Key: "merge-engine", Value: "first-row"},
		tarn.SetOption{Key: "bucket-key", Value: "w"},
	} {
		if err := tab.Alter(t.Context(), change); !errors.Is(err, tarn.ErrInvalid) {
			t.Errorf("%#v: %v", change, err)
		}
	}
	tab = alter(t, tab, tarn.UpdateType{Path: []string{"w"}, Type: types.MustParse("BIGINT")})
	f, err := tab.Fields()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range f {
		names = append(names, x.Name+" "+x.Type.String())
	}
	if want := []string{"k INT NOT NULL", "x INT", "s2 INT", "w BIGINT"}; !slices.Equal(names, want) || f[3].Description != "how many" {
		t.Errorf("columns %v, comment %q, want %v", names, f[3].Description, want)
	}
	same(t, tab, "", "", "[1,null,5,1]")
}

// B071: columns that older files do not have, nested ones too, are NULL; a NULL row stays one.
func TestNestedColumnsOfOlderFiles(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT,r ROW<a INT>", "", opts{"write-only": "true"})
	put(t, tab, []string{"[1,null]", `[2,{"a":5}]`})
	tab = alter(t, tab, tarn.AddColumn{Path: []string{"r", "b"}, Type: types.MustParse("STRING")}, add("m", "MAP<STRING,INT>"), add("l", "ARRAY<ROW<x INT>>"))
	mergedAndCompacted(t, tab, func(t *testing.T) {
		same(t, tab, "", "", "[1,null,null,null]", `[2,{"a":5,"b":null},null,null]`)
		same(t, tab, "l,r", "k = 2", `[null,{"a":5,"b":null}]`)
	})
	put(t, tab, []string{`[3,{"a":1,"b":"x"},[["k",1]],[{"x":2}]]`})
	tab = alter(t, tab, tarn.AddColumn{Path: []string{"l", "element", "y"}, Type: types.MustParse("INT")}, tarn.DropColumn{Path: []string{"r", "a"}})
	mergedAndCompacted(t, tab, func(t *testing.T) {
		same(t, tab, "", "", "[1,null,null,null]", `[2,{"b":null},null,null]`, `[3,{"b":"x"},[["k",1]],[{"x":2,"y":null}]]`)
	})
}

// B091: a filter on a column whose type was changed gives the rows that it gives without statistics.
func TestFiltersOnChangedTypes(t *testing.T) {
	for _, c := range []struct{ from, to, old, new, where, hit string }{
		{"INT", "BIGINT", "2147483647", "2147483648", "v > 2147483646", "[1]|[2]"},
		{"INT", "BIGINT", "-5", "2147483648", "v > 2147483647", "[2]"},
		{"BIGINT", "INT", "4294967301", "6", "v = 5", "[1]"}, // what does not fit loses its high bits
		{"DOUBLE", "FLOAT", "0.1", "0.2", "v < 0.15", "[1]"},
		{"TIMESTAMP(6)", "TIMESTAMP(3)", `"2024-01-01T00:00:00.123456000"`, `"2024-01-01T00:00:00.124000000"`, "v = '2024-01-01 00:00:00.123'", "[1]"},
		{"DECIMAL(10,2)", "DECIMAL(22,2)", `"5.25"`, `"12345678901234567890.00"`, "v < 6", "[1]"},
		{"DECIMAL(9,2)", "BIGINT", `"5.25"`, "6", "v = 5", "[1]"},
		{"TINYINT", "INT", "-5", "300", "v < 0", "[1]"},
		{"INT", "STRING", "10", `"9"`, "v < '2'", "[1]"},
		{"STRING", "INT", `"10"`, "9", "v > 9", "[1]"},
		{"DOUBLE", "DECIMAL(10,1)", "0.14", `"0.2"`, "v = 0.1", "[1]"},
		{"FLOAT", "DECIMAL(38,10)", "1.5", `"1.6"`, "v > 1.5", "[2]"},
		{"DECIMAL(10,2)", "DECIMAL(10,1)", `"1.14"`, `"1.2"`, "v = 1.1", "[1]"},
		{"DECIMAL(10,2)", "INT", `"-1.99"`, "-2", "v = -1", "[1]"},
		{"BIGINT", "DOUBLE", "9007199254740993", "1.5", "v = 9007199254740992", "[1]"},
		{"INT", "FLOAT", "16777217", "1.5", "v = 16777216", "[1]"},
		{"DOUBLE", "INT", "1.9", "2", "v = 1", "[1]"},
		{"BIGINT", "TINYINT", "257", "2", "v = 1", "[1]"},
		{"TIMESTAMP(9)", "TIMESTAMP(0)", `"1969-12-31T23:59:59.999999999"`, `"1970-01-01T00:00:00.000000000"`, "v = '1969-12-31 23:59:59'", "[1]"},
		{"TIMESTAMP(6)", "DATE", `"1969-12-31T23:59:59.999999000"`, `"1970-01-01"`, "v = '1969-12-31'", "[1]"},
		{"BOOLEAN", "INT", "true", "0", "v = 1", "[1]"},
		{"INT", "DECIMAL(4,1)", "999", `"-1.5"`, "v > 998.5", "[1]"},
		{"STRING", "DOUBLE", `"1e2"`, "20", "v >= 100", "[1]"},
		{"STRING", "DATE", `"2024-1-5"`, `"2024-01-06"`, "v = '2024-01-05'", "[1]"},
		{"STRING", "VARCHAR(3)", `"abcdef"`, `"abd"`, "v = 'abc'", "[1]"},
		{"DATE", "STRING", `"2024-01-05"`, `"2024"`, "v > '2024'", "[1]"},
		{"DATE", "TIMESTAMP(3)", `"1969-12-31"`, `"1970-01-01T00:00:00.000000000"`, "v < '1970-01-01 00:00:00'", "[1]"},
	} {
		for _, key := range []string{"k INT", "k! INT"} {
			tab := declare(t, open(t), "d.t", key+",v "+c.from, "", opts{"write-only": "true"})
			put(t, tab, []string{"[1," + c.old + "]"})
			tab = alter(t, tab, tarn.UpdateType{Path: []string{"v"}, Type: types.MustParse(c.to)})
			put(t, tab, []string{"[2," + c.new + "]"})
			t.Run(c.from+" to "+c.to, func(t *testing.T) {
				mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "k", c.where, strings.Split(c.hit, "|")...) })
			})
		}
	}
}

// B023: blanks around names in options are no part of them, and a name that is no column is told.
func TestBlanksInOptions(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k! INT,a INT,b INT,v INT", "", opts{"sequence.field": " a , b", "bucket-key": " k ", "write-only": "true"})
	put(t, tab, []string{"[1,1,2,10]"}, []string{"[1,1,1,20]"})
	same(t, tab, "v", "", "[10]")
	_, err := c.CreateTable(t.Context(), "d.bad", tarn.TableDef{Fields: fields("k", "INT"), PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1", "sequence.field": "k, zz"}})
	if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), `"zz"`) {
		t.Errorf("an unknown column: %v", err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(tab.Path()), "bad")); err == nil {
		t.Error("a refused table left a folder")
	}
}
