package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/types"
)

// reschema gives the records of a file another schema.
func reschema(t *testing.T, data []byte, change func(string) string) []byte {
	t.Helper()
	text := schema(data)
	changed := change(text)
	if changed == text {
		t.Fatalf("nothing is changed in %s", text)
	}
	c, err := openFile(data)
	if err != nil {
		t.Fatal(err)
	}
	w := avro.NewWriter(changed, avro.Codec{Name: "null"}, nil)
	for {
		block, n, err := c.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(block, n); err != nil {
			t.Fatal(err)
		}
	}
	out, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A file without a field that every release writes is refused with the name of the field, whichever it is: taken
// for zero it would be written as zero later. Fields that a release may lack, and those that nobody knows, do no harm.
func TestMissingFields(t *testing.T) {
	entries, err := Encode([]Entry{entry(Add, file("a", 0))}, Encoding{Compression: "null"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := EncodeList([]Meta{{Name: "m"}}, Encoding{Compression: "null"})
	if err != nil {
		t.Fatal(err)
	}
	index, err := EncodeIndex([]IndexEntry{{Name: "i", Partition: []byte(emptyRow), Vectors: []VectorRange{{File: "f", Cardinality: -1}}}}, Encoding{Compression: "null"})
	if err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]struct {
		data []byte
		must int
		read func([]byte) error
	}{
		"manifest": {entries, 22, func(b []byte) error { _, err := Decode(b, nil); return err }},
		"list":     {list, 9, func(b []byte) error { _, err := DecodeList(b); return err }},
		"index":    {index, 11, func(b []byte) error { _, err := DecodeIndex(b); return err }},
	} {
		must := 0
		text := schema(f.data)
		for _, at := range regexp.MustCompile(`\{"name":"(_[A-Z_]+|f\d)","type":(\["null")?`).FindAllStringSubmatchIndex(text, -1) {
			name := text[at[2]:at[3]]
			optional := at[4] >= 0 || strings.Contains(text[:at[0]], `"_GLOBAL_INDEX"`)
			err := f.read(reschema(t, f.data, func(s string) string { return s[:at[2]] + "_OTHER" + s[at[3]:] }))
			if optional {
				if err != nil {
					t.Errorf("%s without %s: %v", what, name, err)
				}
				continue
			}
			must++
			if err == nil || !strings.Contains(err.Error(), "no field "+name) {
				t.Errorf("%s without %s: %v", what, name, err)
			}
		}
		if must != f.must {
			t.Errorf("%s: %d fields have to be there, want %d", what, must, f.must)
		}
	}
}

// null in a field that must have a value is refused as a missing field is.
func TestNullFields(t *testing.T) {
	data, err := Encode([]Entry{entry(Add, file("a", 0))}, Encoding{Compression: "null"})
	if err != nil {
		t.Fatal(err)
	}
	// _BUCKET is 0, which is the branch of null.
	data = reschema(t, data, func(s string) string {
		return strings.Replace(s, `{"name":"_BUCKET","type":"int"}`, `{"name":"_BUCKET","type":["null","int"]}`, 1)
	})
	if _, err := Decode(data, nil); err == nil || !strings.Contains(err.Error(), "field _BUCKET is null") {
		t.Errorf("error %v", err)
	}
}

// A field of a later release that is never null there is kept as one that may be: it is rewritten together with
// entries that lack it.
func TestUnknownRequiredFields(t *testing.T) {
	known := map[string]string{
		"entry": `{"name":"_TOTAL_BUCKETS","type":"int"}`,
		"file":  `{"name":"_SCHEMA_ID","type":"long"}`,
	}
	for scope, before := range known {
		a := entry(Add, file("a", 0))
		if scope == "file" {
			a.File.SchemaID = 7
		} else {
			a.TotalBuckets = 7
		}
		data, err := Encode([]Entry{a}, Encoding{Compression: "null"})
		if err != nil {
			t.Fatal(err)
		}
		// The value 7 becomes that of the new field: what follows is read with the known field behind it.
		data = insertField(t, data, before, `{"name":"_NEW","type":"long"}`)
		got, err := Decode(data, nil)
		if err != nil {
			t.Fatal(scope, err)
		}
		again, err := Encode([]Entry{entry(Add, file("b", 0)), got[0]}, Encoding{Compression: "null"})
		if err != nil {
			t.Fatal(scope, err)
		}
		recs, err := Records(again)
		if err != nil {
			t.Fatal(scope, err)
		}
		var values []any
		for _, r := range recs {
			if scope == "file" {
				r, _ = r.Get("_FILE").(Record)
			}
			values = append(values, r.Get("_NEW"))
		}
		if d := cmp.Diff([]any{nil, int64(7)}, values); d != "" {
			t.Error(scope, d)
		}
	}
	list, err := EncodeList([]Meta{{Name: "m", SchemaID: 7}}, Encoding{Compression: "null"})
	if err != nil {
		t.Fatal(err)
	}
	metas, err := DecodeList(insertField(t, list, `{"name":"_SCHEMA_ID","type":"long"}`, `{"name":"_NEW","type":"long"}`))
	if err != nil {
		t.Fatal(err)
	}
	again, err := EncodeList([]Meta{{Name: "n"}, metas[0]}, Encoding{Compression: "null"})
	if err != nil {
		t.Fatal(err)
	}
	recs, err := Records(again)
	if err != nil || len(recs) != 2 || recs[0].Get("_NEW") != nil || recs[1].Get("_NEW") != int64(7) {
		t.Errorf("%v, %v", recs, err)
	}
}

// insertField puts a field in front of another one, both with the value that the latter has: 7.
func insertField(t *testing.T, data []byte, before, field string) []byte {
	t.Helper()
	recs, err := Records(data)
	if err != nil || len(recs) != 1 {
		t.Fatal(recs, err)
	}
	c, err := openFile(data)
	if err != nil {
		t.Fatal(err)
	}
	block, _, err := c.Next()
	if err != nil {
		t.Fatal(err)
	}
	at := strings.IndexByte(string(block), 14) // 7, the only one
	if at < 0 || strings.IndexByte(string(block[at+1:]), 14) >= 0 || !json.Valid([]byte(field)) {
		t.Fatalf("% x", block)
	}
	text := schema(data)
	w := avro.NewWriter(strings.Replace(text, before, field+","+before, 1), avro.Codec{Name: "null"}, nil)
	if err := w.Add(append(append(bytes.Clone(block[:at]), 14), block[at:]...), 1); err != nil {
		t.Fatal(err)
	}
	out, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Members of an Avro schema are told apart by their exact names.
func TestSchemaMemberNames(t *testing.T) {
	data, err := EncodeList([]Meta{{Name: "m"}}, Encoding{Compression: "null"})
	if err != nil {
		t.Fatal(err)
	}
	metas, err := DecodeList(reschema(t, data, func(s string) string {
		s = strings.ReplaceAll(s, `"name":"_FILE_NAME"`, `"name":"_FILE_NAME","NAME":"_OTHER","Type":"int"`)
		return strings.Replace(s, `"fields":[`, `"Fields":[],"fields":[`, 1)
	}))
	if err != nil || len(metas) != 1 || metas[0].Name != "m" {
		t.Errorf("%v, %v", metas, err)
	}
}

// A manifest that ends behind a block is a whole file with fewer entries: its size tells.
func TestCutManifest(t *testing.T) {
	s := newTestStore(t, Config{})
	metas, err := s.Write(t.Context(), benchEntries(2000))
	if err != nil || len(metas) != 1 {
		t.Fatal(metas, err)
	}
	data, err := fileio.ReadFile(t.Context(), s.c.FS, s.Path(metas[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	c, err := openFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Next(); err != nil || c.Offset() == int64(len(data)) {
		t.Fatalf("one block only, %v", err)
	}
	if err := s.c.FS.Put(t.Context(), s.Path(metas[0].Name), data[:c.Offset()]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), &metas[0], nil); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "bytes, its list says") {
		t.Errorf("error %v", err)
	}
}

// A manifest that has entries of a partition is never left out by the statistics in its list, whatever values there are:
// what it deletes would come back. One that can have none is.
func TestMayHold(t *testing.T) {
	ts := []types.Type{{Kind: types.Varchar, Length: 10}, {Kind: types.Double}, {Kind: types.Int}}
	values := [][]types.Datum{{nil, "", "a", "b", "bb", "ä", "\U0010ffff"}, {nil, math.NaN(), math.Inf(1), 0.0, math.Copysign(0, -1), -1.5}, {nil, int64(-5), int64(0), int64(7)}}
	r := rand.New(rand.NewPCG(1, 2))
	row := func() ([]byte, []types.Datum) {
		var p []types.Datum
		for _, v := range values {
			p = append(p, v[r.IntN(len(v))])
		}
		b, err := binrow.EncodeWithArity(ts, p)
		if err != nil {
			t.Fatal(err)
		}
		return b, p
	}
	s := newTestStore(t, Config{Partition: ts})
	left := 0
	for range 500 {
		m := &Meta{}
		var all [][]byte
		var nulls [3]int
		var entries []Entry
		for range 1 + r.IntN(4) {
			b, p := row()
			for i := range p {
				if p[i] == nil {
					nulls[i]++
				}
			}
			e := entry(Add, file("x", 0))
			e.Partition = b
			entries, all = append(entries, e), append(all, b)
			m.Added++
		}
		var err error
		if m.PartitionStats, err = partitionStats(ts, entries); err != nil {
			t.Fatal(err)
		}
		for _, b := range all {
			if !s.MayHold(m, b) {
				t.Fatalf("%v: a partition of it is denied", m.PartitionStats)
			}
		}
		b, p := row()
		holds := s.MayHold(m, b)
		for i := range p {
			if (p[i] == nil && nulls[i] == 0 || p[i] != nil && nulls[i] == len(all)) && holds {
				t.Errorf("%v is not left out of %v", p, m.PartitionStats)
			}
		}
		if !holds {
			left++
		}
	}
	if left < 100 {
		t.Errorf("only %d were left out", left)
	}
}
