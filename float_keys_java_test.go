package tarn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// The reference merges keys by comparing with < and >: NaN is equal to every number, -0.0 to 0.0. Its files
// then hold keys in an order that is not ours, and their range is the first and the last of them. They are
// read, merged and compacted all the same; no key is there twice afterwards.
func TestFloatKeysOfTheReference(t *testing.T) {
	c, o, ok := withJava(t)
	if !ok {
		return
	}
	for i, x := range []struct {
		columns string
		commits [][]string
		add     string // of ours, then
	}{
		// NaN takes the place of 0.5, 1.0 and 5.0: NaN, 5.0, 6.0.
		{"k! DOUBLE,v INT", [][]string{{`[0.5,1]`, `[5.0,2]`, `[6.0,3]`}, {`[1.0,4]`, `["NaN",5]`}}, `[5.5,9]`},
		{"k! FLOAT,v INT", [][]string{{`[0.5,1]`, `[5.0,2]`, `[6.0,3]`}, {`[1.0,4]`, `["NaN",5]`}}, `["NaN",9]`},
		{"k! FLOAT,w! INT,v INT", [][]string{{`[0.5,1,1]`, `[5.0,1,2]`, `[6.0,1,3]`}, {`[1.0,1,4]`, `["NaN",1,5]`}}, `[0.5,1,9]`},
		// The zeros are one, so w alone says the order.
		{"k! DOUBLE,w! INT,v INT", [][]string{{`[0.0,5,1]`, `[0.0,7,2]`, `[6.0,1,3]`}, {`[-0.0,6,4]`, `[-0.0,8,5]`}}, `[-0.0,7,9]`},
		{"s! STRING,k! DOUBLE,v INT", [][]string{{`["a",0.0,1]`, `["a","NaN",2]`, `["b",3.0,3]`}, {`["a",-0.0,4]`, `["b","NaN",5]`}, {`["b",1.0,6]`, `["b",9.0,7]`}}, `["b",3.0,9]`},
		{"k! DOUBLE,v INT", [][]string{{`[0.0,1]`, `["NaN",3]`, `[5.0,4]`, `[1.0,6]`}, {`[-0.0,2]`, `["NaN",5]`, `[7.0,4]`}, {`[0.0,9]`, `[1.0,7]`, `["NaN",11]`}}, `[1.0,9]`},
	} {
		for _, javaCompacts := range []bool{false, true} {
			what := fmt.Sprintf("case %d, compacted by the reference: %v", i, javaCompacts)
			tab := declare(t, c, fmt.Sprintf("d.f%d%v", i, javaCompacts), x.columns, "", opts{"bucket": "1", "write-only": "true"})
			for _, rows := range x.commits {
				javaPut(t, o, tab, rows...)
			}
			if javaCompacts {
				o.Do(t, tarntest.Command{"op": "compact", "table": tab.Name(), "full": true})
			}
			put(t, tab, []string{x.add})
			merged := get(t, tab, "", "", 0)
			compacting, err := tab.With(t.Context(), map[string]string{"write-only": "false"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := compacting.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
				t.Fatalf("%s: compact: %v", what, err)
			}
			same(t, tab, "", "", merged...)
			if r, err := tab.Check(t.Context()); err != nil || len(r.Problems) > 0 {
				t.Errorf("%s: check: %+v, %v", what, r, err)
			}
			keys := map[string]bool{}
			for _, row := range merged {
				key := row[:strings.LastIndexByte(row, ',')]
				if keys[key] {
					t.Errorf("%s: two rows with the key %s", what, key)
				}
				keys[key] = true
			}
			if got := strings.Join(merged, " "); !strings.Contains(got, x.add) {
				t.Errorf("%s: row %s is not there: %s", what, x.add, got)
			}
		}
	}
}
