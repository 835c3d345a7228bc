package cdc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/cdc/decode"
)

// steps is a source of messages of Canal that calls functions between them.
type steps struct {
	decoder decode.Decoder
	list    []any // string or func()
	at      int
	ack     func(upTo string)
}

type step string

func (s step) MarshalBinary() ([]byte, error) { return []byte(s), nil }

func (s *steps) Open(context.Context, []byte) error { return nil }

func (s *steps) Fetch(context.Context) ([]decode.Event, error) {
	for s.at < len(s.list) {
		x := s.list[s.at]
		s.at++
		if f, ok := x.(func()); ok {
			f()
			continue
		}
		ev, err := s.decoder.Decode(nil, []byte(x.(string)))
		if err != nil {
			ev.Kind, ev.Err = decode.Bad, err
		}
		ev.Raw, ev.Position = []byte(x.(string)), step(fmt.Sprint(s.at))
		return []decode.Event{ev}, nil
	}
	return nil, io.EOF
}

func (s *steps) Ack(_ context.Context, upTo []byte) error {
	if s.ack != nil {
		s.ack(string(upTo))
	}
	return nil
}

func (s *steps) Close() error { return nil }

// runSteps runs a job that makes a checkpoint after each event.
func runSteps(t *testing.T, wh string, list ...any) *cdc.Summary {
	t.Helper()
	return runSource(t, wh, &steps{list: list})
}

func runSource(t *testing.T, wh string, s *steps) *cdc.Summary {
	t.Helper()
	s.decoder = decode.NewCanal(decode.Options{})
	c := config(t, "name: steps\nsource: {type: demo}\nsink: {warehouse: %q}\ncheckpoint: {rows: 1}\n", wh)
	sum, err := cdc.Run(t.Context(), c, cdc.RunOptions{Source: s, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func insertOf(types, row string) string {
	return fmt.Sprintf(`{"database":"s","table":"a","type":"INSERT","isDdl":false,"pkNames":["id"],"data":[%s],"old":null,"mysqlType":%s,"ts":1}`, row, types)
}

// Somebody else changes the table while a job writes to it: the job goes on from what it has become.
func TestForeignChanges(t *testing.T) {
	const two, three = `{"id":"int","v":"int"}`, `{"id":"int","v":"int","x":"int"}`
	for _, c := range []struct {
		name   string
		change tarn.SchemaChange
		rows   []string
	}{
		{"adds the column that comes", tarn.AddColumn{Path: []string{"x"}, Type: mustType("INT")}, []string{`{"id":1,"v":1,"x":null}`, `{"id":2,"v":2,"x":null}`, `{"id":3,"v":3,"x":3}`}},
		{"adds it wider", tarn.AddColumn{Path: []string{"x"}, Type: mustType("BIGINT")}, []string{`{"id":1,"v":1,"x":null}`, `{"id":2,"v":2,"x":null}`, `{"id":3,"v":3,"x":3}`}},
		{"adds it as text", tarn.AddColumn{Path: []string{"x"}, Type: mustType("STRING")}, []string{`{"id":1,"v":1,"x":null}`, `{"id":2,"v":2,"x":null}`, `{"id":3,"v":3,"x":"3"}`}},
		{"adds another", tarn.AddColumn{Path: []string{"y"}, Type: mustType("INT")}, []string{`{"id":1,"v":1,"y":null,"x":null}`, `{"id":2,"v":2,"y":null,"x":null}`, `{"id":3,"v":3,"y":null,"x":3}`}},
		{"widens", tarn.UpdateType{Path: []string{"v"}, Type: mustType("STRING")}, []string{`{"id":1,"v":"1","x":null}`, `{"id":2,"v":"2","x":null}`, `{"id":3,"v":"3","x":3}`}},
		{"renames", tarn.RenameColumn{Path: []string{"v"}, To: "w"}, []string{`{"id":1,"w":1,"v":null,"x":null}`, `{"id":2,"w":2,"v":null,"x":null}`, `{"id":3,"w":null,"v":3,"x":3}`}},
		{"drops", tarn.DropColumn{Path: []string{"v"}}, []string{`{"id":1,"v":null,"x":null}`, `{"id":2,"v":null,"x":null}`, `{"id":3,"v":3,"x":3}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wh := t.TempDir()
			sum := runSteps(t, wh, insertOf(two, `{"id":"1","v":"1"}`), func() {
				if err := table(t, wh, "s.a").Alter(t.Context(), c.change); err != nil {
					t.Fatal(err)
				}
			}, insertOf(two, `{"id":"2","v":"2"}`), insertOf(three, `{"id":"3","v":"3","x":"3"}`))
			if len(sum.FailedTables) > 0 {
				t.Fatal(sum.FailedTables)
			}
			if d := cmp.Diff(c.rows, state(t, wh, "s.a")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// Rows are not written into a table that is gone, or is another one of the same name.
func TestDroppedTable(t *testing.T) {
	const types = `{"id":"int","v":"int"}`
	for _, again := range []bool{false, true} {
		wh := t.TempDir()
		sum := runSteps(t, wh, insertOf(types, `{"id":"1","v":"1"}`), insertOf(`{"id":"int","v":"int","x":"int"}`, `{"id":"1","v":"1"}`), func() {
			cat, err := tarn.Open(t.Context(), wh, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := cat.DropTable(t.Context(), "s.a"); err != nil {
				t.Fatal(err)
			}
			if again {
				if _, err := cat.CreateTable(t.Context(), "s.a", tarn.TableDef{Fields: mustFields("id INT NOT NULL, other STRING"), PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "2"}}); err != nil {
					t.Fatal(err)
				}
			}
		}, insertOf(types, `{"id":"2","v":"2"}`), insertOf(types, `{"id":"3","v":"3"}`))
		if err := sum.FailedTables["s.a"]; !errors.Is(err, tarn.ErrNotExist) || !strings.Contains(err.Error(), "dropped") {
			t.Errorf("made again: %t: %v", again, err)
		}
		if again {
			want(t, wh, "s.a")
		}
	}
}

// A source learns what is committed and in a checkpoint, and no more while a table is set aside: it may need all again.
func TestAcknowledged(t *testing.T) {
	const types = `{"id":"int","v":"int"}`
	wh := t.TempDir()
	drop := func() {
		cat, err := tarn.Open(t.Context(), wh, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := cat.DropTable(t.Context(), "s.a"); err != nil {
			t.Fatal(err)
		}
	}
	ofB := func(row string) string { return strings.Replace(insertOf(types, row), `"table":"a"`, `"table":"b"`, 1) }
	var acked []string
	sum := runSource(t, wh, &steps{
		list: []any{insertOf(types, `{"id":"1","v":"1"}`), insertOf(types, `{"id":"2","v":"2"}`), ofB(`{"id":"1","v":"1"}`), drop, insertOf(types, `{"id":"3","v":"3"}`), ofB(`{"id":"2","v":"2"}`)},
		ack: func(upTo string) {
			acked = append(acked, upTo)
			if n := len(state(t, wh, "s.a")); len(acked) < 3 && n != len(acked) {
				t.Errorf("%s is acknowledged while the table has %d rows", upTo, n)
			}
		},
	})
	if d := cmp.Diff([]string{"1", "2", "3"}, acked); d != "" || len(sum.FailedTables) != 1 {
		t.Errorf("%v; acknowledged (-want +got):\n%s", sum.FailedTables, d)
	}
	want(t, wh, "s.b", `{"id":1,"v":1}`, `{"id":2,"v":2}`)
}
