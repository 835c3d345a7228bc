package tarn_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format/parquet"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// B029: nested values of rows that are merged stay those of their rows, over many batches and runs.
func TestNestedValuesStayWithTheirRows(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT,a ARRAY<ROW<n STRING,m STRING>>,m MAP<STRING,INT>,s STRING", "", opts{"write-only": "true"})
	row := func(k, run int) string {
		if (k+run)%7 == 0 {
			return fmt.Sprintf(`[%d,null,null,"r%d"]`, k, run)
		}
		var parts []string
		for i := range (k + run) % 4 {
			parts = append(parts, fmt.Sprintf(`{"n":"n%d-%d","m":"m%d"}`, k, i, run))
		}
		return fmt.Sprintf(`[%d,[%s],[["k%d",%d]],"r%d"]`, k, strings.Join(parts, ","), k, run, run)
	}
	const keys = 3000
	newest := map[int]string{}
	for run := range 5 {
		var in []string
		for k := range keys {
			if run == 0 || k%(run+1) == run%2 {
				in = append(in, row(k, run))
				newest[k] = row(k, run)
			}
		}
		put(t, tab, in)
	}
	want := make([]string, 0, keys)
	for _, r := range newest {
		want = append(want, r)
	}
	mergedAndCompacted(t, tab, func(t *testing.T) { same(t, tab, "", "", want...) })
}

// B090, B094: rows that statistics, pages and sparse choices leave over are the right ones, whatever the
// size of batches.
func TestSparseRowsOfLargeFiles(t *testing.T) {
	for _, o := range []opts{{}, {"file.block-size": "16 kb"}, {"parquet.page.size": "1024", "parquet.enable.dictionary": "false"}} {
		o["write-only"] = "true"
		tab := declare(t, open(t), "d.t", "id BIGINT,v INT,s STRING,l ARRAY<INT>", "", o)
		const n = 20000
		in := make([]string, n)
		value := func(i int) string {
			switch {
			case i%3 == 0:
				return fmt.Sprintf(`[%d,null,null,[]]`, i)
			case i%1000 < 200:
				return fmt.Sprintf(`[%d,7,"same",[1,null]]`, i)
			}
			return fmt.Sprintf(`[%d,%d,"s%d",null]`, i, i*7919%n, i)
		}
		for i := range in {
			in[i] = value(i)
		}
		put(t, tab, in)
		for _, batch := range []string{"1", "64", "129", "5000"} {
			if batch == "1" && len(o) > 2 {
				continue
			}
			at, err := tab.With(t.Context(), opts{"read.batch-size": batch})
			if err != nil {
				t.Fatal(err)
			}
			for where, ids := range map[string][]int{
				"id IN (0, 63, 64, 65, 1000, 19999)": {0, 63, 64, 65, 1000, 19999},
				"id >= 11000 AND id < 11129":         seq(11000, 11129),
				"s = 's12346' OR id = 4":             {4, 12346},
			} {
				var want []string
				for _, i := range ids {
					want = append(want, value(i))
				}
				same(t, at, "", where, want...)
			}
		}
		if got := len(get(t, tab, "v", "v IS NULL", 0)); got != (n+2)/3 {
			t.Errorf("%v: %d rows where v is NULL", o, got)
		}
	}
}

