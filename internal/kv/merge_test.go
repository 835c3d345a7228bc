package kv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// mem is a run in memory.
type mem struct {
	recs   []arrow.RecordBatch
	closed bool
}

func (m *mem) Next(context.Context) (batch.Batch, error) {
	if len(m.recs) == 0 {
		return batch.Batch{}, io.EOF
	}
	r := m.recs[0]
	m.recs = m.recs[1:]
	return batch.Batch{RecordBatch: r}, nil
}

func (m *mem) Close() error {
	m.closed = true
	return nil
}

// version is a row of the model: id is its place in run order.
type version struct {
	key  int64
	str  string
	user *int64
	seq  int64
	id   int64
}

var versionSchema = arrow.NewSchema([]arrow.Field{
	{Name: "key", Type: arrow.PrimitiveTypes.Int64},
	{Name: "str", Type: arrow.BinaryTypes.String},
	{Name: "user", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "seq", Type: arrow.PrimitiveTypes.Int64},
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
}, nil)

func versionBatch(vs []version) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, versionSchema)
	for _, v := range vs {
		b.Field(0).(*array.Int64Builder).Append(v.key)
		b.Field(1).(*array.StringBuilder).Append(v.str)
		if v.user == nil {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.Int64Builder).Append(*v.user)
		}
		b.Field(3).(*array.Int64Builder).Append(v.seq)
		b.Field(4).(*array.Int64Builder).Append(v.id)
	}
	return b.NewRecordBatch()
}

var keyShapes = []struct {
	name string
	cols []int
	ts   []types.Type
}{
	{"int", []int{0}, []types.Type{{Kind: types.BigInt, NotNull: true}}},
	{"string", []int{1}, []types.Type{{Kind: types.Varchar, Length: types.MaxLength, NotNull: true}}},
	{"string, int", []int{1, 0}, []types.Type{{Kind: types.Varchar, Length: types.MaxLength}, {Kind: types.BigInt}}},
	{"int, int", []int{0, 0}, []types.Type{{Kind: types.BigInt}, {Kind: types.BigInt}}},
}

func compareKeys(cols []int, a, b version) int {
	for _, c := range cols {
		x := cmp.Compare(a.key, b.key)
		if c == 1 {
			x = bytes.Compare([]byte(a.str), []byte(b.str))
		}
		if x != 0 {
			return x
		}
	}
	return 0
}

func drawVersion(t *rapid.T, span int64) version {
	v := version{key: rapid.Int64Range(-span, span).Draw(t, "key")}
	v.str = rapid.SampledFrom([]string{"", "customer-0000", "customer-0000\x00", "z"}).Draw(t, "prefix") + fmt.Sprint(v.key%7)
	if rapid.Bool().Draw(t, "wide") {
		v.key *= 1 << 55
	}
	if rapid.IntRange(0, 3).Draw(t, "null") > 0 {
		u := rapid.Int64Range(0, 3).Draw(t, "user")
		v.user = &u
	}
	v.seq = rapid.Int64Range(0, 5).Draw(t, "seq")
	return v
}

func TestMergeAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom(keyShapes).Draw(t, "shape")
		descending := rapid.Bool().Draw(t, "descending")
		enc, err := NewKeyEncoder(shape.ts)
		if err != nil {
			t.Fatal(err)
		}
		layout := Layout{Keys: shape.cols, Encoder: enc, Order: RunOrder}
		kind := rapid.IntRange(0, 2).Draw(t, "order")
		if kind > 0 {
			layout.Order.Number = 3
		}
		if kind > 1 {
			layout.Order.Sequence = []int{2}
			if layout.Order.Encoder, err = NewSequenceEncoder([]types.Type{{Kind: types.BigInt}}, descending); err != nil {
				t.Fatal(err)
			}
		}
		span := rapid.SampledFrom([]int64{0, 3, 20, 63}).Draw(t, "span")
		var model []version
		var runs []Run
		for r := range rapid.IntRange(0, 6).Draw(t, "runs") {
			var vs []version
			for range rapid.IntRange(0, 40).Draw(t, "rows") {
				vs = append(vs, drawVersion(t, span))
			}
			slices.SortStableFunc(vs, func(a, b version) int { return compareKeys(shape.cols, a, b) })
			for i := range vs {
				vs[i].id = int64(r*1000 + i)
			}
			model = append(model, vs...)
			run := Run{Name: fmt.Sprint("run ", r)}
			if len(vs) > 0 && rapid.Bool().Draw(t, "low") {
				k, err := enc.Encode(columns(versionBatch(vs[:1]), shape.cols))
				if err != nil {
					t.Fatal(err)
				}
				run.Low, run.HasLow = k.At(0), true
			}
			m := &mem{}
			for len(vs) > 0 {
				n := rapid.IntRange(1, len(vs)).Draw(t, "batch")
				m.recs = append(m.recs, versionBatch(vs[:n]))
				vs = vs[n:]
			}
			run.Open = func(context.Context) (batch.Reader, error) { return m, nil }
			runs = append(runs, run)
		}
		slices.SortStableFunc(model, func(a, b version) int {
			if c := compareKeys(shape.cols, a, b); c != 0 {
				return c
			}
			if kind > 1 {
				if c := compareUser(a.user, b.user, descending); c != 0 {
					return c
				}
			}
			if kind > 0 {
				return cmp.Compare(a.seq, b.seq)
			}
			return 0
		})
		m := NewMerger(runs, layout, rapid.SampledFrom([]int{1, 5, 8192}).Draw(t, "target"))
		m.rows = rapid.SampledFrom([]int{1, 5, stepRows}).Draw(t, "step")
		at := 0
		for {
			g, err := m.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			ids, err := batch.Gather(g.Window, 4, g.Refs)
			if err != nil {
				t.Fatal(err)
			}
			if int(g.Ends[len(g.Ends)-1]) != len(g.Refs) {
				t.Fatalf("%d refs, last group ends at %d", len(g.Refs), g.Ends[len(g.Ends)-1])
			}
			row := 0
			for i := range g.Ends {
				first := at
				for range g.Group(i) {
					if got := ids.(*array.Int64).Value(row); got != model[at].id {
						t.Fatalf("row %d is %d, want %d", at, got, model[at].id)
					}
					if compareKeys(shape.cols, model[first], model[at]) != 0 {
						t.Fatalf("row %d is in a group with another key", at)
					}
					at++
					row++
				}
				if at < len(model) && compareKeys(shape.cols, model[first], model[at]) == 0 {
					t.Fatalf("a version of row %d is in another group", first)
				}
			}
		}
		if at != len(model) {
			t.Fatalf("got %d rows, want %d", at, len(model))
		}
	})
}

func compareUser(a, b *int64, descending bool) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	case descending:
		return cmp.Compare(*b, *a)
	}
	return cmp.Compare(*a, *b)
}

func columns(rec arrow.RecordBatch, cols []int) []arrow.Array {
	var out []arrow.Array
	for _, c := range cols {
		out = append(out, rec.Column(c))
	}
	return out
}

func TestMergeOpensRunsWhenTheyBegin(t *testing.T) {
	enc, _ := NewKeyEncoder(keyShapes[0].ts)
	var opened []string
	var most, open int
	var runs []Run
	for i := range 10 {
		name := fmt.Sprint(i)
		rec := versionBatch([]version{{key: int64(10 * i)}, {key: int64(10*i + 11)}})
		runs = append(runs, Run{
			Name: name, Low: Key{Word: uint64(10*i) ^ 1<<63}, HasLow: true,
			Open: func(context.Context) (batch.Reader, error) {
				opened = append(opened, name)
				open++
				most = max(most, open)
				return &counted{mem{recs: []arrow.RecordBatch{rec}}, &open}, nil
			},
		})
	}
	slices.Reverse(runs)
	m := NewMerger(runs, Layout{Keys: []int{0}, Encoder: enc, Order: RunOrder}, 0)
	n := 0
	for {
		g, err := m.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n += len(g.Refs)
	}
	if n != 20 || most > 3 || open != 0 || !slices.IsSorted(opened) {
		t.Errorf("%d rows, %d runs open at once, %d left open, opened %v", n, most, open, opened)
	}
}

type counted struct {
	mem
	open *int
}

func (c *counted) Close() error {
	if !c.closed {
		*c.open--
	}
	return c.mem.Close()
}

func TestMergeRefusesUnsortedRuns(t *testing.T) {
	enc, _ := NewKeyEncoder(keyShapes[0].ts)
	for name, recs := range map[string][]arrow.RecordBatch{
		"within a batch":  {versionBatch([]version{{key: 2}, {key: 1}})},
		"between batches": {versionBatch([]version{{key: 2}}), versionBatch([]version{{key: 1}})},
	} {
		run := Run{Name: "data-1.parquet", Open: func(context.Context) (batch.Reader, error) { return &mem{recs: recs}, nil }}
		m := NewMerger([]Run{run}, Layout{Keys: []int{0}, Encoder: enc, Order: RunOrder}, 0)
		_, err := m.Next(t.Context())
		if !errors.Is(err, ErrUnsorted) || !bytes.Contains([]byte(err.Error()), []byte("data-1.parquet")) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
