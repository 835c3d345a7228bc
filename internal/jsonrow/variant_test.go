package jsonrow

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// TestVariants compares with what the reference prints of variants that it wrote.
func TestVariants(t *testing.T) {
	f, err := os.Open("testdata/variant.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	fields := columns("v VARIANT")
	d, e := NewDecoder(fields), NewEncoder(fields)
	n := 0
	for sc := bufio.NewScanner(z); sc.Scan(); n++ {
		want := `{"v":` + sc.Text() + `}`
		if err := d.Decode([]byte(want)); err != nil {
			t.Fatal(err)
		}
		if got := string(e.Append(nil, d.Batch().RecordBatch, 0)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if n < 20 {
		t.Errorf("%d variants only", n)
	}
}

func TestVariantValues(t *testing.T) {
	for _, c := range [][2]string{
		{"2cffffffff", `"1969-12-31"`},
		{"3040420f0000000000", `"1970-01-01 00:00:01+00:00"`},
		{"34ffffffffffffffff", `"1969-12-31 23:59:59.999999"`},
		{"380000c03f", "1.5"},
		{"3c02000000ff00", `"/wA="`},
		{"5000112233445566778899aabbccddeeff", `"00112233-4455-6677-8899-aabbccddeeff"`},
		{"1c000000000000f87f", `"NaN"`},
	} {
		b, err := hex.DecodeString(c[0])
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendVariantJSON(nil, b, []byte{1, 0, 0})
		if err != nil || string(got) != c[1] {
			t.Errorf("%s: %s (%v), want %s", c[0], got, err, c[1])
		}
	}
	// What cannot be read is still given as bytes.
	d := NewDecoder(columns("v VARIANT"))
	row := `{"v":{"value":"2d","metadata":""}}`
	if err := d.Decode([]byte(row)); err != nil {
		t.Fatal(err)
	}
	if got := string(NewEncoder(columns("v VARIANT")).Append(nil, d.Batch().RecordBatch, 0)); got != row {
		t.Error(got)
	}
	for _, bad := range []string{`{"v":"1"}`, `{"v":{"value":"00"}}`} {
		if err := d.Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), "value and metadata") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestNestedNotNull(t *testing.T) {
	fields := columns("a ARRAY<INT NOT NULL>", "r ROW<x INT NOT NULL, y INT>", "s STRING")
	for _, row := range []string{`{"a":[1,null]}`, `{"r":{"y":1}}`, `{"r":{"x":null}}`, `{"_kind":"+I","_kind":"-D"}`, `{"s":"\ud83d \ude00"}`} {
		if err := NewDecoder(fields).Decode([]byte(row)); err == nil {
			t.Errorf("%s is no error", row)
		}
	}
	if err := NewDecoder(fields).Decode([]byte(`{"a":null,"r":{"x":1,"y":null}}`)); err != nil {
		t.Error(err)
	}
}

func FuzzVariant(f *testing.F) {
	f.Add([]byte("\x02\x02\x00\x01\x00\x02\x05\x0c\x00\x09s0"), []byte("\x01\x02\x00\x01\x02ab"))
	f.Add([]byte("\x03\x02\x00\x00\x00\x00"), []byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, value, meta []byte) {
		out, err := appendVariantJSON(nil, value, meta)
		if err != nil {
			return
		}
		s := &scanner{b: out}
		if err := s.skip(-2); err != nil || s.peek() != 0 {
			t.Errorf("%x gives %s, which is no JSON: %v", value, out, err)
		}
	})
}