func seq(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// B093: how times lie in files, by their precision.
func TestTimesInFiles(t *testing.T) {
	tab := declare(t, open(t), "d.t", "a TIMESTAMP(0),b TIMESTAMP(3),c TIMESTAMP(6),d TIMESTAMP(9),e TIMESTAMP_LTZ(3),f TIMESTAMP_LTZ(6),g TIMESTAMP_LTZ(9),h TIME(3),m MAP<TIMESTAMP(6),STRING>", "", nil)
	in := `["1969-12-31T23:59:59.000000000","1969-12-31T23:59:59.001000000","1582-10-04T00:00:00.000001000","1969-12-31T23:59:59.999999999","1969-12-31T23:59:59.001000000Z","2262-04-12T00:00:00.000001000Z","1969-12-31T23:59:59.999999999Z","23:59:59.999",[["1969-12-31T23:59:59.999999000","x"]]]`
	put(t, tab, []string{in}, []string{in})
	same(t, tab, "", "", in, in)
	same(t, tab, "", "a < '1970-01-01 00:00:00' AND c = '1582-10-04 00:00:00.000001' AND d > '1969-12-31 23:59:59.999999998'", in, in)
	same(t, tab, "", "d > '1969-12-31 23:59:59.999999999'")
	files, err := filepath.Glob(filepath.Join(tab.Path(), "bucket-0", "*.parquet"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	f, err := fileio.NewLocal(fileio.LocalOptions{}).Open(t.Context(), files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := parquet.Describe(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range d.Columns {
		got[c.Name] = c.Type
	}
	want := map[string]string{
		"a": "INT64 (TIMESTAMP(MILLIS,utc=false))", "b": "INT64 (TIMESTAMP(MILLIS,utc=false))", "c": "INT64 (TIMESTAMP(MICROS,utc=false))", "d": "INT96",
		"e": "INT64 (TIMESTAMP(MILLIS,utc=true))", "f": "INT64 (TIMESTAMP(MICROS,utc=true))", "g": "INT96", "h": "INT32 (TIME(MILLIS,utc=true))", "key": "INT64 (TIMESTAMP(MICROS,utc=false))",
	}
	for k, w := range want {
		if got[k] != w {
			t.Errorf("column %s is %s, want %s", k, got[k], w)
		}
	}
}

// B093: times before 1970 and after, in dictionaries and out of them, are found by filters that leave out pages and row
// groups.
func TestTimesAmongManyRows(t *testing.T) {
	const n, same = 3000, 10
	for _, typ := range []string{"TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(9)", "DATE", "TIME(3)"} {
		for _, dictionary := range []string{"true", "false"} {
			tab := declare(t, open(t), "d.t", "id INT,v "+typ, "", opts{"write-only": "true", "parquet.enable.dictionary": dictionary, "parquet.page.size": "1024", "file.block-size": "20 kb"})
			value := func(i int) (stored, literal string) {
				at := time.Date(1969, 12, 31, 23, 59, 0, 0, time.UTC).Add(time.Duration(i/same) * time.Second)
				layout := "2006-01-02 15:04:05"
				switch {
				case typ == "DATE":
					at, layout = at.AddDate(0, 0, i/same-100), "2006-01-02"
				case typ == "TIME(3)":
					at, layout = at.Add(time.Minute+time.Duration(i/same)*7*time.Millisecond), "15:04:05.000"
				case strings.Contains(typ, "(3)"):
					at, layout = at.Add(time.Duration(i/same)*time.Millisecond), layout+".000"
				case strings.Contains(typ, "(6)"):
					at, layout = at.Add(time.Duration(i/same)*time.Microsecond), layout+".000000"
				case strings.Contains(typ, "(9)"):
					at, layout = at.Add(time.Duration(i/same)), layout+".000000000"
				}
				literal = at.Format(layout)
				stored = literal
				if strings.HasPrefix(typ, "TIMESTAMP") {
					stored = at.Format("2006-01-02T15:04:05.000000000")
					if strings.Contains(typ, "LTZ") {
						stored += "Z"
					}
				}
				return stored, literal
			}
			in := make([]string, n)
			for i := range in {
				v, _ := value(i)
				in[i] = fmt.Sprintf("[%d,%q]", i, v)
			}
			put(t, tab, in)
			for _, i := range []int{0, 5, 599, 600, 1234, n - 1} {
				first := i / same * same
				_, literal := value(i)
				for where, want := range map[string][]string{
					"v = '" + literal + "'":                                    in[first : first+same],
					fmt.Sprintf("v <= '%s' AND id >= %d", literal, first-5):    in[max(first-5, 0) : first+same],
					fmt.Sprintf("v > '%s' AND id < %d", literal, first+same+3): in[first+same : min(first+same+3, n)],
				} {
					got := get(t, tab, "", where, 0)
					slices.Sort(got)
					if d := cmp.Diff(append([]string{}, slices.Sorted(slices.Values(want))...), got); d != "" {
						t.Errorf("%s, dictionary %s, %s (-want +got):\n%s", typ, dictionary, where, d)
					}
				}
			}
		}
	}
}

// B131: three compactors in turn, the reference among them, on random composite keys: files of a level never
// overlap.
func TestCompactorsInTurn(t *testing.T) {
	c, o, ok := withJava(t)
	if !ok {
		return
	}
	tab := declare(t, c, "d.t", "id BIGINT,user BIGINT,friend BIGINT,v INT", "friend,id,user", opts{"num-sorted-run.compaction-trigger": "3", "target-file-size": "4 kb", "file.compression": "none"})
	r := rand.New(rand.NewPCG(1, 2))
	state := map[string]string{}
	for round := range 9 {
		var in []string
		for range 300 {
			key := fmt.Sprintf("%d,%d,%d", r.Int64N(20)-10, r.Int64N(1<<40)-1<<39, r.Int64N(4)-2)
			if r.IntN(3) == 0 && len(state) > 0 {
				for k := range state {
					key = k
					break
				}
			}
			state[key] = fmt.Sprintf("[%s,%d]", key, round)
			in = append(in, state[key])
		}
		if round%3 == 1 {
			javaPut(t, o, tab, in...)
			o.Do(t, tarntest.Command{"op": "compact", "table": "d.t", "full": round%2 == 0})
		} else {
			put(t, tab, in)
			if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: round%3 == 2}); err != nil {
				t.Fatal(err)
			}
		}
		if rep, err := tab.Check(t.Context()); err != nil || len(rep.Problems) > 0 {
			t.Fatalf("round %d: %+v, %v", round, rep, err)
		}
	}
	var want []string
	for _, v := range state {
		want = append(want, v)
	}
	bothSee(t, o, tab, want...)
}

// B102: a branch has the columns of its own schema, and finds files and tags of its own.
func TestBranchesOfTheReference(t *testing.T) {
	c, o, ok := withJava(t)
	if !ok {
		return
	}
	tab := declare(t, c, "d.t", "k! INT", "", nil)
	put(t, tab, []string{"[1]"})
	tab = alter(t, tab, add("v2", "INT"))
	put(t, tab, []string{"[2,20]"})
	if err := tab.CreateTag(t.Context(), "t1", 0); err != nil {
		t.Fatal(err)
	}
	o.Do(t, tarntest.Command{"op": "branch", "table": "d.t", "name": "b", "tag": "t1"})
	tab = alter(t, tab, add("v3", "INT"))
	put(t, tab, []string{"[3,30,300]"})
	b, err := c.Table(t.Context(), "d.t$branch_b")
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, []string{"[4,40]"})
	if err := b.CreateTag(t.Context(), "own", 0); err != nil {
		t.Fatal(err)
	}
	put(t, b, []string{"[4,41]"})
	same(t, b, "", "", "[1,null]", "[2,20]", "[4,41]")
	javaSees(t, o, b, tarntest.Command{}, "[1,null]", "[2,20]", "[4,41]")
	bothSee(t, o, tab, "[1,null,null]", "[2,20,null]", "[3,30,300]")
	old, err := b.With(t.Context(), opts{"scan.tag-name": "own"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, old, "", "", "[1,null]", "[2,20]", "[4,40]")
	if _, err := tab.With(t.Context(), opts{"scan.tag-name": "own"}); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(slices.Values(systemRows(t, c, "d.t$branches", "branch_name")))
	if d := cmp.Diff([]string{`["b"]`}, names); d != "" {
		t.Error(d)
	}
}
