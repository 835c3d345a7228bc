package tarn_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
)

// Rows that deletion vectors delete come by no way of reading: not without columns, not to a limit, not in files that are left to
// another reader. A vector that is lost is told, its rows do not come back.
func TestDeletedRowsDoNotComeByAnyWay(t *testing.T) {
	tables := 0
	for _, c := range golden.Cases(t, tarntest.Root(t)) {
		if c.ID != "tables/dv/append-v1" && c.ID != "tables/dv/append-v2" && c.ID != "tables/dv/pk-v1" {
			continue
		}
		warehouse := c.Unpack(t)
		cat, err := tarn.Open(t.Context(), warehouse, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"d.parquet", "d.bucketed"} {
			if c.ID == "tables/dv/pk-v1" && name == "d.bucketed" {
				continue
			}
			tab, err := cat.Table(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			count := func(p *tarn.Plan) (n int64) {
				t.Helper()
				for b, err := range p.Batches(t.Context()) {
					if err != nil {
						t.Fatalf("%s %s: %v", c.ID, name, err)
					}
					n += b.NumRows()
				}
				return n
			}
			plan := func(o tarn.ScanOptions) *tarn.Plan {
				t.Helper()
				p, err := tab.Scan(o).Plan(t.Context())
				if err != nil {
					t.Fatalf("%s %s: %v", c.ID, name, err)
				}
				return p
			}
			p := plan(tarn.ScanOptions{})
			live := count(p)
			if live == 0 || live == p.Rows() {
				t.Fatalf("%s %s: %d rows of %d in files: none of them is deleted", c.ID, name, live, p.Rows())
			}
			tables++
			if n := count(plan(tarn.ScanOptions{Columns: []string{}})); n != live {
				t.Errorf("%s %s: without columns there are %d rows, not %d", c.ID, name, n, live)
			}
			for limit := int64(1); limit <= live; limit += max(1, live/20) {
				if n := count(plan(tarn.ScanOptions{Limit: limit})); n != limit {
					t.Errorf("%s %s: limit %d gives %d rows of %d", c.ID, name, limit, n, live)
				}
			}
			_, rest := p.SplitRaw(t.Context(), func(string) bool { return true })
			if n := p.Rows() - rest.Rows() + count(rest); n != live {
				t.Errorf("%s %s: with files read by another reader there are %d rows, not %d", c.ID, name, n, live)
			}
			if err := os.RemoveAll(filepath.Join(tab.Path(), "index")); err != nil {
				t.Fatal(err)
			}
			err = nil
			for _, e := range plan(tarn.ScanOptions{}).Batches(t.Context()) {
				if err = e; err != nil {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), "deletion vector of data-") {
				t.Errorf("%s %s: a read whose deletion vectors are lost: %v", c.ID, name, err)
			}
		}
	}
	if tables != 5 {
		t.Errorf("%d tables were read", tables)
	}
}
