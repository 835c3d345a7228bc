package cdc_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// A Writer takes events of any origin. Tables are made when their first rows come, with the key that the
// event names, and follow its columns from then on. All that was applied is prepared, and committed table by
// table under one number: after a crash the same is committed again under the same number.
func ExampleWriter() {
	dir, err := os.MkdirTemp("", "lake")
	must(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()
	cat, err := tarn.Open(ctx, dir, nil)
	must(err)
	w, err := cdc.NewWriter(cat, cdc.WriterOptions{User: "feed", Options: map[string]string{"bucket": "1"}})
	must(err)
	defer w.Close()

	id := decode.TableID{Database: "shop", Name: "orders"}
	key := decode.Column{Name: "id", Type: types.BigIntType, PrimaryKey: true}
	v1 := &decode.Shape{Table: id, Columns: []decode.Column{key, {Name: "amount", Type: types.IntType}}}
	v2 := &decode.Shape{Table: id, Columns: []decode.Column{key, {Name: "amount", Type: types.BigIntType}, {Name: "note", Type: types.StringType}}}
	for number, ev := range []*decode.Event{
		{Kind: decode.Rows, Table: id, Shape: v1, Rows: []decode.Row{{Values: values("1", "10")}, {Values: values("2", "20")}}},
		{Kind: decode.Rows, Table: id, Shape: v2, Rows: []decode.Row{
			{Kind: types.UpdateAfter, Values: values("2", "9000000000", `"large"`)},
			{Kind: types.Delete, Values: values("1", "10", "")},
		}},
	} {
		must(w.Apply(ctx, ev))
		parts, err := w.Prepare(ctx)
		must(err)
		for i := range parts {
			must(parts[i].Failed)
			_, err := w.Commit(ctx, int64(number), &parts[i])
			must(err)
		}
	}

	t, err := cat.Table(ctx, "shop.orders")
	must(err)
	fs, err := t.Fields()
	must(err)
	for _, f := range fs {
		fmt.Println(f.Name, f.Type)
	}
	for b, err := range t.Scan(tarn.ScanOptions{}).Batches(ctx) {
		must(err)
		fmt.Println(b.Column(0), b.Column(1), b.Column(2))
	}
	// Output:
	// id BIGINT NOT NULL
	// amount BIGINT
	// note STRING
	// [2] [9000000000] ["large"]
}

// values are the values of a row as JSON; "" is NULL.
func values(vs ...string) [][]byte {
	out := make([][]byte, len(vs))
	for i, v := range vs {
		if v != "" {
			out[i] = []byte(v)
		}
	}
	return out
}

// readings is a source of one's own: the temperatures of two rooms, ten events of each. Its position is the
// number of the next event, so that it goes on where it was after a restart.
type readings struct{ next uint64 }

var room = &decode.Shape{
	Table: decode.TableID{Database: "house", Name: "rooms"},
	Columns: []decode.Column{
		{Name: "room", Type: types.StringType, PrimaryKey: true},
		{Name: "celsius", Type: types.DecimalType(4, 1)},
	},
}

// place is a position.
type place uint64

func (p place) MarshalBinary() ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, uint64(p)), nil
}

func (r *readings) Open(_ context.Context, from []byte) error {
	if from != nil {
		r.next = binary.BigEndian.Uint64(from)
	}
	return nil
}

func (r *readings) Fetch(context.Context) ([]decode.Event, error) {
	if r.next == 20 {
		return nil, io.EOF
	}
	n := r.next
	r.next++
	name := []string{`"hall"`, `"kitchen"`}[n%2]
	return []decode.Event{{
		Kind: decode.Rows, Table: room.Table, Shape: room, Position: place(r.next),
		Rows: []decode.Row{{Kind: types.UpdateAfter, Values: values(name, fmt.Sprintf("%d.5", 10+n))}},
	}}, nil
}

func (r *readings) Ack(context.Context, []byte) error { return nil }

func (r *readings) Close() error { return nil }

// A job runs a source of one's own with checkpoints in the warehouse: each event counts once, also after a
// crash. Here the job ends with its source.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "lake")
	must(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()
	job := &cdc.Config{
		Name: "climate",
		Sink: cdc.SinkConfig{Warehouse: dir, Table: "{database}.{table}", Options: map[string]string{"bucket": "1"}},
	}
	sum, err := cdc.Run(ctx, job, cdc.RunOptions{Source: &readings{}})
	must(err)
	fmt.Println(sum.Rows, "rows,", sum.Tables, "table")

	cat, err := tarn.Open(ctx, dir, nil)
	must(err)
	t, err := cat.Table(ctx, "house.rooms")
	must(err)
	for b, err := range t.Scan(tarn.ScanOptions{Filter: predicate.Equal("room", "kitchen")}).Batches(ctx) {
		must(err)
		fmt.Println(b.Column(0), b.Column(1))
	}
	// Output:
	// 20 rows, 1 table
	// ["kitchen"] [29.5]
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
