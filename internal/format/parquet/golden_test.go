package parquet

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/formattest"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

// testdata/golden.zip has data files of Apache Paimon 1.4.2 with their schemas, the rows that Paimon reads
// from them (sorted by their text) and, in part, the statistics that it keeps of them.

func golden(tb testing.TB, name string) []byte {
	tb.Helper()
	z := must[*zip.ReadCloser](tb)(zip.OpenReader("testdata/golden.zip"))
	defer z.Close()
	f, err := z.Open(name)
	if errors.Is(err, errNotThere) {
		return nil
	}
	return must[[]byte](tb)(io.ReadAll(must[io.ReadCloser](tb)(f, err)))
}

var errNotThere = fs.ErrNotExist

var goldenFiles = []string{
	"all-parquet/append", "all-parquet-b/append", "compression-parquet/none", "compression-parquet/snappy",
	"compression-parquet/gzip", "compression-parquet/lz4", "compression-parquet/zstd", "decimals-parquet/dec",
	"timestamp-precisions-parquet/ts",
}

func goldenFields(tb testing.TB, name string) []types.Field {
	tb.Helper()
	var s struct{ Fields []types.Field }
	if err := json.Unmarshal(golden(tb, name+"/schema.json"), &s); err != nil {
		tb.Fatal(err)
	}
	return s.Fields
}

// readAll reads a file into rows as JSON, with the batches.
func readAll(f fileio.File, o format.ReadOptions) (rows []string, recs []arrow.RecordBatch, err error) {
	ctx := context.Background()
	r, err := Format{}.NewReader(ctx, f, o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	e := jsonrow.NewEncoder(o.Fields)
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return rows, recs, nil
		}
		if err != nil {
			return rows, recs, err
		}
		recs = append(recs, b.RecordBatch)
		for i := range int(b.NumRows()) {
			rows = append(rows, string(e.Append(nil, b.RecordBatch, i)))
		}
	}
}

func goldenRows(tb testing.TB, name string) []string {
	tb.Helper()
	lines := strings.Split(strings.TrimSpace(string(golden(tb, name+"/rows.jsonl"))), "\n")
	slices.Sort(lines)
	return lines
}

// Files of Paimon give the rows that Paimon reads.
func TestGolden(t *testing.T) {
	for _, name := range goldenFiles {
		t.Run(name, func(t *testing.T) {
			fields := goldenFields(t, name)
			for _, low := range []bool{false, true} {
				got, _, err := readAll(formattest.Open(t, golden(t, name+"/data.parquet")), format.ReadOptions{Fields: fields, LowMemory: low})
				if err != nil {
					t.Fatal(err)
				}
				compareRows(t, fields, got, goldenRows(t, name))
			}
		})
	}
}

// compareRows compares rows of any order; want is Paimon's text, whose numbers may be written otherwise.
func compareRows(t *testing.T, fields []types.Field, got, want []string) {
	t.Helper()
	d := jsonrow.NewDecoder(fields)
	for _, w := range want {
		if err := d.Decode([]byte(w)); err != nil {
			t.Fatalf("%s: %v", w, err)
		}
	}
	e, rec := jsonrow.NewEncoder(fields), d.Batch().RecordBatch
	var norm []string
	for i := range int(rec.NumRows()) {
		norm = append(norm, string(e.Append(nil, rec, i)))
	}
	got = slices.Clone(got)
	slices.Sort(got)
	slices.Sort(norm)
	if len(got) != len(norm) {
		t.Fatalf("%d rows, want %d", len(got), len(norm))
	}
	for i := range got {
		if got[i] != norm[i] {
			t.Errorf("row\n got %s\nwant %s", got[i], norm[i])
		}
	}
}

// Rows that Paimon wrote, written again, have the same statistics and the same schema in the file.
func TestGoldenWrittenAgain(t *testing.T) {
	for _, name := range goldenFiles {
		t.Run(name, func(t *testing.T) {
			fields := goldenFields(t, name)
			theirs := golden(t, name+"/data.parquet")
			rows, recs, err := readAll(formattest.Open(t, theirs), format.ReadOptions{Fields: fields})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			w := must[format.Writer](t)(Format{}.NewWriter(&out, fields, format.WriteOptions{}))
			for _, r := range recs {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
			}
			stats := must[[]format.ColumnStats](t)(w.Close())
			again, _, err := readAll(formattest.Open(t, out.Bytes()), format.ReadOptions{Fields: fields})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(rows, again) {
				t.Error("the rows read back are others")
			}
			if d := cmp.Diff(schemaText(t, theirs), schemaText(t, out.Bytes())); d != "" {
				t.Errorf("schema of Paimon (-) and ours (+)\n%s", d)
			}
			compareStats(t, fields, stats, golden(t, name+"/files.jsonl"))
		})
	}
}

func schemaText(t *testing.T, data []byte) []string {
	t.Helper()
	m := must[*fileMeta](t)(readFooter(t.Context(), formattest.Open(t, data)))
	var out []string
	for _, e := range m.schema {
		out = append(out, fmt.Sprintf("%+v", e))
	}
	return out
}

// compareStats compares with a line of the reference's dump of a file's metadata.
func compareStats(t *testing.T, fields []types.Field, stats []format.ColumnStats, line []byte) {
	t.Helper()
	if line == nil {
		return
	}
	var dump struct {
		ValueStatsCols []string
		ValueStats     struct {
			Min, Max   map[string]json.RawMessage
			NullCounts []int64
		}
	}
	if err := json.Unmarshal(line, &dump); err != nil {
		t.Fatal(err)
	}
	k := 0
	for i, f := range fields {
		if dump.ValueStatsCols != nil && !slices.Contains(dump.ValueStatsCols, f.Name) {
			if stats[i].NullCount != -1 {
				t.Errorf("%s: null count %d, want none", f.Name, stats[i].NullCount)
			}
			continue
		}
		if stats[i].NullCount != dump.ValueStats.NullCounts[k] {
			t.Errorf("%s: null count %d, want %d", f.Name, stats[i].NullCount, dump.ValueStats.NullCounts[k])
		}
		k++
		compareBound(t, f, "minimum", stats[i].Min, dump.ValueStats.Min[f.Name])
		compareBound(t, f, "maximum", stats[i].Max, dump.ValueStats.Max[f.Name])
	}
}

func compareBound(t *testing.T, f types.Field, what string, got types.Datum, want json.RawMessage) {
	t.Helper()
	if string(want) == "null" || want == nil {
		if got != nil {
			t.Errorf("%s: %s %v, want none", f.Name, what, got)
		}
		return
	}
	ty := f.Type.AsNullable()
	if ty.Kind == types.Char || ty.Kind == types.Varchar {
		ty = types.StringType // a raised bound may be longer than the type allows
	}
	one := []types.Field{{Name: "v", Type: ty}}
	d := jsonrow.NewDecoder(one)
	if err := d.Decode(fmt.Appendf(nil, `{"v":%s}`, want)); err != nil {
		t.Fatal(err)
	}
	if w := types.DatumAt(d.Batch().Column(0), 0, ty); got == nil || types.Compare(ty, got, w) != 0 {
		t.Errorf("%s: %s %v, want %v", f.Name, what, got, w)
	}
}
