package schema

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// read maps rows of a file, one JSON object a line, to the wanted columns.
func read(t *testing.T, m *Mapping, rows string) string {
	t.Helper()
	b, err := jsonrow.Lines(strings.NewReader(rows), "test", m.Fields(), 100).Next(t.Context())
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	rec, err := m.Apply(b.RecordBatch)
	if err != nil {
		t.Fatal(err)
	}
	if !rec.Schema().Equal(types.WideArrowSchema(m.read)) {
		t.Errorf("the schema is %s, want %s", rec.Schema(), types.WideArrowSchema(m.read))
	}
	var out []byte
	enc := jsonrow.NewEncoder(m.read)
	for i := range int(rec.NumRows()) {
		out = append(enc.Append(out, rec, i), '\n')
	}
	return strings.TrimSpace(string(out))
}

func mapping(t *testing.T, data, read []types.Field) *Mapping {
	t.Helper()
	m, err := NewMapping(data, read)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func leaf(op predicate.Op, col, typ string, vals ...types.Datum) *predicate.Leaf {
	return &predicate.Leaf{Op: op, Column: col, Type: types.MustParse(typ), Values: vals}
}

// TestByID is BUGS B010: T(k, x, y); DROP y; RENAME x TO y; then ADD x. Old files are matched by id.
func TestByID(t *testing.T) {
	s, err := Create(Definition{Fields: fields("k INT", "x INT", "y INT"), PrimaryKeys: []string{"k"}})
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Apply([]Change{DropColumn{[]string{"y"}}, RenameColumn{[]string{"x"}, "y"}, AddColumn{Path: []string{"x"}, Type: types.IntType}}, ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if now.HighestFieldID != 3 {
		t.Errorf("highest id %d: one was used twice", now.HighestFieldID)
	}
	m := mapping(t, s.Fields, now.Fields)
	if got, want := read(t, m, `{"k":1,"x":10}`), `{"k":1,"y":10,"x":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got := m.Devolve(&predicate.And{Args: []predicate.Predicate{leaf(predicate.Lt, "y", "INT", int64(11)), leaf(predicate.Eq, "x", "INT", int64(5))}})
	want := predicate.Predicate(&predicate.And{Args: []predicate.Predicate{leaf(predicate.Lt, "x", "INT", int64(11))}})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("filter (-want +got)\n%s", d)
	}
}

// TestNested is BUGS B071: what is new in a ROW or beside it is NULL, a NULL row stays NULL.
func TestNested(t *testing.T) {
	s, err := Create(Definition{Fields: fields("k INT", "r ROW<a INT>")})
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Apply([]Change{
		AddColumn{Path: []string{"r", "b"}, Type: types.StringType},
		AddColumn{Path: []string{"m"}, Type: types.MustParse("MAP<STRING,INT>")},
		AddColumn{Path: []string{"l"}, Type: types.MustParse("ARRAY<ROW<x INT>>")},
	}, ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows := `{"k":1,"r":null}` + "\n" + `{"k":2,"r":{"a":5}}`
	if got, want := read(t, mapping(t, s.Fields, now.Fields), rows), `{"k":1,"r":null,"m":null,"l":null}`+"\n"+`{"k":2,"r":{"a":5,"b":null},"m":null,"l":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r, _ := now.Field("r")
	r.Type.Fields = r.Type.Fields[1:] // only r.b
	m := mapping(t, s.Fields, []types.Field{r})
	if got, want := read(t, m, `{"r":null}`+"\n"+`{"r":{"a":5}}`), `{"r":null}`+"\n"+`{"r":{"b":null}}`; got != want {
		t.Errorf("r.b: got %s, want %s", got, want)
	}
	// What was there is read alone: the file is not asked for the rest.
	wide := fields("k INT", "r ROW<a INT, b STRING, c INT>")
	only := wide[1]
	only.Type.Fields = only.Type.Fields[2:]
	if f := mapping(t, wide, []types.Field{only}).Fields(); len(f) != 1 || len(f[0].Type.Fields) != 1 || f[0].Type.Fields[0].Name != "c" {
		t.Errorf("reads %v", f)
	}
}

// TestMappingCosts: what is the same is passed on, what differs in names or nullability is not copied.
func TestMappingCosts(t *testing.T) {
	f := fields("k INT", "v STRING", "a ARRAY<INT NOT NULL>")
	b, err := jsonrow.Lines(strings.NewReader(`{"k":1,"v":"x","a":[1,2]}`), "test", f, 10).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rec, err := mapping(t, f, f).Apply(b.RecordBatch)
	if err != nil || rec != b.RecordBatch {
		t.Errorf("the same columns: %v", err)
	}
	to := fields("k INT NOT NULL", "w STRING", "a ARRAY<INT>")
	to[0], to[1] = to[1], to[0]
	m := mapping(t, f, to)
	if b, err = jsonrow.Lines(strings.NewReader(`{"k":1,"v":"x","a":[1,2]}`), "test", m.Fields(), 10).Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rec, err = m.Apply(b.RecordBatch); err != nil {
		t.Fatal(err)
	}
	for i := range rec.Columns() {
		if rec.Column(i).Data().Buffers()[1] != b.Column(i).Data().Buffers()[1] {
			t.Errorf("column %d was copied", i)
		}
	}
	if !rec.Schema().Equal(types.WideArrowSchema(to)) {
		t.Errorf("schema %s", rec.Schema())
	}
	if _, err := mapping(t, f, to[:1]).Apply(b.RecordBatch); err == nil {
		t.Error("a batch of other columns was taken")
	}
	if _, err := NewMapping(fields("a ARRAY<INT>"), fields("a INT")); err == nil || !strings.Contains(err.Error(), "ARRAY<INT>") {
		t.Errorf("no cast: %v", err)
	}
}

// TestDevolve: a filter on a column whose type changed is kept only where it says the same of old values.
func TestDevolve(t *testing.T) {
	ts := func(text string) types.Datum {
		d, err := types.ParseDatum(types.TimestampType(9), text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		file, now string
		op        predicate.Op
		vals      []types.Datum
		want      []types.Datum
		kept      bool
	}{
		{"INT", "BIGINT", predicate.Lt, []types.Datum{int64(5)}, []types.Datum{int64(5)}, true},
		{"INT", "BIGINT", predicate.Eq, []types.Datum{int64(1) << 40}, nil, false},
		{"INT", "BIGINT", predicate.In, []types.Datum{int64(1), int64(2)}, []types.Datum{int64(1), int64(2)}, true},
		{"INT", "DOUBLE", predicate.Gt, []types.Datum{2.0}, []types.Datum{int64(2)}, true},
		{"INT", "DOUBLE", predicate.Gt, []types.Datum{2.5}, nil, false},
		{"BIGINT", "DOUBLE", predicate.Eq, []types.Datum{2.0}, nil, false},
		{"BIGINT", "INT", predicate.Eq, []types.Datum{int64(1)}, nil, false},
		{"INT", "STRING", predicate.Eq, []types.Datum{"1"}, nil, false},
		{"INT", "STRING", predicate.IsNull, nil, nil, true},
		{"DOUBLE", "DECIMAL(5,2)", predicate.IsNull, nil, nil, false}, // what does not fit is NULL
		{"VARCHAR(3)", "STRING", predicate.StartsWith, []types.Datum{"abcd"}, []types.Datum{"abcd"}, true},
		{"STRING", "VARCHAR(3)", predicate.Eq, []types.Datum{"abc"}, nil, false},
		{"TIMESTAMP(3)", "TIMESTAMP(6)", predicate.Lt, []types.Datum{ts("2024-01-01 00:00:00.001")}, []types.Datum{ts("2024-01-01 00:00:00.001")}, true},
		{"TIMESTAMP(3)", "TIMESTAMP(6)", predicate.Lt, []types.Datum{ts("2024-01-01 00:00:00.0005")}, nil, false},
		{"FLOAT", "DOUBLE", predicate.Eq, []types.Datum{0.5}, []types.Datum{float32(0.5)}, true},
		{"FLOAT", "DOUBLE", predicate.Eq, []types.Datum{0.1}, nil, false},
		{"DATE", "TIMESTAMP(3)", predicate.GtEq, []types.Datum{ts("1970-01-02")}, []types.Datum{int64(1)}, true},
	} {
		m := mapping(t, fields("old "+c.file), fields("new "+c.now))
		got := m.Devolve(leaf(c.op, "new", c.now, c.vals...))
		if !c.kept {
			if got != nil {
				t.Errorf("%s -> %s, %v: got %v", c.file, c.now, c.vals, got)
			}
			continue
		}
		l, ok := got.(*predicate.Leaf)
		if !ok || l.Column != "old" || l.Type.String() != c.file || !cmp.Equal(l.Values, c.want) {
			t.Errorf("%s -> %s, %v: got %+v", c.file, c.now, c.vals, got)
		}
	}
}
