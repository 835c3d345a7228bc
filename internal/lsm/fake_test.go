package lsm

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
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/types"
)

// fakeStore keeps data files in memory.
type fakeStore struct {
	mu       sync.Mutex
	keys     []types.Field
	fields   []types.Field
	files    map[string][]arrow.RecordBatch
	n        int
	roll     int64 // rows of a file
	rowSize  int64 // bytes of a row
	failAt   int   // the write that fails, counted down
	open     int
	mostOpen int
	read     map[string]bool // columns that were read
	shared   bool            // all _KEY_ columns were the value columns themselves
}

func newFakeStore(keys, fields []types.Field) *fakeStore {
	return &fakeStore{keys: keys, fields: fields, files: map[string][]arrow.RecordBatch{}, roll: 1 << 40, rowSize: 100, failAt: -1, read: map[string]bool{}, shared: true}
}

type fakeReader struct {
	s     *fakeStore
	recs  []arrow.RecordBatch
	size  int
	done  bool
	names []types.Field
	at    int64 // of the next batch
	last  int64
}

func (s *fakeStore) Least(context.Context, *manifest.DataFile, string) (types.Datum, error) {
	return nil, nil
}

func (s *fakeStore) Open(_ context.Context, _ datafile.Location, f *manifest.DataFile, o datafile.ReadOptions) (format.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	recs, ok := s.files[f.Name]
	if !ok {
		return nil, fmt.Errorf("file %s does not exist", f.Name)
	}
	s.open++
	s.mostOpen = max(s.mostOpen, s.open)
	for _, x := range o.Fields {
		s.read[x.Name] = true
	}
	size := o.BatchRows
	if size == 0 {
		size = 8192
	}
	return &fakeReader{s: s, recs: recs, size: size, names: o.Fields}, nil
}

func (r *fakeReader) Next(context.Context) (batch.Batch, error) {
	if len(r.recs) == 0 {
		return batch.Batch{}, io.EOF
	}
	rec := r.recs[0]
	if n := int64(r.size); rec.NumRows() > n {
		r.recs = append([]arrow.RecordBatch{rec.NewSlice(n, rec.NumRows())}, r.recs[1:]...)
		rec = rec.NewSlice(0, n)
	} else {
		r.recs = r.recs[1:]
	}
	r.last = r.at
	r.at += rec.NumRows()
	cols := make([]arrow.Array, len(r.names))
	for i, f := range r.names {
		at := rec.Schema().FieldIndices(f.Name)
		if at == nil {
			return batch.Batch{}, fmt.Errorf("no column %s", f.Name)
		}
		cols[i] = rec.Column(at[0])
	}
	return batch.Batch{RecordBatch: array.NewRecordBatch(types.WideArrowSchema(r.names), cols, rec.NumRows())}, nil
}

func (r *fakeReader) Close() error {
	if !r.done {
		r.done = true
		r.s.mu.Lock()
		r.s.open--
		r.s.mu.Unlock()
	}
	return nil
}
func (r *fakeReader) Position() int64 { return r.last }
func (r *fakeReader) NumRows() int64  { return 0 }

func (s *fakeStore) Delete(_ context.Context, _ datafile.Location, files ...*manifest.DataFile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		delete(s.files, f.Name)
	}
	return nil
}

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

type fakeWriter struct {
	s    *fakeStore
	o    datafile.WriterOptions
	recs []arrow.RecordBatch
	rows int64
	done []*manifest.DataFile
}

func (s *fakeStore) NewWriter(_ context.Context, _ datafile.Location, o datafile.WriterOptions) FileWriter {
	return &fakeWriter{s: s, o: o}
}

var errDisk = errors.New("no space left on device")

