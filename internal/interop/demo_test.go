package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/cdc/source/demo"
	"github.com/tarnlake/tarn/internal/cli"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// TestDemo runs `tarn demo` with fewer changes and lets the reference read the lake: it holds what the
// shop's own dump has, table by table.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	o, ok := tarntest.StartOracle(t, "", dir)
	if !ok {
		return
	}
	const seed, events = 7, 30_000
	var out, errs bytes.Buffer
	args := []string{"demo", "--warehouse", dir, "--no-sql", "--events", fmt.Sprint(events), "--seed", fmt.Sprint(seed)}
	if code := cli.Main(args, &bytes.Buffer{}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out.Bytes(), errs.Bytes())
	}
	shop := demo.New(seed, events)
	for more := true; more; {
		_, more = shop.Next()
	}
	var names []string
	for _, d := range shop.Expected() {
		names = append(names, d.Name)
		var fields []types.Field
		for i, c := range d.Columns {
			fields = append(fields, types.Field{Name: c, Type: d.Types[i]})
		}
		want := objects(t, fields, d.Rows)
		var raw [][]byte
		for _, line := range o.Read(t, "shop."+d.Name) {
			var x struct{ Row json.RawMessage }
			if err := json.Unmarshal(line, &x); err != nil {
				t.Fatal(err)
			}
			raw = append(raw, x.Row)
		}
		if len(want) == 0 {
			t.Errorf("the shop has no %s", d.Name)
		}
		if diff := differences(want, canonical(t, fields, raw)); diff != "" {
			t.Errorf("shop.%s: the shop (-) and the reference (+)\n%s", d.Name, diff)
		}
	}
	var list struct{ Tables []string }
	if err := json.Unmarshal(o.Do(t, tarntest.Command{"op": "list", "db": "shop"})[0].Raw, &list); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	if !slices.Equal(list.Tables, names) {
		t.Errorf("the reference sees tables %v, the shop has %v", list.Tables, names)
	}
}

// objects writes rows of the shop as rows that were read are written.
func objects(t *testing.T, fields []types.Field, rows [][]types.Datum) []string {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(fields))
	for _, r := range rows {
		for i, v := range r {
			if err := types.AppendDatum(b.Field(i), fields[i].Type, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	rec := b.NewRecordBatch()
	e := jsonrow.NewEncoder(fields)
	var out []string
	for i := range len(rows) {
		out = append(out, string(e.Append(nil, rec, i)))
	}
	slices.Sort(out)
	return out
}
