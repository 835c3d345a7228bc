package batch

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// NullRef is a reference to no row: what is gathered there is NULL.
var NullRef = Ref{Src: -1, Row: -1}

// ErrTooLarge is the error of gathering more than 2 GB of one variable-length column into one
// array: fewer rows have to be gathered at once.
var ErrTooLarge = errors.New("more than 2 GB in a column of one batch")

// Selection is a list of rows of a window, looked at once so that many columns can be gathered by
// it. It is immutable and safe for concurrent use.
type Selection struct {
	n     int
	refs  []Ref // nil if runs alone describe the rows
	runs  []run // nil if neighbouring rows are rare
	nulls bool  // NullRef is among refs
}

// run is n consecutive rows of a source.
type run struct{ src, from, n int32 }

// Select makes a Selection of rows. It keeps refs, which must not change any more.
func Select(refs []Ref) *Selection {
	s := &Selection{n: len(refs), refs: refs}
	prev := Ref{-2, -2}
	breaks := 0
	for _, r := range refs {
		if r.Src != prev.Src || r.Row != prev.Row+1 {
			breaks++
		}
		if r.Src < 0 {
			s.nulls = true
		}
		prev = r
	}
	// Copying in runs costs a call a run; it pays if runs have a few rows.
	if s.nulls || breaks > len(refs)/4 && breaks > 1 {
		return s
	}
	s.runs = make([]run, 0, breaks)
	for i, r := range refs {
		if i == 0 || r.Src != refs[i-1].Src || r.Row != refs[i-1].Row+1 {
			s.runs = append(s.runs, run{src: r.Src, from: r.Row})
		}
		s.runs[len(s.runs)-1].n++
	}
	return s
}

// SelectRange makes a Selection of the rows from..to-1 of one source.
func SelectRange(src, from, to int) *Selection {
	return selectRuns([]run{{int32(src), int32(from), int32(to - from)}})
}

func selectRuns(runs []run) *Selection {
	s := &Selection{runs: runs}
	for _, r := range runs {
		s.n += int(r.n)
	}
	return s
}

// Len is the number of rows.
func (s *Selection) Len() int { return s.n }

// Gather makes a new array of column col of the rows that refs point to, in their order. All
// batches of the window have the same type in that column. If the rows are one run of consecutive
// rows, the array shares memory with the window, else it is a copy.
func Gather(window []arrow.RecordBatch, col int, refs []Ref) (arrow.Array, error) {
	return GatherColumn(window, col, Select(refs))
}

// GatherColumn is Gather for a prepared Selection.
func GatherColumn(window []arrow.RecordBatch, col int, s *Selection) (arrow.Array, error) {
	arrs := make([]arrow.Array, len(window))
	for i, rec := range window {
		arrs[i] = rec.Column(col)
	}
	out, err := GatherArrays(arrs, s)
	if err != nil {
		return nil, fmt.Errorf("gather column %q: %w", window[0].ColumnName(col), err)
	}
	return out, nil
}

