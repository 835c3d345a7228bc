// Package formattest is the suite that every file format has to pass: what is written is read back,
// whatever types, NULLs, codecs, batches, projections and filters are in play.
package formattest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

// Suite says what to expect of a format.
type Suite struct {
	Format format.Format
	// Codecs are the names of file.compression that the format takes.
	Codecs []string
	// Skip names types (as types.Parse takes them) that the format cannot store; writing them has to
	// fail with an error that names the type.
	Skip []string
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	t.Run("types", s.types)
	t.Run("codecs", s.codecs)
	t.Run("projection", s.projection)
	t.Run("batches", s.batches)
	t.Run("empty", s.empty)
	t.Run("notnull", s.notNull)
	t.Run("shape", s.shape)
	t.Run("filter", s.filter)
	t.Run("stats", s.stats)
	t.Run("sizes", s.sizes)
	t.Run("slices", s.slices)
	t.Run("damage", s.damage)
	t.Run("cancel", s.cancel)
}

// Fields makes columns from names and types in turn, with ids as a table gives them.
func Fields(spec ...string) []types.Field {
	var out []types.Field
	id := -1
	for i := 0; i < len(spec); i += 2 {
		id++
		f := types.Field{ID: id, Name: spec[i], Type: types.MustParse(spec[i+1])}
		f.Type = types.AssignIDs(f.Type, &id)
		out = append(out, f)
	}
	return out
}

// Rows makes a batch from rows as JSON.
func Rows(tb testing.TB, fields []types.Field, rows ...string) arrow.RecordBatch {
	tb.Helper()
	d := jsonrow.NewDecoder(fields)
	for _, r := range rows {
		if err := d.Decode([]byte(r)); err != nil {
			tb.Fatalf("%s: %v", r, err)
		}
	}
	return d.Batch().RecordBatch
}

// Text gives the rows of batches as JSON.
func Text(fields []types.Field, recs ...arrow.RecordBatch) []string {
	e := jsonrow.NewEncoder(fields)
	out := []string{}
	for _, rec := range recs {
		for i := range int(rec.NumRows()) {
			out = append(out, string(e.Append(nil, rec, i)))
		}
	}
	return out
}

// Write writes batches to a file in memory.
func Write(f format.Format, fields []types.Field, o format.WriteOptions, recs ...arrow.RecordBatch) ([]byte, []format.ColumnStats, error) {
	var out bytes.Buffer
	w, err := f.NewWriter(&out, fields, o)
	if err != nil {
		return nil, nil, err
	}
	for _, rec := range recs {
		if err := w.Write(rec); err != nil {
			return nil, nil, err
		}
	}
	st, err := w.Close()
	return out.Bytes(), st, err
}

// Open opens bytes as a file.
func Open(tb testing.TB, data []byte) fileio.File {
	tb.Helper()
	fs := fileio.NewMem(fileio.MemOptions{})
	if err := fs.Put(context.Background(), "/f", data); err != nil {
		tb.Fatal(err)
	}
	f, err := fs.Open(context.Background(), "/f")
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// Piece is a batch and where it is in the file.
type Piece struct {
	Position int64
	Rec      arrow.RecordBatch
}

// Read reads a file.
func Read(f format.Format, file fileio.File, o format.ReadOptions) ([]Piece, error) {
	ctx := context.Background()
	r, err := f.NewReader(ctx, file, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []Piece
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if b.NumRows() == 0 {
			return out, fmt.Errorf("an empty batch at %d", r.Position())
		}
		out = append(out, Piece{r.Position(), b.RecordBatch})
	}
}

// roundTrip writes and reads, and compares the rows.
func (s Suite) roundTrip(t *testing.T, fields []types.Field, o format.WriteOptions, ro format.ReadOptions, recs ...arrow.RecordBatch) []byte {
	t.Helper()
	data, _, err := Write(s.Format, fields, o, recs...)
	if err != nil {
		t.Fatal(err)
	}
	ro.Fields = fields
	pieces, err := Read(s.Format, Open(t, data), ro)
	if err != nil {
		t.Fatal(err)
	}
	var got []arrow.RecordBatch
	next := int64(0)
	for _, p := range pieces {
		if p.Position != next {
			t.Errorf("a batch is at %d, want %d", p.Position, next)
		}
		next += p.Rec.NumRows()
		if want := types.WideArrowSchema(fields); !p.Rec.Schema().Equal(want) {
			t.Errorf("schema %s\nwant %s", p.Rec.Schema(), want)
		}
		got = append(got, p.Rec)
	}
	if d := cmp.Diff(Text(fields, recs...), Text(fields, got...)); d != "" {
		t.Errorf("rows written (-) and read (+)\n%s", d)
	}
	return data
}
