package tarn_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// planned gives how many data files a read takes.
func planned(t *testing.T, tab *tarn.Table, where string, limit int64) int {
	t.Helper()
	o := tarn.ScanOptions{Limit: limit}
	if where != "" {
		f, err := tab.Fields()
		if err != nil {
			t.Fatal(err)
		}
		if o.Filter, err = predicate.Parse(where, f); err != nil {
			t.Fatal(err)
		}
	}
	p, err := tab.Scan(o).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	splits, err := p.Splits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range splits {
		n += len(s.Files)
	}
	return n
}

// numbered makes rows ["p",k,10k] of some numbers.
func numbered(partition string, from, to int) (out []string) {
	for k := from; k < to; k++ {
		out = append(out, fmt.Sprintf("[%q,%d,%d]", partition, k, 10*k))
	}
	return out
}

// A plan has the files that a filter and a limit need, and no others.
func TestPlansTakeTheFilesNeeded(t *testing.T) {
	c := open(t)
	keyed := declare(t, c, "d.keyed", "p! STRING,k! INT,v INT", "", opts{"bucket": "4"}, "p")
	put(t, keyed, numbered("a", 0, 40), numbered("b", 100, 140))
	compact(t, keyed)
	put(t, keyed, numbered("c", 200, 240)) // stays in level 0
	plain := declare(t, c, "d.plain", "p STRING,k INT,v INT", "", opts{"write-only": "true"}, "p")
	put(t, plain, numbered("a", 0, 10), numbered("a", 10, 20), numbered("b", 20, 30), []string{`[null,50,500]`})
	named := declare(t, c, "d.named", "p STRING,k INT,v INT", "", opts{"bucket": "8", "bucket-key": "p,k", "write-only": "true"})
	put(t, named, numbered("a", 0, 100))
	merged := declare(t, c, "d.merged", "p STRING,k! INT,v INT", "", opts{"write-only": "true", "num-levels": "3"})
	put(t, merged, numbered("a", 0, 10), numbered("a", 5, 15), numbered("a", 20, 30))
	changed := declare(t, c, "d.changed", "p STRING,k INT,v INT", "", opts{"write-only": "true"})
	put(t, changed, numbered("a", 0, 10), numbered("a", 10, 20))
	changed = alter(t, changed, tarn.RenameColumn{Path: []string{"v"}, To: "w"}, tarn.AddColumn{Path: []string{"v"}, Type: types.MustParse("INT")},
		tarn.UpdateType{Path: []string{"k"}, Type: types.MustParse("BIGINT")})
	put(t, changed, []string{`["a",5000000000,1,2]`})

	for _, c := range []struct {
		tab   *tarn.Table
		where string
		limit int64
		want  int
	}{
		{keyed, "", 0, 12},
		{keyed, "p = 'a'", 0, 4},
		{keyed, "p in ('a','c')", 0, 8},
		{keyed, "p > 'a'", 0, 8},
		{keyed, "p = 'none'", 0, 0},
		{keyed, "p is null", 0, 0},
		{keyed, "p = 'a' and k = 7", 0, 1},
		{keyed, "k = 7", 0, 1},
		{keyed, "k = 207", 0, 1},           // in level 0
		{keyed, "k in (7,107,1000)", 0, 4}, // two buckets, two partitions
		{keyed, "k >= 100 and k < 200", 0, 4},
		{keyed, "k > 1000", 0, 0},
		{keyed, "k = 7 or k = 107", 0, 8}, // no bucket, but the keys
		{keyed, "v = 1070", 0, 4},
		{keyed, "v = 1070 and p = 'a'", 0, 0},
		{keyed, "v < 0", 0, 0},
		{keyed, "v is null", 0, 0},
		{keyed, "", 1, 1},
		{keyed, "k > 0", 1, 12}, // how many rows match is not known
		{plain, "", 0, 4},
		{plain, "p is null", 0, 1},
		{plain, "p is not null", 0, 3},
		{plain, "p = 'a'", 0, 2},
		{plain, "p = 'b' and k < 20", 0, 0},
		{plain, "k = 12", 0, 1},
		{plain, "v = 90 or v = 195", 0, 1},
		{plain, "v = 1000", 0, 0},
		{plain, "", 1, 1},
		{plain, "", 10, 1},
		{plain, "", 11, 2},
		{plain, "", 20, 2},
		{plain, "", 31, 4},
		{plain, "", 1000, 4},
		{named, "", 0, 8},
		{named, "p = 'a' and k = 1", 0, 1},
		{named, "p = 'a' and k in (1,2,3)", 0, 3},
		{named, "k = 50", 0, 8}, // a part of the bucket key says nothing
		{named, "p = 'a' and k > 1", 0, 8},
		{merged, "", 0, 3},
		{merged, "k = 25", 0, 1},
		{merged, "k = 3", 0, 1},
		{merged, "k = 7", 0, 2},
		{merged, "v = 250", 0, 1},
		{merged, "v = 30", 0, 2}, // what lies over the row has to be seen
		{merged, "v = 190", 0, 0},
		{merged, "", 1, 3},
		{changed, "w = 50", 0, 1},
		{changed, "v is null", 0, 2},
		{changed, "k = 15", 0, 1},
		{changed, "k > 100", 0, 1},
	} {
		if got := planned(t, c.tab, c.where, c.limit); got != c.want {
			t.Errorf("%s where %q limit %d: %d files, want %d", c.tab.Name(), c.where, c.limit, got, c.want)
		}
	}
}

// Manifests of other partitions are not read.
func TestPlansReadTheManifestsNeeded(t *testing.T) {
	c, fault := underFault(t, "manifests-needed")
	tab := declare(t, c, "d.t", "p STRING,k INT", "", opts{"write-only": "true"}, "p")
	for i := range 10 {
		put(t, tab, []string{fmt.Sprintf(`["p%d",%d]`, i, i)})
	}
	for where, want := range map[string]int64{"": 10, "p = 'p3'": 1, "p in ('p3','p7')": 2, "p > 'p5'": 4, "p = 'p3' and k = 4": 1, "k = 4": 10, "p = 'none'": 0} {
		fresh, err := tarn.Open(t.Context(), "memory://manifests-needed/lake", nil) // remembers nothing
		if err != nil {
			t.Fatal(err)
		}
		tab, err := fresh.Table(t.Context(), "d.t")
		if err != nil {
			t.Fatal(err)
		}
		var n atomic.Int64
		fault.Decide(func(c fileio.Call) fileio.Fate {
			if c.Op == "Open" && strings.Contains(c.Path, "/manifest/manifest-") && !strings.Contains(c.Path, "/manifest-list-") {
				n.Add(1)
			}
			return fileio.Pass
		})
		planned(t, tab, where, 0)
		if n.Load() != want {
			t.Errorf("where %q: %d manifests are read, want %d", where, n.Load(), want)
		}
	}
}
