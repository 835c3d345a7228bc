package appendtbl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

var fields = []types.Field{{Name: "n", Type: types.Type{Kind: types.BigInt}}}

func numbers(v ...int64) batch.Batch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(v, nil)
	return batch.Batch{RecordBatch: array.NewRecordBatch(types.WideArrowSchema(fields), []arrow.Array{b.NewArray()}, int64(len(v)))}
}

// fakeStore keeps data files in memory; a row takes 10 bytes.
type fakeStore struct {
	mu     sync.Mutex
	files  map[string][]int64
	n      int
	roll   int
	failAt int
	pieces int // batches written
}

func newFakeStore() *fakeStore { return &fakeStore{files: map[string][]int64{}, roll: 1 << 40} }

func (s *fakeStore) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for n := range s.files {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func (s *fakeStore) Delete(_ context.Context, _ datafile.Location, files ...*manifest.DataFile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		delete(s.files, f.Name)
	}
	return nil
}

type fakeReader struct{ v []int64 }

func (s *fakeStore) Open(_ context.Context, _ datafile.Location, f *manifest.DataFile, _ datafile.ReadOptions) (format.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.files[f.Name]
	if !ok {
		return nil, fmt.Errorf("file %s does not exist", f.Name)
	}
	return &fakeReader{v}, nil
}

func (r *fakeReader) Next(context.Context) (batch.Batch, error) {
	if len(r.v) == 0 {
		return batch.Batch{}, io.EOF
	}
	n := min(3, len(r.v))
	b := numbers(r.v[:n]...)
	r.v = r.v[n:]
	return b, nil
}
func (r *fakeReader) Close() error    { return nil }
func (r *fakeReader) Position() int64 { return 0 }
func (r *fakeReader) NumRows() int64  { return 0 }

type fakeWriter struct {
	s    *fakeStore
	o    datafile.WriterOptions
	next int64
	rows []int64
	done []*manifest.DataFile
}

var errDisk = errors.New("no space left on device")

func (s *fakeStore) NewWriter(_ context.Context, _ datafile.Location, o datafile.WriterOptions) FileWriter {
	return &fakeWriter{s: s, o: o, next: o.FirstSequence}
}

func (w *fakeWriter) Write(rec arrow.RecordBatch) error {
	w.s.mu.Lock()
	w.s.pieces++
	w.s.failAt--
	fail := w.s.failAt == 0
	w.s.mu.Unlock()
	if fail {
		return errDisk
	}
	for _, v := range rec.Column(0).(*array.Int64).Int64Values() {
		w.rows = append(w.rows, v)
		if len(w.rows) >= w.s.roll {
			w.finish()
		}
	}
	return nil
}

func (w *fakeWriter) finish() {
	if len(w.rows) == 0 {
		return
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.n++
	n := int64(len(w.rows))
	f := &manifest.DataFile{
		Name: fmt.Sprintf("data-%04d", w.s.n), Rows: n, Size: 10 * n, Source: w.o.Source,
		MinSequence: w.next, MaxSequence: w.next + n - 1,
	}
	w.next += n
	w.s.files[f.Name] = w.rows
	w.done = append(w.done, f)
	w.rows = nil
}

func (w *fakeWriter) Buffered() int64 { return int64(10 * len(w.rows)) }

func (w *fakeWriter) Close() ([]*manifest.DataFile, error) {
	w.finish()
	return w.done, nil
}

func (w *fakeWriter) Abort(context.Context) error {
	return w.s.Delete(context.Background(), datafile.Location{}, w.done...)
}
