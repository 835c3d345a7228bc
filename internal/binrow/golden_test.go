package binrow

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// testTable is a table whose rows' buckets the reference told.
type testTable struct {
	fields  []types.Field
	key     []string
	buckets int
	fn      string
	rows    []map[string]json.RawMessage
	want    []int
}

func (tt *testTable) keyColumns() (cols []int, ts []types.Type) {
	for _, k := range tt.key {
		for i, f := range tt.fields {
			if f.Name == k {
				cols, ts = append(cols, i), append(ts, f.Type)
			}
		}
	}
	return cols, ts
}

func readTables(t *testing.T, file string) map[string]*testTable {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*testTable{}
	for sc := bufio.NewScanner(z); sc.Scan(); {
		var line struct {
			Table   string
			Columns []struct{ Name, Type string }
			Options map[string]string
			Read    string
			Row     map[string]json.RawMessage
			Bucket  int
		}
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Table != "" {
			tt := &testTable{key: strings.Split(line.Options["bucket-key"], ","), fn: line.Options["bucket-function.type"]}
			if tt.buckets, err = strconv.Atoi(line.Options["bucket"]); err != nil {
				t.Fatal(err)
			}
			for i, c := range line.Columns {
				tt.fields = append(tt.fields, types.Field{ID: i, Name: c.Name, Type: types.MustParse(c.Type)})
			}
			_, name, _ := strings.Cut(line.Table, ".")
			out[name] = tt
			continue
		}
		tt := out[strings.TrimSuffix(line.Read, ".buckets")]
		tt.rows, tt.want = append(tt.rows, line.Row), append(tt.want, line.Bucket)
	}
	return out
}

func datum(t *testing.T, typ types.Type, raw json.RawMessage) types.Datum {
	t.Helper()
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	text := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatal(err)
		}
	}
	if typ.Kind == types.Binary || typ.Kind == types.Varbinary {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	d, err := types.ParseDatum(typ, text)
	if err != nil {
		t.Fatalf("%s as %v: %v", raw, typ, err)
	}
	return d
}

func record(t *testing.T, fields []types.Field, rows []map[string]json.RawMessage) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(fields))
	for _, r := range rows {
		for i, f := range fields {
			if err := types.AppendDatum(b.Field(i), f.Type, datum(t, f.Type, r[f.Name])); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.NewRecordBatch()
}

// TestBuckets compares with the buckets that the reference gave: one table per key type, composite
// keys in the order of bucket-key, and the functions mod and hive.
func TestBuckets(t *testing.T) {
	for _, file := range []string{"hash-by-type", "hash-composite-b", "functions"} {
		n := 0
		for name, tt := range readTables(t, "testdata/"+file+".jsonl.gz") {
			if len(tt.rows) == 0 {
				continue
			}
			n++
			t.Run(file+"/"+name, func(t *testing.T) { checkBuckets(t, tt) })
		}
		if n == 0 {
			t.Errorf("%s has no tables", file)
		}
	}
}

func checkBuckets(t *testing.T, tt *testTable) {
	rec := record(t, tt.fields, tt.rows)
	cols, ts := tt.keyColumns()
	fn, err := NewBucketFunction(tt.fn, cols, ts)
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHasher(cols, ts)
	if err != nil {
		t.Fatal(err)
	}
	got := fn.Buckets(rec, tt.buckets, nil)
	hashes := h.Hash(rec, nil)
	sliced := h.Hash(rec.NewSlice(1, rec.NumRows()), nil)
	for i, want := range tt.want {
		if got[i] != int32(want) {
			t.Errorf("%v: bucket %d, want %d", tt.rows[i], got[i], want)
		}
		vals := make([]types.Datum, len(cols))
		for k, c := range cols {
			vals[k] = types.DatumAt(rec.Column(c), i, ts[k])
		}
		row, err := Encode(ts, vals)
		if err != nil {
			t.Fatal(err)
		}
		if Hash(row) != hashes[i] {
			t.Errorf("%v: hash %d of the encoded row, %d of the batch", tt.rows[i], Hash(row), hashes[i])
		}
		if i > 0 && sliced[i-1] != hashes[i] {
			t.Errorf("%v: hash %d in a slice, %d in the batch", tt.rows[i], sliced[i-1], hashes[i])
		}
		back, err := Decode(row, ts)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Encode(ts, back)
		if err != nil || !bytes.Equal(again, row) {
			t.Errorf("%v: decoded and encoded again: %x, was %x (%v)", tt.rows[i], again, row, err)
		}
	}
}
