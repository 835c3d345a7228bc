package tarntest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/tarntest"
)

// TestOracle has two warehouses of one JVM open at the same time, as parallel tests do.
func TestOracle(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, ok := tarntest.StartOracle(t, "", t.TempDir())
			if !ok {
				return
			}
			o.Do(t, tarntest.Command{
				"op": "create", "table": "d.t", "primaryKey": []string{"k"}, "options": map[string]string{"bucket": "1"},
				"columns": []map[string]string{{"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "DOUBLE"}},
			})
			for i := range 3 {
				row := json.RawMessage(fmt.Sprintf(`{"k":%d,"v":-0.0}`, i))
				a := o.Do(t, tarntest.Command{"op": "write", "table": "d.t", "rows": []json.RawMessage{row}})[0]
				if a.Snapshot != int64(i+1) {
					t.Fatalf("write %d made snapshot %d", i, a.Snapshot)
				}
			}
			rows := o.Read(t, "d.t", tarntest.Command{"filter": json.RawMessage(`{"op":"=","field":"k","value":2}`)})
			if want := `{"kind":"+I","row":{"k":2,"v":-0.0}}`; len(rows) != 1 || string(rows[0]) != want {
				t.Errorf("rows %s, want %s", rows, want)
			}
			// Commit identifiers go on where they were, or the second of these would be taken for a repetition.
			ids := o.Do(t, tarntest.Command{"op": "read", "table": "d.t$snapshots", "columns": []string{"commit_identifier"}, "sort": true})[0]
			if ids.Count != 3 || string(ids.Rows[0]) == string(ids.Rows[1]) {
				t.Errorf("identifiers %s", ids.Rows)
			}
			a := o.TryDo(t, tarntest.Command{"op": "read", "table": "d.missing"})[0]
			if a.OK || !strings.Contains(a.Error, "TableNotExist") {
				t.Errorf("read of a missing table: ok %v, error %q", a.OK, a.Error)
			}
		})
	}
}
