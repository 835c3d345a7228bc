package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func run(cpu, mem, bytes string) line {
	return line{
		"rows": json.Number("10"), "cpu_s": json.Number(cpu), "seconds": json.Number("1"), "rss_mb": json.Number(mem),
		"data_bytes": json.Number(bytes),
	}
}

// TestReport: the ratio is the median of the pairs' ratios, not the ratio of medians, and each goal that
// is not met is named.
func TestReport(t *testing.T) {
	java := []line{run("3", "900", "100"), run("8", "900", "100"), run("4", "900", "100")}
	for _, c := range []struct {
		tarn        []line
		ratio, want string
	}{
		{[]line{run("1", "400", "105"), run("2", "400", "105"), run("2", "400", "105")}, "**3.00** (2.00–4.00)", "ok, below aim"},
		{[]line{run("1", "400", "105"), run("2", "400", "105"), run("1", "400", "105")}, "**4.00** (3.00–4.00)", "ok"},
		{[]line{run("2", "501", "106"), run("4", "501", "106"), run("2", "501", "106")}, "**2.00** (1.50–2.00)", "MISS must, memory, size"},
	} {
		r := &runner{}
		r.ratios("upsert", goal{2.5, 3.2, 500}, java, c.tarn, perRow("rows")).bytes("data_bytes", java, c.tarn)
		var out strings.Builder
		r.print(&out, r.out)
		if !strings.Contains(out.String(), " | "+c.ratio+" | ") || !strings.Contains(out.String(), " | "+c.want+" | ") {
			t.Errorf("ratio %s and verdict %q are not in\n%s", c.ratio, c.want, out.String())
		}
	}
}

// TestSame: a member that is missing on both sides proves nothing.
func TestSame(t *testing.T) {
	a, b := line{"rows": json.Number("7"), "sum": json.Number("-3")}, line{"rows": json.Number("7"), "sum": json.Number("3")}
	if err := same("x", a, a, "rows", "sum"); err != nil {
		t.Error(err)
	}
	if same("x", a, b, "rows", "sum") == nil || same("x", a, a, "found") == nil {
		t.Error("different or missing results pass as equal")
	}
}
