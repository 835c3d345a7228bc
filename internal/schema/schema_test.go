package schema

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/types"
)

// lines calls f with every line of a packed file.
func lines(t testing.TB, name string, f func(line []byte)) {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		f(sc.Bytes())
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
}

// tree is JSON without its layout. Members that are null are as good as missing.
func tree(t testing.TB, text []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for k, x := range v {
		if x == nil {
			delete(v, k)
		}
	}
	return v
}

// sortedOptions puts the options of a laid out schema file in order: those of the reference come as its
// hash table has them.
func sortedOptions(text string) string {
	from := strings.Index(text, "\"options\" : {\n")
	if from < 0 {
		return text
	}
	from += len("\"options\" : {\n")
	n := strings.Index(text[from:], "\n  }")
	parts := strings.Split(strings.ReplaceAll(text[from:from+n], ",\n", "\n"), "\n")
	slices.Sort(parts)
	return text[:from] + strings.Join(parts, ",\n") + text[from+n:]
}

// TestFiles reads and writes the schema files of all releases from 0.4 on, by the reference and its
// Python version.
func TestFiles(t *testing.T) {
	n, same := 0, 0
	lines(t, "files.jsonl.gz", func(line []byte) {
		var f struct{ Name, Text string }
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		s, err := Decode([]byte(f.Text))
		if strings.Contains(f.Name, "cut-schema") {
			if err == nil || !strings.Contains(err.Error(), "cut off") {
				t.Errorf("%s: %v", f.Name, err)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			return
		}
		n++
		out := s.Encode()
		if strings.Contains(f.Name, "pypaimon") { // says the same in other words
			again, err := Decode(out)
			if d := cmp.Diff(s, again); err != nil || d != "" {
				t.Errorf("%s: %v (-file +written)\n%s", f.Name, err, d)
			}
			return
		}
		if d := cmp.Diff(tree(t, []byte(f.Text)), tree(t, out)); d != "" {
			t.Errorf("%s (-file +written)\n%s", f.Name, d)
		}
		if strings.HasPrefix(f.Name, "bad+") {
			return // edited by hand
		}
		if string(out) != sortedOptions(f.Text) {
			t.Errorf("%s is laid out otherwise:\n%s", f.Name, out)
			return
		}
		same++
	})
	if n < 300 || same < 300 {
		t.Errorf("%d schemas, %d the same", n, same)
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string][2]string{
		`{"id":0,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":{}}`:             {"1", ""},
		`{"version":2,"id":0,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":{}}`: {"2", ""},
	} {
		s, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		out := string(s.Encode())
		if has := strings.Contains(out, "version"); has != (want[0] != "1") {
			t.Errorf("%s: written as %s", text, out)
		}
	}
	s, err := Decode([]byte(`{"version":99,"id":7,"fields":[],"highestFieldId":3,"partitionKeys":[],"primaryKeys":[],"options":{},"future":{"a":[1, {}]},"comment":"c"}`))
	if err != nil {
		t.Fatal(err)
	}
	if out := string(s.Encode()); !strings.Contains(out, `"version" : 99`) || !strings.Contains(out, `"future" : {`) || s.HighestFieldID != 3 {
		t.Errorf("members that are not known are lost: %s", out)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, part := range map[string]string{
		``:              "damaged",
		`{"id":0,`:      "damaged",
		`[]`:            "",
		`{}`:            "missing",
		`{"id":0}`:      "missing",
		`{"fields":[]}`: "missing",
		`{"id":0,"fields":[{"id":0,"name":"a","type":"FOO"}]}`:                                                                       "FOO",
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"},{"id":1,"name":"a","type":"INT"}]}`:                                      "twice",
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"},{"id":0,"name":"b","type":"INT"}]}`:                                      "same id",
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"primaryKeys":["b"]}`:                                                   `"b"`,
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"partitionKeys":[],"primaryKeys":[],"options":{}}`:                      "highestFieldId",
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"primaryKeys":[],"options":{}}`:                      "partitionKeys",
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"partitionKeys":[],"options":{}}`:                    "primaryKeys",
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":null,"options":{}}`: "primaryKeys",
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[]}`:                "options",
		`{"id":0,"fields":[{"name":"a","type":"INT"}]}`:                                                                              "no id",
		`{"id":0,"fields":[{"id":0,"name":"a","type":{"type":"ROW","fields":[{"name":"x","type":"INT"}]}}]}`:                         "no id",
	} {
		if s, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got %v, %v, want an error with %q", text, s, err, part)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":"INT NOT NULL"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":["a"],"options":{"bucket":"1"},"comment":"x","timeMillis":5}`))
	f.Add([]byte(`{"id":1,"fields":[{"id":4,"name":"r","type":{"type":"MAP","key":"STRING","value":{"type":"ROW","fields":[{"id":5,"name":"x","type":"INT"}]}}}],"x":{"y":[ ]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil {
			return
		}
		out := s.Encode()
		again, err := Decode(out)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", data, out, err)
		}
		if string(again.Encode()) != string(out) {
			t.Fatalf("%q is not written the same twice: %q", data, out)
		}
	})
}

func fields(cols ...string) []types.Field {
	out := make([]types.Field, len(cols))
	for i, c := range cols {
		name, typ, _ := strings.Cut(c, " ")
		out[i] = types.Field{ID: i, Name: name, Type: types.MustParse(typ)}
	}
	return out
}

// Members of a schema file are told apart by their exact names, as the reference does; others are kept.
func TestMemberNames(t *testing.T) {
	s, err := Decode([]byte(`{"version": 3, "ID": 9, "id": 1, "Id": 8, "fields": [{"id": 0, "ID": 7, "name": "a", "NAME": "b", "type": "INT", "TYPE": "STRING"}],
		"FIELDS": [], "highestFieldId": 0, "partitionKeys": [], "PartitionKeys": ["x"], "primaryKeys": [], "options": {"bucket": "1"}, "Options": {"bucket": "2"}, "Comment": "c"}`))
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Fields; s.ID != 1 || len(f) != 1 || f[0].ID != 0 || f[0].Name != "a" || f[0].Type.Kind != types.Int || s.Options["bucket"] != "1" || s.Comment != "" || len(s.PartitionKeys) != 0 {
		t.Errorf("%+v", s)
	}
	if len(s.Extra) != 6 || string(s.Extra["ID"]) != "9" {
		t.Errorf("kept: %q", s.Extra)
	}
	if _, err := Decode([]byte(`{"Id": 1, "fields": []}`)); err == nil || !strings.Contains(err.Error(), "id or fields are missing") {
		t.Errorf("error %v", err)
	}
}
