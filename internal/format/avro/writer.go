package avro

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/types"
)

// writer writes one file. See format.Writer.
type writer struct {
	fields []types.Field
	schema *arrow.Schema
	given  *arrow.Schema // the last schema of a batch that was looked at
	cols   []encoder
	out    *avro.Writer
	stats  *format.Collector
	err    error
}

// NewWriter starts a file.
func (Format) NewWriter(out io.Writer, fields []types.Field, o format.WriteOptions) (format.Writer, error) {
	text, err := schemaOf(fields)
	if err != nil {
		return nil, fmt.Errorf("avro: %w", err)
	}
	codec, err := codecOf(o)
	if err != nil {
		return nil, err
	}
	w := &writer{fields: fields, schema: types.WideArrowSchema(fields), out: avro.NewWriter(text, codec, out), stats: format.NewCollector(fields, o.Stats)}
	for _, f := range fields {
		w.cols = append(w.cols, newEncoder(f.Type))
	}
	return w, nil
}

// Write adds rows.
func (w *writer) Write(rec arrow.RecordBatch) error {
	if w.err != nil {
		return w.err
	}
	if err := w.checkSchema(rec.Schema()); err != nil {
		return fmt.Errorf("avro: %w", err)
	}
	if rec.NumRows() == 0 {
		return nil
	}
	if w.err = w.add(rec); w.err != nil {
		w.err = fmt.Errorf("avro: %w", w.err)
	}
	return w.err
}

func (w *writer) add(rec arrow.RecordBatch) error {
	for i, c := range w.cols {
		c.bind(rec.Column(i))
	}
	b := w.out.Block
	for row := range int(rec.NumRows()) {
		for i, c := range w.cols {
			var err error
			if b, err = c.put(b, row); err != nil {
				return fmt.Errorf("column %s: %w", w.fields[i].Name, err)
			}
		}
		w.out.Block = b
		if err := w.out.End(); err != nil {
			return err
		}
		b = w.out.Block
	}
	w.stats.Add(rec)
	return nil
}

// checkSchema refuses batches whose columns are of other types.
func (w *writer) checkSchema(sc *arrow.Schema) error {
	if sc == w.given {
		return nil
	}
	if err := format.CheckBatch(w.fields, w.schema, sc); err != nil {
		return err
	}
	w.given = sc
	return nil
}

// Size is the number of bytes so far.
func (w *writer) Size() int64 { return w.out.Size() }

// Buffered is the memory that is held.
func (w *writer) Buffered() int64 { return int64(cap(w.out.Block)) }

// Close ends the file.
func (w *writer) Close() ([]format.ColumnStats, error) {
	if w.err != nil {
		return nil, w.err
	}
	if _, err := w.out.Finish(); err != nil {
		return nil, fmt.Errorf("avro: %w", err)
	}
	w.out.Block = nil
	w.err = errors.New("avro: the file is complete")
	return w.stats.Stats(), nil
}
