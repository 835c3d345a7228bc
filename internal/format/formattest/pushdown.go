package formattest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// filter: with a filter at most rows that do not match are missing; what comes is right, and where it
// says it is.
func (s Suite) filter(t *testing.T) {
	fields := Fields("id", "BIGINT NOT NULL", "k", "INT", "s", "STRING", "d", "DOUBLE", "ts", "TIMESTAMP(6)", "l", "ARRAY<INT>", "dec", "DECIMAL(10,2)", "n", "INT",
		"x", "INT", "city", "STRING", "r", "ROW<a BIGINT, b ARRAY<STRING>>")
	var rows []string
	for i := range 30000 {
		x := i * 7919 % 10007
		row := fmt.Sprintf(`{"id":%d,"d":%d.5,"ts":"2024-01-01T00:%02d:%02d.000001","dec":"%d.25","x":%d`, i, i%1000, i/1000, i/17%60, i-15000, x)
		if x%7 > 0 {
			row += fmt.Sprintf(`,"city":"city %d","r":{"a":%d,"b":["%d",null]}`, x%300, i, i)
		}
		if i%10 != 3 {
			row += fmt.Sprintf(`,"k":%d,"s":"s%04d","l":[%d]`, i/100, i*7919%10000, i)
		}
		if i >= 25000 {
			row += `,"n":1`
		}
		rows = append(rows, row+"}")
	}
	rec := Rows(t, fields, rows...)
	leaf := func(op predicate.Op, col string, vals ...types.Datum) *predicate.Leaf {
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == col })
		return &predicate.Leaf{Op: op, Column: col, Type: fields[i].Type, Values: vals}
	}
	and := func(p ...predicate.Predicate) predicate.Predicate { return &predicate.And{Args: p} }
	filters := map[string]predicate.Predicate{
		"range":         and(leaf(predicate.GtEq, "id", int64(21000)), leaf(predicate.Lt, "id", int64(21500))),
		"point":         leaf(predicate.Eq, "id", int64(24678)),
		"first and end": &predicate.Or{Args: []predicate.Predicate{leaf(predicate.Eq, "id", int64(0)), leaf(predicate.Eq, "id", int64(29999))}},
		"none":          leaf(predicate.Eq, "id", int64(-1)),
		"all":           leaf(predicate.GtEq, "id", int64(0)),
		"few of each":   leaf(predicate.Eq, "d", 7.5),
		"NULL":          leaf(predicate.IsNull, "k"),
		"NOT NULL":      leaf(predicate.IsNotNull, "n"),
		"text":          leaf(predicate.StartsWith, "s", "s12"),
		"not":           &predicate.Not{Arg: leaf(predicate.Lt, "dec", decimal(1499925))},
		"1 %":           leaf(predicate.Lt, "x", int64(100)),
		"5 %":           leaf(predicate.Lt, "x", int64(500)),
		"12 %":          leaf(predicate.Lt, "x", int64(1200)),
		"half":          leaf(predicate.Lt, "x", int64(5000)),
		"runs":          leaf(predicate.Lt, "ts", types.Instant{Millis: 1704067200000 + 29000}),
		"two columns":   and(leaf(predicate.Eq, "k", int64(200)), leaf(predicate.Gt, "s", "s5")),
		"instant":       leaf(predicate.GtEq, "ts", types.Instant{Millis: 1704067200000 + 29*60000, Nanos: 0}),
		"NaN":           leaf(predicate.Eq, "d", math.NaN()),
	}
	want := Text(fields, rec)
	projected := Text([]types.Field{fields[5], fields[2]}, project(rec, []types.Field{fields[5], fields[2]}))
	for _, block := range []int64{0, 200000} {
		data, _, err := Write(s.Format, fields, format.WriteOptions{BlockSize: block}, rec)
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range filters {
			sel, err := predicate.Eval(f, rec, fields)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []format.ReadOptions{{LowMemory: true, BatchRows: 1000}, {Sparse: true}} {
				t.Run(fmt.Sprintf("%s/block=%d/sparse=%t/batch=%d", name, block, o.Sparse, o.BatchRows), func(t *testing.T) {
					o.Fields, o.Filter = fields, f
					s.checkFilter(t, data, o, want, sel)
					o.Fields = []types.Field{fields[5], fields[2]}
					s.checkProjected(t, data, o, projected, sel)
				})
			}
		}
	}
	data, _, err := Write(s.Format, fields, format.WriteOptions{}, rec)
	if err != nil {
		t.Fatal(err)
	}
	absent := &predicate.Leaf{Op: predicate.IsNull, Column: "absent", Type: types.IntType}
	pieces, err := Read(s.Format, Open(t, data), format.ReadOptions{Fields: fields[:1], Filter: absent})
	if n := count(pieces); err != nil || n != rec.NumRows() {
		t.Errorf("absent IS NULL: %d rows, %v; want all", n, err)
	}
}

func count(pieces []Piece) (n int64) {
	for _, p := range pieces {
		n += p.Rec.NumRows()
	}
	return n
}

