package jsonrow

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/types"
)

func columns(spec ...string) []types.Field {
	var out []types.Field
	for i, s := range spec {
		name, typ, _ := strings.Cut(s, " ")
		out = append(out, types.Field{ID: i, Name: name, Type: types.MustParse(typ)})
	}
	return out
}

var all = columns("b BOOLEAN", "t TINYINT", "s SMALLINT", "i INT", "l BIGINT", "f FLOAT", "d DOUBLE", "dec DECIMAL(20,3)", "str STRING",
	"bin BYTES", "da DATE", "ti TIME(3)", "t3 TIMESTAMP(3)", "t9 TIMESTAMP(9)", "z6 TIMESTAMP_LTZ(6)", "arr ARRAY<ARRAY<INT>>", "m MAP<STRING,DOUBLE>",
	"ms MULTISET<STRING>", "r ROW<x BIGINT, y ROW<z STRING>>")

// What is written reads back as the same text.
func TestRoundTrip(t *testing.T) {
	rows := []string{
		`{"b":true,"t":-128,"s":32767,"i":-2147483648,"l":9223372036854775807,"f":1.4E-45,"d":4.9E-324,"dec":"-12345678901234567.890","str":"tab\tquote\" \\ 😀","bin":"00ff","da":"0001-01-01","ti":"23:59:59.999","t3":"1969-12-31T23:59:59.999000000","t9":"2262-04-11T23:47:16.854775807","z6":"1582-10-14T00:00:00.000001000Z","arr":[[1,null],null,[]],"m":[["a",null],["b",-0.0],["c",1.0E7],["d",9999999.0],["e",0.001],["f",9.999E-4]],"ms":[["x",2]],"r":{"x":null,"y":{"z":"q"}}}`,
		`{"b":null,"t":null,"s":null,"i":null,"l":null,"f":"NaN","d":"-Infinity","dec":null,"str":"","bin":"","da":"9999-12-31","ti":null,"t3":null,"t9":"+10000-01-01T00:00:00.000000001","z6":null,"arr":null,"m":[],"ms":null,"r":null}`,
		`{"b":false,"t":0,"s":0,"i":0,"l":9007199254740993,"f":-0.0,"d":1.7976931348623157E308,"dec":"0.000","str":"\u0000","bin":"aa","da":"+10000-01-01","ti":"00:00:00.000","t3":"9999-12-31T23:59:59.999000000","t9":"0001-01-01T00:00:00.000000001","z6":"0001-01-01T00:00:00.000001000Z","arr":[],"m":null,"ms":[],"r":{"x":1,"y":null}}`,
	}
	d := NewDecoder(all)
	for _, r := range rows {
		if err := d.Decode([]byte(r)); err != nil {
			t.Fatalf("%s: %v", r, err)
		}
	}
	b := d.Batch()
	e := NewEncoder(all)
	for i, want := range rows {
		got := string(e.Append(nil, b.RecordBatch, i))
		if got != want {
			t.Errorf("row %d\n got %s\nwant %s", i, got, want)
		}
		if err := Equal(all, []byte(got), []byte(want)); err != nil {
			t.Error(err)
		}
	}
}

// Every refusal names the column and what is wrong, and leaves no part of the row behind.
func TestRefusals(t *testing.T) {
	fields := append(columns("i INT", "dec DECIMAL(5,2)", "d DATE", "ts TIMESTAMP(3)", "f FLOAT", "m MAP<STRING,INT>"), types.Field{Name: "n", Type: types.MustParse("INT NOT NULL")})
	for _, c := range []struct{ row, want string }{
		{`{"i":2147483648,"n":1}`, "i: 2147483648 does not fit"},
		{`{"i":1.5,"n":1}`, "i: 1.5 is no integer"},
		{`{"i":"1","n":1}`, "i: column 6: want a number"},
		{`{"i":01,"n":1}`, "column 7"},
		{`{"dec":"1234.00","n":1}`, "dec: 1234.00 is too large for DECIMAL(5, 2)"},
		{`{"dec":1.005,"n":1}`, "dec: 1.005 has more than 2 digits"},
		{`{"d":"2023-02-29","n":1}`, `d: "2023-02-29" is no date`},
		{`{"ts":"2024-01-01T00:00:00.0001","n":1}`, "ts: "},
		{`{"ts":"2024-01-01T24:00:00","n":1}`, "ts: "},
		{`{"f":1e39,"n":1}`, "f: 1e39 does not fit"},
		{`{"m":[[null,1]],"n":1}`, "m: [0]: "},
		{`{"m":[["a"]],"n":1}`, "m: [0]: "},
		{`{"x":1,"n":1}`, `unknown column "x"; there are i, dec`},
		{`{"n":1,"n":2}`, `column "n" comes twice`},
		{`{"i":1}`, "column n is NOT NULL"},
		{`{"n":1} {}`, "more text after the object"},
		{`{"n":1`, "want ','"},
		{`{"n":1,"_kind":"+X"}`, "_kind"},
		{`[1]`, "want '{'"},
		{"{\"n\":1,\"m\":[[\"\xff\",1]]}", "UTF-8"},
	} {
		d := NewDecoder(fields)
		err := d.Decode([]byte(c.row))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.row, err, c.want)
		}
		if err := d.Decode([]byte(`{"n":7}`)); err != nil {
			t.Fatal(err)
		}
		if b := d.Batch(); b.NumRows() != 1 {
			t.Errorf("%s: %d rows after a refused and a good row", c.row, b.NumRows())
		}
	}
}

