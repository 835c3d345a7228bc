package cdc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

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

// Wrong arguments and use after Close are errors: nothing panics, and no row is taken that would get lost.
func TestWrongUse(t *testing.T) {
	ctx := t.Context()
	cat, err := tarn.Open(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := cdc.NewWriter(cat, cdc.WriterOptions{User: "u"})
	if err != nil {
		t.Fatal(err)
	}
	closed, err := cdc.NewWriter(cat, cdc.WriterOptions{User: "u"})
	if err != nil {
		t.Fatal(err)
	}
	id := decode.TableID{Database: "d", Name: "t"}
	shape := &decode.Shape{Table: id, Columns: []decode.Column{{Name: "id", Type: types.IntType, PrimaryKey: true}}}
	row := decode.Event{Kind: decode.Rows, Table: id, Shape: shape, Rows: []decode.Row{{Values: texts([]string{"1"})}}}
	if err := closed.Apply(ctx, &row); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		is   error
		do   func() error
	}{
		{"writer without catalog", tarn.ErrInvalid, func() error { _, err := cdc.NewWriter(nil, cdc.WriterOptions{User: "u"}); return err }},
		{"no event", tarn.ErrInvalid, func() error { return w.Apply(ctx, nil) }},
		{"event of no kind", tarn.ErrInvalid, func() error { return w.Apply(ctx, &decode.Event{Kind: 77}) }},
		{"event for a closed writer", tarn.ErrInvalid, func() error { return closed.Apply(ctx, &row) }},
		{"prepare of a closed writer", tarn.ErrInvalid, func() error { _, err := closed.Prepare(ctx); return err }},
		{"commit of nothing", nil, func() error { _, err := w.Commit(ctx, 1, nil); return err }},
		{"run of nothing", tarn.ErrInvalid, func() error { _, err := cdc.Run(ctx, nil, cdc.RunOptions{}); return err }},
		{"source of nothing", tarn.ErrInvalid, func() error { _, err := cdc.OpenSource(nil, nil); return err }},
		{"counts of nothing", nil, func() error { _, err := cdc.Counts(nil); return err }},
		{"preview of nothing", tarn.ErrInvalid, func() error { _, err := cdc.PreviewJob(ctx, nil, cat, nil, 1); return err }},
		{"preview without catalog", tarn.ErrInvalid, func() error { _, err := cdc.PreviewJob(ctx, &cdc.Config{}, nil, nil, 1); return err }},
		{"preview without source", tarn.ErrInvalid, func() error { _, err := cdc.PreviewJob(ctx, &cdc.Config{}, cat, nil, 1); return err }},
		{"reset without catalog", tarn.ErrInvalid, func() error { _, _, err := cdc.Reset(ctx, nil, "j"); return err }},
		{"reset of a job that never ran", tarn.ErrNotExist, func() error { _, _, err := cdc.Reset(ctx, cat, "j"); return err }},
	} {
		if err := c.do(); !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %v", c.name, err, c.is)
		}
	}
	if jobs, err := cat.Jobs(ctx); err != nil || len(jobs) > 0 {
		t.Errorf("jobs %v, %v", jobs, err)
	}
	var wrong *decode.Error
	if err := shape.Check(nil); !errors.As(err, &wrong) {
		t.Errorf("a row that is nil: %v", err)
	}
	if err := decode.AppendTo(array.NewInt32Builder(memory.DefaultAllocator), types.IntType, []byte("1"), nil); !errors.As(err, &wrong) {
		t.Errorf("a column that is nil: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
