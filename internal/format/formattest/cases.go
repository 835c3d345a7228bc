package formattest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/types"
)

func variants(t *testing.T, fields []types.Field) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(fields))
	for i := range 5 {
		v := b.Field(0).(*array.StructBuilder)
		r := b.Field(1).(*array.StructBuilder)
		if i == 2 {
			v.AppendNull()
			r.AppendNull()
			continue
		}
		r.Append(true)
		for _, s := range []*array.StructBuilder{v, r.FieldBuilder(0).(*array.StructBuilder)} {
			s.Append(true)
			s.FieldBuilder(0).(*array.BinaryBuilder).Append([]byte{12, byte(i)})
			s.FieldBuilder(1).(*array.BinaryBuilder).Append([]byte{1, 0, 0})
		}
	}
	return b.NewRecordBatch()
}

// projection: columns in another order, members of rows, columns that the file lacks.
func (s Suite) projection(t *testing.T) {
	fields := Fields("id", "INT", "name", "STRING", "r", "ROW<a INT,b STRING,c ROW<d DATE,e INT>>", "l", "ARRAY<ROW<x INT,y STRING>>", "m", "MAP<STRING,ROW<p INT,q INT>>")
	data, _, err := Write(s.Format, fields, format.WriteOptions{}, Rows(t, fields,
		`{"id":1,"name":"n","r":{"a":2,"b":"b","c":{"d":"2024-01-01","e":5}},"l":[{"x":1,"y":"y"},null,{"x":null,"y":"z"}],"m":[["k",{"p":1,"q":2}],["l",null]]}`,
		`{"id":2,"r":{"a":null,"b":null,"c":null},"l":[],"m":[]}`, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want []types.Field
		rows []string
	}{
		{"order", Fields("name", "STRING", "id", "INT"), []string{`{"name":"n","id":1}`, `{"name":null,"id":2}`, `{"name":null,"id":null}`}},
		{"missing", Fields("new", "BIGINT", "id", "INT", "newer", "ARRAY<INT>"), []string{
			`{"new":null,"id":1,"newer":null}`, `{"new":null,"id":2,"newer":null}`, `{"new":null,"id":null,"newer":null}`,
		}},
		{"none", nil, []string{`{}`, `{}`, `{}`}},
		{"members", Fields("r", "ROW<c ROW<e INT>,new STRING>"), []string{
			`{"r":{"c":{"e":5},"new":null}}`, `{"r":{"c":null,"new":null}}`, `{"r":null}`,
		}},
		{"only new members", Fields("r", "ROW<new ROW<z INT>>", "l", "ARRAY<ROW<new INT>>", "m", "MAP<STRING,ROW<new ARRAY<INT>>>"), []string{
			`{"r":{"new":null},"l":[{"new":null},null,{"new":null}],"m":[["k",{"new":null}],["l",null]]}`,
			`{"r":{"new":null},"l":[],"m":[]}`, `{"r":null,"l":null,"m":null}`,
		}},
		{"in lists", Fields("l", "ARRAY<ROW<y STRING>>", "m", "MAP<STRING,ROW<q INT>>"), []string{
			`{"l":[{"y":"y"},null,{"y":"z"}],"m":[["k",{"q":2}],["l",null]]}`, `{"l":[],"m":[]}`, `{"l":null,"m":null}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pieces, err := Read(s.Format, Open(t, data), format.ReadOptions{Fields: c.want})
			if err != nil {
				t.Fatal(err)
			}
			var got []arrow.RecordBatch
			for _, p := range pieces {
				got = append(got, p.Rec)
			}
			if d := cmp.Diff(c.rows, Text(c.want, got...)); d != "" {
				t.Errorf("rows wanted (-) and read (+)\n%s", d)
			}
		})
	}
	for _, bad := range []string{"STRING", "ROW<a INT>", "ARRAY<INT>", "BOOLEAN"} {
		_, err := Read(s.Format, Open(t, data), format.ReadOptions{Fields: Fields("id", bad)})
		if err == nil || !strings.Contains(err.Error(), "id") || !strings.Contains(err.Error(), types.MustParse(bad).String()) {
			t.Errorf("INT as %s: %v, want an error that names the column and the type", bad, err)
		}
	}
}

// batches: sizes of batches when writing and reading, over many row groups.
func (s Suite) batches(t *testing.T) {
	fields := Fields("i", "BIGINT NOT NULL", "s", "STRING", "l", "ARRAY<INT>", "f", "DOUBLE")
	var rows []string
	for i := range 30000 {
		rows = append(rows, fmt.Sprintf(`{"i":%d,"s":"row number %d","l":[%d,%d],"f":%d.5}`, i, i*7919%10007, i%5, i, i%3))
	}
	all := Rows(t, fields, rows...)
	cut := func(step int64) (out []arrow.RecordBatch) {
		for from := int64(0); from < all.NumRows(); from += step {
			out = append(out, all.NewSlice(from, min(from+step, all.NumRows())))
		}
		return out
	}
	for _, c := range []struct {
		step  int64
		block int64
		batch int
	}{{30000, 0, 0}, {997, 50000, 100}, {30000, 1000, 8192}, {64, 0, 29999}} {
		s.roundTrip(t, fields, format.WriteOptions{BlockSize: c.block}, format.ReadOptions{BatchRows: c.batch}, cut(c.step)...)
	}
}

// empty: a file without rows, and batches without rows.
func (s Suite) empty(t *testing.T) {
	fields := Fields("i", "INT", "r", "ROW<a ARRAY<INT>>")
	s.roundTrip(t, fields, format.WriteOptions{}, format.ReadOptions{})
	none := Rows(t, fields)
	one := Rows(t, fields, `{"i":1}`)
	data := s.roundTrip(t, fields, format.WriteOptions{}, format.ReadOptions{}, none, one, none)
	r, err := s.Format.NewReader(t.Context(), Open(t, data), format.ReadOptions{Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	if r.NumRows() != 1 {
		t.Errorf("%d rows, want 1", r.NumRows())
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := r.Next(t.Context()); err == nil || err == io.EOF {
		t.Errorf("a closed reader gives %v, want an error", err)
	}
}

// notNull: NULL in a column that has none is an error that names it, at any depth.
func (s Suite) notNull(t *testing.T) {
	for _, c := range []struct{ typ, value string }{{"INT", `null`}, {"ROW<a INT>", `{"a":null}`}, {"ARRAY<STRING>", `[null]`}, {"MAP<INT,INT>", `[[1,null]]`}} {
		loose := Fields("ok", "INT", "col", c.typ)
		strict := Fields("ok", "INT", "col", strings.ReplaceAll(strings.ReplaceAll(c.typ, "INT>", "INT NOT NULL>"), "STRING>", "STRING NOT NULL>"))
		if c.typ == "INT" {
			strict = Fields("ok", "INT", "col", "INT NOT NULL")
		}
		rec := Rows(t, loose, `{"ok":1,"col":`+c.value+`}`)
		_, _, err := Write(s.Format, strict, format.WriteOptions{}, rec)
		if err == nil || !strings.Contains(err.Error(), "NOT NULL") {
			t.Errorf("%s into %s: %v, want an error that says NOT NULL", c.value, strict[1].Type, err)
		}
	}
}

// shape: a batch of other columns is refused, not written wrongly.
func (s Suite) shape(t *testing.T) {
	fields := Fields("i", "INT", "s", "STRING")
	for _, other := range [][]types.Field{Fields("i", "INT"), Fields("i", "BIGINT", "s", "STRING"), Fields("i", "INT", "s", "BYTES"), Fields("i", "INT", "s", "ROW<a INT>")} {
		if _, _, err := Write(s.Format, fields, format.WriteOptions{}, Rows(t, other, `{}`)); err == nil {
			t.Errorf("a batch of %v was written into columns of %v", other, fields)
		}
	}
}

// slices: arrays that are parts of larger ones, nested too.
func (s Suite) slices(t *testing.T) {
	fields := Fields("b", "BOOLEAN", "s", "STRING", "d", "DECIMAL(20,2)", "l", "ARRAY<ROW<x STRING,y BOOLEAN>>", "m", "MAP<STRING,INT>", "r", "ROW<x STRING>")
	var rows []string
	for i := range 100 {
		if i%5 == 2 {
			rows = append(rows, `{}`)
			continue
		}
		rows = append(rows, fmt.Sprintf(`{"b":%t,"s":"s%d","d":"%d.25","l":[{"x":"x%[2]d","y":true},{"x":null,"y":null}],"m":[["k%[2]d",%[2]d]],"r":{"x":"r%[2]d"}}`, i%3 == 0, i, i))
	}
	rec := Rows(t, fields, rows...)
	s.roundTrip(t, fields, format.WriteOptions{}, format.ReadOptions{}, rec.NewSlice(3, 50), rec.NewSlice(50, 51), rec.NewSlice(7, 100))
}

// sizes: Size grows to the size of the file, Buffered is small after Close.
func (s Suite) sizes(t *testing.T) {
	fields := Fields("i", "BIGINT", "s", "STRING")
	var rows []string
	for i := range 20000 {
		rows = append(rows, fmt.Sprintf(`{"i":%d,"s":"value %d of many"}`, i*7919, i*31%7001))
	}
	rec := Rows(t, fields, rows...)
	var n counter
	w, err := s.Format.NewWriter(&n, fields, format.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	last := w.Size()
	for from := int64(0); from < rec.NumRows(); from += 1000 {
		if err := w.Write(rec.NewSlice(from, from+1000)); err != nil {
			t.Fatal(err)
		}
		if w.Buffered() <= 0 && int64(n) < 1000 {
			t.Errorf("after %d rows nothing is buffered", from)
		}
	}
	before := w.Size()
	if before <= last {
		t.Errorf("size %d after writing, %d before", before, last)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Size() != int64(n) {
		t.Errorf("size %d, the file has %d bytes", w.Size(), n)
	}
	if before > 8*int64(n) || before < int64(n)/8 {
		t.Errorf("the estimate was %d, the file has %d bytes", before, n)
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// failing fails after some bytes.
type failing struct{ left int }

var errFull = errors.New("the disk is full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// cancel: a context that is done ends reading; an error of the underlying writer comes through.
func (s Suite) cancel(t *testing.T) {
	fields := Fields("i", "BIGINT")
	rec := Rows(t, fields, `{"i":1}`, `{"i":2}`)
	data, _, err := Write(s.Format, fields, format.WriteOptions{}, rec)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Format.NewReader(t.Context(), Open(t, data), format.ReadOptions{Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	done, stop := context.WithCancel(t.Context())
	stop()
	if _, err := r.Next(done); !errors.Is(err, context.Canceled) {
		t.Errorf("next: %v, want %v", err, context.Canceled)
	}
	for left := 0; left < len(data); left += 7 {
		w, err := s.Format.NewWriter(&failing{left: left}, fields, format.WriteOptions{})
		if err == nil {
			err = w.Write(rec)
		}
		if err == nil {
			_, err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("a disk with room for %d of %d bytes: %v, want %v", left, len(data), err, errFull)
		}
	}
}
