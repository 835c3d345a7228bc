package appendtbl

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/types"
)

// Order is an order of rows that a compaction brings them into, so that rows with like values lie in the same files.
type Order struct {
	strategy string
	cols     []int // in the table
	types    []types.Type
	curve    []*kv.Encoder // of each column; nil: no curve, but the order of values
	memory   int64
}

// NewOrder makes an order by columns of the fields of a table. order is by the first column, then the second; zorder and
// hilbert are curves through the space of all columns, for filters on any of them. NULL comes before all values. memory is
// the bytes of rows that a sort holds, 0 for 64 MB; more go to temporary files.
func NewOrder(strategy string, fields []types.Field, columns []string, memory int64) (*Order, error) {
	o := &Order{strategy: strategy, memory: memory}
	if o.memory <= 0 {
		o.memory = 64 << 20
	}
	for _, name := range columns {
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no column %q to order by", name)
		case slices.Contains(o.cols, i):
			return nil, fmt.Errorf("column %q to order by is named twice", name)
		}
		e, err := kv.NewSequenceEncoder([]types.Type{fields[i].Type}, false)
		if err != nil {
			return nil, fmt.Errorf("column %q of type %s has no order", name, fields[i].Type)
		}
		o.cols, o.types, o.curve = append(o.cols, i), append(o.types, fields[i].Type), append(o.curve, e)
	}
	if len(o.cols) == 0 {
		return nil, fmt.Errorf("no columns are named to order by")
	}
	switch strategy {
	case "order":
		o.curve = nil
	case "zorder", "hilbert":
		if len(o.cols) > 1 {
			return o, nil
		}
		o.curve = nil // of one column that is the order of its values
	default:
		return nil, fmt.Errorf("order %q is not one of order, zorder, hilbert", strategy)
	}
	return o, nil
}

// Columns that rows have behind their own while they are sorted: the place on the curve, if there is one, and a number that no
// other row has. Without it the rows of one value would have to be held together.
const (
	placeName  = "_PLACE"
	numberName = "_NUMBER"
)

// extended is the schema of rows that are sorted, layout what it says of them.
func (o *Order) extended(s *arrow.Schema) *arrow.Schema {
	fields := slices.Clone(s.Fields())
	if o.curve != nil {
		fields = append(fields, arrow.Field{Name: placeName, Type: arrow.BinaryTypes.Binary})
	}
	return arrow.NewSchema(append(fields, arrow.Field{Name: numberName, Type: arrow.PrimitiveTypes.Int64}), nil)
}

func (o *Order) layout(columns int) (kv.Layout, error) {
	l, number := kv.Layout{Order: kv.Order{Number: -1}}, types.Type{Kind: types.BigInt}
	var err error
	if o.curve == nil {
		l.Keys = append(slices.Clone(o.cols), columns)
		l.Encoder, err = kv.NewSequenceEncoder(append(slices.Clone(o.types), number), false)
	} else {
		l.Keys = []int{columns, columns + 1}
		l.Encoder, err = kv.NewKeyEncoder([]types.Type{{Kind: types.Binary, Length: 8 * len(o.cols)}, number})
	}
	return l, err
}

// extend puts these columns behind those of rows, which are numbered from first on.
func (o *Order) extend(rec arrow.RecordBatch, first int64) (arrow.RecordBatch, error) {
	cols := slices.Clone(rec.Columns())
	if o.curve != nil {
		places, err := o.places(rec)
		if err != nil {
			return nil, err
		}
		cols = append(cols, places)
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Reserve(int(rec.NumRows()))
	for i := range rec.NumRows() {
		b.UnsafeAppend(first + i)
	}
	return array.NewRecordBatch(o.extended(rec.Schema()), append(cols, b.NewArray()), rec.NumRows()), nil
}

// places tells where rows lie on the curve.
func (o *Order) places(rec arrow.RecordBatch) (arrow.Array, error) {
	rows, n := int(rec.NumRows()), len(o.cols)
	points := make([]uint64, rows*n) // of row r from r*n on
	for i, c := range o.cols {
		col := rec.Column(c)
		keys, err := o.curve[i].Encode([]arrow.Array{col})
		if err != nil {
			return nil, err
		}
		for r := range rows {
			if !col.IsNull(r) {
				points[r*n+i] = coordinate(o.types[i], keys.At(r).Bytes[1:]) // behind the byte that tells NULL
			}
		}
	}
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	b.Reserve(rows)
	b.ReserveData(rows * 8 * n)
	place := make([]byte, 8*n)
	for r := range rows {
		p := points[r*n : (r+1)*n]
		if o.strategy == "hilbert" {
			hilbert(p)
		}
		interleave(p, place)
		b.Append(place)
	}
	return b.NewArray(), nil
}

// coordinate makes a number of an encoded value that orders as the values do, as far as 64 bits can tell. Integers of all
// widths keep their distances, so that columns of like values have a like share in the curve.
func coordinate(t types.Type, key []byte) uint64 {
	switch {
	case t.Kind == types.Float || t.Kind == types.Boolean || len(key) == 8 || len(key) == 12:
	case t.Kind == types.Decimal: // 16 bytes
		v := math.Ldexp(float64(int64(binary.BigEndian.Uint64(key)^1<<63)), 64) + float64(binary.BigEndian.Uint64(key[8:]))
		b := math.Float64bits(v)
		if b>>63 != 0 {
			return ^b
		}
		return b | 1<<63
	case t.Kind == types.TinyInt, t.Kind == types.SmallInt, t.Kind == types.Int, t.Kind == types.Date, t.Kind == types.Time:
		var v uint64
		for _, b := range key {
			v = v<<8 | uint64(b)
		}
		return v - 1<<(8*len(key)-1) + 1<<63
	}
	var w [8]byte
	copy(w[:], key)
	return binary.BigEndian.Uint64(w[:])
}

// interleave writes the bits of numbers in turn, the highest of all first.
func interleave(p []uint64, out []byte) {
	clear(out)
	n := len(p)
	for i, v := range p {
		for v != 0 {
			bit := bits.Len64(v) - 1 // of v, from below
			at := (63-bit)*n + i
			out[at/8] |= 0x80 >> (at % 8)
			v &^= 1 << bit
		}
	}
}

// hilbert turns a point into its place on the Hilbert curve: the bits of the numbers in turn, the highest first. It is the
// transformation of Skilling, "Programming the Hilbert curve", 2004.
func hilbert(x []uint64) {
	n := len(x)
	for q := uint64(1) << 63; q > 1; q >>= 1 {
		p := q - 1
		for i := range n {
			if x[i]&q != 0 {
				x[0] ^= p
			} else {
				t := (x[0] ^ x[i]) & p
				x[0] ^= t
				x[i] ^= t
			}
		}
	}
	for i := 1; i < n; i++ {
		x[i] ^= x[i-1]
	}
	t := uint64(0)
	for q := uint64(1) << 63; q > 1; q >>= 1 {
		if x[n-1]&q != 0 {
			t ^= q - 1
		}
	}
	for i := range x {
		x[i] ^= t
	}
}
