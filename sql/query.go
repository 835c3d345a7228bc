package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// source is a table in a query.
type source struct {
	table  *tarn.Table
	fields []types.Field
	filter predicate.Predicate
}

// query runs a query of the engine over tables of the lake.
func (s *Session) query(ctx context.Context, script string, q *parse.Query) (*Result, error) {
	text, err := s.rewrite(ctx, script, q)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	return s.run(ctx, text)
}

// run gives a text to the engine as it is.
func (s *Session) run(ctx context.Context, text string) (*Result, error) {
	e, err := s.start()
	if err != nil {
		s.dropScans()
		return nil, err
	}
	r, err := e.query(ctx, text)
	if err != nil {
		s.dropScans()
		return nil, err
	}
	res := &Result{rows: r, done: s.dropScans}
	for i, f := range r.schema().Fields() {
		t, err := types.FromArrow(f.Type)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("column %s of the result: %w", f.Name, err), res.Close())
		}
		res.Fields = append(res.Fields, types.Field{ID: i, Name: f.Name, Type: t})
	}
	res.schema = types.ArrowSchema(res.Fields)
	return res, nil
}

func (s *Session) dropScans() {
	for _, id := range s.scans {
		s.engine.dropScan(id)
	}
	s.scans = nil
}

// rewrite replaces the tables of a query by what the engine can read.
func (s *Session) rewrite(ctx context.Context, script string, q *parse.Query) (string, error) {
	if _, err := s.start(); err != nil {
		return "", err
	}
	sources := make([]*source, len(q.Refs))
	for i := range q.Refs {
		src, err := s.resolve(ctx, &q.Refs[i])
		if err != nil {
			return "", err
		}
		sources[i] = src
	}
	s.pushFilters(ctx, script, q, sources)
	texts := make([]string, len(q.Refs))
	for i, src := range sources {
		if src == nil {
			continue
		}
		var err error
		if texts[i], err = s.relation(ctx, src); err != nil {
			return "", err
		}
	}
	return q.Rewrite(script, func(i int) (string, bool) { return texts[i], sources[i] != nil }), nil
}

// resolve opens the table that a reference names; nil if it is none of the lake's: the engine may know
// it (a view, a file).
func (s *Session) resolve(ctx context.Context, r *parse.TableRef) (*source, error) {
	n, ok := r.Name()
	if !ok || n.Database == "" && s.db == "" {
		return nil, nil
	}
	switch strings.ToLower(n.Database) {
	case "information_schema", "pg_catalog", "main", "temp":
		return nil, nil
	}
	t, err := s.table(ctx, n)
	if err != nil {
		if n.Database == "" && errors.Is(err, tarn.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	opts := optionMap(r.Options)
	switch r.At.Kind {
	case parse.Timestamp:
		opts["scan.timestamp"] = r.At.Value.Text
	case parse.Version:
		opts["scan.version"] = r.At.Value.Text
	}
	if len(opts) > 0 {
		if t, err = t.With(ctx, opts); err != nil {
			return nil, err
		}
	}
	p, err := t.Scan(tarn.ScanOptions{Limit: 1}).Plan(ctx)
	if err != nil {
		return nil, err
	}
	return &source{table: t, fields: p.Fields()}, nil
}

// relation plans the read of a table and gives the text that stands for it: files that the engine reads
// itself, and a scan for the rest.
func (s *Session) relation(ctx context.Context, src *source) (string, error) {
	p, err := src.table.Scan(tarn.ScanOptions{Filter: src.filter}).Plan(ctx)
	if err != nil {
		return "", err
	}
	raw, rest := p.SplitRaw()
	if s.o.NoRaw || !engineReads(src.fields, raw) {
		raw, rest = nil, p
	}
	var parts []string
	if len(raw) > 0 {
		parts = append(parts, "SELECT "+strings.Join(rawColumns(src.fields), ", ")+" FROM read_parquet(["+quoteAll(raw)+"], hive_partitioning = false)")
	}
	if len(raw) == 0 || rest.Parts() > 0 {
		id := s.engine.addScan(&scanSource{
			fields: src.fields, parts: max(1, rest.Parts()), rows: rest.Rows(), ctx: ctx,
			open: func(ctx context.Context, part int, columns []int) (Reader, error) {
				names := make([]string, len(columns))
				for i, c := range columns {
					names[i] = src.fields[c].Name
				}
				if rest.Parts() == 0 {
					return emptyReader{}, nil
				}
				return &partReader{rest.OpenPart(ctx, part, names)}, nil
			},
		})
		s.scans = append(s.scans, id)
		parts = append(parts, fmt.Sprintf("SELECT * FROM tarn_scan(%d)", id))
	}
	return "(" + strings.Join(parts, " UNION ALL ") + ")", nil
}

// engineReads says whether the engine's own reader gives the files' values as they are: it finds them
// (they are on this machine), and has types for them: it cuts the nanoseconds of INT96.
func engineReads(fields []types.Field, files []string) bool {
	for _, f := range fields {
		if hasNanos(f.Type) {
			return false
		}
	}
	for _, f := range files {
		// The engine takes a name with these characters for a pattern, which may find other files.
		if !filepath.IsAbs(f) || strings.ContainsAny(f, "*?[") {
			return false
		}
		if _, err := os.Stat(f); err != nil {
			return false
		}
	}
	return true
}

func hasNanos(t types.Type) bool {
	switch t.Kind {
	case types.Timestamp, types.TimestampLTZ:
		return t.Precision > 6
	case types.Row:
		return slices.ContainsFunc(t.Fields, func(f types.Field) bool { return hasNanos(f.Type) })
	}
	return t.Key != nil && hasNanos(*t.Key) || t.Elem != nil && hasNanos(*t.Elem)
}

func quoteAll(files []string) string {
	q := make([]string, len(files))
	for i, f := range files {
		q[i] = parse.QuoteString(f)
	}
	return strings.Join(q, ", ")
}

// rawColumns are the columns as the engine's own reader has to give them: with the types of scans.
func rawColumns(fields []types.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = parse.Quote(f.Name)
		// Only these come out of files as another type; a cast would hide the others from pruning.
		switch f.Type.Kind {
		case types.Time, types.Array, types.Map, types.Multiset, types.Row:
			out[i] = "CAST(" + out[i] + " AS " + duckType(f.Type) + ") AS " + out[i]
		}
	}
	return out
}

type emptyReader struct{}

func (emptyReader) Next(context.Context) (arrow.RecordBatch, []types.RowKind, error) {
	return nil, nil, io.EOF
}
func (emptyReader) Close() error { return nil }

// partReader gives the batches of a part of a plan.
type partReader struct{ tarn.BatchReader }

func (p *partReader) Next(ctx context.Context) (arrow.RecordBatch, []types.RowKind, error) {
	b, err := p.BatchReader.Next(ctx)
	return b.RecordBatch, b.Kinds, err
}