func (w *fakeWriter) Write(rec arrow.RecordBatch) error {
	w.s.mu.Lock()
	if w.s.failAt--; w.s.failAt == 0 {
		w.s.mu.Unlock()
		return errDisk
	}
	for i, k := range w.s.keys {
		if rec.Column(i) != rec.Column(rec.Schema().FieldIndices(k.Name)[0]) {
			w.s.shared = false
		}
	}
	w.s.mu.Unlock()
	for rec.NumRows() > 0 {
		n := min(rec.NumRows(), w.s.roll-w.rows)
		w.recs = append(w.recs, rec.NewSlice(0, n))
		w.rows += n
		if w.rows >= w.s.roll {
			w.finish()
		}
		rec = rec.NewSlice(n, rec.NumRows())
	}
	return nil
}

func (w *fakeWriter) finish() {
	if w.rows == 0 {
		return
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.n++
	f := &manifest.DataFile{
		Name: fmt.Sprintf("data-%04d", w.s.n), Rows: w.rows, Size: w.rows * w.s.rowSize, Level: w.o.Level, Source: w.o.Source,
		CreationMillis: int64(w.s.n), MinSequence: 1 << 62, MaxSequence: -1,
	}
	for _, rec := range w.recs {
		for _, v := range rec.Column(len(w.s.keys)).(*array.Int64).Int64Values() {
			f.MinSequence, f.MaxSequence = min(f.MinSequence, v), max(f.MaxSequence, v)
		}
		for _, k := range rec.Column(len(w.s.keys) + 1).(*array.Int8).Int8Values() {
			if types.RowKind(k).IsRetract() {
				f.DeleteRows++
			}
		}
	}
	last := w.recs[len(w.recs)-1]
	f.MinKey, f.MaxKey = w.key(w.recs[0], 0), w.key(last, int(last.NumRows())-1)
	w.s.files[f.Name] = w.recs
	w.done = append(w.done, f)
	w.recs, w.rows = nil, 0
}

func (w *fakeWriter) key(rec arrow.RecordBatch, row int) []byte {
	var ts []types.Type
	var vals []types.Datum
	for i, k := range w.s.keys {
		ts = append(ts, k.Type)
		vals = append(vals, types.DatumAt(rec.Column(i), row, k.Type))
	}
	b, err := binrow.EncodeWithArity(ts, vals)
	if err != nil {
		panic(err)
	}
	return b
}

func (w *fakeWriter) Close() ([]*manifest.DataFile, error) {
	w.finish()
	return w.done, nil
}

func (w *fakeWriter) Abort(context.Context) error {
	w.recs, w.rows = nil, 0
	return w.s.Delete(context.Background(), datafile.Location{}, w.done...)
}

var (
	bigint = types.Type{Kind: types.BigInt}
	text   = types.Type{Kind: types.Varchar, Length: types.MaxLength}
)

// rowFields is T(v STRING, k! BIGINT, s BIGINT): the key is not the first column.
var rowFields = []types.Field{
	{ID: 0, Name: "v", Type: text},
	{ID: 1, Name: "k", Type: types.Type{Kind: types.BigInt, NotNull: true}},
	{ID: 2, Name: "s", Type: bigint},
}

// row is a row of that table.
type row struct {
	k    int64
	s    *int64
	v    string
	kind types.RowKind
}

func num(v int64) *int64 { return &v }

func rowsBatch(rows []row) batch.Batch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(rowFields))
	out := batch.Batch{}
	for _, r := range rows {
		b.Field(0).(*array.StringBuilder).Append(r.v)
		b.Field(1).(*array.Int64Builder).Append(r.k)
		if r.s == nil {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.Int64Builder).Append(*r.s)
		}
		out.Kinds = append(out.Kinds, r.kind)
	}
	out.RecordBatch = b.NewRecordBatch()
	return out
}

func batchRows(b batch.Batch) []row {
	var out []row
	for i := range int(b.NumRows()) {
		r := row{v: b.Column(0).(*array.String).Value(i), k: b.Column(1).(*array.Int64).Value(i)}
		if s := b.Column(2).(*array.Int64); s.IsValid(i) {
			r.s = num(s.Value(i))
		}
		if b.Kinds != nil {
			r.kind = b.Kinds[i]
		}
		out = append(out, r)
	}
	return out
}

