//go:build duckdb_arrow && cgo

package interop

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/internal/cli"
)

func init() {
	// The rows of a system table as `tarn sql` prints them.
	sqlRows = func(t testing.TB, warehouse, query string) []string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := cli.Main([]string{"sql", "--warehouse", warehouse, "--json", query}, &bytes.Buffer{}, &out, &errs); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", query, code, errs.Bytes())
		}
		rows := []string{}
		for line := range bytes.Lines(out.Bytes()) {
			rows = append(rows, string(bytes.TrimSuffix(line, []byte("\n"))))
		}
		return slices.Sorted(slices.Values(rows))
	}
}
