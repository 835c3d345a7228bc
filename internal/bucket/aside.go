package bucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// Aside writes rows of a partition whose buckets are found later, by a compaction (bucket = -2): key-value files of rows in
// the order of their arrival, neither sorted nor merged, without sequence numbers. It is used by one goroutine. After an error it
// is of no use but to be closed.
type Aside struct {
	store *datafile.Store
	loc   datafile.Location
	out   *datafile.Writer // nil: no file is open
	files []*manifest.DataFile
	err   error
}

// NewAside makes the writer of the rows of a partition. The store's files are those of Store.Aside.
func NewAside(store *datafile.Store, partition []byte) *Aside {
	return &Aside{store: store, loc: datafile.Location{Partition: partition, Bucket: paths.PostponeBucket}}
}

// noSequence is the sequence number of all rows: the compaction gives them others.
const noSequence = -1

// Write takes the rows sel of a batch of the table's columns, nil for all, in their order. The context of the call that begins a
// file is that of the file.
func (w *Aside) Write(ctx context.Context, b batch.Batch, sel []int32) error {
	if w.err != nil {
		return w.err
	}
	if w.out == nil {
		w.out = w.store.NewWriter(ctx, w.loc, datafile.WriterOptions{KeyValue: true, Source: manifest.SourceAppend})
	}
	fields := w.out.Fields()
	n := int(b.NumRows())
	if sel != nil {
		n = len(sel)
	}
	kinds := make([]int8, n)
	if b.Kinds != nil {
		for i := range kinds {
			at := i
			if sel != nil {
				at = int(sel[i])
			}
			kinds[i] = int8(b.Kinds[at])
		}
	}
	rec := b.RecordBatch
	if sel != nil {
		var err error
		if rec, err = batch.Take(rec, sel); err != nil {
			return w.fail(err)
		}
	}
	cols := make([]arrow.Array, len(fields))
	first := len(fields) - int(rec.NumCols()) // of the table's own columns
	for i, f := range fields {
		switch {
		case i >= first:
			cols[i] = rec.Column(i - first)
		case f.Name == schema.SequenceName:
			cols[i] = sequence(n)
		case f.Name == schema.KindName:
			cols[i] = array.NewInt8Data(array.NewData(arrow.PrimitiveTypes.Int8, n, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int8Traits.CastToBytes(kinds))}, nil, 0, 0))
		default: // a column of the key
			at := rec.Schema().FieldIndices(f.Name[len(schema.KeyPrefix):])
			if len(at) != 1 {
				return w.fail(fmt.Errorf("there is no column for %s", f.Name))
			}
			cols[i] = rec.Column(at[0])
		}
	}
	if err := w.out.Write(array.NewRecordBatch(types.WideArrowSchema(fields), cols, int64(n))); err != nil {
		return w.fail(err)
	}
	return nil
}

func sequence(n int) arrow.Array {
	all := make([]int64, n)
	for i := range all {
		all[i] = noSequence
	}
	return array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, n, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(all))}, nil, 0, 0))
}

func (w *Aside) fail(err error) error {
	w.err = fmt.Errorf("bucket: put rows aside: %w", err)
	return w.err
}

// Memory is the bytes held.
func (w *Aside) Memory() int64 {
	if w.out == nil {
		return 0
	}
	return w.out.Buffered()
}

// FlushMemory ends the file that is open.
func (w *Aside) FlushMemory(context.Context) error {
	if w.err != nil || w.out == nil {
		return w.err
	}
	made, err := w.out.Close()
	if err != nil {
		return w.fail(err)
	}
	w.out = nil
	w.files = append(w.files, made...)
	return nil
}

// Compact does nothing: the rows wait for a compaction of the table.
func (w *Aside) Compact(context.Context, bool) error { return w.err }

// Prepare gives the files that were written since the last call.
func (w *Aside) Prepare(ctx context.Context, _ bool) (manifest.Delta, error) {
	if err := w.FlushMemory(ctx); err != nil {
		return manifest.Delta{}, err
	}
	d := manifest.Delta{Added: w.files}
	w.files = nil
	return d, nil
}

// Busy is false: no compaction runs.
func (w *Aside) Busy() bool { return false }

// Stale is nil: nothing is compacted.
func (w *Aside) Stale() error { return nil }

// Close deletes what was not prepared.
func (w *Aside) Close(ctx context.Context) error {
	var errs []error
	if w.out != nil {
		errs = append(errs, w.out.Abort(ctx))
	}
	if len(w.files) > 0 {
		errs = append(errs, w.store.Delete(ctx, w.loc, w.files...))
	}
	w.out, w.files = nil, nil
	if w.err == nil {
		w.err = errors.New("bucket: writer is closed")
	}
	return errors.Join(errs...)
}