func (s Suite) checkFilter(t *testing.T, data []byte, o format.ReadOptions, want []string, sel []int32) {
	t.Helper()
	pieces, err := Read(s.Format, Open(t, data), o)
	if err != nil {
		t.Fatal(err)
	}
	match := map[string]bool{}
	for _, r := range sel {
		match[want[r]] = true
	}
	next := int64(0)
	for _, p := range pieces {
		if p.Position < next {
			t.Fatalf("a batch is at %d, the one before ended at %d", p.Position, next)
		}
		next = p.Position
		for i, got := range Text(o.Fields, p.Rec) {
			for o.Sparse && i > 0 && int(next) < len(want)-1 && got != want[next] {
				next++ // rows may be left out
			}
			if got != want[next] {
				t.Fatalf("row %d\n got %s\nwant %s", next, got, want[next])
			}
			next++
			delete(match, got)
		}
	}
	if len(match) > 0 {
		t.Errorf("%d rows that match are missing", len(match))
	}
}

// checkProjected reads columns that the filter does not name.
func (s Suite) checkProjected(t *testing.T, data []byte, o format.ReadOptions, full []string, sel []int32) {
	t.Helper()
	pieces, err := Read(s.Format, Open(t, data), o)
	if err != nil {
		t.Fatal(err)
	}
	var recs []arrow.RecordBatch
	for _, p := range pieces {
		recs = append(recs, p.Rec)
	}
	got := Text(o.Fields, recs...)
	if len(got) < len(sel) {
		t.Fatalf("%d rows, %d match", len(got), len(sel))
	}
	i := 0
	for _, r := range sel { // those that match come in order, others may lie between
		for i < len(got) && got[i] != full[r] {
			i++
		}
		if i == len(got) {
			t.Fatalf("row %d is missing: %s", r, full[r])
		}
		i++
	}
}

var (
	sameBits    = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
	sameDecimal = cmp.Comparer(func(a, b decimal128.Num) bool { return a == b })
)

// stats: the statistics that come with a file, by mode.
func (s Suite) stats(t *testing.T) {
	fields := Fields("i", "INT", "s", "STRING", "d", "DOUBLE", "none", "BIGINT", "b", "BYTES", "l", "ARRAY<INT>", "dec", "DECIMAL(20,1)", "ts", "TIMESTAMP(6)")
	rec := Rows(t, fields,
		`{"i":5,"s":"aaaaaaaaaaaaaaaaZZ","d":-0.0,"b":"00","l":[1],"dec":"-1.5","ts":"1969-12-31T23:59:59.999999"}`,
		`{"i":-7,"s":"b","d":2.5,"dec":"100.5","ts":"2024-01-01T00:00:00.000001"}`, `{"s":"😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀x"}`)
	modes := func(m format.StatsMode) []format.StatsMode { return slices.Repeat([]format.StatsMode{m}, len(fields)) }
	for _, c := range []struct {
		name  string
		modes []format.StatsMode
		lo    types.Datum
		hi    types.Datum
		nulls int64
	}{
		{"default", nil, "aaaaaaaaaaaaaaaa", "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😁", 0},
		{"truncate 2", modes(format.StatsMode{Length: 2}), "aa", "😀😁", 0},
		{"full", modes(format.StatsMode{Kind: format.StatsFull}), "aaaaaaaaaaaaaaaaZZ", "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀x", 0},
		{"counts", modes(format.StatsMode{Kind: format.StatsCounts}), nil, nil, 0},
		{"none", modes(format.StatsMode{Kind: format.StatsNone}), nil, nil, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, st, err := Write(s.Format, fields, format.WriteOptions{Stats: c.modes}, rec.NewSlice(0, 2), rec.NewSlice(2, 3))
			if err != nil {
				t.Fatal(err)
			}
			if st[1].Min != c.lo || st[1].Max != c.hi || st[1].NullCount != c.nulls {
				t.Errorf("s: %v, want %v to %v, %d NULLs", st[1], c.lo, c.hi, c.nulls)
			}
			if c.lo == nil {
				return
			}
			want := map[string]format.ColumnStats{
				"i": {NullCount: 1, Min: int64(-7), Max: int64(5)}, "d": {NullCount: 1, Min: math.Copysign(0, -1), Max: 2.5},
				"none": {NullCount: 3}, "b": {NullCount: 2}, "dec": {NullCount: 1, Min: decimal(-15), Max: decimal(1005)},
				"ts": {NullCount: 1, Min: types.Instant{Millis: -1, Nanos: 999000}, Max: types.Instant{Millis: 1704067200000, Nanos: 1000}},
			}
			for i, f := range fields {
				if w, ok := want[f.Name]; ok {
					if d := cmp.Diff(w, st[i], sameBits, sameDecimal); d != "" {
						t.Errorf("%s\n%s", f.Name, d)
					}
				}
			}
		})
	}
	highest := Rows(t, fields, `{"s":"`+string(bytes.Repeat([]byte("\U0010FFFF"), 20))+`"}`)
	_, st, err := Write(s.Format, fields, format.WriteOptions{}, highest)
	if err != nil || st[1].Min != nil || st[1].Max != nil || st[1].NullCount != 0 {
		t.Errorf("text without an upper bound: %v, %v; want no bounds", st[1], err)
	}
}
