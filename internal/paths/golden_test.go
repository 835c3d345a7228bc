package paths

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/types"
)

// TestPartitionNames compares with the folders that the reference made for the same values: every type, with
// legacy names and without, NULL, blank and special characters.
func TestPartitionNames(t *testing.T) {
	f, err := os.Open("testdata/partitions.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for sc := bufio.NewScanner(z); sc.Scan(); n++ {
		var c struct {
			Table  string
			Legacy bool
			Keys   [][2]string
			Rows   [][]json.RawMessage
			Dirs   []string
		}
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cfg := Config{PlainNames: !c.Legacy}
		var ts []types.Type
		for i, k := range c.Keys {
			ts = append(ts, types.MustParse(k[1]))
			cfg.Partition = append(cfg.Partition, types.Field{ID: i, Name: k[0], Type: ts[i]})
		}
		tab := NewTable("w/p.db/"+c.Table, cfg)
		var got []string
		for _, row := range c.Rows {
			vals := make([]types.Datum, len(row))
			for i, raw := range row {
				vals[i] = value(t, ts[i], raw)
			}
			b, err := binrow.EncodeWithArity(ts, vals)
			if err != nil {
				t.Fatal(err)
			}
			dir, err := tab.BucketDir(b, 0)
			if err != nil {
				t.Fatal(err)
			}
			dir, ok := strings.CutSuffix(dir, "/bucket-0")
			if !ok {
				t.Errorf("%s is no bucket", dir)
			}
			got = append(got, strings.TrimPrefix(dir, "w/p.db/"+c.Table+"/"))
		}
		slices.Sort(got)
		if d := cmp.Diff(c.Dirs, slices.Compact(got)); d != "" {
			t.Errorf("%s: %s", c.Table, d)
		}
		for _, d := range c.Dirs {
			var back []string
			for _, col := range SplitPartition(d + "/bucket-0/data-1.parquet") {
				back = append(back, Escape(col.Name)+"="+Escape(col.Value))
			}
			if s := strings.Join(back, "/"); s != d {
				t.Errorf("%s comes back as %s", d, s)
			}
		}
	}
	if n != 27 {
		t.Errorf("%d tables", n)
	}
}

func value(t *testing.T, typ types.Type, raw json.RawMessage) types.Datum {
	t.Helper()
	text := string(raw)
	if text == "null" {
		return nil
	}
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatal(err)
		}
	}
	d, err := types.ParseDatum(typ, text)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", raw, err))
	}
	return d
}