// GatherBatch gathers the columns cols of the rows of a selection; schema describes the result. A
// column named twice is gathered once and stands in the result twice as the same object.
func GatherBatch(schema *arrow.Schema, window []arrow.RecordBatch, cols []int, s *Selection) (arrow.RecordBatch, error) {
	if len(cols) != schema.NumFields() {
		return nil, fmt.Errorf("gather: %d columns for a schema of %d", len(cols), schema.NumFields())
	}
	out := make([]arrow.Array, len(cols))
	for i, c := range cols {
		for j := range i {
			if cols[j] == c {
				out[i] = out[j]
				break
			}
		}
		if out[i] != nil {
			continue
		}
		var err error
		if out[i], err = GatherColumn(window, c, s); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(schema, out, int64(s.n)), nil
}

// SelectRows makes a Selection of rows of a single source.
func SelectRows(rows []int32) *Selection {
	refs := make([]Ref, len(rows))
	for i, r := range rows {
		refs[i].Row = r
	}
	return Select(refs)
}

// Take makes a batch of the rows sel of a batch.
func Take(rec arrow.RecordBatch, sel []int32) (arrow.RecordBatch, error) {
	cols := make([]int, rec.NumCols())
	for i := range cols {
		cols[i] = i
	}
	return GatherBatch(rec.Schema(), []arrow.RecordBatch{rec}, cols, SelectRows(sel))
}

// Concat joins batches of the same schema into one.
func Concat(recs []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(recs) == 0 {
		return nil, errors.New("concat: no batches")
	}
	if len(recs) == 1 {
		return recs[0], nil
	}
	runs := make([]run, 0, len(recs))
	for i, r := range recs {
		if r.NumRows() > 0 {
			runs = append(runs, run{int32(i), 0, int32(r.NumRows())})
		}
	}
	cols := make([]int, recs[0].NumCols())
	for i := range cols {
		cols[i] = i
	}
	return GatherBatch(recs[0].Schema(), recs, cols, selectRuns(runs))
}

// Slice is the rows from..to-1 of the batch. It shares its memory.
func (b Batch) Slice(from, to int) Batch {
	out := Batch{RecordBatch: b.NewSlice(int64(from), int64(to))}
	if b.Kinds != nil {
		out.Kinds = b.Kinds[from:to]
	}
	return out
}

// GatherArrays gathers from arrays of the same type; references point to them by number.
func GatherArrays(arrs []arrow.Array, s *Selection) (arrow.Array, error) {
	if len(arrs) == 0 {
		return nil, errors.New("no input")
	}
	t := arrs[0].DataType()
	for _, a := range arrs[1:] {
		if a.DataType().ID() != t.ID() {
			return nil, fmt.Errorf("inputs differ in type: %s and %s", t, a.DataType())
		}
	}
	if len(s.runs) == 1 {
		r := s.runs[0]
		a := arrs[r.src]
		if r.from == 0 && int(r.n) == a.Len() {
			return a, nil
		}
		return array.NewSlice(a, int64(r.from), int64(r.from+r.n)), nil
	}
	var out *array.Data
	var err error
	switch t := t.(type) {
	case *arrow.BooleanType:
		out = gatherBool(arrs, s)
	case *arrow.StringType, *arrow.BinaryType:
		out, err = gatherBytes(arrs, s)
	case *arrow.ListType, *arrow.MapType:
		out, err = gatherLists(arrs, s)
	case *arrow.StructType:
		out, err = gatherStructs(arrs, s)
	case *arrow.NullType:
		return array.NewNull(s.n), nil
	case arrow.FixedWidthDataType:
		out, err = gatherFixed(arrs, s, t.BitWidth())
	default:
		err = fmt.Errorf("rows of type %s cannot be gathered", t)
	}
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(out), nil
}

func makeData(t arrow.DataType, s *Selection, arrs []arrow.Array, children []arrow.ArrayData, bufs ...[]byte) *array.Data {
	valid, nulls := gatherValidity(arrs, s)
	buffers := make([]*memory.Buffer, 1, 1+len(bufs))
	if valid != nil {
		buffers[0] = memory.NewBufferBytes(valid)
	}
	for _, b := range bufs {
		buffers = append(buffers, memory.NewBufferBytes(b))
	}
	return array.NewData(t, s.n, buffers, children, nulls, 0)
}

// bitmap is the validity of an array: nil bits if all values are valid.
type bitmap struct {
	bits []byte
	off  int
}

func (b bitmap) valid(i int32) bool { return b.bits == nil || bitutil.BitIsSet(b.bits, b.off+int(i)) }

func bitmapOf(a arrow.Array) bitmap {
	if a.NullN() == 0 {
		return bitmap{}
	}
	return bitmap{a.NullBitmapBytes(), a.Data().Offset()}
}

// gatherValidity gives the validity bits of the result, nil if nothing is NULL.
func gatherValidity(arrs []arrow.Array, s *Selection) ([]byte, int) {
	maps := make([]bitmap, len(arrs))
	any := s.nulls
	for i, a := range arrs {
		maps[i] = bitmapOf(a)
		any = any || maps[i].bits != nil
	}
	if !any {
		return nil, 0
	}
	bits := make([]byte, bitutil.BytesForBits(int64(s.n)))
	set := 0
	if s.runs != nil {
		at := 0
		for _, r := range s.runs {
			m := maps[r.src]
			for j := r.from; j < r.from+r.n; j++ {
				if m.valid(j) {
					bits[at>>3] |= 1 << (at & 7)
					set++
				}
				at++
			}
		}
	} else {
		for i, r := range s.refs {
			if r.Src >= 0 && maps[r.Src].valid(r.Row) {
				bits[i>>3] |= 1 << (i & 7)
				set++
			}
		}
	}
	if set == s.n {
		return nil, 0
	}
	return bits, s.n - set
}
