package cdc_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

// What a source of one's own gets wrong is a bad row with its reason; nothing panics, and nothing is taken for right.
func TestEventsMadeByHand(t *testing.T) {
	id := decode.TableID{Database: "d", Name: "t"}
	shape := &decode.Shape{Table: id, Columns: []decode.Column{{Name: "id", Type: types.IntType, PrimaryKey: true}, {Name: "s", Type: types.StringType}}}
	rows := func(values ...string) decode.Event {
		return decode.Event{Kind: decode.Rows, Table: id, Shape: shape, Rows: []decode.Row{{Values: texts(values)}}}
	}
	for _, c := range []struct {
		ev   decode.Event
		want string
	}{
		{rows("1", `"x"`), ""},
		{rows("1"), "1 values for 2 columns"},
		{rows("1", "2", "3"), "3 values for 2 columns"},
		{rows("1", ""), "column s: \"\" is no JSON"},
		{rows("1", `"`), "is no JSON"},
		{rows("1", `"a\`), "is no JSON"},
		{rows("1", `"a" "b"`), "is no JSON"},
		{rows("x", `"a"`), "column id: \"x\" is no JSON"},
		{decode.Event{Kind: decode.Rows, Table: id, Rows: []decode.Row{{}}}, "no shape"},
		{decode.Event{Kind: decode.Bad, Table: id}, "is bad"},
	} {
		cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := cdc.NewWriter(cat, cdc.WriterOptions{User: "u"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Apply(t.Context(), &c.ev); err != nil {
			t.Errorf("%+v: %v", c.ev, err)
		}
		if err := w.Failed()["d.t"]; (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.ev, err, c.want)
		}
	}
}

func texts(vs []string) [][]byte {
	var out [][]byte
	for _, v := range vs {
		out = append(out, []byte(v))
	}
	return out
}

// anew is a source that makes a shape for each event.
type anew struct{ n int }

func (s *anew) Open(context.Context, []byte) error { return nil }
func (s *anew) Ack(context.Context, []byte) error  { return nil }
func (s *anew) Close() error                       { return nil }

func (s *anew) Fetch(context.Context) ([]decode.Event, error) {
	if s.n++; s.n > 3000 {
		return nil, io.EOF
	}
	shape := &decode.Shape{Table: decode.TableID{Database: "d", Name: "t"}, Columns: []decode.Column{{Name: "id", Type: types.IntType, PrimaryKey: true}}}
	return []decode.Event{{Kind: decode.Rows, Table: shape.Table, Shape: shape, Position: step(fmt.Sprint(s.n)), Rows: []decode.Row{{Values: values(fmt.Sprint(s.n))}}}}, nil
}

// A job of Go has the defaults of a job's file.
func TestRunHasDefaults(t *testing.T) {
	wh := t.TempDir()
	cfg := &cdc.Config{Name: "j", Sink: cdc.SinkConfig{Warehouse: wh}}
	sum, err := cdc.Run(t.Context(), cfg, cdc.RunOptions{Source: &anew{}, NoSync: true})
	if err != nil || sum.Rows != 3000 || sum.Checkpoint != 0 {
		t.Errorf("%d rows, checkpoint %d, %v: want 3000 rows in one", sum.Rows, sum.Checkpoint, err)
	}
	if n := len(state(t, wh, "d.t")); n != 3000 {
		t.Errorf("%d rows", n)
	}
	for want, cfg := range map[string]*cdc.Config{"name is missing": {}, "sink.warehouse is missing": {Name: "j"}} {
		if _, err := cdc.Run(t.Context(), cfg, cdc.RunOptions{Source: &anew{}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