func TestKinds(t *testing.T) {
	d := NewDecoder(columns("i INT"))
	for _, r := range []string{`{"i":1}`, `{"_kind":"-D","i":2}`} {
		if err := d.Decode([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	if b := d.Batch(); len(b.Kinds) != 2 || b.Kinds[0] != types.Insert || b.Kinds[1] != types.Delete {
		t.Errorf("kinds %v", b.Kinds)
	}
	if err := d.Decode([]byte(`{"i":1}`)); err != nil {
		t.Fatal(err)
	}
	if b := d.Batch(); b.Kinds != nil {
		t.Errorf("kinds of inserts %v", b.Kinds)
	}
}

func TestEqual(t *testing.T) {
	fields := columns("f FLOAT", "d DOUBLE", "m MAP<INT,INT>")
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"f":1.4E-45,"d":1}`, `{"f":1.4e-45,"d":1.0}`, true},
		{`{"f":0.1}`, `{"f":0.10000000149}`, true},
		{`{"d":0.0}`, `{"d":-0.0}`, false},
		{`{"d":"NaN"}`, `{"d":"NaN"}`, true},
		{`{"m":[[1,2],[3,4]]}`, `{"m":[[3,4],[1,2]]}`, true},
		{`{"m":[[1,2],[1,2]]}`, `{"m":[[1,2],[1,3]]}`, false},
		{`{}`, `{"d":null}`, true},
	} {
		err := Equal(fields, []byte(c.a), []byte(c.b))
		var differ *DifferError
		if (err == nil) != c.same || err != nil && !errors.As(err, &differ) {
			t.Errorf("%s and %s: %v", c.a, c.b, err)
		}
	}
}

func TestLinesNameTheLine(t *testing.T) {
	r := Lines(strings.NewReader("{\"i\":1}\n\n{\"i\":2}\n{\"i\":x}\n"), "in.jsonl", columns("i INT"), 2)
	b, err := r.Next(t.Context())
	if err != nil || b.NumRows() != 2 {
		t.Fatal(b, err)
	}
	if _, err = r.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "in.jsonl: line 4") {
		t.Errorf("error %v", err)
	}
	r = Lines(strings.NewReader(`{"i":1}`), "in", columns("i INT"), 0)
	if b, err := r.Next(t.Context()); err != nil || b.NumRows() != 1 {
		t.Error(b, err)
	}
	if _, err := r.Next(t.Context()); err != io.EOF {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"i":1,"arr":[[1]],"m":[["a",1.5]],"r":{"x":1}}`))
	f.Add([]byte(`{"str":"\ud83d\ude00","da":"2024-02-29","dec":"1.5"}`))
	f.Add([]byte(`{"arr":[[[[[[[[`))
	f.Fuzz(func(t *testing.T, row []byte) {
		d := NewDecoder(all)
		if d.Decode(row) != nil {
			return
		}
		text := NewEncoder(all).Append(nil, d.Batch().RecordBatch, 0)
		again := NewDecoder(all)
		if err := again.Decode(text); err != nil {
			t.Fatalf("%s was read from %q and cannot be read again: %v", text, row, err)
		}
		if err := Equal(all, text, NewEncoder(all).Append(nil, again.Batch().RecordBatch, 0)); err != nil {
			t.Fatal(err)
		}
	})
}
