package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// writing is a query and where its rows go.
type writing struct {
	table     *tarn.Table
	text      engineText
	fields    []types.Field // of the query's columns, and of the constants behind them
	fixed     map[string]*parse.Literal
	kind      types.RowKind
	overwrite *tarn.OverwriteOptions        // nil: rows are added
	deletion  *tarn.Deletion                // of the rows whose places are the last column of the query
	asStored  func(i int) bool              // a column that holds what is in the table already, which is not checked again
	check     func(arrow.RecordBatch) error // looks at rows before they are written; nil: nothing is wrong
}

// write runs a query and writes its rows.
func (s *Session) write(ctx context.Context, w writing) (rows, snapshot int64, err error) {
	t, text, fields, fixed, kind, overwrite := w.table, w.text, w.fields, w.fixed, w.kind, w.overwrite
	if len(fixed) > 0 {
		var consts []string
		for _, f := range fields {
			if l := fixed[f.Name]; l != nil {
				v := "NULL"
				if l.Kind != parse.Null {
					v = parse.QuoteString(l.Text)
				}
				consts = append(consts, assigned(v, f.Type)+" AS "+parse.Quote(f.Name))
			}
		}
		text = concat("SELECT *, "+strings.Join(consts, ", ")+" FROM (", text, ") c")
	}
	r, err := s.run(ctx, text)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	schema := types.WideArrowSchema(nullable(fields))
	next := func() (tarn.Batch, error) {
		for {
			rec, err := r.rows.next(ctx)
			if err != nil {
				return tarn.Batch{}, err
			}
			if rec.NumRows() == 0 {
				continue
			}
			if w.deletion != nil {
				if err := w.deletion.Add(rec); err != nil {
					return tarn.Batch{}, err
				}
				rec = withoutLast(rec)
			}
			if rec, err = fit(rec, schema, fields, w.asStored); err != nil {
				return tarn.Batch{}, fmt.Errorf("%w: %s: %w", tarn.ErrInvalid, t.Name(), err)
			}
			if w.check != nil {
				if err := w.check(rec); err != nil {
					return tarn.Batch{}, fmt.Errorf("%w: %s: %w", tarn.ErrInvalid, t.Name(), err)
				}
			}
			rows += rec.NumRows()
			b := tarn.Batch{RecordBatch: rec}
			if kind != types.Insert {
				b.Kinds = slices.Repeat([]types.RowKind{kind}, int(rec.NumRows()))
			}
			return b, nil
		}
	}
	if overwrite != nil {
		res, err := t.Overwrite(ctx, *overwrite, func(yield func(tarn.Batch, error) bool) {
			for {
				b, err := next()
				if errors.Is(err, io.EOF) {
					return
				}
				if !yield(b, err) || err != nil {
					return
				}
			}
		})
		return rows, res.SnapshotID, err
	}
	if w.deletion != nil { // compactions would have to be of files without the rows that are deleted here
		if t, err = t.With(ctx, map[string]string{"write-only": "true"}); err != nil {
			return 0, 0, err
		}
	}
	out, err := t.NewWriter(ctx, nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for {
		b, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return rows, 0, err
		}
		if err := out.Write(ctx, b); err != nil {
			return rows, 0, err
		}
	}
	if w.deletion != nil {
		p, err := out.Prepare(ctx)
		if err != nil {
			return rows, 0, err
		}
		res, err := w.deletion.Commit(ctx, p)
		return rows, res.SnapshotID, err
	}
	res, err := out.Commit(ctx)
	return rows, res.SnapshotID, err
}

// withoutLast leaves out the last column.
func withoutLast(rec arrow.RecordBatch) arrow.RecordBatch {
	n := int(rec.NumCols()) - 1
	return array.NewRecordBatch(arrow.NewSchema(rec.Schema().Fields()[:n], nil), rec.Columns()[:n], rec.NumRows())
}

func nullable(fields []types.Field) []types.Field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].Type.NotNull = false
	}
	return out
}