// fixture is a table over a fake store.
type fixture struct {
	store *fakeStore
	c     Config
	table *Table
	live  []*manifest.DataFile
	ever  map[string]bool // names ever committed
}

type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newFixture(t failer, dir string, change func(*Config, *mergefn.Config)) *fixture {
	t.Helper()
	x := &fixture{store: newFakeStore(rowFields[1:2], rowFields), ever: map[string]bool{}}
	mc := mergefn.Config{Fields: rowFields, Keys: []string{"k"}}
	x.c = Config{Store: x.store, Fields: rowFields, Keys: []string{"k"}, Spill: SpillOptions{Dir: dir}, TargetFileSize: 1000}
	if change != nil {
		change(&x.c, &mc)
	}
	var err error
	if x.c.Engine, err = mergefn.New("deduplicate", mc); err != nil {
		t.Fatal(err)
	}
	if x.table, err = NewTable(x.c); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *fixture) writer(t failer, o WriterOptions) *Writer {
	t.Helper()
	if o.Files == nil {
		o.Files = x.live
	}
	w, err := x.table.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// commit puts a delta into the live files, as a commit does.
func (x *fixture) commit(t failer, d manifest.Delta) {
	t.Helper()
	has := func(files []*manifest.DataFile, f *manifest.DataFile) bool { return indexFile(files, f) >= 0 }
	for _, f := range d.Added {
		x.live = append(x.live, f)
		x.ever[f.Name] = true
	}
	for _, f := range d.CompactBefore {
		if !has(x.live, f) {
			t.Fatalf("compaction takes out %s of level %d, which is not there", f.Name, f.Level)
		}
		x.live = slices.DeleteFunc(x.live, func(y *manifest.DataFile) bool { return y.Name == f.Name && y.Level == f.Level })
	}
	for _, f := range d.CompactAfter {
		if has(x.live, f) {
			t.Fatalf("compaction puts in %s of level %d, which is there", f.Name, f.Level)
		}
		x.live = append(x.live, f)
		x.ever[f.Name] = true
	}
}

func (x *fixture) prepare(t failer, w *Writer, wait bool) manifest.Delta {
	t.Helper()
	d, err := w.Prepare(context.Background(), wait)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (x *fixture) write(t failer, w *Writer, rows ...row) {
	t.Helper()
	if err := w.Write(context.Background(), rowsBatch(rows), nil); err != nil {
		t.Fatal(err)
	}
}

// writeCommit writes rows with a writer of their own and commits them.
func (x *fixture) writeCommit(t failer, rows ...row) {
	t.Helper()
	w := x.writer(t, WriterOptions{})
	x.write(t, w, rows...)
	x.commit(t, x.prepare(t, w, true))
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func (x *fixture) compact(t failer) {
	t.Helper()
	w := x.writer(t, WriterOptions{})
	if err := w.Compact(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	x.commit(t, x.prepare(t, w, true))
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func (x *fixture) read(t failer, o ReadOptions) []row {
	t.Helper()
	if o.Fields == nil {
		o.Fields = rowFields
	}
	r, err := x.table.MergeRead(context.Background(), datafile.Location{}, x.live, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []row
	for {
		b, err := r.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.NumRows() == 0 {
			t.Fatal("empty batch")
		}
		out = append(out, batchRows(b)...)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if x.store.open != 0 {
		t.Fatalf("%d files left open", x.store.open)
	}
	return out
}

// withNullKey makes the key of one row NULL.
func withNullKey(rec arrow.RecordBatch, row int) arrow.RecordBatch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range int(rec.NumRows()) {
		if i == row {
			b.AppendNull()
		} else {
			b.Append(rec.Column(1).(*array.Int64).Value(i))
		}
	}
	cols := slices.Clone(rec.Columns())
	cols[1] = b.NewArray()
	return array.NewRecordBatch(rec.Schema(), cols, rec.NumRows())
}
