package cdc_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

// change is what the log of a database says: a row as Go values, with the columns that the table had then.
type change struct {
	kind    types.RowKind
	columns []decode.Column
	row     []any
}

// replication is a source of one's own that follows the log of a database. A place in it is the number of a change.
type replication struct {
	log    []change
	next   uint64
	broken bool // the connection is lost behind the next change
	shapes map[*decode.Column]*decode.Shape
	acked  uint64
}

// Open goes on behind what the lake has: nothing else has to be remembered.
func (s *replication) Open(_ context.Context, from []byte) error {
	if from != nil {
		s.next = binary.BigEndian.Uint64(from)
	}
	s.shapes = map[*decode.Column]*decode.Shape{}
	return nil
}

// Fetch gives one change at a time; a source that is worth its name gives many.
func (s *replication) Fetch(context.Context) ([]decode.Event, error) {
	if s.next == uint64(len(s.log)) {
		return nil, io.EOF // or waits until ctx ends
	}
	if s.broken && s.next == 2 {
		return nil, errors.New("the connection is lost")
	}
	c := s.log[s.next]
	s.next++
	ev := decode.Event{Table: decode.TableID{Database: "app", Name: "users"}, Position: place(s.next)}
	shape := s.shapes[&c.columns[0]]
	if shape == nil { // one for each form of the table: what the Writer worked out for it is kept by its pointer
		shape = &decode.Shape{Table: ev.Table, Columns: c.columns}
		s.shapes[&c.columns[0]] = shape
	}
	row := decode.Row{Kind: c.kind}
	for _, v := range c.row {
		if v == nil {
			row.Values = append(row.Values, nil)
			continue
		}
		text, err := json.Marshal(v)
		if err != nil { // a bad message ends its table, not the job; on-error says what becomes of it
			ev.Kind, ev.Err = decode.Bad, err
			return []decode.Event{ev}, nil
		}
		row.Values = append(row.Values, text)
	}
	ev.Kind, ev.Shape, ev.Rows = decode.Rows, shape, []decode.Row{row}
	return []decode.Event{ev}, nil
}

// Ack is where the database may drop its log.
func (s *replication) Ack(_ context.Context, upTo []byte) error {
	s.acked = binary.BigEndian.Uint64(upTo)
	return nil
}

func (s *replication) Close() error { return nil }

// The log of a database, followed through a lost connection and a change of the table: the second run goes on where the
// first one's last checkpoint was, and each change counts once.
func ExampleRun_replication() {
	dir, err := os.MkdirTemp("", "lake")
	must(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()

	id := decode.Column{Name: "id", Type: types.IntType, PrimaryKey: true}
	v1 := []decode.Column{id, {Name: "name", Type: types.VarcharType(10)}, {Name: "joined", Type: types.TimestampLTZType(3)}}
	v2 := []decode.Column{id, {Name: "name", Type: types.StringType}, {Name: "joined", Type: types.TimestampLTZType(3)}, {Name: "photo", Type: types.BytesType, Encoding: decode.Base64}}
	day := time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC)
	log := []change{
		{types.Insert, v1, []any{1, "Ada", day}},
		{types.Insert, v1, []any{2, "Bob", day}},
		{types.UpdateAfter, v2, []any{1, "Augusta Ada King", day, []byte{1, 2}}},
		{types.Delete, v2, []any{2, "Bob", day, nil}},
	}
	job := &cdc.Config{Name: "users", Sink: cdc.SinkConfig{Warehouse: dir}, Checkpoint: cdc.CheckpointConfig{Rows: 1}}
	for _, s := range []*replication{{log: log, broken: true}, {log: log}} {
		sum, err := cdc.Run(ctx, job, cdc.RunOptions{Source: s})
		fmt.Println(sum.Rows, "rows, acknowledged up to", s.acked, "error:", err)
	}

	cat, err := tarn.Open(ctx, dir, nil)
	must(err)
	t, err := cat.Table(ctx, "app.users")
	must(err)
	for b, err := range t.Scan(tarn.ScanOptions{}).Batches(ctx) {
		must(err)
		fmt.Println(b.Column(0), b.Column(1))
	}
	// Output:
	// 2 rows, acknowledged up to 2 error: job users: the connection is lost
	// 2 rows, acknowledged up to 4 error: <nil>
	// [1] ["Augusta Ada King"]
}
