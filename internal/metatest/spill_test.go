package metatest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// spillTypes are columns of all types, each with values as Arrow's JSON has them.
var spillTypes = []struct {
	typ    string
	values []string
}{
	{"BOOLEAN", []string{"true", "false"}},
	{"TINYINT", []string{"-128", "127"}},
	{"SMALLINT", []string{"-32768", "32767"}},
	{"INT", []string{"-2147483648", "2147483647"}},
	{"BIGINT", []string{"-9223372036854775808", "9223372036854775807"}},
	{"FLOAT", []string{"-0.0", "1.5"}},
	{"DOUBLE", []string{"-0.0", "4.9e-324"}},
	{"DECIMAL(9, 2)", []string{`"-9999999.99"`, `"0.01"`}},
	{"DECIMAL(38, 10)", []string{`"-9999999999999999999999999999.0123456789"`, `"1.0000000000"`}},
	{"CHAR(3)", []string{`"abc"`, `"日本語"`}},
	{"STRING", []string{`""`, `"` + strings.Repeat("long ", 50) + `"`}},
	{"BYTES", []string{`""`, `"AAECAw=="`}},
	{"DATE", []string{`"1500-01-01"`, `"9999-12-31"`}},
	{"TIME(3)", []string{`"00:00:00.000"`, `"23:59:59.999"`}},
	{"TIMESTAMP(3)", []string{`"1969-12-31 23:59:59.999"`, `"2024-02-29 12:00:00.001"`}},
	{"TIMESTAMP(6)", []string{`"1969-12-31 23:59:59.999999"`, `"2024-02-29 12:00:00.000001"`}},
	{"TIMESTAMP(9)", []string{`"1969-12-31 23:59:59.999999999"`, `"2024-02-29 12:00:00.000000001"`}},
	{"TIMESTAMP_LTZ(6)", []string{`"1969-12-31 23:59:59.999999Z"`, `"2024-02-29 12:00:00.000001Z"`}},
	{"ARRAY<INT>", []string{"[]", "[1, null, 3]"}},
	{"MAP<STRING, BIGINT>", []string{"[]", `[{"key": "a", "value": 1}, {"key": "b", "value": null}]`}},
	{"MULTISET<STRING>", []string{"[]", `[{"key": "a", "value": 2}]`}},
	{"ROW<x INT, y ARRAY<ROW<z STRING>>>", []string{`{"x": null, "y": []}`, `{"x": 1, "y": [{"z": "q"}, null]}`}},
}

// TestSpilledRowsAreTheSame writes rows of all types through temporary files, in passes, and through memory
// alone: the tables are the same.
func TestSpilledRowsAreTheSame(t *testing.T) {
	fields := []types.Field{{Name: "k", Type: types.MustParse("INT NOT NULL")}}
	for i, c := range spillTypes {
		fields = append(fields, types.Field{Name: fmt.Sprint("c", i), Type: types.MustParse(c.typ)})
	}
	var batches []tarn.Batch
	for b := range 6 {
		var rows []string
		var kinds []types.RowKind
		for r := range 20 {
			n := b*20 + r
			parts := []string{fmt.Sprintf(`"k": %d`, n*7%50)}
			for i, c := range spillTypes {
				if v := (n + i) % 3; v < 2 {
					parts = append(parts, fmt.Sprintf(`"c%d": %s`, i, c.values[v]))
				}
			}
			rows = append(rows, "{"+strings.Join(parts, ", ")+"}")
			kinds = append(kinds, []types.RowKind{types.Insert, types.UpdateAfter, types.Insert, types.Delete}[n%4])
		}
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, types.ArrowSchema(fields), strings.NewReader("["+strings.Join(rows, ",")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, tarn.Batch{RecordBatch: rec, Kinds: kinds})
	}
	write := func(opts map[string]string) string {
		opts["bucket"] = "1"
		tab := newTable(t, tarn.TableDef{Fields: fields, PrimaryKeys: []string{"k"}, Options: opts})
		w, err := tab.NewWriter(t.Context(), &tarn.WriterOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for _, b := range batches {
			if err := w.Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for b, err := range tab.Scan(tarn.ScanOptions{Ordered: true}).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			text, err := b.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			out.Write(text)
		}
		names, err := tab.FileNames(t.Context())
		if err != nil || len(names) != 1 {
			t.Errorf("%v: %d files, %v: the buffer was not spilled but flushed", opts, len(names), err)
		}
		return out.String()
	}
	want := write(map[string]string{})
	if strings.Count(want, `"k"`) < 20 {
		t.Fatalf("few rows: %s", want)
	}
	for _, compression := range []string{"zstd", "lz4", "none"} {
		got := write(map[string]string{
			"write-buffer-size": "1 b", "write-buffer-spillable": "true", "local-sort.max-num-file-handles": "2", "spill-compression": compression,
		})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("spilled with %s (-memory +spilled):\n%s", compression, d)
		}
	}
}
